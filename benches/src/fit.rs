//! Exponents of growth.

/// The slope `b` of the least-squares line through `(log x, log y)`: the exponent of `y ≈ c·xᵇ`.
///
/// `points` are `(x, y)`, both positive. NaN for fewer than two different `x`.
///
/// ```
/// let cost = [(10.0, 300.0), (20.0, 1200.0), (40.0, 4800.0)];
/// assert!((vi_benches::fit::exponent(&cost) - 2.0).abs() < 1e-12);
/// ```
#[must_use]
pub fn exponent(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let logs = || points.iter().map(|(x, y)| (x.ln(), y.ln()));
    let mean_x = logs().map(|(x, _)| x).sum::<f64>() / n;
    let mean_y = logs().map(|(_, y)| y).sum::<f64>() / n;
    let covariance: f64 = logs().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let variance: f64 = logs().map(|(x, _)| (x - mean_x) * (x - mean_x)).sum();
    covariance / variance
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_law_gives_its_exponent() {
        for b in [-1.0, 0.0, 0.5, 1.0, 2.0, 3.0] {
            let points: Vec<_> = [1.0_f64, 3.0, 10.0, 100.0].iter().map(|x| (*x, 7e-9 * x.powf(b))).collect();
            // A handful of roundings in logarithms of size 20, over a range of logarithms of 4.6.
            assert!((exponent(&points) - b).abs() < 100.0 * f64::EPSILON * 20.0, "{b}");
        }
    }

    #[test]
    fn the_line_is_the_least_squares_one() {
        // log y = 0, 1, 0 at log x = 0, 1, 2: symmetric, so flat; then 0, 0, 3: slope 3/2.
        let points =
            |y: [f64; 3]| [0.0_f64, 1.0, 2.0].map(f64::exp).into_iter().zip(y.map(f64::exp)).collect::<Vec<_>>();
        assert!(exponent(&points([0.0, 1.0, 0.0])).abs() < 8.0 * f64::EPSILON);
        assert!((exponent(&points([0.0, 0.0, 3.0])) - 1.5).abs() < 8.0 * f64::EPSILON);
    }

    #[test]
    fn one_size_has_no_exponent() {
        assert!(exponent(&[(2.0, 1.0), (2.0, 1.0)]).is_nan());
        assert!(exponent(&[]).is_nan());
    }
}
