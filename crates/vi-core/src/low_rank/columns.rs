//! The columns that a block adds to `W`: products with `F = [W X]`, tile by tile.

use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, Mat, MatMut, MatRef, Par};

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

/// `out ← F·c` on a tile: `w` (`r × p`) and `x` (`k × r`) make `F`, `c` is `(p + k) × m`.
pub(super) fn mul_f(mut out: MatMut<'_, f64>, w: MatRef<'_, f64>, x: MatRef<'_, f64>, c: MatRef<'_, f64>) {
    let (p, k) = (w.ncols(), x.nrows());
    let mut accum = Accum::Replace;
    if p > 0 {
        matmul(out.as_mut(), accum, w, c.subrows(0, p), 1.0, Par::Seq);
        accum = Accum::Add;
    }
    if k > 0 {
        matmul(out.as_mut(), accum, x.transpose(), c.subrows(p, k), 1.0, Par::Seq);
        accum = Accum::Add;
    }
    if matches!(accum, Accum::Replace) {
        out.fill(0.0);
    }
}

/// `sum ← sum + Fᵀ·y` on a tile, `y` being `r × m` and `sum` `(p + k) × m`.
pub(super) fn add_ft_mul(sum: MatMut<'_, f64>, w: MatRef<'_, f64>, x: MatRef<'_, f64>, y: MatRef<'_, f64>) {
    let (top, bottom) = sum.split_at_row_mut(w.ncols());
    if w.ncols() > 0 {
        matmul(top, Accum::Add, w.transpose(), y, 1.0, Par::Seq);
    }
    if x.nrows() > 0 {
        matmul(bottom, Accum::Add, x, y, 1.0, Par::Seq);
    }
}

/// `out_i ← Σ_j weights_j·F_ij²` on a tile.
pub(super) fn weighted_squares(out: &mut [f64], w: MatRef<'_, f64>, x: MatRef<'_, f64>, weights: &[f64]) {
    let (for_w, for_x) = weights.split_at(w.ncols());
    for (i, out) in out.iter_mut().enumerate() {
        *out = for_w.iter().zip(w.row(i).iter()).map(|(weight, w)| weight * (w * w)).sum();
    }
    for (j, weight) in for_x.iter().enumerate() {
        if let Some(row) = x.row(j).try_as_row_major() {
            for (out, x) in out.iter_mut().zip(row.as_slice()) {
                *out += weight * (x * x);
            }
        } else {
            for (out, x) in out.iter_mut().zip(x.row(j).iter()) {
                *out += weight * (x * x);
            }
        }
    }
}
