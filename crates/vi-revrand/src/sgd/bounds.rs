//! Bounds of the parameters of a descent.

use serde::{Deserialize, Serialize};

use crate::{RevrandError, check};

/// A box `lower ≤ x ≤ upper` for the parameters; an end may be infinite, and both may be equal.
///
/// ```
/// use vi_revrand::sgd::Bounds;
/// assert!(Bounds::new(vec![0.0, f64::NEG_INFINITY], vec![1.0, 2.0]).is_ok());
/// assert!(Bounds::new(vec![1.0], vec![0.0]).is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Ends", into = "Ends")]
pub struct Bounds {
    lower: Vec<f64>,
    upper: Vec<f64>,
}

impl Bounds {
    /// The box between `lower` and `upper`.
    ///
    /// # Errors
    /// `Dimension` if they differ in length; [`RevrandError::Bounds`] if an upper end is below the lower one, or either is NaN.
    pub fn new(lower: Vec<f64>, upper: Vec<f64>) -> Result<Self, RevrandError> {
        check::length("upper", lower.len(), upper.len())?;
        for (&lower, &upper) in lower.iter().zip(&upper) {
            if !(lower <= upper && lower < f64::INFINITY && upper > f64::NEG_INFINITY) {
                return Err(RevrandError::Bounds { lower, upper });
            }
        }
        Ok(Self { lower, upper })
    }

    /// The number of parameters.
    pub(super) fn len(&self) -> usize {
        self.lower.len()
    }

    /// Sets to 0 every component of the gradient of what is minimised that would push a parameter out of the box.
    #[track_caller]
    pub(super) fn project(&self, x: &[f64], gradient: &mut [f64]) {
        assert!(x.len() == self.len() && gradient.len() == self.len(), "the bounds are of {} parameters", self.len());
        for i in 0..x.len() {
            if x[i] <= self.lower[i] {
                gradient[i] = gradient[i].min(0.0);
            }
            if x[i] >= self.upper[i] {
                gradient[i] = gradient[i].max(0.0);
            }
        }
    }

    /// Moves every parameter that is outside the box to the nearest end.
    #[track_caller]
    pub(super) fn clip(&self, x: &mut [f64]) {
        assert!(x.len() == self.len(), "the bounds are of {} parameters", self.len());
        for i in 0..x.len() {
            x[i] = x[i].clamp(self.lower[i], self.upper[i]);
        }
    }
}

/// The stored form; `None` for no end.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Ends {
    lower: Vec<Option<f64>>,
    upper: Vec<Option<f64>>,
}

impl TryFrom<Ends> for Bounds {
    type Error = RevrandError;

    fn try_from(ends: Ends) -> Result<Self, RevrandError> {
        let lower = ends.lower.into_iter().map(|end| end.unwrap_or(f64::NEG_INFINITY)).collect();
        let upper = ends.upper.into_iter().map(|end| end.unwrap_or(f64::INFINITY)).collect();
        Self::new(lower, upper)
    }
}

impl From<Bounds> for Ends {
    fn from(bounds: Bounds) -> Self {
        let finite = |ends: Vec<f64>| ends.into_iter().map(|end| Some(end).filter(|end| end.is_finite())).collect();
        Self { lower: finite(bounds.lower), upper: finite(bounds.upper) }
    }
}
