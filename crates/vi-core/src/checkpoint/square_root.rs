//! A Gaussian given by its root of the precision, as bytes.

use super::triangle::TriangleWire;
use super::{Checkpoint, CheckpointError};
use crate::Error;
use crate::belief::{Belief, SquareRootGaussian};
use crate::check;

impl Checkpoint for SquareRootGaussian {
    const KIND: &'static str = "vi-core/square-root";

    type Wire = TriangleWire;

    fn to_wire(&self) -> Result<TriangleWire, Error> {
        check::finite("mean", self.mean()).map_err(CheckpointError::contents)?;
        Ok(TriangleWire::of(self.mean(), self.root()))
    }

    fn from_wire(wire: TriangleWire) -> Result<Self, Error> {
        let read = || {
            let (mean, root) = wire.into_parts("lower triangle of the root")?;
            Self::from_root(mean, root)
        };
        read().map_err(CheckpointError::contents)
    }
}
