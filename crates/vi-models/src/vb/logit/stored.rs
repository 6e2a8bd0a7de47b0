//! The stored form of a logistic fit, checked when read.

use serde::Deserialize;

use super::{Grouping, LogitBound, LogitBoundTerms, LogitFit};
use crate::vb::{Gamma, LogitPrior, VbInfo, WeightDistribution};
use crate::{ModelError, check};

#[derive(Deserialize)]
pub(super) struct Stored {
    weights: WeightDistribution,
    prior: LogitPrior,
    bound_kind: LogitBound,
    grouping: Grouping,
    shrinkage: Vec<Gamma>,
    xi: Vec<f64>,
    terms: LogitBoundTerms,
    bound: f64,
    info: VbInfo,
}

impl TryFrom<Stored> for LogitFit {
    type Error = ModelError;

    fn try_from(stored: Stored) -> Result<Self, ModelError> {
        let Stored { weights, prior, bound_kind, grouping, shrinkage, xi, terms, bound, info } = stored;
        check::length("shrinkage", grouping.sizes(weights.dim()).len(), shrinkage.len())?;
        shrinkage.iter().try_for_each(|alpha| alpha.check())?;
        check::values("bound", &[bound])?;
        Ok(Self { weights, prior, bound_kind, grouping, shrinkage, xi, terms, bound, info })
    }
}
