//! Products of square roots of Gaussians.

use vi_linalg::Cholesky;
use vi_linalg::faer::Mat;

use crate::BoostError;
use crate::component::{Component, Raw, Scale};

/// The product `√N(μ₁,Σ₁)·√N(μ₂,Σ₂) = Z·N(m, S)` with `S⁻¹ = ½(Σ₁⁻¹ + Σ₂⁻¹)`, `m = ½S(Σ₁⁻¹μ₁ + Σ₂⁻¹μ₂)`, as `(log Z, N(m, S))`.
/// Cost `d³`.
///
/// # Errors
/// `Linalg` if rounding leaves no covariance.
pub(crate) fn product(a: &Component, b: &Component) -> Result<(f64, Component), BoostError> {
    let d = a.dim();
    let mean_precision = |p: &Mat<f64>, q: &Mat<f64>| Mat::from_fn(d, d, |i, j| 0.5 * (p[(i, j)] + q[(i, j)]));
    let (pa, pb) = (a.spread().precision(), b.spread().precision());
    let covariance = Cholesky::new(mean_precision(&pa, &pb).as_ref())?.inverse();
    let pull: Vec<f64> =
        (0..d).map(|i| (0..d).map(|j| 0.5 * (pa[(i, j)] * a.mean[j] + pb[(i, j)] * b.mean[j])).sum()).collect();
    let mean: Vec<f64> = (0..d).map(|i| (0..d).map(|j| covariance[(i, j)] * pull[j]).sum()).collect();
    let both = Component::full(&mean, covariance.as_ref())?.as_family(a.family())?;
    Ok((Overlap::of(a, b)?.log_z, both))
}

/// `Z = ⟨√N₁, √N₂⟩`, Bhattacharyya's coefficient:
/// `log Z = −⅛δᵀM⁻¹δ − ½log|M| + ¼log|Σ₁| + ¼log|Σ₂|`, `M = ½(Σ₁+Σ₂)`, `δ = μ₂ − μ₁`.
pub(crate) struct Overlap {
    pub(crate) log_z: f64,
    /// `M⁻¹δ`.
    v: Vec<f64>,
    /// `M⁻¹`.
    inverse: Mat<f64>,
}

impl Overlap {
    /// The overlap of two components. Cost `d³`.
    ///
    /// # Errors
    /// `Linalg` if rounding leaves no positive definite mean of the covariances.
    pub(crate) fn of(a: &Component, b: &Component) -> Result<Self, BoostError> {
        let d = a.dim();
        let (sa, sb) = (a.covariance(), b.covariance());
        let middle = Mat::from_fn(d, d, |i, j| 0.5 * (sa[(i, j)] + sb[(i, j)]));
        let cholesky = Cholesky::new(middle.as_ref())?;
        let delta: Vec<f64> = b.mean.iter().zip(&a.mean).map(|(b, a)| b - a).collect();
        let mut v = delta.clone();
        cholesky.solve_vec_in_place(&mut v)?;
        let distance: f64 = v.iter().zip(&delta).map(|(v, d)| v * d).sum();
        let log_z = -0.125 * distance - 0.5 * cholesky.log_det() + 0.25 * (a.log_det() + b.log_det());
        Ok(Self { log_z, v, inverse: cholesky.inverse() })
    }

    /// Adds `scale·∂ log Z` by the numbers of `b` to `out`, without the term `¼log|Σ₂|`.
    pub(crate) fn add_gradient(&self, b: &Component, scale: f64, out: &mut Raw) {
        let d = b.dim();
        for (mean, v) in out.mean.iter_mut().zip(&self.v) {
            *mean -= 0.25 * scale * v;
        }
        // ∂/∂Σ₂ = vvᵀ/16 − M⁻¹/4
        let by_sigma = |i: usize, j: usize| self.v[i] * self.v[j] / 16.0 - 0.25 * self.inverse[(i, j)];
        match &b.scale {
            Scale::Full(full) => {
                let l = full.factor();
                for j in 0..d {
                    for i in j..d {
                        let sum: f64 = (j..d).map(|k| by_sigma(i, k) * l[(k, j)]).sum();
                        out.spread[(i, j)] += 2.0 * scale * sum;
                    }
                }
            }
            Scale::Diagonal(diagonal) => {
                for (j, sd) in diagonal.sd().iter().enumerate() {
                    out.spread[(j, 0)] += 2.0 * scale * sd * by_sigma(j, j);
                }
            }
            Scale::LowRank(low_rank) => {
                let v = low_rank.factor();
                for (j, sd) in low_rank.sd().iter().enumerate() {
                    out.spread[(j, 0)] += 2.0 * scale * sd * by_sigma(j, j);
                    for k in 0..low_rank.rank() {
                        let sum: f64 = (0..d).map(|i| by_sigma(j, i) * v[(i, k)]).sum();
                        out.spread[(j, 1 + k)] += 2.0 * scale * sum;
                    }
                }
            }
        }
    }
}
