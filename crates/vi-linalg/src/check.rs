//! Checks of the arguments of public functions.

use faer::MatRef;

use crate::LinalgError;

/// Checks that `found == expected`.
///
/// # Errors
/// [`LinalgError::Dimension`] with the name `what`.
///
/// ```
/// use vi_linalg::{LinalgError, check};
/// assert!(check::dimension("length of x", 2, 2).is_ok());
/// let error = check::dimension("length of x", 2, 3).unwrap_err();
/// assert_eq!(error.to_string(), "length of x: expected 2, found 3");
/// ```
pub fn dimension(what: &'static str, expected: usize, found: usize) -> Result<(), LinalgError> {
    if expected == found { Ok(()) } else { Err(LinalgError::Dimension { what, expected, found }) }
}

/// The product of `counts`, checked to be a number of floats for which this process can get memory.
///
/// The memory is requested and given back at once, so that the allocator decides; a vector of zeros would abort the program if it
/// asked for more. On systems that promise more memory than they have, this checks only the address space.
///
/// # Errors
/// [`LinalgError::TooLarge`] with the name `what`, its number of rows being the first count.
///
/// ```
/// use vi_linalg::check;
/// assert_eq!(check::room("W", &[3, 4])?, 12);
/// let error = check::room("W", &[3, usize::MAX]).unwrap_err();
/// assert_eq!(error.to_string(), format!("W of 3 x {} elements does not fit in memory", usize::MAX));
/// # Ok::<(), vi_linalg::LinalgError>(())
/// ```
pub fn room(what: &'static str, counts: &[usize]) -> Result<usize, LinalgError> {
    let numbers = counts.iter().try_fold(1_usize, |product, &count| product.checked_mul(count));
    match numbers {
        Some(numbers) if Vec::<f64>::new().try_reserve_exact(numbers).is_ok() => Ok(numbers),
        _ => {
            let (&rows, rest) = counts.split_first().unwrap_or((&0, &[]));
            let columns = rest.iter().fold(1_usize, |product, &count| product.saturating_mul(count));
            Err(LinalgError::TooLarge { what, rows, columns })
        }
    }
}

/// Checks that every element of a vector is finite. Cost d.
///
/// # Errors
/// [`LinalgError::NonFinite`] for the first element that is not; `row` is its index and `column` is 0.
pub(crate) fn finite_slice(what: &'static str, x: &[f64]) -> Result<(), LinalgError> {
    match x.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(row) => Err(LinalgError::NonFinite { what, row, column: 0, value: x[row] }),
    }
}

/// Checks that every element of a vector is positive and finite. Cost d.
///
/// # Errors
/// [`LinalgError::NonFinite`] or [`LinalgError::NotPositive`] for the first element that is not.
pub(crate) fn positive_slice(what: &'static str, x: &[f64]) -> Result<(), LinalgError> {
    match x.iter().position(|&value| !(value > 0.0 && value.is_finite())) {
        None => Ok(()),
        Some(row) if !x[row].is_finite() => Err(LinalgError::NonFinite { what, row, column: 0, value: x[row] }),
        Some(index) => Err(LinalgError::NotPositive { what, index, value: x[index] }),
    }
}

/// Checks that every entry of a matrix is finite. Cost n·m for an n × m matrix.
///
/// # Errors
/// [`LinalgError::NonFinite`] for the first entry, by columns, that is not.
///
/// ```
/// use vi_linalg::{check, faer::mat};
/// let error = check::finite_matrix("A", mat![[1.0, f64::NAN], [0.5, 1.0]].as_ref()).unwrap_err();
/// assert_eq!(error.to_string(), "A has the non-finite value NaN at row 0, column 1");
/// ```
pub fn finite_matrix(what: &'static str, a: MatRef<'_, f64>) -> Result<(), LinalgError> {
    finite_from(what, a, |_| 0)
}

/// Checks that every entry of the lower triangle (diagonal included) is finite. Cost d²/2.
///
/// # Errors
/// [`LinalgError::NonFinite`] for the first entry, by columns, that is not.
pub(crate) fn finite_lower(what: &'static str, a: MatRef<'_, f64>) -> Result<(), LinalgError> {
    finite_from(what, a, |column| column)
}

fn finite_from(what: &'static str, a: MatRef<'_, f64>, first_row: impl Fn(usize) -> usize) -> Result<(), LinalgError> {
    for column in 0..a.ncols() {
        for row in first_row(column)..a.nrows() {
            let value = a[(row, column)];
            if !value.is_finite() {
                return Err(LinalgError::NonFinite { what, row, column, value });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use faer::Mat;

    use super::*;

    #[test]
    fn names_the_first_bad_entry_by_columns() {
        let mut a = Mat::<f64>::zeros(3, 3);
        a[(2, 1)] = f64::INFINITY;
        a[(1, 2)] = f64::NEG_INFINITY;
        let expected = LinalgError::NonFinite { what: "A", row: 2, column: 1, value: f64::INFINITY };
        assert_eq!(finite_lower("A", a.as_ref()), Err(expected.clone()));
        assert_eq!(finite_matrix("A", a.as_ref()), Err(expected));
        a[(2, 1)] = 0.0;
        assert_eq!(finite_lower("A", a.as_ref()), Ok(()));
        assert!(finite_matrix("A", a.as_ref()).is_err());
    }

    #[test]
    fn names_the_first_bad_element() {
        let told = |checked: Result<(), LinalgError>| checked.unwrap_err().to_string();
        assert_eq!(told(finite_slice("x", &[1.0, f64::NAN])), "x has the non-finite value NaN at row 1, column 0");
        assert_eq!(told(positive_slice("psi", &[1.0, 0.0])), "psi[1] = 0 must be positive");
        assert_eq!(told(positive_slice("psi", &[f64::NAN])), "psi has the non-finite value NaN at row 0, column 0");
    }

    #[test]
    fn empty_arguments_are_finite() {
        assert_eq!(finite_slice("x", &[]), Ok(()));
        assert_eq!(finite_matrix("A", Mat::zeros(0, 3).as_ref()), Ok(()));
    }
}
