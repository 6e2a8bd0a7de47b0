//! What can go wrong, as a query hears it.

use vi_sums::SumsError;

/// Errors of a call; the name of the function is put before them.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// The sums, a record or a prediction.
    #[error(transparent)]
    Sums(#[from] SumsError),
    /// Rows whose lists differ in length.
    #[error("a row has {found} features, the rows before it {expected}")]
    Length {
        /// The length before.
        expected: usize,
        /// The length found.
        found: usize,
    },
    /// A posterior that would not fit.
    #[error("a posterior over {inputs} inputs takes {bytes} bytes, above the limit of {limit}")]
    TooLarge {
        /// Its inputs.
        inputs: usize,
        /// Its bytes.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// Settings that are not the same for all rows of a group.
    #[error("the first argument must be the same for all rows of a group: {first:?} and {second:?}")]
    Settings {
        /// Those before.
        first: String,
        /// Those found.
        second: String,
    },
    /// A text that is none.
    #[error("the first argument is not UTF-8 text")]
    Text,
    /// An argument of another type than was registered.
    #[error("internal error: argument {column} is not {expected}")]
    Argument {
        /// Which.
        column: usize,
        /// What was registered.
        expected: &'static str,
    },
    /// What the engine has not done, or cannot.
    #[error("internal error: the engine has {0}")]
    Engine(&'static str),
}

impl From<vi_core::Error> for Fault {
    fn from(error: vi_core::Error) -> Self {
        Self::Sums(error.into())
    }
}
