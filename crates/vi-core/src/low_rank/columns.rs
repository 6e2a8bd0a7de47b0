//! The columns `X` that a block adds to `W`, whatever form their rows have.

use vi_linalg::faer::{Mat, MatRef};

use crate::SparseRow;

/// Rows of which few entries are not zero, one after another.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct SparseRows {
    /// Where each row begins in the two lists, and at last their length.
    starts: Vec<usize>,
    indices: Vec<usize>,
    values: Vec<f64>,
}

impl SparseRows {
    pub(super) fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    pub(super) fn push(&mut self, row: SparseRow<'_>) {
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        self.indices.extend_from_slice(row.indices());
        self.values.extend_from_slice(row.values());
        self.starts.push(self.indices.len());
    }

    pub(super) fn pop(&mut self) {
        if self.starts.len() > 1 {
            self.starts.pop();
            let end = self.starts.last().copied().unwrap_or(0);
            self.indices.truncate(end);
            self.values.truncate(end);
        }
    }

    pub(super) fn clear(&mut self) {
        self.starts.clear();
        self.indices.clear();
        self.values.clear();
    }

    /// Positions and values of row `j`.
    pub(super) fn row(&self, j: usize) -> (&[usize], &[f64]) {
        let range = self.starts[j]..self.starts[j + 1];
        (&self.indices[range.clone()], &self.values[range])
    }
}

/// The rows of a block, `k` of them, as the columns of `X` (`d × k`).
#[derive(Debug, Clone, Copy)]
pub(super) enum Columns<'a> {
    /// `k × d`.
    Dense(MatRef<'a, f64>),
    Sparse(&'a SparseRows),
}

impl<'a> Columns<'a> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Dense(x) => x.nrows(),
            Self::Sparse(rows) => rows.len(),
        }
    }

    /// Memory that [`tile`](Self::tile) wants for tiles of up to `height` coordinates.
    pub(super) fn tile_memory(&self, height: usize) -> Mat<f64> {
        match self {
            Self::Dense(_) => Mat::zeros(0, 0),
            Self::Sparse(rows) => Mat::zeros(height, rows.len()),
        }
    }

    /// Coordinates `first..first + height` of the rows (`k × height`).
    pub(super) fn tile<'t>(&'t self, first: usize, height: usize, memory: &'t mut Mat<f64>) -> MatRef<'t, f64>
    where
        'a: 't,
    {
        match self {
            Self::Dense(x) => x.subcols(first, height),
            Self::Sparse(rows) => {
                let mut tile = memory.as_mut().submatrix_mut(0, 0, height, rows.len());
                tile.fill(0.0);
                for j in 0..rows.len() {
                    let (indices, values) = rows.row(j);
                    let from = indices.partition_point(|&i| i < first);
                    for (&i, &value) in indices[from..].iter().zip(&values[from..]) {
                        if i >= first + height {
                            break;
                        }
                        tile[(i - first, j)] = value;
                    }
                }
                memory.as_ref().submatrix(0, 0, height, rows.len()).transpose()
            }
        }
    }
}
