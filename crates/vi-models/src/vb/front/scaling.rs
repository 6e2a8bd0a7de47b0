//! Columns brought to one scale, and back.

use serde::{Deserialize, Serialize};
use vi_core::Error;
use vi_linalg::faer::{Mat, MatRef};

use crate::{ModelError, check};

/// `(x − centre)/scale` of each column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Scaling {
    pub(super) centres: Vec<f64>,
    pub(super) scales: Vec<f64>,
}

/// Rows given one after another, `columns` numbers each, as a checked matrix.
pub(super) fn rows(x: &[f64], columns: usize) -> Result<MatRef<'_, f64>, ModelError> {
    if columns == 0 {
        return Err(Error::Setting { name: "columns", value: 0.0, requirement: "at least 1" }.into());
    }
    let n = x.len() / columns;
    check::length("x", n * columns, x.len())?;
    let rows = MatRef::from_row_major_slice(x, n, columns);
    check::rows(columns, rows)?;
    Ok(rows)
}

impl Scaling {
    /// Centres by the mean if `centred`, scales by the root mean square of what is left if `scaled`; a column of zeros stays.
    pub(super) fn of(x: MatRef<'_, f64>, centred: bool, scaled: bool) -> Self {
        let (n, d) = x.shape();
        let centre = |j: usize| if centred { x.col(j).iter().sum::<f64>() / n as f64 } else { 0.0 };
        let centres: Vec<f64> = (0..d).map(centre).collect();
        let scale = |j: usize| {
            if !scaled {
                return 1.0;
            }
            let square: f64 = x.col(j).iter().map(|x| (x - centres[j]) * (x - centres[j])).sum();
            let scale = (square / n as f64).sqrt();
            // A constant column leaves the rounding of its mean.
            let largest = x.col(j).iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
            if scale > n as f64 * f64::EPSILON * largest { scale } else { 1.0 }
        };
        let scales = (0..d).map(scale).collect();
        Self { centres, scales }
    }

    /// The rows on the new scale, behind a column of ones if `intercept`.
    pub(super) fn apply(&self, x: MatRef<'_, f64>, intercept: bool) -> Mat<f64> {
        let first = usize::from(intercept);
        Mat::from_fn(x.nrows(), x.ncols() + first, |i, j| {
            if j < first { 1.0 } else { (x[(i, j - first)] - self.centres[j - first]) / self.scales[j - first] }
        })
    }
}
