//! Predictions of a linear regression.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_core::special::{LN_2PI, normal_cdf};
use vi_core::{DenseGaussian, GaussianLikelihood, Projection};
use vi_linalg::faer::MatRef;

use super::Predictive;
use crate::{Interval, ModelError, check};
use vi_core::special::normal_quantile;

/// The prediction of `y = xᵀθ + N(0, σ²)` at one row.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct LinearPrediction {
    /// The mean of `xᵀθ` and of `y`, `a = xᵀμ`.
    pub mean: f64,
    /// The variance of `xᵀθ`, `ν = xᵀPx`, which more data would reduce.
    pub variance: f64,
    /// The variance of `y`, `ν + σ²`.
    pub predictive_variance: f64,
}

impl LinearPrediction {
    /// The prediction from `xᵀθ ~ N(a, ν)`.
    #[must_use]
    pub fn new(seen: Projection, likelihood: GaussianLikelihood) -> Self {
        Self {
            mean: seen.mean,
            variance: seen.variance,
            predictive_variance: seen.variance + likelihood.noise_variance(),
        }
    }

    /// The central interval that holds `xᵀθ` with probability `level`.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` unless `0 < level < 1`.
    pub fn mean_interval(&self, level: f64) -> Result<Interval, ModelError> {
        Interval::gaussian(self.mean, self.variance, level)
    }

    /// One draw of `y`.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        let z: f64 = StandardNormal.sample(rng);
        self.mean + self.predictive_variance.sqrt() * z
    }
}

impl Predictive for LinearPrediction {
    fn mean(&self) -> f64 {
        self.mean
    }

    #[allow(clippy::misnamed_getters, reason = "the field `variance` is that of the expectation")]
    fn variance(&self) -> f64 {
        self.predictive_variance
    }

    fn is_discrete(&self) -> bool {
        false
    }

    /// `log p(y)`, in nats.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `NonFinite`.
    fn log_density(&self, y: f64) -> Result<f64, ModelError> {
        check::values("y", &[y])?;
        let residual = y - self.mean;
        Ok(-0.5 * (LN_2PI + self.predictive_variance.ln() + residual * (residual / self.predictive_variance)))
    }

    /// `P(Y ≤ y)`.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `NonFinite`.
    fn cdf(&self, y: f64) -> Result<f64, ModelError> {
        check::values("y", &[y])?;
        Ok(normal_cdf((y - self.mean) / self.predictive_variance.sqrt()))
    }

    /// The value `y` with `P(Y ≤ y) = p`.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` unless `0 < p < 1`.
    fn quantile(&self, p: f64) -> Result<f64, ModelError> {
        check::probability("p", p)?;
        Ok(self.mean + normal_quantile(p) * self.predictive_variance.sqrt())
    }

    /// The central interval that holds a new `y` with probability `level`.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` unless `0 < level < 1`.
    fn interval(&self, level: f64) -> Result<Interval, ModelError> {
        Interval::gaussian(self.mean, self.predictive_variance, level)
    }
}

/// The predictions of a linear regression for every row of `x` (`n × d`). Cost `2nd²` flops.
///
/// # Errors
/// Those of [`project`](super::project).
///
/// ```
/// use vi_core::{DenseGaussian, GaussianLikelihood};
/// use vi_linalg::faer::mat;
/// use vi_models::predict::{self, Predictive};
/// let belief = DenseGaussian::isotropic(&[1.0], 0.5)?;
/// let predicted = predict::linear(&belief, mat![[2.0]].as_ref(), GaussianLikelihood::new(2.0)?)?;
/// assert_eq!((predicted[0].mean, predicted[0].variance, predicted[0].predictive_variance), (2.0, 1.0, 3.0));
/// assert!(predicted[0].interval(0.9)?.contains(4.8));
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn linear(
    belief: &DenseGaussian,
    x: MatRef<'_, f64>,
    likelihood: GaussianLikelihood,
) -> Result<Vec<LinearPrediction>, ModelError> {
    Ok(super::project(belief, x)?.into_iter().map(|seen| LinearPrediction::new(seen, likelihood)).collect())
}
