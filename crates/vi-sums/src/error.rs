//! What can go wrong, named after the fact that proves it.

use vi_core::Fingerprint;
use vi_linalg::LinalgError;
use vi_models::ModelError;

/// Errors of `vi-sums`. Every entry point has changed nothing when it returns one.
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
    /// An argument, a label, a factorisation or a stored record, as `vi-core` names it.
    #[error(transparent)]
    Core(#[from] vi_core::Error),
    /// A prediction, as `vi-models` names it.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Two sets of sums cannot be added or subtracted.
    #[error("the two posteriors differ in their {what}: {first} and {second}")]
    Unlike {
        /// What differs.
        what: &'static str,
        /// What the first has.
        first: String,
        /// What the second has.
        second: String,
    },
    /// What is subtracted was never added.
    #[error("what is subtracted was never added: {what}")]
    NotContained {
        /// The fact that proves it.
        what: &'static str,
    },
    /// A word of a description is not understood.
    #[error("{word:?} is not understood: {expected}")]
    Word {
        /// The word.
        word: String,
        /// What may stand there.
        expected: &'static str,
    },
    /// Statistics of a pass meet a place, or statistics, that they are not of.
    #[error("statistics of another place: they were taken at {found}, expected {expected}")]
    OtherPlace {
        /// The fingerprint of the place.
        expected: Fingerprint,
        /// The fingerprint of the place where the statistics were taken.
        found: Fingerprint,
    },
    /// A record of an earlier release that does not tell enough.
    #[error("a record of kind {found:?} is of an earlier release and does not tell {missing}: make it anew")]
    Earlier {
        /// Its kind.
        found: &'static str,
        /// What it lacks.
        missing: &'static str,
    },
    /// A record of another kind.
    #[error("the record is of kind {found:?}, expected {expected}")]
    Kind {
        /// What was expected.
        expected: &'static str,
        /// The kind in the record; empty where the bytes are no record at all.
        found: String,
    },
}

impl SumsError {
    /// An error of row `t` of a part becomes one of row `first + t` of the whole.
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
