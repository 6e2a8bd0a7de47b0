//! What is observed at a row.

use serde::{Deserialize, Serialize};
use vi_core::Error;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(reach: &f64) -> bool {
    *reach == 0.0
}

/// A label with its offset, weight, trials, exposure and group, or a range in which the label is known to lie. A plain number is an observation with
/// none of these.
///
/// ```
/// use vi_models::online::Observation;
/// let visits = Observation::new(7.0).exposure(2.5).weight(0.5);
/// assert_eq!(Observation::from(7.0), Observation::new(7.0));
/// assert_ne!(visits, Observation::new(7.0));
/// let below_the_limit_of_detection = Observation::between(f64::NEG_INFINITY, 0.05);
/// assert_eq!(below_the_limit_of_detection.ends(), (f64::NEG_INFINITY, 0.05));
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
    /// The signed distance from the label to the other end of its range; 0 of a known label.
    #[serde(rename = "censored", default, skip_serializing_if = "is_zero", with = "stored_reach")]
    reach: f64,
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
        Self { label, offset: 0.0, weight: 1.0, trials: None, exposure: None, group: None, reach: 0.0, given: None }
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

    /// An observation of a number that is only known to lie between `low` and `high`, one of which may be infinite (left-, right- and
    /// interval-censored numbers; equal ends are the number). An error for models other than those of numbers with heavy tails and of times of events.
    pub fn between(low: f64, high: f64) -> Self {
        let is_range = low <= high && low < f64::INFINITY && high > f64::NEG_INFINITY;
        let (label, reach) = if low.is_finite() { (low, high - low) } else { (high, low) };
        Self { reach: if is_range { reach } else { f64::NAN }, ..Self::new(label) }
    }

    /// Says that the label is a number that is exceeded, for example a time up to which no event came (right-censored); an error for the same models as of
    /// [`between`](Self::between).
    pub fn censored(self) -> Self {
        Self { reach: f64::INFINITY, ..self }
    }

    /// The label; of a range the finite end, of two the lower one.
    #[must_use]
    pub fn label(&self) -> f64 {
        self.label
    }

    /// The ends of the range of the label, which are equal where the label is known.
    #[must_use]
    pub fn ends(&self) -> (f64, f64) {
        if self.reach < 0.0 { (self.reach, self.label) } else { (self.label, self.label + self.reach) }
    }

    /// Whether the label is a range.
    #[must_use]
    pub fn is_range(&self) -> bool {
        self.reach != 0.0
    }

    /// The signed distance from the label to the other end of its range; 0 of a known label.
    pub(super) fn reach(&self) -> f64 {
        self.reach
    }

    /// The same label, known.
    pub(super) fn known(self) -> Self {
        Self { reach: 0.0, ..self }
    }

    /// The same with another label, or another range of it.
    pub(super) fn with_label_of(self, other: Self) -> Self {
        Self { label: other.label, reach: other.reach, ..self }
    }

    /// Checks that the ends of the range are numbers, the upper one not below the lower.
    ///
    /// # Errors
    /// `Setting`.
    pub(super) fn check_range(&self) -> Result<(), Error> {
        if self.reach >= 0.0 || self.reach == f64::NEG_INFINITY {
            return Ok(());
        }
        let requirement = "from a lower end to one that is not below it";
        Err(Error::Setting { name: "range of the label", value: self.reach, requirement })
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

    /// Divides the reach, and the variance from the other predictor by the square, by the `scale` of new units of labels.
    pub(super) fn in_units(&mut self, scale: f64) {
        self.reach /= scale;
        if let Some(Given::Variance(variance)) = &mut self.given {
            *variance /= scale * scale;
        }
    }

    /// The trials or the exposure, or the number from the other predictor, whichever the family takes; 1 if it was left out.
    ///
    /// # Errors
    /// `Setting` if the other one is set, a group, or a range of the label.
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
        let range = ("range of a censored label", self.is_range().then_some(self.reach));
        for (name, stranger) in strangers.into_iter().chain([group, range]) {
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

/// The reach of a label as it is stored: `true` for all numbers above it, `false` for those below, a number for a range.
mod stored_reach {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Stored {
        Above(bool),
        By(f64),
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    pub(super) fn serialize<S: Serializer>(reach: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        let stored = if reach.is_finite() { Stored::By(*reach) } else { Stored::Above(*reach > 0.0) };
        stored.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Ok(match Stored::deserialize(deserializer)? {
            Stored::Above(true) => f64::INFINITY,
            Stored::Above(false) => f64::NEG_INFINITY,
            Stored::By(reach) => reach,
        })
    }
}
