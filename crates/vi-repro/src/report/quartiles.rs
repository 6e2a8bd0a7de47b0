//! Medians, quartiles, and means with their errors.

/// The median and the quartiles; infinities count, an empty list gives NaN.
#[must_use]
pub fn quartiles(values: &[f64]) -> [f64; 3] {
    let mut v: Vec<f64> = values.iter().copied().filter(|v| !v.is_nan()).collect();
    v.sort_by(f64::total_cmp);
    let at = |q: f64| {
        let position = q * (v.len().max(1) - 1) as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index of v")]
        let (i, t) = (position as usize, position.fract());
        let low = v.get(i).copied().unwrap_or(f64::NAN);
        let high = v.get(i + 1).copied().unwrap_or(low);
        if t == 0.0 || low == high { low } else { low + t * (high - low) }
    };
    [at(0.25), at(0.5), at(0.75)]
}

/// The middle value, as [`quartiles`] has it.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    quartiles(values)[1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::mean_and_error;

    #[test]
    fn quartiles_of_a_short_list() {
        assert_eq!(quartiles(&[4.0, 1.0, 2.0, 3.0, 5.0]), [2.0, 3.0, 4.0]);
        assert_eq!(quartiles(&[1.0, f64::INFINITY, f64::INFINITY])[1], f64::INFINITY);
        assert!(quartiles(&[])[1].is_nan());
        assert_eq!(median(&[5.0, 1.0]), 3.0);
        let (mean, error) = mean_and_error(&[1.0, 2.0, 3.0, 6.0]);
        assert_eq!(mean, 3.0);
        // Sample variance 14/3, over 4.
        assert!((error - (14.0_f64 / 12.0).sqrt()).abs() < 1e-15);
    }
}
