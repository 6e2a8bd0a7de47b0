//! The gamma distributions of the model.

use libm::lgamma;
use serde::{Deserialize, Serialize};
use vi_core::Error;
use vi_core::special::digamma;

use crate::check;

/// A gamma distribution `Gam(shape, rate)`, of a noise precision `τ` or a shrinkage `α`.
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

    /// Checks the parameters.
    ///
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

    /// The mean of the inverse, `rate/(shape − 1)`; infinite for a shape of 1 or less.
    pub(super) fn mean_inverse(self) -> f64 {
        if self.shape > 1.0 { self.rate / (self.shape - 1.0) } else { f64::INFINITY }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prior_has_no_divergence_from_itself() {
        let gamma = Gamma::new(0.7, 3.0);
        assert!((gamma.expected_log_prior(gamma) - gamma.negative_entropy()).abs() < 1e-14);
    }
}
