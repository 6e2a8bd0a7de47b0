//! Which columns are relevant.

use super::{LinearFit, LogitFit, WeightDistribution};

/// How relevant one column is, according to a fit with automatic relevance determination.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Relevance {
    /// The column, from 0.
    pub index: usize,
    /// `γ_j = 1 − E[α_j]·V_jj ∈ [0, 1]`: the share of the weight's precision that comes from the data and not the shrinkage. It
    /// does not depend on the column's units.
    pub determined: f64,
    /// The size of the weight, `|w_j|`, in posterior standard deviations.
    pub signal: f64,
    /// The expected shrinkage `E α_j`, large if the column is shrunk away. It is in inverse squared units of the weight, so
    /// columns of different scales cannot be compared by it.
    pub precision: f64,
}

/// The columns, the most relevant first: by `γ_j`, then by signal.
fn rank(weights: &WeightDistribution, shrinkage: &[f64], noise_variance: f64) -> Vec<Relevance> {
    let variances = weights.variances();
    let mut ranking: Vec<Relevance> = weights
        .mean()
        .iter()
        .zip(&variances)
        .enumerate()
        .map(|(index, (mean, variance))| {
            let precision = shrinkage[if shrinkage.len() == 1 { 0 } else { index }];
            Relevance {
                index,
                determined: (1.0 - precision * variance).clamp(0.0, 1.0),
                signal: mean.abs() / (variance * noise_variance).sqrt(),
                precision,
            }
        })
        .collect();
    ranking.sort_by(|a, b| b.determined.total_cmp(&a.determined).then(b.signal.total_cmp(&a.signal)));
    ranking
}

impl LinearFit {
    /// The columns by relevance, the most relevant first. Cost `d³/3` or `2nd` flops.
    #[must_use]
    pub fn relevance(&self) -> Vec<Relevance> {
        rank(self.weights(), &self.expected_shrinkage(), 1.0 / self.noise().mean())
    }
}

impl LogitFit {
    /// The columns by relevance, the most relevant first. Cost `d³/3` or `2nd` flops.
    #[must_use]
    pub fn relevance(&self) -> Vec<Relevance> {
        rank(self.weights(), &self.shrinkage_of_weights(), 1.0)
    }
}
