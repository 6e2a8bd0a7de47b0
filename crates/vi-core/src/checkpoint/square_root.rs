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
        Ok(TriangleWire::of(self.mean(), self.root(), std::iter::empty()))
    }

    fn from_wire(wire: TriangleWire) -> Result<Self, Error> {
        let read = || {
            const ARGUMENT: &str = "lower triangle of the root";
            let (mean, root, more) = wire.into_parts(ARGUMENT)?;
            let entries = root.nrows() * (root.nrows() + 1) / 2;
            check::length(ARGUMENT, entries, entries + more.len())?;
            Self::from_root(mean, root)
        };
        read().map_err(CheckpointError::contents)
    }
}
