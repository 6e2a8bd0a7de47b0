//! The errors of the crate, each with the values that prove it.

use vi_core::Fingerprint;
use vi_linalg::LinalgError;
use vi_models::ModelError;

use crate::GroupKey;

/// An error of `vi-sums`. A function that returns one has changed nothing.
///
/// ```
/// use vi_sums::{GlmSpec, SumsError};
/// let error = GlmSpec::parse("gamma").unwrap_err();
/// assert!(matches!(error, SumsError::Word { .. }));
/// assert!(error.to_string().contains("gamma"));
/// ```
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SumsError {
    /// An error of `vi-core`: of an argument, a label, a factorisation or a stored record.
    #[error(transparent)]
    Core(#[from] vi_core::Error),
    /// An error of `vi-models`: of a prediction.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Two sets of sums cannot be added or subtracted.
    #[error("the two posteriors differ in their {what}: {first} and {second}")]
    Unlike {
        /// What differs.
        what: &'static str,
        /// What the first posterior has.
        first: String,
        /// What the second posterior has.
        second: String,
    },
    /// What is to be subtracted cannot have been added.
    #[error("the subtracted rows were never added: {what}")]
    NotContained {
        /// The fact that proves it.
        what: &'static str,
    },
    /// The sums or the record of one group.
    #[error("group {key:?}: {source}")]
    Group {
        /// The key of the group.
        key: String,
        /// What is wrong.
        source: Box<SumsError>,
    },
    /// A word of a model's description is not understood.
    #[error("{word:?} is not understood: {expected}")]
    Word {
        /// The word.
        word: String,
        /// What may stand in its place.
        expected: &'static str,
    },
    /// Statistics of a pass were taken at another place, that is, at another Gaussian, than that of the call or of the other
    /// statistics.
    #[error("statistics of another place: they were taken at {found}, expected {expected}")]
    OtherPlace {
        /// The fingerprint of the expected place.
        expected: Fingerprint,
        /// The fingerprint of the place where the statistics were taken.
        found: Fingerprint,
    },
    /// A record of an earlier release lacks something that is needed.
    #[error("a record of kind {found:?} is of an earlier release and lacks {missing}: make a new one")]
    Earlier {
        /// The kind of the record.
        found: &'static str,
        /// What it lacks.
        missing: &'static str,
    },
    /// A record is of another kind than expected.
    #[error("the record is of kind {found:?}, expected {expected}")]
    Kind {
        /// The kind that was expected.
        expected: &'static str,
        /// The kind in the record; empty if the bytes are not a record at all.
        found: String,
    },
}

impl SumsError {
    /// The same error, told of a group.
    pub(crate) fn of_group(self, key: &GroupKey) -> Self {
        Self::Group { key: key.to_string(), source: Box::new(self) }
    }

    /// Renumbers the row: an error of row `t` of a part becomes one of row `first + t` of the whole.
    pub(crate) fn shift_row(self, first: usize) -> Self {
        match self {
            Self::Core(error) => Self::Core(error.shift_row(first)),
            other => other,
        }
    }
}

impl From<LinalgError> for SumsError {
    fn from(error: LinalgError) -> Self {
        Self::Core(vi_core::Error::Linalg(error))
    }
}
