//! Merging square-root beliefs: precisions add, and the sum is factored. Cost `d³/3` for each shard.

use super::Mergeable;
use crate::Error;
use crate::belief::SquareRootGaussian;

impl Mergeable for SquareRootGaussian {
    const SHARD_KIND: &'static str = "vi-core/sqrt-shard";

    fn merge(prior: &Self, parts: &[&Self]) -> Result<Self, Error> {
        let start = prior.natural();
        let mut sum = start.clone();
        for part in parts {
            sum.add_gain(&part.natural(), &start);
        }
        Self::from_natural(&sum)
    }
}
