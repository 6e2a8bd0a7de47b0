//! How a square root is grown, and when that ends.

use vi_core::check;

use crate::BoostError;
use crate::boost::checked_points;

/// Settings of [`Hellinger`](super::Hellinger); checked at construction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HellingerSettings {
    pub(super) components: usize,
    pub(super) points: usize,
    pub(super) starts: usize,
    pub(super) evaluations: usize,
    pub(super) improvement: f64,
    pub(super) patience: usize,
}

impl Default for HellingerSettings {
    /// 16 components of the square root, 1024 points each, 4 starts, 100 evaluations for each component; stops after 3 steps that
    /// gain no more than 1e-6 each.
    fn default() -> Self {
        Self { components: 16, points: 1024, starts: 4, evaluations: 100, improvement: 1e-6, patience: 3 }
    }
}

impl HellingerSettings {
    /// At most `components` of the square root, `points` quasi-random points for each, `starts` places where the next is sought and
    /// `evaluations` of the objective with its gradient for it.
    ///
    /// # Errors
    /// [`BoostError::Core`] with `Setting` unless all are at least 1 and `points` is even and at least 16.
    pub fn new(components: usize, points: usize, starts: usize, evaluations: usize) -> Result<Self, BoostError> {
        for (name, count) in [("components", components), ("starts", starts), ("evaluations", evaluations)] {
            check::count(name, count)?;
        }
        let points = checked_points("points", points)?;
        Ok(Self { components, points, starts, evaluations, ..Self::default() })
    }

    /// Stops after `patience` steps running that lower the objective by `least` or less each.
    ///
    /// # Errors
    /// [`BoostError::Core`] with `Setting` unless `least ≥ 0` and `patience ≥ 1`.
    pub fn improvement(self, least: f64, patience: usize) -> Result<Self, BoostError> {
        check::not_negative("improvement", least)?;
        check::count("patience", patience)?;
        Ok(Self { improvement: least, patience, ..self })
    }
}
