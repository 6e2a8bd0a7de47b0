//! Symmetric products of long factors.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

use super::assert_shape;

/// Rows of the result at a time: high enough for full speed, and what is computed above the diagonal in vain stays small.
const STRIP: usize = 16;

/// out ← out + A B on the lower triangle (n × n), A being n × r and B r × n.
///
/// The result stands for a symmetric matrix when A B is symmetric. For n up to a few hundred and long r this is faster than a
/// triangular product: strips of 16 rows, each a plain product. It writes, and means nothing by, up to 15 entries of each
/// row right of the diagonal. Cost n²r flops and 16nr. Any strides.
///
/// ```
/// use vi_linalg::{faer::{Mat, mat}, kernels::add_lower_product};
/// let a = mat![[1.0, 2.0], [0.0, 1.0]];
/// let mut out = Mat::<f64>::identity(2, 2);
/// add_lower_product(out.as_mut(), a.as_ref(), a.transpose());
/// assert_eq!((out[(0, 0)], out[(1, 0)], out[(1, 1)]), (6.0, 2.0, 2.0));
/// ```
#[track_caller]
pub fn add_lower_product(out: MatMut<'_, f64>, a: MatRef<'_, f64>, b: MatRef<'_, f64>) {
    let n = out.nrows();
    assert_shape("out", out.shape(), (n, n));
    assert_shape("A", a.shape(), (n, b.nrows()));
    assert_shape("B", b.shape(), (b.nrows(), n));
    if b.nrows() == 0 {
        return;
    }
    let mut out = out;
    let mut first = 0;
    while first < n {
        let height = STRIP.min(n - first);
        let strip = out.as_mut().submatrix_mut(first, 0, height, first + height);
        matmul(strip, Accum::Add, a.subrows(first, height), b.subcols(0, first + height), 1.0, Par::Seq);
        first += height;
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::testing::{SIZES, absolute_product, matrix, product, rng};

    #[test]
    fn the_lower_product_is_the_dense_one() {
        for n in SIZES {
            for r in [0, 1, 7, 40] {
                let rng = &mut rng((100 * n + r) as u64);
                let (a, b, start) = (matrix(rng, n, r), matrix(rng, r, n), matrix(rng, n, n));
                let mut out = start.clone();
                add_lower_product(out.as_mut(), a.as_ref(), b.as_ref());
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
}
