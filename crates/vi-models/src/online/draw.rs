//! Weights in the caller's units.

use vi_core::Row;

use super::design::Design;
use super::row::check_row;
use crate::{ModelError, check};

/// One value of all weights and the intercept, in the caller's units: a draw from the posterior, or its mean.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Draw {
    /// The linear predictor where all inputs are 0.
    pub intercept: f64,
    /// One weight for each input.
    pub weights: Vec<f64>,
    /// The standard deviation of the noise of the label, or of its transform, where it was drawn with the weights.
    pub noise: Option<f64>,
}

impl Draw {
    /// Converts weights of the model's columns to the caller's units.
    pub(super) fn new(design: &Design, columns: &[f64]) -> Self {
        let (intercept, weights) = design.original_units(columns);
        Self { intercept, weights, noise: None }
    }

    /// The draw with another part of the intercept added.
    pub(super) fn raised(self, level: f64) -> Self {
        Self { intercept: self.intercept + level, ..self }
    }

    /// The draw itself, if all its numbers are finite.
    ///
    /// # Errors
    /// `Overflow`.
    pub(super) fn finite(self) -> Result<Self, ModelError> {
        check::results("drawn weight", self.weights.iter().chain([&self.intercept]).copied())?;
        Ok(self)
    }

    /// The linear predictor `intercept + xᵀw` at `row`.
    ///
    /// # Errors
    /// `Dimension`, `NonFinite`, `Entry` (a position).
    pub fn score<'a>(&self, row: impl Into<Row<'a>>) -> Result<f64, ModelError> {
        let row = row.into();
        check_row(row, self.weights.len())?;
        let mut score = self.intercept;
        row.for_each(|j, value| score += self.weights[j] * value);
        Ok(score)
    }
}
