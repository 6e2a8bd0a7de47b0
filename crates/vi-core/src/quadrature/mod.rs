//! Gaussian expectations and tilted moments of any scalar likelihood by adaptive quadrature.
//!
//! | wanted | by | cost in evaluations of `(log p, ∂, −∂²)` |
//! |---|---|---|
//! | [`expected`]: `E[log p]` and derivatives under `t ~ N(a, ν)` | trapezoid rule where smooth, else Gauss-Kronrod panels | 57 to 449, else up to about 2000 |
//! | [`tilted`]: moments of `p(y\|t)·N(t\|a, ν)/Z`, `log Z` | for one mode the trapezoid rule about it, else Gauss-Kronrod panels about each mode | 32 to 100, else up to [`MOST_EVALUATIONS`] |
//! | [`average`]: the mean of a bounded monotone function | Gauss-Kronrod panels | 192 to [`MOST_EVALUATIONS`] |
//!
//! Everything is deterministic and accurate to [`TOLERANCE`] (averages to 1e-11) relative to the integral of the integrand's
//! absolute value. What does not reach this accuracy within [`MOST_EVALUATIONS`] is an [`Error::Quadrature`], never a silently
//! wrong number.

mod average;
mod gaussian;
mod local;
mod modes;
mod panel;
#[cfg(test)]
mod tests;
mod tilted;
mod trapezoid;

pub use average::average;
pub use gaussian::expected;
pub(crate) use gaussian::expected_slope_curvature;
pub(crate) use modes::modes;
pub use tilted::tilted;

use crate::Error;
use crate::check;
use crate::likelihood::{Expected, GaussianExpectation, Likelihood};

/// Relative tolerance of every quadrature: error over the integral of the integrand's absolute value.
pub const TOLERANCE: f64 = 1e-12;

/// The number of evaluations of the integrand after which a quadrature gives up: one pass of panels stops earlier, and no
/// quadrature makes more than two passes and a search for modes.
pub const MOST_EVALUATIONS: usize = 20_000;

/// Values below this count as 0: relative precision ends at 1e-308.
const NOTHING: f64 = 1e-280;

/// Any [`Likelihood`], with its Gaussian expectations computed by [`expected`] and [`tilted`].
///
/// If these do not converge, methods that return plain numbers return NaN, which every rule refuses as an improper site; call
/// [`expected`] and [`tilted`] themselves for the reason.
///
/// ```
/// use vi_core::quadrature::Quadrature;
/// use vi_core::{BernoulliLogit, Exact, GaussianExpectation};
/// let exact = BernoulliLogit(Exact);
/// let error = Quadrature(exact).log_predictive(1.0, -3.0, 4.0) - exact.log_predictive(1.0, -3.0, 4.0);
/// assert!(error.abs() < 1e-12);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quadrature<L>(
    /// The likelihood.
    pub L,
);

impl<L: Likelihood> Likelihood for Quadrature<L> {
    fn family(&self) -> &'static str {
        self.0.family()
    }

    fn supports(&self, label: f64) -> bool {
        self.0.supports(label)
    }

    fn is_log_concave(&self) -> bool {
        self.0.is_log_concave()
    }

    fn log_density(&self, y: f64, t: f64) -> f64 {
        self.0.log_density(y, t)
    }

    fn slope(&self, y: f64, t: f64) -> f64 {
        self.0.slope(y, t)
    }

    fn curvature(&self, y: f64, t: f64) -> f64 {
        self.0.curvature(y, t)
    }

    fn derivatives(&self, y: f64, t: f64) -> [f64; 3] {
        self.0.derivatives(y, t)
    }

    fn beyond_tangent(&self, y: f64, t: f64, steps: &[f64], out: &mut [[f64; 2]]) {
        self.0.beyond_tangent(y, t, steps, out);
    }

    fn peak(&self, y: f64) -> Option<f64> {
        self.0.peak(y)
    }

    fn fisher_information(&self, t: f64) -> f64 {
        self.0.fisher_information(t)
    }
}

impl<L: Likelihood> GaussianExpectation for Quadrature<L> {
    fn expected_slope_curvature(&self, y: f64, a: f64, nu: f64) -> (f64, f64) {
        expected_slope_curvature(&self.0, y, a, nu).unwrap_or((f64::NAN, f64::NAN))
    }

    fn expected(&self, y: f64, a: f64, nu: f64) -> Expected {
        expected(&self.0, y, a, nu).unwrap_or(Expected::NAN)
    }

    fn log_predictive(&self, y: f64, a: f64, nu: f64) -> f64 {
        tilted(&self.0, y, a, nu).map_or(f64::NAN, |tilted| tilted.log_normaliser)
    }
}

/// Checks that `N(a, ν)` is a Gaussian, a point mass included.
fn check_gaussian(a: f64, nu: f64) -> Result<(), Error> {
    check::finite("mean", &[a])?;
    check::finite("variance", &[nu])?;
    if nu < 0.0 { Err(Error::NegativeVariance { value: nu }) } else { Ok(()) }
}
