//! How far apart two answers are, relative to their size.

use vi_linalg::faer::{Mat, MatRef};

/// `|found − expected| / scale`; 0 where both are equal, whatever the scale.
#[must_use]
pub fn scaled(found: f64, expected: f64, scale: f64) -> f64 {
    let difference = (found - expected).abs();
    if difference == 0.0 { 0.0 } else { difference / scale }
}

/// `|found − expected| / |expected|`.
#[must_use]
pub fn relative(found: f64, expected: f64) -> f64 {
    scaled(found, expected, expected.abs())
}

/// `‖found − expected‖ / max(‖expected‖, floor)` in the Euclidean norm, for equal lengths.
///
/// The floor is the scale below which an entry is rounding, such as a standard deviation for a mean near 0.
#[must_use]
pub fn vectors(found: &[f64], expected: &[f64], floor: f64) -> f64 {
    let norm = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::hypot);
    let difference = norm(&mut found.iter().zip(expected).map(|(f, e)| f - e));
    scaled(difference, 0.0, norm(&mut expected.iter().copied()).max(floor))
}

/// `‖found − expected‖ / ‖expected‖` in the Frobenius norm, for equal shapes.
#[must_use]
pub fn matrices(found: MatRef<'_, f64>, expected: MatRef<'_, f64>) -> f64 {
    let difference = Mat::from_fn(found.nrows(), found.ncols(), |i, j| found[(i, j)] - expected[(i, j)]);
    scaled(difference.norm_l2(), 0.0, expected.norm_l2())
}

#[cfg(test)]
mod tests {
    use super::*;
    use vi_linalg::faer::mat;

    #[test]
    fn scales_and_zeros() {
        assert_eq!(scaled(0.0, 0.0, 0.0), 0.0);
        assert_eq!(relative(1.0, 0.0), f64::INFINITY);
        assert_eq!(relative(3.0, 2.0), 0.5);
        assert_eq!(vectors(&[3.0, 4.0], &[0.0, 0.0], 10.0), 0.5);
        assert!(vectors(&[f64::NAN], &[1.0], 0.0).is_nan());
        assert_eq!(matrices(mat![[1.0, 3.0], [0.0, 4.0]].as_ref(), mat![[1.0, 0.0], [0.0, 0.0]].as_ref()), 5.0);
    }
}
