//! Transforms of a label: what a linear predictor is of where it is not the label itself.

use serde::{Deserialize, Serialize};
use vi_core::Error;
use vi_core::special::sigmoid;

/// The function `g` of a label `y` that a regression learns: `g(y) = offset + intercept + xᵀw + ε`. Predictions, densities and scores are of `y` itself.
///
/// | | `g(y)` | labels | `dy/dg` |
/// |---|---|---|---|
/// | `Identity` | `y` | all numbers | 1 |
/// | `Log` | `log y` | positive numbers, the more skewed the larger their spread | `y` |
/// | `Logit` | `log(y/(1 − y))` | fractions: numbers between 0 and 1, themselves left out | `y(1 − y)` |
///
/// ```
/// use vi_models::Transform;
/// assert!((Transform::Logit.inverse(Transform::Logit.of(0.2)) - 0.2).abs() < 1e-15);
/// assert!(Transform::Log.supports(3.0) && !Transform::Logit.supports(1.0));
/// assert_eq!(Transform::Logit.range(), (0.0, 1.0));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Transform {
    /// The label itself.
    #[default]
    Identity,
    /// The logarithm of a positive number.
    Log,
    /// The log odds of a fraction.
    Logit,
}

impl Transform {
    /// `g(y)`; beyond its labels −∞ or ∞.
    #[must_use]
    pub fn of(self, y: f64) -> f64 {
        let (low, high) = self.range();
        match self {
            Self::Identity => y,
            _ if y <= low => f64::NEG_INFINITY,
            _ if y >= high => f64::INFINITY,
            Self::Log => y.ln(),
            Self::Logit => y.ln() - (-y).ln_1p(),
        }
    }

    /// The label `y` with `g(y) = t`.
    #[must_use]
    pub fn inverse(self, t: f64) -> f64 {
        match self {
            Self::Identity => t,
            Self::Log => t.exp(),
            Self::Logit => sigmoid(t),
        }
    }

    /// `dy/dg` where `g(y) = t`.
    pub(crate) fn slope(self, t: f64) -> f64 {
        match self {
            Self::Identity => 1.0,
            Self::Log => t.exp(),
            Self::Logit => sigmoid(t) * sigmoid(-t),
        }
    }

    /// `log(dy/dg)` at a label: by how much the log density of `g(y)` exceeds that of `y`.
    pub(crate) fn log_slope(self, y: f64) -> f64 {
        match self {
            Self::Identity => 0.0,
            Self::Log => y.ln(),
            Self::Logit => y.ln() + (-y).ln_1p(),
        }
    }

    /// The labels lie between these two numbers.
    #[must_use]
    pub fn range(self) -> (f64, f64) {
        match self {
            Self::Identity => (f64::NEG_INFINITY, f64::INFINITY),
            Self::Log => (0.0, f64::INFINITY),
            Self::Logit => (0.0, 1.0),
        }
    }

    /// Whether a number is such a label.
    #[must_use]
    pub fn supports(self, y: f64) -> bool {
        let (low, high) = self.range();
        y > low && y < high
    }

    /// Checks that a finite number is such a label.
    ///
    /// # Errors
    /// `Label`.
    pub(crate) fn check(self, label: f64) -> Result<(), Error> {
        let family = match self {
            Self::Log => "logarithm of a number (positive numbers)",
            Self::Identity | Self::Logit => "log odds of a fraction (numbers between 0 and 1, neither of the two)",
        };
        if self == Self::Identity || self.supports(label) { Ok(()) } else { Err(Error::Label { label, family }) }
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    pub(crate) fn is_identity(&self) -> bool {
        *self == Self::Identity
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_those_of_the_inverse() {
        let step = 1e-5;
        for transform in [Transform::Identity, Transform::Log, Transform::Logit] {
            for t in [-6.0, -0.3, 0.0, 1.7, 4.0] {
                let y = transform.inverse(t);
                // Rounding of a logarithm, and near 1 of the label, which the slope divides.
                assert!((transform.of(y) - t).abs() < 4.0 * f64::EPSILON * (t.abs() + 1.0 / transform.slope(t)), "{t}");
                let slope = (transform.inverse(t + step) - transform.inverse(t - step)) / (2.0 * step);
                // Central differences: a sixth of the third derivative, which is no larger than the label and its slope.
                let bound = step * step * (y.abs() + 1.0) + f64::EPSILON * (y.abs() + 1.0) / step;
                assert!((transform.slope(t) - slope).abs() < bound, "{t}");
                assert!((transform.log_slope(y) - slope.ln()).abs() < bound / slope, "{t}");
            }
        }
    }

    #[test]
    fn numbers_beyond_the_labels_are_beyond_the_line() {
        for (transform, low, high) in [(Transform::Log, 0.0, f64::INFINITY), (Transform::Logit, 0.0, 1.0)] {
            assert_eq!((transform.of(low), transform.of(high)), (f64::NEG_INFINITY, f64::INFINITY));
            assert!(transform.of(-3.0) == f64::NEG_INFINITY && transform.check(low).is_err());
            assert!(transform.check(0.5).is_ok() && transform.check(5e-324).is_ok());
        }
        assert!(Transform::Logit.check(1.0).is_err() && Transform::Logit.of(2.0) == f64::INFINITY);
        assert!(Transform::Logit.of(1.0 - 0.5 * f64::EPSILON) > 36.0 && Transform::Identity.check(-1.0).is_ok());
    }
}
