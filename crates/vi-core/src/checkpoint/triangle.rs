//! A mean and a lower triangle as bytes: what the dense and the square-root beliefs store.

use serde::{Deserialize, Serialize};
use vi_linalg::faer::{Mat, MatRef};

use crate::Error;
use crate::check;

/// The stored form of a belief kept as a mean and a triangle: `d`, the mean, the lower triangle column by column, and after it the changes
/// that wait to be written, if any.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TriangleWire {
    dim: u64,
    mean: Vec<f64>,
    lower: Vec<f64>,
}

/// Mean, lower triangle, and what follows it.
type Parts = (Vec<f64>, Mat<f64>, Vec<f64>);

impl TriangleWire {
    pub(super) fn of(mean: &[f64], lower: MatRef<'_, f64>, waiting: impl Iterator<Item = f64>) -> Self {
        let d = mean.len();
        let lower = (0..d).flat_map(|j| (j..d).map(move |i| lower[(i, j)])).chain(waiting).collect();
        Self { dim: d as u64, mean: mean.to_vec(), lower }
    }

    /// Mean, triangle and what follows it, lengths and finiteness checked; `argument` names the triangle.
    pub(super) fn into_parts(mut self, argument: &'static str) -> Result<Parts, Error> {
        let d = self.mean.len();
        if d == 0 {
            return Err(Error::Empty { argument: "mean" });
        }
        check::length("mean", usize::try_from(self.dim).unwrap_or(usize::MAX), d)?;
        // d(d+1)/2 cannot overflow unless the triangle is shorter than that.
        let entries = d.saturating_mul(d + 1) / 2;
        check::length(argument, entries, self.lower.len().min(entries))?;
        check::finite("mean", &self.mean)?;
        check::finite(argument, &self.lower)?;
        let waiting = self.lower.split_off(entries);
        let mut lower = Mat::zeros(d, d);
        let mut entries = self.lower.into_iter();
        for j in 0..d {
            for (i, value) in (j..d).zip(&mut entries) {
                lower[(i, j)] = value;
            }
        }
        Ok((self.mean, lower, waiting))
    }
}
