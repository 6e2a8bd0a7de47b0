//! Early stopping: when an objective estimated from batches no longer falls.

use serde::{Deserialize, Serialize};

use crate::{RevrandError, check};

/// Early stopping: a run ends when the smoothed objective has not fallen for a while.
///
/// Batches make the objective noisy, so it is averaged over each `window` steps: the run ends when `patience` windows in a row
/// have not lowered the lowest average by more than `tolerance`, relative to its size.
///
/// ```
/// use vi_core::Stop;
/// use vi_revrand::sgd::{Descent, DescentSettings, EarlyStop, Updater, minimise};
/// let stop = Some(EarlyStop::new(10, 3, 1e-3)?);
/// let settings = DescentSettings { updater: Updater::plain(0.5)?, stop, ..DescentSettings::default() };
/// let mut x = [4.0];
/// let run = minimise(&mut Descent::new(settings, 1)?, &mut x, 100_000, |x, gradient| {
///     gradient[0] = x[0];
///     Ok(1.0 + 0.5 * x[0] * x[0])
/// })?;
/// assert_eq!((run.stop, run.trace.len()), (Stop::Improvement, 50));
/// # Ok::<(), vi_revrand::RevrandError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct EarlyStop {
    window: usize,
    patience: usize,
    tolerance: f64,
}

impl EarlyStop {
    /// Early stopping by averages over `window` steps, after `patience` of them without a decrease by more than `tolerance`.
    ///
    /// # Errors
    /// `Setting` if `window` or `patience` is 0 or `tolerance` is negative or not finite.
    pub fn new(window: usize, patience: usize, tolerance: f64) -> Result<Self, RevrandError> {
        check::count("window", window)?;
        check::count("patience", patience)?;
        check::not_negative("tolerance", tolerance)?;
        Ok(Self { window, patience, tolerance })
    }
}

/// The stored form.
#[derive(Debug, Clone, Copy, Deserialize)]
struct Stored {
    window: usize,
    patience: usize,
    tolerance: f64,
}

impl TryFrom<Stored> for EarlyStop {
    type Error = RevrandError;

    fn try_from(stored: Stored) -> Result<Self, RevrandError> {
        Self::new(stored.window, stored.patience, stored.tolerance)
    }
}

/// The state of early stopping.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Smoothed {
    sum: f64,
    count: usize,
    /// The lowest average of a window; `None` before the first.
    lowest: Option<f64>,
    without_fall: usize,
}

impl Smoothed {
    /// Records the objective of a step; returns whether it is time to stop.
    pub(super) fn push(&mut self, stop: &EarlyStop, value: f64) -> bool {
        self.sum += value;
        self.count += 1;
        if self.count < stop.window {
            return false;
        }
        let mean = self.sum / self.count as f64;
        (self.sum, self.count) = (0.0, 0);
        let fell = self.lowest.is_none_or(|lowest| mean < lowest - stop.tolerance * lowest.abs());
        self.lowest = Some(self.lowest.map_or(mean, |lowest| lowest.min(mean)));
        self.without_fall = if fell { 0 } else { self.without_fall + 1 };
        self.without_fall >= stop.patience
    }

    /// Resets the patience, so that a continued run gets it anew.
    pub(super) fn renew(&mut self) {
        *self = Self::default();
    }
}
