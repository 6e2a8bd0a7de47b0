//! Units in which squares neither overflow nor underflow.

const EXPONENT: u64 = 0x7ff0_0000_0000_0000;

/// The power of two at or below `largest`, the largest magnitude of some numbers: their quotients by it are exact, and neither
/// overflow nor vanish when they are squared and summed.
pub(crate) fn unit(largest: f64) -> f64 {
    f64::from_bits(largest.to_bits() & EXPONENT).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::unit;

    #[test]
    fn quotients_by_a_unit_lie_between_one_and_two() {
        for largest in [1.0, 1.999, 3e-170, 7.7, 1e300, f64::MAX, f64::MIN_POSITIVE] {
            assert!((1.0..2.0).contains(&(largest / unit(largest))), "{largest:e}");
        }
        assert_eq!(unit(0.0), f64::MIN_POSITIVE);
        assert_eq!(unit(1e-310), f64::MIN_POSITIVE);
    }
}
