//! Merging dense beliefs, by sums of natural parameters.

use super::Mergeable;
use crate::Error;
use crate::belief::DenseGaussian;
use crate::natural::NaturalParameters;

impl Mergeable for DenseGaussian {
    const SHARD_KIND: &'static str = "vi-core/dense-shard";

    fn merge(prior: &Self, parts: &[&Self]) -> Result<Self, Error> {
        let start = NaturalParameters::of(prior)?;
        let d = start.first.len();
        let mut sum = start.clone();
        for part in parts {
            let part = NaturalParameters::of(part)?;
            for j in 0..d {
                sum.first[j] += part.first[j] - start.first[j];
                for i in 0..d {
                    sum.second[(i, j)] += part.second[(i, j)] - start.second[(i, j)];
                }
            }
        }
        sum.to_belief()
    }
}
