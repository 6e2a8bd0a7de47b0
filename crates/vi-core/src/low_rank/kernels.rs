//! Loops over one tile, with the processor's vector instructions.
//!
//! A tile of `r` coordinates holds `W` row by row (`r × p`), the new rows as they lie (`k × r`, mostly contiguous), and scratch
//! column by column (`r × m`), so that elementwise work runs over `r` contiguous numbers. Few columns are done by loops:
//! memory bounds them, and a matrix product would be half empty.

use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, MatMut, MatRef, Par, RowRef};
pub(super) use vi_linalg::kernels::add_lower_product as lower_product;
use vi_linalg::kernels::dot;
use vi_linalg::tiles::Rows;

use super::columns::{Part, add_pieces, add_pieces_transposed, add_squared_pieces};
use crate::vectors::vectorised;

/// The number of columns up to which loops are as fast as a matrix product.
const FEW: usize = 4;

/// `W` as stored, row after row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Factor<'a> {
    pub(crate) values: &'a [f64],
    rows: usize,
}

/// `W` as stored, to be written.
pub(crate) struct FactorMut<'a> {
    pub(crate) values: &'a mut [f64],
    rows: usize,
}

impl<'a> Factor<'a> {
    pub(crate) fn new(values: &'a [f64], rows: usize) -> Self {
        Self { values, rows }
    }

    /// The number `p` of columns.
    pub(crate) fn rank(&self) -> usize {
        self.values.len() / self.rows.max(1)
    }

    pub(crate) fn matrix(&self) -> MatRef<'a, f64> {
        MatRef::from_row_major_slice(self.values, self.rows, self.rank())
    }
}

impl<'a> FactorMut<'a> {
    pub(crate) fn new(values: &'a mut [f64], rows: usize) -> Self {
        Self { values, rows }
    }

    pub(crate) fn reborrow(&mut self) -> FactorMut<'_> {
        FactorMut { values: self.values, rows: self.rows }
    }

    pub(crate) fn as_ref(&self) -> Factor<'_> {
        Factor { values: self.values, rows: self.rows }
    }
}

impl Rows for Factor<'_> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn split(self, row: usize) -> (Self, Self) {
        let (first, second) = self.values.split_at(row * self.rank());
        (Self { values: first, rows: row }, Self { values: second, rows: self.rows - row })
    }
}

impl Rows for FactorMut<'_> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn split(self, row: usize) -> (Self, Self) {
        let (first, second) = self.values.split_at_mut(row * (self.values.len() / self.rows.max(1)));
        (Self { values: first, rows: row }, Self { values: second, rows: self.rows - row })
    }
}

/// The data of one tile: `F = [W X]` and `ψ`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tile<'a> {
    /// `r × p`.
    pub(crate) w: Factor<'a>,
    /// `k × r`.
    pub(crate) x: Part<'a>,
    pub(crate) psi: &'a [f64],
}

impl Tile<'_> {
    /// `out ← F·c`, for `c` of `(p + k) × m`; `out` is `r × m`.
    pub(super) fn mul(&self, out: &mut [f64], c: MatRef<'_, f64>) {
        let (r, p, m) = (self.psi.len(), self.w.rank(), c.ncols());
        if m <= FEW {
            for (j, out) in out.chunks_mut(r).enumerate().take(m) {
                self.mul_vector(out, c.col(j).as_mat());
            }
            return;
        }
        let out = &mut out[..r * m];
        let (on_w, on_x) = c.split_at_row(p);
        if p == 0 {
            out.fill(0.0);
        } else {
            let out = MatMut::from_column_major_slice_mut(out, r, m);
            matmul(out, Accum::Replace, self.w.matrix(), on_w, 1.0, Par::Seq);
        }
        match self.x {
            Part::Dense(x) if x.nrows() > 0 => {
                let out = MatMut::from_column_major_slice_mut(out, r, m);
                matmul(out, Accum::Add, x.transpose(), on_x, 1.0, Par::Seq);
            }
            Part::Dense(_) => {}
            Part::Sparse { first, pieces } => add_pieces(out, r, first, pieces, on_x),
        }
    }

    /// `out ← F·c` for one column.
    fn mul_vector(&self, out: &mut [f64], c: MatRef<'_, f64>) {
        let (on_w, on_x) = c.split_at_row(self.w.rank());
        out.fill(0.0);
        add_row_dots(out, self.w.values, &on_w.col(0).iter().copied().collect::<Vec<_>>());
        match self.x {
            Part::Dense(x) => add_rows(out, x, on_x),
            Part::Sparse { first, pieces } => add_pieces(out, out.len(), first, pieces, on_x),
        }
    }

    /// `sum ← sum + Fᵀ·y`, for `y` of `r × m` (column after column) and `sum` of `(p + k) × m`.
    pub(super) fn add_transposed_mul(&self, sum: MatMut<'_, f64>, y: &[f64]) {
        let (r, p) = (self.psi.len(), self.w.rank());
        let (mut top, mut bottom) = sum.split_at_row_mut(p);
        let m = top.ncols();
        if m <= FEW {
            for (j, y) in y.chunks(r).enumerate().take(m) {
                let mut column = vec![0.0; p];
                add_scaled_rows(&mut column, self.w.values, y);
                column.iter().enumerate().for_each(|(i, value)| top[(i, j)] += value);
                match self.x {
                    Part::Dense(x) => add_row_products(bottom.as_mut().col_mut(j).as_mat_mut(), x, y),
                    Part::Sparse { first, pieces } => {
                        add_pieces_transposed(bottom.as_mut().col_mut(j).as_mat_mut(), r, first, pieces, y);
                    }
                }
            }
            return;
        }
        let y = &y[..r * m];
        let by_column = MatRef::from_column_major_slice(y, r, m);
        if p > 0 {
            matmul(top, Accum::Add, self.w.matrix().transpose(), by_column, 1.0, Par::Seq);
        }
        match self.x {
            Part::Dense(x) if x.nrows() > 0 => matmul(bottom, Accum::Add, x, by_column, 1.0, Par::Seq),
            Part::Dense(_) => {}
            Part::Sparse { first, pieces } => add_pieces_transposed(bottom, r, first, pieces, y),
        }
    }

    /// `out_i ← Σ_j weights_j·F_ij²`.
    pub(super) fn weighted_squares(&self, out: &mut [f64], weights: &[f64]) {
        let (for_w, for_x) = weights.split_at(self.w.rank());
        out.fill(0.0);
        if !for_w.is_empty() {
            vectorised(
                #[inline(always)]
                || {
                    for (out, row) in out.iter_mut().zip(self.w.values.chunks_exact(for_w.len())) {
                        let mut lanes = [0.0; 8];
                        for (row, weights) in row.chunks(8).zip(for_w.chunks(8)) {
                            for ((lane, w), weight) in lanes.iter_mut().zip(row).zip(weights) {
                                *lane += weight * (w * w);
                            }
                        }
                        *out = lanes.iter().sum();
                    }
                },
            );
        }
        match self.x {
            Part::Dense(x) => for_x.iter().enumerate().for_each(|(j, &weight)| add_squared_row(out, x.row(j), weight)),
            Part::Sparse { first, pieces } => add_squared_pieces(out, first, pieces, for_x),
        }
    }

    /// `mean ← mean + Ψ⁻¹F·shift`; `memory` holds `r` numbers or more.
    pub(super) fn shift_mean(&self, mean: &mut [f64], shift: MatRef<'_, f64>, memory: &mut [f64]) {
        let moved = &mut memory[..mean.len()];
        self.mul(moved, shift);
        vectorised(
            #[inline(always)]
            || mean.iter_mut().zip(&*moved).zip(self.psi).for_each(|((mean, moved), psi)| *mean += moved / psi),
        );
    }
}

/// A row as a slice, if its entries are neighbours.
pub(super) fn slice(row: RowRef<'_, f64>) -> Option<&[f64]> {
    row.try_as_row_major().map(vi_linalg::faer::row::RowRef::as_slice)
}

/// `xᵀy` of a row.
pub(super) fn row_dot(x: RowRef<'_, f64>, y: &[f64]) -> f64 {
    match slice(x) {
        Some(x) => dot(x, y),
        None => x.iter().zip(y).map(|(x, y)| x * y).sum(),
    }
}

/// `out_i ← x_i·scale_i`.
pub(super) fn scale_row(out: &mut [f64], x: RowRef<'_, f64>, scale: &[f64]) {
    match slice(x) {
        Some(x) => vectorised(
            #[inline(always)]
            || out.iter_mut().zip(x).zip(scale).for_each(|((out, x), scale)| *out = x * scale),
        ),
        None => out.iter_mut().zip(x.iter()).zip(scale).for_each(|((out, x), scale)| *out = x * scale),
    }
}

/// `out ← out + Xᵀc` for rows `x` (`k × r`) and `c` of `k × 1`.
fn add_rows(out: &mut [f64], x: MatRef<'_, f64>, c: MatRef<'_, f64>) {
    let mut j = 0;
    while j < x.nrows() {
        let four = (j + 4 <= x.nrows()).then(|| four_rows(x, j)).flatten();
        if let Some(rows) = four {
            add_four(out, rows, [c[(j, 0)], c[(j + 1, 0)], c[(j + 2, 0)], c[(j + 3, 0)]]);
            j += 4;
        } else {
            add_one(out, x.row(j), c[(j, 0)]);
            j += 1;
        }
    }
}

fn four_rows(x: MatRef<'_, f64>, j: usize) -> Option<[&[f64]; 4]> {
    Some([slice(x.row(j))?, slice(x.row(j + 1))?, slice(x.row(j + 2))?, slice(x.row(j + 3))?])
}

/// `sum ← sum + Xy` for rows `x` (`k × r`) and `sum` of `k × 1`.
fn add_row_products(sum: MatMut<'_, f64>, x: MatRef<'_, f64>, y: &[f64]) {
    sum.col_mut(0).iter_mut().zip(x.row_iter()).for_each(|(sum, x)| *sum += row_dot(x, y));
}

/// `out_i ← out_i + weight·x_i²`.
fn add_squared_row(out: &mut [f64], x: RowRef<'_, f64>, weight: f64) {
    match slice(x) {
        Some(x) => vectorised(
            #[inline(always)]
            || out.iter_mut().zip(x).for_each(|(out, x)| *out += weight * (x * x)),
        ),
        None => out.iter_mut().zip(x.iter()).for_each(|(out, x)| *out += weight * (x * x)),
    }
}

fn add_one(out: &mut [f64], x: RowRef<'_, f64>, c: f64) {
    match slice(x) {
        Some(x) => vectorised(
            #[inline(always)]
            || out.iter_mut().zip(x).for_each(|(out, x)| *out += c * x),
        ),
        None => out.iter_mut().zip(x.iter()).for_each(|(out, x)| *out += c * x),
    }
}

fn add_four(out: &mut [f64], x: [&[f64]; 4], c: [f64; 4]) {
    vectorised(
        #[inline(always)]
        || {
            let rows = x[0].iter().zip(x[1]).zip(x[2].iter().zip(x[3]));
            for (out, ((x0, x1), (x2, x3))) in out.iter_mut().zip(rows) {
                *out += (c[0] * x0 + c[1] * x1) + (c[2] * x2 + c[3] * x3);
            }
        },
    );
}

/// `out_i ← out_i + w_iᵀc`.
pub(super) fn add_row_dots(out: &mut [f64], w: &[f64], c: &[f64]) {
    match *c {
        [] => {}
        [c] => vectorised(
            #[inline(always)]
            || out.iter_mut().zip(w).for_each(|(out, w)| *out += c * w),
        ),
        [c0, c1] => vectorised(
            #[inline(always)]
            || out.iter_mut().zip(w.as_chunks::<2>().0).for_each(|(out, w)| *out += c0 * w[0] + c1 * w[1]),
        ),
        _ => vectorised(
            #[inline(always)]
            || {
                for (out, w) in out.iter_mut().zip(w.chunks_exact(c.len())) {
                    let mut lanes = [0.0; 8];
                    let ((w, w_rest), (c, c_rest)) = (w.as_chunks::<8>(), c.as_chunks::<8>());
                    for (w, c) in w.iter().zip(c) {
                        for k in 0..8 {
                            lanes[k] += w[k] * c[k];
                        }
                    }
                    let rest: f64 = w_rest.iter().zip(c_rest).map(|(w, c)| w * c).sum();
                    *out += lanes.iter().sum::<f64>() + rest;
                }
            },
        ),
    }
}

/// `sum ← sum + Σ_i y_i·w_i`.
pub(super) fn add_scaled_rows(sum: &mut [f64], w: &[f64], y: &[f64]) {
    let p = sum.len();
    match p {
        0 => {}
        1 => sum[0] += dot(w, y),
        2 => vectorised(
            #[inline(always)]
            || {
                let mut lanes = [[0.0; 2]; 4];
                let ((w, w_rest), (y, y_rest)) = (w.as_chunks::<8>(), y.as_chunks::<4>());
                for (w, y) in w.iter().zip(y) {
                    for k in 0..4 {
                        lanes[k][0] += w[2 * k] * y[k];
                        lanes[k][1] += w[2 * k + 1] * y[k];
                    }
                }
                for (w, y) in w_rest.as_chunks::<2>().0.iter().zip(y_rest) {
                    lanes[0][0] += w[0] * y;
                    lanes[0][1] += w[1] * y;
                }
                for lane in lanes {
                    sum[0] += lane[0];
                    sum[1] += lane[1];
                }
            },
        ),
        _ => vectorised(
            #[inline(always)]
            || {
                let mut fours = w.chunks_exact(4 * p);
                for (w, y) in fours.by_ref().zip(y.as_chunks::<4>().0) {
                    let (w01, w23) = w.split_at(2 * p);
                    let ((w0, w1), (w2, w3)) = (w01.split_at(p), w23.split_at(p));
                    let rows = w0.iter().zip(w1).zip(w2.iter().zip(w3));
                    for (sum, ((w0, w1), (w2, w3))) in sum.iter_mut().zip(rows) {
                        *sum += (y[0] * w0 + y[1] * w1) + (y[2] * w2 + y[3] * w3);
                    }
                }
                let done = y.len() - y.len() % 4;
                for (w, y) in fours.remainder().chunks_exact(p).zip(&y[done..]) {
                    sum.iter_mut().zip(w).for_each(|(sum, w)| *sum += y * w);
                }
            },
        ),
    }
}

/// `lower(gram) ← lower(gram + WᵀΨ⁻¹W)` on a tile; `memory` holds `r·p` numbers or more.
pub(super) fn add_gram(gram: MatMut<'_, f64>, w: Factor<'_>, psi: &[f64], memory: &mut [f64]) {
    let (r, p) = (psi.len(), w.rank());
    let scaled = &mut memory[..r * p];
    match p {
        0 => return,
        1 => {
            let mut gram = gram;
            gram[(0, 0)] += vectorised(
                #[inline(always)]
                || {
                    let mut lanes = [0.0; 8];
                    let ((w, w_rest), (psi, psi_rest)) = (w.values.as_chunks::<8>(), psi.as_chunks::<8>());
                    for (w, psi) in w.iter().zip(psi) {
                        for k in 0..8 {
                            lanes[k] += w[k] * w[k] / psi[k];
                        }
                    }
                    let rest: f64 = w_rest.iter().zip(psi_rest).map(|(w, psi)| w * w / psi).sum();
                    lanes.iter().sum::<f64>() + rest
                },
            );
            return;
        }
        _ => vectorised(
            #[inline(always)]
            || {
                for ((scaled, w), psi) in scaled.chunks_exact_mut(p).zip(w.values.chunks_exact(p)).zip(psi) {
                    let scale = 1.0 / psi.sqrt();
                    scaled.iter_mut().zip(w).for_each(|(scaled, w)| *scaled = scale * w);
                }
            },
        ),
    }
    let scaled = MatRef::from_row_major_slice(scaled, r, p);
    lower_product(gram, scaled.transpose(), scaled, Par::Seq);
}

/// Row-major to column after column.
pub(super) fn transpose_rows(out: &mut [f64], w: Factor<'_>) {
    let (r, p) = (w.rows, w.rank());
    if p == 1 {
        out.copy_from_slice(w.values);
        return;
    }
    for (i, row) in w.values.chunks_exact(p.max(1)).enumerate() {
        for (j, value) in row.iter().enumerate() {
            out[j * r + i] = *value;
        }
    }
}
