//! A diagonal Gaussian as bytes.

use serde::{Deserialize, Serialize};

use super::{Checkpoint, CheckpointError};
use crate::Error;
use crate::belief::{Belief, DiagonalGaussian};

/// The stored form of a [`DiagonalGaussian`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DiagonalWire {
    mean: Vec<f64>,
    precisions: Vec<f64>,
}

impl Checkpoint for DiagonalGaussian {
    const KIND: &'static str = "vi-core/diagonal";

    type Wire = DiagonalWire;

    fn to_wire(&self) -> Result<DiagonalWire, Error> {
        Ok(DiagonalWire { mean: self.mean().to_vec(), precisions: self.precisions().to_vec() })
    }

    fn from_wire(wire: DiagonalWire) -> Result<Self, Error> {
        Self::from_precisions(wire.mean, wire.precisions).map_err(CheckpointError::contents)
    }
}
