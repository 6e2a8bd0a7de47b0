//! Columns brought to one scale, and back.

use serde::{Deserialize, Serialize};
use vi_core::Error;
use vi_linalg::faer::{Mat, MatRef};

use crate::units::unit;
use crate::{ModelError, check};

/// `(x − centre)/scale` of each column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Scaling {
    pub(super) centres: Vec<f64>,
    pub(super) scales: Vec<f64>,
    /// Columns that show one value only, where scales were taken.
    #[serde(default)]
    pub(super) constant: Vec<usize>,
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
    ///
    /// # Errors
    /// `Overflow` for a column whose root mean square is no float.
    pub(super) fn of(x: MatRef<'_, f64>, centred: bool, scaled: bool) -> Result<Self, Error> {
        let (n, d) = x.shape();
        let (mut centres, mut scales, mut constant) = (vec![0.0; d], vec![1.0; d], Vec::new());
        for j in 0..d {
            let largest = x.col(j).iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
            let unit = unit(largest);
            let column = || x.col(j).iter().map(|x| x / unit);
            let centre = if centred { column().sum::<f64>() / n as f64 } else { 0.0 };
            centres[j] = centre * unit;
            if !scaled {
                continue;
            }
            let scale = (column().map(|x| (x - centre) * (x - centre)).sum::<f64>() / n as f64).sqrt();
            // A constant column leaves the rounding of its mean.
            if scale > n as f64 * f64::EPSILON * (largest / unit) {
                scales[j] = scale * unit;
            } else {
                constant.push(j);
            }
            if scales[j].is_infinite() {
                return Err(Error::Overflow { quantity: "the scale of a column", value: scales[j] });
            }
        }
        Ok(Self { centres, scales, constant })
    }

    /// Checks a stored one.
    ///
    /// # Errors
    /// `Dimension`, `NonFinite`, `Entry`.
    pub(super) fn check(&self, columns: usize) -> Result<(), Error> {
        check::length("centres", columns, self.centres.len())?;
        check::length("scales", columns, self.scales.len())?;
        check::finite("centres", &self.centres)?;
        check::finite("scales", &self.scales)?;
        match self.scales.iter().position(|scale| *scale <= 0.0) {
            None => Ok(()),
            Some(index) => {
                Err(Error::Entry { argument: "scales", index, value: self.scales[index], requirement: "positive" })
            }
        }
    }

    /// The rows on the new scale, behind a column of ones if `intercept`.
    ///
    /// # Errors
    /// `Row` with `Overflow`.
    pub(super) fn apply(&self, x: MatRef<'_, f64>, intercept: bool) -> Result<Mat<f64>, Error> {
        let first = usize::from(intercept);
        let mut scaled = Mat::zeros(x.nrows(), x.ncols() + first);
        for i in 0..x.nrows() {
            scaled.row_mut(i).iter_mut().take(first).for_each(|one| *one = 1.0);
            for (j, (centre, scale)) in self.centres.iter().zip(&self.scales).enumerate() {
                let value = (x[(i, j)] - centre) / scale;
                if !value.is_finite() {
                    return Err(Error::Overflow { quantity: "a standardised entry of x", value }.at_row(i));
                }
                scaled[(i, j + first)] = value;
            }
        }
        Ok(scaled)
    }
}
