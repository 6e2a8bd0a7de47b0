//! The outline of a two-dimensional Gaussian.

use crate::error::PlotError;

/// Points of `{θ : (θ−μ)ᵀ P⁻¹ (θ−μ) = k²}`, closed, `steps` of them.
///
/// `mean` is μ, `cov` is P row by row, `k` the number of standard deviations.
///
/// # Errors
/// [`PlotError::NotPositiveDefinite`] when P is not symmetric positive definite or not finite.
pub fn ellipse(mean: [f64; 2], cov: [[f64; 2]; 2], k: f64, steps: usize) -> Result<Vec<(f64, f64)>, PlotError> {
    let refuse = || PlotError::NotPositiveDefinite { what: "ellipse".to_owned() };
    let [[a, b], [b2, c]] = cov;
    let scale = a.abs() + c.abs();
    let finite = mean.iter().chain([a, b, b2, c, k].iter()).all(|v| v.is_finite());
    if !finite || (b - b2).abs() > 1e-8 * scale || a <= 0.0 {
        return Err(refuse());
    }
    // P = L Lᵀ, and μ + k·L·(cos φ, sin φ) runs along the ellipse.
    let l11 = a.sqrt();
    let l21 = b / l11;
    let rest = c - l21 * l21;
    if rest <= 0.0 {
        return Err(refuse());
    }
    let l22 = rest.sqrt();
    let steps = steps.max(8);
    Ok((0..=steps)
        .map(|i| {
            let phi = std::f64::consts::TAU * (i % steps) as f64 / steps as f64;
            let (s, co) = phi.sin_cos();
            (mean[0] + k * l11 * co, mean[1] + k * (l21 * co + l22 * s))
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_is_k_deviations_away() {
        let cov = [[2.0, 0.7], [0.7, 0.5]];
        let det = 2.0 * 0.5 - 0.7 * 0.7;
        let points = ellipse([1.0, -3.0], cov, 3.0, 64).unwrap();
        for (x, y) in &points {
            let (u, v) = (x - 1.0, y + 3.0);
            let m = (0.5 * u * u - 2.0 * 0.7 * u * v + 2.0 * v * v) / det;
            // Condition number of P is about 12; a few rounding errors of relative size ε each.
            assert!((m - 9.0).abs() < 9.0 * 100.0 * f64::EPSILON * 12.0);
        }
        assert_eq!(points.first(), points.last());
    }

    #[test]
    fn matrices_that_are_no_covariance_are_refused() {
        for cov in [
            [[1.0, 2.0], [2.0, 1.0]],
            [[-1.0, 0.0], [0.0, 1.0]],
            [[1.0, 0.3], [0.1, 1.0]],
            [[f64::NAN, 0.0], [0.0, 1.0]],
        ] {
            assert!(ellipse([0.0, 0.0], cov, 1.0, 32).is_err());
        }
    }
}
