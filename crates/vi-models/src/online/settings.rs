//! What a front-door model can be told; all of it has a default.

use serde::{Deserialize, Serialize};
use vi_core::Error;

use super::belief::BeliefKind;
use super::design::Standardise;

/// Where the prior standard deviation of the weights comes from, in units of standardised columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum PriorScale {
    /// This one, positive.
    Given(f64),
    /// One model for each of these runs beside the others. The one that has predicted best, by the sum of its log one-step
    /// predictive densities, answers; the work is multiplied by their number, and each row copies the model.
    Learned(Vec<f64>),
}

impl Default for PriorScale {
    /// Learned among 0.1, 0.5, 2.5.
    fn default() -> Self {
        Self::Learned(vec![0.1, 0.5, 2.5])
    }
}

impl PriorScale {
    pub(super) fn candidates(&self) -> &[f64] {
        match self {
            Self::Given(scale) => std::slice::from_ref(scale),
            Self::Learned(scales) => scales,
        }
    }
}

/// What a model forgets before each row, so that it can follow a world that drifts; `λ` in (0, 1) leaves a memory of about
/// `1/(1−λ)` rows. See [`vi_core::forgetting`].
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Memory {
    /// Nothing is forgotten.
    #[default]
    Everything,
    /// Old rows and the prior lose weight, `Λ ← λΛ`: for inputs that keep being seen. The variance of a weight that no recent input
    /// tells grows as `λ⁻ⁿ`; with a full covariance a row that would take it beyond 10⁸ prior variances is refused, for
    /// the other weights would lose their digits beside it.
    Fading(f64),
    /// Old rows lose weight and the prior keeps its own, `Λ ← λΛ + (1−λ)Λ₀`. With a full covariance a row costs `d³`.
    TowardsPrior(f64),
}

/// Settings of a front-door model. The default needs no thought: an intercept, inputs standardised by the first 50 rows, the
/// prior scale learned, a full covariance, nothing forgotten, no rows kept.
///
/// ```
/// use vi_models::online::{BeliefKind, OnlineSettings, PriorScale};
/// let settings = OnlineSettings {
///     belief: BeliefKind::Diagonal,
///     prior_scale: PriorScale::Given(1.0),
///     ..OnlineSettings::default()
/// };
/// assert!(settings.intercept);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OnlineSettings {
    /// How the posterior is kept.
    pub belief: BeliefKind,
    /// Prior standard deviation of the weights of the (standardised) inputs.
    pub prior_scale: PriorScale,
    /// Whether the model adds a constant column.
    pub intercept: bool,
    /// Prior standard deviation of the intercept, positive.
    pub intercept_scale: f64,
    /// How inputs are brought to a common scale.
    pub standardise: Standardise,
    /// What is forgotten between rows.
    pub memory: Memory,
    /// Whether rows, labels and sites are kept, so that the model can be refined and diagnosed: the memory of the data.
    pub keep_rows: bool,
}

impl Default for OnlineSettings {
    fn default() -> Self {
        Self {
            belief: BeliefKind::default(),
            prior_scale: PriorScale::default(),
            intercept: true,
            intercept_scale: 5.0,
            standardise: Standardise::default(),
            memory: Memory::Everything,
            keep_rows: false,
        }
    }
}

impl OnlineSettings {
    /// # Errors
    /// `Empty`, `Setting`, and those of [`Standardise`].
    pub(super) fn check(&self, inputs: usize) -> Result<(), Error> {
        if inputs == 0 && !self.intercept {
            return Err(Error::Empty { argument: "inputs" });
        }
        if self.prior_scale.candidates().is_empty() {
            return Err(Error::Empty { argument: "prior scales" });
        }
        for &scale in self.prior_scale.candidates() {
            check_scale("prior scale", scale)?;
        }
        check_scale("intercept_scale", self.intercept_scale)?;
        if let Memory::Fading(lambda) | Memory::TowardsPrior(lambda) = self.memory
            && !(lambda > 0.0 && lambda < 1.0)
        {
            return Err(Error::Setting {
                name: "memory",
                value: lambda,
                requirement: "between 0 and 1, both excluded",
            });
        }
        self.standardise.check(inputs)
    }
}

fn check_scale(name: &'static str, value: f64) -> Result<(), Error> {
    let variance = value * value;
    if value > 0.0 && variance.is_normal() && variance.recip().is_normal() {
        Ok(())
    } else {
        Err(Error::Setting { name, value, requirement: "positive, its square a float" })
    }
}
