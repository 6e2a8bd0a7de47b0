//! Settings and report of a fit.

use serde::{Deserialize, Serialize};
use vi_core::Stop;

use crate::{ModelError, check};

/// The rule that ends the iterations.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) enum StopRule {
    /// No parameter changes by more than this, relatively.
    Parameters { tolerance: f64 },
    /// The bound without its constants changes by less than 1e-5 of itself.
    Authors,
}

/// When the iterations of a fit stop.
///
/// ```
/// use vi_models::vb::VbSettings;
/// let careful = VbSettings { tolerance: Some(1e-12), max_iterations: 20_000 };
/// assert!(careful.check().is_ok());
/// assert!(VbSettings { max_iterations: 0, ..careful }.check().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct VbSettings {
    /// The iterations stop when no expected precision `E α` (and, for the logistic model, no local parameter `ξ²`) changes by
    /// more than this share of itself. `None` is the [authors' rule](Self::authors).
    ///
    /// Once the changes are small the iterations are extrapolated (Varadhan and Roland's SQUAREM on the logarithms; a step that
    /// would lower ℒ is taken back), because plain ones converge as slowly as by a factor 0.999 in directions about which the
    /// data say little.
    pub tolerance: Option<f64>,
    /// The largest number of iterations.
    pub max_iterations: usize,
}

impl Default for VbSettings {
    /// The default is a tolerance of `10⁻⁸` and at most 5000 iterations.
    fn default() -> Self {
        Self { tolerance: Some(1e-8), max_iterations: 5000 }
    }
}

impl VbSettings {
    /// The rule of the authors' published code: stop when ℒ without its constants changes by less than 1e-5 of itself, after at
    /// most 500 iterations (the note says 100), without extrapolation. It can stop tens of nats short.
    ///
    /// Logistic fits also stop when ℒ falls; its value before the first iteration is not a bound, so that can happen at once.
    #[must_use]
    pub fn authors() -> Self {
        Self { tolerance: None, max_iterations: 500 }
    }

    /// Checks the settings; every function that takes them calls this.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` unless the tolerance is positive and finite and the limit from 1 to 10⁶.
    pub fn check(&self) -> Result<(), ModelError> {
        self.tolerance.map_or(Ok(()), |tolerance| check::positive("tolerance", tolerance))?;
        Ok(check::limit("max_iterations", self.max_iterations)?)
    }

    pub(super) fn rule(&self) -> StopRule {
        self.tolerance.map_or(StopRule::Authors, |tolerance| StopRule::Parameters { tolerance })
    }
}

#[derive(Serialize, Deserialize)]
struct Stored {
    rule: StopRule,
    max_iterations: usize,
}

impl From<VbSettings> for Stored {
    fn from(settings: VbSettings) -> Self {
        Self { rule: settings.rule(), max_iterations: settings.max_iterations }
    }
}

impl TryFrom<Stored> for VbSettings {
    type Error = ModelError;

    fn try_from(Stored { rule, max_iterations }: Stored) -> Result<Self, ModelError> {
        let tolerance = match rule {
            StopRule::Parameters { tolerance } => Some(tolerance),
            StopRule::Authors => None,
        };
        let settings = Self { tolerance, max_iterations };
        settings.check().map(|()| settings)
    }
}

/// A report of the iterations of a fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct VbInfo {
    /// Why the iterations stopped. [`Stop::Converged`]: no parameter changes by more than the tolerance; under the authors' rule,
    /// the bound changed by less than 1e-5 of itself, and parameters may still move. [`Stop::Improvement`]: an iteration would
    /// lower ℒ by more than the rounding of its terms, and the parameters from before it are returned; under the authors' rule
    /// for logistic fits, ℒ is below the last one, or below the value they start from, which is not a bound.
    pub stop: Stop,
    /// Whether the authors' rule ([`VbSettings::authors`]) decided when to stop.
    pub authors_rule: bool,
    /// The number of iterations, including those that were taken back.
    pub iterations: usize,
    /// ℒ after each iteration that was kept, in nats, including constants.
    pub bounds: Vec<f64>,
    /// How far ℒ may seem to fall from one iteration to the next, in nats, through the rounding of its terms, whose sizes can be
    /// much larger than their sum.
    pub rounding: f64,
    /// The largest relative change of a parameter in the last iteration.
    pub last_change: f64,
    /// The number of extrapolated iterations that were taken back because ℒ would have fallen.
    pub rejected: usize,
    /// The condition number of the posterior precision with its diagonal scaled to 1, so that the columns' units do not matter;
    /// estimated from below by power iterations. Near `10ᵏ` the columns are collinear to `k/2` digits, and relative errors of
    /// `10ᵏ⁻¹⁶` cannot be avoided.
    pub condition: f64,
    /// The number of iterations in which rounding left no Cholesky factor of the normal equations, so that the factor was made by
    /// reflections of the rows themselves, which need only `√κ`. Nothing is added to any matrix.
    pub reflections: usize,
}
