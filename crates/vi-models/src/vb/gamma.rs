//! The gamma distributions of the model, and the two special functions that they need.

use libm::lgamma;
use serde::{Deserialize, Serialize};
use vi_core::Error;

use crate::check;

/// `Gam(shape, rate)`, of a noise precision `τ` or a shrinkage `α`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Gamma {
    /// The shape, without units.
    pub shape: f64,
    /// The rate, in inverse units of the variable.
    pub rate: f64,
}

impl Gamma {
    pub(super) fn new(shape: f64, rate: f64) -> Self {
        Self { shape, rate }
    }

    /// # Errors
    /// `Setting` unless shape and rate are positive and finite.
    pub(super) fn check(self) -> Result<(), Error> {
        check::positive("shape of a gamma distribution", self.shape)?;
        check::positive("rate of a gamma distribution", self.rate)
    }

    /// The mean `shape/rate`.
    #[must_use]
    pub fn mean(self) -> f64 {
        self.shape / self.rate
    }

    /// `E ln α = ψ(a) − ln b`.
    pub(super) fn mean_log(self) -> f64 {
        digamma(self.shape) - self.rate.ln()
    }

    /// `E_q ln p` for `q = self`: (59), and (19) with its constant put right (`c₀·ln d₀`).
    pub(super) fn expected_log_prior(self, prior: Self) -> f64 {
        prior.log_normaliser() + (prior.shape - 1.0) * self.mean_log() - prior.rate * self.mean()
    }

    /// `E_q ln q`: (21), (61).
    pub(super) fn negative_entropy(self) -> f64 {
        (self.shape - 1.0) * digamma(self.shape) + self.rate.ln() - lgamma(self.shape) - self.shape
    }

    /// The logarithm of the density's constant, `a·ln b − ln Γ(a)`.
    pub(super) fn log_normaliser(self) -> f64 {
        self.shape * self.rate.ln() - lgamma(self.shape)
    }
}

/// `ψ(x)` for `x > 0`, to a few ε of `max(1, |ψ|)`: the recurrence up to 10, then the asymptotic series.
pub(super) fn digamma(x: f64) -> f64 {
    // B₂ₖ/2k of ln x − 1/(2x) − Σ B₂ₖ/(2k·x²ᵏ); at x = 10 the next term is below 5e-17.
    const SERIES: [f64; 7] =
        [1.0 / 12.0, -1.0 / 120.0, 1.0 / 252.0, -1.0 / 240.0, 1.0 / 132.0, -691.0 / 32760.0, 1.0 / 12.0];
    let (mut x, mut below) = (x, 0.0);
    while x < 10.0 {
        below += 1.0 / x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = SERIES.iter().rev().fold(0.0, |sum, coefficient| square * (coefficient + sum));
    x.ln() - 0.5 / x - series - below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digamma_agrees_with_forty_digits() {
        let table = [
            (0.01, -100.560_885_457_868_67),
            (0.5, -1.963_510_026_021_423_5),
            (1.0, -0.577_215_664_901_532_9),
            (2.5, 0.703_156_640_645_243_2),
            (10.0, 2.251_752_589_066_721),
            (250.01, 5.519_499_663_834_527),
        ];
        for (x, expected) in table {
            let tolerance = 8.0 * f64::EPSILON * f64::max(1.0, f64::abs(expected));
            assert!((digamma(x) - expected).abs() < tolerance, "{x}: {} {expected}", digamma(x));
        }
        // ψ(x+1) = ψ(x) + 1/x
        for x in [0.3, 4.9, 9.7, 123.0] {
            assert!((digamma(x + 1.0) - digamma(x) - 1.0 / x).abs() < 16.0 * f64::EPSILON * (1.0 + 1.0 / x));
        }
    }

    #[test]
    fn a_prior_has_no_divergence_from_itself() {
        let gamma = Gamma::new(0.7, 3.0);
        assert!((gamma.expected_log_prior(gamma) - gamma.negative_entropy()).abs() < 1e-14);
    }
}
