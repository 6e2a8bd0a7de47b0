//! Conversion of a posterior's record to a model of the front door and back, if both hold the same belief.

use vi_core::{Belief, DenseGaussian, Error};
use vi_linalg::Cholesky;
use vi_linalg::faer::Mat;
use vi_models::ModelError;
use vi_models::likelihood::NegativeBinomial;
use vi_models::online::family::{Counts, Probit, SpreadCounts};
use vi_models::online::{
    Model, OneGaussian, OnlineGlm, OnlineLinear, OnlineLogistic, OnlineSettings, PriorScale, Standardise, Start,
};

use crate::{Family, GlmPosterior, GlmPrior, LinearPosterior, LinearPrior, LinearSums, Posterior, SumsError, packed};

/// The settings of a model under a prior that is given in the units of its inputs.
fn settings(scale: f64, intercept: f64, names: Vec<String>) -> OnlineSettings {
    let mut settings = OnlineSettings {
        prior_scale: PriorScale::Given(scale),
        intercept: intercept > 0.0,
        standardise: Standardise::Never,
        start: Start::OnePass,
        names,
        ..OnlineSettings::default()
    };
    if settings.intercept {
        settings.intercept_scale = intercept;
    }
    settings
}

/// The scales of the weights and the intercept (0 if there is none), in settings that [`OneGaussian`] has checked.
fn scales(settings: &OnlineSettings) -> (f64, f64) {
    let intercept = if settings.intercept { settings.intercept_scale } else { 0.0 };
    match settings.prior_scale {
        PriorScale::Given(scale) => (scale, intercept),
        _ => (f64::NAN, intercept),
    }
}

/// The belief with its parameters reordered: parameter `place(i)` of the result is parameter `i` of `belief`.
fn placed(belief: &DenseGaussian, place: impl Fn(usize) -> usize) -> Result<DenseGaussian, Error> {
    let (m, covariance) = (belief.dim(), belief.covariance());
    let mut from = vec![0; m];
    (0..m).for_each(|i| from[place(i)] = i);
    let mean: Vec<f64> = from.iter().map(|i| belief.mean()[*i]).collect();
    DenseGaussian::new(&mean, Mat::from_fn(m, m, |i, j| covariance[(from[i], from[j])]).as_ref())
}

impl Posterior {
    /// A front-door model with this posterior, which predicts, learns further rows and is stored as any other; its inputs are
    /// called `names`, unless that is empty. The number of rows that were left out is lost. Cost `2d³`.
    ///
    /// ```
    /// use vi_models::online::{Observation, Row};
    /// use vi_sums::{LinearPosterior, LinearPrior, Posterior, Predictor};
    /// let mut fold = LinearPosterior::new(1, LinearPrior::default())?;
    /// for (x, y) in [(0.0, 1.1), (1.0, 2.9), (2.0, 5.2), (3.0, 6.8)] {
    ///     fold.sums_mut().update(&[x], y)?;
    /// }
    /// let record = Posterior::from(fold);
    /// let mut model = record.to_model(Vec::new())?;
    /// let seen = Predictor::new(&record)?.predict(&[4.0], 0.9)?;
    /// let again = model.predict(Row::Dense(&[4.0]), Observation::new(0.0))?;
    /// assert!((again.mean().unwrap() - seen.mean).abs() < 1e-9);
    /// // It learns on, and goes back.
    /// model.update(Row::Dense(&[4.0]), Observation::new(9.1))?;
    /// assert_eq!(Posterior::of_model(&model)?.rows(), 5);
    /// # Ok::<(), vi_sums::SumsError>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`LinearPosterior::fit`] and [`GlmPosterior::belief`]; [`SumsError::Model`] for a prior that a model does not
    /// accept, for another number of names than of inputs, for two equal names, or for a pool, whose model is that of its [fit](crate::PoolFit::model).
    pub fn to_model(&self, names: Vec<String>) -> Result<Model, SumsError> {
        match self {
            Self::Linear(own) => linear(own, names),
            Self::Glm(own) => glm(own, names),
            Self::Pool(_) => {
                Err(ModelError::Unsupported { what: "front-door model of a pool but that of its fit" }.into())
            }
        }
    }

    /// The posterior of a front-door model. Linear sums are exact to the rounding of the covariance that they are computed from.
    ///
    /// # Errors
    /// [`SumsError::Model`] with [`ModelError::Unsupported`] for a model that does not hold the same kind of belief: one of several
    /// classes, trials or a spread that is learned, or whose prior scale is not given, that standardises, forgets, has no full
    /// covariance, or (linear regression) has learned rows with weights.
    pub fn of_model(model: &Model) -> Result<Self, SumsError> {
        let family = match model {
            Model::Number(model) => return Ok(Self::Linear(linear_sums(model)?)),
            Model::Two(_) => Family::Logistic,
            Model::Probit(_) => Family::Probit,
            Model::Count(_) => Family::Poisson,
            Model::Spread(model) => Family::NegativeBinomial(NegativeBinomial::new(model.family().size)?),
            _ => return Err(ModelError::Unsupported { what: "record of a model of this kind" }.into()),
        };
        let (learned, (scale, intercept)) = (model.gaussian()?, scales(model.settings()));
        let (d, last) = (learned.belief.dim(), usize::from(intercept > 0.0));
        let belief = placed(&learned.belief, |i| (i + last) % d)?;
        let counts = (learned.observations, 0);
        let posterior =
            GlmPosterior::of_belief(family, GlmPrior { scale, intercept }, &belief, learned.evidence, counts)?;
        Ok(Self::Glm(posterior.of_runs(learned.runs)))
    }
}

fn glm(own: &GlmPosterior, names: Vec<String>) -> Result<Model, SumsError> {
    let GlmPrior { scale, intercept } = *own.prior();
    let settings = settings(scale, intercept, names);
    let (belief, last) = (own.belief()?, usize::from(settings.intercept));
    let d = belief.dim();
    let learned = OneGaussian {
        belief: placed(&belief, |i| (i + d - last) % d)?,
        evidence: own.log_evidence()?,
        observations: own.rows(),
        runs: own.runs(),
    };
    Ok(match own.family() {
        Family::Logistic => Model::Two(OnlineLogistic::from_gaussian(settings, &learned)?),
        Family::Probit => Model::Probit(OnlineGlm::from_gaussian(Probit, settings, &learned)?),
        Family::Poisson => Model::Count(OnlineGlm::from_gaussian(Counts, settings, &learned)?),
        Family::NegativeBinomial(counts) => {
            let family = SpreadCounts { size: counts.size() };
            Model::Spread(OnlineGlm::from_gaussian(family, settings, &learned)?)
        }
    })
}

/// Weights, then the intercept `g(ȳ − x̄ᵀw) + N(0, c)`.
fn linear(own: &LinearPosterior, names: Vec<String>) -> Result<Model, SumsError> {
    let LinearPrior { scale, intercept, shape, rate } = *own.prior();
    let (fit, sums) = (own.fit()?, own.sums());
    let (d, mut belief) = (sums.inputs(), fit.scaled_belief().clone());
    if intercept > 0.0 {
        let (n, square) = (sums.rows() as f64, intercept * intercept);
        let (pull, own) = (n * square / (1.0 + n * square), square / (1.0 + n * square));
        let (centre, label) = (&sums.mean()[..d], sums.mean()[d]);
        let covariance = belief.covariance();
        let along: Vec<f64> = (0..d).map(|i| (0..d).map(|j| covariance[(i, j)] * centre[j]).sum()).collect();
        let dot = |a: &[f64]| a.iter().zip(centre).map(|(a, x)| a * x).sum::<f64>();
        let entry = |i: usize, j: usize| match (i == d, j == d) {
            (false, false) => covariance[(i, j)],
            (true, false) => -pull * along[j],
            (false, true) => -pull * along[i],
            (true, true) => own + pull * pull * dot(&along),
        };
        let mut mean = belief.mean().to_vec();
        mean.push(pull * (label - dot(belief.mean())));
        belief = DenseGaussian::new(&mean, Mat::from_fn(d + 1, d + 1, entry).as_ref())?;
    }
    let learned = OneGaussian { belief, evidence: fit.log_evidence(), observations: sums.rows(), runs: 1 };
    let noise = (fit.noise().shape(), fit.noise().rate());
    let settings = settings(scale, intercept, names);
    Ok(Model::Number(OnlineLinear::from_gaussian(settings, (shape, rate), &learned, noise)?))
}

/// The sums that lead to the posterior of a linear model, by inverting [`LinearPosterior::fit`]. Without an intercept the means
/// are neither known nor needed; they are set to 0.
fn linear_sums(model: &OnlineLinear) -> Result<LinearPosterior, SumsError> {
    let learned = model.gaussian()?;
    let ((scale, intercept), (shape, rate)) = (scales(model.settings()), model.noise_prior());
    let prior = LinearPrior { scale, intercept, shape, rate };
    let ((now, error), n) = (model.noise(), learned.observations as f64);
    let d = learned.belief.dim() - usize::from(intercept > 0.0);
    let mut flat = vec![0.0; LinearSums::flat_len(d)];
    if learned.observations == 0 {
        return LinearPosterior::of(prior, LinearSums::new(d)?);
    }
    // The shape gains a half for each row, added up in floats.
    if (2.0 * (now - shape) - n).abs() > 1e-6 * n.max(1.0) {
        return Err(ModelError::Unsupported { what: "record of rows that were weighted" }.into());
    }
    let (covariance, mean) = (learned.belief.covariance(), learned.belief.mean());
    let weights = &mean[..d];
    let mut gain = Cholesky::new(covariance.as_ref().submatrix(0, 0, d, d))?.inverse();
    let whole: Vec<f64> = (0..d).map(|i| gain[(i, i)]).collect();
    let (square, ridge) = (intercept * intercept, (scale * scale).recip());
    let (mut centre, mut label, mut omega) = (vec![0.0; d], 0.0, n);
    if intercept > 0.0 {
        let pull = n * square / (1.0 + n * square);
        omega = n / (1.0 + n * square);
        for (i, centre) in centre.iter_mut().enumerate() {
            *centre = -(0..d).map(|j| gain[(i.max(j), i.min(j))] * covariance[(d, j)]).sum::<f64>() / pull;
        }
        label = mean[d] / pull + centre.iter().zip(weights).map(|(x, w)| x * w).sum::<f64>();
    }
    let mut cross: Vec<f64> =
        (0..d).map(|i| (0..d).map(|j| gain[(i.max(j), i.min(j))] * weights[j]).sum::<f64>()).collect();
    for i in 0..d {
        gain[(i, i)] -= ridge;
        cross[i] -= omega * centre[i] * label;
        for j in 0..=i {
            gain[(i, j)] -= omega * centre[i] * centre[j];
        }
    }
    let along: f64 = weights.iter().zip(&centre).map(|(w, x)| w * x).sum();
    let squares: f64 = weights.iter().map(|w| w * w).sum();
    let mut scatter = packed::pack(gain.as_ref());
    let bent: f64 = packed::multiply(&scatter, weights).iter().zip(weights).map(|(a, w)| a * w).sum();
    let told: f64 = cross.iter().zip(weights).map(|(c, w)| c * w).sum();
    scatter.extend_from_slice(&cross);
    scatter.push(2.0 * (error - rate) - omega * (label - along).powi(2) - ridge * squares + 2.0 * told - bent);
    // Scatter within rounding, of a column that does not vary, is set to 0.
    let mut scale_of = vec![0.0; scatter.len()];
    for (i, value) in whole.iter().copied().chain([2.0 * error + told.abs() + bent.abs()]).enumerate() {
        scale_of[packed::len(i) + i] = value;
    }
    packed::settle(&mut scatter, &scale_of, d + 1)?;
    flat[0] = n;
    flat[2..2 + d].copy_from_slice(&centre);
    flat[2 + d] = label;
    flat[3 + d..].copy_from_slice(&scatter);
    LinearPosterior::of(prior, LinearSums::from_flat(d, &flat)?)
}
