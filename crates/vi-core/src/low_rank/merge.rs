//! Low-rank beliefs of shards: their factors side by side, then one projection.

use vi_linalg::LowRank;
use vi_linalg::faer::Par;

use super::LowRankGaussian;
use crate::Error;
use crate::belief::Belief;
use crate::merge::Mergeable;

impl Mergeable for LowRankGaussian {
    const SHARD_KIND: &'static str = "vi-core/low-rank-shard";

    /// `ψ = ψ₀ + Σ(ψ_k − ψ₀)`, `W = [W₁ … W_K]` and the rows that wait, a prior's own `W₀` taken off `K − 1` times; the mean
    /// exactly, `μ = μ₀ + PΣΛ_k(μ_k − μ₀)`; then one projection. Cost `d(Kp)²` flops, memory for the `Kp` columns.
    fn merge(prior: &Self, parts: &[&Self]) -> Result<Self, Error> {
        let (d, shards) = (prior.dim(), parts.len() as f64);
        let mut psi = prior.precision.psi().to_vec();
        let mut pull = vec![0.0; d];
        let mut prior_alone = prior.clone();
        prior_alone.flush(Par::Seq)?;
        for part in parts {
            for ((psi, own), prior) in psi.iter_mut().zip(part.precision.psi()).zip(prior_alone.precision.psi()) {
                *psi += own - prior;
            }
            let difference: Vec<f64> =
                part.mean().iter().zip(prior_alone.mean()).map(|(own, prior)| own - prior).collect();
            for (pull, own) in pull.iter_mut().zip(part.precision_mul(&difference, Par::Seq)?) {
                *pull += own;
            }
        }
        if let Some(pivot) = psi.iter().position(|psi| !(*psi > 0.0 && psi.is_finite())) {
            return Err(Error::NotPositiveDefinite { argument: "psi of the merged precision", pivot });
        }
        let precision = LowRank::diagonal_only(&psi, prior.rank())?;
        let mean = prior_alone.mean().to_vec();
        let mut merged = Self { begun: prior.begun, ..Self::from_parts(mean, precision, prior.settings)? };
        for part in parts {
            merged.push_columns(part.precision.w().transpose(), |_| 1.0, Par::Seq)?;
        }
        for part in parts {
            let columns = part.waiting.rows.columns(d);
            let mut memory = columns.tile_memory(d);
            let curvatures: Vec<f64> = part.waiting.space.curvatures().collect();
            merged.push_columns(columns.tile(0, d, &mut memory), |t| curvatures[t], Par::Seq)?;
        }
        if prior_alone.precision.w_row_major().iter().any(|w| *w != 0.0) {
            merged.push_columns(prior_alone.precision.w().transpose(), |_| 1.0 - shards, Par::Seq)?;
        }
        let change = merged.covariance_mul(&pull, Par::Seq)?;
        merged.shift_mean(&change)?;
        merged.flush(Par::Seq)?;
        Ok(merged)
    }
}
