//! Gaussians as an exponential family: natural and mean parameters (R-VGA Theorem 4, eqs 95-106).

use vi_linalg::faer::{Mat, MatRef};

use crate::Error;
use crate::belief::{Belief, DenseGaussian, check_symmetric, factor};
use crate::check;
use crate::special::HALF_LN_2PI;

/// The natural parameters `η₁ = P⁻¹μ`, `η₂ = −½P⁻¹` of `N(μ, P)`.
///
/// ```
/// use vi_core::{NaturalParameters, Belief, DenseGaussian};
/// use vi_linalg::faer::mat;
/// let mut eta = NaturalParameters::of(&DenseGaussian::isotropic(&[0.0], 1.0)?)?;
/// // E log N(y | θ, 1) at q = N(1, ½), y = 2: the gradients are y − μ = 1 and −½ (Theorem 4 at its own solution).
/// eta.step(&[1.0], &[1.0], mat![[-0.5]].as_ref())?;
/// let posterior = eta.to_belief()?;
/// assert!((posterior.mean()[0] - 1.0).abs() < 1e-15 && (posterior.covariance()[(0, 0)] - 0.5).abs() < 1e-15);
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct NaturalParameters {
    /// `η₁`, length `d`.
    pub first: Vec<f64>,
    /// `η₂`, `d × d`, symmetric, negative definite.
    pub second: Mat<f64>,
}

/// The mean parameters `m₁ = E θ = μ`, `m₂ = E θθᵀ = P + μμᵀ`, dual to [`NaturalParameters`].
#[derive(Debug, Clone)]
pub struct MeanParameters {
    /// `m₁`, length `d`.
    pub first: Vec<f64>,
    /// `m₂`, `d × d`, symmetric.
    pub second: Mat<f64>,
}

impl NaturalParameters {
    /// The natural parameters of a belief. Cost `d³`.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`], [`Error::Overflow`].
    pub fn of(belief: &DenseGaussian) -> Result<Self, Error> {
        let precision = belief.cholesky()?.inverse();
        let d = belief.dim();
        let first: Vec<f64> = (0..d).map(|i| (0..d).map(|j| precision[(i, j)] * belief.mean()[j]).sum()).collect();
        check::results("P⁻¹μ", first.iter().copied())?;
        Ok(Self { first, second: Mat::from_fn(d, d, |i, j| -0.5 * precision[(i, j)]) })
    }

    /// The belief with these parameters. Cost `d³`.
    ///
    /// # Errors
    /// [`Error::Dimension`], [`Error::NotPositiveDefinite`] unless `−η₂` is positive definite, [`Error::Overflow`] if the mean or
    /// the covariance is not finite.
    pub fn to_belief(&self) -> Result<DenseGaussian, Error> {
        let cholesky = self.precision()?;
        let mut mean = self.first.clone();
        cholesky.solve_vec_in_place(&mut mean)?;
        check::results("P·η₁", mean.iter().copied())?;
        let covariance = cholesky.inverse();
        finite_matrix("(−2η₂)⁻¹", covariance.as_ref())?;
        Ok(DenseGaussian::from_parts(mean, covariance))
    }

    /// The log-partition function `F(η) = ½μᵀP⁻¹μ + ½log|P| + (d/2)log 2π`.
    ///
    /// # Errors
    /// As [`to_belief`](Self::to_belief).
    pub fn log_partition(&self) -> Result<f64, Error> {
        let cholesky = self.precision()?;
        let half_square = 0.5 * cholesky.quadratic_form_inverse(&self.first)?;
        check::result("F(η)", half_square - 0.5 * cholesky.log_det() + self.first.len() as f64 * HALF_LN_2PI)
    }

    /// The inner product `⟨η, m⟩ = η₁ᵀm₁ + tr(η₂m₂)`.
    ///
    /// # Errors
    /// [`Error::Dimension`], [`Error::Overflow`].
    pub fn inner(&self, m: &MeanParameters) -> Result<f64, Error> {
        let d = self.first.len();
        check_square("η₂", d, &self.second)?;
        check::length("mean parameters", d, m.first.len())?;
        check_square("m₂", d, &m.second)?;
        let linear: f64 = self.first.iter().zip(&m.first).map(|(e, m)| e * m).sum();
        let quadratic: f64 =
            (0..d).flat_map(|i| (0..d).map(move |j| (i, j))).map(|ij| self.second[ij] * m.second[ij]).sum();
        check::result("⟨η, m⟩", linear + quadratic)
    }

    /// Takes Theorem 4's step `η ← η + ∇_m E_q[log p]` (eq 97), given the gradients of `E_q[log p]` by `μ` and `P` at the `q` of
    /// mean `mean`: `∂/∂m₁ = ∂/∂μ − 2(∂/∂P)μ`, `∂/∂m₂ = ∂/∂P` (eqs 104-105).
    ///
    /// # Errors
    /// [`Error::Dimension`], [`Error::NonFinite`], [`Error::NotSymmetric`], [`Error::Overflow`]; the parameters are then as
    /// they were.
    pub fn step(&mut self, mean: &[f64], by_mean: &[f64], by_covariance: MatRef<'_, f64>) -> Result<(), Error> {
        let d = self.first.len();
        check::length("mean", d, mean.len())?;
        check::length("by_mean", d, by_mean.len())?;
        check::length("rows of by_covariance", d, by_covariance.nrows())?;
        check::length("columns of by_covariance", d, by_covariance.ncols())?;
        check_square("η₂", d, &self.second)?;
        check::finite("mean", mean)?;
        check::finite("by_mean", by_mean)?;
        check_symmetric("by_covariance", by_covariance)?;
        let bent = |i: usize| (0..d).map(|j| by_covariance[(i, j)] * mean[j]).sum::<f64>();
        let first: Vec<f64> = (0..d).map(|i| self.first[i] + (by_mean[i] - 2.0 * bent(i))).collect();
        let second = &self.second + by_covariance;
        check::results("η₁ after the step", first.iter().copied())?;
        finite_matrix("η₂ after the step", second.as_ref())?;
        (self.first, self.second) = (first, second);
        Ok(())
    }

    /// `η ← η + (η′ − η₀)`, of one dimension.
    pub(crate) fn add_gain(&mut self, part: &Self, start: &Self) {
        for j in 0..self.first.len() {
            self.first[j] += part.first[j] - start.first[j];
            for i in 0..self.first.len() {
                self.second[(i, j)] += part.second[(i, j)] - start.second[(i, j)];
            }
        }
    }

    fn precision(&self) -> Result<vi_linalg::Cholesky, Error> {
        let d = self.first.len();
        check_square("η₂", d, &self.second)?;
        factor("−2η₂", Mat::from_fn(d, d, |i, j| -2.0 * self.second[(i, j)]).as_ref())
    }
}

fn check_square(argument: &'static str, d: usize, matrix: &Mat<f64>) -> Result<(), Error> {
    check::length(argument, d, matrix.nrows())?;
    check::length(argument, d, matrix.ncols())
}

impl MeanParameters {
    /// The mean parameters of a belief: `∇F` at its natural ones. Cost `d²`.
    ///
    /// # Errors
    /// [`Error::Overflow`] if some `μᵢμⱼ` is not finite.
    pub fn of(belief: &DenseGaussian) -> Result<Self, Error> {
        let mean = belief.mean();
        let mut second = belief.covariance();
        for j in 0..mean.len() {
            for i in 0..mean.len() {
                second[(i, j)] += mean[i] * mean[j];
            }
        }
        finite_matrix("P + μμᵀ", second.as_ref())?;
        Ok(Self { first: mean.to_vec(), second })
    }
}

/// Checks that every entry of a result is finite.
fn finite_matrix(quantity: &'static str, matrix: MatRef<'_, f64>) -> Result<(), Error> {
    matrix
        .col_iter()
        .try_for_each(|column| column.iter().try_for_each(|value| check::result(quantity, *value).map(drop)))
}
