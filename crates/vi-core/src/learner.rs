//! A learner: it predicts, scores, learns and forgets.
//!
//! ```text
//! log p(y₁, …, y_n) = Σ_t log p(y_t | y₁, …, y_{t−1}) ≈ Σ_t log E[p(y_t | t)],   t ~ N(a_t, ν_t)
//! ```
//!
//! Each term of this evidence is taken under the belief *before* observation `t`, after forgetting. It is exact for linear models
//! with a known noise variance, whether `θ` is constant or drifts by additive noise, and a fair score of prediction for all others:
//! it compares settings (`λ`, `q`, prior scale, noise variance, rule) without holding anything out.

use crate::filter::{Scratch, StepInfo};
use crate::per_row::{Likelihoods, SiteRules};
use crate::{Belief, Error, Forget, Forgetting, GaussianExpectation, Projection, Row, Rows, Site, SiteRule};

/// A belief with its rule, likelihood and forgetting, and the log evidence of what it has learned.
///
/// `rule` and `likelihood` are separate because the papers' rules approximate: a quadratic-bound filter, say, is scored by the
/// logistic likelihood. Each is one for all rows, or one for each ([`PerRow`](crate::PerRow)).
///
/// ```
/// use vi_core::{DenseGaussian, Explicit, GaussianLikelihood, Learner};
/// let noise = GaussianLikelihood::new(1.0)?;
/// let mut learner = Learner::new(DenseGaussian::isotropic(&[0.0], 1.0)?, Explicit(noise), noise);
/// let gained = learner.run(&[1.0, 1.0], &[0.0, 0.0], |_, _, _| {})?;
/// assert_eq!(gained, learner.evidence);
/// // Two labels at 0 with variance 2 and covariance 1: a determinant of 3.
/// assert!((learner.evidence + (2.0 * std::f64::consts::PI).ln() + 0.5 * 3.0_f64.ln()).abs() < 1e-14);
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Learner<B: Forget, R, L> {
    /// The belief: the prior before any rows, the posterior after them.
    pub belief: B,
    /// The rule that turns an observation into a site.
    pub rule: R,
    /// The likelihood `p(y|t)`, for the predictive density.
    pub likelihood: L,
    /// How the belief forgets between observations.
    pub forgetting: Forgetting<B>,
    /// `Σ log E[p(y_t|t)]` over the observations learned, each under the belief before it, in nats.
    pub evidence: f64,
}

/// The step and the score of one observation.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Scored {
    /// What the step saw and did.
    pub step: StepInfo,
    /// The log predictive density `log E[p(y|t)]` under the belief before `y`, in nats; `−∞` if the density underflows to 0.
    pub log_density: f64,
}

impl<B: Forget + Clone, R, L> Learner<B, R, L> {
    /// A learner that forgets nothing and has learned nothing.
    pub fn new(belief: B, rule: R, likelihood: L) -> Self {
        Self { belief, rule, likelihood, forgetting: Forgetting::none(), evidence: 0.0 }
    }

    /// This learner with `forgetting` between observations.
    #[must_use]
    pub fn with_forgetting(self, forgetting: Forgetting<B>) -> Self {
        Self { forgetting, ..self }
    }

    /// The predictive mean and variance `(xᵀμ, xᵀPx)` for the next observation, after the forgetting that comes before it. `x`
    /// has length `d`.
    ///
    /// # Errors
    /// As [`Belief::predict`] and [`Forgetting::apply`].
    ///
    /// ```
    /// use vi_core::{DenseGaussian, Explicit, Forgetting, GaussianLikelihood, Learner};
    /// let noise = GaussianLikelihood::new(1.0)?;
    /// let learner = Learner::new(DenseGaussian::isotropic(&[0.0], 1.0)?, Explicit(noise), noise)
    ///     .with_forgetting(Forgetting::fading(0.5)?);
    /// assert_eq!(learner.predict(&[2.0])?.variance, 8.0);
    /// # Ok::<(), vi_core::Error>(())
    /// ```
    pub fn predict<'a>(&self, x: impl Into<Row<'a>>) -> Result<Projection, Error> {
        let x = x.into();
        x.check(self.belief.dim())?;
        self.forgetting.check_dim(self.belief.dim())?;
        let mut step = B::Step::default();
        match self.forgetting.fade_factor() {
            Some(lambda) if lambda < 1.0 && self.belief.can_fade(lambda) => self.belief.project(x, lambda, &mut step),
            Some(_) => self.belief.project(x, 1.0, &mut step),
            None => {
                let mut forgotten = self.belief.clone();
                self.forgetting.apply(&mut forgotten)?;
                forgotten.project(x, 1.0, &mut step)
            }
        }
    }
}

impl<B: Forget + Clone, R: SiteRule, L: GaussianExpectation> Learner<B, R, L> {
    /// Takes one observation: forgets, predicts, scores, learns. `x` has length `d`.
    ///
    /// Cost: that of [`filter::step`](crate::filter::step), fading included; other ways of forgetting add their own cost and a
    /// copy of the belief.
    ///
    /// # Errors
    /// As [`filter::step`](crate::filter::step) and [`Forgetting::apply`]; [`Error::NonFinite`] if the predictive density is NaN.
    /// On an error the learner is unchanged.
    pub fn step<'a>(&mut self, x: impl Into<Row<'a>>, y: f64, scratch: &mut Scratch<B>) -> Result<Scored, Error> {
        let x = x.into();
        x.check(self.belief.dim())?;
        self.forgetting.check_dim(self.belief.dim())?;
        self.rule.check_label(y)?;
        self.likelihood.check_label(y)?;
        let Self { belief, rule, likelihood, forgetting, evidence } = self;
        let scored = learn(belief, (rule, likelihood, forgetting), (x, y), &mut scratch.step)?;
        *evidence += scored.log_density;
        Ok(scored)
    }
}

impl<B: Forget + Clone, R: SiteRules, L: Likelihoods<Row: GaussianExpectation>> Learner<B, R, L> {
    /// Makes one pass over the rows `x` (`n` of length `d`) with labels `y` (length `n`), a [`step`](Self::step) for each.
    /// Returns the increase of the log evidence.
    ///
    /// After observation `t`, `on_step(t, belief, scored)` is called, as by [`filter::run`](crate::filter::run).
    ///
    /// # Errors
    /// As [`step`](Self::step), naming the row; as [`Rows::check`]; [`Error::Dimension`] for another number of labels, rules or
    /// likelihoods. On any error the learner is as it was before the call.
    pub fn run<'a>(
        &mut self,
        x: impl Into<Rows<'a>>,
        y: &[f64],
        mut on_step: impl FnMut(usize, &B, &Scored),
    ) -> Result<f64, Error> {
        let rows = x.into().labelled(self.belief.dim(), y)?;
        self.forgetting.check_dim(self.belief.dim())?;
        self.rule.check_labels(y)?;
        self.likelihood.check_labels(y)?;
        let mut belief = self.belief.clone();
        let mut gained = 0.0;
        let Scratch { mut step, mut row } = Scratch::<B>::default();
        for (t, &y) in y.iter().enumerate() {
            let x = rows.row(t, &mut row);
            let by = (self.rule.rule_of(t), self.likelihood.likelihood_of(t), &self.forgetting);
            let scored = learn(&mut belief, by, (x, y), &mut step).map_err(|error| error.at_row(t))?;
            gained += scored.log_density;
            on_step(t, &belief, &scored);
        }
        self.belief = belief;
        self.evidence += gained;
        Ok(gained)
    }
}

/// A scored step with checked input. On an error the belief is unchanged.
fn learn<B: Forget + Clone, R: SiteRule, L: GaussianExpectation>(
    belief: &mut B,
    (rule, likelihood, forgetting): (&R, &L, &Forgetting<B>),
    (x, y): (Row<'_>, f64),
    step: &mut B::Step,
) -> Result<Scored, Error> {
    let mut prepare = |belief: &B, fade: f64, held| {
        let projection = belief.project(x, fade, step)?;
        let log_density = likelihood.log_predictive(y, projection.mean, projection.variance);
        if log_density.is_nan() {
            return Err(Error::NonFinite { argument: "log predictive density", index: 0, value: log_density });
        }
        let site = rule.site(projection.mean, projection.variance, y)?;
        let mut info = StepInfo { projection, site, held };
        match belief.prepare(x, site, step) {
            Err(Error::Unresolved { .. }) if forgetting.fade_factor().is_some_and(|lambda| lambda < 1.0) => {
                (info.site, info.held) = (resolved(belief, x, site, projection.variance, step)?, true);
            }
            prepared => prepared?,
        }
        Ok(Scored { step: info, log_density })
    };
    let done;
    if let Some(lambda) = forgetting.fade_factor() {
        done = if lambda < 1.0 && belief.can_fade(lambda) {
            match prepare(belief, lambda, false) {
                Err(Error::Unresolved { .. }) => prepare(belief, 1.0, true)?,
                prepared => prepared?,
            }
        } else {
            prepare(belief, 1.0, lambda < 1.0)?
        };
    } else {
        let mut forgotten = belief.clone();
        forgetting.apply(&mut forgotten)?;
        done = prepare(&forgotten, 1.0, false)?;
        *belief = forgotten;
    }
    belief.commit(x, step);
    Ok(done)
}

/// Prepares as much of `site` as the belief's digits resolve along a direction that has faded for long: the mean moves as far as
/// by the whole site, and the variance falls by a factor of 10⁸, or of 2 if even that is too much. Further rows in that direction
/// do the rest.
///
/// # Errors
/// As [`Belief::prepare`].
fn resolved<B: Belief>(belief: &B, x: Row<'_>, site: Site, variance: f64, step: &mut B::Step) -> Result<Site, Error> {
    let weaker = |factor: f64| Site { slope: factor * site.gain(variance), curvature: (factor - 1.0) / variance };
    let most = weaker(1e8);
    match belief.prepare(x, most, step) {
        Err(Error::Unresolved { .. }) => {
            let least = weaker(2.0);
            belief.prepare(x, least, step)?;
            Ok(least)
        }
        prepared => prepared.map(|()| most),
    }
}
