//! The trait of all predictions.

use crate::{Interval, ModelError, Student, check};

/// A predictive distribution: the methods that every prediction has.
///
/// [`log_density`](Self::log_density) is that of the label. The other methods are about the predicted quantity: the label itself
/// for numbers and counts, the probability of label 1 for a [`LogisticPrediction`](super::LogisticPrediction).
///
/// ```
/// use vi_core::{GaussianLikelihood, Projection};
/// use vi_models::predict::{LinearPrediction, Predictive};
/// let seen = Projection { mean: 1.0, variance: 3.0 };
/// let predicted = LinearPrediction::new(seen, GaussianLikelihood::new(1.0)?);
/// assert_eq!(Predictive::variance(&predicted), 4.0);
/// assert!((predicted.cdf(1.0)? - 0.5).abs() < 1e-15);
/// assert!((predicted.quantile(0.975)? - predicted.interval(0.95)?.upper).abs() < 1e-12);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub trait Predictive {
    /// The mean of the predicted quantity.
    fn mean(&self) -> f64;

    /// The variance of the predicted quantity.
    fn variance(&self) -> f64;

    /// Whether the predicted quantity is a whole number.
    fn is_discrete(&self) -> bool;

    /// The log predictive density `log p(y)` of a label, in nats, averaged over the posterior of the weights.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Label` or `NonFinite` for the label, `Quadrature`.
    fn log_density(&self, y: f64) -> Result<f64, ModelError>;

    /// The probability that the predicted quantity is at most `value`.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `NonFinite` for the value, `Quadrature`.
    fn cdf(&self, value: f64) -> Result<f64, ModelError>;

    /// The smallest value that the predicted quantity does not exceed with probability `p`.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` unless `0 < p < 1`, `Overflow` if the quantile is not finite, `Quadrature`.
    fn quantile(&self, p: f64) -> Result<f64, ModelError>;

    /// The central interval that holds the predicted quantity with probability `level`, or at least `level` for whole numbers.
    ///
    /// # Errors
    /// As [`quantile`](Self::quantile).
    fn interval(&self, level: f64) -> Result<Interval, ModelError> {
        check::probability("level", level)?;
        let tail = 0.5 * (1.0 - level);
        Ok(Interval { lower: self.quantile(tail)?, upper: self.quantile(1.0 - tail)? })
    }
}

impl Predictive for Student {
    fn mean(&self) -> f64 {
        Student::mean(self)
    }

    fn variance(&self) -> f64 {
        Student::variance(self)
    }

    fn is_discrete(&self) -> bool {
        false
    }

    fn log_density(&self, y: f64) -> Result<f64, ModelError> {
        check::values("y", &[y])?;
        Ok(Student::log_density(self, y))
    }

    fn cdf(&self, value: f64) -> Result<f64, ModelError> {
        check::values("y", &[value])?;
        Ok(Student::cdf(self, value))
    }

    fn quantile(&self, p: f64) -> Result<f64, ModelError> {
        Student::quantile(self, p)
    }
}
