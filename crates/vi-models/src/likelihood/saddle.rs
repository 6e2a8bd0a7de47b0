//! Probabilities of large counts, without the cancellation of logarithms of factorials (Loader's saddle-point form).
//!
//! `log n!` is of size `n·log n` and a log-probability near its mode of size `log n`: computed as a difference of the former, the
//! latter has lost all its digits at 10¹⁵. Stirling's formula separates the large parts, which together make a deviance that is 0
//! at the mode.

use vi_core::special::{HALF_LN_2PI, exp_beyond_tangent, softplus_beyond_tangent};

/// From here on the terms of Stirling's series that are left out, `1/1188n⁹`, are below rounding.
const LARGE: f64 = 16.0;

/// `log Γ(n+1) − (n+½)·log n + n − ½·log 2π`, `n > 0`.
fn stirling_error(n: f64) -> f64 {
    if n < LARGE {
        return libm::lgamma(n + 1.0) - (n + 0.5) * n.ln() + n - HALF_LN_2PI;
    }
    let inverse = 1.0 / n;
    let square = inverse * inverse;
    inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0)))
}

/// `y·u − e^u − log y!`, `u = shift + t`: the two are kept apart so that a quadrature over `t` does not see the rounding of their
/// sum, multiplied by `y`.
pub(crate) fn ln_poisson(y: f64, shift: f64, t: f64) -> f64 {
    let u = shift + t;
    if y == 0.0 {
        return -u.exp();
    }
    if y < LARGE {
        return y * u - libm::lgamma(y + 1.0) - u.exp();
    }
    let ratio = t - (y.ln() - shift); // log of the mean in units of y
    -y * exp_beyond_tangent(ratio)[0] - 0.5 * y.ln() - HALF_LN_2PI - stirling_error(y)
}

/// `y − e^u`, the slope of [`ln_poisson`].
pub(crate) fn poisson_slope(y: f64, shift: f64, t: f64) -> f64 {
    if y < LARGE { y - (shift + t).exp() } else { -y * exp_beyond_tangent(t - (y.ln() - shift))[1] }
}

/// `log Γ(k+f+1)/(Γ(k+1)·Γ(f+1))`, `k, f ≥ 0`.
pub(super) fn ln_choose(k: f64, f: f64) -> f64 {
    if k == 0.0 || f == 0.0 { 0.0 } else { k * (f / k).ln_1p() + f * (k / f).ln_1p() + at_mode(k, f) }
}

/// `log C(k+f, k)·s(u)ᵏ·s(−u)ᶠ`, `u = shift + t`, both counts positive.
pub(crate) fn ln_binomial(k: f64, f: f64, shift: f64, t: f64) -> f64 {
    at_mode(k, f) - deviance(k, f, t - ((k / f).ln() - shift))
}

/// [`ln_binomial`] and [`binomial_slope`].
pub(super) fn binomial_and_slope(k: f64, f: f64, shift: f64, t: f64) -> [f64; 2] {
    let [value, slope] = from_mode(k, f, t - ((k / f).ln() - shift));
    [at_mode(k, f) - (k + f) * value, -(k + f) * slope]
}

/// The value of [`ln_binomial`] where it is largest, at `s(u) = k/(k+f)`.
fn at_mode(k: f64, f: f64) -> f64 {
    let n = k + f;
    stirling_error(n) - stirling_error(k) - stirling_error(f) - 0.5 * (k.ln() + (f / n).ln()) - HALF_LN_2PI
}

/// `k·s(−u) − f·s(u)`, the slope of [`ln_binomial`], both counts positive.
pub(crate) fn binomial_slope(k: f64, f: f64, shift: f64, t: f64) -> f64 {
    -(k + f) * from_mode(k, f, t - ((k / f).ln() - shift))[1]
}

/// `(k+f)·KL(k/(k+f) ‖ s(u))`, with `δ` the distance of `u` from the mode.
fn deviance(k: f64, f: f64, delta: f64) -> f64 {
    (k + f) * from_mode(k, f, delta)[0]
}

/// The deviation of softplus from its tangent at the mode, `s(u) = k/(k+f)`.
fn from_mode(k: f64, f: f64, delta: f64) -> [f64; 2] {
    let n = k + f;
    softplus_beyond_tangent(k / n, f / n, delta)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_counts_are_those_of_factorials() {
        // Rounding of the largest term on either side.
        let near = |a: f64, b: f64, size: f64| assert!((a - b).abs() < 8.0 * f64::EPSILON * (1.0 + size), "{a} {b}");
        for y in [1.0_f64, 3.0, 15.0, 16.0, 17.0, 60.0, 170.0] {
            for u in [-30.0_f64, -1.0, 0.0, 2.0, y.ln(), 6.0] {
                let direct = y * u - u.exp() - libm::lgamma(y + 1.0);
                near(ln_poisson(y, 0.0, u), direct, y * u.abs() + u.exp() + libm::lgamma(y + 1.0));
            }
            for f in [0.3_f64, 1.0, 4.0, 40.0] {
                let direct = libm::lgamma(y + f + 1.0) - libm::lgamma(y + 1.0) - libm::lgamma(f + 1.0);
                near(ln_choose(y, f), direct, libm::lgamma(y + f + 1.0));
                for u in [-800.0_f64, -2.0, 0.1, 5.0, 800.0] {
                    let (rise, fall) = (vi_core::special::softplus(u), vi_core::special::softplus(-u));
                    let slope = y * vi_core::special::sigmoid(-u) - f * vi_core::special::sigmoid(u);
                    near(binomial_slope(y, f, 0.0, u), slope, (y + f) * (1.0 + u.abs()));
                    near(ln_binomial(y, f, 0.0, u), direct - y * fall - f * rise, direct + (y + f) * (1.0 + u.abs()));
                }
            }
        }
    }

    #[test]
    fn large_counts_keep_their_digits() {
        for y in [1e6_f64, 1e9, 1e12, 1e15] {
            // At the mode: 1/√(2πy), and 1/√(πy) for y of 2y; next terms 1/12y.
            let (poisson, halves) = (ln_poisson(y, y.ln(), 0.0), ln_binomial(y, y, 0.0, 0.0));
            // u = log y is rounded to ε·|u|, which costs y·(ε·u)²/2.
            let rounding = 1.0 / (8.0 * y) + 64.0 * f64::EPSILON + y * (f64::EPSILON * y.ln()).powi(2);
            assert!((poisson + 0.5 * (std::f64::consts::TAU * y).ln()).abs() < rounding, "{y:e}: {poisson}");
            assert!((halves + 0.5 * (std::f64::consts::PI * y).ln()).abs() < rounding, "{y:e}: {halves}");
            // One standard deviation off, half a nat less, by the normal limit.
            let skew = 1.0 / y.sqrt() + y.sqrt() * f64::EPSILON * y.ln();
            assert!((ln_poisson(y, y.ln(), y.sqrt().recip()) - poisson + 0.5).abs() < skew, "{y:e}");
            assert!((ln_binomial(y, y, 0.0, (2.0 / y).sqrt()) - halves + 0.5).abs() < skew, "{y:e}");
        }
    }
}
