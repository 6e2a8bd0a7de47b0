//! Fingerprints, by which two machines can tell whether they started from the same prior and settings.

use crate::Error;
use crate::checkpoint::{self, Checkpoint, frame};

/// A 64-bit hash of a belief's bits or of a description of settings.
///
/// It guards against mistakes, not against malice: two beliefs that differ within one number always differ here, two
/// arbitrary ones with probability `1 − 2⁻⁶⁴`. It is the checksum of a checkpoint, the same on every machine. `0.0` and
/// `−0.0` are different bits.
///
/// ```
/// use vi_core::{DenseGaussian, Fingerprint};
/// let one = Fingerprint::of(&DenseGaussian::isotropic(&[0.0], 1.0)?)?;
/// let two = Fingerprint::of(&DenseGaussian::isotropic(&[0.0], 2.0)?)?;
/// assert_ne!(one, two);
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint(pub(crate) u64);

impl Fingerprint {
    /// The fingerprint of anything that can be checkpointed. Cost: that of encoding it.
    ///
    /// # Errors
    /// As [`Checkpoint::to_wire`].
    pub fn of<T: Checkpoint>(value: &T) -> Result<Self, Error> {
        let payload = checkpoint::encode(&value.to_wire()?)?;
        Ok(Self(frame::checksum(&[T::KIND.as_bytes(), &payload])))
    }

    /// The fingerprint that is the checksum of a record.
    #[must_use]
    pub const fn of_checksum(checksum: u64) -> Self {
        Self(checksum)
    }

    /// The 64 bits of the fingerprint.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The fingerprint of settings, given as text in any form that the caller always uses.
    pub(crate) fn of_settings(description: &str) -> Self {
        Self(frame::checksum(&[b"settings", description.as_bytes()]))
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
