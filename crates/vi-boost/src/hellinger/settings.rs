//! Settings of boosting of square roots.

use vi_core::check;

use crate::BoostError;
use crate::boost::{check_components, check_points};

/// The settings of [`Hellinger`](super::Hellinger): its budget and its stopping rules.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HellingerSettings {
    /// The largest number of components of the square root.
    pub components: usize,
    /// The number of quasi-random points for each component.
    pub points: usize,
    /// The number of places at which the next component is sought.
    pub starts: usize,
    /// The number of evaluations of the objective with its gradient for each component.
    pub evaluations: usize,
    /// A step that lowers the objective by no more than this is counted by `patience`.
    pub improvement: f64,
    /// The run stops after so many steps in a row that are below `improvement`.
    pub patience: usize,
}

impl Default for HellingerSettings {
    /// The default is 16 components of the square root with 1024 points each, 4 starts, and 100 evaluations for each component;
    /// the run stops after 3 steps that gain no more than 1e-6 each.
    fn default() -> Self {
        Self { components: 16, points: 1024, starts: 4, evaluations: 100, improvement: 1e-6, patience: 3 }
    }
}

impl HellingerSettings {
    /// Checks the settings; every function that takes them calls this.
    ///
    /// # Errors
    /// [`BoostError::Core`] with `Setting` unless components are from 1 to 1000, starts and evaluations from 1 to 10⁶, `patience` at least 1, `points` even, at least 16 and at most
    /// [`MOST_POINTS`](crate::points::MOST_POINTS), and `improvement` not negative.
    pub fn check(&self) -> Result<(), BoostError> {
        check_components(self.components)?;
        check_points("points", self.points)?;
        check::limit("starts", self.starts)?;
        check::limit("evaluations", self.evaluations)?;
        check::not_negative("improvement", self.improvement)?;
        Ok(check::count("patience", self.patience)?)
    }
}
