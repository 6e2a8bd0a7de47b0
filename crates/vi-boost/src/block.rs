//! Points stored by columns, as the inner loops read them.

use rand::Rng;
use vi_linalg::faer::{MatMut, MatRef};

use crate::{BoostError, points};

/// The number of rows of a block: few enough that a block of each component stays in the cache.
pub(crate) const ROWS: usize = 256;

/// `rows × columns` numbers, column by column, so that a loop over points reads contiguous memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Block {
    rows: usize,
    columns: usize,
    data: Vec<f64>,
}

impl Block {
    pub(crate) fn zeros(rows: usize, columns: usize) -> Self {
        Self { rows, columns, data: vec![0.0; rows * columns] }
    }

    /// The rows `first..first + rows` of `matrix`.
    pub(crate) fn of_rows(matrix: MatRef<'_, f64>, first: usize, rows: usize) -> Self {
        let mut block = Self::zeros(rows, matrix.ncols());
        for j in 0..matrix.ncols() {
            for (i, value) in block.col_mut(j).iter_mut().enumerate() {
                *value = matrix[(first + i, j)];
            }
        }
        block
    }

    /// A block of one point.
    pub(crate) fn point(theta: &[f64]) -> Self {
        Self { rows: 1, columns: theta.len(), data: theta.to_vec() }
    }

    /// Changes the shape; the numbers are then meaningless.
    pub(crate) fn reshape(&mut self, rows: usize, columns: usize) {
        self.rows = rows;
        self.columns = columns;
        self.data.resize(rows * columns, 0.0);
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    pub(crate) fn fill(&mut self, value: f64) {
        self.data.fill(value);
    }

    pub(crate) fn col(&self, j: usize) -> &[f64] {
        &self.data[j * self.rows..(j + 1) * self.rows]
    }

    pub(crate) fn col_mut(&mut self, j: usize) -> &mut [f64] {
        &mut self.data[j * self.rows..(j + 1) * self.rows]
    }

    /// Column `j` for writing and column `k ≠ j` for reading.
    pub(crate) fn col_mut_and(&mut self, j: usize, k: usize) -> (&mut [f64], &[f64]) {
        let rows = self.rows;
        if k < j {
            let (left, right) = self.data.split_at_mut(j * rows);
            (&mut right[..rows], &left[k * rows..(k + 1) * rows])
        } else {
            let (left, right) = self.data.split_at_mut(k * rows);
            (&mut left[j * rows..(j + 1) * rows], &right[..rows])
        }
    }

    pub(crate) fn row(&self, i: usize, out: &mut [f64]) {
        for (j, value) in out.iter_mut().enumerate() {
            *value = self.col(j)[i];
        }
    }

    pub(crate) fn as_ref(&self) -> MatRef<'_, f64> {
        MatRef::from_column_major_slice(&self.data, self.rows, self.columns)
    }

    pub(crate) fn as_mut(&mut self) -> MatMut<'_, f64> {
        MatMut::from_column_major_slice_mut(&mut self.data, self.rows, self.columns)
    }
}

/// A matrix of points in blocks of [`ROWS`].
pub(crate) fn blocks(matrix: MatRef<'_, f64>) -> Vec<Block> {
    let n = matrix.nrows();
    (0..n).step_by(ROWS).map(|first| Block::of_rows(matrix, first, ROWS.min(n - first))).collect()
}

/// The points of [`points::quasi`] in blocks.
pub(crate) fn quasi(n: usize, m: usize, seed: u64) -> Result<Vec<Block>, BoostError> {
    Ok(blocks(points::quasi(n, m, seed)?.as_ref()))
}

/// Independent standard normal draws in blocks.
pub(crate) fn random<R: Rng + ?Sized>(n: usize, m: usize, rng: &mut R) -> Vec<Block> {
    blocks(points::random(n, m, rng).as_ref())
}
