//! What can go wrong, named after the fact that proves it.

use vi_linalg::LinalgError;
use vi_models::ModelError;

/// Errors of `vi-revrand`. Every entry point checks its input at the door and has changed nothing when it returns one.
///
/// ```
/// use vi_revrand::{Bound, RevrandError};
/// let error = Bound::between(2.0, 1.0).unwrap_err();
/// assert_eq!(error, RevrandError::Bounds { lower: 2.0, upper: 1.0 });
/// assert_eq!(error.to_string(), "the bounds 2 and 1 leave nothing between them");
/// ```
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RevrandError {
    /// An argument, a setting, a label or a factorisation, as `vi-core` names it.
    #[error(transparent)]
    Core(#[from] vi_core::Error),
    /// A label or a probability, as `vi-models` names it.
    #[error(transparent)]
    Model(ModelError),
    /// Bounds that are reversed, equal, or not numbers.
    #[error("the bounds {lower} and {upper} leave nothing between them")]
    Bounds {
        /// The lower end.
        lower: f64,
        /// The upper end.
        upper: f64,
    },
    /// A number that must lie between bounds does not.
    #[error("{argument}[{index}] = {value} is not between {lower} and {upper}")]
    OutOfBounds {
        /// Name of the argument.
        argument: &'static str,
        /// Position in it.
        index: usize,
        /// The value given.
        value: f64,
        /// The lower end.
        lower: f64,
        /// The upper end.
        upper: f64,
    },
    /// Features, or numbers made of them, are beyond the range of floats.
    #[error("feature {feature} of row {row} is {value}")]
    Feature {
        /// The row of the input.
        row: usize,
        /// The feature.
        feature: usize,
        /// What it came to.
        value: f64,
    },
    /// A likelihood that counts successes was given no numbers of trials, or another one was given some.
    #[error("the {family} likelihood {}", if *given { "takes no trials" } else { "needs the trials of each observation" })]
    Trials {
        /// Name of the likelihood.
        family: &'static str,
        /// Whether there were any.
        given: bool,
    },
    /// A source of batches failed; the model stands where the last good step left it.
    #[error("the source of batches failed after {batches}: {message}")]
    Source {
        /// How many batches it gave.
        batches: usize,
        /// What it said.
        message: String,
    },
    /// A batch cannot be learned from; the model stands where the last good step left it.
    #[error("batch {batch}: {source}")]
    Batch {
        /// Which, from 0.
        batch: usize,
        /// What is wrong with it.
        source: Box<RevrandError>,
    },
    /// The prior is so wide beside the noise that rounding leaves nothing of the marginal likelihood.
    #[error(
        "the features' prior variance is {ratio:e} times the noise variance: rounding leaves nothing of the likelihood"
    )]
    Precision {
        /// The trace of `B = I + ΨᵀΨ/σ²`: the number of features, or of rows where they are fewer, plus `Σ λφ²/σ²` over all of both.
        ratio: f64,
    },
    /// Numbers that must differ are all the same.
    #[error("all {argument} are {value}: there is nothing to compare with")]
    Constant {
        /// Name of the argument.
        argument: &'static str,
        /// The number.
        value: f64,
    },
    /// A kernel has no features of the kind asked for.
    #[error("{features} features exist for {requirement} only, not for {kernel}")]
    Kernel {
        /// The kind of features.
        features: &'static str,
        /// The kernels that have them.
        requirement: &'static str,
        /// The kernel asked for.
        kernel: &'static str,
    },
}

impl From<LinalgError> for RevrandError {
    fn from(error: LinalgError) -> Self {
        Self::Core(vi_core::Error::Linalg(error))
    }
}

impl From<ModelError> for RevrandError {
    fn from(error: ModelError) -> Self {
        match error {
            ModelError::Core(error) => Self::Core(error),
            other => Self::Model(other),
        }
    }
}
