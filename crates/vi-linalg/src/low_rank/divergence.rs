//! Kullback-Leibler divergences between Gaussians of which one or both have the form Ψ + WWᵀ.

use faer::{Mat, MatRef, Par};

use super::factored::Factored;
use super::matrix::LowRank;
use crate::cholesky::{solve_lower_in_place, solve_upper_in_place};
use crate::kernels::{dot, product};
use crate::operator::SymmetricOperator;
use crate::{Cholesky, LinalgError, check};

/// tr(A B⁻¹) = Σψᵢ(B⁻¹)ᵢᵢ + tr(WᵀB⁻¹W), W and ψ being A's. Cost O(d(p_A + p_B)²) flops.
///
/// # Errors
/// [`LinalgError::Dimension`] for different d, and those of [`Factored::diagonal_of_inverse`].
fn trace_of_ratio(a: &LowRank, b: &Factored<'_>, par: Par) -> Result<f64, LinalgError> {
    check::dimension("dimension of A", b.matrix().dim(), a.dim())?;
    let diagonal = b.diagonal_of_inverse(par)?;
    Ok(dot(a.psi(), &diagonal) + b.inverse_trace_of(a.w(), par))
}

/// The divergence KL(N(μ_q, S_q⁻¹) ‖ N(μ_p, S_p⁻¹)) in nats for precisions S = Ψ + WWᵀ. Cost O(dp²), memory O(d + p²).
///
/// It is ½[tr(S_p S_q⁻¹) − d + (μ_p−μ_q)ᵀS_p(μ_p−μ_q) + log det S_q − log det S_p].
///
/// # Errors
/// [`LinalgError::Dimension`], [`LinalgError::NonFinite`] for a mean, and those of [`Factored::diagonal_of_inverse`].
///
/// ```
/// use vi_linalg::LowRank;
/// use vi_linalg::faer::{Par, mat};
/// use vi_linalg::low_rank::kl_of_precisions;
/// let s = LowRank::new(mat![[1.0], [2.0]].as_ref(), &[1.0, 1.0])?;
/// let s = s.factor(Par::Seq)?;
/// // Half of (1, 0) S (1, 0)ᵀ = 2.
/// assert!((kl_of_precisions(&[1.0, 0.0], &s, &[0.0, 0.0], &s, Par::Seq)? - 1.0).abs() < 1e-14);
/// # Ok::<(), vi_linalg::LinalgError>(())
/// ```
pub fn kl_of_precisions(
    mean_q: &[f64],
    q: &Factored<'_>,
    mean_p: &[f64],
    p: &Factored<'_>,
    par: Par,
) -> Result<f64, LinalgError> {
    let delta = difference(q.matrix().dim(), mean_q, mean_p)?;
    let trace = trace_of_ratio(p.matrix(), q, par)?;
    Ok(divergence(delta.len(), trace, p.matrix().quadratic_form(&delta, par), q.log_det() - p.log_det()))
}

/// The precision or the covariance of a dense Gaussian, given by its Cholesky factor L.
#[derive(Clone, Copy, Debug)]
pub enum DenseRoot<'a> {
    /// The precision Λ = LLᵀ.
    Precision(&'a Cholesky),
    /// The covariance P = LLᵀ.
    Covariance(&'a Cholesky),
}

impl DenseRoot<'_> {
    fn dim(&self) -> usize {
        let (Self::Precision(l) | Self::Covariance(l)) = self;
        l.dim()
    }

    fn log_det_precision(&self) -> f64 {
        match self {
            Self::Precision(l) => l.log_det(),
            Self::Covariance(l) => -l.log_det(),
        }
    }

    /// R (d × d) with Λ = RRᵀ.
    fn precision_root(&self) -> Mat<f64> {
        match self {
            Self::Precision(l) => l.factor().to_owned(),
            Self::Covariance(l) => inverse_transpose(l),
        }
    }

    /// δᵀΛδ.
    fn distance(&self, delta: &[f64]) -> f64 {
        let d = delta.len();
        match self {
            Self::Precision(l) => {
                let delta = MatRef::from_column_major_slice(delta, d, 1);
                product(l.factor().transpose(), delta, Par::Seq).squared_norm_l2()
            }
            Self::Covariance(l) => {
                let mut z = Mat::from_fn(d, 1, |i, _| delta[i]);
                solve_lower_in_place(l.factor(), z.as_mut(), Par::Seq);
                z.squared_norm_l2()
            }
        }
    }
}

fn inverse_transpose(l: &Cholesky) -> Mat<f64> {
    let mut out = Mat::identity(l.dim(), l.dim());
    solve_upper_in_place(l.factor(), out.as_mut(), Par::Seq);
    out
}

/// The divergence KL(N(μ_q, S⁻¹) ‖ p) in nats for q of precision S = Ψ + WWᵀ and a dense Gaussian p. Cost O(d²p), or O(d³) if p
/// is given by its covariance; memory d².
///
/// # Errors
/// [`LinalgError::Dimension`], [`LinalgError::NonFinite`] for a mean.
pub fn kl_of_precisions_to_dense(
    mean_q: &[f64],
    q: &Factored<'_>,
    mean_p: &[f64],
    p: DenseRoot<'_>,
    par: Par,
) -> Result<f64, LinalgError> {
    check::dimension("dimension of p", q.matrix().dim(), p.dim())?;
    let delta = difference(p.dim(), mean_q, mean_p)?;
    let trace = q.inverse_trace_of(p.precision_root().as_ref(), par);
    let log_dets = q.log_det() - p.log_det_precision();
    Ok(divergence(delta.len(), trace, p.distance(&delta), log_dets))
}

fn divergence(d: usize, trace: f64, distance: f64, log_dets: f64) -> f64 {
    0.5 * (trace - d as f64 + distance + log_dets)
}

fn difference(d: usize, mean_q: &[f64], mean_p: &[f64]) -> Result<Vec<f64>, LinalgError> {
    for (what, mean) in [("mean of q", mean_q), ("mean of p", mean_p)] {
        check::dimension(what, d, mean.len())?;
        check::finite_slice(what, mean)?;
    }
    Ok(mean_p.iter().zip(mean_q).map(|(p, q)| p - q).collect())
}
