//! Quantiles of the standard normal.

use super::{log_normal_cdf, mills_ratio};

/// The standard normal quantile `Φ⁻¹(p)` for `0 < p < 1`, to rounding.
///
/// `1 − p` rounds if `p` is near 1: for the far right tail take `−normal_quantile(q)` of the small `q`.
///
/// ```
/// use vi_core::special::normal_quantile;
/// assert!((normal_quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-14);
/// assert!((normal_quantile(1e-300) + 37.047_096_299_361_2).abs() < 1e-12);
/// ```
#[must_use]
pub fn normal_quantile(p: f64) -> f64 {
    if p > 0.5 { -left_quantile(1.0 - p) } else { left_quantile(p) }
}

/// `Φ⁻¹(p)` for `0 < p ≤ ½`: Newton on `log Φ`, which is concave and close to a parabola.
fn left_quantile(p: f64) -> f64 {
    let log_p = p.ln();
    let r = (-2.0 * log_p).sqrt();
    // Hastings (Abramowitz and Stegun 26.2.23), within 4.5e-4; Newton squares the error.
    let fraction = (2.515517 + r * (0.802853 + r * 0.010328)) / (1.0 + r * (1.432788 + r * (0.189269 + r * 0.001308)));
    let mut u = (fraction - r).min(0.0);
    for _ in 0..3 {
        u = (u - (log_normal_cdf(u) - log_p) * mills_ratio(-u)).min(0.0);
    }
    u
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::normal_cdf;

    #[test]
    fn quantiles_are_those_of_a_table() {
        // 40-digit arithmetic.
        let table = [
            (0.5, 0.0),
            (0.25, -0.6744897501960817),
            (0.001, -3.0902323061678136),
            (1e-20, -9.262340089798408),
            (1e-300, -37.0470962993612),
        ];
        for (p, expected) in table {
            // Φ⁻¹ amplifies ε in log Φ by φ/Φ's inverse, at most 1.3 here; log Φ itself is good to a few ε.
            let tolerance = 8.0 * f64::EPSILON * (1.0 + f64::abs(expected));
            assert!((normal_quantile(p) - expected).abs() <= tolerance, "p = {p}: {}", normal_quantile(p));
        }
    }

    #[test]
    fn quantiles_undo_the_distribution_function() {
        for u in [1e-9, 1e-6, 0.01, 0.3, 0.5, 0.7, 0.999, 1.0 - 1e-7] {
            // Φ is good to a few ε, relatively in the left tail; on the right 1 − u has the absolute error ε.
            let back = normal_cdf(normal_quantile(u));
            assert!((back - u).abs() <= 16.0 * f64::EPSILON * u.max(1.0 - u), "{u}: {back}");
        }
        assert_eq!(normal_quantile(0.5), 0.0);
    }
}
