//! The binomial likelihood, for successes out of several trials.

use rand::Rng;
use serde::{Deserialize, Serialize};
use vi_core::Likelihood;
use vi_core::special::{sigmoid, sigmoid_derivative};
use vi_models::likelihood::Binomial as Successes;
use vi_models::predict::CountPrediction;

use super::GlmLikelihood;
use crate::RevrandError;

/// The likelihood of `y` successes out of `trials`, each of probability `s(f)`. The number of trials comes with each observation.
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
        trials >= 1.0 && Successes::new(trials).is_ok_and(|successes| successes.supports(y))
    }

    fn log_density(&self, y: f64, trials: f64, f: f64) -> f64 {
        Successes::new(trials).map_or(f64::NAN, |successes| successes.log_density(y, f))
    }

    fn derivatives(&self, y: f64, trials: f64, f: f64) -> [f64; 4] {
        Successes::new(trials).map_or([f64::NAN; 4], |successes| {
            let [value, slope, curvature] = successes.derivatives(y, f);
            [value, slope, -curvature, curvature * (0.5 * f).tanh()]
        })
    }

    fn mean(&self, trials: f64, f: f64) -> f64 {
        trials * sigmoid(f)
    }

    fn variance(&self, trials: f64, f: f64) -> f64 {
        trials * sigmoid_derivative(f)
    }

    fn cdf(&self, y: f64, trials: f64, f: f64) -> f64 {
        if y < 0.0 { 0.0 } else { Successes::new(trials).map_or(f64::NAN, |successes| successes.cdf(y.floor(), f)) }
    }

    fn draw(&self, trials: f64, f: f64, rng: &mut impl Rng) -> Result<f64, RevrandError> {
        Ok(Successes::new(trials)?.draw(f, rng)?)
    }
}
