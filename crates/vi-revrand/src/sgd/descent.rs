//! The loop of a descent: evaluate, check whether to stop, step.

use serde::{Deserialize, Serialize};
use vi_core::Stop;

use super::smooth::Smoothed;
use super::{Bounds, EarlyStop, Updater, UpdaterState};
use crate::{RevrandError, check, lanes};

/// Settings of a descent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct DescentSettings {
    /// The update rule.
    pub updater: Updater,
    /// The box that the parameters may not leave, if any.
    pub bounds: Option<Bounds>,
    /// When to stop early, if ever.
    pub stop: Option<EarlyStop>,
}

/// A report of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Why the run ended.
    pub stop: Stop,
    /// The objective at each step's parameters, before the step.
    pub trace: Vec<f64>,
}

/// The state that a run carries from step to step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct Descent {
    settings: DescentSettings,
    state: UpdaterState,
    smoothed: Smoothed,
    /// `None` before the first step.
    good: Option<Good>,
}

/// The last point at which objective and gradient were finite, and the update rule's state there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Good {
    x: Vec<f64>,
    state: UpdaterState,
}

impl Descent {
    /// The state before the first step, for `parameters` parameters.
    ///
    /// # Errors
    /// `Dimension` if the bounds are for another number of parameters.
    pub fn new(settings: DescentSettings, parameters: usize) -> Result<Self, RevrandError> {
        if let Some(bounds) = &settings.bounds {
            check::length("bounds", parameters, bounds.len())?;
        }
        Ok(Self { settings, state: UpdaterState::new(parameters), smoothed: Smoothed::default(), good: None })
    }

    /// This state with other settings for further steps. The state of the update rule is forgotten only if it is replaced by
    /// another rule; another rate is the same rule.
    ///
    /// # Errors
    /// `Dimension` if the bounds are for another number of parameters.
    pub(crate) fn with_settings(self, settings: DescentSettings) -> Result<Self, RevrandError> {
        if self.settings.updater.is_same_rule(&settings.updater) {
            let new = Self::new(settings, self.parameters())?;
            return Ok(Self { settings: new.settings, ..self });
        }
        Self::new(settings, self.parameters())
    }

    /// The number of steps taken so far.
    pub(crate) fn steps(&self) -> u64 {
        self.state.steps()
    }

    /// The number of parameters.
    pub(crate) fn parameters(&self) -> usize {
        self.state.parameters()
    }

    /// Begins a run: the patience of early stopping starts anew.
    pub(crate) fn begin(&mut self) {
        self.smoothed.renew();
    }

    /// Takes one step from `x`, where the objective is `value` and its gradient `gradient`; returns `None` if the run goes on.
    ///
    /// After [`Stop::Diverged`] `x` is the last point at which both were finite, or unchanged if there was none; after
    /// [`Stop::Improvement`] it is where the objective was last evaluated. Entries of `gradient` that would push `x` out of the
    /// bounds are set to 0.
    #[track_caller]
    pub(crate) fn step(&mut self, x: &mut [f64], value: f64, gradient: &mut [f64]) -> Option<Stop> {
        if !(value.is_finite() && lanes::all_finite(gradient)) {
            return Some(self.back(x));
        }
        let Self { settings, state, smoothed, good } = self;
        let good = good.get_or_insert_with(|| Good { x: x.to_vec(), state: state.clone() });
        good.x.copy_from_slice(x);
        if let Some(stop) = &settings.stop
            && smoothed.push(stop, value)
        {
            good.state.copy_from(state);
            return Some(Stop::Improvement);
        }
        if let Some(bounds) = &settings.bounds {
            bounds.project(x, gradient);
        }
        // The current state becomes the good one, and the next is written over the one before it: nothing is copied.
        std::mem::swap(state, &mut good.state);
        state.advance(&good.state, &settings.updater, x, gradient);
        if let Some(bounds) = &self.settings.bounds {
            bounds.clip(x);
        }
        if lanes::all_finite(x) && self.state.is_finite() { None } else { Some(self.back(x)) }
    }

    /// Goes back to the last point at which the objective was finite.
    fn back(&mut self, x: &mut [f64]) -> Stop {
        if let Some(good) = &self.good {
            x.copy_from_slice(&good.x);
            self.state.copy_from(&good.state);
        }
        Stop::Diverged
    }
}

/// The stored form.
#[derive(Debug, Clone, Deserialize)]
struct Stored {
    settings: DescentSettings,
    state: UpdaterState,
    smoothed: Smoothed,
    good: Option<Good>,
}

impl TryFrom<Stored> for Descent {
    type Error = RevrandError;

    fn try_from(Stored { settings, state, smoothed, good }: Stored) -> Result<Self, RevrandError> {
        let parameters = state.parameters();
        let new = Self::new(settings, parameters)?;
        if let Some(good) = &good {
            check::length("good", parameters, good.x.len())?;
            check::finite("good", &good.x)?;
            check::length("the good state", parameters, good.state.parameters())?;
        }
        Ok(Self { state, smoothed, good, ..new })
    }
}

/// Minimises by at most `steps` steps from `x`, which is the last point when the run ends.
///
/// `objective(x, gradient)` returns the value at `x`, or an estimate, and writes the gradient. If it fails, `x` is where the last
/// good step led.
///
/// # Errors
/// `Dimension` if `x` has another length than `descent` was made for, `NonFinite` for an entry of `x`, and what `objective`
/// returns.
pub fn minimise(
    descent: &mut Descent,
    x: &mut [f64],
    steps: usize,
    mut objective: impl FnMut(&[f64], &mut [f64]) -> Result<f64, RevrandError>,
) -> Result<Run, RevrandError> {
    check::length("x", descent.parameters(), x.len())?;
    check::finite("x", x)?;
    descent.begin();
    let mut gradient = vec![0.0; x.len()];
    let mut trace = Vec::new();
    for _ in 0..steps {
        let value = objective(x, &mut gradient)?;
        let ended = descent.step(x, value, &mut gradient);
        if value.is_finite() {
            trace.push(value);
        }
        if let Some(stop) = ended {
            return Ok(Run { stop, trace });
        }
    }
    Ok(Run { stop: Stop::Iterations, trace })
}
