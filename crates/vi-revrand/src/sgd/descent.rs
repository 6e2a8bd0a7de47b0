//! The loop: evaluate, look, step.

use serde::{Deserialize, Serialize};

use super::smooth::Smoothed;
use super::{Bounds, EarlyStop, Updater, UpdaterState};
use crate::{RevrandError, check};

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

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// All steps were taken, or there were no more batches.
    MostSteps,
    /// The smoothed objective stopped falling.
    Settled,
    /// The objective or its gradient was not finite. The parameters are the last at which both were.
    Diverged,
}

/// What a run did.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Why it ended.
    pub status: Status,
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
    /// The last parameters at which objective and gradient were finite; none before the first step.
    good: Option<Vec<f64>>,
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
    /// After [`Status::Diverged`] `x` is the last point at which both were finite, or as it was if there was none;
    /// after [`Status::Settled`] it is where the objective was last evaluated. What of `gradient` would push `x` out of the
    /// bounds is set to 0.
    #[track_caller]
    pub fn step(&mut self, x: &mut [f64], value: f64, gradient: &mut [f64]) -> Option<Status> {
        if !(value.is_finite() && all_finite(gradient)) {
            if let Some(good) = &self.good {
                x.copy_from_slice(good);
            }
            return Some(Status::Diverged);
        }
        match &mut self.good {
            Some(good) => good.copy_from_slice(x),
            None => self.good = Some(x.to_vec()),
        }
        if let Some(stop) = &self.settings.stop
            && self.smoothed.push(stop, value)
        {
            return Some(Status::Settled);
        }
        if let Some(bounds) = &self.settings.bounds {
            bounds.project(x, gradient);
        }
        self.state.step(&self.settings.updater, x, gradient);
        if let Some(bounds) = &self.settings.bounds {
            bounds.clip(x);
        }
        if !all_finite(x) {
            if let Some(good) = &self.good {
                x.copy_from_slice(good);
            }
            return Some(Status::Diverged);
        }
        None
    }
}

/// Without a branch for each entry: `0·v` is 0 unless `v` is infinite or NaN.
fn all_finite(values: &[f64]) -> bool {
    let mut sums = [0.0; 16];
    let (heads, tail) = values.as_chunks::<16>();
    for head in heads {
        for i in 0..16 {
            sums[i] += head[i] * 0.0;
        }
    }
    sums.iter().sum::<f64>() == 0.0 && tail.iter().all(|value| value.is_finite())
}

/// The stored form.
#[derive(Debug, Clone, Deserialize)]
struct Stored {
    settings: DescentSettings,
    state: UpdaterState,
    smoothed: Smoothed,
    good: Option<Vec<f64>>,
}

impl TryFrom<Stored> for Descent {
    type Error = RevrandError;

    fn try_from(Stored { settings, state, smoothed, good }: Stored) -> Result<Self, RevrandError> {
        let parameters = state.parameters();
        let new = Self::new(settings, parameters)?;
        if let Some(good) = &good {
            check::length("good", parameters, good.len())?;
            check::finite("good", good)?;
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
        if let Some(status) = ended {
            return Ok(Run { status, trace });
        }
    }
    Ok(Run { status: Status::MostSteps, trace })
}
