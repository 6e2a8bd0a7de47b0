//! ℒ of the linear model, by its closed form and by its terms.

use libm::lgamma;
use serde::{Deserialize, Serialize};
pub(super) use vi_core::special::LN_2PI;

use super::super::gamma::Gamma;

/// The quantities in ℒ after an iteration, for `n` observations.
pub(super) struct Ingredients<'a> {
    pub(super) n: f64,
    pub(super) d: f64,
    pub(super) noise_prior: Gamma,
    pub(super) shrinkage_prior: Gamma,
    /// `Gam(a_N, b_N)`.
    pub(super) noise: Gamma,
    /// `Gam(c_N, d_N)`, one or `d` of them.
    pub(super) shrinkage: &'a [Gamma],
    pub(super) squared_error: f64,
    pub(super) fitted_trace: f64,
    pub(super) log_det: f64,
}

impl Ingredients<'_> {
    /// (22), (33) without the terms that no iteration changes, and the sum of the sizes of its terms.
    pub(super) fn closed_form(&self) -> (f64, f64) {
        let a = self.noise.shape;
        let terms = [
            -0.5 * self.noise.mean() * self.squared_error,
            -0.5 * self.fitted_trace,
            0.5 * self.log_det,
            -self.noise_prior.rate * self.noise.mean(),
            lgamma(a),
            -a * self.noise.rate.ln(),
            a,
            -self.shrinkage.iter().map(|g| g.log_normaliser()).sum::<f64>(),
        ];
        let size = |sum: f64, term: &f64| sum + term.abs();
        (terms.iter().sum(), terms.iter().fold(0.0, size))
    }

    /// The terms of (22), (33) that no iteration changes.
    pub(super) fn constants(&self) -> f64 {
        -0.5 * (self.n * LN_2PI - self.d)
            + self.noise_prior.log_normaliser()
            + self.shrinkage.len() as f64 * self.shrinkage_prior.log_normaliser()
    }
}

/// The terms of ℒ of a linear fit (16), in nats; the misprints of (16) and (19) are corrected.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LinearBoundTerms {
    /// `E ln p(Y|X, w, τ)` (17).
    pub likelihood: f64,
    /// `E ln p(w, τ|α)` (18).
    pub weights: f64,
    /// `E ln p(α)` (19), with `c₀·ln d₀`.
    pub shrinkage: f64,
    /// `E ln q(w, τ)` (20).
    pub weights_posterior: f64,
    /// `E ln q(α)` (21).
    pub shrinkage_posterior: f64,
}

impl LinearBoundTerms {
    /// The terms from `squares = w_j²` and `variances = V_jj`, of length `d`; `shrinkage` has length 1 or `d`.
    pub(super) fn new(given: &Ingredients<'_>, squares: &[f64], variances: &[f64]) -> Self {
        let Ingredients { n, d, noise, .. } = *given;
        let (tau, log_tau) = (noise.mean(), noise.mean_log());
        let of = |j: usize| given.shrinkage[if given.shrinkage.len() == 1 { 0 } else { j }];
        let log_alpha: f64 = (0..squares.len()).map(|j| of(j).mean_log()).sum();
        let penalty: f64 =
            squares.iter().zip(variances).enumerate().map(|(j, (w, v))| of(j).mean() * (tau * w + v)).sum();
        let likelihood = 0.5 * n * (log_tau - LN_2PI) - 0.5 * (tau * given.squared_error + given.fitted_trace);
        let weights =
            0.5 * (d * (log_tau - LN_2PI) + log_alpha) - 0.5 * penalty + noise.expected_log_prior(given.noise_prior);
        let shrinkage = given.shrinkage.iter().map(|g| g.expected_log_prior(given.shrinkage_prior)).sum();
        let weights_posterior = 0.5 * d * (log_tau - LN_2PI - 1.0) - 0.5 * given.log_det + noise.negative_entropy();
        let shrinkage_posterior = given.shrinkage.iter().map(|g| g.negative_entropy()).sum();
        Self { likelihood, weights, shrinkage, weights_posterior, shrinkage_posterior }
    }

    /// The bound ℒ: the sum of the first three terms less the last two (16).
    #[must_use]
    pub fn total(&self) -> f64 {
        self.likelihood + self.weights + self.shrinkage - self.weights_posterior - self.shrinkage_posterior
    }
}
