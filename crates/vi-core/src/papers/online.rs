//! Online Newton and online natural gradient: the same filters under other names (R-VGA Theorems 2 and 3).

use vi_linalg::faer::{Mat, MatRef};

use crate::Error;
use crate::belief::{Belief, DenseGaussian, check_symmetric, factor};
use crate::check;

/// Online Newton descent (eq 39): `Q ← Q + ∇²ℓ(μ)`, `μ ← μ − Q⁻¹∇ℓ(μ)`.
///
/// For a linear-Gaussian model this is the Kalman filter (Theorem 2), `Q = P⁻¹`.
///
/// ```
/// use vi_core::{papers::OnlineNewton, DenseGaussian};
/// use vi_linalg::faer::mat;
/// let mut newton = OnlineNewton::new(&DenseGaussian::isotropic(&[0.0], 1.0)?)?;
/// newton.step(&[-2.0], mat![[1.0]].as_ref())?; // y = 2, x = 1, σ² = 1
/// assert!((newton.mean[0] - 1.0).abs() < 1e-15);
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct OnlineNewton {
    /// The iterate `μ`, length `d`.
    pub mean: Vec<f64>,
    /// The accumulated Hessian `Q`, `d × d`, symmetric.
    pub hessian: Mat<f64>,
}

impl OnlineNewton {
    /// Starts from a prior: `μ = μ₀`, `Q = P₀⁻¹`.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`].
    pub fn new(prior: &DenseGaussian) -> Result<Self, Error> {
        Ok(Self { mean: prior.mean().to_vec(), hessian: prior.cholesky()?.inverse() })
    }

    /// Takes one step, given the gradient (length `d`) and Hessian (`d × d`) of the loss `ℓ_t = −log p(y_t|θ)` at the iterate.
    /// Cost `d³/3`: the covariance form of the same step, a [`filter`](crate::filter), costs `3d²`.
    ///
    /// # Errors
    /// [`Error::Dimension`], [`Error::NonFinite`], [`Error::NotSymmetric`], [`Error::NotPositiveDefinite`],
    /// [`Error::Overflow`] for an iterate beyond the range of floats; the state is then as it was.
    pub fn step(&mut self, gradient: &[f64], hessian: MatRef<'_, f64>) -> Result<(), Error> {
        check_derivatives(self.mean.len(), gradient, hessian)?;
        check_state(self.mean.len(), &self.hessian)?;
        let next = &self.hessian + hessian;
        self.mean = descended(&self.mean, next.as_ref(), gradient, 1.0)?;
        self.hessian = next;
        Ok(())
    }
}

/// Online natural gradient (eq 54): `J ← t/(t+1)·J + 1/(t+1)·I(μ)`, `μ ← μ − 1/(t+1)·J⁻¹∇ℓ(μ)`.
///
/// With the Fisher information `I(μ) = E_y[∇²ℓ(μ)]` this is the extended Kalman filter (Theorem 3), `J_t = P_t⁻¹/(t+1)`.
#[derive(Debug, Clone)]
pub struct NaturalGradient {
    /// The iterate `μ`, length `d`.
    pub mean: Vec<f64>,
    /// The averaged Fisher matrix `J`, `d × d`, symmetric.
    pub fisher: Mat<f64>,
    /// The number `t` of observations seen.
    pub steps: usize,
}

impl NaturalGradient {
    /// Starts from a prior: `μ = μ₀`, `J₀ = P₀⁻¹`.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`].
    pub fn new(prior: &DenseGaussian) -> Result<Self, Error> {
        Ok(Self { mean: prior.mean().to_vec(), fisher: prior.cholesky()?.inverse(), steps: 0 })
    }

    /// Takes one step, given the gradient of the loss (length `d`) and its Fisher information (`d × d`) at the iterate. Cost
    /// `d³/3`.
    ///
    /// # Errors
    /// As [`OnlineNewton::step`].
    pub fn step(&mut self, gradient: &[f64], information: MatRef<'_, f64>) -> Result<(), Error> {
        let d = self.mean.len();
        check_derivatives(d, gradient, information)?;
        check_state(d, &self.fisher)?;
        let t = self.steps as f64 + 1.0;
        let rate = 1.0 / (t + 1.0);
        let next = Mat::from_fn(d, d, |i, j| t * rate * self.fisher[(i, j)] + rate * information[(i, j)]);
        self.mean = descended(&self.mean, next.as_ref(), gradient, rate)?;
        self.fisher = next;
        self.steps += 1;
        Ok(())
    }
}

fn check_state(d: usize, matrix: &Mat<f64>) -> Result<(), Error> {
    check::length("rows of the accumulated matrix", d, matrix.nrows())?;
    check::length("columns of the accumulated matrix", d, matrix.ncols())
}

fn check_derivatives(d: usize, gradient: &[f64], matrix: MatRef<'_, f64>) -> Result<(), Error> {
    check::length("gradient", d, gradient.len())?;
    check::finite("gradient", gradient)?;
    check::length("rows of the matrix", d, matrix.nrows())?;
    check::length("columns of the matrix", d, matrix.ncols())?;
    check_symmetric("matrix", matrix)
}

/// `μ − rate·A⁻¹·gradient`.
fn descended(mean: &[f64], a: MatRef<'_, f64>, gradient: &[f64], rate: f64) -> Result<Vec<f64>, Error> {
    let cholesky = factor("accumulated matrix", a)?;
    let mut step = gradient.to_vec();
    cholesky.solve_vec_in_place(&mut step)?;
    let moved: Vec<f64> = mean.iter().zip(&step).map(|(m, s)| m - rate * s).collect();
    check::results("μ after the step", moved.iter().copied())?;
    Ok(moved)
}
