//! A Gaussian given by its mean and the Cholesky factor of its precision.

use vi_linalg::Cholesky;
use vi_linalg::faer::{Mat, MatRef};

use crate::Error;
use crate::belief::{Belief, DenseGaussian, factor};
use crate::check;

/// The Gaussian `N(μ, Λ⁻¹)` with `Λ = LLᵀ` factored, the form in which a pass over the rows uses it.
#[derive(Debug, Clone)]
pub struct InformationGaussian {
    mean: Vec<f64>,
    precision: Mat<f64>,
    cholesky: Cholesky,
}

impl InformationGaussian {
    /// The Gaussian of mean `mean` and precision `precision` (`d × d`; its lower triangle is read). Cost `d³/3`.
    ///
    /// # Errors
    /// [`Error::Dimension`], [`Error::NonFinite`], [`Error::NotPositiveDefinite`].
    pub fn new(mean: Vec<f64>, precision: Mat<f64>) -> Result<Self, Error> {
        check::finite("mean", &mean)?;
        check::length("rows of the precision", mean.len(), precision.nrows())?;
        check::length("columns of the precision", mean.len(), precision.ncols())?;
        let cholesky = factor("precision", precision.as_ref())?;
        Ok(Self { mean, precision, cholesky })
    }

    /// The same Gaussian as `belief`. Cost `d³`.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`].
    pub fn of(belief: &DenseGaussian) -> Result<Self, Error> {
        Self::new(belief.mean().to_vec(), belief.cholesky()?.inverse())
    }

    /// The same Gaussian with its covariance. Cost `2d³/3`.
    #[must_use]
    pub fn to_belief(&self) -> DenseGaussian {
        DenseGaussian::from_parts(self.mean.clone(), self.cholesky.inverse())
    }

    /// Dimension `d`.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.mean.len()
    }

    /// The mean `μ`.
    #[must_use]
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The precision `Λ`; only its lower triangle is valid.
    #[must_use]
    pub fn precision_lower(&self) -> MatRef<'_, f64> {
        self.precision.as_ref()
    }

    /// The factor `L` of `Λ = LLᵀ`.
    #[must_use]
    pub fn cholesky(&self) -> &Cholesky {
        &self.cholesky
    }
}

impl InformationGaussian {
    /// The Gaussian with the same precision and another mean.
    pub(super) fn with_mean(self, mean: Vec<f64>) -> Self {
        Self { mean, ..self }
    }

    /// `μ ← μ + scale·shift`.
    pub(super) fn shift_mean(&mut self, scale: f64, shift: &[f64]) {
        vi_linalg::kernels::axpy(&mut self.mean, scale, shift);
    }
}
