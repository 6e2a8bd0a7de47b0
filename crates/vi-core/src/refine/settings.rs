//! Settings and report of refinement.

use crate::block::BlockSettings;
use crate::check;
use crate::{Error, Stop};

/// The settings of [refinement](super::refine()).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RefineSettings {
    /// Sweeping stops when a sweep changes the bound by less than this, in nats; for expectation propagation, when its
    /// changes of the rows' `log Ẑ` add up, in absolute value, to less.
    pub tolerance: f64,
    /// The largest number of sweeps.
    pub max_sweeps: usize,
    /// How many rows are absorbed together; `None` chooses from `d`.
    pub block: Option<BlockSettings>,
}

impl Default for RefineSettings {
    /// The default is a tolerance of 1e-9 nats, at most 50 sweeps, and blocks chosen from `d`.
    fn default() -> Self {
        Self { tolerance: 1e-9, max_sweeps: 50, block: None }
    }
}

impl RefineSettings {
    /// Checks the settings; every function that takes them calls this.
    ///
    /// # Errors
    /// [`Error::Setting`] unless the tolerance is positive and finite and the limit from 1 to 10⁶.
    pub fn check(&self) -> Result<(), Error> {
        check::positive("tolerance", self.tolerance)?;
        check::limit("max_sweeps", self.max_sweeps)
    }
}

/// A report of the refinement.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RefineInfo {
    /// The number of sweeps kept.
    pub sweeps: usize,
    /// The number of sweeps undone because the bound fell; each halves the damping factor.
    pub undone: usize,
    /// The number of site updates skipped for want of a proper cavity, over all sweeps.
    pub skipped: usize,
    /// The number of passes of the batch optimiser, which takes over if damped sweeps keep lowering the bound; otherwise 0.
    pub batch_passes: usize,
    /// The bound on the log evidence before the first sweep, after each kept one and after the batch optimiser, in nats; for
    /// expectation propagation only the log evidence at the end.
    pub bounds: Vec<f64>,
    /// Why the sweeps, or the batch optimiser, stopped.
    pub stop: Stop,
}

impl RefineInfo {
    /// The report before the first sweep, with the bound at that time if it is known.
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
