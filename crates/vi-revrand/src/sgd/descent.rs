//! The loop: evaluate, look, step.

use serde::{Deserialize, Serialize};
use vi_core::Stop;

use super::smooth::Smoothed;
use super::{Bounds, EarlyStop, Updater, UpdaterState};
use crate::{RevrandError, check, lanes};

/// Settings of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct DescentSettings {
    /// The update rule.
    pub updater: Updater,
    /// The box that the parameters may not leave.
    pub bounds: Option<Bounds>,
    /// When to stop before the last step.
    pub stop: Option<EarlyStop>,
}

/// What a run did.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Why it ended.
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
    /// None before the first step.
    good: Option<Good>,
}

/// The last point at which objective and gradient were finite, and the update rule's state there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Good {
    x: Vec<f64>,
    state: UpdaterState,
}

impl Descent {
    /// Before the first step, for `parameters` parameters.
    ///
    /// # Errors
    /// `Dimension` when the bounds are of another number of parameters.
    pub fn new(settings: DescentSettings, parameters: usize) -> Result<Self, RevrandError> {
        if let Some(bounds) = &settings.bounds {
            check::length("bounds", parameters, bounds.len())?;
        }
        Ok(Self { settings, state: UpdaterState::new(parameters), smoothed: Smoothed::default(), good: None })
    }

    /// The same, to go on with other settings. What the update rule remembers is forgotten where another rule takes over; another rate
    /// is no other rule.
    ///
    /// # Errors
    /// `Dimension` when the bounds are of another number of parameters.
    pub fn with_settings(self, settings: DescentSettings) -> Result<Self, RevrandError> {
        if self.settings.updater.is_same_rule(&settings.updater) {
            let new = Self::new(settings, self.parameters())?;
            return Ok(Self { settings: new.settings, ..self });
        }
        Self::new(settings, self.parameters())
    }

    /// Steps taken so far.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.state.steps()
    }

    /// The number of parameters.
    #[must_use]
    pub fn parameters(&self) -> usize {
        self.state.parameters()
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &DescentSettings {
        &self.settings
    }

    /// Begins a run: early stopping gets its patience anew.
    pub fn begin(&mut self) {
        self.smoothed.renew();
    }

    /// One step from `x`, where the objective is `value` and its gradient `gradient`; `None` to go on.
    ///
    /// After [`Stop::Diverged`] `x` is the last point at which both were finite, or as it was if there was none;
    /// after [`Stop::Improvement`] it is where the objective was last evaluated. What of `gradient` would push `x` out of the
    /// bounds is set to 0.
    #[track_caller]
    pub fn step(&mut self, x: &mut [f64], value: f64, gradient: &mut [f64]) -> Option<Stop> {
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
        // The state of now becomes the good one, and the next is written over the one before it: nothing is copied.
        std::mem::swap(state, &mut good.state);
        state.advance(&good.state, &settings.updater, x, gradient);
        if let Some(bounds) = &self.settings.bounds {
            bounds.clip(x);
        }
        if lanes::all_finite(x) && self.state.is_finite() { None } else { Some(self.back(x)) }
    }

    /// Takes back what led to where the objective is not finite.
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

/// Minimises by at most `steps` steps from `x`, which ends where the run does.
///
/// `objective(x, gradient)` returns the value at `x`, or an estimate, and fills the gradient. When it fails, `x` is where the
/// last good step led.
///
/// # Errors
/// `Dimension` when `x` has another length than `descent` was made for, `NonFinite` for an entry of `x`, and what `objective`
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
