//! Many rows of inputs: dense, one after another or in a matrix of any layout, or compressed sparse rows.

use vi_linalg::faer::{Mat, MatRef, RowRef};

use crate::check;
use crate::{Error, Row};

/// The rows of a data set, `n` of length `d`.
///
/// It is made from `&[f64]`, `&[f64; N]` or `&Vec<f64>` (`n·d` numbers, row after row), from a matrix (`MatRef` or `&Mat`, `n ×
/// d`, in any layout), or written as the three slices of a compressed sparse row matrix. Functions that take rows check them
/// ([`check`](Self::check)); making them costs nothing.
///
/// ```
/// use vi_core::Rows;
/// use vi_linalg::faer::mat;
/// let written_out = mat![[0.0, 2.0, 0.0], [1.0, 0.0, -1.0]];
/// let dense = Rows::from(&[0.0, 2.0, 0.0, 1.0, 0.0, -1.0]);
/// let matrix = Rows::from(&written_out);
/// let sparse = Rows::Sparse { starts: &[0, 1, 3], positions: &[1, 0, 2], values: &[2.0, 1.0, -1.0] };
/// for rows in [dense, matrix, sparse] {
///     assert!(rows.check(2, 3).is_ok() && rows.check(3, 3).is_err());
/// }
/// assert!(sparse.check(2, 2).is_err());
/// ```
#[derive(Debug, Clone, Copy)]
pub enum Rows<'a> {
    /// `n·d` numbers, row after row.
    Dense(&'a [f64]),
    /// `n × d`, in any layout.
    Matrix(MatRef<'a, f64>),
    /// Compressed sparse rows: row `i` has the entries `starts[i]..starts[i+1]`.
    Sparse {
        /// `n+1` offsets into the other two, from 0 to their length, never falling.
        starts: &'a [usize],
        /// Positions, increasing within a row.
        positions: &'a [usize],
        /// The value at each position.
        values: &'a [f64],
    },
}

impl<'a> From<&'a [f64]> for Rows<'a> {
    fn from(values: &'a [f64]) -> Self {
        Self::Dense(values)
    }
}

impl<'a> From<&'a Vec<f64>> for Rows<'a> {
    fn from(values: &'a Vec<f64>) -> Self {
        Self::Dense(values)
    }
}

impl<'a, const N: usize> From<&'a [f64; N]> for Rows<'a> {
    fn from(values: &'a [f64; N]) -> Self {
        Self::Dense(values)
    }
}

impl<'a> From<MatRef<'a, f64>> for Rows<'a> {
    fn from(matrix: MatRef<'a, f64>) -> Self {
        Self::Matrix(matrix)
    }
}

impl<'a> From<&'a Mat<f64>> for Rows<'a> {
    fn from(matrix: &'a Mat<f64>) -> Self {
        Self::Matrix(matrix.as_ref())
    }
}

impl<'a> Rows<'a> {
    /// The number of rows if their length is `d`; a remainder of a dense slice counts as one.
    #[must_use]
    pub fn count(self, d: usize) -> usize {
        match self {
            Self::Dense(values) => values.len().div_ceil(d.max(1)),
            Self::Matrix(matrix) => matrix.nrows(),
            Self::Sparse { starts, .. } => starts.len().saturating_sub(1),
        }
    }

    /// Checks that there are `n` rows of length `d` with finite entries. Cost: one comparison for each entry given.
    ///
    /// # Errors
    /// [`Error::Empty`] for `n = 0`; [`Error::Dimension`] for another number of rows or entries; [`Error::Entry`] for `starts`
    /// that do not run from 0 to the number of entries; [`Error::Row`] with the error of [`Row::check`] for a row, or with
    /// [`Error::Index`] for `starts` that fall or lie beyond the entries.
    pub fn check(self, n: usize, d: usize) -> Result<(), Error> {
        self.checked(n, d).map(|_| ())
    }

    /// The `n` rows one by one, after a [`check`](Self::check): in place, or copied into `memory` if a matrix does not hold its
    /// rows contiguously.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    ///
    /// ```
    /// use vi_core::{Row, Rows};
    /// let mut memory = Vec::new();
    /// let rows = Rows::Sparse { starts: &[0, 1, 3], positions: &[1, 0, 2], values: &[2.0, 1.0, -1.0] };
    /// let split = rows.split(2, 3, &mut memory)?;
    /// assert_eq!(split[1], Row::Sparse { positions: &[0, 2], values: &[1.0, -1.0] });
    /// # Ok::<(), vi_core::Error>(())
    /// ```
    pub fn split<'m>(self, n: usize, d: usize, memory: &'m mut Vec<f64>) -> Result<Vec<Row<'m>>, Error>
    where
        'a: 'm,
    {
        let matrix = match self.checked(n, d)? {
            CheckedRows::Sparse(rows) => return Ok((0..n).map(|t| rows.row(t)).collect()),
            CheckedRows::Dense(matrix) => matrix,
        };
        let in_place: Option<Vec<Row<'m>>> =
            (0..n).map(|t| Some(Row::Dense(matrix.row(t).try_as_row_major()?.as_slice()))).collect();
        Ok(in_place.unwrap_or_else(|| {
            memory.clear();
            memory.extend(matrix.row_iter().flat_map(RowRef::iter));
            (0..n).map(|t| Row::Dense(&memory[t * d..(t + 1) * d])).collect()
        }))
    }

    /// The rows in one of two forms, after a [`check`](Self::check).
    pub(crate) fn checked(self, n: usize, d: usize) -> Result<CheckedRows<'a>, Error> {
        check::not_empty("x", n)?;
        let matrix = match self {
            Self::Dense(values) => {
                check::length("x", n.saturating_mul(d), values.len())?;
                MatRef::from_row_major_slice(values, n, d)
            }
            Self::Matrix(matrix) => matrix,
            Self::Sparse { starts, positions, values } => {
                let sparse = SparseRows { starts, positions, values };
                sparse.check(n, d)?;
                return Ok(CheckedRows::Sparse(sparse));
            }
        };
        check::length("rows of x", n, matrix.nrows())?;
        check::rows(d, matrix)?;
        Ok(CheckedRows::Dense(matrix))
    }

    /// The rows in one of two forms, after a check of their number against the labels `y`, and of themselves.
    pub(crate) fn labelled(self, d: usize, y: &[f64]) -> Result<CheckedRows<'a>, Error> {
        let n = match self {
            Self::Dense(_) => y.len(),
            Self::Matrix(_) | Self::Sparse { .. } => self.count(d),
        };
        let rows = self.checked(n, d)?;
        check::length("y", n, y.len())?;
        Ok(rows)
    }
}

/// Rows that have passed [`Rows::check`].
#[derive(Debug, Clone, Copy)]
pub(crate) enum CheckedRows<'a> {
    /// `n × d`.
    Dense(MatRef<'a, f64>),
    Sparse(SparseRows<'a>),
}

impl<'a> CheckedRows<'a> {
    /// `n`.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Dense(matrix) => matrix.nrows(),
            Self::Sparse(rows) => rows.len(),
        }
    }

    /// Row `t`: in place, or copied into `memory`.
    pub(crate) fn row<'m>(&self, t: usize, memory: &'m mut Vec<f64>) -> Row<'m>
    where
        'a: 'm,
    {
        match *self {
            Self::Dense(matrix) => Row::Dense(contiguous_row(matrix, t, memory)),
            Self::Sparse(rows) => rows.row(t),
        }
    }

    /// Rows `first..first + count` of length `d`, dense: in place, or written out into `memory`.
    pub(crate) fn written_out<'m>(
        &self,
        first: usize,
        count: usize,
        d: usize,
        memory: &'m mut Vec<f64>,
    ) -> MatRef<'m, f64>
    where
        'a: 'm,
    {
        match *self {
            Self::Dense(matrix) => matrix.subrows(first, count),
            Self::Sparse(rows) => {
                memory.clear();
                memory.resize(count * d, 0.0);
                for (t, out) in memory.chunks_exact_mut(d.max(1)).enumerate() {
                    rows.row(first + t).for_each(|j, value| out[j] = value);
                }
                MatRef::from_row_major_slice(memory, count, d)
            }
        }
    }
}

/// Compressed sparse rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SparseRows<'a> {
    pub(crate) starts: &'a [usize],
    pub(crate) positions: &'a [usize],
    pub(crate) values: &'a [f64],
}

impl<'a> SparseRows<'a> {
    pub(crate) fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// How many entries these rows have.
    pub(crate) fn entries(&self) -> usize {
        let first = self.starts.first().copied().unwrap_or(0);
        self.starts.last().copied().unwrap_or(0) - first
    }

    /// Positions and values of row `t`.
    pub(crate) fn pieces(&self, t: usize) -> (&'a [usize], &'a [f64]) {
        let entries = self.starts[t]..self.starts[t + 1];
        (&self.positions[entries.clone()], &self.values[entries])
    }

    pub(crate) fn row(&self, t: usize) -> Row<'a> {
        let (positions, values) = self.pieces(t);
        Row::Sparse { positions, values }
    }

    fn check(&self, n: usize, d: usize) -> Result<(), Error> {
        let Self { starts, positions, values } = *self;
        check::length("starts", n.saturating_add(1), starts.len())?;
        check::length("values", positions.len(), values.len())?;
        for (index, bound) in [(0, 0), (n, positions.len())] {
            if starts[index] != bound {
                return Err(Error::Entry {
                    argument: "starts",
                    index,
                    value: starts[index] as f64,
                    requirement: "0 at the first row and the number of entries after the last",
                });
            }
        }
        for (t, bounds) in starts.windows(2).enumerate() {
            let entries = bounds[0]..bounds[1];
            let (Some(positions), Some(values)) = (positions.get(entries.clone()), values.get(entries)) else {
                return Err(Error::Index { argument: "starts", index: bounds[1], len: positions.len() }.at_row(t));
            };
            Row::Sparse { positions, values }.check(d).map_err(|error| error.at_row(t))?;
        }
        Ok(())
    }
}

/// Row `t` of `x` as a slice: in place where it is contiguous, else copied into `buffer`.
pub(crate) fn contiguous_row<'a>(x: MatRef<'a, f64>, t: usize, buffer: &'a mut Vec<f64>) -> &'a [f64] {
    if let Some(row) = x.row(t).try_as_row_major() {
        return row.as_slice();
    }
    buffer.clear();
    buffer.extend(x.row(t).iter());
    buffer
}
