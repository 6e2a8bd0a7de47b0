//! What is observed at a row.

use serde::{Deserialize, Serialize};

/// A label and what belongs to it. A plain number is an observation without the rest.
///
/// ```
/// use vi_models::online::Observation;
/// let visits = Observation::new(7.0).exposure(2.5).weight(0.5);
/// assert_eq!(Observation::from(7.0), Observation::new(7.0));
/// assert_ne!(visits, Observation::new(7.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[must_use]
pub struct Observation {
    pub(super) label: f64,
    pub(super) offset: f64,
    pub(super) weight: f64,
    pub(super) size: f64,
}

impl Observation {
    /// The label alone: 0 or 1, a count, a number, as the family has it.
    pub fn new(label: f64) -> Self {
        Self { label, offset: 0.0, weight: 1.0, size: 1.0 }
    }

    /// A known part of the linear predictor, `t = offset + intercept + xᵀw`.
    pub fn offset(self, offset: f64) -> Self {
        Self { offset, ..self }
    }

    /// The observation counts `weight ≥ 0` times.
    pub fn weight(self, weight: f64) -> Self {
        Self { weight, ..self }
    }

    /// Number of trials of a binomial count.
    pub fn trials(self, trials: f64) -> Self {
        Self { size: trials, ..self }
    }

    /// Exposure (time, area, people) of a count: its mean is `exposure·exp(t)`.
    pub fn exposure(self, exposure: f64) -> Self {
        Self { size: exposure, ..self }
    }
}

impl From<f64> for Observation {
    fn from(label: f64) -> Self {
        Self::new(label)
    }
}
