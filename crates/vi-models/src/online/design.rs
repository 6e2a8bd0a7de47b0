//! From a caller's row to the model's columns: centre, scale, intercept.

use serde::{Deserialize, Serialize};
use vi_core::{Error, SparseRow};

use super::belief::DesignRow;
use super::row::Row;

/// How inputs are brought to a common scale, in a way that a stream allows: the numbers are fixed once and for all before the
/// first row that is learned with them.
///
/// With an intercept and centring, predictions do not depend on the units or the origin of any column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Standardise {
    /// Columns are taken as they come.
    Never,
    /// Column means and standard deviations of the first `rows` rows. Until they are in, each new row lets the model start
    /// anew from all rows so far, so that it can predict from the first row on; then they are fixed and the rows let go.
    ///
    /// Looping, batching and any mixture of them give the same model. Cost: `rows²/2` further steps, once.
    FirstRows {
        /// Rows to look at, at least 2.
        rows: usize,
        /// Whether means are taken off; without that, zeros stay zeros and sparse rows stay sparse.
        centre: bool,
    },
    /// Given numbers: column `j` becomes `(x − centres[j])/scales[j]`.
    Fixed {
        /// One for each input, finite.
        centres: Vec<f64>,
        /// One for each input, positive.
        scales: Vec<f64>,
    },
}

impl Default for Standardise {
    /// By the first 50 rows, centred.
    fn default() -> Self {
        Self::FirstRows { rows: 50, centre: true }
    }
}

impl Standardise {
    /// # Errors
    /// `Setting`, `Dimension`, `NonFinite`.
    pub(super) fn check(&self, d: usize) -> Result<(), Error> {
        match self {
            Self::Never => Ok(()),
            Self::FirstRows { rows, .. } if *rows >= 2 => Ok(()),
            Self::FirstRows { rows, .. } => {
                Err(Error::Setting { name: "rows to standardise by", value: *rows as f64, requirement: "at least 2" })
            }
            Self::Fixed { centres, scales } => {
                crate::check::length("centres", d, centres.len())?;
                crate::check::length("scales", d, scales.len())?;
                if let Some(index) = centres.iter().position(|centre| !centre.is_finite()) {
                    return Err(Error::NonFinite { argument: "centres", index, value: centres[index] });
                }
                match scales.iter().position(|scale| !(*scale > 0.0 && scale.is_finite())) {
                    None => Ok(()),
                    Some(index) => {
                        let requirement = "positive and finite";
                        Err(Error::Setting { name: "scale of a column", value: scales[index], requirement })
                    }
                }
            }
        }
    }
}

/// The fixed map from inputs to columns. Column `j` of the model is `(x_j − centre_j)/scale_j`; the intercept, if any, comes
/// last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Design {
    pub(super) inputs: usize,
    pub(super) intercept: bool,
    /// Empty where nothing is taken off.
    pub(super) centres: Vec<f64>,
    /// Empty where nothing is divided.
    pub(super) scales: Vec<f64>,
    /// Columns that showed only one value when scales were taken; they keep scale 1.
    pub(super) constant: Vec<usize>,
}

impl Design {
    pub(super) fn plain(inputs: usize, intercept: bool) -> Self {
        Self { inputs, intercept, centres: Vec::new(), scales: Vec::new(), constant: Vec::new() }
    }

    /// By the means and standard deviations of `rows`.
    pub(super) fn of_rows<'a>(
        inputs: usize,
        intercept: bool,
        centre: bool,
        rows: impl Iterator<Item = Row<'a>> + Clone,
    ) -> Self {
        let n = rows.clone().count().max(1) as f64;
        let mut centres = vec![0.0; inputs];
        for row in rows.clone() {
            row.for_each(|j, value| centres[j] += value / n);
        }
        // Σ(x − m)² = Σ over entries of (x − m)² − m², plus n·m² for the entries that are zero.
        let mut squares: Vec<f64> = centres.iter().map(|m| n * m * m).collect();
        let mut dense = vec![true; inputs];
        let mut entries = vec![0.0; inputs];
        for row in rows.clone() {
            row.for_each(|j, _| entries[j] += 1.0);
        }
        for j in 0..inputs {
            dense[j] = entries[j] == n;
            if dense[j] {
                squares[j] = 0.0;
            }
        }
        for row in rows {
            row.for_each(|j, value| {
                let deviation = value - centres[j];
                squares[j] += if dense[j] { deviation * deviation } else { value * (value - 2.0 * centres[j]) };
            });
        }
        let mut constant = Vec::new();
        let scales = (0..inputs)
            .map(|j| {
                let sd = (squares[j] / n).max(0.0).sqrt();
                // A column of one value has deviations of rounding alone.
                if sd > 16.0 * f64::EPSILON * centres[j].abs() && sd.is_normal() {
                    sd
                } else {
                    constant.push(j);
                    1.0
                }
            })
            .collect();
        Self { inputs, intercept, centres: if centre { centres } else { Vec::new() }, scales, constant }
    }

    /// Number of columns.
    pub(super) fn columns(&self) -> usize {
        self.inputs + usize::from(self.intercept)
    }

    /// # Errors
    /// As [`Standardise::check`]: a stored design is read with suspicion.
    pub(super) fn check(&self) -> Result<(), Error> {
        let or = |given: &Vec<f64>, fill: f64| if given.is_empty() { vec![fill; self.inputs] } else { given.clone() };
        Standardise::Fixed { centres: or(&self.centres, 0.0), scales: or(&self.scales, 1.0) }.check(self.inputs)?;
        match self.constant.iter().find(|&&j| j >= self.inputs) {
            None => Ok(()),
            Some(&index) => Err(Error::Index { argument: "constant columns", index, len: self.inputs }),
        }
    }

    /// The model's row.
    pub(super) fn write<'a>(&self, row: Row<'_>, space: &'a mut RowSpace) -> Result<DesignRow<'a>, Error> {
        let RowSpace { dense, positions } = space;
        dense.clear();
        match row {
            Row::Sparse { positions: given, values } if self.centres.is_empty() => {
                positions.clear();
                for (&j, value) in given.iter().zip(values) {
                    positions.push(j);
                    dense.push(self.scales.get(j).map_or(*value, |scale| value / scale));
                }
                if self.intercept {
                    positions.push(self.inputs);
                    dense.push(1.0);
                }
                Ok(DesignRow::Sparse(SparseRow::new(self.columns(), positions, dense)?))
            }
            row => {
                dense.resize(self.columns(), 0.0);
                if self.intercept {
                    dense[self.inputs] = 1.0;
                }
                row.for_each(|j, value| dense[j] = value);
                for (value, centre) in dense.iter_mut().zip(&self.centres) {
                    *value -= centre;
                }
                for (value, scale) in dense.iter_mut().zip(&self.scales) {
                    *value /= scale;
                }
                match dense.iter().position(|value| !value.is_finite()) {
                    None => Ok(DesignRow::Dense(dense)),
                    Some(index) => Err(Error::Overflow { quantity: "standardised input", value: dense[index] }),
                }
            }
        }
    }

    /// Weights in the caller's units from weights of the columns: `w_j/scale_j`, and the intercept at the origin of the inputs.
    pub(super) fn original_units(&self, weights: &[f64]) -> (f64, Vec<f64>) {
        let mut intercept = if self.intercept { weights[self.inputs] } else { 0.0 };
        let original = (0..self.inputs)
            .map(|j| {
                let weight = weights[j] / self.scales.get(j).copied().unwrap_or(1.0);
                intercept -= weight * self.centres.get(j).copied().unwrap_or(0.0);
                weight
            })
            .collect();
        (intercept, original)
    }
}

/// Memory for one row of the model.
#[derive(Debug, Clone, Default)]
pub(super) struct RowSpace {
    dense: Vec<f64>,
    positions: Vec<usize>,
}
