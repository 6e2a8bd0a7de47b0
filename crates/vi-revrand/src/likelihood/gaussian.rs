//! The Gaussian likelihood, with noise of unknown variance.

use rand::{Rng, RngExt};
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};
use vi_core::special::{HALF_LN_2PI, normal_cdf};

use super::GlmLikelihood;
use crate::RevrandError;
use crate::basis::{Bound, Parameter};

/// The likelihood of `y = f + noise`, `noise ~ N(0, σ²)`; the parameter `γ` is the variance `σ²`.
///
/// ```
/// use vi_revrand::likelihood::{Gaussian, GlmLikelihood};
/// let noise = Gaussian::new(0.25)?;
/// assert_eq!(noise.derivatives(1.0, 1.0, 0.5)[1..], [2.0, -4.0, 0.0]);
/// assert!(Gaussian::new(0.0).is_err());
/// # Ok::<(), vi_revrand::RevrandError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct Gaussian {
    variance: f64,
    bound: Bound,
}

impl Gaussian {
    /// Noise with initial variance `variance`.
    ///
    /// # Errors
    /// [`RevrandError::OutOfBounds`] unless it is positive and finite; `Setting` unless `10⁻¹⁵⁰ ≤ variance ≤ 10¹⁵⁰`.
    pub fn new(variance: f64) -> Result<Self, RevrandError> {
        let own = Self::bounded(variance, Bound::POSITIVE)?;
        vi_core::GaussianLikelihood::new(variance)?;
        Ok(own)
    }

    /// Noise whose variance is learned between the ends of `bound`.
    ///
    /// # Errors
    /// [`RevrandError::OutOfBounds`] unless `variance` is between them; [`RevrandError::Bounds`] if they allow a negative
    /// variance.
    pub fn bounded(variance: f64, bound: Bound) -> Result<Self, RevrandError> {
        let (lower, upper) = (bound.lower(), bound.upper());
        if lower < 0.0 {
            return Err(RevrandError::Bounds { lower, upper });
        }
        bound.check("noise variance", 0, variance)?;
        Ok(Self { variance, bound })
    }

    /// The variance `σ²`.
    #[must_use]
    pub fn noise_variance(&self) -> f64 {
        self.variance
    }
}

impl TryFrom<Stored> for Gaussian {
    type Error = RevrandError;

    fn try_from(stored: Stored) -> Result<Self, RevrandError> {
        Self::bounded(stored.variance, stored.bound)
    }
}

/// The stored form.
#[derive(Debug, Clone, Copy, Deserialize)]
struct Stored {
    variance: f64,
    bound: Bound,
}

impl GlmLikelihood for Gaussian {
    fn family(&self) -> &'static str {
        "Gaussian"
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![Parameter { name: "noise variance", start: self.variance, bound: self.bound }]
    }

    fn set_parameters(&mut self, gamma: &[f64]) {
        if let [variance] = gamma {
            self.variance = *variance;
        }
    }

    fn is_discrete(&self) -> bool {
        false
    }

    fn supports(&self, y: f64, _: f64) -> bool {
        y.is_finite()
    }

    fn log_density(&self, y: f64, _: f64, f: f64) -> f64 {
        let residual = y - f;
        -HALF_LN_2PI - 0.5 * (self.variance.ln() + residual * residual / self.variance)
    }

    fn derivatives(&self, y: f64, trials: f64, f: f64) -> [f64; 4] {
        let precision = 1.0 / self.variance;
        [self.log_density(y, trials, f), (y - f) * precision, -precision, 0.0]
    }

    fn parameter_derivatives(&self, y: f64, _: f64, f: f64, out: &mut [[f64; 2]]) {
        let precision = 1.0 / self.variance;
        let residual = y - f;
        if let [one] = out {
            *one = [0.5 * precision * (residual * residual * precision - 1.0), precision * precision];
        }
    }

    fn mean(&self, _: f64, f: f64) -> f64 {
        f
    }

    fn variance(&self, _: f64, _: f64) -> f64 {
        self.variance
    }

    fn cdf(&self, y: f64, _: f64, f: f64) -> f64 {
        normal_cdf((y - f) / self.variance.sqrt())
    }

    fn draw(&self, _: f64, f: f64, rng: &mut impl Rng) -> Result<f64, RevrandError> {
        let z: f64 = rng.sample(StandardNormal);
        Ok(f + self.variance.sqrt() * z)
    }

    fn closed_moments(&self, _: f64, a: f64, v: f64) -> Option<[f64; 2]> {
        Some([a, self.variance + v])
    }

    fn closed_predictive(&self, y: f64, a: f64, v: f64) -> Option<[f64; 2]> {
        let wider = Self { variance: self.variance + v, ..*self };
        Some([wider.log_density(y, 1.0, a), wider.cdf(y, 1.0, a)])
    }
}
