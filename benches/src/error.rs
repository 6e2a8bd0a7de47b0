//! What can go wrong in a measurement.

use std::path::PathBuf;

/// Errors of the benches.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// The program under measurement refused its input.
    #[error(transparent)]
    Core(#[from] vi_core::Error),
    /// As [`Core`](Self::Core), of `vi-revrand`.
    #[error(transparent)]
    Revrand(#[from] vi_revrand::RevrandError),
    /// A file or folder could not be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The results could not be put into JSON.
    #[error("cannot write JSON: {0}")]
    Json(#[from] serde_json::Error),
}
