//! The errors of the crate, each with the values that prove it.

use vi_linalg::LinalgError;
use vi_models::ModelError;

/// An error of `vi-revrand`. Every public function checks its input first, and has changed nothing when it returns an error.
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
    /// An error of `vi-core`: of an argument, a setting, a label or a factorisation.
    #[error(transparent)]
    Core(#[from] vi_core::Error),
    /// An error of `vi-models`: of a label or a probability.
    #[error(transparent)]
    Model(ModelError),
    /// The bounds are reversed, equal, or NaN.
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
    /// A feature, or a number computed from features, is not finite.
    #[error("feature {feature} of row {row} is {value}")]
    Feature {
        /// The row of the input.
        row: usize,
        /// The feature.
        feature: usize,
        /// The value of the feature.
        value: f64,
    },
    /// A likelihood that counts successes was given no numbers of trials, or another likelihood was given some.
    #[error("the {family} likelihood {}", if *given { "takes no trials" } else { "needs the trials of each observation" })]
    Trials {
        /// Name of the likelihood.
        family: &'static str,
        /// Whether trials were given.
        given: bool,
    },
    /// A source of batches failed; the model is as the last good step left it.
    #[error("the source of batches failed after {batches}: {message}")]
    Source {
        /// How many batches the source had given.
        batches: usize,
        /// The message of the source.
        message: String,
    },
    /// A batch cannot be learned; the model is as the last good step left it.
    #[error("batch {batch}: {source}")]
    Batch {
        /// The number of the batch, from 0.
        batch: usize,
        /// What is wrong with it.
        source: Box<RevrandError>,
    },
    /// The prior is so wide compared with the noise that rounding leaves no digit of the marginal likelihood.
    #[error(
        "the features' prior variance is {ratio:e} times the noise variance: rounding leaves nothing of the likelihood"
    )]
    Precision {
        /// The trace of `B = I + ΨᵀΨ/σ²`: the smaller of the numbers of features and rows, plus `Σ λφ²/σ²` over all features and
        /// rows.
        ratio: f64,
    },
    /// A kernel does not have features of the requested kind.
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
