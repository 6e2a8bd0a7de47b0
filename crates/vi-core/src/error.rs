//! The errors of the crate, each with the numbers that prove it.

use vi_linalg::LinalgError;

use crate::checkpoint::CheckpointError;
use crate::fingerprint::Fingerprint;

/// An error of `vi-core`. Every public function checks its input first; after an error its state is unchanged, to the bit.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A number that must be finite is NaN or infinite.
    #[error("{argument}[{index}] is not finite: {value}")]
    NonFinite {
        /// Name of the argument.
        argument: &'static str,
        /// Its position (column-major for a matrix, 0 for a scalar).
        index: usize,
        /// The offending value.
        value: f64,
    },
    /// An argument has the wrong length or shape.
    #[error("{argument} has length {found}, expected {expected}")]
    Dimension {
        /// Name of the argument.
        argument: &'static str,
        /// The length that the other arguments require.
        expected: usize,
        /// The length that was given.
        found: usize,
    },
    /// A label to which the likelihood gives no probability.
    #[error("label {label} is outside the support of the {family} likelihood")]
    Label {
        /// The offending label.
        label: f64,
        /// Name of the likelihood.
        family: &'static str,
    },
    /// An argument that must not be empty is empty.
    #[error("{argument} is empty")]
    Empty {
        /// Name of the argument.
        argument: &'static str,
    },
    /// A setting is out of its range.
    #[error("{name} = {value} must be {requirement}")]
    Setting {
        /// Name of the setting.
        name: &'static str,
        /// The value given.
        value: f64,
        /// The allowed range in words.
        requirement: &'static str,
    },
    /// One number of an argument is out of its range.
    #[error("{argument}[{index}] = {value} must be {requirement}")]
    Entry {
        /// Name of the argument.
        argument: &'static str,
        /// The position in it.
        index: usize,
        /// The value given.
        value: f64,
        /// The allowed range in words.
        requirement: &'static str,
    },
    /// A position is beyond the end of an argument.
    #[error("{argument} has no entry {index}: its length is {len}")]
    Index {
        /// Name of the argument.
        argument: &'static str,
        /// The position asked for.
        index: usize,
        /// The number of entries.
        len: usize,
    },
    /// A covariance is not symmetric.
    #[error("{argument} is not symmetric: entries ({row}, {column}) and ({column}, {row}) differ by {difference}")]
    NotSymmetric {
        /// Name of the argument.
        argument: &'static str,
        /// Row of the entry below the diagonal.
        row: usize,
        /// Its column.
        column: usize,
        /// Size of the difference.
        difference: f64,
    },
    /// A matrix that must be positive definite is not.
    #[error("{argument} is not positive definite (pivot {pivot})")]
    NotPositiveDefinite {
        /// Name of the matrix.
        argument: &'static str,
        /// Index of the first pivot that is not positive.
        pivot: usize,
    },
    /// `xᵀPx` is negative, because rounding has destroyed the covariance.
    #[error("the projected variance xᵀPx = {value:e} is negative: the covariance has lost positive definiteness")]
    NegativeVariance {
        /// The value of `xᵀPx`.
        value: f64,
    },
    /// After the observation a dense covariance would be singular to rounding in some direction.
    #[error(
        "the observation multiplies the precision along its row by {factor:e}, after which the entries of a dense covariance have no \
         digits left in some direction: scale the columns, drop those that say nearly the same, or take a square-root belief"
    )]
    Unresolved {
        /// The factor by which the precision along the row would be multiplied, `1 + hν`.
        factor: f64,
    },
    /// The shards to be merged hold too few rows each for the form of their beliefs.
    #[error(
        "a merge of diagonal beliefs of so few rows each would leave the weights {deviations:.1} posterior standard deviations, \
         {:.0} % of their way, nearer to the prior than one pass: give each shard more rows, hand the posterior of one shard to the \
         next, or take a full or square-root belief", 100.0 * share
    )]
    ThinShards {
        /// How far the weights would lag behind, in posterior standard deviations.
        deviations: f64,
        /// The share that they would lag behind of their way from the prior's mean.
        share: f64,
    },
    /// A result is not finite.
    #[error("{quantity} = {value:e} is beyond the range of floating-point numbers")]
    Overflow {
        /// The name of the result.
        quantity: &'static str,
        /// The value that came out.
        value: f64,
    },
    /// A site would make the covariance indefinite, or is not finite.
    #[error("slope {slope:e}, curvature {curvature:e} at variance {variance:e} do not leave a Gaussian")]
    ImproperSite {
        /// Slope `g`.
        slope: f64,
        /// Curvature `h`.
        curvature: f64,
        /// Projected variance `ν`.
        variance: f64,
    },
    /// The implicit step was not found.
    #[error("no implicit step was found from mean {mean:e}, variance {variance:e}, label {label:e}")]
    RootNotFound {
        /// Projected mean `a`.
        mean: f64,
        /// Projected variance `ν`.
        variance: f64,
        /// Label `y`.
        label: f64,
    },
    /// A quadrature did not reach its tolerance.
    #[error(
        "the quadrature of {quantity} at mean {mean:e}, variance {variance:e} ended with relative error {relative_error:e}"
    )]
    Quadrature {
        /// What was integrated.
        quantity: &'static str,
        /// The Gaussian's mean.
        mean: f64,
        /// The Gaussian's variance.
        variance: f64,
        /// The estimated relative error; infinite when an integral is not finite or does not end.
        relative_error: f64,
    },
    /// This form of belief does not support the operation.
    #[error("a {belief} belief cannot take {operation}")]
    Unsupported {
        /// The operation.
        operation: &'static str,
        /// The form of the belief.
        belief: &'static str,
    },
    /// One observation of many failed.
    #[error("observation {row}: {source}")]
    Row {
        /// Index of the observation, from 0.
        row: usize,
        /// What is wrong with it.
        source: Box<Error>,
    },
    /// One shard of many cannot be merged.
    #[error("shard {shard}: {source}")]
    Shard {
        /// Index of the shard, from 0.
        shard: usize,
        /// What is wrong with it.
        source: Box<Error>,
    },
    /// A shard's posterior was computed from another prior than the one given for the merge.
    #[error("the posterior comes from another prior: its fingerprint is {found}, expected {expected}")]
    OtherPrior {
        /// The fingerprint of the prior given.
        expected: Fingerprint,
        /// The fingerprint of the prior that the posterior comes from.
        found: Fingerprint,
    },
    /// A shard's posterior was computed with other settings than the first shard's.
    #[error("the posterior was computed with other settings: their fingerprint is {found}, expected {expected}")]
    OtherSettings {
        /// The fingerprint of the first shard's settings.
        expected: Fingerprint,
        /// The fingerprint of this shard's settings.
        found: Fingerprint,
    },
    /// A shard forgot observations: its posterior is not the prior times the factors of its observations.
    #[error("the posterior forgot observations: only posteriors without forgetting can be merged")]
    Forgetful,
    /// A checkpoint cannot be read or written.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A linear-algebra step failed.
    #[error(transparent)]
    Linalg(#[from] LinalgError),
}

impl Error {
    /// This error as that of observation `row`.
    #[must_use]
    pub fn at_row(self, row: usize) -> Self {
        Self::Row { row, source: Box::new(self) }
    }

    /// This error as that of shard `shard`.
    #[must_use]
    pub(crate) fn at_shard(self, shard: usize) -> Self {
        Self::Shard { shard, source: Box::new(self) }
    }

    /// Renumbers the observation: an error of row `t` of a part becomes one of row `first + t` of the whole; other errors stay.
    #[must_use]
    pub fn shift_row(self, first: usize) -> Self {
        match self {
            Self::Row { row, source } => Self::Row { row: first + row, source },
            other => other,
        }
    }
}
