//! Checks at the door.

use vi_core::Error;
use vi_linalg::faer::MatRef;

pub(crate) fn length(argument: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if expected == found { Ok(()) } else { Err(Error::Dimension { argument, expected, found }) }
}

/// Checks that a count is at least 1.
pub(crate) fn count(argument: &'static str, count: usize) -> Result<(), Error> {
    if count > 0 { Ok(()) } else { Err(Error::Empty { argument }) }
}

/// Checks that a slice holds nothing but finite numbers.
pub(crate) fn finite(argument: &'static str, values: &[f64]) -> Result<(), Error> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(index) => Err(Error::NonFinite { argument, index, value: values[index] }),
    }
}

/// Checks that every number of a slice is positive and finite.
pub(crate) fn positive(argument: &'static str, values: &[f64]) -> Result<(), Error> {
    match values.iter().position(|value| !(*value > 0.0 && value.is_finite())) {
        None => Ok(()),
        Some(index) => Err(Error::Entry { argument, index, value: values[index], requirement: "positive and finite" }),
    }
}

/// Checks that a matrix holds nothing but finite numbers; the error names the row.
pub(crate) fn matrix(argument: &'static str, a: MatRef<'_, f64>) -> Result<(), Error> {
    // By columns, as matrices lie in memory; what is found is then sought by rows.
    let finite = |value: &f64| value.is_finite();
    if (0..a.ncols()).all(|j| a.col(j).iter().all(finite)) {
        return Ok(());
    }
    for row in 0..a.nrows() {
        if let Some((index, &value)) = a.row(row).iter().enumerate().find(|(_, value)| !value.is_finite()) {
            return Err(Error::NonFinite { argument, index, value }.at_row(row));
        }
    }
    Ok(())
}
