//! Why a case cannot be run.

/// What is wrong with a reference file, or with running it; every variant says where.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CaseError {
    /// The file is not JSON.
    #[error("malformed JSON: {0}")]
    Json(String),
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Io(String),
    /// A key is not there.
    #[error("{path} is missing")]
    Missing {
        /// Where in the file.
        path: String,
    },
    /// A value has the wrong type, or is not finite.
    #[error("{path} is not {expected}")]
    Type {
        /// Where in the file.
        path: String,
        /// What it should be.
        expected: &'static str,
    },
    /// An array has the wrong length.
    #[error("{path} has length {found}, expected {expected}")]
    Length {
        /// Where in the file.
        path: String,
        /// What the rest of the file asks for.
        expected: usize,
        /// What is there.
        found: usize,
    },
    /// A value makes no sense where it stands.
    #[error("{path}: {reason}")]
    Value {
        /// Where in the file.
        path: String,
        /// Why it makes no sense.
        reason: String,
    },
    /// `vi-linalg` refused the case.
    #[error(transparent)]
    Linalg(#[from] vi_linalg::LinalgError),
    /// `vi-core` refused the case.
    #[error(transparent)]
    Core(#[from] vi_core::Error),
    /// `vi-boost` refused the case.
    #[error(transparent)]
    Boost(#[from] vi_boost::BoostError),
    /// `vi-models` refused the case.
    #[error(transparent)]
    Model(#[from] vi_models::ModelError),
    /// `vi-revrand` refused the case.
    #[error(transparent)]
    Revrand(#[from] vi_revrand::RevrandError),
}
