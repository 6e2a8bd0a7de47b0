//! Rows of which few entries are not zero.

use crate::check;
use crate::{Error, Row};

/// Checks the lengths of `n` sparse rows and of their labels; what is in the rows was checked when they were made.
///
/// # Errors
/// [`Error::Empty`], [`Error::Dimension`], [`Error::Row`] with [`Error::Dimension`].
pub(crate) fn check_sparse_rows(d: usize, x: &[SparseRow<'_>], y: &[f64]) -> Result<(), Error> {
    if x.is_empty() {
        return Err(Error::Empty { argument: "x" });
    }
    check::length("y", x.len(), y.len())?;
    x.iter().enumerate().try_for_each(|(t, row)| check::length("row", d, row.dim()).map_err(|error| error.at_row(t)))
}

/// A row `x ∈ ℝᵈ` given by the positions and values of its nonzeros.
///
/// ```
/// use vi_core::{Error, SparseRow};
/// let row = SparseRow::new(1000, &[3, 998], &[1.0, -0.5])?;
/// assert_eq!((row.dim(), row.indices().len()), (1000, 2));
/// let unsorted = SparseRow::new(1000, &[7, 3], &[1.0, 1.0]);
/// assert!(matches!(unsorted, Err(Error::SparseIndex { position: 1, index: 3, .. })));
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SparseRow<'a> {
    dim: usize,
    indices: &'a [usize],
    values: &'a [f64],
}

impl<'a> SparseRow<'a> {
    /// The row of length `d` with `values[k]` at position `indices[k]` and zeros elsewhere; no entries is a row of zeros.
    ///
    /// Cost: one look at each entry.
    ///
    /// # Errors
    /// [`Error::Dimension`] for other lengths of `indices` and `values`, [`Error::SparseIndex`] with the position of the first
    /// index that is not below `d` or not above the one before, [`Error::NonFinite`] for a value that is NaN or infinite.
    pub fn new(d: usize, indices: &'a [usize], values: &'a [f64]) -> Result<Self, Error> {
        check::length("values", indices.len(), values.len())?;
        for (position, &index) in indices.iter().enumerate() {
            if index >= d {
                return Err(Error::SparseIndex { position, index, requirement: "below the dimension" });
            }
            if position > 0 && index <= indices[position - 1] {
                return Err(Error::SparseIndex { position, index, requirement: "above the index before it" });
            }
        }
        check::finite("values", values)?;
        Ok(Self { dim: d, indices, values })
    }

    /// Length `d` of the row, zeros included.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Positions of the entries, increasing.
    #[must_use]
    pub fn indices(&self) -> &'a [usize] {
        self.indices
    }

    /// The entries, in the order of [`indices`](Self::indices).
    #[must_use]
    pub fn values(&self) -> &'a [f64] {
        self.values
    }

    /// `(position, value)` of each entry.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (usize, f64)> + use<'a> {
        self.indices.iter().copied().zip(self.values.iter().copied())
    }
}

impl<'a> From<SparseRow<'a>> for Row<'a> {
    fn from(row: SparseRow<'a>) -> Self {
        Self::Sparse { positions: row.indices, values: row.values }
    }
}
