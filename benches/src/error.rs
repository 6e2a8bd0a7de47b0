//! What can go wrong in a measurement.

use std::path::PathBuf;

/// Errors of the benches.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// The program under measurement refused its input.
    #[error(transparent)]
    Core(#[from] vi_core::Error),
    /// As [`Core`](Self::Core), of `vi-models`.
    #[error(transparent)]
    Model(#[from] vi_models::ModelError),
    /// A file refused by `vi-terms`.
    #[error(transparent)]
    Table(#[from] vi_terms::table::FileError),
    /// As [`Core`](Self::Core), of `vi-revrand`.
    #[error(transparent)]
    Revrand(#[from] vi_revrand::RevrandError),
    /// Boosting refused its input.
    #[error(transparent)]
    Boost(#[from] vi_boost::BoostError),
    /// A data set could not be read.
    #[error(transparent)]
    Data(#[from] vi_data::DataError),
    /// A picture could not be drawn.
    #[error(transparent)]
    Plot(#[from] vi_plot::PlotError),
    /// A file or folder could not be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A measurement in a process of its own failed.
    #[error("`{job}` failed: {message}")]
    Child {
        /// What was to be measured.
        job: String,
        /// What the process said.
        message: String,
    },
    /// A file of the project lacks something.
    #[error("there is no reference for {what}")]
    Missing {
        /// What.
        what: String,
    },
    /// The results could not be put into JSON, or read from it.
    #[error("JSON: {0}")]
    Json(#[from] serde_json::Error),
}
