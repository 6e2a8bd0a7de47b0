//! Merging dense beliefs, by sums of natural parameters.

use super::Mergeable;
use crate::Error;
use crate::NaturalParameters;
use crate::belief::DenseGaussian;

impl Mergeable for DenseGaussian {
    const SHARD_KIND: &'static str = "vi-core/dense-shard";

    fn merge(prior: &Self, parts: &[&Self]) -> Result<Self, Error> {
        let start = NaturalParameters::of(prior)?;
        let mut sum = start.clone();
        for part in parts {
            sum.add_gain(&NaturalParameters::of(part)?, &start);
        }
        sum.to_belief()
    }
}
