//! Derivatives of the log gamma function.

/// The digamma function `ψ(x) = d log Γ(x)/dx` for `x > 0`, to a few ε of `max(1, |ψ|)`.
///
/// The recurrence `ψ(x) = ψ(x+1) − 1/x` up to 10, then the asymptotic series.
///
/// ```
/// use vi_core::special::digamma;
/// // −ψ(1) is Euler's constant.
/// assert!((digamma(1.0) + 0.577_215_664_901_532_9).abs() < 1e-15);
/// ```
#[must_use]
pub fn digamma(x: f64) -> f64 {
    // B₂ₖ/2k of ln x − 1/(2x) − Σ B₂ₖ/(2k·x²ᵏ); at x = 10 the next term is below 5e-17.
    const SERIES: [f64; 7] =
        [1.0 / 12.0, -1.0 / 120.0, 1.0 / 252.0, -1.0 / 240.0, 1.0 / 132.0, -691.0 / 32760.0, 1.0 / 12.0];
    let (mut x, mut below) = (x, 0.0);
    while x < 10.0 {
        below += 1.0 / x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = SERIES.iter().rev().fold(0.0, |sum, coefficient| square * (coefficient + sum));
    x.ln() - 0.5 / x - series - below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digamma_agrees_with_forty_digits() {
        let table = [
            (0.01, -100.560_885_457_868_67),
            (0.5, -1.963_510_026_021_423_5),
            (1.0, -0.577_215_664_901_532_9),
            (2.5, 0.703_156_640_645_243_2),
            (10.0, 2.251_752_589_066_721),
            (250.01, 5.519_499_663_834_527),
        ];
        for (x, expected) in table {
            let tolerance = 8.0 * f64::EPSILON * f64::max(1.0, f64::abs(expected));
            assert!((digamma(x) - expected).abs() < tolerance, "{x}: {} {expected}", digamma(x));
        }
        // ψ(x+1) = ψ(x) + 1/x
        for x in [0.3, 4.9, 9.7, 123.0] {
            assert!((digamma(x + 1.0) - digamma(x) - 1.0 / x).abs() < 16.0 * f64::EPSILON * (1.0 + 1.0 / x));
        }
    }
}
