//! Newton's step on the bound, plain or accelerated.

use vi_linalg::faer::{Mat, MatRef};
use vi_linalg::kernels::{axpy, mirror_lower, quadratic_form, symmetric_mul_vec};

use super::anderson::{Anderson, pack, unpack};
use super::{InformationGaussian, Statistics};
use crate::Error;

/// Newton's step from one `q`: its target and its length.
#[derive(Debug)]
pub(super) struct Step {
    /// `Λ′ = Λ₀ + XᵀHX`, lower triangle.
    target: Mat<f64>,
    /// `∇_μB = Xᵀg − Λ₀(μ−μ₀)`.
    gradient: Vec<f64>,
    /// The larger of the mean's length in standard deviations and the precision's in the Frobenius norm of `L⁻¹(Λ′−Λ)L⁻ᵀ`.
    pub(super) size: f64,
    /// The step of the mean and of the precision, as one column in the metric of `q`.
    whitened: Vec<f64>,
}

impl Step {
    /// Newton's step at `q`. Cost `4d³/3`.
    pub(super) fn at(prior: &InformationGaussian, q: &InformationGaussian, sums: &Statistics) -> Result<Self, Error> {
        let d = q.dim();
        let target = add_lower(prior.precision_lower(), sums.information.as_ref());
        let difference: Vec<f64> = q.mean().iter().zip(prior.mean()).map(|(a, b)| a - b).collect();
        let mut pull = vec![0.0; d];
        symmetric_mul_vec(&mut pull, prior.precision_lower(), &difference);
        let gradient: Vec<f64> = sums.slope.iter().zip(&pull).map(|(s, p)| s - p).collect();

        let old = q.precision_lower();
        let mut change = Mat::from_fn(d, d, |i, j| if i >= j { target[(i, j)] - old[(i, j)] } else { 0.0 });
        mirror_lower(change.as_mut());
        let half = q.cholesky().whiten(change.as_ref())?;
        let change = q.cholesky().whiten(half.transpose())?;
        let shift = q.cholesky().whiten(MatRef::from_column_major_slice(&gradient, d, 1))?;
        let size = change.norm_l2().max(shift.norm_l2());
        let shift: Vec<f64> = (0..d).map(|i| shift[(i, 0)]).collect();
        let whitened = pack(change.as_ref(), &shift);
        Ok(Self { target, gradient, size, whitened })
    }

    /// The Gaussian a share `ρ` of the way: `Λ(ρ) = (1−ρ)Λ + ρΛ′`, `μ(ρ) = μ + ρ·Λ(ρ)⁻¹∇_μB`.
    pub(super) fn plain(&self, q: &InformationGaussian, rho: f64) -> Result<InformationGaussian, Error> {
        let old = q.precision_lower();
        let mixed = Mat::from_fn(q.dim(), q.dim(), |i, j| {
            if i >= j { (1.0 - rho) * old[(i, j)] + rho * self.target[(i, j)] } else { 0.0 }
        });
        let mut next = InformationGaussian::new(q.mean().to_vec(), mixed)?;
        let mut shift = self.gradient.clone();
        next.cholesky().solve_vec_in_place(&mut shift)?;
        next.shift_mean(rho, &shift);
        Ok(next)
    }

    /// Anderson's step in the natural parameters `(Λμ, Λ)`, in which a full step is the map `Λ ← Λ′`, `Λμ ← Λμ + ∇_μB + (Λ′−Λ)μ`.
    /// Returns `None` if the result is not a Gaussian.
    pub(super) fn accelerated(
        &self,
        q: &InformationGaussian,
        anderson: &mut Anderson,
    ) -> Result<Option<InformationGaussian>, Error> {
        let d = q.dim();
        let mut natural = vec![0.0; d];
        symmetric_mul_vec(&mut natural, q.precision_lower(), q.mean());
        let old = q.precision_lower();
        let change = Mat::from_fn(d, d, |i, j| if i >= j { self.target[(i, j)] - old[(i, j)] } else { 0.0 });
        let mut residual = vec![0.0; d];
        symmetric_mul_vec(&mut residual, change.as_ref(), q.mean());
        axpy(&mut residual, 1.0, &self.gradient);
        let point = pack(old, &natural);
        let Some(packed) = anderson.propose(&point, &pack(change.as_ref(), &residual), &self.whitened) else {
            return Ok(None);
        };
        let (precision, mut mean) = unpack(d, &packed);
        let Ok(next) = InformationGaussian::new(vec![0.0; d], precision) else { return Ok(None) };
        next.cholesky().solve_vec_in_place(&mut mean)?;
        Ok(Some(next.with_mean(mean)))
    }
}

fn add_lower(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    Mat::from_fn(a.nrows(), a.ncols(), |i, j| if i >= j { a[(i, j)] + b[(i, j)] } else { 0.0 })
}

/// `KL(q‖p)` from precisions: `½[tr(Λ_pΛ_q⁻¹) + ‖μ_p−μ_q‖²_{Λ_p} − d − log|Λ_p| + log|Λ_q|]`.
pub(super) fn kl(q: &InformationGaussian, p: &InformationGaussian) -> Result<f64, Error> {
    let d = q.dim();
    // tr(Λ_pΛ_q⁻¹) = ‖L_q⁻¹L_p‖²
    let factor = p.cholesky().factor();
    let lower = Mat::from_fn(d, d, |i, j| if i >= j { factor[(i, j)] } else { 0.0 });
    let trace = q.cholesky().whiten(lower.as_ref())?.squared_norm_l2();
    let difference: Vec<f64> = q.mean().iter().zip(p.mean()).map(|(a, b)| a - b).collect();
    let distance = quadratic_form(p.precision_lower(), &difference);
    Ok(0.5 * (trace + distance - d as f64 - p.cholesky().log_det() + q.cholesky().log_det()))
}
