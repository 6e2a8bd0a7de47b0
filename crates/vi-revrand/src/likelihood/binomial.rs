//! Successes out of several trials.

use rand::Rng;
use rand_distr::Distribution;
use serde::{Deserialize, Serialize};
use vi_core::special::{sigmoid, sigmoid_derivative, softplus};

use super::{GlmLikelihood, counts};
use crate::RevrandError;

/// `y` successes out of `trials`, each of probability `s(f)`. The number of trials comes with each observation.
///
/// ```
/// use vi_revrand::likelihood::{Binomial, GlmLikelihood};
/// let log = Binomial.log_density(3.0, 5.0, 40.0);
/// assert!((log - (f64::ln(10.0) - 80.0)).abs() < 1e-13);
/// assert!(!Binomial.supports(6.0, 5.0));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binomial;

impl GlmLikelihood for Binomial {
    fn family(&self) -> &'static str {
        "binomial (integers from 0 to the number of trials)"
    }

    fn counts_trials(&self) -> bool {
        true
    }

    fn is_discrete(&self) -> bool {
        true
    }

    fn supports(&self, y: f64, trials: f64) -> bool {
        counts::is_count(y) && counts::is_count(trials) && trials >= 1.0 && y <= trials
    }

    /// The deviance form (Loader 2000): with `f̂ = logit(y/n)` and `Δ = f − f̂`,
    /// `log p = log p(y|f̂) − n·[log(1 + p̂·(e^Δ − 1)) − p̂·Δ]`, so that nothing large cancels near the mode.
    fn log_density(&self, y: f64, trials: f64, f: f64) -> f64 {
        let failures = trials - y;
        if y == 0.0 {
            return -trials * softplus(f);
        }
        if failures == 0.0 {
            return -trials * softplus(-f);
        }
        let delta = f - (y / failures).ln();
        // Successes and failures may change places. Near the mode the rarer one has less to cancel, far from it e^Δ must not overflow.
        let by_failures = if delta.abs() < 1.0 { failures < y } else { delta > 0.0 };
        let (share, delta) = if by_failures { (failures / trials, -delta) } else { (y / trials, delta) };
        counts::binomial_mode(y, trials) - trials * ((share * delta.exp_m1()).ln_1p() - share * delta)
    }

    fn derivatives(&self, y: f64, trials: f64, f: f64) -> [f64; 4] {
        let variance = trials * sigmoid_derivative(f);
        let slope = y * sigmoid(-f) - (trials - y) * sigmoid(f);
        [self.log_density(y, trials, f), slope, -variance, variance * (0.5 * f).tanh()]
    }

    fn mean(&self, trials: f64, f: f64) -> f64 {
        trials * sigmoid(f)
    }

    fn variance(&self, trials: f64, f: f64) -> f64 {
        trials * sigmoid_derivative(f)
    }

    fn cdf(&self, y: f64, trials: f64, f: f64) -> f64 {
        let y = y.floor();
        if y < 0.0 {
            0.0
        } else if y >= trials {
            1.0
        } else {
            counts::binomial_cdf(y, trials, sigmoid(f), sigmoid(-f), self.log_density(y, trials, f))
        }
    }

    fn sample(&self, trials: f64, f: f64, rng: &mut impl Rng) -> Result<f64, RevrandError> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be a count")]
        let n = trials as u64;
        let overflow = |_| vi_core::Error::Overflow { quantity: "a binomial draw's trials", value: trials };
        Ok(rand_distr::Binomial::new(n, sigmoid(f)).map_err(overflow)?.sample(rng) as f64)
    }
}
