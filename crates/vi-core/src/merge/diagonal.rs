//! Merging diagonal beliefs, in `O(d)` for each.

use super::{Mergeable, Part, Pull, pull};
use crate::Error;
use crate::belief::DiagonalGaussian;

impl Mergeable for DiagonalGaussian {
    const SHARD_KIND: &'static str = "vi-core/diagonal-shard";

    fn merge(prior: &Self, parts: &[&Self]) -> Result<Self, Error> {
        prior.with_moments(|i| {
            let (prior_mean, prior_precision) = prior.moments(i);
            let (mut precision, mut shift) = (prior_precision, prior_precision * prior_mean);
            for part in parts {
                let (mean, own) = part.moments(i);
                precision += own - prior_precision;
                shift += own * mean - prior_precision * prior_mean;
            }
            (shift / precision, precision)
        })
    }

    fn pull(prior: &Self, merged: &Self, parts: &[Part<'_, Self>]) -> Pull {
        pull(prior, merged, parts)
    }
}
