//! The stored form of a sparse fit, checked when read.

use serde::Deserialize;

use super::SparseFit;
use crate::vb::{Gamma, VbInfo, WeightDistribution};
use crate::{ModelError, check};

#[derive(Deserialize)]
pub(super) struct Stored {
    weights: WeightDistribution,
    noise: Gamma,
    inclusion: Vec<f64>,
    inclusion_rate: f64,
    slab_variance: f64,
    info: VbInfo,
}

impl TryFrom<Stored> for SparseFit {
    type Error = ModelError;

    fn try_from(stored: Stored) -> Result<Self, ModelError> {
        let Stored { weights, noise, inclusion, inclusion_rate, slab_variance, info } = stored;
        noise.check()?;
        check::length("inclusion", weights.dim(), inclusion.len())?;
        if let Some(index) = inclusion.iter().position(|phi| !(0.0..=1.0).contains(phi)) {
            return Err(ModelError::Probability { index, value: inclusion[index] });
        }
        check::probability("inclusion_rate", inclusion_rate)?;
        check::positive("slab_variance", slab_variance)?;
        Ok(Self { weights, noise, inclusion, inclusion_rate, slab_variance, info })
    }
}
