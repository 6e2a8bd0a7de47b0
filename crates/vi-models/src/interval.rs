//! Intervals, those of a Gaussian and of a proportion.

use vi_core::special::normal_quantile;

use crate::{ModelError, check};

/// An interval `[lower, upper]`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
}

impl Interval {
    /// Whether `value` lies in the interval, its ends included.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        (self.lower..=self.upper).contains(&value)
    }

    /// The central interval of `N(mean, variance)` that holds `level` of its mass: `mean ± z·√variance`.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `NonFinite`, or `Setting` unless `variance ≥ 0` and `0 < level < 1`.
    ///
    /// ```
    /// use vi_models::Interval;
    /// let interval = Interval::gaussian(1.0, 4.0, 0.95)?;
    /// assert!((interval.upper - (1.0 + 2.0 * 1.959963984540054)).abs() < 1e-14);
    /// # Ok::<(), vi_models::ModelError>(())
    /// ```
    pub fn gaussian(mean: f64, variance: f64, level: f64) -> Result<Self, ModelError> {
        check::values("mean", &[mean])?;
        if !(variance >= 0.0 && variance.is_finite()) {
            let requirement = "finite and not negative";
            return Err(vi_core::Error::Setting { name: "variance", value: variance, requirement }.into());
        }
        let half = two_sided(level)? * variance.sqrt();
        Ok(Self { lower: mean - half, upper: mean + half })
    }

    /// Wilson's score interval for a proportion, from `successes` in `trials` (Wilson 1927): never leaves `[0, 1]` and
    /// keeps its coverage near the ends.
    ///
    /// ```text
    /// [p̂ + z²/2n ± z·√(p̂(1−p̂)/n + z²/4n²)] / (1 + z²/n)
    /// ```
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Empty` for no trials, `Setting` if `successes > trials` or unless `0 < level < 1`.
    ///
    /// ```
    /// use vi_models::Interval;
    /// let none = Interval::wilson(0, 10, 0.95)?;
    /// assert_eq!(none.lower, 0.0);
    /// assert!((none.upper - 0.27753279).abs() < 1e-8);
    /// # Ok::<(), vi_models::ModelError>(())
    /// ```
    pub fn wilson(successes: usize, trials: usize, level: f64) -> Result<Self, ModelError> {
        if trials == 0 {
            return Err(vi_core::Error::Empty { argument: "trials" }.into());
        }
        if successes > trials {
            let requirement = "at most the number of trials";
            return Err(vi_core::Error::Setting { name: "successes", value: successes as f64, requirement }.into());
        }
        let z = two_sided(level)?;
        let (k, n) = (successes as f64, trials as f64);
        let frequency = k / n;
        let z2 = z * z / n;
        let centre = frequency + 0.5 * z2;
        let half = (z2 * frequency * (1.0 - frequency) + 0.25 * z2 * z2).sqrt();
        // At the ends centre and half are equal, up to rounding.
        let lower = if successes == 0 { 0.0 } else { ((centre - half) / (1.0 + z2)).max(0.0) };
        let upper = if successes == trials { 1.0 } else { ((centre + half) / (1.0 + z2)).min(1.0) };
        Ok(Self { lower, upper })
    }
}

/// The `z` for which `[−z, z]` holds `level` of a standard normal's mass.
///
/// # Errors
/// [`ModelError::Core`] with `Setting` unless `0 < level < 1`.
pub(crate) fn two_sided(level: f64) -> Result<f64, ModelError> {
    check::probability("level", level)?;
    Ok(-normal_quantile(0.5 * (1.0 - level)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_sided_quantile_is_that_of_a_table() {
        assert!((two_sided(0.95).unwrap() - 1.9599639845400543).abs() < 1e-14);
    }

    #[test]
    fn wilson_swaps_with_success_and_failure_and_holds_the_frequency() {
        for n in 1..30 {
            for k in 0..=n {
                let interval = Interval::wilson(k, n, 0.9).unwrap();
                let mirrored = Interval::wilson(n - k, n, 0.9).unwrap();
                assert!((interval.lower - (1.0 - mirrored.upper)).abs() < 4.0 * f64::EPSILON);
                assert!(interval.contains(k as f64 / n as f64));
                assert!(interval.lower >= 0.0 && interval.upper <= 1.0);
            }
        }
        // Both ends solve (p̂−p)² = z²·p(1−p)/n.
        let (interval, z) = (Interval::wilson(3, 12, 0.95).unwrap(), two_sided(0.95).unwrap());
        for p in [interval.lower, interval.upper] {
            assert!(((0.25 - p).powi(2) - z * z * p * (1.0 - p) / 12.0).abs() < 8.0 * f64::EPSILON);
        }
    }

    #[test]
    fn impossible_arguments_are_named() {
        for level in [0.0, 1.0, -0.5, f64::NAN] {
            let error = Interval::gaussian(0.0, 1.0, level).unwrap_err();
            assert!(matches!(error, ModelError::Core(vi_core::Error::Setting { name: "level", .. })), "{error}");
        }
        assert!(Interval::gaussian(f64::NAN, 1.0, 0.5).is_err());
        assert!(Interval::gaussian(0.0, -1.0, 0.5).is_err());
        assert!(Interval::wilson(0, 0, 0.5).is_err());
        assert!(Interval::wilson(2, 1, 0.5).is_err());
    }
}
