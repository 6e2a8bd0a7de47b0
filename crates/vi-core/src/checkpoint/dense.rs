//! A dense Gaussian as bytes.

use super::triangle::TriangleWire;
use super::{Checkpoint, CheckpointError};
use crate::Error;
use crate::belief::{Belief, DenseGaussian};
use crate::check;

impl Checkpoint for DenseGaussian {
    const KIND: &'static str = "vi-core/dense";

    type Wire = TriangleWire;

    /// Cost `d³/3` for the check that the covariance is positive definite.
    fn to_wire(&self) -> Result<TriangleWire, Error> {
        check::finite("mean", self.mean()).map_err(CheckpointError::contents)?;
        self.cholesky().map_err(CheckpointError::contents)?;
        Ok(TriangleWire::of(self.mean(), self.covariance_lower()))
    }

    /// Cost `d³/3` for the check that the covariance is positive definite.
    fn from_wire(wire: TriangleWire) -> Result<Self, Error> {
        let read = || {
            let (mean, lower) = wire.into_parts("lower triangle of the covariance")?;
            let belief = Self::from_parts(mean, lower);
            belief.cholesky()?;
            Ok(belief)
        };
        read().map_err(CheckpointError::contents)
    }
}
