//! Checks of probabilities and labels, in addition to those of [`vi_core::check`].

use vi_core::Error;
pub(crate) use vi_core::check::{
    count, finite, length, limit, not_empty, not_negative, positive, positive_entries, probability, result, results,
    room, rows, values,
};

use crate::ModelError;

/// How far above 1 a probability may be: weights that should sum to 1 do so only up to rounding.
const ROUNDING: f64 = 32.0 * f64::EPSILON;

/// Checks probabilities of label 1 and as many binary labels.
pub(crate) fn probabilities(probabilities: &[f64], labels: &[f64]) -> Result<(), ModelError> {
    if probabilities.is_empty() {
        return Err(Error::Empty { argument: "probabilities" }.into());
    }
    length("labels", probabilities.len(), labels.len())?;
    if let Some(index) = probabilities.iter().position(|p| !(0.0..=1.0 + ROUNDING).contains(p)) {
        return Err(ModelError::Probability { index, value: probabilities[index] });
    }
    binary(labels)
}

/// Checks logarithms of probabilities; −∞ is allowed.
pub(crate) fn log_probabilities(logs: &[f64]) -> Result<(), ModelError> {
    if logs.is_empty() {
        return Err(Error::Empty { argument: "log_probabilities" }.into());
    }
    match logs.iter().position(|&log| log.is_nan() || log > ROUNDING) {
        None => Ok(()),
        Some(index) => Err(ModelError::LogProbability { index, value: logs[index] }),
    }
}

pub(crate) fn binary(labels: &[f64]) -> Result<(), ModelError> {
    match labels.iter().position(|&label| label != 0.0 && label != 1.0) {
        None => Ok(()),
        Some(index) => Err(ModelError::BinaryLabel { index, value: labels[index] }),
    }
}
