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

impl ReproError {
    /// Wraps a library's error with the name of what was being computed.
    pub fn computation(what: impl Into<String>, error: &impl std::fmt::Display) -> Self {
        Self::Computation { what: what.into(), message: error.to_string() }
    }
}

/// Returns an error unless `found == expected`.
pub(crate) fn same_length(what: &str, expected: usize, found: usize) -> Result<(), ReproError> {
    if expected == found { Ok(()) } else { Err(ReproError::Length { what: what.to_owned(), expected, found }) }
}
