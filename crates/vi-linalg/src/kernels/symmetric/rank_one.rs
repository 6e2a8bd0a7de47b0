//! A + αvvᵀ on the lower triangle, four columns at a time.

use faer::{ColMut, ContiguousFwd, MatMut};
use pulp::{Arch, Simd, WithSimd};

use super::{PANEL, splat};
use crate::kernels::{assert_length, assert_square};

pub(super) type ColumnsMut<'a> = MatMut<'a, f64, usize, usize, ContiguousFwd>;

/// A ← A + αvvᵀ on the lower triangle (d × d). Cost d² flops; d²/2 entries read and written.
///
/// ```
/// use vi_linalg::{faer::Mat, kernels::symmetric_rank_one};
/// let mut a = Mat::<f64>::identity(2, 2);
/// symmetric_rank_one(a.as_mut(), -0.5, &[1.0, 2.0]);
/// assert_eq!((a[(0, 0)], a[(1, 0)], a[(1, 1)]), (0.5, -1.0, -1.0));
/// assert_eq!(a[(0, 1)], 0.0); // the strict upper triangle is left alone
/// ```
#[track_caller]
pub fn symmetric_rank_one(lower: MatMut<'_, f64>, alpha: f64, v: &[f64]) {
    assert_square(lower.nrows(), lower.ncols());
    assert_length("v", v.len(), lower.nrows());
    let a = contiguous_mut(lower);
    Arch::new().dispatch(RankOne::<false> { a, beta: 1.0, alpha, v });
}

/// A ← β(A + αvvᵀ) on the lower triangle (d × d), in the pass of [`symmetric_rank_one`]. Cost 1.5 d² flops.
///
/// ```
/// use vi_linalg::{faer::Mat, kernels::symmetric_scaled_rank_one};
/// let mut a = Mat::<f64>::identity(2, 2);
/// symmetric_scaled_rank_one(a.as_mut(), 2.0, -0.5, &[1.0, 2.0]);
/// assert_eq!((a[(0, 0)], a[(1, 0)], a[(1, 1)]), (1.0, -2.0, -2.0));
/// ```
#[track_caller]
pub fn symmetric_scaled_rank_one(lower: MatMut<'_, f64>, beta: f64, alpha: f64, v: &[f64]) {
    assert_square(lower.nrows(), lower.ncols());
    assert_length("v", v.len(), lower.nrows());
    let a = contiguous_mut(lower);
    Arch::new().dispatch(RankOne::<true> { a, beta, alpha, v });
}

#[track_caller]
#[expect(clippy::expect_used, reason = "a stated precondition on the layout")]
pub(super) fn contiguous_mut(a: MatMut<'_, f64>) -> ColumnsMut<'_> {
    a.try_as_col_major_mut().expect("the matrix must have contiguous columns (row stride 1)")
}

/// A ← A + αvvᵀ, and with `SCALED` the result times β.
struct RankOne<'a, const SCALED: bool> {
    a: ColumnsMut<'a>,
    beta: f64,
    alpha: f64,
    v: &'a [f64],
}

impl<const SCALED: bool> WithSimd for RankOne<'_, SCALED> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { a, beta, alpha, v } = self;
        let mut rest = a;
        let mut j = 0;
        while rest.ncols() >= PANEL {
            let (panel, next) = rest.split_at_col_mut(PANEL);
            let (left, right) = panel.split_at_col_mut(2);
            let (a0, a1) = left.two_cols_mut(0, 1);
            let (a2, a3) = right.two_cols_mut(0, 1);
            let columns = [a0, a1, a2, a3].map(ColMut::as_slice_mut);
            let w = [0, 1, 2, 3].map(|k| alpha * v[j + k]);
            let below = split_diagonal_block::<SCALED>(columns, j, (beta, w), v);
            rank_one_below::<S, SCALED>(simd, below, (beta, w), &v[j + PANEL..]);
            rest = next;
            j += PANEL;
        }
        for (k, column) in rest.col_iter_mut().enumerate() {
            let w = alpha * v[j + k];
            scalar_axpy::<SCALED>(&mut column.as_slice_mut()[j + k..], (beta, w), &v[j + k..]);
        }
    }
}

/// Updates the triangle on the diagonal and returns the columns below it.
#[inline(always)]
fn split_diagonal_block<'a, const SCALED: bool>(
    columns: [&'a mut [f64]; PANEL],
    j: usize,
    (beta, w): (f64, [f64; PANEL]),
    v: &[f64],
) -> [&'a mut [f64]; PANEL] {
    let mut k = 0;
    columns.map(|column| {
        let (block, below) = column.split_at_mut(j + PANEL);
        scalar_axpy::<SCALED>(&mut block[j + k..], (beta, w[k]), &v[j + k..j + PANEL]);
        k += 1;
        below
    })
}

/// y ← y + αx, times β.
#[inline(always)]
fn scalar_axpy<const SCALED: bool>(y: &mut [f64], (beta, alpha): (f64, f64), x: &[f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += alpha * x;
        if SCALED {
            *y *= beta;
        }
    }
}

/// B ← B + v wᵀ for the four columns B, times β.
#[inline(always)]
fn rank_one_below<S: Simd, const SCALED: bool>(
    simd: S,
    columns: [&mut [f64]; PANEL],
    (beta, w): (f64, [f64; PANEL]),
    v: &[f64],
) {
    let (v, v_tail) = S::as_simd_f64s(v);
    let n = v.len();
    let [(a0, t0), (a1, t1), (a2, t2), (a3, t3)] = columns.map(|c| S::as_mut_simd_f64s(c));
    let (a0, a1, a2, a3) = (&mut a0[..n], &mut a1[..n], &mut a2[..n], &mut a3[..n]);
    let [w0, w1, w2, w3] = splat(simd, w);
    let scale = simd.splat_f64s(beta);
    for i in 0..n {
        a0[i] = scaled::<S, SCALED>(simd, scale, simd.mul_add_e_f64s(v[i], w0, a0[i]));
        a1[i] = scaled::<S, SCALED>(simd, scale, simd.mul_add_e_f64s(v[i], w1, a1[i]));
        a2[i] = scaled::<S, SCALED>(simd, scale, simd.mul_add_e_f64s(v[i], w2, a2[i]));
        a3[i] = scaled::<S, SCALED>(simd, scale, simd.mul_add_e_f64s(v[i], w3, a3[i]));
    }
    for (tail, w) in [t0, t1, t2, t3].into_iter().zip(w) {
        scalar_axpy::<SCALED>(tail, (beta, w), v_tail);
    }
}

#[inline(always)]
fn scaled<S: Simd, const SCALED: bool>(simd: S, scale: S::f64s, value: S::f64s) -> S::f64s {
    if SCALED { simd.mul_f64s(scale, value) } else { value }
}

#[cfg(test)]
mod tests {
    use faer::Mat;

    use super::*;
    use crate::testing::{SIZES, lower_only, max_abs, rng, symmetric, vector};

    #[test]
    fn rank_one_is_the_dense_update_of_the_lower_triangle() {
        for d in SIZES {
            let rng = &mut rng(d as u64);
            let a = symmetric(rng, d);
            let v = vector(rng, d);
            let mut out = lower_only(a.as_ref());
            symmetric_rank_one(out.as_mut(), -0.3, &v);
            let mut scaled = lower_only(a.as_ref());
            symmetric_scaled_rank_one(scaled.as_mut(), 4.0, -0.3, &v);
            for j in 0..d {
                for i in 0..j {
                    assert!(out[(i, j)].is_nan() && scaled[(i, j)].is_nan(), "d = {d}: ({i}, {j}) was written");
                }
                for i in j..d {
                    assert_eq!(scaled[(i, j)], 4.0 * out[(i, j)], "d = {d}: a power of two is exact");
                    let (dense, term) = (a[(i, j)] - 0.3 * v[i] * v[j], 0.3 * v[i] * v[j]);
                    // At most three roundings on either side.
                    let tolerance = 3.0 * f64::EPSILON * (a[(i, j)].abs() + term.abs());
                    assert!((out[(i, j)] - dense).abs() <= tolerance, "d = {d}");
                }
            }
        }
    }

    #[test]
    fn update_and_its_opposite_cancel_on_integers() {
        let mut a = Mat::<f64>::zeros(33, 33);
        let v: Vec<f64> = (0..33).map(f64::from).collect();
        symmetric_rank_one(a.as_mut(), 3.0, &v);
        assert_eq!(a[(32, 31)], 3.0 * 32.0 * 31.0);
        symmetric_rank_one(a.as_mut(), -3.0, &v);
        assert_eq!(max_abs(a.as_ref()), 0.0);
    }

    #[test]
    #[should_panic(expected = "the matrix must be square, it is 3 x 2")]
    fn the_matrix_must_be_square() {
        symmetric_rank_one(Mat::zeros(3, 2).as_mut(), 1.0, &[0.0; 3]);
    }
}
