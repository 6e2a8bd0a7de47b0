//! The Bernoulli likelihood, for two classes.

use rand::Rng;
use serde::{Deserialize, Serialize};
use vi_core::special::{sigmoid, sigmoid_derivative};
use vi_core::{BernoulliLogit, Likelihood, Mixture8};
use vi_models::predict::CountPrediction;

use super::GlmLikelihood;
use crate::RevrandError;
use crate::lanes;

/// The likelihood `p(y = 1) = s(f)` of labels 0 and 1: [`BernoulliLogit`] for many predictors at once.
///
/// ```
/// use vi_revrand::likelihood::{Bernoulli, GlmLikelihood};
/// assert_eq!(Bernoulli.log_density(1.0, 1.0, -800.0), -800.0);
/// assert!((Bernoulli.log_density(0.0, 1.0, -40.0) / -f64::exp(-40.0) - 1.0).abs() < 1e-15);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bernoulli;

const LOGIT: BernoulliLogit<Mixture8> = BernoulliLogit(Mixture8);

impl GlmLikelihood for Bernoulli {
    fn family(&self) -> &'static str {
        LOGIT.family()
    }

    fn is_discrete(&self) -> bool {
        true
    }

    fn supports(&self, y: f64, _: f64) -> bool {
        LOGIT.supports(y)
    }

    fn log_density(&self, y: f64, _: f64, f: f64) -> f64 {
        LOGIT.log_density(y, f)
    }

    fn derivatives(&self, y: f64, _: f64, f: f64) -> [f64; 4] {
        let [value, slope, curvature] = LOGIT.derivatives(y, f);
        [value, slope, -curvature, curvature * (0.5 * f).tanh()]
    }

    fn sums_and_slopes(&self, y: &[f64], _: &[f64], f: &[f64], sums: &mut [f64], slopes: &mut [f64]) {
        let per_row = f.len() / y.len().max(1);
        for (n, (f, slopes)) in f.chunks_exact(per_row).zip(slopes.chunks_exact_mut(per_row)).enumerate() {
            // log p = −softplus(−f) for label 1, −softplus(f) for label 0.
            let sign = if y[n] == 1.0 { -1.0 } else { 1.0 };
            sums[n] = -lanes::softplus_sum(sign, f, slopes);
        }
    }

    fn mean(&self, _: f64, f: f64) -> f64 {
        sigmoid(f)
    }

    fn variance(&self, _: f64, f: f64) -> f64 {
        sigmoid_derivative(f)
    }

    fn cdf(&self, y: f64, _: f64, f: f64) -> f64 {
        if y < 0.0 { 0.0 } else { LOGIT.cdf(y, f) }
    }

    fn draw(&self, _: f64, f: f64, rng: &mut impl Rng) -> Result<f64, RevrandError> {
        Ok(LOGIT.draw(f, rng)?)
    }
}
