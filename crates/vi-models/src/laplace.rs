//! Laplace's approximation: the Gaussian at the posterior's mode with its curvature there.

mod newton;

use vi_core::{Belief, DenseGaussian, Likelihood, Stop};
use vi_linalg::faer::MatRef;

use crate::whitened::{Whitened, squared_norm};
use crate::{ModelError, check};

/// The settings of the search for the mode.
///
/// ```
/// use vi_models::laplace::LaplaceSettings;
/// let short = LaplaceSettings { max_iterations: 20, ..LaplaceSettings::default() };
/// assert!(short.check().is_ok());
/// assert!(LaplaceSettings { tolerance: 0.0, ..short }.check().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LaplaceSettings {
    /// The search stops when Newton's decrement `√(gᵀH⁻¹g)` is at most this.
    ///
    /// The decrement is the length of the next step in posterior standard deviations, so it has no units and depends on no
    /// scaling of the columns. Convergence is quadratic, and one further step is taken once the tolerance is met: the mode
    /// returned is usually accurate to rounding.
    pub tolerance: f64,
    /// The largest number of Newton steps.
    pub max_iterations: usize,
}

impl Default for LaplaceSettings {
    /// The default is a tolerance of `10⁻¹⁰` and at most 200 steps.
    fn default() -> Self {
        Self { tolerance: 1e-10, max_iterations: 200 }
    }
}

impl LaplaceSettings {
    /// Checks the settings, as [`fit`] does.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` unless the tolerance is positive and finite and the limit from 1 to 10⁶.
    pub fn check(&self) -> Result<(), ModelError> {
        check::positive("tolerance", self.tolerance)?;
        Ok(check::limit("max_iterations", self.max_iterations)?)
    }
}

/// A report of the search for the mode.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct LaplaceInfo {
    /// The number of Newton steps taken, including the one after convergence if it helped.
    pub iterations: usize,
    /// `‖∇_θ log p(y, θ)‖₂` at the returned mean, in nats per unit of `θ`.
    pub gradient_norm: f64,
    /// Newton's decrement `√(gᵀH⁻¹g)` at the returned mean: the distance to the mode in posterior standard deviations.
    pub decrement: f64,
    /// Why the search stopped.
    pub stop: Stop,
}

/// Laplace's approximation of a posterior.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LaplacePosterior {
    /// The Gaussian `N(θ̂, H⁻¹)`.
    pub belief: DenseGaussian,
    /// Laplace's approximation of `log p(y)`, in nats.
    pub log_evidence: f64,
    /// A report of the search for the mode.
    pub info: LaplaceInfo,
}

/// Laplace's approximation of the posterior of `θ` under `p(yᵢ | xᵢᵀθ)` and the prior `N(μ₀, P₀)`.
///
/// ```text
/// θ̂ = argmax log p(y, θ)        H = −∇² log p(y, θ̂) = P₀⁻¹ + Xᵀ·diag(wᵢ)·X,   wᵢ = −∂² log p(yᵢ | xᵢᵀθ̂)
/// q = N(θ̂, H⁻¹)                 log p(y) ≈ log p(y, θ̂) + ½d·log 2π − ½log det H
/// ```
///
/// `x` is `n × d`, `y` has length `n`. The mode is found by Newton's method with a backtracking line search, in coordinates in
/// which the prior is `N(0, I)`; for a log-concave likelihood it is unique. It has been found on separable classes with `σ₀` up
/// to `10⁴`; beyond `10⁸` rounding can stall the search, which [`LaplaceInfo::stop`] reports. For a
/// [`GaussianLikelihood`](vi_core::GaussianLikelihood) the answer is exact. Cost `nd² + d³/3` flops per step, `2nd² + 3d³` once.
///
/// # Errors
/// [`ModelError::Core`] with `Empty` (`n = 0`), `Dimension` (columns of `x`, length of `y`), `Row` with `NonFinite` or `Label`,
/// `NonFinite` when the log joint density is not finite at the prior mean, `NotPositiveDefinite` when the likelihood is not
/// log-concave near the mode, or rounding leaves no posterior covariance. Not converging is not an error: [`LaplaceInfo::stop`]
/// reports it.
///
/// ```
/// use vi_core::{Stop, Belief, BernoulliLogit, DenseGaussian, Mixture8};
/// use vi_linalg::faer::MatRef;
/// use vi_models::laplace::{self, LaplaceSettings};
///
/// // Separable: the likelihood alone has no maximum.
/// let x = MatRef::from_row_major_slice(&[1.0, -2.0, 1.0, -1.0, 1.0, 1.0, 1.0, 3.0], 4, 2);
/// let y = [0.0, 0.0, 1.0, 1.0];
/// let prior = DenseGaussian::isotropic(&[0.0, 0.0], 100.0)?;
/// let fit = laplace::fit(&prior, x, &y, &BernoulliLogit(Mixture8), &LaplaceSettings::default())?;
/// assert_eq!(fit.info.stop, Stop::Converged);
/// assert!(fit.belief.mean()[1] > 5.0);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn fit<L: Likelihood>(
    prior: &DenseGaussian,
    x: MatRef<'_, f64>,
    y: &[f64],
    likelihood: &L,
    settings: &LaplaceSettings,
) -> Result<LaplacePosterior, ModelError> {
    settings.check()?;
    check::rows(prior.dim(), x)?;
    check::length("y", x.nrows(), y.len())?;
    for (t, &label) in y.iter().enumerate() {
        likelihood.check_label(label).map_err(|error| error.at_row(t))?;
    }
    let model = Whitened::new(prior, x)?;
    let newton::Mode { point, iterations, stop } = newton::minimise(&model, likelihood, y, settings)?;
    let info = LaplaceInfo {
        iterations,
        gradient_norm: squared_norm(&model.gradient_by_parameter(&point.gradient)).sqrt(),
        decrement: point.decrement,
        stop,
    };
    Ok(LaplacePosterior {
        belief: model.belief(&point.z, &point.precision)?,
        // log det H = log det B − log det P₀: the prior's constants and d·log 2π cancel.
        log_evidence: -point.objective.value - 0.5 * point.precision.log_det(),
        info,
    })
}

#[cfg(test)]
mod tests;
