//! The factor of LLᵀ + BBᵀ at the speed of a matrix product.
//!
//! Reflections from the right turn \[L B\] into \[L′ 0\]. Reflection j mixes column j of L with B only:
//!
//! ```text
//! ρ = √(L_jj² + ‖B_j‖²),  w_j = B_jᵀ/(L_jj + ρ),  τ_j = (1 + ‖w_j‖²)/2
//! H_j = I − v_j v_jᵀ/τ_j,  v_j = (e_j; w_j):  row j of [L B] becomes −ρ e_jᵀ
//! ```
//!
//! and column j then changes sign, so the diagonal is positive and never becomes smaller. The product of k such
//! reflections is I − V M⁻¹ Vᵀ with V = (I; W) and M = diag(τ) + the strict upper triangle of WᵀW (Puglisi, 1992), so
//! other rows change by two matrix products and one small triangular solve for each k columns.

use faer::dyn_stack::{MemStack, StackReq};
use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::linalg::{temp_mat_scratch, temp_mat_zeroed};
use faer::mat::AsMatMut;
use faer::{Accum, MatMut, MatRef, Par, unzip, zip};

use super::rank_one::rank_one_update_in_place;
use crate::kernels::{assert_shape, assert_square, axpy, dot};
use crate::{LinalgError, check};

/// The number of rows that are taken through all reflections to their left while their part of B stays in the cache.
const TILE: usize = 128;
/// The number of reflections that act together; divides [`TILE`].
const PANEL: usize = 32;
/// The number of columns of a panel that are reduced one by one.
const STRIP: usize = 8;
/// The rank up to which one rotation per column of B and of L is faster.
const BY_ROTATIONS: usize = 8;

/// Scratch that [`panel_update_in_place`] needs for a d × d factor and a B of r columns.
#[must_use]
pub fn panel_update_scratch(d: usize, r: usize) -> StackReq {
    StackReq::all_of(&[
        temp_mat_scratch::<f64>(r, d),
        temp_mat_scratch::<f64>(PANEL, d),
        temp_mat_scratch::<f64>(TILE, PANEL),
    ])
}

/// Overwrites L (d × d) with the factor of LLᵀ + BBᵀ, B being d × r, of any strides.
///
/// Cost 2d²r flops, nearly all of them in matrix products (3d²r by plane rotations for r ≤ 8). The update cannot lose
/// positive definiteness: no diagonal entry of L becomes smaller. The columns of L must be contiguous.
///
/// # Errors
/// [`LinalgError::NonFinite`] for a NaN or infinity in B, found before anything is written;
/// [`LinalgError::NotPositiveDefinite`] if a diagonal entry overflows: L is then invalid.
///
/// ```
/// use vi_linalg::cholesky::{panel_update_in_place, panel_update_scratch};
/// use vi_linalg::faer::dyn_stack::{MemBuffer, MemStack};
/// use vi_linalg::faer::{Par, mat};
///
/// let mut memory = MemBuffer::new(panel_update_scratch(2, 4));
/// let mut l = mat![[3.0, f64::NAN], [1.0, 2.0]];
/// let b = mat![[4.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]];
/// panel_update_in_place(l.as_mut(), b.as_ref(), Par::Seq, MemStack::new(&mut memory))?;
/// assert!((l[(0, 0)] - 5.0).abs() < 1e-14 && (l[(1, 0)] - 0.6).abs() < 1e-15);
/// # Ok::<(), vi_linalg::LinalgError>(())
/// ```
#[track_caller]
pub fn panel_update_in_place(
    l: MatMut<'_, f64>,
    b: MatRef<'_, f64>,
    par: Par,
    stack: &mut MemStack,
) -> Result<(), LinalgError> {
    assert_square(l.nrows(), l.ncols());
    assert_shape("B", b.shape(), (l.nrows(), b.ncols()));
    check::finite_matrix("B", b)?;
    let (d, r) = b.shape();
    let mut l = l;
    if r <= BY_ROTATIONS {
        return by_rotations(l, b, stack);
    }
    let (mut w, stack) = temp_mat_zeroed::<f64, _, _>(r, d, stack);
    let (mut m, stack) = temp_mat_zeroed::<f64, _, _>(PANEL, d, stack);
    let (mut s, _) = temp_mat_zeroed::<f64, _, _>(TILE, PANEL, stack);
    let (mut w, mut m, mut s) = (w.as_mat_mut(), m.as_mat_mut(), s.as_mat_mut());
    w.copy_from(b.transpose());
    for top in (0..d).step_by(TILE) {
        let rows = TILE.min(d - top);
        let (w_done, w_todo) = w.as_mut().split_at_col_mut(top);
        let (m_done, m_todo) = m.as_mut().split_at_col_mut(top);
        let mut w_tile = w_todo.subcols_mut(0, rows);
        for first in (0..top).step_by(PANEL) {
            let l = l.as_mut().submatrix_mut(top, first, rows, PANEL);
            let (w, m) = (w_done.as_ref().subcols(first, PANEL), m_done.as_ref().subcols(first, PANEL));
            reflect(l, w_tile.as_mut().transpose_mut(), w, m, s.as_mut().subrows_mut(0, rows), par);
        }
        let diagonal = l.as_mut().submatrix_mut(top, top, rows, rows);
        reduce_tile(diagonal, w_tile, m_todo.subcols_mut(0, rows), s.as_mut(), par)
            .map_err(|pivot| LinalgError::NotPositiveDefinite { pivot: top + pivot })?;
    }
    Ok(())
}

fn by_rotations(l: MatMut<'_, f64>, b: MatRef<'_, f64>, stack: &mut MemStack) -> Result<(), LinalgError> {
    let (mut x, _) = temp_mat_zeroed::<f64, _, _>(l.nrows(), 1, stack);
    let (mut l, mut x) = (l, x.as_mat_mut());
    for k in 0..b.ncols() {
        x.copy_from(b.subcols(k, 1));
        rank_one_update_in_place(l.as_mut(), contiguous(x.as_mut().col_mut(0)))?;
    }
    Ok(())
}

/// Reduces the diagonal tile, to which the reflections of all columns on its left have been applied.
fn reduce_tile(
    l: MatMut<'_, f64>,
    w: MatMut<'_, f64>,
    m: MatMut<'_, f64>,
    s: MatMut<'_, f64>,
    par: Par,
) -> Result<(), usize> {
    let (mut l, mut w, mut m, mut s) = (l, w, m, s);
    for first in (0..w.ncols()).step_by(PANEL) {
        let k = PANEL.min(w.ncols() - first);
        let rest = w.ncols() - first - k;
        let (w_done, mut w_below) = w.as_mut().split_at_col_mut(first + k);
        let mut w_panel = w_done.subcols_mut(first, k);
        let mut m_panel = m.as_mut().submatrix_mut(0, first, k, k);
        let diagonal = l.as_mut().submatrix_mut(first, first, k, k);
        reduce_panel(diagonal, w_panel.as_mut(), m_panel.as_mut(), s.as_mut().submatrix_mut(0, 0, k, k))
            .map_err(|pivot| first + pivot)?;
        let below = l.as_mut().submatrix_mut(first + k, first, rest, k);
        let s = s.as_mut().submatrix_mut(0, 0, rest, k);
        reflect(below, w_below.as_mut().transpose_mut(), w_panel.as_ref(), m_panel.as_ref(), s, par);
    }
    Ok(())
}

/// Reduces \[L Wᵀ\], L being k × k and the columns of W (r × k) the rows of B; leaves W and M of the k reflections.
///
/// The second half of the rows is reflected by the first half of the columns at once, and so on down to a strip.
/// Fails with the pivot whose length is not positive and finite.
fn reduce_panel(l: MatMut<'_, f64>, w: MatMut<'_, f64>, m: MatMut<'_, f64>, s: MatMut<'_, f64>) -> Result<(), usize> {
    let k = w.ncols();
    if k <= STRIP {
        return reduce_strip(l, w, m);
    }
    let half = k / 2;
    let rest = k - half;
    let (mut l, mut m, mut s) = (l, m, s);
    let (mut w_left, mut w_right) = w.split_at_col_mut(half);
    let l_left = l.as_mut().submatrix_mut(0, 0, half, half);
    let m_left = m.as_mut().submatrix_mut(0, 0, half, half);
    reduce_panel(l_left, w_left.as_mut(), m_left, s.as_mut().submatrix_mut(0, 0, half, half))?;
    let l_below = l.as_mut().submatrix_mut(half, 0, rest, half);
    let m_left = m.as_ref().submatrix(0, 0, half, half);
    let s_below = s.as_mut().submatrix_mut(0, 0, rest, half);
    reflect(l_below, w_right.as_mut().transpose_mut(), w_left.as_ref(), m_left, s_below, Par::Seq);
    let l_right = l.submatrix_mut(half, half, rest, rest);
    let m_right = m.as_mut().submatrix_mut(half, half, rest, rest);
    reduce_panel(l_right, w_right.as_mut(), m_right, s.submatrix_mut(0, 0, rest, rest))
        .map_err(|pivot| half + pivot)?;
    let m_above = m.submatrix_mut(0, half, half, rest);
    matmul(m_above, Accum::Replace, w_left.transpose(), w_right.as_ref(), 1.0, Par::Seq);
    Ok(())
}

/// As [`reduce_panel`], one reflection after the other.
fn reduce_strip(l: MatMut<'_, f64>, w: MatMut<'_, f64>, m: MatMut<'_, f64>) -> Result<(), usize> {
    let (mut l, mut w, mut m) = (l, w, m);
    for j in 0..w.ncols() {
        let (mut done, mut todo) = w.as_mut().split_at_col_mut(j + 1);
        let head = l[(j, j)];
        let length = head.hypot(done.as_ref().col(j).norm_l2());
        if !(length > 0.0 && (head + length).is_finite()) {
            return Err(j);
        }
        let (mut before, last) = done.as_mut().split_at_col_mut(j);
        let w_j = contiguous(last.col_mut(0));
        for w in w_j.iter_mut() {
            *w /= head + length;
        }
        let tau = 0.5 * (1.0 + dot(w_j, w_j));
        l[(j, j)] = length;
        for i in j + 1..l.nrows() {
            let row = contiguous(todo.as_mut().col_mut(i - j - 1));
            let shift = (l[(i, j)] + dot(w_j, row)) / tau;
            l[(i, j)] = shift - l[(i, j)];
            axpy(row, -shift, w_j);
        }
        for i in 0..j {
            m[(i, j)] = dot(contiguous(before.as_mut().col_mut(i)), w_j);
        }
        m[(j, j)] = tau;
    }
    Ok(())
}

/// \[L B\] ← \[L B\]·(I − V M⁻¹ Vᵀ)·diag(−I, I), V = (I; W), for the rows below a panel: S = (L + BW)M⁻¹,
/// L ← S − L, B ← B − SWᵀ.
fn reflect(
    l: MatMut<'_, f64>,
    b: MatMut<'_, f64>,
    w: MatRef<'_, f64>,
    m: MatRef<'_, f64>,
    s: MatMut<'_, f64>,
    par: Par,
) {
    let (mut l, mut s) = (l, s);
    s.copy_from(l.as_ref());
    matmul(s.as_mut(), Accum::Add, b.as_ref(), w, 1.0, par);
    solve_lower_triangular_in_place(m.transpose(), s.as_mut().transpose_mut(), par);
    zip!(&mut l, &s).for_each(|unzip!(l, s)| *l = s - *l);
    matmul(b, Accum::Add, s.as_ref(), w.transpose(), -1.0, par);
}

#[track_caller]
#[expect(clippy::expect_used, reason = "a stated precondition on the layout")]
fn contiguous(column: faer::ColMut<'_, f64>) -> &mut [f64] {
    column.try_as_col_major_mut().expect("columns must be contiguous (row stride 1)").as_slice_mut()
}

#[cfg(test)]
mod tests {
    use faer::Mat;
    use faer::dyn_stack::MemBuffer;

    use super::*;
    use crate::Cholesky;
    use crate::cholesky::in_place::rank_r_update_in_place;
    use crate::testing::{SIZES, infinity_norm, lower_only, matrix, max_difference, positive_definite, product, rng};

    /// Ranks on both sides of the choice between rotations and panels, and of vector widths.
    const RANKS: [usize; 8] = [0, 1, 3, 8, 9, 31, 33, 70];

    /// Sizes on both sides of a strip, a panel and a tile.
    fn sizes() -> impl Iterator<Item = usize> {
        SIZES.into_iter().chain([129, 200])
    }

    fn update(l: &Mat<f64>, b: &Mat<f64>) -> Result<Mat<f64>, LinalgError> {
        let mut l = l.clone();
        let mut memory = MemBuffer::new(panel_update_scratch(b.nrows(), b.ncols()));
        panel_update_in_place(l.as_mut(), b.as_ref(), Par::Seq, MemStack::new(&mut memory)).map(|()| l)
    }

    /// A ≥ I and its factor, with NaN above the diagonal.
    fn random(d: usize) -> (Mat<f64>, Mat<f64>) {
        let a = positive_definite(&mut rng(d as u64), d);
        let l = lower_only(Cholesky::new(a.as_ref()).unwrap().factor());
        (a, l)
    }

    fn without_upper(l: &Mat<f64>) -> Mat<f64> {
        Mat::from_fn(l.nrows(), l.ncols(), |i, j| if i < j { 0.0 } else { l[(i, j)] })
    }

    /// Checks L′L′ᵀ = LLᵀ + BBᵀ row by row: reflections from the right disturb each row of \[L B\] by its own size.
    fn assert_factor_of_sum(l: &Mat<f64>, b: &Mat<f64>) {
        let (d, r) = b.shape();
        let lower = without_upper(l);
        let sum = product(lower.as_ref(), lower.transpose()) + product(b.as_ref(), b.transpose());
        let updated = update(l, b).unwrap();
        let factor = without_upper(&updated);
        let back = product(factor.as_ref(), factor.transpose());
        for j in 0..d {
            assert!(updated[(j, j)] > 0.0);
            // No diagonal entry becomes smaller, but for the last bit of the square root.
            assert!(updated[(j, j)] >= l[(j, j)] * (1.0 - 2.0 * f64::EPSILON));
            for i in 0..d {
                let tolerance = 4.0 * (d + r + 1) as f64 * f64::EPSILON * (sum[(i, i)] * sum[(j, j)]).sqrt();
                let error = (back[(i, j)] - sum[(i, j)]).abs();
                assert!(error <= tolerance, "d = {d}, r = {r}, ({i}, {j}): {error:e} > {tolerance:e}");
            }
        }
    }

    #[test]
    fn is_the_factor_of_the_sum() {
        for d in sizes() {
            for r in RANKS {
                let (_, l) = random(d);
                assert_factor_of_sum(&l, &matrix(&mut rng(900 + r as u64), d, r));
            }
        }
    }

    #[test]
    fn agrees_with_the_rank_r_update() {
        for d in sizes() {
            for r in RANKS {
                let (a, l) = random(d);
                let b = matrix(&mut rng(900 + r as u64), d, r);
                let updated = without_upper(&update(&l, &b).unwrap());
                let mut other = without_upper(&l);
                rank_r_update_in_place(other.as_mut(), b.clone().as_mut(), &mut vec![1.0; r]).unwrap();
                let error = max_difference(updated.as_ref(), other.as_ref());
                // A factor moves by κ times the backward error, relative to its norm; κ ≤ ‖A + BBᵀ‖ because A ≥ I.
                let norm = infinity_norm((&a + product(b.as_ref(), b.transpose())).as_ref());
                let tolerance = (d + r) as f64 * f64::EPSILON * norm * norm.sqrt();
                assert!(error <= tolerance, "d = {d}, r = {r}: {error:e} > {tolerance:e}");
            }
        }
    }

    #[test]
    fn scales_may_differ_by_row_and_by_column() {
        for (d, r) in [(5, 4), (33, 9), (70, 40), (150, 60)] {
            let (_, l) = random(d);
            let b = matrix(&mut rng(77), d, r);
            let power = |k: usize| [1e-14, 1e-7, 1.0, 1e7, 1e14][k % 5];
            assert_factor_of_sum(&l, &Mat::from_fn(d, r, |i, k| b[(i, k)] * power(k)));
            // Rows of L and B scaled together: DLLᵀD + DBBᵀD.
            let scaled = Mat::from_fn(d, d, |i, j| l[(i, j)] * power(i));
            assert_factor_of_sum(&scaled, &Mat::from_fn(d, r, |i, k| b[(i, k)] * power(i)));
            // A tiny L under a B of lower rank than d.
            let tiny = Mat::from_fn(d, d, |i, j| if i == j { 1e-6 } else { 0.0 });
            assert_factor_of_sum(&tiny, &b);
            assert_factor_of_sum(&tiny, &Mat::from_fn(d, r, |i, _| b[(i, 0)]));
        }
    }

    #[test]
    fn nothing_added_changes_nothing_beyond_rounding() {
        let d = 150;
        let (_, l) = random(d);
        let before = without_upper(&l);
        for scale in [0.0, 1e-300, 1e-160] {
            let b = matrix(&mut rng(5), d, 10) * faer::Scale(scale);
            let after = without_upper(&update(&l, &b).unwrap());
            // Column j of a row is reflected once: a few ε of the row's length.
            let tolerance = 8.0 * f64::EPSILON * infinity_norm(before.as_ref());
            assert!(max_difference(after.as_ref(), before.as_ref()) <= tolerance, "{scale:e}");
        }
    }

    #[test]
    fn bad_values_are_named() {
        let (_, l) = random(40);
        for r in [2, 10] {
            let mut b = matrix(&mut rng(6), 40, r);
            b[(35, 1)] = f64::INFINITY;
            let expected = LinalgError::NonFinite { what: "B", row: 35, column: 1, value: f64::INFINITY };
            assert_eq!(update(&l, &b), Err(expected));
            let mut b = Mat::zeros(40, r);
            b[(35, 0)] = f64::MAX;
            b[(35, 1)] = f64::MAX;
            assert_eq!(update(&l, &b), Err(LinalgError::NotPositiveDefinite { pivot: 35 }));
        }
    }
}
