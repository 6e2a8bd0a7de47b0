//! Symmetric products of long factors.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

use super::{assert_shape, assert_square};

/// The number of rows of the result taken at a time: enough for full speed, and few enough that little is computed above the
/// diagonal in vain.
const STRIP: usize = 16;

/// out ← out + A B on the lower triangle (n × n), A being n × r and B r × n.
///
/// The result represents a symmetric matrix if A B is symmetric. For n up to a few hundred and long r this is faster than a
/// triangular product: it takes strips of 16 rows, each a plain product. Up to 15 entries of each row right of the diagonal are
/// overwritten by meaningless numbers. Cost n²r flops and 16nr. Any strides.
///
/// ```
/// use vi_linalg::{faer::{Mat, Par, mat}, kernels::add_lower_product};
/// let a = mat![[1.0, 2.0], [0.0, 1.0]];
/// let mut out = Mat::<f64>::identity(2, 2);
/// add_lower_product(out.as_mut(), a.as_ref(), a.transpose(), Par::Seq);
/// assert_eq!((out[(0, 0)], out[(1, 0)], out[(1, 1)]), (6.0, 2.0, 2.0));
/// ```
#[track_caller]
pub fn add_lower_product(out: MatMut<'_, f64>, a: MatRef<'_, f64>, b: MatRef<'_, f64>, par: Par) {
    let n = out.nrows();
    assert_shape("out", out.shape(), (n, n));
    assert_shape("A", a.shape(), (n, b.nrows()));
    assert_shape("B", b.shape(), (b.nrows(), n));
    if b.nrows() == 0 {
        return;
    }
    let mut out = out;
    for (first, end) in strips(n) {
        let strip = out.as_mut().submatrix_mut(first, 0, end - first, end);
        matmul(strip, Accum::Add, a.subrows(first, end - first), b.subcols(0, end), 1.0, par);
    }
}

/// out ← L X for lower triangular L (n × n) with zeros above the diagonal, X and out being n × k.
///
/// For n up to a few hundred and long k this is faster than a triangular product or solve: strips of 16 rows, each a plain
/// product. Cost n²k flops and 16nk. Any strides. What `out` held before is not read.
///
/// ```
/// use vi_linalg::{faer::{Mat, Par, mat}, kernels::lower_mul_mat};
/// let l = mat![[2.0, 0.0], [1.0, 3.0]];
/// let mut out = Mat::zeros(2, 1);
/// lower_mul_mat(out.as_mut(), l.as_ref(), mat![[1.0], [10.0]].as_ref(), Par::Seq);
/// assert_eq!(out, mat![[2.0], [31.0]]);
/// ```
#[track_caller]
pub fn lower_mul_mat(out: MatMut<'_, f64>, lower: MatRef<'_, f64>, x: MatRef<'_, f64>, par: Par) {
    let n = lower.nrows();
    assert_square(n, lower.ncols());
    assert_shape("X", x.shape(), (n, x.ncols()));
    assert_shape("out", out.shape(), x.shape());
    let mut out = out;
    for (first, end) in strips(n) {
        let strip = lower.submatrix(first, 0, end - first, end);
        matmul(out.as_mut().subrows_mut(first, end - first), Accum::Replace, strip, x.subrows(0, end), 1.0, par);
    }
}

/// `(first, end)` of each strip of `n` rows; its columns before `end` include the triangle's.
fn strips(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).step_by(STRIP).map(move |first| (first, n.min(first + STRIP)))
}

#[cfg(test)]
mod tests {

    use faer::Mat;

    use super::*;
    use crate::testing::{SIZES, absolute_product, matrix, product, rng};

    #[test]
    fn the_lower_product_is_the_dense_one() {
        for n in SIZES {
            for r in [0, 1, 7, 40] {
                let rng = &mut rng((100 * n + r) as u64);
                let (a, b, start) = (matrix(rng, n, r), matrix(rng, r, n), matrix(rng, n, n));
                let mut out = start.clone();
                add_lower_product(out.as_mut(), a.as_ref(), b.as_ref(), Par::Seq);
                let (dense, scale) = (product(a.as_ref(), b.as_ref()), absolute_product(a.as_ref(), b.as_ref()));
                for j in 0..n {
                    for i in j..n {
                        let expected = start[(i, j)] + dense[(i, j)];
                        let size = start[(i, j)].abs() + scale[(i, j)];
                        // Two sums of r + 1 terms.
                        let tolerance = (r + 1) as f64 * f64::EPSILON * size;
                        assert!((out[(i, j)] - expected).abs() <= tolerance, "n = {n}, r = {r}");
                    }
                }
            }
        }
    }
    #[test]
    fn a_triangle_times_columns_is_the_dense_product() {
        for n in SIZES {
            for k in [0, 1, 7, 40] {
                let rng = &mut rng((100 * n + k) as u64);
                let (full, x) = (matrix(rng, n, n), matrix(rng, n, k));
                let lower = Mat::from_fn(n, n, |i, j| if i >= j { full[(i, j)] } else { 0.0 });
                let mut out = Mat::full(n, k, f64::NAN);
                lower_mul_mat(out.as_mut(), lower.as_ref(), x.as_ref(), Par::Seq);
                let (dense, scale) =
                    (product(lower.as_ref(), x.as_ref()), absolute_product(lower.as_ref(), x.as_ref()));
                for j in 0..k {
                    for i in 0..n {
                        // Two sums of n terms.
                        let tolerance = n as f64 * f64::EPSILON * scale[(i, j)];
                        assert!((out[(i, j)] - dense[(i, j)]).abs() <= tolerance, "n = {n}, k = {k}");
                    }
                }
            }
        }
    }
}
