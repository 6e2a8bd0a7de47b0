//! A diagonal Gaussian as bytes.

use serde::{Deserialize, Serialize};

use super::{Checkpoint, CheckpointError};
use crate::Error;
use crate::belief::DiagonalGaussian;

/// The stored form of a [`DiagonalGaussian`]: the scales of prior and data; prior mean, prior precision, added precision and added
/// shift of each coordinate.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DiagonalWire {
    prior: f64,
    data: f64,
    weights: Vec<[f64; 4]>,
}

impl Checkpoint for DiagonalGaussian {
    const KIND: &'static str = "vi-core/diagonal";

    type Wire = DiagonalWire;

    fn to_wire(&self) -> Result<DiagonalWire, Error> {
        let (prior, data, weights) = self.stored();
        Ok(DiagonalWire { prior, data, weights: weights.collect() })
    }

    fn from_wire(wire: DiagonalWire) -> Result<Self, Error> {
        Self::from_stored(wire.prior, wire.data, &wire.weights).map_err(CheckpointError::contents)
    }
}
