//! The Cauchy density of the paper's Figure 1 (a).

use vi_linalg::faer::MatMut;

use super::LogDensity;
use crate::BoostError;
use crate::error::check_positive_entries;
use vi_core::check;

/// The Cauchy density `log f(θ) = −log(1 + ((θ−location)/scale)²)`, in one dimension; its integral is `π·scale`.
///
/// ```
/// use vi_boost::{LogDensity, target::Cauchy};
/// let cauchy = Cauchy::new(0.0, 2.0)?;
/// assert_eq!(cauchy.log_density(&[2.0]), -(2.0_f64).ln());
/// assert!((cauchy.log_normaliser() - (2.0 * std::f64::consts::PI).ln()).abs() < 1e-15);
/// # Ok::<(), vi_boost::BoostError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cauchy {
    location: f64,
    scale: f64,
}

impl Cauchy {
    /// The density with these parameters.
    ///
    /// # Errors
    /// [`BoostError::Core`] with `NonFinite` or `Entry` unless `location` is finite and `scale` positive.
    pub fn new(location: f64, scale: f64) -> Result<Self, BoostError> {
        check::finite("location", &[location])?;
        check_positive_entries("scale", &[scale])?;
        Ok(Self { location, scale })
    }

    /// The log normaliser `log ∫f = log(π·scale)`.
    #[must_use]
    pub fn log_normaliser(&self) -> f64 {
        (std::f64::consts::PI * self.scale).ln()
    }
}

impl LogDensity for Cauchy {
    fn dim(&self) -> usize {
        1
    }

    fn log_density(&self, theta: &[f64]) -> f64 {
        let u = (theta[0] - self.location) / self.scale;
        -(u * u).ln_1p()
    }

    fn gradient(&self, theta: &[f64], out: &mut [f64]) -> bool {
        let u = (theta[0] - self.location) / self.scale;
        out[0] = -2.0 * u / (1.0 + u * u) / self.scale;
        true
    }

    fn hessian(&self, theta: &[f64], mut out: MatMut<'_, f64>) -> bool {
        let u = (theta[0] - self.location) / self.scale;
        let square = 1.0 + u * u;
        out[(0, 0)] = 2.0 * ((u * u - 1.0) / square) / square / (self.scale * self.scale);
        true
    }
}
