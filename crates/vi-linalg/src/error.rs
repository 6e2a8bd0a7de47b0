//! What can go wrong with values.

/// Why a linear algebra operation has no answer.
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
    /// The iteration for the eigenvalues of a symmetric matrix did not end.
    #[error("the eigenvalues of a matrix of {rows} rows were not found")]
    NoEigenvalues {
        /// Its rows.
        rows: usize,
    },
    /// A matrix of more elements than memory has addresses.
    #[error("{what} of {rows} x {columns} elements does not fit in memory")]
    TooLarge {
        /// The matrix.
        what: &'static str,
        /// Its rows.
        rows: usize,
        /// Its columns.
        columns: usize,
    },
    /// An argument has the wrong number of rows, columns or elements.
    #[error("{what}: expected {expected}, found {found}")]
    Dimension {
        /// Which count is meant.
        what: &'static str,
        /// The count that the other arguments ask for.
        expected: usize,
        /// The count that was given.
        found: usize,
    },
}
