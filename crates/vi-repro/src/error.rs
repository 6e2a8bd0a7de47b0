//! The crate's one error type.

use std::path::PathBuf;

use vi_plot::PlotError;

/// Everything that can stop an item, a drawing or the page from being made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReproError {
    /// A picture could not be drawn.
    #[error(transparent)]
    Plot(#[from] PlotError),
    /// Two columns that must match in length do not.
    #[error("{what}: expected {expected} values, found {found}")]
    Length {
        /// The argument concerned.
        what: String,
        /// Length it should have.
        expected: usize,
        /// Length it has.
        found: usize,
    },
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file concerned.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A table could not be written as CSV.
    #[error("{path}: {source}")]
    Csv {
        /// The file concerned.
        path: PathBuf,
        /// What the CSV writer said.
        source: csv::Error,
    },
    /// A record could not be written as JSON.
    #[error("{path}: {source}")]
    Json {
        /// The file concerned.
        path: PathBuf,
        /// What the JSON writer said.
        source: serde_json::Error,
    },
    /// The command line names a paper that is not there.
    #[error("no paper is called `{name}`; there are: {valid}")]
    UnknownPaper {
        /// The name given.
        name: String,
        /// The names there are, separated by commas.
        valid: String,
    },
    /// The command line names an item that is not there.
    #[error("paper `{paper}` has no item `{name}`; it has: {valid}")]
    UnknownItem {
        /// The paper asked for.
        paper: String,
        /// The name given.
        name: String,
        /// The names there are, separated by commas.
        valid: String,
    },
    /// An item needs a data set that is fetched by a command of its own.
    #[error("{path} is not there: `cargo xtask data {name}` fetches it")]
    NoData {
        /// Name of the data set.
        name: &'static str,
        /// Where it should be.
        path: PathBuf,
    },
    /// A computation inside an item failed.
    #[error("{what}: {message}")]
    Computation {
        /// What was being computed.
        what: String,
        /// Why it failed.
        message: String,
    },
}

/// Names what was being computed in a library's error.
pub trait Doing<T> {
    /// The value, or [`ReproError::Computation`] with `what` was being computed and why it failed.
    ///
    /// # Errors
    /// The one of the result, named; of `None`, that there is nothing.
    fn context(self, what: impl Into<String>) -> Result<T, ReproError>;
}

impl<T, E: std::fmt::Display> Doing<T> for Result<T, E> {
    fn context(self, what: impl Into<String>) -> Result<T, ReproError> {
        self.map_err(|e| ReproError::Computation { what: what.into(), message: e.to_string() })
    }
}

impl<T> Doing<T> for Option<T> {
    fn context(self, what: impl Into<String>) -> Result<T, ReproError> {
        self.ok_or("nothing came of it").context(what)
    }
}

/// Returns an error unless `found == expected`.
pub(crate) fn same_length(what: &str, expected: usize, found: usize) -> Result<(), ReproError> {
    if expected == found { Ok(()) } else { Err(ReproError::Length { what: what.to_owned(), expected, found }) }
}
