//! Encoding of state as a payload, and decoding, by `bincode`.

use bincode::config::{Configuration, Fixint, LittleEndian};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::CheckpointError;

/// The payload of `state`.
pub(crate) fn encode<T: Serialize>(state: &T) -> Result<Vec<u8>, CheckpointError> {
    bincode::serde::encode_to_vec(state, config())
        .map_err(|error| CheckpointError::Malformed { message: error.to_string() })
}

/// The state in `payload`, which must be used to its last byte.
///
/// bincode allocates what a string inside claims, up to a limit that is a constant of its type; hence several such constants, of
/// which the lowest that the payload fits is taken; above 1 GiB there is no limit. (Sequences are safe at any length: serde
/// allocates them in small pieces.)
pub(super) fn decode<T: DeserializeOwned>(payload: &[u8]) -> Result<T, CheckpointError> {
    const KIB_64: usize = 1 << 16;
    const MIB_16: usize = 1 << 24;
    const GIB_1: usize = 1 << 30;
    match payload.len() {
        n if n <= KIB_64 => decode_within::<T, KIB_64>(payload),
        n if n <= MIB_16 => decode_within::<T, MIB_16>(payload),
        n if n <= GIB_1 => decode_within::<T, GIB_1>(payload),
        _ => decode_within::<T, { usize::MAX }>(payload),
    }
}

fn decode_within<T: DeserializeOwned, const LIMIT: usize>(payload: &[u8]) -> Result<T, CheckpointError> {
    let (state, used) = bincode::serde::decode_from_slice(payload, config().with_limit::<LIMIT>())
        .map_err(|error| CheckpointError::Malformed { message: error.to_string() })?;
    if used == payload.len() {
        Ok(state)
    } else {
        let message = format!("{} bytes are left over", payload.len() - used);
        Err(CheckpointError::Malformed { message })
    }
}

fn config() -> Configuration<LittleEndian, Fixint> {
    bincode::config::standard().with_fixed_int_encoding()
}
