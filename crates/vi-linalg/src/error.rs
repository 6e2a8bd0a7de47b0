//! Errors caused by values or sizes.

/// Why a linear algebra operation has no result.
///
/// `PartialEq` compares the offending `value` as a float, so a [`NonFinite`](Self::NonFinite) with a NaN equals nothing.
///
/// ```
/// use vi_linalg::LinalgError;
/// let error = LinalgError::NotPositiveDefinite { pivot: 3 };
/// assert_eq!(error.to_string(), "matrix is not positive definite: pivot 3 is not positive");
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LinalgError {
    /// A pivot of the Cholesky factorisation is zero, negative or NaN.
    #[error("matrix is not positive definite: pivot {pivot} is not positive")]
    NotPositiveDefinite {
        /// Index of the first pivot that failed, from 0: the leading `pivot` × `pivot` block is positive definite.
        pivot: usize,
    },
    /// An entry is NaN or infinite.
    #[error("{what} has the non-finite value {value} at row {row}, column {column}")]
    NonFinite {
        /// The argument that holds the entry.
        what: &'static str,
        /// Row of the entry, from 0.
        row: usize,
        /// Column of the entry, from 0 (0 for a vector).
        column: usize,
        /// The entry.
        value: f64,
    },
    /// An entry that must be positive is zero or negative.
    #[error("{what}[{index}] = {value} must be positive")]
    NotPositive {
        /// The argument that holds the entry.
        what: &'static str,
        /// Its position, from 0.
        index: usize,
        /// The entry.
        value: f64,
    },
    /// The iteration for the eigenvalues of a symmetric matrix did not converge.
    #[error("the eigenvalues of a matrix of {rows} rows were not found")]
    NoEigenvalues {
        /// The number of rows of the matrix.
        rows: usize,
    },
    /// A matrix has more elements than memory holds.
    #[error("{what} of {rows} x {columns} elements does not fit in memory")]
    TooLarge {
        /// The name of the matrix.
        what: &'static str,
        /// The number of its rows.
        rows: usize,
        /// The number of its columns.
        columns: usize,
    },
    /// An argument has the wrong number of rows, columns or elements.
    #[error("{what}: expected {expected}, found {found}")]
    Dimension {
        /// Which count it is.
        what: &'static str,
        /// The count that the other arguments require.
        expected: usize,
        /// The count that was given.
        found: usize,
    },
}
