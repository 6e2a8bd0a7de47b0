//! The hash FNV-1a, the same on every machine, for mapping names to indices and for fingerprints of rows.
//!
//! It computes `h ← (h ⊕ byte)·(2⁴⁰ + 435) mod 2⁶⁴` for each byte, from a fixed start (Fowler, Noll, Vo). It guards against
//! mistakes, not against malice.
//!
//! ```
//! use vi_data::fnv;
//!
//! let place = fnv::extended(fnv::START, b"carrier=UA") % (1 << 18);
//! assert!(place < 1 << 18);
//! ```

/// The hash of no bytes.
pub const START: u64 = 0xcbf2_9ce4_8422_2325;

/// The hash of the bytes whose hash is `start`, followed by `bytes`. Cost: one multiplication a byte.
#[must_use]
pub fn extended(start: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(start, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(extended(START, b"foobar"), 0x8594_4171_f739_67e8);
        assert_eq!(extended(extended(START, b"foo"), b"bar"), extended(START, b"foobar"));
    }
}
