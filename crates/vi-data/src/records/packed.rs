//! Decompression and decoding of bytes, whose format is recognised from the first of them.

use std::io::{self, BufRead};

use encoding_rs_io::DecodeReaderBytes;

use crate::DataError;

/// Decompresses `reader` if its first bytes are those of gzip or zstd, and returns whether they were. Text in UTF-16, with a byte order mark, becomes
/// UTF-8; other bytes are passed on as they are.
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
/// let mut text = String::new();
/// unpacked(b"\xff\xfea\0\n\0".as_slice())?.0.read_to_string(&mut text).unwrap();
/// assert_eq!(text, "a\n");
/// # Ok::<(), vi_data::DataError>(())
/// ```
pub fn unpacked<'a, R: BufRead + 'a>(mut reader: R) -> Result<(Box<dyn BufRead + 'a>, bool), DataError> {
    const GZIP: &[u8] = &[0x1f, 0x8b];
    const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
    /// The byte order marks.
    const UTF_16: [&[u8]; 2] = [&[0xff, 0xfe], &[0xfe, 0xff]];
    let cannot = |source| DataError::Source { row: 1, source };
    let start = reader.fill_buf().map_err(cannot)?;
    let packed = if start.starts_with(GZIP) {
        Some(Packed::Gzip)
    } else if start.starts_with(ZSTD) {
        Some(Packed::Zstd)
    } else {
        None
    };
    let is_packed = packed.is_some();
    let mut reader: Box<dyn BufRead + 'a> = match packed {
        Some(packed) => packed.unpack(reader).map_err(cannot)?,
        None => Box::new(reader),
    };
    let start = reader.fill_buf().map_err(cannot)?;
    if UTF_16.iter().any(|mark| start.starts_with(mark)) {
        reader = Box::new(io::BufReader::with_capacity(BUFFER, DecodeReaderBytes::new(reader)));
    }
    Ok((reader, is_packed))
}

const BUFFER: usize = 1 << 16;

enum Packed {
    Gzip,
    Zstd,
}

#[cfg(feature = "compressed")]
impl Packed {
    fn unpack<'a, R: BufRead + 'a>(self, reader: R) -> io::Result<Box<dyn BufRead + 'a>> {
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
