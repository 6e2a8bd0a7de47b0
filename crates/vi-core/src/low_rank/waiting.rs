//! The rows that are buffered for the next projection.

use vi_linalg::faer::MatRef;

use super::columns::{Columns, SparseBuffer};
use super::space::{Seen, Space};
use crate::rows::SparseRows;
use crate::{Row, Site};

/// Buffered rows with their sites, which are in the mean and the site's space but not yet in `(W, ψ)`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Waiting {
    pub(super) space: Space,
    pub(super) rows: WaitingRows,
}

/// Buffered rows of one kind; a dense row among sparse ones makes them all dense.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum WaitingRows {
    /// Rows one after another, `d` numbers each.
    Dense(Vec<f64>),
    Sparse(SparseBuffer),
}

impl Default for WaitingRows {
    fn default() -> Self {
        Self::Dense(Vec::new())
    }
}

impl WaitingRows {
    /// The rows as columns of `X`; `d` is the length of a row.
    pub(super) fn columns(&self, d: usize) -> Columns<'_> {
        match self {
            Self::Dense(values) => Columns::Dense(MatRef::from_row_major_slice(values, values.len() / d, d)),
            Self::Sparse(rows) => Columns::Sparse(rows.rows()),
        }
    }

    /// The rows and, after them, those of `x` (`k × d`); sparse ones are written out into `memory`.
    pub(super) fn with_dense<'a>(&'a self, x: MatRef<'a, f64>, memory: &'a mut Vec<f64>) -> Columns<'a> {
        let d = x.ncols();
        let values = match self {
            Self::Dense(values) => values,
            Self::Sparse(rows) => {
                memory.clear();
                (0..rows.len()).for_each(|j| push_sparse_as_dense(memory, rows.rows().pieces(j), d));
                memory
            }
        };
        if values.is_empty() {
            return Columns::Dense(x);
        }
        Columns::DenseAnd(MatRef::from_row_major_slice(values, values.len() / d, d), x)
    }

    /// The rows and, after them, one of length `d`; a sparse one after dense ones is written out into `memory`.
    pub(super) fn with<'a>(&'a self, x: Row<'a>, d: usize, memory: &'a mut Vec<f64>) -> Columns<'a> {
        match (self, x) {
            (Self::Sparse(rows), Row::Sparse { positions, values }) => {
                Columns::SparseAnd(rows.rows(), (positions, values))
            }
            (Self::Dense(rows), Row::Sparse { positions, values }) if rows.is_empty() => {
                let none = SparseRows { starts: &[], positions: &[], values: &[] };
                Columns::SparseAnd(none, (positions, values))
            }
            (Self::Dense(rows), Row::Sparse { .. }) => {
                let row = MatRef::from_row_major_slice(x.written_out(d, memory), 1, d);
                Columns::DenseAnd(MatRef::from_row_major_slice(rows, rows.len() / d, d), row)
            }
            (_, Row::Dense(values)) => self.with_dense(MatRef::from_row_major_slice(values, 1, d), memory),
        }
    }

    /// Appends the rows of `x` (`k × d`).
    pub(super) fn push_dense(&mut self, x: MatRef<'_, f64>, block: usize) {
        let d = x.ncols();
        if let Self::Sparse(sparse) = self {
            let mut values = Vec::new();
            reserve(&mut values, sparse.len(), d, block);
            for j in 0..sparse.len() {
                push_sparse_as_dense(&mut values, sparse.rows().pieces(j), d);
            }
            *self = Self::Dense(values);
        }
        if let Self::Dense(values) = self {
            reserve(values, x.nrows(), d, block);
            for row in x.row_iter() {
                match row.try_as_row_major() {
                    Some(row) => values.extend_from_slice(row.as_slice()),
                    None => values.extend(row.iter()),
                }
            }
        }
    }

    /// Appends one row of length `d`.
    fn push(&mut self, x: Row<'_>, d: usize, block: usize) {
        match (&mut *self, x) {
            (Self::Sparse(rows), Row::Sparse { positions, values }) => rows.push((positions, values)),
            (Self::Dense(rows), Row::Sparse { positions, values }) if rows.is_empty() => {
                let mut rows = SparseBuffer::default();
                rows.push((positions, values));
                *self = Self::Sparse(rows);
            }
            (Self::Dense(rows), Row::Sparse { positions, values }) => {
                reserve(rows, 1, d, block);
                push_sparse_as_dense(rows, (positions, values), d);
            }
            (_, Row::Dense(values)) => self.push_dense(MatRef::from_row_major_slice(values, 1, d), block),
        }
    }

    fn clear(&mut self) {
        match self {
            Self::Dense(values) => values.clear(),
            Self::Sparse(rows) => rows.clear(),
        }
    }
}

impl Waiting {
    pub(super) fn len(&self) -> usize {
        self.space.len()
    }

    /// Adds a row of length `d` with its site, which has been checked.
    pub(super) fn push(&mut self, x: Row<'_>, d: usize, block: usize, seen: Seen, site: Site) {
        self.space.add(seen, site);
        self.rows.push(x, d, block);
    }

    /// Puts rows back that were taken for a reduction: as they were, or their memory alone where no row waits any longer.
    pub(super) fn put_back(&mut self, rows: WaitingRows) {
        self.rows = rows;
        if self.space.len() == 0 {
            self.rows.clear();
        }
    }

    /// Drops the rows and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.space.rows.clear();
        self.rows.clear();
    }
}

/// Reserves memory for `k` more rows: twice what there is, but never more than a block.
fn reserve(values: &mut Vec<f64>, k: usize, d: usize, block: usize) {
    let needed = values.len() + k * d;
    if needed > values.capacity() {
        let target = (2 * values.len()).min(block.saturating_mul(d)).max(needed);
        values.reserve_exact(target - values.len());
    }
}

fn push_sparse_as_dense(values: &mut Vec<f64>, row: (&[usize], &[f64]), d: usize) {
    let start = values.len();
    values.resize(start + d, 0.0);
    for (&i, &value) in row.0.iter().zip(row.1) {
        values[start + i] = value;
    }
}
