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

/// The product of `counts`, checked to be a number of floats that memory can hold; the error names the setting `name`.
pub(crate) fn room(name: &'static str, counts: &[usize]) -> Result<usize, Error> {
    let numbers = counts.iter().try_fold(1_usize, |product, &count| product.checked_mul(count));
    match numbers {
        Some(numbers) if Vec::<f64>::new().try_reserve_exact(numbers).is_ok() => Ok(numbers),
        _ => {
            let value = counts.first().map_or(0.0, |&count| count as f64);
            Err(Error::Setting { name, value, requirement: "small enough for memory" })
        }
    }
}

/// Checks that a slice holds nothing but finite numbers.
pub(crate) fn finite(argument: &'static str, values: &[f64]) -> Result<(), Error> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(index) => Err(Error::NonFinite { argument, index, value: values[index] }),
    }
}

/// Checks that what was computed is within the range of floats.
pub(crate) fn computed(quantity: &'static str, values: &[f64]) -> Result<(), Error> {
    match values.iter().find(|value| !value.is_finite()) {
        None => Ok(()),
        Some(&value) => Err(Error::Overflow { quantity, value }),
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
