//! From a caller's row to the common columns `x` and the columns `z` of a group's effects, and back to the caller's units.

use serde::{Deserialize, Serialize};
use vi_core::{Error, Row};
use vi_linalg::faer::Mat;

use super::settings::Effects;
use crate::online::design::{Design, RowSpace};

/// Memory for a row of columns.
#[derive(Debug, Clone, Default)]
pub(super) struct Space {
    row: RowSpace,
    x: Vec<f64>,
    pub(super) z: Vec<f64>,
}

impl Space {
    pub(super) fn x(&self) -> &[f64] {
        &self.x
    }
}

/// The design of a grouped model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Columns {
    pub(super) design: Design,
    pub(super) effects: Effects,
}

impl Columns {
    /// Whether slopes are those of centred inputs. The correlation with the group's intercept then makes up for the origin; without
    /// it a group's line goes through the origin of the input.
    fn centres(&self) -> bool {
        self.effects.intercept && self.effects.correlated
    }

    pub(super) fn centre(&self, j: usize) -> f64 {
        self.design.centres.get(j).copied().unwrap_or(0.0)
    }

    pub(super) fn scale(&self, j: usize) -> f64 {
        self.design.scales.get(j).copied().unwrap_or(1.0)
    }

    /// What an effect's slope of input `j` adds to its column.
    pub(super) fn origin(&self, j: usize) -> f64 {
        if self.centres() { 0.0 } else { self.centre(j) / self.scale(j) }
    }

    /// Writes the columns of a row.
    ///
    /// # Errors
    /// `Overflow`.
    pub(super) fn write(&self, row: Row<'_>, space: &mut Space) -> Result<(), Error> {
        let Space { row: memory, x, z } = space;
        match self.design.write(row, memory)? {
            Row::Dense(columns) => {
                x.clear();
                x.extend_from_slice(columns);
            }
            sparse @ Row::Sparse { .. } => {
                x.clear();
                x.resize(self.design.columns(), 0.0);
                sparse.for_each(|j, value| x[j] = value);
            }
        }
        z.clear();
        z.extend(self.effects.intercept.then_some(1.0));
        z.extend(self.effects.slopes.iter().map(|&j| x[j] + self.origin(j)));
        vi_core::check::results("standardised input", z.iter().copied())
    }

    /// `T`: effects in the units of the inputs are `Tu`, in units of the label's scale.
    pub(super) fn effect_units(&self) -> Mat<f64> {
        let (q, first) = (self.effects.count(), usize::from(self.effects.intercept));
        let mut units = Mat::zeros(q, q);
        (0..first).for_each(|i| units[(i, i)] = 1.0);
        for (k, &j) in self.effects.slopes.iter().enumerate() {
            units[(first + k, first + k)] = 1.0 / self.scale(j);
            if self.centres() {
                units[(0, first + k)] = -self.centre(j) / self.scale(j);
            }
        }
        units
    }

    /// The combination of the common columns that is the weight of input `j`, in units of the label's scale.
    pub(super) fn weight(&self, j: usize) -> Vec<f64> {
        let mut combination = vec![0.0; self.design.columns()];
        combination[j] = 1.0 / self.scale(j);
        combination
    }

    /// The combination that is the intercept at the origin of the inputs.
    pub(super) fn intercept(&self) -> Vec<f64> {
        let mut combination: Vec<f64> = (0..self.design.inputs).map(|j| -self.centre(j) / self.scale(j)).collect();
        combination.extend(self.design.intercept.then_some(1.0));
        combination
    }
}
