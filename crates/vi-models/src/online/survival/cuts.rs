//! The times at which a hazard may change.

use serde::{Deserialize, Serialize};
use vi_core::Error;

use super::check_time;
use crate::online::Observation;
use crate::{ModelError, check};

/// The times at which the hazard of an [`OnlineSurvival`](super::OnlineSurvival) may change, and the unit in which its logarithm has its prior.
///
/// ```
/// use vi_models::online::{Cuts, Observation};
/// let first: Vec<Observation> = (1..=100).map(|t| Observation::new(f64::from(t))).collect();
/// let cuts = Cuts::of(&first)?;
/// // Ten intervals with ten events each; 100 events in 5050 units of time.
/// assert_eq!((cuts.times()[0], cuts.times().len(), cuts.unit()), (10.0, 9, 50.5));
/// assert_eq!(Cuts::new(&[30.0, 365.0], 365.0)?.times(), [30.0, 365.0]);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Cuts {
    times: [f64; Cuts::MOST],
    count: usize,
    unit: f64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    times: Vec<f64>,
    unit: f64,
}

impl TryFrom<Stored> for Cuts {
    type Error = ModelError;

    fn try_from(Stored { times, unit }: Stored) -> Result<Self, ModelError> {
        Self::new(&times, unit)
    }
}

impl From<Cuts> for Stored {
    fn from(cuts: Cuts) -> Self {
        Self { times: cuts.times().to_vec(), unit: cuts.unit }
    }
}

/// How many medians of the first times a time counts at most in the unit.
const MEDIANS: f64 = 1e3;

impl Cuts {
    /// The most cuts.
    pub const MOST: usize = 15;

    /// The least number of events by which [`of`](Self::of) cuts.
    const EVENTS: usize = 10;

    /// The hazard changes at `times`, at most 15 in increasing order, or never if there are none. Before any row the logarithm of the first hazard is `N(0, s²)`, `s` the
    /// [`intercept_scale`](crate::online::OnlineSettings::intercept_scale), for events per `unit` of time.
    ///
    /// # Errors
    /// `Setting` for too many times or a unit that is not positive; `Entry` for a time that is not positive, not finite or not after the one before.
    pub fn new(times: &[f64], unit: f64) -> Result<Self, ModelError> {
        check::positive("unit of time", unit)?;
        if times.len() > Self::MOST {
            let requirement = "at most 15";
            return Err(Error::Setting { name: "cuts of the hazard", value: times.len() as f64, requirement }.into());
        }
        let mut before = 0.0;
        for (index, &value) in times.iter().enumerate() {
            if !(value > before && value.is_finite()) {
                let requirement = "positive, finite and after the one before";
                return Err(Error::Entry { argument: "cuts of the hazard", index, value, requirement }.into());
            }
            before = value;
        }
        let mut own = [0.0; Self::MOST];
        own[..times.len()].copy_from_slice(times);
        Ok(Self { times: own, count: times.len(), unit })
    }

    /// The cuts by the first rows: quantiles of the times of their events, so that each interval has the same number, some ten or more, and there are at
    /// most 16 intervals. The unit is the time of all rows for each event, where none counts more than a thousand medians. Cost: a sort.
    ///
    /// # Errors
    /// `Empty` for no rows; `Label` for a time that is not positive and finite; `Overflow` of their sum.
    pub fn of(first: &[Observation]) -> Result<Self, ModelError> {
        check::not_empty("rows", first.len())?;
        first.iter().try_for_each(|observed| check_time(observed.label, f64::MAX))?;
        let events = first.iter().filter(|observed| !observed.is_range());
        let mut events: Vec<f64> = events.map(|observed| observed.label).collect();
        events.sort_by(f64::total_cmp);
        let mut all: Vec<f64> = first.iter().map(|observed| observed.label).collect();
        all.sort_by(f64::total_cmp);
        let most = MEDIANS * all[all.len() / 2];
        let total = check::result("the time of all rows", first.iter().map(|observed| observed.label.min(most)).sum())?;
        let intervals = (events.len() / Self::EVENTS).clamp(1, Self::MOST + 1);
        let mut times: Vec<f64> = (1..intervals).map(|k| events[k * events.len() / intervals - 1]).collect();
        times.dedup();
        // After the last cut there is an event.
        times.retain(|time| events.last().is_some_and(|last| time < last));
        Self::new(&times, total / events.len().max(1) as f64)
    }

    /// The times, in increasing order.
    #[must_use]
    pub fn times(&self) -> &[f64] {
        &self.times[..self.count]
    }

    /// The unit of time.
    #[must_use]
    pub fn unit(&self) -> f64 {
        self.unit
    }

    /// Beginning and end of interval `k`; `None` after the last one, whose end is infinite.
    pub(super) fn interval(&self, k: usize) -> Option<(f64, f64)> {
        let at = |k: usize| self.times().get(k).copied();
        let from = if k == 0 { 0.0 } else { at(k - 1)? };
        Some((from, at(k).unwrap_or(f64::INFINITY)))
    }

    /// The names of the intervals: `0–30`, `30–365`, `365–`.
    pub(super) fn names(&self) -> Vec<String> {
        let ends = self.times().iter().map(f64::to_string).chain([String::new()]);
        let starts = std::iter::once("0".to_owned()).chain(self.times().iter().map(f64::to_string));
        starts.zip(ends).map(|(from, to)| format!("{from}–{to}")).collect()
    }
}
