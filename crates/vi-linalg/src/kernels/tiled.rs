//! Products with a symmetric matrix given by its lower triangle, tile by tile: the same bits for any number of threads.
//!
//! Rows are taken [`TILE`] at a time, each tile by one thread, so that the work of a thread depends on the shapes alone.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

use super::{assert_shape, assert_square, mirror_lower};
use crate::tiles::Tiling;

/// The number of rows of a tile.
const TILE: usize = 128;
/// The number of rows taken at a time where numbers above the diagonal are computed in vain.
const STRIP: usize = 16;

/// out ← A X for symmetric A (d × d, lower triangle), X and out being d × k.
///
/// Faster than [`symmetric_mul_mat`](super::symmetric_mul_mat), and by several threads, because it may write above the diagonal
/// of A: it leaves there the mirror image of what is below, in squares of 128 along the diagonal. Cost 2d²k flops. Any strides.
///
/// ```
/// use vi_linalg::faer::{Mat, Par, mat};
/// use vi_linalg::kernels::tiled_mul_mat;
/// let mut a = mat![[2.0, f64::NAN], [1.0, 3.0]];
/// let x = mat![[1.0, 0.0], [10.0, 1.0]];
/// let mut out = Mat::zeros(2, 2);
/// tiled_mul_mat(out.as_mut(), a.as_mut(), x.as_ref(), Par::Seq);
/// assert_eq!(out, mat![[12.0, 1.0], [31.0, 3.0]]);
/// ```
#[track_caller]
pub fn tiled_mul_mat(out: MatMut<'_, f64>, a: MatMut<'_, f64>, x: MatRef<'_, f64>, par: Par) {
    let d = a.nrows();
    assert_square(d, a.ncols());
    assert_shape("X", x.shape(), (d, x.ncols()));
    assert_shape("out", out.shape(), x.shape());
    let mut a = a;
    for first in (0..d).step_by(TILE) {
        let rows = TILE.min(d - first);
        mirror_lower(a.as_mut().submatrix_mut(first, first, rows, rows));
    }
    let a = a.as_ref();
    Tiling::of_height(TILE).for_each(
        out,
        par,
        || (),
        |(), first, mut out| {
            let rows = out.nrows();
            let end = first + rows;
            // Up to the tile's last column A is read as stored, right of it across the diagonal.
            matmul(out.as_mut(), Accum::Replace, a.submatrix(first, 0, rows, end), x.subrows(0, end), 1.0, Par::Seq);
            if end < d {
                let across = a.submatrix(end, first, d - end, rows).transpose();
                matmul(out, Accum::Add, across, x.subrows(end, d - end), 1.0, Par::Seq);
            }
        },
    );
}

/// A ← A + UVᵀ on the lower triangle (d × d), U and V being d × r and UVᵀ symmetric.
///
/// Faster than [`symmetric_rank_r`](super::symmetric_rank_r), and by several threads, because it may write above the diagonal: up
/// to 15 entries of each row right of it are meaningless afterwards. Cost d²r flops and 16dr. Any strides.
///
/// ```
/// use vi_linalg::faer::{Mat, Par, mat};
/// use vi_linalg::kernels::tiled_rank_r;
/// let u = mat![[1.0, 0.0], [2.0, 1.0]];
/// let mut a = Mat::<f64>::zeros(2, 2);
/// tiled_rank_r(a.as_mut(), u.as_ref(), u.as_ref(), Par::Seq);
/// assert_eq!((a[(0, 0)], a[(1, 0)], a[(1, 1)]), (1.0, 2.0, 5.0));
/// ```
#[track_caller]
pub fn tiled_rank_r(a: MatMut<'_, f64>, u: MatRef<'_, f64>, v: MatRef<'_, f64>, par: Par) {
    let d = a.nrows();
    assert_square(d, a.ncols());
    assert_shape("U", u.shape(), (d, u.ncols()));
    assert_shape("V", v.shape(), u.shape());
    if u.ncols() == 0 {
        return;
    }
    Tiling::of_height(TILE).for_each(
        a,
        par,
        || (),
        |(), first, mut a| {
            let rows = a.nrows();
            let u = u.subrows(first, rows);
            if first > 0 {
                let left = a.as_mut().subcols_mut(0, first);
                matmul(left, Accum::Add, u, v.subrows(0, first).transpose(), 1.0, Par::Seq);
            }
            for top in (0..rows).step_by(STRIP) {
                let end = rows.min(top + STRIP);
                let strip = a.as_mut().submatrix_mut(top, first, end - top, end);
                let v = v.subrows(first, end).transpose();
                matmul(strip, Accum::Add, u.subrows(top, end - top), v, 1.0, Par::Seq);
            }
        },
    );
}

/// out ← A B on the lower triangle (n × n), A being n × r, B r × n and A B symmetric.
///
/// What `out` held before is not read; up to 15 entries of each row right of the diagonal are meaningless afterwards. Cost n²r
/// flops and 16nr. Any strides.
///
/// ```
/// use vi_linalg::faer::{Mat, Par, mat};
/// use vi_linalg::kernels::tiled_lower_product;
/// let a = mat![[1.0, 2.0], [0.0, 1.0]];
/// let mut out = Mat::<f64>::zeros(2, 2);
/// tiled_lower_product(out.as_mut(), a.as_ref(), a.transpose(), Par::Seq);
/// assert_eq!((out[(0, 0)], out[(1, 0)], out[(1, 1)]), (5.0, 2.0, 1.0));
/// ```
#[track_caller]
pub fn tiled_lower_product(out: MatMut<'_, f64>, a: MatRef<'_, f64>, b: MatRef<'_, f64>, par: Par) {
    let n = out.nrows();
    let mut out = out;
    assert_square(n, out.ncols());
    assert_shape("A", a.shape(), (n, b.nrows()));
    assert_shape("B", b.shape(), (b.nrows(), n));
    if b.nrows() == 0 {
        out.fill(0.0);
        return;
    }
    Tiling::of_height(STRIP).for_each(
        out,
        par,
        || (),
        |(), first, out| {
            let end = first + out.nrows();
            let a = a.subrows(first, out.nrows());
            matmul(out.subcols_mut(0, end), Accum::Replace, a, b.subcols(0, end), 1.0, Par::Seq);
        },
    );
}

#[cfg(test)]
mod tests {
    use faer::Mat;

    use super::*;
    use crate::testing::{SIZES, absolute_product, lower_only, matrix, product, rng, symmetric};

    /// Sizes on both sides of a strip and of a tile.
    fn sizes() -> impl Iterator<Item = usize> {
        SIZES.into_iter().chain([127, 128, 129, 300])
    }

    #[test]
    fn products_are_the_dense_ones() {
        for d in sizes() {
            for k in [1, 3, 17] {
                let rng = &mut rng(d as u64);
                let (a, x) = (symmetric(rng, d), matrix(rng, d, k));
                let (dense, scale) = (product(a.as_ref(), x.as_ref()), absolute_product(a.as_ref(), x.as_ref()));
                let mut out = Mat::full(d, k, f64::NAN);
                tiled_mul_mat(out.as_mut(), lower_only(a.as_ref()).as_mut(), x.as_ref(), Par::Seq);
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
    fn the_lower_triangle_is_the_dense_one() {
        for d in sizes() {
            for r in [0, 1, 17] {
                let rng = &mut rng(d as u64);
                let (a, u) = (symmetric(rng, d), matrix(rng, d, r));
                let v = Mat::from_fn(d, r, |i, j| (1.0 + j as f64) * u[(i, j)]);
                let (dense, scale) = (product(u.as_ref(), v.transpose()), absolute_product(u.as_ref(), v.transpose()));
                let mut sum = lower_only(a.as_ref());
                tiled_rank_r(sum.as_mut(), u.as_ref(), v.as_ref(), Par::Seq);
                let mut alone = Mat::full(d, d, f64::NAN);
                tiled_lower_product(alone.as_mut(), u.as_ref(), v.transpose(), Par::Seq);
                for j in 0..d {
                    for i in j..d {
                        // Two sums of r terms and one more rounding on either side.
                        let tolerance = (r as f64 + 1.0) * f64::EPSILON * (a[(i, j)].abs() + scale[(i, j)]);
                        assert!((sum[(i, j)] - (a[(i, j)] + dense[(i, j)])).abs() <= tolerance, "d = {d}, r = {r}");
                        assert!((alone[(i, j)] - dense[(i, j)]).abs() <= tolerance, "d = {d}, r = {r}");
                    }
                }
            }
        }
    }

    #[cfg(feature = "rayon")]
    #[test]
    fn threads_change_no_bit() {
        let (d, k) = (700, 40);
        let rng = &mut rng(1);
        let (a, x) = (symmetric(rng, d), matrix(rng, d, k));
        let all = |par| {
            let (mut a, mut out, mut gram) = (a.clone(), Mat::zeros(d, k), Mat::zeros(k, k));
            tiled_mul_mat(out.as_mut(), a.as_mut(), x.as_ref(), par);
            tiled_lower_product(gram.as_mut(), x.transpose(), out.as_ref(), par);
            tiled_rank_r(a.as_mut(), x.as_ref(), x.as_ref(), par);
            (a, out, gram)
        };
        let one = all(Par::Seq);
        for threads in [1, 2, 3, 8] {
            assert_eq!(all(Par::rayon(threads)), one, "{threads} threads");
        }
    }
}
