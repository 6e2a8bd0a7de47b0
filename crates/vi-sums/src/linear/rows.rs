//! Adding rows to sums: one row, or a tile of many.

use std::ops::Range;

use vi_linalg::faer::{Mat, MatRef, Par};
use vi_linalg::kernels::{dot, symmetric_rank_r};

use super::sums::HEAD;
use crate::packed;

/// The number of rows of a tile of a few columns, which stays in the first-level cache.
const TILE: usize = 256;
/// The number of columns from which on the scatter of a tile is computed as one product of matrices.
const WIDE: usize = 48;
/// The number of rows of such a tile, so many that adding its scatter costs little beside the product.
const WIDE_TILE: usize = 1024;

/// Adds a row to a flat form.
pub(super) fn add_row(state: &mut [f64], x: &[f64], y: f64) {
    // The rows of a small triangle are short: loops of known length compile to straight code.
    macro_rules! by_length {
        ($($k:literal)*) => {
            match x.len() + 1 {
                $($k => add_short::<$k>(state, x, y),)*
                _ => add_long(state, x, y),
            }
        };
    }
    by_length!(2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17);
}

/// [`add_row`] of `K` columns, the label's included.
fn add_short<const K: usize>(state: &mut [f64], x: &[f64], y: f64) {
    let mut away = [y; K];
    away[..K - 1].copy_from_slice(x);
    add(state, &mut away);
}

fn add_long(state: &mut [f64], x: &[f64], y: f64) {
    let mut away = x.to_vec();
    away.push(y);
    add(state, &mut away);
}

/// Adds the row `away`, which is then its distance from the means before it.
#[inline]
fn add(state: &mut [f64], away: &mut [f64]) {
    let (head, rest) = state.split_at_mut(HEAD);
    let (mean, scatter) = rest.split_at_mut(away.len());
    let before = head[0];
    head[0] += 1.0;
    let share = 1.0 / head[0];
    for (away, mean) in away.iter_mut().zip(mean) {
        *away -= *mean;
        *mean += share * *away;
    }
    packed::add_outer(scatter, before * share, away);
}

/// Memory for the sums over a tile of rows.
pub(super) struct Tile {
    columns: usize,
    height: usize,
    centred: Vec<f64>,
    product: Mat<f64>,
    flat: Vec<f64>,
}

impl Tile {
    /// Memory for sums of `flat` numbers over `columns` columns, the label's included.
    pub(super) fn new(columns: usize, flat: usize, rows: usize) -> Self {
        let wide = columns >= WIDE;
        let height = if wide { WIDE_TILE } else { TILE }.min(rows.max(1));
        let side = if wide { columns } else { 0 };
        Self {
            columns,
            height,
            centred: vec![0.0; columns * height],
            product: Mat::zeros(side, side),
            flat: vec![0.0; flat],
        }
    }

    /// The number of rows that it takes at a time.
    pub(super) fn height(&self) -> usize {
        self.height
    }

    /// The flat form of the rows `range`, at most [`height`](Self::height) of them.
    pub(super) fn sums(&mut self, x: &[&[f64]], y: &[f64], range: Range<usize>) -> &[f64] {
        let (k, rows) = (self.columns, range.len());
        self.flat[0] = rows as f64;
        let (mean, scatter) = self.flat[HEAD..].split_at_mut(k);
        let columns = x.iter().copied().chain(std::iter::once(y));
        for ((column, own), mean) in columns.zip(self.centred.chunks_exact_mut(rows)).zip(mean) {
            *mean = centre(&column[range.clone()], own);
        }
        let centred = &self.centred[..k * rows];
        if self.product.nrows() == k {
            self.product.fill(0.0);
            let z = MatRef::from_row_major_slice(centred, k, rows);
            symmetric_rank_r(self.product.as_mut(), 1.0, z, z, Par::Seq);
            for j in 0..k {
                for (i, value) in self.product.col_as_slice(j).iter().enumerate().skip(j) {
                    scatter[packed::len(i) + j] = *value;
                }
            }
        } else {
            for (i, own) in centred.chunks_exact(rows).enumerate() {
                let row = &mut scatter[packed::len(i)..packed::len(i + 1)];
                for (entry, other) in row.iter_mut().zip(centred.chunks_exact(rows)) {
                    *entry = dot(own, other);
                }
            }
        }
        &self.flat
    }
}

/// Writes `column` less its mean into `out`, whose mean is then 0 to the last digit, and returns the mean.
fn centre(column: &[f64], out: &mut [f64]) -> f64 {
    let n = column.len() as f64;
    let about = column.iter().sum::<f64>() / n;
    let mut rest = 0.0;
    for (out, value) in out.iter_mut().zip(column) {
        *out = value - about;
        rest += *out;
    }
    let rest = rest / n;
    for out in out.iter_mut() {
        *out -= rest;
    }
    about + rest
}
