//! A weight under the name of its input.

use vi_core::Error;

use super::engine::{Engine, Family};
use crate::{Marginal, ModelError};

/// The posterior of one weight, with the name of its input, in the units of the input.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Coefficient {
    /// The input's name, `x0`, `x1` and so on where it has none; `intercept` for the linear predictor at all inputs 0, of steps their own.
    pub name: String,
    /// The posterior: mean, standard deviation, interval, quantiles.
    pub belief: Marginal,
}

impl<F: Family> Engine<F> {
    /// The name of input `j`.
    pub(super) fn name(&self, j: usize) -> String {
        self.settings.names.get(j).cloned().unwrap_or_else(|| format!("x{j}"))
    }

    /// Adds the name of the input whose entry is wrong to an error about a row.
    pub(super) fn named(&self, error: Error) -> ModelError {
        match column(&error).and_then(|j| self.settings.names.get(j)) {
            Some(name) => ModelError::Input { name: name.clone(), source: error },
            None => error.into(),
        }
    }
}

/// The input that an error about a row refers to, if any.
fn column(error: &Error) -> Option<usize> {
    match error {
        Error::NonFinite { argument: "row", index, .. } => Some(*index),
        Error::Row { source, .. } => column(source),
        _ => None,
    }
}
