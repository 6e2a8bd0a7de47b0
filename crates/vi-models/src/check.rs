//! Checks at the door.

use vi_core::Error;
use vi_linalg::faer::MatRef;

use crate::ModelError;

/// How far above 1 a probability may be: weights that should sum to 1 do so to a few units of rounding.
const ROUNDING: f64 = 32.0 * f64::EPSILON;

pub(crate) fn length(argument: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if expected == found { Ok(()) } else { Err(Error::Dimension { argument, expected, found }) }
}

/// Checks that a slice holds something, and nothing but finite numbers.
pub(crate) fn finite(argument: &'static str, values: &[f64]) -> Result<(), Error> {
    if values.is_empty() {
        return Err(Error::Empty { argument });
    }
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(index) => Err(Error::NonFinite { argument, index, value: values[index] }),
    }
}

/// Checks that `x` has rows, `d` columns and finite entries.
pub(crate) fn rows(d: usize, x: MatRef<'_, f64>) -> Result<(), Error> {
    if x.nrows() == 0 {
        return Err(Error::Empty { argument: "x" });
    }
    length("columns of x", d, x.ncols())?;
    for t in 0..x.nrows() {
        if let Some((index, &value)) = x.row(t).iter().enumerate().find(|(_, value)| !value.is_finite()) {
            return Err(Error::NonFinite { argument: "x", index, value }.at_row(t));
        }
    }
    Ok(())
}

/// Checks that a setting is a positive, finite number.
pub(crate) fn positive(name: &'static str, value: f64) -> Result<(), Error> {
    if value > 0.0 && value.is_finite() {
        Ok(())
    } else {
        Err(Error::Setting { name, value, requirement: "positive and finite" })
    }
}

/// Checks a probability that must be neither 0 nor 1.
pub(crate) fn probability_inside(name: &'static str, value: f64) -> Result<(), Error> {
    if value > 0.0 && value < 1.0 {
        Ok(())
    } else {
        Err(Error::Setting { name, value, requirement: "between 0 and 1, both excluded" })
    }
}

/// Checks a level of confidence or credibility.
pub(crate) fn level(level: f64) -> Result<(), Error> {
    probability_inside("level", level)
}

/// Checks probabilities of label 1 against binary labels, one of each per observation.
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

/// Checks logarithms of probabilities; −∞ is one.
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
