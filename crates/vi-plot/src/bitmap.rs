//! Bitmaps for heat maps: indexed PNG without compression, as a data URI.

use super::palette::Colour;

/// Rows of palette indices, the top row first.
pub(super) struct Bitmap {
    width: usize,
    indices: Vec<u8>,
    palette: Vec<Colour>,
}

/// The index of a transparent pixel.
pub(super) const CLEAR: u8 = 255;
/// The most bytes in a stored block of the deflate format.
const STORED: usize = 65_535;

impl Bitmap {
    /// `indices` are into `palette` (at most 255 colours) or [`CLEAR`]; their number is a multiple of `width`.
    pub(super) fn new(width: usize, indices: Vec<u8>, palette: Vec<Colour>) -> Self {
        Self { width, indices, palette }
    }

    /// The bitmap as text that an image's `href` may hold.
    pub(super) fn data_uri(&self) -> String {
        format!("data:image/png;base64,{}", base64(&self.png()))
    }

    fn png(&self) -> Vec<u8> {
        let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
        let height = self.indices.len() / self.width.max(1);
        let mut header = [four_bytes(self.width), four_bytes(height)].concat();
        // Eight bits, indexed, no interlacing.
        header.extend([8, 3, 0, 0, 0]);
        chunk(&mut out, *b"IHDR", &header);
        let mut palette: Vec<u8> = self.palette.iter().flat_map(|c| [c.0, c.1, c.2]).collect();
        palette.resize(3 * 256, 0);
        chunk(&mut out, *b"PLTE", &palette);
        let mut opaque = [255_u8; 256];
        opaque[usize::from(CLEAR)] = 0;
        chunk(&mut out, *b"tRNS", &opaque);
        // Each row begins with its filter, 0 for none.
        let rows: Vec<u8> =
            self.indices.chunks(self.width.max(1)).flat_map(|row| std::iter::once(&0).chain(row)).copied().collect();
        chunk(&mut out, *b"IDAT", &stored(&rows));
        chunk(&mut out, *b"IEND", &[]);
        out
    }
}

fn four_bytes(n: usize) -> [u8; 4] {
    u32::try_from(n).unwrap_or(u32::MAX).to_be_bytes()
}

fn chunk(out: &mut Vec<u8>, name: [u8; 4], data: &[u8]) {
    out.extend(four_bytes(data.len()));
    let start = out.len();
    out.extend(name);
    out.extend(data);
    let sum = crc32(&out[start..]);
    out.extend(sum.to_be_bytes());
}

/// A zlib stream of stored blocks (RFC 1950, 1951).
fn stored(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0x78, 0x01];
    let blocks = data.chunks(STORED).count();
    for (i, block) in data.chunks(STORED).enumerate() {
        let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
        out.push(u8::from(i + 1 == blocks));
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend(block);
    }
    let (mut a, mut b) = (1_u32, 0_u32);
    for byte in data {
        a = (a + u32::from(*byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    out.extend(((b << 16) | a).to_be_bytes());
    out
}

/// The checksum of PNG (ISO 3309).
fn crc32(data: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in data {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 };
        }
    }
    !sum
}

fn base64(data: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(data.len().div_ceil(3) * 4);
    for group in data.chunks(3) {
        let bits = group.iter().enumerate().fold(0_u32, |bits, (i, byte)| bits | (u32::from(*byte) << (16 - 8 * i)));
        for i in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * i)) as usize & 63];
            out.push(if i <= group.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_and_base64_are_those_of_the_standards() {
        // The check values of the CRC catalogue and of RFC 4648.
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(
            ["", "f", "fo", "foo", "foob"].map(|s| base64(s.as_bytes())),
            ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]
        );
        // Adler-32 of "Wikipedia".
        assert_eq!(stored(b"Wikipedia")[16..], 0x11e6_0398_u32.to_be_bytes());
    }

    #[test]
    fn a_png_has_its_size_and_one_row_for_each_width_of_indices() {
        let png = Bitmap::new(3, vec![0, 1, CLEAR, 1, 0, 1], vec![Colour(1, 2, 3), Colour(4, 5, 6)]).png();
        assert_eq!(png[16..24], [0, 0, 0, 3, 0, 0, 0, 2]);
        let at = png.windows(4).position(|w| w == b"IDAT").unwrap();
        // Past the name, the zlib header and the header of the block.
        assert_eq!(png[at + 11..at + 19], [0, 0, 1, CLEAR, 0, 1, 0, 1]);
    }
}
