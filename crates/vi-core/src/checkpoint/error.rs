//! The errors of reading and writing checkpoints.

use std::io;

use crate::Error;

/// Why a checkpoint was not read or written.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The reader or writer failed.
    #[error("reading or writing the checkpoint failed: {message}")]
    Io {
        /// The kind of failure.
        kind: io::ErrorKind,
        /// The message of the failure.
        message: String,
    },
    /// The input does not start with the magic bytes: it is not a checkpoint.
    #[error("not a checkpoint: the first eight bytes are another format's")]
    Foreign,
    /// The record was written by another version of the format.
    #[error("checkpoint of format version {found}; this program reads version {supported}")]
    Version {
        /// The version in the input.
        found: u32,
        /// The version that can be read.
        supported: u32,
    },
    /// The record is a checkpoint of another type.
    #[error("checkpoint of kind {found:?}, expected {expected:?}")]
    Kind {
        /// The kind asked for.
        expected: String,
        /// The kind in the input.
        found: String,
    },
    /// The name of the kind cannot be stored.
    #[error("the kind {kind:?} must be 1 to 24 printable ASCII characters")]
    KindName {
        /// The name given.
        kind: String,
    },
    /// The input claims more bytes than the limit allows; none of them was read.
    #[error("the checkpoint claims {claimed} bytes, above the limit of {limit}")]
    TooLarge {
        /// The length claimed.
        claimed: u64,
        /// The limit it was read with.
        limit: u64,
    },
    /// The input ends too early.
    #[error("the checkpoint ends within its {part}")]
    Truncated {
        /// The part that is incomplete.
        part: &'static str,
    },
    /// The checksum is not that of the bytes: they were damaged.
    #[error("the checkpoint is damaged: its checksum is {stored:016x}, that of its bytes {computed:016x}")]
    Checksum {
        /// The checksum in the input.
        stored: u64,
        /// The checksum of the bytes read.
        computed: u64,
    },
    /// The payload, though undamaged, is not an encoding of the state.
    #[error("the payload cannot be decoded or encoded: {message}")]
    Malformed {
        /// What the codec reports.
        message: String,
    },
    /// The payload is well formed but not a state that could have been saved.
    #[error("the checkpoint's contents are impossible: {0}")]
    Contents(Box<Error>),
    /// Something follows where the input should end.
    #[error("bytes follow the last checkpoint")]
    TrailingBytes,
}

impl CheckpointError {
    /// Turns `error` into one about the contents of a checkpoint.
    pub(crate) fn contents(error: Error) -> Error {
        Error::Checkpoint(Self::Contents(Box::new(error)))
    }
}

impl From<io::Error> for CheckpointError {
    fn from(error: io::Error) -> Self {
        Self::Io { kind: error.kind(), message: error.to_string() }
    }
}
