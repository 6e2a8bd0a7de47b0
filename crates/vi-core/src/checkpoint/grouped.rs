//! A grouped belief as bytes.

use serde::{Deserialize, Serialize};
use vi_linalg::faer::{Mat, Par};

use super::triangle::TriangleWire;
use super::{Checkpoint, CheckpointError};
use crate::belief::{Arrow, Belief, DenseGaussian, Grouped, GroupedSums};
use crate::{Error, check};

/// The stored form of an [`Arrow`]: the root by rows, and the belief about the common weights.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ArrowWire {
    root: Vec<f64>,
    common: TriangleWire,
}

/// The stored form of a [`Grouped`] belief: prior variances, arrow, and the sums as they are kept in memory.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GroupedWire {
    variances: Vec<f64>,
    arrow: ArrowWire,
    curvature: Vec<f64>,
    slope: Vec<f64>,
    pub(crate) keys: Vec<u64>,
    records: Vec<f64>,
}

impl Checkpoint for Arrow {
    const KIND: &'static str = "vi-core/arrow";

    type Wire = ArrowWire;

    /// Cost `p³/3`.
    fn to_wire(&self) -> Result<ArrowWire, Error> {
        Ok(ArrowWire { root: self.root.clone(), common: self.common.to_wire()? })
    }

    /// Cost `p³/3`.
    fn from_wire(wire: ArrowWire) -> Result<Self, Error> {
        let read = || {
            let q = wire.root.len().isqrt();
            check::values("root of the effects' prior", &wire.root)?;
            check::length("root of the effects' prior", q * q, wire.root.len())?;
            let above = |at: &usize| at % q > at / q && wire.root[*at] != 0.0;
            if let Some(index) = (0..q * q).find(above) {
                let (argument, value) = ("root of the effects' prior", wire.root[index]);
                return Err(Error::Entry { argument, index, value, requirement: "0 above the diagonal" });
            }
            Ok(wire.root)
        };
        let root = read().map_err(CheckpointError::contents)?;
        Ok(Self { root, common: DenseGaussian::from_wire(wire.common)? })
    }
}

impl Checkpoint for Grouped {
    const KIND: &'static str = "vi-core/grouped";

    type Wire = GroupedWire;

    /// Cost `p³/3`, and a copy of the sums.
    fn to_wire(&self) -> Result<GroupedWire, Error> {
        Ok(GroupedWire {
            variances: self.variances.clone(),
            arrow: self.arrow.to_wire()?,
            curvature: self.sums.curvature.clone(),
            slope: self.sums.slope.clone(),
            keys: self.sums.keys.clone(),
            records: self.sums.records.clone(),
        })
    }

    /// Cost that of [`Grouped::solve`], which shows that the sums leave a Gaussian.
    fn from_wire(wire: GroupedWire) -> Result<Self, Error> {
        let arrow = Arrow::from_wire(wire.arrow)?;
        let GroupedWire { variances, curvature, slope, keys, records, .. } = wire;
        let read = move || {
            let (p, q) = (arrow.common.dim(), arrow.root.len().isqrt());
            check::length("prior variances", p, variances.len())?;
            check::positive_entries("prior variances", &variances)?;
            let sums = GroupedSums::from_parts((p, q), (curvature, slope), keys, records)?;
            let belief = Self { variances, sums, arrow };
            let root: Mat<f64> = belief.root();
            belief.solve(&belief.variances, root.as_ref(), Par::Seq)?;
            Ok(belief)
        };
        read().map_err(CheckpointError::contents)
    }
}
