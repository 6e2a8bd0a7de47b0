//! How far to refine, and what refinement did.

use crate::block::BlockSettings;
use crate::check;
use crate::{Error, Stop};

/// How far to [refine](super::refine()).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RefineSettings {
    /// Sweeping stops when a sweep changes the bound by less than this, in nats; of expectation propagation the `log Ẑ` of the rows, in sum.
    pub tolerance: f64,
    /// The largest number of sweeps.
    pub max_sweeps: usize,
    /// Rows absorbed together; `None` chooses from `d`.
    pub block: Option<BlockSettings>,
}

impl Default for RefineSettings {
    /// Tolerance 1e-9 nats, at most 50 sweeps, blocks chosen from `d`.
    fn default() -> Self {
        Self { tolerance: 1e-9, max_sweeps: 50, block: None }
    }
}

impl RefineSettings {
    /// Checks the settings, as every entry that takes them does.
    ///
    /// # Errors
    /// [`Error::Setting`] unless the tolerance is positive and finite and the limit at least 1.
    pub fn check(&self) -> Result<(), Error> {
        check::positive("tolerance", self.tolerance)?;
        check::count("max_sweeps", self.max_sweeps)
    }
}

/// What refinement did.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RefineInfo {
    /// Sweeps kept.
    pub sweeps: usize,
    /// Sweeps undone because the bound fell; each halves the damping.
    pub undone: usize,
    /// Site updates skipped for want of a proper cavity, over all sweeps.
    pub skipped: usize,
    /// Passes of the batch optimiser, which finishes the work where damped sweeps keep losing the bound; otherwise 0.
    pub batch_passes: usize,
    /// The bound on the log evidence before the first sweep, after each kept one and after the batch optimiser, in nats; of expectation
    /// propagation its log evidence at the end alone.
    pub bounds: Vec<f64>,
    /// Why it stopped, or why the batch optimiser did.
    pub stop: Stop,
}

impl RefineInfo {
    /// Before the first sweep, with the bound then if it is known.
    ///
    /// ```
    /// let info = vi_core::refine::RefineInfo::new(vec![-12.5]);
    /// assert_eq!((info.sweeps, info.bound()), (0, -12.5));
    /// ```
    #[must_use]
    pub fn new(bounds: Vec<f64>) -> Self {
        Self { sweeps: 0, undone: 0, skipped: 0, batch_passes: 0, bounds, stop: Stop::Iterations }
    }

    /// The bound at the end, or the log evidence, in nats; −∞ if there is none.
    #[must_use]
    pub fn bound(&self) -> f64 {
        self.bounds.last().copied().unwrap_or(f64::NEG_INFINITY)
    }
}
