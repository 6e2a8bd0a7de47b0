//! The factor on the caller's memory.

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
pub fn factor_in_place(
    a: MatMut<'_, f64>,
    par: Par,
    stack: &mut MemStack,
) -> Result<(), LinalgError> {
    assert_square(a.nrows(), a.ncols());
    check_finite_diagonal(a.as_ref())?;
    factor::cholesky_in_place(
        a,
        factor::LltRegularization::default(),
        par,
        stack,
        faer::Spec::default(),
    )
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
/// [`LinalgError::NotPositiveDefinite`] if the result has no factor: L is then of no use.
/// [`Cholesky::update`](super::Cholesky::update) keeps its factor.
#[track_caller]
pub fn rank_r_update_in_place(
    l: MatMut<'_, f64>,
    u: MatMut<'_, f64>,
    alpha: &mut [f64],
) -> Result<(), LinalgError> {
    assert_square(l.nrows(), l.ncols());
    assert_shape("U", u.shape(), (l.nrows(), u.ncols()));
    assert!(
        alpha.len() == u.ncols(),
        "alpha has {} elements, U has {} columns",
        alpha.len(),
        u.ncols()
    );
    check::finite_matrix("U", u.as_ref())?;
    check::finite_slice("alpha", alpha)?;
    let mut l = l;
    update::rank_r_update_clobber(l.as_mut(), u, DiagMut::from_slice_mut(alpha))
        .map_err(not_positive_definite)?;
    // A pivot that overflowed is not seen by the update itself.
    match (0..l.nrows()).find(|&j| !(l[(j, j)] > 0.0 && l[(j, j)].is_finite())) {
        None => Ok(()),
        Some(pivot) => Err(LinalgError::NotPositiveDefinite { pivot }),
    }
}

fn check_finite_diagonal(a: MatRef<'_, f64>) -> Result<(), LinalgError> {
    match (0..a.nrows()).find(|&j| !a[(j, j)].is_finite()) {
        None => Ok(()),
        Some(j) => Err(LinalgError::NonFinite {
            what: "the matrix to factor",
            row: j,
            column: j,
            value: a[(j, j)],
        }),
    }
}

fn not_positive_definite(error: LltError) -> LinalgError {
    let LltError::NonPositivePivot { index } = error;
    LinalgError::NotPositiveDefinite { pivot: index }
}
