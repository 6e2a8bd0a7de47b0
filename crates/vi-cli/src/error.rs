//! Errors, in one line with the place and the remedy.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;
use vi_models::ModelError;
use vi_sums::SumsError;
use vi_terms::TermsError;
use vi_terms::table::FileError;

/// The error of a command.
#[derive(Debug, Error)]
pub(crate) enum CliError {
    /// A file that cannot be opened, read or written.
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    /// Another program has changed a model while this one learned.
    #[error("{}: another program has changed the model in the meantime; nothing is stored: run the command again", path.display())]
    Overtaken { path: PathBuf },
    /// An output that would overwrite an input.
    #[error("`--{option} {}` would overwrite the {what} {}; name another file", output.display(), path.display())]
    Same { option: &'static str, output: PathBuf, what: &'static str, path: PathBuf },
    /// The command was stopped.
    #[error("stopped")]
    Stop,
    /// A pass was stopped, and its model is stored.
    #[error("stopped after row {row}; `rvi resume {}` continues from there", path.display())]
    Resumable { path: PathBuf, row: u64 },
    /// A command was stopped while it read rows again; the model of the one pass is stored.
    #[error("stopped during a further pass; {0} holds the model of the first pass: `rvi resume {0}` goes on, with `--refine` if that was asked for", path.display())]
    Unrefined { path: PathBuf },
    /// A pass was stopped, and nothing is stored.
    #[error("stopped after row {row}; nothing is stored without `--output`")]
    Lost { row: u64 },
    /// Not a model file.
    #[error("{}: {what}", path.display())]
    Document { path: PathBuf, what: String },
    /// A record of a posterior, or a model to be written as one.
    #[error("{}: {source}", path.display())]
    Posterior { path: PathBuf, source: SumsError },
    /// An error of a file of rows or of a model.
    #[error(transparent)]
    Data(#[from] FileError),
}

impl From<TermsError> for CliError {
    fn from(error: TermsError) -> Self {
        Self::Data(error.into())
    }
}

impl From<ModelError> for CliError {
    fn from(error: ModelError) -> Self {
        Self::Data(error.into())
    }
}

impl CliError {
    pub(crate) fn file(path: &Path, source: io::Error) -> Self {
        Self::File { path: path.to_owned(), source }
    }

    /// An error of the table or the model at `path`.
    pub(crate) fn table(path: &Path, error: TermsError) -> Self {
        Self::Data(FileError::Table { path: path.to_owned(), error })
    }

    /// The error of the table or the model, if it is one.
    pub(crate) fn cause(&self) -> Option<&TermsError> {
        match self {
            Self::Data(error) => error.cause(),
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
