//! Decompression of bytes, whose format is recognised from the first of them.

use std::io::{self, BufRead};

use crate::DataError;

/// Decompresses `reader` if its first bytes are those of gzip or zstd, and returns whether they were; other bytes are passed on
/// as they are.
///
/// Several compressed parts one after the other are read as one.
///
/// # Errors
/// [`DataError::Source`] for a reader that cannot be read, and for compressed bytes if the feature `compressed` is not built.
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
    let packed = if start.starts_with(GZIP) {
        Packed::Gzip
    } else if start.starts_with(ZSTD) {
        Packed::Zstd
    } else {
        return Ok((Box::new(reader), false));
    };
    Ok((packed.unpack(reader).map_err(cannot)?, true))
}

enum Packed {
    Gzip,
    Zstd,
}

#[cfg(feature = "compressed")]
impl Packed {
    fn unpack<'a, R: BufRead + 'a>(self, reader: R) -> io::Result<Box<dyn BufRead + 'a>> {
        const BUFFER: usize = 1 << 16;
        let plain: Box<dyn io::Read + 'a> = match self {
            Self::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(reader)),
            Self::Zstd => Box::new(zstd::Decoder::with_buffer(reader)?),
        };
        Ok(Box::new(io::BufReader::with_capacity(BUFFER, plain)))
    }
}

#[cfg(not(feature = "compressed"))]
impl Packed {
    fn unpack<'a, R: BufRead + 'a>(self, _: R) -> io::Result<Box<dyn BufRead + 'a>> {
        let name = match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        };
        let what = format!("compressed by {name}, which the feature `compressed` of vi-data reads");
        Err(io::Error::new(io::ErrorKind::Unsupported, what))
    }
}
