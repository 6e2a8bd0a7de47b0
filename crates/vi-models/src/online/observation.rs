//! What is observed at a row.

use serde::{Deserialize, Serialize};
use vi_core::Error;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// A label with its offset, weight, trials, exposure and group, or a time at which no event had come yet. A plain number is an observation with none of these.
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
    trials: Option<f64>,
    exposure: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    group: Option<u64>,
    /// Whether the label is a time up to which no event came.
    #[serde(default, skip_serializing_if = "is_false")]
    censored: bool,
    /// Given by one half of a model to the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    given: Option<Given>,
}

/// A number that one predictor passes to the other with a row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) enum Given {
    /// The factor of the noise.
    Factor(f64),
    /// The variance of the label's expectation, in squared units of the label.
    Variance(f64),
}

/// Which number a family takes besides label, offset and weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// No further number.
    None,
    /// A number of trials.
    Trials,
    /// An exposure.
    Exposure,
    /// A factor of the noise, from the other predictor of the same model.
    #[doc(hidden)]
    Factor,
    /// A variance of the expected label, from the other predictor of the same model.
    #[doc(hidden)]
    Variance,
}

impl Observation {
    /// An observation of a label alone: 0 or 1, a count or a number, depending on the family.
    pub fn new(label: f64) -> Self {
        Self {
            label,
            offset: 0.0,
            weight: 1.0,
            trials: None,
            exposure: None,
            group: None,
            censored: false,
            given: None,
        }
    }

    /// Sets a known part of the linear predictor, `t = offset + intercept + xᵀw`.
    pub fn offset(self, offset: f64) -> Self {
        Self { offset, ..self }
    }

    /// Sets the weight: the observation counts `weight ≥ 0` times.
    pub fn weight(self, weight: f64) -> Self {
        Self { weight, ..self }
    }

    /// Sets the number of trials of a binomial count, 1 unless given; an error for a family that has no trials.
    pub fn trials(self, trials: f64) -> Self {
        Self { trials: Some(trials), ..self }
    }

    /// Sets the exposure (time, area, people) of a count, 1 unless given: its mean is `exposure·exp(t)`. An error for a family
    /// without exposures.
    pub fn exposure(self, exposure: f64) -> Self {
        Self { exposure: Some(exposure), ..self }
    }

    /// Sets the group of the row; an error for a model without groups.
    pub fn group(self, group: u64) -> Self {
        Self { group: Some(group), ..self }
    }

    /// Says that the label is a time up to which no event came (right-censored); an error for a model whose labels are not times of events.
    pub fn censored(self) -> Self {
        Self { censored: true, ..self }
    }

    /// Whether no event came up to the label.
    pub(super) fn is_censored(&self) -> bool {
        self.censored
    }

    /// The same label with its event.
    pub(super) fn uncensored(self) -> Self {
        Self { censored: false, ..self }
    }

    /// The group, and the observation without it.
    pub(super) fn without_group(self) -> (Option<u64>, Self) {
        (self.group, Self { group: None, ..self })
    }

    /// The same of another label.
    pub(super) fn labelled(self, label: f64) -> Self {
        Self { label, ..self }
    }

    /// Sets the number from the other predictor of the same model.
    pub(super) fn given(self, given: Given) -> Self {
        Self { given: Some(given), ..self }
    }

    /// The same in units of labels that are `scale` of those before.
    pub(super) fn scale_given(&mut self, scale: f64) {
        if let Some(Given::Variance(variance)) = &mut self.given {
            *variance /= scale * scale;
        }
    }

    /// The trials or the exposure, or the number from the other predictor, whichever the family takes; 1 if it was left out.
    ///
    /// # Errors
    /// `Setting` if the other one is set, a group, or that no event came.
    pub(super) fn size(&self, taken: Size) -> Result<f64, Error> {
        let (own, strangers) = match taken {
            Size::None => (None, [("trials", self.trials), ("exposure", self.exposure)]),
            Size::Trials => (self.trials, [("trials", None), ("exposure", self.exposure)]),
            Size::Exposure => (self.exposure, [("trials", self.trials), ("exposure", None)]),
            Size::Factor | Size::Variance => {
                let given = match (self.given, taken) {
                    (Some(Given::Factor(value)), Size::Factor) | (Some(Given::Variance(value)), Size::Variance) => {
                        Some(value)
                    }
                    _ => None,
                };
                (given, [("trials", self.trials), ("exposure", self.exposure)])
            }
        };
        let group = ("group", self.group.map(|group| group as f64));
        let censored = ("censored", self.censored.then_some(1.0));
        for (name, stranger) in strangers.into_iter().chain([group, censored]) {
            if let Some(value) = stranger {
                return Err(Error::Setting { name, value, requirement: "left out: this model has none" });
            }
        }
        Ok(own.unwrap_or(1.0))
    }
}

impl From<f64> for Observation {
    fn from(label: f64) -> Self {
        Self::new(label)
    }
}
