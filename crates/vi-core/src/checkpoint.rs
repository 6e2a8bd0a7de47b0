//! Checkpoints: beliefs and sites stored as bytes. A run that is stored, read and continued gives the same bits as one that never
//! stopped.
//!
//! A record, all numbers little-endian:
//!
//! | bytes | content |
//! | :-- | :-- |
//! | 8 | magic `89 56 49 43 0d 0a 1a 0a`: not text, and damaged by any transfer that takes it for text |
//! | 4 | version of the format, 1 |
//! | 24 | kind, ASCII padded with zeros, such as `vi-core/dense` |
//! | 8 | length of the payload |
//! | … | payload: `bincode` 2 with integers of fixed width |
//! | 8 | checksum: CRC-64/XZ of everything before |
//!
//! The checksum is a CRC because it guards against damage: it detects every error that spans at most 64 bits, such as a flipped
//! byte, with certainty, and any other with probability `1 − 2⁻⁶⁴`. It is not a signature.
//!
//! Reading trusts nothing. The claimed length is first compared with a limit ([`DEFAULT_LIMIT`] unless another is given); memory
//! then grows with the bytes that arrive, not with those that are claimed. What is decoded passes the checks of the type's
//! constructor. A reader takes one record and leaves what follows, so records can be written one after another; [`expect_end`]
//! checks that nothing follows.
//!
//! The library touches no file. A program should write to a temporary file in the same folder, sync it, and rename it over the
//! old one: after a crash there is then the old checkpoint or the new, never half of one.
//!
//! ```
//! use vi_core::{Belief, Checkpoint, DenseGaussian, checkpoint};
//! let belief = DenseGaussian::isotropic(&[0.1, 0.2], 3.0)?;
//! let mut bytes = Vec::new();
//! belief.write_to(&mut bytes)?;
//!
//! let mut input = bytes.as_slice();
//! let again = DenseGaussian::read_from(&mut input)?;
//! checkpoint::expect_end(&mut input)?;
//! assert_eq!(again.mean(), belief.mean());
//! # Ok::<(), vi_core::Error>(())
//! ```
//!
//! Documents (a front-door model by `serde`) have no frame; the [`Seal`] in them is their version and checksum.
//!
//! Random generators and other state with `serde` can be stored beside a belief with [`write`](write()) and [`read`].

mod codec;
mod dense;
mod diagonal;
mod error;
pub(crate) mod frame;
mod grouped;
mod seal;
mod sites;
mod square_root;
mod triangle;

pub(crate) use codec::encode;
pub use error::CheckpointError;
pub use frame::DEFAULT_LIMIT;
pub use grouped::{ArrowWire, GroupedWire};
pub use seal::Seal;

use std::io::{Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Error;

/// State that can be stored as bytes and read again.
///
/// A type implements this by naming its kind, its stored form, and the conversions to and from that form.
pub trait Checkpoint: Sized {
    /// The name of the kind, 1 to 24 printable ASCII characters, different from any other type's: `crate/type`.
    const KIND: &'static str;

    /// The type of the stored form.
    type Wire: Serialize + DeserializeOwned;

    /// The stored form of this state.
    ///
    /// # Errors
    /// [`CheckpointError::Contents`] when the state is damaged, so that [`from_wire`](Self::from_wire) would refuse it: it is
    /// better to find out before the old checkpoint is gone.
    fn to_wire(&self) -> Result<Self::Wire, Error>;

    /// The state from its stored form, the same to the bit; everything about `wire` is checked.
    ///
    /// # Errors
    /// [`CheckpointError::Contents`], saying what is wrong.
    fn from_wire(wire: Self::Wire) -> Result<Self, Error>;

    /// Writes one record and flushes.
    ///
    /// # Errors
    /// As [`to_wire`](Self::to_wire) and [`write`](write()).
    fn write_to(&self, out: &mut impl Write) -> Result<(), Error> {
        write(out, Self::KIND, &self.to_wire()?)
    }

    /// Reads one record of at most [`DEFAULT_LIMIT`] bytes.
    ///
    /// # Errors
    /// As [`read`] and [`from_wire`](Self::from_wire).
    fn read_from(input: &mut impl Read) -> Result<Self, Error> {
        Self::read_within(input, DEFAULT_LIMIT)
    }

    /// Reads one record whose payload has at most `limit` bytes.
    ///
    /// # Errors
    /// As [`read`] and [`from_wire`](Self::from_wire).
    fn read_within(input: &mut impl Read, limit: u64) -> Result<Self, Error> {
        Self::from_wire(read(input, Self::KIND, limit)?)
    }
}

/// Writes one record of any state that implements `serde`, under the name `kind`, and flushes.
///
/// # Errors
/// [`Error::Checkpoint`] with [`CheckpointError::KindName`], [`CheckpointError::Malformed`] (state that `bincode`
/// cannot encode), [`CheckpointError::Io`].
///
/// ```
/// use rand_chacha::{ChaCha8Rng, rand_core::{Rng, SeedableRng}};
/// use vi_core::checkpoint;
/// let mut rng = ChaCha8Rng::seed_from_u64(7);
/// rng.next_u32();
/// let mut bytes = Vec::new();
/// checkpoint::write(&mut bytes, "chacha8", &rng)?;
/// let mut again: ChaCha8Rng = checkpoint::read(&mut bytes.as_slice(), "chacha8", 1 << 10)?;
/// assert_eq!(again.next_u64(), rng.next_u64());
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn write<T: Serialize>(out: &mut impl Write, kind: &str, state: &T) -> Result<(), Error> {
    Ok(frame::write(out, kind, &codec::encode(state)?)?)
}

/// Reads one record of kind `kind` whose payload has at most `limit` bytes.
///
/// # Errors
/// [`Error::Checkpoint`] with any [`CheckpointError`] but `Contents` and `TrailingBytes`.
pub fn read<T: DeserializeOwned>(input: &mut impl Read, kind: &str, limit: u64) -> Result<T, Error> {
    Ok(codec::decode(&frame::read(input, kind, limit)?)?)
}

/// Checks that nothing follows the records that were read.
///
/// # Errors
/// [`CheckpointError::TrailingBytes`], [`CheckpointError::Io`].
pub fn expect_end(input: &mut impl Read) -> Result<(), Error> {
    let mut rest = Vec::new();
    input.take(1).read_to_end(&mut rest).map_err(CheckpointError::from)?;
    if rest.is_empty() { Ok(()) } else { Err(CheckpointError::TrailingBytes.into()) }
}

/// Checks a stored count of observations, which must be small enough for counting to go on.
///
/// # Errors
/// [`Error::Setting`] for 2⁵³ or more.
pub(crate) fn counted(name: &'static str, value: u64) -> Result<u64, Error> {
    if value < 1 << 53 {
        Ok(value)
    } else {
        Err(Error::Setting { name, value: value as f64, requirement: "below 2⁵³" })
    }
}
