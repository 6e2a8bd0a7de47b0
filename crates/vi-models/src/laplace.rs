//! Laplace's approximation: the Gaussian at the posterior's mode with its curvature there.

mod newton;

use vi_core::{Belief, DenseGaussian, Error, Likelihood};
use vi_linalg::faer::MatRef;

use crate::whitened::{Whitened, squared_norm};
use crate::{ModelError, check};

/// When Newton's method stops; checked by [`new`](Self::new), sensible by [`default`](Self::default).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LaplaceSettings {
    tolerance: f64,
    max_iterations: usize,
}

impl LaplaceSettings {
    /// Stops when Newton's decrement `√(gᵀH⁻¹g)` is at most `tolerance`, or after `max_iterations` steps.
    ///
    /// The decrement is the length of the next step in posterior standard deviations, so it has no units and
    /// depends on no scaling of the columns. Convergence is quadratic, and one step more is taken once the tolerance is met:
    /// the mode returned is usually good to rounding.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` unless `tolerance > 0` is finite and `max_iterations ≥ 1`.
    ///
    /// ```
    /// use vi_models::laplace::LaplaceSettings;
    /// assert!(LaplaceSettings::new(1e-6, 20).is_ok());
    /// assert!(LaplaceSettings::new(0.0, 20).is_err());
    /// ```
    pub fn new(tolerance: f64, max_iterations: usize) -> Result<Self, ModelError> {
        if !(tolerance > 0.0 && tolerance.is_finite()) {
            let requirement = "positive and finite";
            return Err(Error::Setting { name: "tolerance", value: tolerance, requirement }.into());
        }
        if max_iterations == 0 {
            return Err(Error::Setting { name: "max_iterations", value: 0.0, requirement: "at least 1" }.into());
        }
        Ok(Self { tolerance, max_iterations })
    }

    /// The largest decrement that counts as converged.
    #[must_use]
    pub fn tolerance(&self) -> f64 {
        self.tolerance
    }

    /// The largest number of Newton steps.
    #[must_use]
    pub fn max_iterations(&self) -> usize {
        self.max_iterations
    }
}

impl Default for LaplaceSettings {
    /// Tolerance `10⁻¹⁰`, 200 steps.
    fn default() -> Self {
        Self { tolerance: 1e-10, max_iterations: 200 }
    }
}

/// Why the search for the mode ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LaplaceStatus {
    /// Newton's decrement is within the tolerance.
    Converged,
    /// The steps ran out first.
    MaxIterations,
    /// No step raises the log joint density beyond its rounding error, and the decrement is still above the tolerance.
    Stalled,
}

/// How the search for the mode went.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct LaplaceInfo {
    /// Newton steps taken, the one after convergence included if it helped.
    pub iterations: usize,
    /// `‖∇_θ log p(y, θ)‖₂` at the returned mean, in nats per unit of `θ`.
    pub gradient_norm: f64,
    /// Newton's decrement `√(gᵀH⁻¹g)` there: the distance to the mode in posterior standard deviations.
    pub decrement: f64,
    /// Why it ended.
    pub status: LaplaceStatus,
}

/// Laplace's approximation of a posterior.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LaplacePosterior {
    /// `N(θ̂, H⁻¹)`.
    pub belief: DenseGaussian,
    /// Laplace's approximation of `log p(y)`, in nats.
    pub log_evidence: f64,
    /// How the search for the mode went.
    pub info: LaplaceInfo,
}

/// Laplace's approximation of the posterior of `θ` under `p(yᵢ | xᵢᵀθ)` and the prior `N(μ₀, P₀)`.
///
/// ```text
/// θ̂ = argmax log p(y, θ)        H = −∇² log p(y, θ̂) = P₀⁻¹ + Xᵀ·diag(wᵢ)·X,   wᵢ = −∂² log p(yᵢ | xᵢᵀθ̂)
/// q = N(θ̂, H⁻¹)                 log p(y) ≈ log p(y, θ̂) + ½d·log 2π − ½log det H
/// ```
///
/// `x` is `n × d`, `y` has length `n`. The mode is found by Newton's method with a backtracking line search, in
/// coordinates in which the prior is `N(0, I)`; for a log-concave likelihood it is unique. It has been found on separable
/// classes with `σ₀` up to `10⁴`; beyond `10⁸` rounding can stall the search, and the status says so. For a [`GaussianLikelihood`](vi_core::GaussianLikelihood) the answer is exact.
/// Cost `nd² + d³/3` flops per step, `2nd² + 3d³` once.
///
/// # Errors
/// [`ModelError::Core`] with `Empty` (`n = 0`), `Dimension` (columns of `x`, length of `y`), `Row` with `NonFinite` or
/// `Label`, `NonFinite` when the log joint density is not finite at the prior mean, `NotPositiveDefinite` when the
/// likelihood is not log-concave where it matters, or rounding leaves no posterior covariance. Not converging is no
/// error: [`LaplaceInfo::status`] says so.
///
/// ```
/// use vi_core::{Belief, BernoulliLogit, DenseGaussian, Mixture8};
/// use vi_linalg::faer::MatRef;
/// use vi_models::laplace::{self, LaplaceSettings, LaplaceStatus};
///
/// // Separable: the likelihood alone has no maximum.
/// let x = MatRef::from_row_major_slice(&[1.0, -2.0, 1.0, -1.0, 1.0, 1.0, 1.0, 3.0], 4, 2);
/// let y = [0.0, 0.0, 1.0, 1.0];
/// let prior = DenseGaussian::isotropic(&[0.0, 0.0], 100.0)?;
/// let fit = laplace::fit(&prior, &BernoulliLogit(Mixture8), x, &y, &LaplaceSettings::default())?;
/// assert_eq!(fit.info.status, LaplaceStatus::Converged);
/// assert!(fit.belief.mean()[1] > 5.0);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn fit<L: Likelihood>(
    prior: &DenseGaussian,
    likelihood: &L,
    x: MatRef<'_, f64>,
    y: &[f64],
    settings: &LaplaceSettings,
) -> Result<LaplacePosterior, ModelError> {
    check::rows(prior.dim(), x)?;
    check::length("y", x.nrows(), y.len())?;
    for (t, &label) in y.iter().enumerate() {
        likelihood.check_label(label).map_err(|error| error.at_row(t))?;
    }
    let model = Whitened::new(prior, x)?;
    let newton::Mode { point, iterations, status } = newton::minimise(&model, likelihood, y, settings)?;
    let info = LaplaceInfo {
        iterations,
        gradient_norm: squared_norm(&model.gradient_by_parameter(&point.gradient)).sqrt(),
        decrement: point.decrement,
        status,
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
