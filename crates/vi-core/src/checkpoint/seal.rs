//! Version and checksum of a stored document.

use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};

use super::{CheckpointError, encode, frame};
use crate::Error;

/// Version of the documents that carry a [`Seal`].
const FORMAT: u32 = 1;

/// The version and the checksum of a stored document: CRC-64/XZ of the contents as `bincode` encodes them, so that spaces and the
/// order of fields do not matter, and every number does.
///
/// A stored form has a seal as its first field, blank while the checksum is computed. A document of a later version is refused as
/// soon as its version is read, before any field that this version does not know. A document whose checksum was taken out
/// (`null`) is read with its other checks alone: that is how to edit one by hand.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use vi_core::checkpoint::Seal;
/// #[derive(Serialize, Deserialize)]
/// #[serde(deny_unknown_fields)]
/// struct Stored {
///     seal: Seal,
///     weights: Vec<f64>,
/// }
/// let mut stored = Stored { seal: Seal::default(), weights: vec![0.5, 1.0] };
/// stored.seal = Seal::of(&stored)?;
///
/// // What reads it takes the seal off, and compares.
/// let seal = std::mem::take(&mut stored.seal);
/// assert!(seal.check(&stored).is_ok());
/// stored.weights[0] = 0.25;
/// assert!(seal.check(&stored).is_err());
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seal {
    #[serde(deserialize_with = "known")]
    format: u32,
    /// The checksum as sixteen hexadecimal digits.
    checksum: Option<String>,
}

impl Default for Seal {
    /// A blank seal: of this version, without a checksum.
    fn default() -> Self {
        Self { format: FORMAT, checksum: None }
    }
}

impl Seal {
    /// The seal of `contents`, in which the seal field is blank.
    ///
    /// # Errors
    /// [`CheckpointError::Malformed`] for contents that `bincode` cannot encode.
    pub fn of<T: Serialize>(contents: &T) -> Result<Self, Error> {
        Ok(Self { checksum: Some(format!("{:016x}", checksum(contents)?)), ..Self::default() })
    }

    /// Checks that this is the seal of `contents`, in which the seal field is blank; a seal without a checksum fits any contents.
    ///
    /// # Errors
    /// [`CheckpointError::Checksum`]; [`CheckpointError::Malformed`] for a checksum that is not hexadecimal.
    pub fn check<T: Serialize>(&self, contents: &T) -> Result<(), Error> {
        let Some(text) = &self.checksum else { return Ok(()) };
        let computed = checksum(contents)?;
        let stored = u64::from_str_radix(text, 16)
            .map_err(|error| CheckpointError::Malformed { message: format!("checksum {text:?}: {error}") })?;
        if stored == computed && text.len() == 16 {
            Ok(())
        } else {
            Err(CheckpointError::Checksum { stored, computed }.into())
        }
    }
}

fn checksum<T: Serialize>(contents: &T) -> Result<u64, CheckpointError> {
    Ok(frame::checksum(&[b"document", &encode(contents)?]))
}

fn known<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let found = u32::deserialize(deserializer)?;
    if found == FORMAT {
        Ok(found)
    } else {
        Err(D::Error::custom(CheckpointError::Version { found, supported: FORMAT }))
    }
}
