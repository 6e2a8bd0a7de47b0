//! Kernel parameters and prior variances: their initial values and their bounds.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use vi_core::special::{sigmoid, sigmoid_derivative};

use crate::RevrandError;

/// The interval of a parameter, ends excluded, and whether it is learned on a logarithmic scale.
///
/// A search without constraints moves `u ∈ ℝ`; the parameter is
///
/// ```text
/// free                              v = u
/// positive                          v = exp u
/// positive between 0 < a and b      log v = log a + log(b/a)·s(u)
/// lower bound a                     v = a + exp u
/// upper bound b                     v = b − exp u
/// between a and b, or 0 and b       v = a + (b − a)·s(u)
/// ```
///
/// `v` is rounded to the nearest float strictly between the ends, so whatever a search finds can be stored and read again.
///
/// ```
/// use vi_revrand::Bound;
/// let bound = Bound::POSITIVE;
/// assert!(bound.contains(2.5) && !bound.contains(0.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Ends")]
pub struct Bound(Ends);

/// The stored form; `None` for no end.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Ends {
    lower: Option<f64>,
    upper: Option<f64>,
    logarithmic: bool,
}

impl Bound {
    /// The bounds of any finite number.
    pub const FREE: Self = Self(Ends { lower: None, upper: None, logarithmic: false });
    /// The bounds of any positive number, learned through its logarithm.
    pub const POSITIVE: Self = Self(Ends { lower: Some(0.0), upper: None, logarithmic: true });

    /// Bounds with two ends; an infinite end means none.
    ///
    /// # Errors
    /// [`RevrandError::Bounds`] if the ends are reversed, equal or NaN.
    pub fn between(lower: f64, upper: f64) -> Result<Self, RevrandError> {
        if lower < upper {
            let end = |end: f64| Some(end).filter(|end| end.is_finite());
            Ok(Self(Ends { lower: end(lower), upper: end(upper), logarithmic: false }))
        } else {
            Err(RevrandError::Bounds { lower, upper })
        }
    }

    /// Bounds with two ends that are not negative, learned on a logarithmic scale if both are positive and finite, or if they are 0 and ∞.
    ///
    /// # Errors
    /// [`RevrandError::Bounds`] if the ends are reversed, equal, negative or NaN.
    pub fn positive_between(lower: f64, upper: f64) -> Result<Self, RevrandError> {
        if lower >= 0.0 {
            let Self(ends) = Self::between(lower, upper)?;
            Ok(Self(Ends { logarithmic: true, ..ends }))
        } else {
            Err(RevrandError::Bounds { lower, upper })
        }
    }

    /// The lower end, −∞ if there is none.
    pub(crate) fn lower(&self) -> f64 {
        self.0.lower.unwrap_or(f64::NEG_INFINITY)
    }

    /// The upper end, ∞ if there is none.
    pub(crate) fn upper(&self) -> f64 {
        self.0.upper.unwrap_or(f64::INFINITY)
    }

    /// Whether `value` is finite and strictly between the ends.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        value.is_finite() && self.lower() < value && value < self.upper()
    }

    /// Checks that entry `index` of `argument` is between the ends.
    ///
    /// # Errors
    /// [`RevrandError::OutOfBounds`].
    pub(crate) fn check(&self, argument: &'static str, index: usize, value: f64) -> Result<(), RevrandError> {
        if self.contains(value) {
            Ok(())
        } else {
            Err(RevrandError::OutOfBounds { argument, index, value, lower: self.lower(), upper: self.upper() })
        }
    }

    /// The unconstrained `u` of a value `v` between the ends.
    pub(crate) fn freed(&self, value: f64) -> f64 {
        // A share of 0 or 1 comes from rounding.
        let logit = |share: f64| {
            let share = share.clamp(f64::MIN_POSITIVE, 1.0 - 0.5 * f64::EPSILON);
            share.ln() - (-share).ln_1p()
        };
        match (self.0.lower, self.0.upper) {
            (None, None) => value,
            (Some(lower), None) => (value - lower).ln(),
            (None, Some(upper)) => (upper - value).ln(),
            (Some(lower), Some(upper)) if self.0.logarithmic && lower > 0.0 => {
                logit((value / lower).ln() / (upper / lower).ln())
            }
            (Some(lower), Some(upper)) => logit((value - lower) / (upper - lower)),
        }
    }

    /// The value `v` of an unconstrained `u`, strictly between the ends.
    pub(crate) fn bounded(&self, free: f64) -> f64 {
        let value = self.unrounded(free);
        if value <= self.lower() {
            self.lower().next_up()
        } else if value >= self.upper() {
            self.upper().next_down()
        } else {
            value
        }
    }

    /// `v` without rounding into the interval: it can be at an end, or beyond, if `u` is large.
    fn unrounded(&self, free: f64) -> f64 {
        match (self.0.lower, self.0.upper) {
            (None, None) => free,
            (Some(lower), None) => lower + free.exp(),
            (None, Some(upper)) => upper - free.exp(),
            (Some(lower), Some(upper)) if self.0.logarithmic && lower > 0.0 => {
                lower * ((upper / lower).ln() * sigmoid(free)).exp()
            }
            (Some(lower), Some(upper)) => lower + (upper - lower) * sigmoid(free),
        }
    }

    /// The derivative `dv/du` at `u`.
    pub(crate) fn slope(&self, free: f64) -> f64 {
        match (self.0.lower, self.0.upper) {
            (None, None) => 1.0,
            (Some(_), None) => free.exp(),
            (None, Some(_)) => -free.exp(),
            (Some(lower), Some(upper)) if self.0.logarithmic && lower > 0.0 => {
                self.unrounded(free) * (upper / lower).ln() * sigmoid_derivative(free)
            }
            (Some(lower), Some(upper)) => (upper - lower) * sigmoid_derivative(free),
        }
    }
}

impl TryFrom<Ends> for Bound {
    type Error = RevrandError;

    fn try_from(ends: Ends) -> Result<Self, RevrandError> {
        let (lower, upper) = (ends.lower.unwrap_or(f64::NEG_INFINITY), ends.upper.unwrap_or(f64::INFINITY));
        if ends.logarithmic { Self::positive_between(lower, upper) } else { Self::between(lower, upper) }
    }
}

/// A number to be learned: its name, its initial value, its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Parameter {
    /// The name of the parameter, such as `length scale`.
    pub name: &'static str,
    /// The initial value, between the bounds.
    pub start: f64,
    /// The bounds of the parameter.
    pub bound: Bound,
}

impl Parameter {
    /// A parameter named `name`.
    ///
    /// # Errors
    /// [`RevrandError::OutOfBounds`] unless `start` is between the ends of `bound`.
    pub fn new(name: &'static str, start: f64, bound: Bound) -> Result<Self, RevrandError> {
        bound.check(name, 0, start)?;
        Ok(Self { name, start, bound })
    }
}

/// The prior variance `λ` that the weights of some features share.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Regulariser {
    /// The features that share it, those of one part of a basis.
    pub features: Range<usize>,
    /// The prior variance of their weights.
    pub variance: Parameter,
}

impl Regulariser {
    /// The prior variance of the weights of `features`.
    #[must_use]
    pub fn new(features: Range<usize>, variance: Parameter) -> Self {
        Self { features, variance }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_learned_lies_strictly_between_the_ends() {
        let ends = [(1e-6, 1e-4), (0.0, 1e-4), (0.3, f64::INFINITY), (0.0, f64::INFINITY), (1e5, 3e5)];
        let positive = ends.map(|(lower, upper)| Bound::positive_between(lower, upper).unwrap());
        let linear = [(-2.0, -1.0), (-1e300, 5.0), (f64::NEG_INFINITY, 7.0), (f64::NEG_INFINITY, f64::INFINITY)]
            .map(|(lower, upper)| Bound::between(lower, upper).unwrap());
        for bound in positive.into_iter().chain(linear) {
            for free in [-800.0, -50.0, -1.0, 0.0, 2.0, 50.0, 800.0] {
                let value = bound.bounded(free);
                assert!(bound.contains(value), "{bound:?} at {free}: {value}");
                assert!(bound.freed(value).is_finite(), "{bound:?} at {free}: {value}");
                assert!(bound.contains(bound.bounded(bound.freed(value))));
            }
            assert!(bound.bounded(f64::NAN).is_nan());
        }
    }

    #[test]
    fn the_slope_is_the_difference_of_the_value() {
        let bounds = [
            Bound::FREE,
            Bound::POSITIVE,
            Bound::between(-0.7, 2.1).unwrap(),
            Bound::between(f64::NEG_INFINITY, 2.1).unwrap(),
            Bound::between(0.4, f64::INFINITY).unwrap(),
            Bound::positive_between(0.2, 5.0).unwrap(),
            Bound::positive_between(0.0, 5.0).unwrap(),
        ];
        for bound in bounds {
            for free in [-2.3, -0.4, 0.0, 0.9, 3.1] {
                let h = 1e-3;
                let v = |step: f64| bound.bounded(free + step * h);
                let difference = (v(-2.0) - v(2.0) + 8.0 * (v(1.0) - v(-1.0))) / (12.0 * h);
                // h⁴/30 of a fifth derivative of the size of the slope and of the value, and ε/h of the value.
                let size = bound.slope(free).abs() + v(0.0).abs();
                let off = size * (h.powi(4) + 4.0 * f64::EPSILON / h);
                assert!((bound.slope(free) - difference).abs() <= off, "{bound:?} at {free}: {difference}");
            }
        }
    }
}
