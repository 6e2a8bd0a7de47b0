//! Products and updates at matrix-multiply speed, and the mirror image of a triangle.

use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, Mat, MatMut, MatRef, Par};

use super::{assert_shape, assert_square};

/// A ← A + αUVᵀ on the lower triangle (d × d), U and V being d × r.
///
/// The result represents a symmetric matrix if UVᵀ is symmetric: U = V, or U = V·diag(c).
/// Cost d²r flops. Any strides.
///
/// ```
/// use vi_linalg::faer::{Mat, Par, mat};
/// use vi_linalg::kernels::symmetric_rank_r;
/// let u = mat![[1.0, 0.0], [2.0, 1.0]];
/// let mut a = Mat::<f64>::zeros(2, 2);
/// symmetric_rank_r(a.as_mut(), 2.0, u.as_ref(), u.as_ref(), Par::Seq);
/// assert_eq!((a[(0, 0)], a[(1, 0)], a[(1, 1)]), (2.0, 4.0, 10.0));
/// ```
#[track_caller]
pub fn symmetric_rank_r(lower: MatMut<'_, f64>, alpha: f64, u: MatRef<'_, f64>, v: MatRef<'_, f64>, par: Par) {
    assert_square(lower.nrows(), lower.ncols());
    assert_shape("U", u.shape(), (lower.nrows(), u.ncols()));
    assert_shape("V", v.shape(), u.shape());
    triangular::matmul(
        lower,
        BlockStructure::TriangularLower,
        Accum::Add,
        u,
        BlockStructure::Rectangular,
        v.transpose(),
        BlockStructure::Rectangular,
        alpha,
        par,
    );
}

/// out ← A X for symmetric A (d × d, lower triangle), X and out being d × k.
///
/// Cost 2d²k flops. Any strides. What `out` held before is not read.
///
/// ```
/// use vi_linalg::faer::{Mat, Par, mat};
/// use vi_linalg::kernels::symmetric_mul_mat;
/// let a = mat![[2.0, f64::NAN], [1.0, 3.0]];
/// let x = mat![[1.0, 0.0], [10.0, 1.0]];
/// let mut out = Mat::zeros(2, 2);
/// symmetric_mul_mat(out.as_mut(), a.as_ref(), x.as_ref(), Par::Seq);
/// assert_eq!(out, mat![[12.0, 1.0], [31.0, 3.0]]);
/// ```
#[track_caller]
pub fn symmetric_mul_mat(out: MatMut<'_, f64>, lower: MatRef<'_, f64>, x: MatRef<'_, f64>, par: Par) {
    assert_square(lower.nrows(), lower.ncols());
    assert_shape("X", x.shape(), (lower.nrows(), x.ncols()));
    assert_shape("out", out.shape(), x.shape());
    let mut out = out;
    let halves = [
        (Accum::Replace, lower, BlockStructure::TriangularLower),
        (Accum::Add, lower.transpose(), BlockStructure::StrictTriangularUpper),
    ];
    for (accum, half, structure) in halves {
        triangular::matmul(
            out.as_mut(),
            BlockStructure::Rectangular,
            accum,
            half,
            structure,
            x,
            BlockStructure::Rectangular,
            1.0,
            par,
        );
    }
}

/// AB as a new matrix, computed by the threads of `par`; faer's `*` would use a process-wide setting.
///
/// ```
/// use vi_linalg::faer::{Par, mat};
/// use vi_linalg::kernels::product;
/// let (a, b) = (mat![[1.0, 2.0]], mat![[3.0], [4.0]]);
/// assert_eq!(product(a.as_ref(), b.as_ref(), Par::Seq), mat![[11.0]]);
/// ```
#[must_use]
#[track_caller]
pub fn product(a: MatRef<'_, f64>, b: MatRef<'_, f64>, par: Par) -> Mat<f64> {
    assert!(a.ncols() == b.nrows(), "A has {} columns, B {} rows", a.ncols(), b.nrows());
    let mut out = Mat::zeros(a.nrows(), b.ncols());
    if a.ncols() > 0 {
        matmul(out.as_mut(), Accum::Replace, a, b, 1.0, par);
    }
    out
}

/// Copies the lower triangle (d × d) onto the upper one, so that the whole matrix is symmetric to the bit.
///
/// Cost d²/2 entries read and written, by blocks that stay in cache. Any strides.
///
/// ```
/// use vi_linalg::{faer::mat, kernels::mirror_lower};
/// let mut a = mat![[2.0, f64::NAN], [1.0, 3.0]];
/// mirror_lower(a.as_mut());
/// assert_eq!(a, mat![[2.0, 1.0], [1.0, 3.0]]);
/// ```
#[track_caller]
pub fn mirror_lower(a: MatMut<'_, f64>) {
    const BLOCK: usize = 32;
    assert_square(a.nrows(), a.ncols());
    let mut rest = a;
    while rest.ncols() > 0 {
        let block = BLOCK.min(rest.ncols());
        let (mut diagonal, mut right, below, next) = rest.split_at_mut(block, block);
        right.copy_from(below.transpose());
        for j in 0..block {
            for i in j + 1..block {
                diagonal[(j, i)] = diagonal[(i, j)];
            }
        }
        rest = next;
    }
}

#[cfg(test)]
mod tests {
    use faer::Mat;

    use super::*;
    use crate::testing::{SIZES, absolute_product, lower_only, matrix, product, rng, symmetric};

    #[test]
    fn product_is_the_dense_one() {
        for d in SIZES {
            for k in [0, 1, 3, 17] {
                let rng = &mut rng(d as u64);
                let a = symmetric(rng, d);
                let x = matrix(rng, d, k);
                let dense = product(a.as_ref(), x.as_ref());
                let scale = absolute_product(a.as_ref(), x.as_ref());
                let mut out = Mat::from_fn(d, k, |_, _| f64::NAN);
                symmetric_mul_mat(out.as_mut(), lower_only(a.as_ref()).as_ref(), x.as_ref(), Par::Seq);
                for j in 0..k {
                    for i in 0..d {
                        // Two sums of d terms, each off by at most d ε/2 |A||X| in any order.
                        let tolerance = d as f64 * f64::EPSILON * scale[(i, j)];
                        assert!((out[(i, j)] - dense[(i, j)]).abs() <= tolerance, "d = {d}, k = {k}: ({i}, {j})");
                    }
                }
            }
        }
    }

    #[test]
    fn rank_r_is_the_dense_update_of_the_lower_triangle() {
        for d in SIZES {
            for r in [0, 1, 3, 17] {
                let rng = &mut rng(d as u64);
                let a = symmetric(rng, d);
                let u = matrix(rng, d, r);
                let v = Mat::from_fn(d, r, |i, j| (1.0 + j as f64) * u[(i, j)]);
                let dense = product(u.as_ref(), v.transpose());
                let scale = absolute_product(u.as_ref(), v.transpose());
                let mut out = lower_only(a.as_ref());
                symmetric_rank_r(out.as_mut(), -0.3, u.as_ref(), v.as_ref(), Par::Seq);
                for j in 0..d {
                    for i in 0..j {
                        assert!(out[(i, j)].is_nan(), "d = {d}: ({i}, {j}) was written");
                    }
                    for i in j..d {
                        let expected = a[(i, j)] - 0.3 * dense[(i, j)];
                        // Two sums of r terms and two more roundings on either side.
                        let tolerance = (r as f64 + 2.0) * f64::EPSILON * (a[(i, j)].abs() + 0.3 * scale[(i, j)]);
                        assert!((out[(i, j)] - expected).abs() <= tolerance, "d = {d}, r = {r}: ({i}, {j})");
                    }
                }
            }
        }
    }

    #[test]
    fn mirror_is_symmetric_to_the_bit() {
        for d in SIZES {
            let a = symmetric(&mut rng(d as u64), d);
            let mut out = lower_only(a.as_ref());
            mirror_lower(out.as_mut());
            assert_eq!(out, a, "d = {d}");
        }
    }

    #[test]
    #[should_panic(expected = "V is 3 x 1, the other arguments ask for 3 x 2")]
    fn shapes_must_agree() {
        let (u, v) = (Mat::zeros(3, 2), Mat::zeros(3, 1));
        symmetric_rank_r(Mat::zeros(3, 3).as_mut(), 1.0, u.as_ref(), v.as_ref(), Par::Seq);
    }
}
