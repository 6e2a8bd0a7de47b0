//! Checks of arguments and settings, for this crate and those that depend on it.
//!
//! Each check returns an [`Error`] that names the argument, the position and the value.
//!
//! ```
//! use vi_core::check;
//! let error = check::finite("x", &[1.0, f64::NAN]).unwrap_err();
//! assert_eq!(error.to_string(), "x[1] is not finite: NaN");
//! ```

use vi_linalg::faer::MatRef;

use crate::Error;

/// Checks that an argument has the length that the other arguments require.
///
/// # Errors
/// [`Error::Dimension`].
pub fn length(argument: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if expected == found { Ok(()) } else { Err(Error::Dimension { argument, expected, found }) }
}

/// Checks that an argument of length `len` is not empty.
///
/// # Errors
/// [`Error::Empty`].
pub fn not_empty(argument: &'static str, len: usize) -> Result<(), Error> {
    if len > 0 { Ok(()) } else { Err(Error::Empty { argument }) }
}

/// Checks that every entry of a slice is finite.
///
/// # Errors
/// [`Error::NonFinite`] for the first that is not.
pub fn finite(argument: &'static str, values: &[f64]) -> Result<(), Error> {
    if all_finite(values.iter().copied()) {
        return Ok(());
    }
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(index) => Err(Error::NonFinite { argument, index, value: values[index] }),
    }
}

/// Whether all values are finite: all answers are combined into one, which, unlike a search, is done in vectors.
fn all_finite(values: impl Iterator<Item = f64>) -> bool {
    values.fold(true, |finite, value| finite & value.is_finite())
}

/// Checks that a slice is not empty and has only finite numbers.
///
/// # Errors
/// [`Error::Empty`], [`Error::NonFinite`] for the first that is not finite.
pub fn values(argument: &'static str, values: &[f64]) -> Result<(), Error> {
    not_empty(argument, values.len())?;
    finite(argument, values)
}

/// Checks that every entry of a slice is positive and finite.
///
/// # Errors
/// [`Error::Entry`] for the first that is not.
pub fn positive_entries(argument: &'static str, values: &[f64]) -> Result<(), Error> {
    match values.iter().position(|value| !(*value > 0.0 && value.is_finite())) {
        None => Ok(()),
        Some(index) => Err(Error::Entry { argument, index, value: values[index], requirement: "positive and finite" }),
    }
}

/// Checks that every entry of a matrix is finite.
///
/// # Errors
/// [`Error::Row`] with [`Error::NonFinite`] for the first, by rows, that is not.
pub fn matrix(argument: &'static str, a: MatRef<'_, f64>) -> Result<(), Error> {
    // The entries are checked in the order in which they lie in memory; only after a failure is the first one by rows looked for.
    let lines = if a.col_stride() == 1 { a.transpose() } else { a };
    let finite = lines.col_iter().all(|line| match line.try_as_col_major() {
        Some(line) => all_finite(line.as_slice().iter().copied()),
        None => line.iter().all(|value| value.is_finite()),
    });
    if finite {
        return Ok(());
    }
    for (row, values) in a.row_iter().enumerate() {
        if let Some((index, &value)) = values.iter().enumerate().find(|(_, value)| !value.is_finite()) {
            return Err(Error::NonFinite { argument, index, value }.at_row(row));
        }
    }
    Ok(())
}

/// Checks that `x` has rows, `d` columns and finite entries.
///
/// # Errors
/// [`Error::Empty`], [`Error::Dimension`], [`Error::Row`] with [`Error::NonFinite`].
pub fn rows(d: usize, x: MatRef<'_, f64>) -> Result<(), Error> {
    not_empty("x", x.nrows())?;
    length("columns of x", d, x.ncols())?;
    matrix("x", x)
}

/// Checks that a result is within the range of floats, and returns it.
///
/// # Errors
/// [`Error::Overflow`].
pub fn result(quantity: &'static str, value: f64) -> Result<f64, Error> {
    if value.is_finite() { Ok(value) } else { Err(Error::Overflow { quantity, value }) }
}

/// Checks that every number of a result is within the range of floats.
///
/// # Errors
/// [`Error::Overflow`] for the first that is not.
pub fn results(quantity: &'static str, values: impl Iterator<Item = f64> + Clone) -> Result<(), Error> {
    if all_finite(values.clone()) {
        return Ok(());
    }
    values.into_iter().try_for_each(|value| result(quantity, value).map(drop))
}

/// Checks that a setting is a positive, finite number.
///
/// # Errors
/// [`Error::Setting`].
pub fn positive(name: &'static str, value: f64) -> Result<(), Error> {
    if value > 0.0 && value.is_finite() {
        Ok(())
    } else {
        Err(Error::Setting { name, value, requirement: "positive and finite" })
    }
}

/// Checks that a setting is a finite number and not negative.
///
/// # Errors
/// [`Error::Setting`].
pub fn not_negative(name: &'static str, value: f64) -> Result<(), Error> {
    if value >= 0.0 && value.is_finite() {
        Ok(())
    } else {
        Err(Error::Setting { name, value, requirement: "finite and not negative" })
    }
}

/// Checks that a setting is a probability, and neither 0 nor 1.
///
/// # Errors
/// [`Error::Setting`].
pub fn probability(name: &'static str, value: f64) -> Result<(), Error> {
    if value > 0.0 && value < 1.0 {
        Ok(())
    } else {
        Err(Error::Setting { name, value, requirement: "between 0 and 1, both excluded" })
    }
}

/// Checks that a setting that counts something is at least 1.
///
/// # Errors
/// [`Error::Setting`].
pub fn count(name: &'static str, count: usize) -> Result<(), Error> {
    if count > 0 { Ok(()) } else { Err(Error::Setting { name, value: 0.0, requirement: "at least 1" }) }
}

/// The largest limit on the steps, the starts or the rounds of a search.
pub const MOST_STEPS: usize = 1_000_000;

/// Checks a limit on the steps, the starts or the rounds of a search, so that every search ends.
///
/// # Errors
/// [`Error::Setting`] unless `1 ≤ limit ≤` [`MOST_STEPS`].
///
/// ```
/// use vi_core::check;
/// let error = check::limit("max_passes", usize::MAX).unwrap_err();
/// assert!(error.to_string().contains("max_passes") && check::limit("max_passes", 200).is_ok());
/// ```
pub fn limit(name: &'static str, limit: usize) -> Result<(), Error> {
    count(name, limit)?;
    if limit <= MOST_STEPS {
        Ok(())
    } else {
        Err(Error::Setting { name, value: limit as f64, requirement: "at most 1000000" })
    }
}

/// The product of `counts`, checked to be a number of floats that memory can hold; `name` is the setting at fault.
///
/// # Errors
/// [`Error::Setting`].
pub fn room(name: &'static str, counts: &[usize]) -> Result<usize, Error> {
    vi_linalg::check::room(name, counts).map_err(|_| {
        let value = counts.first().map_or(0.0, |&count| count as f64);
        Error::Setting { name, value, requirement: "small enough for memory" }
    })
}
