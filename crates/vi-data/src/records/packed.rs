//! Compressed bytes, told by how they begin.

use std::io::{self, BufRead};

use crate::DataError;

/// The bytes that `reader` holds compressed by gzip or zstd, told by how they begin, and whether they were; others as they are.
///
/// Several compressed parts one after the other are read as one.
///
/// # Errors
/// [`DataError::Source`] for a reader that cannot be read, and for compressed bytes where the feature `compressed` is not built.
///
/// ```
/// use vi_data::records::unpacked;
///
/// let (reader, packed) = unpacked("a,b\n1,2\n".as_bytes())?;
/// assert!(!packed);
/// # drop(reader);
/// # Ok::<(), vi_data::DataError>(())
/// ```
pub fn unpacked<'a, R: BufRead + 'a>(mut reader: R) -> Result<(Box<dyn BufRead + 'a>, bool), DataError> {
    const GZIP: &[u8] = &[0x1f, 0x8b];
    const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
    let cannot = |source| DataError::Source { row: 1, source };
    let start = reader.fill_buf().map_err(cannot)?;
    if start.starts_with(GZIP) {
        gzip(reader).map_err(cannot)
    } else if start.starts_with(ZSTD) {
        zstd(reader).map_err(cannot)
    } else {
        Ok((Box::new(reader), false))
    }
}

#[cfg(feature = "compressed")]
fn gzip<'a, R: BufRead + 'a>(reader: R) -> io::Result<(Box<dyn BufRead + 'a>, bool)> {
    Ok((Box::new(io::BufReader::with_capacity(BUFFER, flate2::bufread::MultiGzDecoder::new(reader))), true))
}

#[cfg(feature = "compressed")]
fn zstd<'a, R: BufRead + 'a>(reader: R) -> io::Result<(Box<dyn BufRead + 'a>, bool)> {
    Ok((Box::new(io::BufReader::with_capacity(BUFFER, zstd::Decoder::with_buffer(reader)?)), true))
}

#[cfg(feature = "compressed")]
const BUFFER: usize = 1 << 16;

#[cfg(not(feature = "compressed"))]
use self::{refused as gzip, refused as zstd};

#[cfg(not(feature = "compressed"))]
fn refused<'a, R: BufRead + 'a>(_: R) -> io::Result<(Box<dyn BufRead + 'a>, bool)> {
    let what = "compressed by gzip or zstd, which the feature `compressed` of vi-data reads";
    Err(io::Error::new(io::ErrorKind::Unsupported, what))
}
