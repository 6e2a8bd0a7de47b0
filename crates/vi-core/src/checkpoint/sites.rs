//! Sites as bytes.

use serde::{Deserialize, Serialize};

use super::{Checkpoint, CheckpointError};
use crate::check;
use crate::{Error, Sites};

/// The stored form of [`Sites`]: the natural slopes, then the curvatures.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SitesWire {
    slopes: Vec<f64>,
    curvatures: Vec<f64>,
}

impl Checkpoint for Sites {
    const KIND: &'static str = "vi-core/sites";

    type Wire = SitesWire;

    fn to_wire(&self) -> Result<SitesWire, Error> {
        check::finite("slopes", self.slopes()).map_err(CheckpointError::contents)?;
        check::finite("curvatures", self.curvatures()).map_err(CheckpointError::contents)?;
        Ok(SitesWire { slopes: self.slopes().to_vec(), curvatures: self.curvatures().to_vec() })
    }

    fn from_wire(wire: SitesWire) -> Result<Self, Error> {
        Self::new(wire.slopes, wire.curvatures).map_err(CheckpointError::contents)
    }
}
