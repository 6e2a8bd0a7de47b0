//! The stored form of a linear fit, checked when read.

use serde::Deserialize;

use super::{LinearBoundTerms, LinearFit};
use crate::vb::{Gamma, LinearPrior, VbInfo, WeightDistribution};
use crate::{ModelError, check};

#[derive(Deserialize)]
pub(super) struct Stored {
    weights: WeightDistribution,
    prior: LinearPrior,
    noise: Gamma,
    shrinkage: Vec<Gamma>,
    terms: LinearBoundTerms,
    bound: f64,
    info: VbInfo,
}

impl TryFrom<Stored> for LinearFit {
    type Error = ModelError;

    fn try_from(stored: Stored) -> Result<Self, ModelError> {
        let Stored { weights, prior, noise, shrinkage, terms, bound, info } = stored;
        noise.check()?;
        shrinkage.iter().try_for_each(|alpha| alpha.check())?;
        if shrinkage.len() != 1 {
            check::length("shrinkage", weights.dim(), shrinkage.len())?;
        }
        check::values("bound", &[bound])?;
        Ok(Self { weights, prior, noise, shrinkage, terms, bound, info })
    }
}
