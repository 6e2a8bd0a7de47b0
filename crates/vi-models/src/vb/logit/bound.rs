//! ℒ of the logistic model by its terms.

use serde::{Deserialize, Serialize};
use vi_core::special::LN_2PI;

use super::{End, Model};

/// The terms of ℒ of a logistic fit (56), in nats.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LogitBoundTerms {
    /// `E ln h(w, ξ)` (57), (76), evaluated directly from (46); with [`LogitBound::Softplus`](super::LogitBound::Softplus) the bound of
    /// `E ln p(Y|X, w)` itself.
    pub likelihood: f64,
    /// `E ln p(w|α)` (58), (77).
    pub weights: f64,
    /// `E ln p(α)` (59), (78).
    pub shrinkage: f64,
    /// `E ln q(w)` (60).
    pub weights_posterior: f64,
    /// `E ln q(α)` (61), (79).
    pub shrinkage_posterior: f64,
}

impl LogitBoundTerms {
    pub(super) fn new(model: &Model<'_>, end: &End<'_>) -> Self {
        let d = model.d as f64;
        let sizes = model.grouping.sizes(model.d);
        let mut weights = -0.5 * d * LN_2PI;
        for ((alpha, size), moment) in end.shrinkage.iter().zip(&sizes).zip(&end.moments) {
            weights += 0.5 * (size * alpha.mean_log() - alpha.mean() * moment);
        }
        Self {
            likelihood: end.likelihood,
            weights,
            shrinkage: end.shrinkage.iter().map(|alpha| alpha.expected_log_prior(model.prior)).sum(),
            weights_posterior: -0.5 * end.ridge.log_det() - 0.5 * d * (1.0 + LN_2PI),
            shrinkage_posterior: end.shrinkage.iter().map(|alpha| alpha.negative_entropy()).sum(),
        }
    }

    /// The bound ℒ: the sum of the first three terms less the last two (56).
    #[must_use]
    pub fn total(&self) -> f64 {
        self.likelihood + self.weights + self.shrinkage - self.weights_posterior - self.shrinkage_posterior
    }
}
