//! Errors, in one line with the place and the remedy.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;
use vi_data::DataError;
use vi_models::ModelError;
use vi_sums::SumsError;
use vi_terms::TermsError;

/// The error of a command.
#[derive(Debug, Error)]
pub(crate) enum CliError {
    /// A file that cannot be opened, read or written.
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    /// A truncated file.
    #[error("{place}: the compressed data end too early; the file is cut short: copy it again")]
    Cut { place: Place },
    /// A read error in the middle of a file.
    #[error("{place}: {source}")]
    Stopped { place: Place, source: io::Error },
    /// Another program has changed a model while this one learned.
    #[error("{}: another program has changed the model in the meantime; nothing is stored: run the command again", path.display())]
    Overtaken { path: PathBuf },
    /// An output that would overwrite an input.
    #[error("`--{option} {}` would overwrite the {what} {}; name another file", output.display(), path.display())]
    Same { option: &'static str, output: PathBuf, what: &'static str, path: PathBuf },
    /// Models that cannot be merged.
    #[error("{} and the models after it: {source}", path.display())]
    Merge { path: PathBuf, source: ModelError },
    /// The command was stopped.
    #[error("stopped")]
    Stop,
    /// A pass was stopped, and its model is stored.
    #[error("stopped after row {row}; `rvi resume {}` continues from there", path.display())]
    Resumable { path: PathBuf, row: u64 },
    /// A command was stopped while it read rows again; the model of the one pass is stored.
    #[error("stopped during a further pass; {} holds the model of the first pass", path.display())]
    Unrefined { path: PathBuf },
    /// A pass was stopped, and nothing is stored.
    #[error("stopped after row {row}; nothing is stored without `--output`")]
    Lost { row: u64 },
    /// A pass without a learned row.
    #[error("{}: no row was learned{why}", path.display())]
    Nothing { path: PathBuf, why: String },
    /// A record with a wrong number of fields.
    #[error("{place}: {found} fields instead of {expected} (`--skip-bad` skips such rows)")]
    Ragged { place: Place, expected: usize, found: usize },
    /// A line that is not a record.
    #[error("{place}: {what} (`--skip-bad` skips such rows)")]
    Record { place: Place, what: String },
    /// Two columns of one name.
    #[error("{}: two columns have the name `{name}`", path.display())]
    Twice { path: PathBuf, name: String },
    /// Not a model file.
    #[error("{}: {what}", path.display())]
    Document { path: PathBuf, what: String },
    /// A record of a posterior, or a model to be written as one.
    #[error("{}: {source}", path.display())]
    Posterior { path: PathBuf, source: SumsError },
    /// A picture that cannot be drawn.
    #[error("picture `{name}`: {what}")]
    Picture { name: &'static str, what: String },
    /// A wrong option.
    #[error("`{}`: {what}", format!("--{option} {value}").trim_end())]
    Option { option: &'static str, value: String, what: String },
    /// An error in a table, with the name of its file.
    #[error("{}", told(path, error))]
    Table { path: PathBuf, error: TermsError },
    /// An error in a model or an option, apart from any table.
    #[error(transparent)]
    Whole(#[from] TermsError),
}

impl From<ModelError> for CliError {
    fn from(error: ModelError) -> Self {
        Self::Whole(error.into())
    }
}

/// An error of a table in the words of the command: with its file, and with the options that help.
fn told(path: &Path, error: &TermsError) -> String {
    let path = path.display();
    match error {
        TermsError::Field { row, column, text, expected, hint } => format!(
            "{path}, row {row}, column `{column}`: `{text}` is not {expected} (`--skip-bad` skips such rows{hint})"
        ),
        TermsError::Row { .. } => format!("{path}, {error}"),
        TermsError::Column { .. } | TermsError::Untold { .. } | TermsError::Document { .. } => {
            format!("{path}: {error}")
        }
        TermsError::Empty => format!("{path}: the file has no rows"),
        TermsError::Changed { rows } => {
            format!("{path}: its first {rows} rows differ from those of the model; `rvi update` learns another file")
        }
        other => other.to_string(),
    }
}

/// A row of a file, the first line of data being row 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    pub(crate) row: u64,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, row {}", self.path.display(), self.row)
    }
}

impl CliError {
    pub(crate) fn file(path: &Path, source: io::Error) -> Self {
        Self::File { path: path.to_owned(), source }
    }

    /// An error from reading the file at `path`, with its place.
    pub(crate) fn of_data(path: &Path, error: DataError) -> Self {
        let at = |row: usize| Place { path: path.to_owned(), row: row as u64 };
        let path = path.to_owned();
        match error {
            DataError::Empty => Self::Table { path, error: TermsError::Empty },
            DataError::DuplicateColumn { name } => Self::Twice { path, name },
            DataError::Ragged { row, expected, found } => Self::Ragged { place: at(row), expected, found },
            DataError::Record { row, what } => Self::Record { place: at(row), what },
            DataError::Field { row, column, text, expected } => {
                let row = row as u64;
                Self::Table { path, error: TermsError::Field { row, column, text, expected, hint: "" } }
            }
            DataError::Source { row, source } if source.kind() == io::ErrorKind::UnexpectedEof => {
                Self::Cut { place: at(row) }
            }
            DataError::Source { row, source } if row > 1 => Self::Stopped { place: at(row), source },
            DataError::Source { source, .. } => Self::File { path, source },
            other => Self::File { path, source: io::Error::other(other) },
        }
    }

    /// Whether a row is at fault, which `--skip-bad` may leave out.
    pub(crate) fn is_of_a_row(&self) -> bool {
        matches!(self, Self::Ragged { .. } | Self::Record { .. }) || self.cause().is_some_and(TermsError::is_of_a_row)
    }

    /// The error of the table or the model, if it is one.
    pub(crate) fn cause(&self) -> Option<&TermsError> {
        match self {
            Self::Table { error, .. } | Self::Whole(error) => Some(error),
            _ => None,
        }
    }

    /// Whether somebody has stopped the command.
    pub(crate) fn is_stop(&self) -> bool {
        matches!(self, Self::Stop | Self::Resumable { .. } | Self::Unrefined { .. } | Self::Lost { .. })
    }

    /// Whether the reader of the output has gone away, which is no failure.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::File { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
    }
}
