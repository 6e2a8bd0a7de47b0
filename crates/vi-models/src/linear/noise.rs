//! The noise precision of a stream of linear observations: shape and rate of a normal-gamma posterior.

use serde::{Deserialize, Serialize};
use vi_core::Error;
use vi_core::special::HALF_LN_2PI;

use crate::student::ln_gamma_ratio;
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NoisePrecision {
    shape: f64,
    rate: f64,
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

    /// The reference prior for `d` weights, `a = −d/2`, `b = 0`: with vague weights, `n` observations leave the shape
    /// `(n − d)/2` and half the residual sum of squares, as least squares does.
    ///
    /// A small proper prior instead (`a → 0`) leaves `n/2`, and intervals that are too short if `n` is not far above `d`. There
    /// is no predictive distribution before shape and rate are positive, from about `d + 1` observations on.
    ///
    /// ```
    /// use vi_core::DenseGaussian;
    /// use vi_core::filter::Scratch;
    /// use vi_models::linear::{NoisePrecision, NormalGamma};
    /// let vague = DenseGaussian::isotropic(&[0.0], 1e4)?;
    /// let mut model = NormalGamma::with_noise(vague, NoisePrecision::reference(1));
    /// for y in [3.0, 1.0, -1.0] {
    ///     model.step(&[1.0], y, &mut Scratch::default())?;
    /// }
    /// // Three numbers about their mean: half of two degrees of freedom, half of the squares.
    /// assert!(model.noise().shape() == 1.0 && (model.noise().rate() - 4.0).abs() < 1e-6);
    /// # Ok::<(), vi_models::ModelError>(())
    /// ```
    #[must_use]
    pub fn reference(d: usize) -> Self {
        Self { shape: -0.5 * d as f64, rate: 0.0 }
    }

    /// Checks a stored one that belongs to `d` weights.
    ///
    /// # Errors
    /// [`Error::Setting`] for a shape below the [reference](Self::reference)'s, or a rate that is negative; [`Error::NonFinite`].
    pub(super) fn check(self, d: usize) -> Result<(), Error> {
        check::values("shape and rate", &[self.shape, self.rate])?;
        if self.shape < -0.5 * d as f64 {
            return Err(Error::Setting { name: "shape", value: self.shape, requirement: "at least −d/2" });
        }
        check::not_negative("rate", self.rate)
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

    /// Whether this is a proper distribution: shape and rate are positive.
    pub(crate) fn is_proper(self) -> bool {
        self.shape > 0.0 && self.rate > 0.0
    }

    /// The mean `b/(a−1)` of the noise variance `1/τ`; infinite for `a ≤ 1`.
    #[must_use]
    pub fn variance(self) -> f64 {
        if self.shape > 1.0 { self.rate / (self.shape - 1.0) } else { f64::INFINITY }
    }

    /// The central interval of the noise variance `1/τ` that holds `level` of its mass.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` unless `0 < level < 1`, or before shape and rate are positive.
    pub fn interval(self, level: f64) -> Result<Interval, ModelError> {
        check::probability("level", level)?;
        check::positive("shape", self.shape)?;
        let tail = 0.5 * (1.0 - level);
        // 2bτ is χ² with 2a degrees of freedom.
        Ok(Interval {
            lower: self.rate / crate::gamma::quantile(self.shape, 1.0 - tail),
            upper: self.rate / crate::gamma::quantile(self.shape, tail),
        })
    }

    /// The posterior after an observation of weight `w` with residual `r`, whose predictor has variance `ν` in units of the
    /// noise.
    ///
    /// # Errors
    /// [`Error::Overflow`] if the rate is not finite.
    pub(crate) fn learned(self, weight: f64, residual: f64, variance: f64) -> Result<Self, Error> {
        let rate = check::result("rate", self.rate + misfit(weight, residual, variance))?;
        Ok(Self { shape: self.shape + 0.5 * weight, rate })
    }

    /// The log predictive density of an observation before it is learned, `log E[p(y|θ,τ)ʷ]` in nats; the arguments are those
    /// of `learned`. It is 0 before shape and rate are positive, so that a stream's sum is conditional on its first observations.
    ///
    /// ```text
    /// Γ(a+½w)/Γ(a)·bᵃ/(b+m)^(a+½w)·(1+wν)^(−½)·(2π)^(−½w),   m = ½wr²/(1 + wν)
    /// ```
    pub(crate) fn log_predictive(self, weight: f64, residual: f64, variance: f64) -> f64 {
        if !self.is_proper() {
            return 0.0;
        }
        let misfit = misfit(weight, residual, variance);
        ln_gamma_ratio(self.shape, 0.5 * weight)
            - self.shape * (misfit / self.rate).ln_1p()
            - 0.5 * weight * (self.rate + misfit).ln()
            - 0.5 * (weight * variance).ln_1p()
            - weight * HALF_LN_2PI
    }

    /// The distribution of a number with mean `location`, a predictor's variance `ν` in units of the noise, and `noise` times the
    /// noise of an observation: Student-t with `2a` degrees of freedom and scale `√(b/a·(noise + ν))`.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `NonFinite`, or `Setting` before shape and rate are positive and for a scale of 0.
    pub fn student(self, location: f64, noise: f64, variance: f64) -> Result<Student, ModelError> {
        check::positive("shape", self.shape)?;
        Student::new(location, (self.rate / self.shape * (noise + variance)).sqrt(), 2.0 * self.shape)
    }
}

/// `½wr²/(1+wν)`, what an observation adds to the rate.
fn misfit(weight: f64, residual: f64, variance: f64) -> f64 {
    0.5 * weight * residual * (residual / (1.0 + weight * variance))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_prior_leaves_what_least_squares_does() {
        // A line of no slope: y about its mean, by the recursion of a vague constant.
        let y = [1.0_f64, 4.0, 2.5, 3.5, 0.5];
        let (mut noise, mut mean, mut variance) = (NoisePrecision::reference(1), 0.0, 1e12);
        for y in y {
            noise = noise.learned(1.0, y - mean, variance).unwrap();
            mean += variance * (y - mean) / (1.0 + variance);
            variance /= 1.0 + variance;
        }
        let average = y.iter().sum::<f64>() / 5.0;
        let squares: f64 = y.iter().map(|y| (y - average).powi(2)).sum();
        assert_eq!(noise.shape(), 2.0);
        // The prior of the constant is worth 1e-12 of an observation; the sum of its digits' loss ε·10¹².
        assert!((noise.rate() - 0.5 * squares).abs() < 1e-3);
        assert_eq!(noise.student(mean, 1.0, variance).unwrap().dof(), 4.0);
    }

    #[test]
    fn an_improper_distribution_predicts_nothing() {
        let start = NoisePrecision::reference(3);
        assert!(!start.is_proper() && start.variance().is_infinite());
        assert!(start.student(0.0, 1.0, 1.0).is_err() && start.interval(0.5).is_err());
        assert_eq!(start.log_predictive(1.0, 2.0, 3.0), 0.0);
        assert!(start.learned(1.0, 1e200, 0.0).is_err());
        assert!(NoisePrecision::new(0.0, 1.0).is_err() && NoisePrecision { shape: -2.0, rate: 1.0 }.check(3).is_err());
    }
}
