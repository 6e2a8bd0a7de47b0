//! The errors of the crate, each with the values that prove it.

use vi_core::check;
use vi_linalg::LinalgError;

/// An error of `vi-boost`. Every public function checks its input first and leaves its state unchanged when it returns an error.
///
/// ```
/// use vi_boost::{BoostError, GaussianMixture};
/// let error = GaussianMixture::new(Vec::new(), &[]).unwrap_err();
/// assert_eq!(error, BoostError::Core(vi_core::Error::Empty { argument: "components" }));
/// ```
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BoostError {
    /// An error of `vi-core`: of an argument, a setting, a factorisation or a checkpoint.
    #[error(transparent)]
    Core(#[from] vi_core::Error),
    /// The target's log-density is NaN or +∞ at a point where it is needed.
    #[error("the target's log-density is {value} at {point:?}")]
    TargetValue {
        /// The value that it returned.
        value: f64,
        /// The point.
        point: Vec<f64>,
    },
    /// No point of the start distribution, or of the approximation to start from, has a positive, finite density.
    #[error(
        "none of {points} points of the start has a finite log-density: {zero} are −∞, {nan} are NaN, {infinite} are +∞"
    )]
    NoStart {
        /// The number of points tried.
        points: usize,
        /// The number of points at which the density is zero.
        zero: usize,
        /// The number of points at which it is NaN.
        nan: usize,
        /// The number of points at which it is infinite.
        infinite: usize,
    },
    /// The target is finite at some points of the start, but no candidate for the first component had a finite divergence: each had
    /// points at which the density is zero, NaN or +∞.
    #[error(
        "all of {tries} candidates for the first component were rejected: the target is zero, NaN or +∞ at some of their \
         points"
    )]
    NoCandidate {
        /// The number of candidates tried.
        tries: usize,
    },
    /// The best Gaussian is wider or further away than the start distribution allows: the target has no finite integral, or the
    /// start distribution has the wrong scale.
    #[error("the best Gaussian is {factor:e} times as wide or as far away as the start: the target may be improper")]
    Improper {
        /// Its distance in standard deviations of the start, or the ratio of widths.
        factor: f64,
    },
    /// A block of parameters is invalid.
    #[error("the block of parameters `{name}` {problem}")]
    Parameter {
        /// The name of the block.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Two settings exclude each other.
    #[error("{setting} has no meaning with {with}")]
    Conflict {
        /// The setting that would be ignored.
        setting: &'static str,
        /// The setting for which it would be ignored.
        with: &'static str,
    },
    /// A latent Gaussian model failed at some hyper-parameters.
    #[error("at the hyper-parameters {hyper:?}: {source}")]
    Hyper {
        /// The hyper-parameters, on their own scale.
        hyper: Vec<f64>,
        /// What failed there.
        source: Box<BoostError>,
    },
    /// The target is zero where the approximation has mass: the divergence is infinite.
    #[error("the target's density is zero at {share:.3} of the approximation's points: the divergence is infinite")]
    Unsupported {
        /// The share, by weight, of the points at which the target is zero.
        share: f64,
    },
}

impl From<LinalgError> for BoostError {
    fn from(error: LinalgError) -> Self {
        Self::Core(vi_core::Error::Linalg(error))
    }
}

/// The error of a setting out of its range.
pub(crate) fn setting(name: &'static str, value: f64, requirement: &'static str) -> BoostError {
    vi_core::Error::Setting { name, value, requirement }.into()
}

/// Checks that every entry is positive and finite.
///
/// # Errors
/// `NonFinite`, `Entry`.
pub(crate) fn check_positive_entries(argument: &'static str, values: &[f64]) -> Result<(), BoostError> {
    check::finite(argument, values)?;
    Ok(check::positive_entries(argument, values)?)
}
