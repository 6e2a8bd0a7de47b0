//! Scaling of columns, and conversion back.

use serde::{Deserialize, Serialize};
use vi_core::Error;
use vi_linalg::faer::{Mat, MatRef};

use super::collinear::Collinearity;
use crate::units::unit;
use crate::{ModelError, check};

/// The scaling `(x − centre)/scale` of each column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Scaling {
    pub(super) centres: Vec<f64>,
    pub(super) scales: Vec<f64>,
    /// Columns with a single value, if scales were taken.
    #[serde(default)]
    pub(super) constant: Vec<usize>,
}

/// Rows given one after another, `columns` numbers each, as a checked matrix.
pub(super) fn rows(x: &[f64], columns: usize) -> Result<MatRef<'_, f64>, ModelError> {
    check::count("columns", columns)?;
    let n = x.len() / columns;
    check::length("x", n * columns, x.len())?;
    let rows = MatRef::from_row_major_slice(x, n, columns);
    check::rows(columns, rows)?;
    Ok(rows)
}

/// Rows and labels to be fitted, on a common scale.
pub(super) struct ScaledRegression {
    pub(super) x: Mat<f64>,
    pub(super) y: Vec<f64>,
    pub(super) columns: Scaling,
    pub(super) target: Scaling,
    /// The number of observations that the rows count as: a flat intercept uses up one.
    pub(super) observations: usize,
}

impl ScaledRegression {
    /// Centres if there is an intercept, and scales to unit size if `standardise`.
    ///
    /// # Errors
    /// `Setting` (`columns = 0`), `Empty`, `Dimension`, `Row` with `NonFinite` or `Overflow`, `Overflow`.
    pub(super) fn new(
        x: &[f64],
        columns: usize,
        y: &[f64],
        intercept: bool,
        standardise: bool,
    ) -> Result<Self, ModelError> {
        let x = rows(x, columns)?;
        let n = x.nrows();
        check::length("y", n, y.len())?;
        if let Some(row) = y.iter().position(|y| !y.is_finite()) {
            return Err(Error::NonFinite { argument: "y", index: row, value: y[row] }.at_row(row).into());
        }
        let columns = Scaling::of(x, intercept, standardise)?;
        let column = MatRef::from_column_major_slice(y, n, 1);
        let target = Scaling::of(column, intercept, standardise)?;
        let square = target.scales[0] * target.scales[0];
        if !square.is_normal() {
            return Err(Error::Overflow { quantity: "the variance of y", value: square }.into());
        }
        let y = target.apply(column, false)?.col(0).iter().copied().collect();
        let observations = n - usize::from(intercept);
        Ok(Self { x: columns.apply(x, false)?, y, columns, target, observations })
    }

    /// What takes a log density of the scaled labels to one in the units of `y`, a flat intercept (in units of the scale) integrated out: `−n·ln s`, and
    /// `−½·ln n` with an intercept.
    pub(super) fn evidence_offset(&self) -> f64 {
        let n = self.y.len();
        let intercept = if self.observations < n { 0.5 * (n as f64).ln() } else { 0.0 };
        -(n as f64) * self.target.scales[0].ln() - intercept
    }

    /// Which columns the rows cannot distinguish; centred rows sum to 0.
    pub(super) fn collinearity(&self) -> Result<Collinearity, Error> {
        Collinearity::of(self.x.as_ref(), self.observations, &self.columns.constant)
    }
}

impl Scaling {
    /// The scaling that centres by the mean if `centred` and scales by the root mean square of what is left if `scaled`; a column
    /// of zeros stays.
    ///
    /// # Errors
    /// `Overflow` for a column whose root mean square is not finite.
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
            // A constant column leaves the rounding error of its mean.
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

    /// Checks a stored scaling.
    ///
    /// # Errors
    /// `Dimension`, `NonFinite`, `Entry`.
    pub(super) fn check(&self, columns: usize) -> Result<(), Error> {
        check::length("centres", columns, self.centres.len())?;
        check::length("scales", columns, self.scales.len())?;
        check::values("centres", &self.centres)?;
        check::values("scales", &self.scales)?;
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
