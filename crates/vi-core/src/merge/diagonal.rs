//! Diagonal beliefs of shards, in `O(d)` for each.

use super::Mergeable;
use crate::Error;
use crate::belief::{Belief, DiagonalGaussian};

impl Mergeable for DiagonalGaussian {
    const SHARD_KIND: &'static str = "vi-core/diagonal-shard";

    fn merge(prior: &Self, parts: &[&Self]) -> Result<Self, Error> {
        let mut precisions = prior.precisions().to_vec();
        let mut shifts: Vec<f64> = precisions.iter().zip(prior.mean()).map(|(p, m)| p * m).collect();
        for part in parts {
            for i in 0..precisions.len() {
                precisions[i] += part.precisions()[i] - prior.precisions()[i];
                shifts[i] += part.precisions()[i] * part.mean()[i] - prior.precisions()[i] * prior.mean()[i];
            }
        }
        let mean = shifts.iter().zip(&precisions).map(|(s, p)| s / p).collect();
        Self::from_precisions(mean, precisions)
    }
}
