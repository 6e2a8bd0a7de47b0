//! Cholesky factorisation on the caller's memory.

use faer::diag::DiagMut;
use faer::dyn_stack::{MemStack, StackReq};
use faer::linalg::cholesky::llt::factor::{self, LltError};
use faer::linalg::cholesky::llt::{inverse as llt_inverse, update};
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::triangular_solve;
use faer::{Accum, MatMut, MatRef, Par};

use crate::kernels::{assert_shape, assert_square};
use crate::{LinalgError, check};

/// Scratch that [`factor_in_place`] needs for a d × d matrix.
#[must_use]
pub fn factor_in_place_scratch(d: usize, par: Par) -> StackReq {
    factor::cholesky_in_place_scratch::<f64>(d, par, faer::Spec::default())
}

/// Overwrites the lower triangle of A (d × d, positive definite) with L, A = LLᵀ.
///
/// The strict upper triangle is not read; it is scratch, and holds nothing of use afterwards. Cost d³/3 flops.
///
/// # Errors
/// [`LinalgError::NonFinite`] for a NaN or infinity on the diagonal, found before anything is written;
/// [`LinalgError::NotPositiveDefinite`] otherwise, a NaN below the diagonal included: A is then partly overwritten.
#[track_caller]
pub fn factor_in_place(a: MatMut<'_, f64>, par: Par, stack: &mut MemStack) -> Result<(), LinalgError> {
    assert_square(a.nrows(), a.ncols());
    check_finite_diagonal(a.as_ref())?;
    factor::cholesky_in_place(a, factor::LltRegularization::default(), par, stack, faer::Spec::default())
        .map(|_| ())
        .map_err(not_positive_definite)
}

/// rhs ← A⁻¹ rhs, from the factor L (d × d) of A; rhs is d × k. Cost 2d²k flops.
#[track_caller]
pub fn solve_in_place(l: MatRef<'_, f64>, rhs: MatMut<'_, f64>, par: Par) {
    let mut rhs = rhs;
    solve_lower_in_place(l, rhs.as_mut(), par);
    solve_upper_in_place(l, rhs, par);
}

/// rhs ← L⁻¹ rhs: whitening, for if b has covariance LLᵀ then L⁻¹b has covariance I. rhs is d × k. Cost d²k flops.
#[track_caller]
pub fn solve_lower_in_place(l: MatRef<'_, f64>, rhs: MatMut<'_, f64>, par: Par) {
    assert_square(l.nrows(), l.ncols());
    assert_shape("rhs", rhs.shape(), (l.nrows(), rhs.ncols()));
    triangular_solve::solve_lower_triangular_in_place(l, rhs, par);
}

/// rhs ← L⁻ᵀ rhs: if z has covariance I then L⁻ᵀz has covariance (LLᵀ)⁻¹. rhs is d × k. Cost d²k flops.
#[track_caller]
pub fn solve_upper_in_place(l: MatRef<'_, f64>, rhs: MatMut<'_, f64>, par: Par) {
    assert_square(l.nrows(), l.ncols());
    assert_shape("rhs", rhs.shape(), (l.nrows(), rhs.ncols()));
    triangular_solve::solve_upper_triangular_in_place(l.transpose(), rhs, par);
}

/// out ← L Z: if z has covariance I then L z has covariance LLᵀ. Z and out are d × k. Cost d²k flops.
#[track_caller]
pub fn mul_lower(out: MatMut<'_, f64>, l: MatRef<'_, f64>, z: MatRef<'_, f64>, par: Par) {
    assert_square(l.nrows(), l.ncols());
    assert_shape("Z", z.shape(), (l.nrows(), z.ncols()));
    assert_shape("out", out.shape(), z.shape());
    triangular::matmul(
        out,
        BlockStructure::Rectangular,
        Accum::Replace,
        l,
        BlockStructure::TriangularLower,
        z,
        BlockStructure::Rectangular,
        1.0,
        par,
    );
}

/// log det LLᵀ = 2 Σ log Lᵢᵢ, natural logarithm; 0 for d = 0. Cost d logarithms.
#[track_caller]
#[must_use]
pub fn log_det(l: MatRef<'_, f64>) -> f64 {
    assert_square(l.nrows(), l.ncols());
    2.0 * (0..l.nrows()).map(|j| l[(j, j)].ln()).sum::<f64>()
}

/// Scratch that [`inverse`] needs for a d × d factor.
#[must_use]
pub fn inverse_scratch(d: usize, par: Par) -> StackReq {
    llt_inverse::inverse_scratch::<f64>(d, par)
}

/// Lower triangle of out ← (LLᵀ)⁻¹, for output: to apply an inverse, solve. Cost 2d³/3 flops.
///
/// The strict upper triangle of out is left alone.
#[track_caller]
pub fn inverse(out: MatMut<'_, f64>, l: MatRef<'_, f64>, par: Par, stack: &mut MemStack) {
    assert_square(l.nrows(), l.ncols());
    assert_shape("out", out.shape(), l.shape());
    llt_inverse::inverse(out, l, par, stack);
}

/// Overwrites L (d × d) with the factor of LLᵀ + U diag(α) Uᵀ; U (d × r) and α (r) are scratch afterwards.
///
/// The columns of U are applied in their order, and the matrix must stay positive definite after each: when the
/// signs of α are mixed, put the positive ones first. Cost 2d²r flops.
///
/// # Errors
/// [`LinalgError::NonFinite`] for a NaN or infinity in U or α, found before anything is written;
/// [`LinalgError::NotPositiveDefinite`] if the result has no factor: L is then invalid.
/// [`Cholesky::update`](super::Cholesky::update) keeps its factor.
#[track_caller]
pub(super) fn rank_r_update_in_place(
    l: MatMut<'_, f64>,
    u: MatMut<'_, f64>,
    alpha: &mut [f64],
) -> Result<(), LinalgError> {
    assert_square(l.nrows(), l.ncols());
    assert_shape("U", u.shape(), (l.nrows(), u.ncols()));
    assert!(alpha.len() == u.ncols(), "alpha has {} elements, U has {} columns", alpha.len(), u.ncols());
    check::finite_matrix("U", u.as_ref())?;
    check::finite_slice("alpha", alpha)?;
    let mut l = l;
    update::rank_r_update_clobber(l.as_mut(), u, DiagMut::from_slice_mut(alpha)).map_err(not_positive_definite)?;
    // The update itself does not detect a pivot that has overflowed.
    match (0..l.nrows()).find(|&j| !(l[(j, j)] > 0.0 && l[(j, j)].is_finite())) {
        None => Ok(()),
        Some(pivot) => Err(LinalgError::NotPositiveDefinite { pivot }),
    }
}

fn check_finite_diagonal(a: MatRef<'_, f64>) -> Result<(), LinalgError> {
    match (0..a.nrows()).find(|&j| !a[(j, j)].is_finite()) {
        None => Ok(()),
        Some(j) => Err(LinalgError::NonFinite { what: "the matrix to factor", row: j, column: j, value: a[(j, j)] }),
    }
}

fn not_positive_definite(error: LltError) -> LinalgError {
    let LltError::NonPositivePivot { index } = error;
    LinalgError::NotPositiveDefinite { pivot: index }
}

#[cfg(test)]
mod tests {
    use faer::Mat;
    use faer::dyn_stack::MemBuffer;

    use super::*;
    use crate::testing::{SIZES, absolute_product, lower_only, matrix, positive_definite, product, rng};

    fn factor(a: &mut Mat<f64>) -> Result<(), LinalgError> {
        let mut memory = MemBuffer::new(factor_in_place_scratch(a.nrows(), Par::Seq));
        factor_in_place(a.as_mut(), Par::Seq, MemStack::new(&mut memory))
    }

    /// A, and L with NaN above its diagonal.
    fn random(d: usize) -> (Mat<f64>, Mat<f64>) {
        let a = positive_definite(&mut rng(d as u64), d);
        let mut l = lower_only(a.as_ref());
        factor(&mut l).unwrap();
        (a, lower_only(l.as_ref()))
    }

    fn without_upper(l: &Mat<f64>) -> Mat<f64> {
        Mat::from_fn(l.nrows(), l.ncols(), |i, j| if i < j { 0.0 } else { l[(i, j)] })
    }

    fn assert_close(a: &Mat<f64>, b: &Mat<f64>, scale: &Mat<f64>, factor: f64, d: usize) {
        assert_eq!(a.shape(), b.shape());
        for j in 0..a.ncols() {
            for i in 0..a.nrows() {
                let tolerance = factor * f64::EPSILON * scale[(i, j)];
                assert!((a[(i, j)] - b[(i, j)]).abs() <= tolerance, "d = {d}: ({i}, {j})");
            }
        }
    }

    #[test]
    fn factor_times_its_transpose_is_the_matrix() {
        for d in SIZES {
            let (a, l) = random(d);
            let l = without_upper(&l);
            let back = product(l.as_ref(), l.transpose());
            let scale = absolute_product(l.as_ref(), l.transpose());
            // γ_{d+1} |L||Lᵀ| (Higham, Theorem 10.3), and the product's own d ε/2.
            assert_close(&back, &a, &scale, d as f64 + 1.0, d);
        }
    }

    #[test]
    fn substitution_and_multiplication_are_inverse() {
        for d in SIZES {
            for k in [0, 1, 3, 17] {
                let (_, l) = random(d);
                let b = matrix(&mut rng(1000 + d as u64), d, k);
                let plain = without_upper(&l);
                // Each substitution has residual γ_d |L||x| (Higham, Theorem 8.5), each product error γ_d |L||x|.
                let mut x = b.clone();
                solve_lower_in_place(l.as_ref(), x.as_mut(), Par::Seq);
                let mut back = Mat::from_fn(d, k, |_, _| f64::NAN);
                mul_lower(back.as_mut(), l.as_ref(), x.as_ref(), Par::Seq);
                let scale = absolute_product(plain.as_ref(), x.as_ref());
                assert_close(&back, &b, &scale, d as f64, d);

                let mut x = b.clone();
                solve_upper_in_place(l.as_ref(), x.as_mut(), Par::Seq);
                let back = product(plain.transpose(), x.as_ref());
                let scale = absolute_product(plain.transpose(), x.as_ref());
                assert_close(&back, &b, &scale, d as f64, d);
            }
        }
    }

    #[test]
    fn solution_has_a_small_residual() {
        for d in SIZES {
            let (a, l) = random(d);
            let b = matrix(&mut rng(1000 + d as u64), d, 3);
            let mut x = b.clone();
            solve_in_place(l.as_ref(), x.as_mut(), Par::Seq);
            let back = product(a.as_ref(), x.as_ref());
            let l = without_upper(&l);
            let absolute = absolute_product(l.as_ref(), l.transpose());
            let scale = absolute_product(absolute.as_ref(), x.as_ref());
            // γ_{3d+1} |L||Lᵀ||x| (Higham, Theorem 10.4), and the product's own d ε/2.
            assert_close(&back, &b, &scale, 2.0 * d as f64 + 1.0, d);
        }
    }

    #[test]
    fn log_det_of_a_diagonal() {
        for d in SIZES {
            let mut a = Mat::from_fn(d, d, |i, j| if i == j { 4.0 } else { 0.0 });
            factor(&mut a).unwrap();
            let exact = d as f64 * 4.0_f64.ln();
            // A sum of d equal terms.
            let tolerance = d as f64 * f64::EPSILON * exact;
            assert!((log_det(a.as_ref()) - exact).abs() <= tolerance, "d = {d}");
        }
    }

    #[test]
    fn the_first_bad_pivot_is_named() {
        for d in SIZES {
            for pivot in 0..d {
                for bad in [-1.0, 0.0] {
                    let mut a = lower_only(Mat::<f64>::identity(d, d).as_ref());
                    a[(pivot, pivot)] = bad;
                    a[(d - 1, d - 1)] = a[(d - 1, d - 1)].min(0.0);
                    let expected = LinalgError::NotPositiveDefinite { pivot };
                    assert_eq!(factor(&mut a), Err(expected), "d = {d}");
                }
            }
        }
    }

    #[test]
    fn no_entry_of_the_triangle_may_be_nan_or_infinite() {
        for d in [1, 2, 5, 17, 33] {
            for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                for j in 0..d {
                    for i in j..d {
                        let mut a = Mat::<f64>::identity(d, d);
                        a[(i, j)] = bad;
                        let error = factor(&mut a).unwrap_err();
                        if i == j {
                            assert!(matches!(error, LinalgError::NonFinite { row, column, .. }
                                    if row == i && column == i));
                        } else {
                            let expected = LinalgError::NotPositiveDefinite { pivot: i };
                            assert_eq!(error, expected, "d = {d}, ({i}, {j}) = {bad}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn inverse_leaves_the_upper_triangle_alone() {
        let (_, l) = random(33);
        let mut out = Mat::from_fn(33, 33, |_, _| 7.0);
        let mut memory = MemBuffer::new(inverse_scratch(33, Par::Seq));
        inverse(out.as_mut(), l.as_ref(), Par::Seq, MemStack::new(&mut memory));
        for j in 0..33 {
            for i in 0..33 {
                assert_eq!(out[(i, j)] == 7.0, i < j, "({i}, {j})");
            }
        }
    }

    #[test]
    fn update_reads_no_upper_triangle_and_checks_before_it_writes() {
        let (_, l) = random(17);
        let u = matrix(&mut rng(5), 17, 2);
        let mut clean = without_upper(&l);
        rank_r_update_in_place(clean.as_mut(), u.clone().as_mut(), &mut [1.0, 0.5]).unwrap();
        let mut dirty = l.clone();
        rank_r_update_in_place(dirty.as_mut(), u.clone().as_mut(), &mut [1.0, 0.5]).unwrap();
        assert_eq!(without_upper(&dirty), clean);

        let before = clean.clone();
        let mut alpha = [1.0, f64::INFINITY];
        let error = rank_r_update_in_place(clean.as_mut(), u.clone().as_mut(), &mut alpha);
        assert_eq!(error, Err(LinalgError::NonFinite { what: "alpha", row: 1, column: 0, value: f64::INFINITY }));
        assert_eq!(clean, before);
    }

    #[test]
    #[should_panic(expected = "rhs is 2 x 1, the other arguments ask for 3 x 1")]
    fn shapes_must_agree() {
        let l = Mat::<f64>::identity(3, 3);
        solve_in_place(l.as_ref(), Mat::zeros(2, 1).as_mut(), Par::Seq);
    }
}
