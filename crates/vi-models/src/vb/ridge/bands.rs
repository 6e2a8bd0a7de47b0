//! Products with lower triangles, in bands of rows.

use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, MatMut, MatRef, Par};

/// Rows of a lower triangle that are multiplied at once, by the columns up to their last diagonal entry: the height of faer's
/// kernels. The product does a few per cent more flops than the triangle has, at the speed of a square one.
const BAND: usize = 24;

/// The bands of a lower triangle: `(first, end)`.
fn bands(size: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..size).step_by(BAND).map(move |first| (first, size.min(first + BAND)))
}

/// `out = L·x` for a lower triangle with zeros above it.
pub(super) fn multiply_lower(out: MatMut<'_, f64>, lower: MatRef<'_, f64>, x: MatRef<'_, f64>, par: Par) {
    let mut out = out;
    for (first, end) in bands(lower.nrows()) {
        let band = lower.submatrix(first, 0, end - first, end);
        matmul(out.as_mut().subrows_mut(first, end - first), Accum::Replace, band, x.subrows(0, end), 1.0, par);
    }
}

/// `lower += xxᵀ`; what stands above the diagonal is lost.
pub(in super::super) fn add_outer_product(lower: MatMut<'_, f64>, x: MatRef<'_, f64>, par: Par) {
    let mut lower = lower;
    for (first, end) in bands(lower.nrows()) {
        let (band, before) = (x.subrows(first, end - first), x.subrows(0, end).transpose());
        matmul(lower.as_mut().submatrix_mut(first, 0, end - first, end), Accum::Add, band, before, 1.0, par);
    }
}
