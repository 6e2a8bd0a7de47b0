//! Two classes.

use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};
use vi_core::special::{log_sigmoid, sigmoid, sigmoid_derivative};

use super::GlmLikelihood;
use crate::RevrandError;
use crate::lanes;

/// `p(y = 1) = s(f)`, labels 0 and 1.
///
/// ```
/// use vi_revrand::likelihood::{Bernoulli, GlmLikelihood};
/// assert_eq!(Bernoulli.log_density(1.0, 1.0, -800.0), -800.0);
/// assert!((Bernoulli.log_density(0.0, 1.0, -40.0) / -f64::exp(-40.0) - 1.0).abs() < 1e-15);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bernoulli;

impl GlmLikelihood for Bernoulli {
    fn family(&self) -> &'static str {
        "Bernoulli (labels 0 and 1)"
    }

    fn is_discrete(&self) -> bool {
        true
    }

    fn supports(&self, y: f64, _: f64) -> bool {
        y == 0.0 || y == 1.0
    }

    fn log_density(&self, y: f64, _: f64, f: f64) -> f64 {
        log_sigmoid(if y == 1.0 { f } else { -f })
    }

    fn derivatives(&self, y: f64, trials: f64, f: f64) -> [f64; 4] {
        let slope = if y == 1.0 { sigmoid(-f) } else { -sigmoid(f) };
        let variance = sigmoid_derivative(f);
        [self.log_density(y, trials, f), slope, -variance, variance * (0.5 * f).tanh()]
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
        if y < 0.0 {
            0.0
        } else if y < 1.0 {
            sigmoid(-f)
        } else {
            1.0
        }
    }

    fn sample(&self, _: f64, f: f64, rng: &mut impl Rng) -> Result<f64, RevrandError> {
        Ok(f64::from(u8::from(rng.random::<f64>() < sigmoid(f))))
    }
}
