//! Inner products of new rows with the belief, which is all that the space of the buffered rows needs.

use vi_linalg::faer::{Mat, MatRef, Par};
use vi_linalg::tiles::Tiling;

use super::LowRankGaussian;
use super::columns::Part;
use super::kernels::{Factor, Tile, lower_product, row_dot, scale_row};
use super::lazy::Lazy;
use super::storage::{Full, Storage};
use super::touched::Found;
use super::waiting::WaitingRows;
use crate::Row;
use crate::vectors::vectorised;

/// The inner products of `k` new rows: `WᵀΨ⁻¹X` (`p × k`), `x_jᵀΨ⁻¹x` for buffered and new rows, `Xᵀμ₀`.
#[derive(Debug)]
pub(super) struct Looked {
    wx: Mat<f64>,
    /// Buffered rows above, new rows (lower triangle) below: `(k₀ + k) × k`.
    xx: Mat<f64>,
    means: Mat<f64>,
}

impl Looked {
    /// Column `t` of `WᵀΨ⁻¹X`.
    pub(super) fn wx(&self, t: usize) -> Vec<f64> {
        self.wx.col(t).iter().copied().collect()
    }

    /// `x_jᵀΨ⁻¹x_t` for the buffered rows and the new ones up to `t`.
    pub(super) fn xx(&self, t: usize) -> Vec<f64> {
        let waiting = self.xx.nrows() - self.xx.ncols();
        (0..waiting).map(|j| self.xx[(j, t)]).chain((0..=t).map(|j| self.xx[(waiting + t, j)])).collect()
    }

    /// The number of new rows.
    pub(super) fn len(&self) -> usize {
        self.means.nrows()
    }

    /// `WᵀΨ⁻¹X`.
    pub(super) fn wx_all(&self) -> MatRef<'_, f64> {
        self.wx.as_ref()
    }

    /// `x_jᵀΨ⁻¹x_t` for buffered row `j`.
    pub(super) fn waiting(&self, j: usize, t: usize) -> f64 {
        self.xx[(j, t)]
    }

    /// `x_tᵀΨ⁻¹x_j` for new rows `j ≤ t`.
    pub(super) fn own(&self, t: usize, j: usize) -> f64 {
        self.xx[(self.xx.nrows() - self.xx.ncols() + t, j)]
    }

    /// `x_tᵀμ₀`.
    pub(super) fn mean(&self, t: usize) -> f64 {
        self.means[(t, 0)]
    }

    /// The products of one row, given those with the buffered rows and with itself.
    pub(super) fn along(wx: Mat<f64>, xx: &[f64], mean: f64) -> Self {
        Self { wx, xx: Mat::from_fn(xx.len(), 1, |j, _| xx[j]), means: Mat::full(1, 1, mean) }
    }

    /// The products from their parts; see [`Looked`].
    pub(super) fn of(wx: Mat<f64>, xx: Mat<f64>, means: Mat<f64>) -> Self {
        Self { wx, xx, means }
    }

    pub(super) fn zeros(p: usize, waiting: usize, k: usize) -> Self {
        Self { wx: Mat::zeros(p, k), xx: Mat::zeros(waiting + k, k), means: Mat::zeros(k, 1) }
    }

    fn add(&mut self, other: &Self) {
        self.wx += &other.wx;
        self.xx += &other.xx;
        self.means += &other.means;
    }
}

impl Full {
    /// Takes the products of the dense rows of `x` (`k × d`): one pass over `W`, the buffered rows and `x`. Cost `2dk(p + k₀ +
    /// k/2)` flops.
    pub(super) fn look(&self, x: MatRef<'_, f64>, par: Par) -> Looked {
        let (p, k, d) = (self.core.rank(), x.nrows(), x.ncols());
        let waiting = self.core.waiting.rows.columns(d);
        let k0 = waiting.len();
        let tiling = Tiling::for_width(p + k0 + 2 * k);
        let height = tiling.height().min(d);
        tiling.fold(
            (Factor::new(self.precision.w_row_major(), d), self.precision.psi(), self.mean.as_slice()),
            par,
            || (vec![0.0; height * k], vec![0.0; height], waiting.tile_memory(height)),
            || Looked::zeros(p, k0, k),
            |sum, (scaled, inverse, memory), first, (w, psi, mean)| {
                let r = psi.len();
                let x = x.subcols(first, r);
                let (y, inverse) = (&mut scaled[..r * k], &mut inverse[..r]);
                vectorised(
                    #[inline(always)]
                    || inverse.iter_mut().zip(psi).for_each(|(inverse, psi)| *inverse = 1.0 / psi),
                );
                for (j, out) in y.chunks_exact_mut(r).enumerate() {
                    scale_row(out, x.row(j), inverse);
                    sum.means[(j, 0)] += row_dot(x.row(j), mean);
                }
                let (cross, mut own) = sum.xx.as_mut().split_at_row_mut(k0);
                let waiting = waiting.part(first, r, memory);
                Tile { w, x: Part::NONE, psi }.add_transposed_mul(sum.wx.as_mut(), y);
                let no_factor = Factor::new(&[], r);
                Tile { w: no_factor, x: waiting, psi }.add_transposed_mul(cross, y);
                if k == 1 {
                    own[(0, 0)] += row_dot(x.row(0), y);
                } else {
                    lower_product(own, x, MatRef::from_column_major_slice(y, r, k), Par::Seq);
                }
            },
            |left, right| left.add(&right),
        )
    }

    /// Takes the products of one row.
    pub(super) fn look_along(&self, x: Row<'_>, par: Par) -> Looked {
        match x {
            Row::Dense(values) => self.look(MatRef::from_row_major_slice(values, 1, values.len()), par),
            Row::Sparse { positions, values } => self.look_sparse(positions, values),
        }
    }

    /// Takes the products of a sparse row, at the cost of its entries alone.
    fn look_sparse(&self, positions: &[usize], values: &[f64]) -> Looked {
        let d = self.mean.len();
        let k0 = self.core.waiting.len();
        let mut looked = Looked::zeros(self.core.rank(), k0, 1);
        let psi = self.precision.psi();
        for (&i, &x) in positions.iter().zip(values) {
            let y = x / psi[i];
            for (to, w) in looked.wx.col_mut(0).iter_mut().zip(self.precision.w_row(i)) {
                *to += y * w;
            }
            looked.xx[(k0, 0)] += x * y;
            looked.means[(0, 0)] += x * self.mean[i];
            if let WaitingRows::Dense(rows) = &self.core.waiting.rows {
                for j in 0..k0 {
                    looked.xx[(j, 0)] += rows[j * d + i] * y;
                }
            }
        }
        if let WaitingRows::Sparse(rows) = &self.core.waiting.rows {
            for j in 0..k0 {
                looked.xx[(j, 0)] = sparse_product(rows.rows().pieces(j), (positions, values), psi);
            }
        }
        looked
    }
}

impl Lazy {
    /// Takes the products of one row, at the cost of its entries alone: `2p²` flops for each that the block has not touched yet.
    pub(super) fn look(&self, x: Row<'_>) -> (Looked, LazyRow) {
        let (found, values) = self.touched.find(x, &self.records);
        let products = self.touched.products(&found, &values);
        let wx = Mat::from_fn(self.core.rank(), 1, |i, _| products.wx[i]);
        (Looked::along(wx, &products.xx, products.mean), LazyRow { found, values })
    }
}

/// A row with its local rows and entries in a block.
#[derive(Debug, Clone, Default)]
pub(super) struct LazyRow {
    pub(super) found: Found,
    pub(super) values: Vec<f64>,
}

impl LowRankGaussian {
    /// Takes the products of one row; in the lazy form with the row as its block has it.
    pub(super) fn look_along(&self, x: Row<'_>, par: Par) -> (Looked, Option<LazyRow>) {
        match &self.storage {
            Storage::Full(full) => (full.look_along(x, par), None),
            Storage::Lazy(lazy) => {
                let (looked, row) = lazy.look(x);
                (looked, Some(row))
            }
        }
    }
}

/// `x_jᵀΨ⁻¹x` of two sparse rows.
pub(super) fn sparse_product((indices, values): (&[usize], &[f64]), row: (&[usize], &[f64]), psi: &[f64]) -> f64 {
    let mut other = indices.iter().zip(values).peekable();
    let mut sum = 0.0;
    // A row of few entries, as of one weight, is looked up: to walk there for every weight would cost the square of their number.
    let few = row.0.len().saturating_mul(32) < indices.len();
    for (&i, x) in row.0.iter().zip(row.1) {
        if few {
            sum += indices.binary_search(&i).map_or(0.0, |at| values[at] * (x / psi[i]));
            continue;
        }
        while other.next_if(|(index, _)| **index < i).is_some() {}
        if let Some((_, value)) = other.next_if(|(index, _)| **index == i) {
            sum += value * (x / psi[i]);
        }
    }
    sum
}
