//! The models, each learning rows as a user would with the defaults.

use rand::{Rng, RngExt};
use rand_distr::{Binomial, Distribution, Gamma, Poisson, StandardNormal};
use vi_core::special::{normal_cdf, sigmoid};
use vi_models::online::family::{Counts, GlmFamily, Probit, SpreadCounts, Trials};
use vi_models::online::{Observation, OnlineGlm, OnlineLinear, OnlineLogistic, OnlineSoftmax};
use vi_models::vb::{VbLinear, VbLinearSettings, VbLogit, VbLogitSettings};
use vi_models::{Marginal, ModelError};

use super::Places;
use super::cells::{Cell, NEW_ROWS};

/// Trials of a binomial label.
const TRIALS: u64 = 10;

/// The size of a negative-binomial label.
const SIZE: f64 = 3.0;

/// Classes of a softmax label.
const CLASSES: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Model {
    Linear,
    Logit,
    Probit,
    Poisson,
    Binomial,
    NegativeBinomial,
    Softmax,
    VbLinear { ard: bool },
    VbLogit { ard: bool },
}

/// Weights, rows end to end, and new rows.
struct Drawn {
    theta: Vec<f64>,
    rows: Vec<f64>,
    new: Vec<f64>,
}

impl Drawn {
    fn new<R: Rng>(cell: &Cell, rng: &mut R) -> Self {
        let d = cell.inputs;
        let theta = cell.truth.weights(d, rng);
        let mut normals = |n: usize| (0..n * d).map(|_| rng.sample(StandardNormal)).collect();
        Self { theta, rows: normals(cell.rows), new: normals(NEW_ROWS) }
    }

    fn predictors<'a>(&'a self, rows: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        let d = self.theta.len();
        rows.chunks(d).map(|x| x.iter().zip(&self.theta).map(|(x, w)| x * w).sum())
    }

    /// Places from what is believed of each weight, and of the predictor at a row.
    fn places(
        &self,
        weight: impl Fn(usize) -> Result<Marginal, ModelError>,
        predictor: impl Fn(&[f64]) -> Result<Marginal, ModelError>,
    ) -> Result<Places, ModelError> {
        let weights = self.theta.iter().enumerate().map(|(j, truth)| Ok(weight(j)?.cdf(*truth)));
        let predictors =
            self.new.chunks(self.theta.len()).zip(self.predictors(&self.new)).map(|(x, t)| Ok(predictor(x)?.cdf(t)));
        Ok(Places {
            weights: weights.collect::<Result<_, ModelError>>()?,
            predictors: predictors.collect::<Result<_, ModelError>>()?,
            labels: Vec::new(),
        })
    }
}

impl Model {
    pub(super) const ALL: [Self; 11] = [
        Self::Linear,
        Self::Logit,
        Self::Probit,
        Self::Poisson,
        Self::Binomial,
        Self::NegativeBinomial,
        Self::Softmax,
        Self::VbLinear { ard: false },
        Self::VbLinear { ard: true },
        Self::VbLogit { ard: false },
        Self::VbLogit { ard: true },
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Logit => "logit",
            Self::Probit => "probit",
            Self::Poisson => "poisson",
            Self::Binomial => "binomial",
            Self::NegativeBinomial => "negative_binomial",
            Self::Softmax => "softmax",
            Self::VbLinear { ard: false } => "vb_linear",
            Self::VbLinear { ard: true } => "vb_linear_ard",
            Self::VbLogit { ard: false } => "vb_logit",
            Self::VbLogit { ard: true } => "vb_logit_ard",
        }
    }

    /// Whether labels grow exponentially with the predictor.
    pub(super) fn counts(self) -> bool {
        matches!(self, Self::Poisson | Self::NegativeBinomial)
    }

    /// Whether a replication ends in about a second.
    pub(super) fn affords(self, inputs: usize, rows: usize) -> bool {
        match self {
            Self::Softmax => inputs <= 30 && inputs * rows <= 15_000,
            Self::Poisson | Self::Binomial | Self::NegativeBinomial => inputs <= 30,
            _ => true,
        }
    }

    pub(super) fn replicate<R: Rng>(self, cell: &Cell, rng: &mut R) -> Result<Places, ModelError> {
        let drawn = Drawn::new(cell, rng);
        match self {
            Self::Linear => linear(&drawn, rng),
            Self::Logit => logit(&drawn, rng),
            Self::Probit => glm(&drawn, Probit, rng, |t, rng| Ok(coin(normal_cdf(t), rng).into())),
            Self::Poisson => glm(&drawn, Counts, rng, |t, rng| Ok(poisson(t.exp(), rng)?.into())),
            Self::Binomial => glm(&drawn, Trials, rng, |t, rng| {
                let counts = Binomial::new(TRIALS, sigmoid(t)).map_err(|_| undrawable(t))?;
                Ok(Observation::new(counts.sample(rng) as f64).trials(TRIALS as f64))
            }),
            Self::NegativeBinomial => glm(&drawn, SpreadCounts { size: SIZE }, rng, |t, rng| {
                let rates = Gamma::new(SIZE, t.exp() / SIZE).map_err(|_| undrawable(t))?;
                Ok(poisson(rates.sample(rng), rng)?.into())
            }),
            Self::Softmax => softmax(&drawn, cell, rng),
            Self::VbLinear { ard } => vb_linear(&drawn, ard, rng),
            Self::VbLogit { ard } => vb_logit(&drawn, ard, rng),
        }
    }
}

fn coin<R: Rng>(p: f64, rng: &mut R) -> f64 {
    f64::from(rng.random::<f64>() < p)
}

fn poisson<R: Rng>(rate: f64, rng: &mut R) -> Result<f64, ModelError> {
    if rate < f64::MIN_POSITIVE {
        return Ok(0.0);
    }
    Ok(Poisson::new(rate).map_err(|_| undrawable(rate))?.sample(rng))
}

fn undrawable(value: f64) -> ModelError {
    vi_core::Error::Overflow { quantity: "mean of a count", value }.into()
}

/// Noise of standard deviation 1.
fn noisy<R: Rng>(drawn: &Drawn, rows: &[f64], rng: &mut R) -> Vec<f64> {
    drawn.predictors(rows).map(|t| t + rng.sample::<f64, _>(StandardNormal)).collect()
}

fn linear<R: Rng>(drawn: &Drawn, rng: &mut R) -> Result<Places, ModelError> {
    let d = drawn.theta.len();
    let mut model = OnlineLinear::new(d)?;
    model.update_batch(&drawn.rows, &noisy(drawn, &drawn.rows, rng))?;
    let mut places = drawn.places(|j| model.weight(j), |x| Ok(model.predict(x)?.expectation))?;
    for (x, y) in drawn.new.chunks(d).zip(noisy(drawn, &drawn.new, rng)) {
        places.labels.push(model.predict(x)?.label.cdf(y));
    }
    Ok(places)
}

fn logit<R: Rng>(drawn: &Drawn, rng: &mut R) -> Result<Places, ModelError> {
    let labels: Vec<f64> = drawn.predictors(&drawn.rows).map(|t| coin(sigmoid(t), rng)).collect();
    let mut model = OnlineLogistic::new(drawn.theta.len())?;
    model.update_batch(&drawn.rows, &labels)?;
    drawn.places(|j| model.weight(j), |x| Ok(model.predict(x)?.predictor))
}

fn glm<F: GlmFamily, R: Rng>(
    drawn: &Drawn,
    family: F,
    rng: &mut R,
    label: impl Fn(f64, &mut R) -> Result<Observation, ModelError>,
) -> Result<Places, ModelError> {
    let labels: Vec<Observation> = drawn.predictors(&drawn.rows).map(|t| label(t, rng)).collect::<Result<_, _>>()?;
    let mut model = OnlineGlm::new(drawn.theta.len(), family)?;
    model.update_batch(&drawn.rows, &labels)?;
    drawn.places(|j| model.weight(j), |x| Ok(model.predict(x, Observation::new(0.0))?.predictor))
}

/// The weights of class 1 are those of the cell, and each other class has its own of the same make; class 0 too, so that what is
/// known is a difference.
fn softmax<R: Rng>(drawn: &Drawn, cell: &Cell, rng: &mut R) -> Result<Places, ModelError> {
    let d = cell.inputs;
    let mut classes: Vec<Drawn> = Vec::new();
    for _ in 1..CLASSES {
        let theta = cell.truth.weights(d, rng);
        classes.push(Drawn { theta, rows: Vec::new(), new: drawn.new.clone() });
    }
    let base = classes.pop().map_or(Vec::new(), |class| class.theta);
    let mut relative = vec![drawn.theta.clone()];
    relative.extend(classes.into_iter().map(|class| class.theta));
    for theta in &mut relative {
        theta.iter_mut().zip(&base).for_each(|(own, base)| *own -= base);
    }
    let labels: Vec<f64> = drawn
        .rows
        .chunks(d)
        .map(|x| {
            let odds = relative.iter().map(|theta| x.iter().zip(theta).map(|(x, w)| x * w).sum::<f64>());
            let logits: Vec<f64> = std::iter::once(0.0).chain(odds).collect();
            let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let masses: Vec<f64> = logits.iter().map(|logit| (logit - top).exp()).collect();
            let mut left = rng.random::<f64>() * masses.iter().sum::<f64>();
            let chosen = masses.iter().position(|mass| {
                left -= mass;
                left < 0.0
            });
            chosen.unwrap_or(CLASSES - 1) as f64
        })
        .collect();
    let mut model = OnlineSoftmax::new(d, CLASSES)?;
    model.update_batch(&drawn.rows, &labels)?;
    let mut places = Places::default();
    for (c, theta) in relative.into_iter().enumerate() {
        let class = Drawn { theta, rows: Vec::new(), new: drawn.new.clone() };
        let of = class.places(|j| model.weight(c + 1, j), |x| model.predictor(x, c + 1))?;
        places.weights.extend(of.weights);
        places.predictors.extend(of.predictors);
    }
    Ok(places)
}

fn vb_linear<R: Rng>(drawn: &Drawn, ard: bool, rng: &mut R) -> Result<Places, ModelError> {
    let d = drawn.theta.len();
    let labels = noisy(drawn, &drawn.rows, rng);
    let mut settings = VbLinearSettings::default();
    settings.ard = ard;
    let model = VbLinear::fit(&drawn.rows, d, &labels, settings)?;
    let coefficients = model.coefficients();
    let at_rows = model.predict(&drawn.new)?;
    let gaussian = |mean: f64, deviation: f64, truth: f64| normal_cdf((truth - mean) / deviation);
    let weights = drawn.theta.iter().enumerate();
    let predictors = drawn.predictors(&drawn.new).zip(&at_rows);
    let labels = noisy(drawn, &drawn.new, rng).into_iter().zip(&at_rows);
    Ok(Places {
        weights: weights
            .map(|(j, truth)| gaussian(coefficients.weights[j], coefficients.standard_deviations[j], *truth))
            .collect(),
        predictors: predictors.map(|(truth, at)| gaussian(at.mean, at.weight_variance().sqrt(), truth)).collect(),
        labels: labels.map(|(y, at)| Ok(at.distribution()?.cdf(y))).collect::<Result<_, ModelError>>()?,
    })
}

fn vb_logit<R: Rng>(drawn: &Drawn, ard: bool, rng: &mut R) -> Result<Places, ModelError> {
    let d = drawn.theta.len();
    let labels: Vec<f64> = drawn.predictors(&drawn.rows).map(|t| coin(sigmoid(t), rng)).collect();
    let mut settings = VbLogitSettings::default();
    settings.ard = ard;
    let model = VbLogit::fit(&drawn.rows, d, &labels, settings)?;
    let coefficients = model.coefficients();
    let gaussian = |mean: f64, deviation: f64, truth: f64| normal_cdf((truth - mean) / deviation);
    let weights = drawn.theta.iter().enumerate();
    let at_rows = model.predict(&drawn.new)?;
    let predictors = drawn.predictors(&drawn.new).zip(&at_rows);
    Ok(Places {
        weights: weights
            .map(|(j, truth)| gaussian(coefficients.weights[j], coefficients.standard_deviations[j], *truth))
            .collect(),
        predictors: predictors
            .map(|(truth, at)| gaussian(at.projection.mean, at.projection.variance.sqrt(), truth))
            .collect(),
        labels: Vec::new(),
    })
}
