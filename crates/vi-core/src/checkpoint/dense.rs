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
        let (lower, waiting) = self.stored();
        Ok(TriangleWire::of(self.mean(), lower, waiting))
    }

    /// Cost `d³/3` for the check that the covariance is positive definite.
    fn from_wire(wire: TriangleWire) -> Result<Self, Error> {
        let read = || {
            const ARGUMENT: &str = "lower triangle of the covariance";
            let (mean, lower, waiting) = wire.into_parts(ARGUMENT)?;
            let expected = lower.nrows() * (lower.nrows() + 1) / 2;
            let found = expected + waiting.len();
            let belief = Self::from_stored(mean, lower, &waiting);
            let belief = belief.ok_or(Error::Dimension { argument: ARGUMENT, expected, found })?;
            belief.cholesky()?;
            Ok(belief)
        };
        read().map_err(CheckpointError::contents)
    }
}
