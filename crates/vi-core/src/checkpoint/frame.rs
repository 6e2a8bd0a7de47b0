//! The frame around a payload: magic, version, kind, length, checksum.

use std::io::{self, Read, Write};

use crc::{CRC_64_XZ, Crc, Table};

use super::CheckpointError;

/// Version of the format, in every record.
const VERSION: u32 = 1;

/// The largest payload that [`read_from`](super::Checkpoint::read_from) accepts, 4 GiB: a dense belief of dimension 32 000.
pub const DEFAULT_LIMIT: u64 = 1 << 32;

const MAGIC: [u8; 8] = *b"\x89VIC\r\n\x1a\n";
const KIND_LEN: usize = 24;

static CRC: Crc<u64, Table<16>> = Crc::<u64, Table<16>>::new(&CRC_64_XZ);

/// CRC-64/XZ of `parts`, one after another.
pub(crate) fn checksum(parts: &[&[u8]]) -> u64 {
    let mut digest = CRC.digest();
    for part in parts {
        digest.update(part);
    }
    digest.finalize()
}

/// Writes one record and flushes.
pub(super) fn write(out: &mut impl Write, kind: &str, payload: &[u8]) -> Result<(), CheckpointError> {
    let version = VERSION.to_le_bytes();
    let kind = padded(kind)?;
    let length = (payload.len() as u64).to_le_bytes();
    let sum = checksum(&[&MAGIC, &version, &kind, &length, payload]);
    for part in [&MAGIC[..], &version, &kind, &length, payload, &sum.to_le_bytes()] {
        out.write_all(part)?;
    }
    Ok(out.flush()?)
}

/// Reads one record and returns its payload.
///
/// Magic, version, kind and limit are checked before the payload is read, so that each fault has its own error.
pub(super) fn read(input: &mut impl Read, kind: &str, limit: u64) -> Result<Vec<u8>, CheckpointError> {
    let expected = padded(kind)?;
    let magic: [u8; 8] = take(input, "magic")?;
    if magic != MAGIC {
        return Err(CheckpointError::Foreign);
    }
    let version: [u8; 4] = take(input, "version")?;
    if version != VERSION.to_le_bytes() {
        return Err(CheckpointError::Version { found: u32::from_le_bytes(version), supported: VERSION });
    }
    let stored_kind: [u8; KIND_LEN] = take(input, "kind")?;
    if stored_kind != expected {
        let found = String::from_utf8_lossy(&stored_kind).trim_end_matches('\0').to_owned();
        return Err(CheckpointError::Kind { expected: kind.to_owned(), found });
    }
    let length: [u8; 8] = take(input, "length")?;
    let claimed = u64::from_le_bytes(length);
    if claimed > limit {
        return Err(CheckpointError::TooLarge { claimed, limit });
    }

    let mut payload = Vec::new();
    input.take(claimed).read_to_end(&mut payload)?;
    if (payload.len() as u64) < claimed {
        return Err(CheckpointError::Truncated { part: "payload" });
    }
    let stored = u64::from_le_bytes(take(input, "checksum")?);
    let computed = checksum(&[&magic, &version, &stored_kind, &length, &payload]);
    if stored == computed { Ok(payload) } else { Err(CheckpointError::Checksum { stored, computed }) }
}

fn padded(kind: &str) -> Result<[u8; KIND_LEN], CheckpointError> {
    let proper = !kind.is_empty() && kind.len() <= KIND_LEN && kind.bytes().all(|b| b.is_ascii_graphic());
    if !proper {
        return Err(CheckpointError::KindName { kind: kind.to_owned() });
    }
    let mut bytes = [0; KIND_LEN];
    bytes[..kind.len()].copy_from_slice(kind.as_bytes());
    Ok(bytes)
}

fn take<const N: usize>(input: &mut impl Read, part: &'static str) -> Result<[u8; N], CheckpointError> {
    let mut bytes = [0; N];
    match input.read_exact(&mut bytes) {
        Ok(()) => Ok(bytes),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(CheckpointError::Truncated { part }),
        Err(error) => Err(error.into()),
    }
}
