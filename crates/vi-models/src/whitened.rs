//! A regression in coordinates in which its prior is standard: `θ = μ₀ + Lz` with `P₀ = LLᵀ`, so that `z ~ N(0, I)`.
//!
//! The posterior precision of `z` is `I + AᵀWA` with `A = XL`: bounded below by the identity however flat or
//! ill-conditioned the prior, and no covariance is ever inverted.

use vi_core::{Belief, DenseGaussian, Error};
use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, Mat, MatRef, Par};
use vi_linalg::kernels::{dot, mirror_lower, symmetric_rank_r};
use vi_linalg::{Cholesky, LinalgError, cholesky};

use crate::ModelError;

pub(crate) struct Whitened {
    /// `μ₀`, length `d`.
    mean: Vec<f64>,
    /// `L`, `d × d`.
    factor: Cholesky,
    /// `A = XL`, `n × d`.
    pub(crate) rows: Mat<f64>,
    /// `Xμ₀`, length `n`.
    pub(crate) offset: Vec<f64>,
    /// `‖aᵢ‖ = √(xᵢᵀP₀xᵢ)`, length `n`.
    pub(crate) row_norms: Vec<f64>,
}

impl Whitened {
    /// Cost `d³/3 + 2nd²` flops.
    pub(crate) fn new(prior: &DenseGaussian, x: MatRef<'_, f64>) -> Result<Self, ModelError> {
        let factor = prior.cholesky()?;
        let mut rows = Mat::zeros(x.nrows(), x.ncols());
        matmul(rows.as_mut(), Accum::Replace, x, factor.factor(), 1.0, Par::Seq);
        let offset = product(x, prior.mean());
        let row_norms = (0..rows.nrows()).map(|i| rows.row(i).norm_l2()).collect();
        Ok(Self { mean: prior.mean().to_vec(), factor, rows, offset, row_norms })
    }

    /// The predictors `t = Xμ₀ + Az = Xθ`. Cost `2nd`.
    pub(crate) fn predictors(&self, z: &[f64]) -> Vec<f64> {
        let mut t = product(self.rows.as_ref(), z);
        for (t, offset) in t.iter_mut().zip(&self.offset) {
            *t += offset;
        }
        t
    }

    /// `Aᵀv` for `v` of length `n`. Cost `2nd`.
    pub(crate) fn transpose_product(&self, v: &[f64]) -> Vec<f64> {
        product(self.rows.as_ref().transpose(), v)
    }

    /// The factor of `B = I + AᵀWA`, `W` diagonal. Cost `nd² + d³/3` flops.
    pub(crate) fn precision(&self, weights: &[f64]) -> Result<Cholesky, ModelError> {
        let (n, d) = self.rows.shape();
        let weighted = Mat::from_fn(n, d, |i, j| weights[i] * self.rows[(i, j)]);
        let mut b = Mat::identity(d, d);
        symmetric_rank_r(b.as_mut(), 1.0, self.rows.as_ref().transpose(), weighted.as_ref().transpose(), Par::Seq);
        factor("posterior precision", b.as_ref())
    }

    /// `θ = μ₀ + Lz`.
    pub(crate) fn parameter(&self, z: &[f64]) -> Vec<f64> {
        let mut theta = product(self.factor.factor(), z);
        for (theta, mean) in theta.iter_mut().zip(&self.mean) {
            *theta += mean;
        }
        theta
    }

    /// The gradient by `θ`, `L⁻ᵀg`, of a function whose gradient by `z` is `g`.
    pub(crate) fn gradient_by_parameter(&self, g: &[f64]) -> Vec<f64> {
        let mut column = Mat::from_fn(g.len(), 1, |i, _| g[i]);
        cholesky::solve_upper_in_place(self.factor.factor(), column.as_mut(), Par::Seq);
        column.col(0).iter().copied().collect()
    }

    /// The belief `N(μ₀ + Lz, LB⁻¹Lᵀ)` from the factor of `B`. Cost `2d³` flops.
    pub(crate) fn belief(&self, z: &[f64], precision: &Cholesky) -> Result<DenseGaussian, ModelError> {
        // B = CCᵀ: LB⁻¹Lᵀ = VᵀV with V = C⁻¹Lᵀ.
        let v = precision.whiten(self.factor.factor().transpose())?;
        let mut covariance = Mat::zeros(v.ncols(), v.ncols());
        symmetric_rank_r(covariance.as_mut(), 1.0, v.as_ref().transpose(), v.as_ref().transpose(), Par::Seq);
        mirror_lower(covariance.as_mut());
        Ok(DenseGaussian::new(&self.parameter(z), covariance.as_ref())?)
    }

    /// `MLᵀ` for `M` of `m × d`: rows in `z` become rows in `θ`.
    pub(crate) fn rows_by_parameter(&self, m: MatRef<'_, f64>) -> Mat<f64> {
        let mut out = Mat::zeros(m.nrows(), m.ncols());
        matmul(out.as_mut(), Accum::Replace, m, self.factor.factor().transpose(), 1.0, Par::Seq);
        out
    }
}

/// `Mv`.
pub(crate) fn product(m: MatRef<'_, f64>, v: &[f64]) -> Vec<f64> {
    let mut out = Mat::zeros(m.nrows(), 1);
    let v = MatRef::from_column_major_slice(v, v.len(), 1);
    matmul(out.as_mut(), Accum::Replace, m, v, 1.0, Par::Seq);
    out.col(0).iter().copied().collect()
}

/// `‖v‖²`.
pub(crate) fn squared_norm(v: &[f64]) -> f64 {
    dot(v, v)
}

/// Factors the lower triangle of `matrix`, naming it in the error.
pub(crate) fn factor(argument: &'static str, matrix: MatRef<'_, f64>) -> Result<Cholesky, ModelError> {
    Cholesky::new(matrix).map_err(|error| match error {
        LinalgError::NotPositiveDefinite { pivot } => Error::NotPositiveDefinite { argument, pivot }.into(),
        other => other.into(),
    })
}
