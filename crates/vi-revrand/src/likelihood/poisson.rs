//! The Poisson likelihood, for counts without an upper limit.

use rand::Rng;
use serde::{Deserialize, Serialize};
use vi_core::Likelihood;
use vi_core::special::{sigmoid, sigmoid_derivative, softplus};
use vi_models::likelihood::Poisson as Counts;
use vi_models::predict::CountPrediction;

use super::GlmLikelihood;
use crate::RevrandError;

/// The link from a predictor to a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rate {
    /// The rate is `e^f`: effects multiply.
    Exponential,
    /// The rate is `log(1 + e^f)`: effects add if counts are large.
    Softplus,
}

/// The likelihood of counts `y` with the rate `g(f)`.
///
/// ```
/// use vi_revrand::likelihood::{GlmLikelihood, Poisson, Rate};
/// let counts = Poisson(Rate::Softplus);
/// // The rate e^(−800) underflows, its logarithm does not.
/// assert_eq!(counts.log_density(1.0, 1.0, -800.0), -800.0);
/// assert!(!counts.supports(1.5, 1.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Poisson(
    /// The link.
    pub Rate,
);

/// The rate `g = log(1 + e^f)` in the form from which its derivatives are computed.
struct Softplus {
    /// `log g`.
    log_rate: f64,
    /// `ρ = g′/g`.
    relative_slope: f64,
    /// `u = s(−f) − ρ`, so that `ρ′ = ρ·u`; without the cancellation for negative `f`, where both tend to 1.
    difference: f64,
}

impl Softplus {
    fn at(f: f64) -> Self {
        if f > 0.0 {
            let rate = softplus(f);
            let relative_slope = sigmoid(f) / rate;
            let difference = sigmoid(-f) - relative_slope;
            return Self { log_rate: rate.ln(), relative_slope, difference };
        }
        let e = f.exp();
        let rate = e.ln_1p();
        // 1 − e/2 + … if e has underflowed.
        let ratio = if e > f64::MIN_POSITIVE { rate / e } else { 1.0 };
        let relative_slope = 1.0 / ((1.0 + e) * ratio);
        // s(−f) − ρ = −s(−f)·(e − log(1+e))/log(1+e).
        let difference = if e > SMALL { -sigmoid(-f) * excess(e) / rate } else { -0.5 * e * (1.0 - e * 7.0 / 6.0) };
        Self { log_rate: f + ratio.ln(), relative_slope, difference }
    }
}

/// Below this the next term of the series is below `ε`, and `e²` may underflow.
const SMALL: f64 = 1e-8;

/// `e − log(1 + e)` for `0 < e ≤ 1`: with `t = e/(2+e)`, `log(1+e) = 2(t + t³/3 + t⁵/5 + …)` and `e − 2t = t·e`.
fn excess(e: f64) -> f64 {
    let t = e / (2.0 + e);
    let t2 = t * t;
    // t² ≤ 1/9: the term after these is below ε.
    let mut sum = 0.0;
    for j in (1..=16).rev() {
        sum = t2 * (1.0 / f64::from(2 * j + 1) + sum);
    }
    t * (e - 2.0 * sum)
}

impl Poisson {
    /// `log g`: the predictor of the same counts under the exponential rate.
    fn log_rate(self, f: f64) -> f64 {
        match self.0 {
            Rate::Exponential => f,
            Rate::Softplus => Softplus::at(f).log_rate,
        }
    }
}

impl GlmLikelihood for Poisson {
    fn family(&self) -> &'static str {
        "Poisson (integers from 0)"
    }

    fn is_discrete(&self) -> bool {
        true
    }

    fn supports(&self, y: f64, _: f64) -> bool {
        Counts::default().supports(y)
    }

    fn log_density(&self, y: f64, _: f64, f: f64) -> f64 {
        Counts::default().log_density(y, self.log_rate(f))
    }

    fn derivatives(&self, y: f64, _: f64, f: f64) -> [f64; 4] {
        let counts = Counts::default();
        match self.0 {
            Rate::Exponential => {
                let [value, slope, curvature] = counts.derivatives(y, f);
                [value, slope, -curvature, -curvature]
            }
            Rate::Softplus => {
                let Softplus { log_rate, relative_slope: rho, difference: u } = Softplus::at(f);
                let (s, s1) = (sigmoid(f), sigmoid_derivative(f));
                [
                    counts.log_density(y, log_rate),
                    y * rho - s,
                    y * rho * u - s1,
                    // u′ = −s′ − ρu, and s″ = s′·(s(−f) − s(f)).
                    y * rho * (u * u - s1 - rho * u) + s1 * (0.5 * f).tanh(),
                ]
            }
        }
    }

    fn mean(&self, _: f64, f: f64) -> f64 {
        match self.0 {
            Rate::Exponential => f.exp(),
            Rate::Softplus => softplus(f),
        }
    }

    fn variance(&self, trials: f64, f: f64) -> f64 {
        self.mean(trials, f)
    }

    fn cdf(&self, y: f64, _: f64, f: f64) -> f64 {
        if y < 0.0 { 0.0 } else { Counts::default().cdf(y.floor(), self.log_rate(f)) }
    }

    fn draw(&self, _: f64, f: f64, rng: &mut impl Rng) -> Result<f64, RevrandError> {
        Ok(Counts::default().draw(self.log_rate(f), rng)?)
    }

    /// `e^(a + v/2)` and `E + E²·(e^v − 1)` for the exponential rate.
    fn closed_moments(&self, _: f64, a: f64, v: f64) -> Option<[f64; 2]> {
        match self.0 {
            Rate::Exponential => {
                let (mean, variance) = Counts::default().predictive_moments(a, v);
                Some([mean, variance])
            }
            Rate::Softplus => None,
        }
    }
}
