//! Small steps that the passes share. A tile of `r` rows is stored transposed, `p × r`, so that its columns are contiguous.

use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::linalg::matmul::triangular::{self, BlockStructure};
use vi_linalg::faer::{Accum, Mat, MatMut, MatRef, Par};
use vi_linalg::kernels::{axpy, dot};
use vi_linalg::tiles::Tiling;
use vi_linalg::{Cholesky, LinalgError};

use crate::Error;

/// `out ← A·diag(c)` for `A` of `p × r`; columns are contiguous unless the caller's layout is unusual.
pub(super) fn scale_columns(out: MatMut<'_, f64>, a: MatRef<'_, f64>, factors: impl Iterator<Item = f64>) {
    for ((mut out, column), factor) in out.col_iter_mut().zip(a.col_iter()).zip(factors) {
        if let (Some(out), Some(column)) = (out.as_mut().try_as_col_major_mut(), column.try_as_col_major()) {
            for (out, &value) in out.as_slice_mut().iter_mut().zip(column.as_slice()) {
                *out = value * factor;
            }
        } else {
            for (out, &value) in out.iter_mut().zip(column.iter()) {
                *out = value * factor;
            }
        }
    }
}

/// `out ← out + c·A`, both `p × r`.
pub(super) fn add_scaled(out: MatMut<'_, f64>, a: MatRef<'_, f64>, c: f64) {
    for (mut out, column) in out.col_iter_mut().zip(a.col_iter()) {
        if let (Some(out), Some(column)) = (out.as_mut().try_as_col_major_mut(), column.try_as_col_major()) {
            axpy(out.as_slice_mut(), c, column.as_slice());
        } else {
            for (out, &value) in out.iter_mut().zip(column.iter()) {
                *out += c * value;
            }
        }
    }
}

/// `aᵢᵀbᵢ` of the columns `i` of two matrices.
pub(super) fn column_dot(a: MatRef<'_, f64>, b: MatRef<'_, f64>, i: usize) -> f64 {
    let (a, b) = (a.col(i), b.col(i));
    match (a.try_as_col_major(), b.try_as_col_major()) {
        (Some(a), Some(b)) => dot(a.as_slice(), b.as_slice()),
        _ => a.iter().zip(b.iter()).map(|(a, b)| a * b).sum(),
    }
}

/// `out ← Ψ⁻¹W` for a tile and its transpose.
pub(super) fn over(out: MatMut<'_, f64>, w: MatRef<'_, f64>, psi: &[f64]) {
    scale_columns(out, w, psi.iter().map(|psi| psi.recip()));
}

/// Lower triangle of `out ← out + ABᵀ` for `A`, `B` of `p × r` with a symmetric product.
pub(super) fn add_symmetric(out: MatMut<'_, f64>, a: MatRef<'_, f64>, b: MatRef<'_, f64>) {
    triangular::matmul(
        out,
        BlockStructure::TriangularLower,
        Accum::Add,
        a,
        BlockStructure::Rectangular,
        b.transpose(),
        BlockStructure::Rectangular,
        1.0,
        Par::Seq,
    );
}

/// `AᵀB` for `A` and `B` of `d` rows, the same bits for any number of threads.
pub(super) fn across(a: MatRef<'_, f64>, b: MatRef<'_, f64>, par: Par) -> Mat<f64> {
    Tiling::for_width(a.ncols() + b.ncols()).fold(
        (a, b),
        par,
        || (),
        || Mat::zeros(a.ncols(), b.ncols()),
        |sum: &mut Mat<f64>, (), _, (a, b)| matmul(sum.as_mut(), Accum::Add, a.transpose(), b, 1.0, Par::Seq),
        |left, right| *left += right,
    )
}

/// `AB` for `A` of `d` rows and a small `B`, the same bits for any number of threads.
pub(super) fn row_by_row(a: MatRef<'_, f64>, b: MatRef<'_, f64>, par: Par) -> Mat<f64> {
    let mut out = Mat::zeros(a.nrows(), b.ncols());
    Tiling::for_width(a.ncols() + b.ncols()).for_each(
        (a, out.as_mut()),
        par,
        || (),
        |(), _, (a, out)| matmul(out, Accum::Replace, a, b, 1.0, Par::Seq),
    );
    out
}

/// `A + I`.
pub(super) fn plus_identity(mut a: Mat<f64>) -> Mat<f64> {
    for i in 0..a.nrows() {
        a[(i, i)] += 1.0;
    }
    a
}

/// The Cholesky factor of a matrix that is positive definite unless it has overflowed.
///
/// # Errors
/// [`Error::Overflow`] for an entry that is not finite, [`Error::NotPositiveDefinite`].
pub(super) fn factor(name: &'static str, lower: &Mat<f64>) -> Result<Cholesky, Error> {
    Cholesky::new(lower.as_ref()).map_err(|error| match error {
        LinalgError::NonFinite { value, .. } => Error::Overflow { quantity: name, value },
        LinalgError::NotPositiveDefinite { pivot } => Error::NotPositiveDefinite { argument: name, pivot },
        other => other.into(),
    })
}
