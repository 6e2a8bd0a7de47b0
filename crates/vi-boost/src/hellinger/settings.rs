//! How a square root is grown, and when that ends.

use vi_core::check;

use crate::BoostError;
use crate::boost::check_points;

/// What [`Hellinger`](super::Hellinger) may spend and when it stops.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HellingerSettings {
    /// Components of the square root at most.
    pub components: usize,
    /// Quasi-random points for each.
    pub points: usize,
    /// Places where the next is sought.
    pub starts: usize,
    /// Evaluations of the objective with its gradient for it.
    pub evaluations: usize,
    /// A step that lowers the objective by no more is one of those that `patience` counts.
    pub improvement: f64,
    /// The run stops after so many steps in a row without `improvement`.
    pub patience: usize,
}

impl Default for HellingerSettings {
    /// 16 components of the square root, 1024 points each, 4 starts, 100 evaluations for each component; stops after 3 steps that
    /// gain no more than 1e-6 each.
    fn default() -> Self {
        Self { components: 16, points: 1024, starts: 4, evaluations: 100, improvement: 1e-6, patience: 3 }
    }
}

impl HellingerSettings {
    /// Checks the settings; every function that takes them calls this.
    ///
    /// # Errors
    /// [`BoostError::Core`] with `Setting` unless all counts are at least 1, `points` even, at least 16 and at most
    /// [`MOST_POINTS`](crate::points::MOST_POINTS), and `improvement` not negative.
    pub fn check(&self) -> Result<(), BoostError> {
        check::count("components", self.components)?;
        check_points("points", self.points)?;
        check::count("starts", self.starts)?;
        check::count("evaluations", self.evaluations)?;
        check::not_negative("improvement", self.improvement)?;
        Ok(check::count("patience", self.patience)?)
    }
}
