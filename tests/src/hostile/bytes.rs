//! Numbers out of any bytes.

/// Reads numbers from bytes; when they are used up, all further ones are 0.
///
/// ```
/// use vi_tests::hostile::Bytes;
/// let mut bytes = Bytes::new(&[7, 200]);
/// assert_eq!((bytes.below(5), bytes.byte(), bytes.byte()), (2, 200, 0));
/// assert!(bytes.is_empty());
/// ```
#[derive(Debug, Clone)]
pub struct Bytes<'a>(&'a [u8]);

/// Numbers at which something changes.
const EDGES: [f64; 20] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::MAX,
    -f64::MAX,
    f64::MIN_POSITIVE,
    5e-324,
    1e-310,
    1e-150,
    1e-20,
    1e8,
    -1e16,
    1e100,
    1e154,
    -1e200,
];

impl<'a> Bytes<'a> {
    /// Reads from the first byte on.
    #[must_use]
    pub fn new(data: &'a [u8]) -> Self {
        Self(data)
    }

    /// Whether no byte is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All that is left.
    #[must_use]
    pub fn rest(self) -> &'a [u8] {
        self.0
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    /// A number below `n > 0`, from one byte.
    pub fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n.max(1)
    }

    /// A float: of ordinary size for six first bytes in eight, else at an edge of the floats or of any bits.
    pub fn number(&mut self) -> f64 {
        let first = self.byte();
        match first % 8 {
            0 => EDGES[usize::from(self.byte()) % EDGES.len()],
            1 => f64::from_bits((0..8).fold(0, |bits, _| (bits << 8) | u64::from(self.byte()))),
            _ => f64::from(i16::from_be_bytes([self.byte(), self.byte()])) / 1024.0 * f64::from(first / 8),
        }
    }

    /// A float of ordinary size.
    pub fn tame(&mut self) -> f64 {
        f64::from(i16::from_be_bytes([self.byte(), self.byte()])) / 8192.0
    }
}
