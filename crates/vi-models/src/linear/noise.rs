//! The noise precision of a linear model: shape and rate of its normal-gamma posterior.

use rand::Rng;
use rand_distr::{Distribution, Gamma};
use vi_core::Error;

use crate::{Interval, ModelError, Student, check};

/// The posterior of the noise precision of a linear model: `τ ~ Gamma(a, b)` with shape `a` and rate `b`.
///
/// One observation of weight `w`, with residual `r = y − xᵀμ` and variance `ν = xᵀVx` in units of the noise, changes it by
///
/// ```text
/// a ← a + ½w        b ← b + ½wr²/(1 + wν)
/// ```
///
/// ```
/// use vi_models::linear::NoisePrecision;
/// let noise = NoisePrecision::new(3.0, 8.0)?;
/// assert_eq!(noise.variance(), 4.0);
/// assert!(noise.interval(0.9)?.contains(4.0));
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoisePrecision {
    pub(crate) shape: f64,
    pub(crate) rate: f64,
}

impl NoisePrecision {
    /// The prior `Gamma(shape, rate)`: a guess `s²` of the noise variance that is worth `m` observations is `a = m/2`, `b =
    /// m·s²/2`.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` unless both are positive and finite.
    pub fn new(shape: f64, rate: f64) -> Result<Self, ModelError> {
        check::positive("shape", shape)?;
        check::positive("rate", rate)?;
        Ok(Self { shape, rate })
    }

    /// The shape `a`: that of the prior plus half the number of observations.
    #[must_use]
    pub fn shape(self) -> f64 {
        self.shape
    }

    /// The rate `b`: that of the prior plus half the sum of squared one-step-ahead residuals.
    #[must_use]
    pub fn rate(self) -> f64 {
        self.rate
    }

    /// The mean `b/(a−1)` of the noise variance `1/τ`; infinite for `a ≤ 1`.
    #[must_use]
    pub fn variance(self) -> f64 {
        if self.shape > 1.0 { self.rate / (self.shape - 1.0) } else { f64::INFINITY }
    }

    /// The central interval of the noise variance `1/τ` that holds `level` of its mass.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` unless `0 < level < 1`.
    pub fn interval(self, level: f64) -> Result<Interval, ModelError> {
        check::probability("level", level)?;
        let tail = 0.5 * (1.0 - level);
        // 2bτ is χ² with 2a degrees of freedom.
        Ok(Interval {
            lower: self.rate / crate::gamma::quantile(self.shape, 1.0 - tail),
            upper: self.rate / crate::gamma::quantile(self.shape, tail),
        })
    }

    /// A draw of the standard deviation of the noise, `1/√τ`.
    ///
    /// # Errors
    /// [`Error::Overflow`] for a draw beyond the floats.
    pub fn draw_deviation<R: Rng + ?Sized>(self, rng: &mut R) -> Result<f64, Error> {
        let overflow = |value| Error::Overflow { quantity: "drawn noise variance", value };
        let precisions = Gamma::new(self.shape, 1.0 / self.rate).map_err(|_| overflow(1.0 / self.rate))?;
        let deviation = precisions.sample(rng).recip().sqrt();
        if deviation.is_finite() { Ok(deviation) } else { Err(overflow(deviation * deviation)) }
    }

    /// The distribution of a number with mean `location`, a predictor's variance `ν` in units of the noise, and `noise` times the
    /// noise of an observation: Student-t with `2a` degrees of freedom and scale `√(b/a·(noise + ν))`.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `NonFinite`, or `Setting` for a scale of 0.
    pub fn student(self, location: f64, noise: f64, variance: f64) -> Result<Student, ModelError> {
        Student::new(location, (self.rate / self.shape * (noise + variance)).sqrt(), 2.0 * self.shape)
    }
}
