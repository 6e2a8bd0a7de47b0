//! A dense Gaussian as bytes.

use serde::{Deserialize, Serialize};
use vi_linalg::faer::Mat;

use super::{Checkpoint, CheckpointError};
use crate::Error;
use crate::belief::{Belief, DenseGaussian};
use crate::error::{check_finite, check_len};

/// The stored form of a [`DenseGaussian`]: `d`, the mean, the lower triangle of the covariance column by column.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DenseWire {
    dim: u64,
    mean: Vec<f64>,
    lower: Vec<f64>,
}

impl Checkpoint for DenseGaussian {
    const KIND: &'static str = "vi-core/dense";

    type Wire = DenseWire;

    /// Cost `d³/3` for the check that the covariance is positive definite.
    fn to_wire(&self) -> Result<DenseWire, Error> {
        check_finite("mean", self.mean()).map_err(CheckpointError::contents)?;
        self.cholesky().map_err(CheckpointError::contents)?;
        let (d, p) = (self.dim(), self.covariance_lower());
        let lower = (0..d).flat_map(|j| (j..d).map(move |i| p[(i, j)])).collect();
        Ok(DenseWire { dim: d as u64, mean: self.mean().to_vec(), lower })
    }

    /// Cost `d³/3` for the check that the covariance is positive definite.
    fn from_wire(wire: DenseWire) -> Result<Self, Error> {
        read(wire).map_err(CheckpointError::contents)
    }
}

fn read(wire: DenseWire) -> Result<DenseGaussian, Error> {
    let d = wire.mean.len();
    if d == 0 {
        return Err(Error::Empty { argument: "mean" });
    }
    check_len("mean", usize::try_from(wire.dim).unwrap_or(usize::MAX), d)?;
    // d(d+1)/2 cannot overflow unless the triangle is shorter than that.
    check_len("lower triangle of the covariance", d.saturating_mul(d + 1) / 2, wire.lower.len())?;
    check_finite("mean", &wire.mean)?;
    check_finite("lower triangle of the covariance", &wire.lower)?;
    let mut lower = Mat::zeros(d, d);
    let mut entries = wire.lower.into_iter();
    for j in 0..d {
        for (i, value) in (j..d).zip(&mut entries) {
            lower[(i, j)] = value;
        }
    }
    let belief = DenseGaussian::from_parts(wire.mean, lower);
    belief.cholesky()?;
    Ok(belief)
}
