//! Merging of low-rank beliefs of shards: their columns are joined, a bounded number at a time, then projected.

use std::borrow::Cow;

use vi_linalg::LowRank;
use vi_linalg::eigen::eigen;
use vi_linalg::faer::{Mat, MatRef, Par};

use super::LowRankGaussian;
use super::kernels::lower_product;
use super::storage::Full;
use crate::Error;
use crate::merge::Mergeable;

/// The number of columns that are joined before a projection, whose work and memory grow as their cube and square.
const COLUMNS: usize = 256;

impl Mergeable for LowRankGaussian {
    const SHARD_KIND: &'static str = "vi-core/low-rank-shard";

    /// `ψ = ψ₀ + Σ(ψ_k − ψ₀)`, `W = [W₁ … W_K]` and the buffered rows, a prior's own `W₀` being subtracted `K − 1` times; the
    /// mean exactly, `μ = μ₀ + PΣΛ_k(μ_k − μ₀)`; then one projection.
    ///
    /// Up to `d = 256` the columns of all shards are gathered as their `d × d` sum: `d²` flops for each column and one projection.
    /// In more dimensions shards join in groups of at most 256 columns, or as many as one block has, each group projected before
    /// the next. Either way the cost is linear in `K`.
    fn merge(prior: &Self, parts: &[&Self]) -> Result<Self, Error> {
        let normalised: Vec<_> = parts.iter().map(|part| part.normalised()).collect();
        let parts: Vec<&Full> = normalised.iter().map(Cow::as_ref).collect();
        let mut prior = prior.normalised().into_owned();
        prior.flush(Par::Seq)?;
        let (mean, precision) = (prior.mean.clone(), prior.precision.clone());
        let mut merged = Full::from_parts(mean, precision, prior.core.settings)?;
        merged.core.begun = prior.core.begun;
        let mut rest = parts.as_slice();
        while !rest.is_empty() {
            let (group, others) = rest.split_at(prior.fitting(rest));
            merged = merged.with_gains(&prior, group)?;
            rest = others;
        }
        Ok(merged.into())
    }
}

impl Full {
    /// How many of `parts` are merged at once, at least one.
    fn fitting(&self, parts: &[&Self]) -> usize {
        if self.mean.len() <= COLUMNS {
            return parts.len();
        }
        // The belief's own columns, and the prior's to be subtracted.
        let mut columns = 2 * self.core.rank();
        let fits = parts.iter().take_while(|part| {
            columns += part.core.rank() + part.core.waiting.len();
            columns <= COLUMNS
        });
        fits.count().max(1)
    }

    /// This belief, without buffered rows, with what `parts` have gained over `prior`:
    ///
    /// ```text
    /// Λ⁺ = Λ + Σ(Λ_k − Λ₀),    μ⁺ = μ + P⁺·Σ(Λ_k(μ_k − μ) − Λ₀(μ₀ − μ))
    /// ```
    ///
    /// before the projection.
    fn with_gains(&self, prior: &Self, parts: &[&Self]) -> Result<Self, Error> {
        let d = self.mean.len();
        let mut psi = self.precision.psi().to_vec();
        let mut pull = vec![0.0; d];
        let from_here =
            |mean: &[f64]| -> Vec<f64> { mean.iter().zip(&self.mean).map(|(to, from)| to - from).collect() };
        let of_prior = prior.precision_mul(&from_here(&prior.mean), Par::Seq)?;
        for part in parts {
            for ((psi, own), prior) in psi.iter_mut().zip(part.precision.psi()).zip(prior.precision.psi()) {
                *psi += own - prior;
            }
            let own = part.precision_mul(&from_here(&part.current_mean()), Par::Seq)?;
            for ((pull, own), prior) in pull.iter_mut().zip(own).zip(&of_prior) {
                *pull += own - prior;
            }
        }
        if let Some(pivot) = psi.iter().position(|psi| !(*psi > 0.0 && psi.is_finite())) {
            return Err(Error::NotPositiveDefinite { argument: "psi of the merged precision", pivot });
        }
        let precision = LowRank::from_row_major(self.precision.w_row_major().to_vec(), self.core.rank(), psi)?;
        let mut merged = Self::from_parts(self.mean.clone(), precision, self.core.settings)?;
        (merged.core.begun, merged.core.counts) = (self.core.begun, self.core.counts);
        let columns: usize = parts.iter().map(|part| part.core.rank() + part.core.waiting.len()).sum();
        if columns > d && d <= COLUMNS {
            let mut sum = Mat::zeros(d, d);
            each_gain(prior, parts, |x, weights| {
                let weighted = Mat::from_fn(x.nrows(), d, |j, i| weights[j] * x[(j, i)]);
                lower_product(sum.as_mut(), x.transpose(), weighted.as_ref(), Par::Seq);
                Ok(())
            })?;
            let (weights, rows) = taken_apart(sum, merged.precision.psi())?;
            merged.push_columns(rows.as_ref(), |j| weights[j], Par::Seq)?;
        } else {
            each_gain(prior, parts, |x, weights| merged.push_columns(x, |j| weights[j], Par::Seq))?;
        }
        let change = merged.covariance_mul(&pull, Par::Seq)?;
        merged.shift_mean(&change)?;
        merged.flush(Par::Seq)?;
        Ok(merged)
    }
}

/// Passes on the columns that `parts` have beyond `prior`'s, as rows with weights; those of negative weight come last.
fn each_gain(
    prior: &Full,
    parts: &[&Full],
    mut take: impl FnMut(MatRef<'_, f64>, &[f64]) -> Result<(), Error>,
) -> Result<(), Error> {
    let (d, p) = (prior.mean.len(), prior.core.rank());
    for part in parts {
        take(part.precision.w().transpose(), &vec![1.0; p])?;
    }
    for part in parts {
        let columns = part.core.waiting.rows.columns(d);
        let mut memory = columns.tile_memory(d);
        let curvatures: Vec<f64> = part.core.waiting.space.curvatures().collect();
        take(columns.tile(0, d, &mut memory), &curvatures)?;
    }
    if prior.precision.w_row_major().iter().any(|w| *w != 0.0) {
        take(prior.precision.w().transpose(), &vec![-(parts.len() as f64); p])?;
    }
    Ok(())
}

/// Decomposes `Σ_j λ_j·x_jx_jᵀ` (lower triangle, `d × d`) into weights `λ` in falling order and rows `x`, by eigenvectors in the
/// metric of `Ψ`.
fn taken_apart(mut sum: Mat<f64>, psi: &[f64]) -> Result<(Vec<f64>, Mat<f64>), Error> {
    let d = psi.len();
    let roots: Vec<f64> = psi.iter().map(|psi| psi.sqrt()).collect();
    for j in 0..d {
        for i in j..d {
            sum[(i, j)] /= roots[i] * roots[j];
        }
    }
    let (mut values, vectors) = eigen(sum.as_ref(), Par::Seq)?;
    values.reverse();
    Ok((values, Mat::from_fn(d, d, |j, i| roots[i] * vectors[(i, d - 1 - j)])))
}
