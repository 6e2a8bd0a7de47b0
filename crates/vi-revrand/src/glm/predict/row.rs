//! One row's predictive distribution.

use rand::{Rng, RngExt};
use rand_distr::StandardNormal;
use vi_core::special::log_sum_exp;
use vi_core::{Likelihood, quadrature};
use vi_models::Interval;

use super::integrate::{average, probability};
use super::quantile;
use crate::likelihood::GlmLikelihood;
use crate::{RevrandError, check};

/// The predictive distribution of one label, `p(y) = 1/K·Σₖ ∫p(y|f)·N(f|aₖ, vₖ) df` (report (23)).
#[derive(Debug, Clone, Copy)]
pub struct RowPrediction<'a, L> {
    likelihood: &'a L,
    trials: f64,
    means: &'a [f64],
    variances: &'a [f64],
}

impl<'a, L: GlmLikelihood> RowPrediction<'a, L> {
    pub(super) fn new(likelihood: &'a L, trials: f64, means: &'a [f64], variances: &'a [f64]) -> Self {
        Self { likelihood, trials, means, variances }
    }

    /// `aₖ = φᵀmₖ`, the predictor's mean under each component.
    #[must_use]
    pub fn predictor_means(&self) -> &'a [f64] {
        self.means
    }

    /// `vₖ = Σ φᵢ²Cₖᵢ`, the predictor's variance under each component.
    #[must_use]
    pub fn predictor_variances(&self) -> &'a [f64] {
        self.variances
    }

    pub(super) fn is_discrete(&self) -> bool {
        self.likelihood.is_discrete()
    }

    fn components(&self) -> impl Iterator<Item = (f64, f64)> {
        self.means.iter().copied().zip(self.variances.iter().copied())
    }

    /// The average of `of` over the components.
    fn over_components(&self, of: impl Fn(f64, f64) -> Result<f64, RevrandError>) -> Result<f64, RevrandError> {
        let mut sum = 0.0;
        for (a, v) in self.components() {
            sum += of(a, v)?;
        }
        Ok(sum / self.means.len() as f64)
    }

    /// The predictive mean `E[y]`.
    ///
    /// # Errors
    /// `Quadrature`, `Overflow`.
    pub fn mean(&self) -> Result<f64, RevrandError> {
        let quantity = "the predictive mean";
        let mean = self.over_components(|a, v| match self.likelihood.closed_moments(self.trials, a, v) {
            Some([mean, _]) => Ok(mean),
            None => average(quantity, a, v, |f| self.likelihood.mean(self.trials, f)),
        })?;
        Ok(check::result(quantity, mean)?)
    }

    /// The predictive variance `Var[y] = E[Var(y|f)] + Var(E[y|f])`.
    ///
    /// # Errors
    /// `Quadrature`, `Overflow`.
    pub fn variance(&self) -> Result<f64, RevrandError> {
        let (quantity, centre) = ("the predictive variance", self.mean()?);
        let variance = self.over_components(|a, v| match self.likelihood.closed_moments(self.trials, a, v) {
            Some([mean, variance]) => Ok(variance + (mean - centre) * (mean - centre)),
            None => average(quantity, a, v, |f| {
                let distance = self.likelihood.mean(self.trials, f) - centre;
                self.likelihood.variance(self.trials, f) + distance * distance
            }),
        })?;
        Ok(check::result(quantity, variance)?)
    }

    /// The variance of the label's expectation, `Var(E[y|f])`: the predictive variance without the label's own.
    ///
    /// # Errors
    /// `Quadrature`, `Overflow`.
    pub fn variance_of_mean(&self) -> Result<f64, RevrandError> {
        let (quantity, centre) = ("the variance of the conditional mean", self.mean()?);
        let squared = |f| (self.likelihood.mean(self.trials, f) - centre).powi(2);
        Ok(check::result(quantity, self.over_components(|a, v| average(quantity, a, v, squared))?)?)
    }

    /// The log predictive density `log p(y)`: the logarithm of the mean density, not the mean of its logarithm.
    ///
    /// # Errors
    /// `NonFinite`, `Label`, `Quadrature`.
    pub fn log_density(&self, y: f64) -> Result<f64, RevrandError> {
        if !y.is_finite() {
            return Err(vi_core::Error::NonFinite { argument: "y", index: 0, value: y }.into());
        }
        if !self.likelihood.supports(y, self.trials) {
            return Err(vi_core::Error::Label { label: y, family: self.likelihood.family() }.into());
        }
        let conditional = Conditional { likelihood: self.likelihood, trials: self.trials };
        let mut logs = Vec::with_capacity(self.means.len());
        for (a, v) in self.components() {
            logs.push(match self.likelihood.closed_predictive(y, a, v) {
                Some([log, _]) => log,
                None => quadrature::tilted(&conditional, y, a, v)?.log_normaliser,
            });
        }
        Ok(log_sum_exp(logs.iter().copied()) - (logs.len() as f64).ln())
    }

    /// The predictive distribution function `P(Y ≤ y)`.
    ///
    /// # Errors
    /// `NonFinite` for NaN, `Quadrature`.
    pub fn cdf(&self, y: f64) -> Result<f64, RevrandError> {
        if y.is_nan() {
            return Err(vi_core::Error::NonFinite { argument: "y", index: 0, value: y }.into());
        }
        self.over_components(|a, v| match self.likelihood.closed_predictive(y, a, v) {
            Some([_, probability]) => Ok(probability),
            None => {
                probability("the predictive distribution function", a, v, |f| self.likelihood.cdf(y, self.trials, f))
            }
        })
    }

    /// The average over components of the expected label at the predictor's mean; no integral, so it always exists.
    pub(super) fn typical(&self) -> f64 {
        self.means.iter().map(|&a| self.likelihood.mean(self.trials, a)).sum::<f64>() / self.means.len() as f64
    }

    /// The smallest `y` with `P(Y ≤ y) ≥ p`, by bisection of the distribution function.
    ///
    /// # Errors
    /// `Setting` unless `0 < p < 1`; `Quadrature`, `Overflow`.
    pub fn quantile(&self, p: f64) -> Result<f64, RevrandError> {
        check::probability("p", p)?;
        quantile::quantile(self, p)
    }

    /// The central interval between the quantiles at `(1 − level)/2` and `(1 + level)/2`.
    ///
    /// # Errors
    /// `Setting` unless `0 < level < 1`; `Quadrature`, `Overflow`.
    pub fn interval(&self, level: f64) -> Result<Interval, RevrandError> {
        check::probability("level", level)?;
        let outside = 0.5 * (1.0 - level);
        Ok(Interval { lower: quantile::quantile(self, outside)?, upper: quantile::quantile(self, 1.0 - outside)? })
    }

    /// A draw of `y`: first a component is drawn, then a predictor, then a label.
    ///
    /// # Errors
    /// `Overflow` if a count's rate is too large to draw from.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> Result<f64, RevrandError> {
        let mut rng = rng;
        let k = rng.random_range(0..self.means.len());
        let z: f64 = rng.sample(StandardNormal);
        self.likelihood.draw(self.trials, self.means[k] + self.variances[k].sqrt() * z, &mut rng)
    }
}

/// The likelihood at a row's number of trials, for `vi-core`'s quadrature.
struct Conditional<'a, L> {
    likelihood: &'a L,
    trials: f64,
}

impl<L: GlmLikelihood> Likelihood for Conditional<'_, L> {
    fn family(&self) -> &'static str {
        self.likelihood.family()
    }

    fn supports(&self, label: f64) -> bool {
        self.likelihood.supports(label, self.trials)
    }

    fn is_log_concave(&self) -> bool {
        self.likelihood.is_log_concave()
    }

    fn log_density(&self, y: f64, t: f64) -> f64 {
        self.likelihood.log_density(y, self.trials, t)
    }

    fn slope(&self, y: f64, t: f64) -> f64 {
        self.likelihood.derivatives(y, self.trials, t)[1]
    }

    fn curvature(&self, y: f64, t: f64) -> f64 {
        -self.likelihood.derivatives(y, self.trials, t)[2]
    }

    fn derivatives(&self, y: f64, t: f64) -> [f64; 3] {
        let [value, first, second, _] = self.likelihood.derivatives(y, self.trials, t);
        [value, first, -second]
    }

    /// The information at the expected label, which suffices for a search for modes.
    fn fisher_information(&self, t: f64) -> f64 {
        self.curvature(self.likelihood.mean(self.trials, t), t)
    }
}
