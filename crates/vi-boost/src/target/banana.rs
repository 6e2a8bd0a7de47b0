//! A Gaussian bent along a parabola.

use vi_linalg::faer::MatMut;

use super::LogDensity;
use crate::BoostError;
use crate::component::HALF_LN_2PI;
use crate::error::check_positive_entries;
use vi_core::check;

/// A Gaussian bent along a parabola: `θ₁ ~ N(0, width²)`, `θ₂ | θ₁ ~ N(bend·(θ₁² − width²), 1)`, normalised: `log ∫f = 0`.
///
/// Its mean is 0, its covariance `diag(width², 1 + 2·bend²·width⁴)`.
///
/// ```
/// use vi_boost::{LogDensity, target::Banana};
/// let banana = Banana::new(3.0, 0.3)?;
/// assert!(banana.log_density(&[3.0, 0.0]) > banana.log_density(&[3.0, 2.0]));
/// # Ok::<(), vi_boost::BoostError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Banana {
    width: f64,
    bend: f64,
}

impl Banana {
    /// The density with these parameters.
    ///
    /// # Errors
    /// [`BoostError::Core`] with `NonFinite` or `Entry` unless `width` is positive and `bend` finite.
    pub fn new(width: f64, bend: f64) -> Result<Self, BoostError> {
        check_positive_entries("width", &[width])?;
        check::finite("bend", &[bend])?;
        Ok(Self { width, bend })
    }

    fn residual(&self, theta: &[f64]) -> f64 {
        theta[1] - self.bend * (theta[0] * theta[0] - self.width * self.width)
    }
}

impl LogDensity for Banana {
    fn dim(&self) -> usize {
        2
    }

    fn log_density(&self, theta: &[f64]) -> f64 {
        let (u, v) = (theta[0] / self.width, self.residual(theta));
        -0.5 * (u * u + v * v) - self.width.ln() - 2.0 * HALF_LN_2PI
    }

    fn gradient(&self, theta: &[f64], out: &mut [f64]) -> bool {
        let v = self.residual(theta);
        out[0] = -theta[0] / (self.width * self.width) + 2.0 * self.bend * theta[0] * v;
        out[1] = -v;
        true
    }

    fn hessian(&self, theta: &[f64], mut out: MatMut<'_, f64>) -> bool {
        let (v, slope) = (self.residual(theta), 2.0 * self.bend * theta[0]);
        out[(0, 0)] = -1.0 / (self.width * self.width) + 2.0 * self.bend * v - slope * slope;
        out[(0, 1)] = slope;
        out[(1, 0)] = slope;
        out[(1, 1)] = -1.0;
        true
    }
}
