//! Scalar functions in forms that keep their digits: logistic, softplus, normal distribution, digamma; Gauss-Hermite nodes.

mod gamma;
mod hermite;
pub mod lanes;
mod quantile;

use pulp::{Simd, WithSimd};

pub use gamma::digamma;
pub use hermite::gauss_hermite;
pub use quantile::normal_quantile;

/// `1/√(2π)`.
pub const INV_SQRT_2PI: f64 = 0.398_942_280_401_432_7;
/// `log 2π`.
pub const LN_2PI: f64 = 1.837_877_066_409_345_5;
/// `½·log 2π`.
pub const HALF_LN_2PI: f64 = 0.918_938_533_204_672_8;

/// The logistic function `s(t) = 1/(1+e^(−t))`, to full relative precision in both tails.
///
/// ```
/// assert_eq!(vi_core::special::sigmoid(0.0), 0.5);
/// assert!(vi_core::special::sigmoid(-700.0) > 0.0);
/// ```
#[must_use]
pub fn sigmoid(t: f64) -> f64 {
    let e = (-t.abs()).exp();
    if t >= 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) }
}

/// The derivative `s′(t) = s(t)·s(−t)`; `s(1−s)` would lose all digits for large `t`.
#[must_use]
pub fn sigmoid_derivative(t: f64) -> f64 {
    let e = (-t.abs()).exp();
    e / ((1.0 + e) * (1.0 + e))
}

/// `softplus(t) = log(1+e^t) = −log s(−t)`.
#[must_use]
pub fn softplus(t: f64) -> f64 {
    t.max(0.0) + (-t.abs()).exp().ln_1p()
}

/// `log s(t)`.
#[must_use]
pub fn log_sigmoid(t: f64) -> f64 {
    -softplus(-t)
}

/// The distance below which a function's deviation from its tangent is computed by its series, whose next term is below ε.
const NEAR: f64 = 1e-3;

/// The exponential's deviation from its tangent at 0: `[e^δ − 1 − δ, e^δ − 1]`, to full relative precision for small `δ`.
///
/// ```
/// let [value, slope] = vi_core::special::exp_beyond_tangent(1e-9);
/// assert!((value / 5e-19 - 1.0).abs() < 1e-9 && (slope / 1e-9 - 1.0).abs() < 1e-9);
/// ```
#[must_use]
pub fn exp_beyond_tangent(delta: f64) -> [f64; 2] {
    let growth = delta.exp_m1();
    let value = if delta.abs() < NEAR {
        0.5 * delta * delta * (1.0 + delta / 3.0 * (1.0 + delta / 4.0 * (1.0 + delta / 5.0 * (1.0 + delta / 6.0))))
    } else {
        growth - delta
    };
    [value, growth]
}

/// Above this `1 + p(e^δ − 1)` is `p·e^δ` to rounding.
const LARGEST_EXPONENT: f64 = 700.0;

/// Softplus's deviation from its tangent at `t`: `[softplus(t+δ) − softplus(t) − s(t)·δ, s(t+δ) − s(t)]` from `p = s(t)`, `q =
/// s(−t)`, both to full relative precision for small `δ` and for any `p`.
///
/// ```
/// let [value, slope] = vi_core::special::softplus_beyond_tangent(0.5, 0.5, 1e-9);
/// assert!((value / 1.25e-19 - 1.0).abs() < 1e-8 && (slope / 2.5e-10 - 1.0).abs() < 1e-8);
/// ```
#[must_use]
pub fn softplus_beyond_tangent(p: f64, q: f64, delta: f64) -> [f64; 2] {
    // From the rarer side, where p ≤ ½, nothing cancels.
    let (p, q, delta, sign) = if p <= q { (p, q, delta, 1.0) } else { (q, p, -delta, -1.0) };
    if delta >= LARGEST_EXPONENT {
        return [p.ln() + q * delta, sign * q];
    }
    let growth = delta.exp_m1();
    let rise = p * growth;
    let value = if delta.abs() < NEAR {
        // By the cumulants of a Bernoulli variable.
        let (skew, spread) = (q - p, p * q);
        let higher = 1.0 - 6.0 * spread + skew * (1.0 - 12.0 * spread) * delta / 5.0;
        0.5 * spread * delta * delta * (1.0 + delta / 3.0 * (skew + delta / 4.0 * higher))
    } else {
        rise.ln_1p() - p * delta
    };
    [value, sign * q * rise / (1.0 + rise)]
}

/// `log Σ eˣ`; −∞ for no terms.
///
/// ```
/// use vi_core::special::log_sum_exp;
/// assert!((log_sum_exp([1000.0, 1000.0].into_iter()) - 1000.0 - 2.0_f64.ln()).abs() < 1e-12);
/// ```
#[must_use]
pub fn log_sum_exp(terms: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = terms.clone().fold(f64::NEG_INFINITY, f64::max);
    if !largest.is_finite() {
        return largest;
    }
    largest + terms.map(|term| (term - largest).exp()).sum::<f64>().ln()
}

/// `tanh(ξ/2)/(2ξ)`, the Jaakkola-Jordan curvature; ¼ at `ξ = 0`.
#[must_use]
pub fn jaakkola_jordan(xi: f64) -> f64 {
    let xi = xi.abs();
    if xi < 1e-4 {
        // tanh(x)/x = 1 − x²/3 + O(x⁴), x = ξ/2; the next term is below 1e-18.
        0.25 * (1.0 - xi * xi / 12.0)
    } else {
        (0.5 * xi).tanh() / (2.0 * xi)
    }
}

/// The standard normal density `φ(u)`.
#[must_use]
pub fn normal_density(u: f64) -> f64 {
    INV_SQRT_2PI * (-0.5 * u * u).exp()
}

/// The standard normal distribution function `Φ(u)`, to full relative precision in the left tail.
#[must_use]
pub fn normal_cdf(u: f64) -> f64 {
    if u < 0.0 { normal_density(u) * mills_ratio(-u) } else { 1.0 - normal_density(u) * mills_ratio(u) }
}

/// `log Φ(u)`, finite far below where `Φ` underflows.
///
/// ```
/// let left = vi_core::special::log_normal_cdf(-100.0);
/// assert!((left + 5005.524_208_694_205).abs() < 1e-11 * 5005.5);
/// ```
#[must_use]
pub fn log_normal_cdf(u: f64) -> f64 {
    if u < 0.0 {
        -0.5 * u * u - HALF_LN_2PI + mills_ratio(-u).ln()
    } else {
        (-normal_density(u) * mills_ratio(u)).ln_1p()
    }
}

/// Mills' ratio `R(u) = (1−Φ(u))/φ(u)`, to 5e-16 relative for `u ≥ 0`; for `u < 0` by the reflection `R(u) = 1/φ(u) − R(−u)`,
/// infinite where `φ` is 0.
///
/// ```
/// use vi_core::special::mills_ratio;
/// assert!((mills_ratio(-2.0) / 18.100_247_711_126_148 - 1.0).abs() < 1e-14);
/// assert_eq!(mills_ratio(f64::NEG_INFINITY), f64::INFINITY);
/// ```
#[must_use]
pub fn mills_ratio(u: f64) -> f64 {
    let ratio = lanes::mills_ratio(pulp::Scalar::new(), u.abs());
    if u < 0.0 { normal_density(u).recip() - ratio } else { ratio }
}

/// `(Σ e^x, Σ e^x·Φ(u))` over 16 pairs, `x ≤ 0`, in vectors.
///
/// ```
/// let (total, below) = vi_core::special::sums_of_exp_and_cdf(&[-1.0; 16], &[0.0; 16]);
/// assert!((below / total - 0.5).abs() < 1e-15 && (total / 16.0 - (-1.0_f64).exp()).abs() < 1e-15);
/// ```
#[must_use]
pub fn sums_of_exp_and_cdf(x: &[f64; 16], u: &[f64; 16]) -> (f64, f64) {
    struct Sums<'a>(&'a [f64; 16], &'a [f64; 16]);

    impl WithSimd for Sums<'_> {
        type Output = (f64, f64);

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> (f64, f64) {
            let (mut total, mut below) = (simd.splat_f64s(0.0), simd.splat_f64s(0.0));
            for (x, u) in S::as_simd_f64s(self.0).0.iter().zip(S::as_simd_f64s(self.1).0) {
                let e = lanes::exp(simd, *x);
                let density = lanes::exp(simd, simd.mul_f64s(simd.splat_f64s(-0.5), simd.mul_f64s(*u, *u)));
                let ratio = lanes::mills_ratio(simd, simd.abs_f64s(*u));
                let tail = simd.mul_f64s(simd.splat_f64s(INV_SQRT_2PI), simd.mul_f64s(density, ratio));
                let left = simd.less_than_f64s(*u, simd.splat_f64s(0.0));
                let cdf = lanes::select(simd, left, tail, simd.sub_f64s(simd.splat_f64s(1.0), tail));
                total = simd.add_f64s(total, e);
                below = simd.mul_add_e_f64s(e, cdf, below);
            }
            (simd.reduce_sum_f64s(total), simd.reduce_sum_f64s(below))
        }
    }

    pulp::Arch::new().dispatch(Sums(x, u))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mills_ratio_agrees_with_erfc_and_with_its_asymptotic_series() {
        for i in 0..3600 {
            let u = f64::from(i) * 0.01;
            let exact = 0.5 * libm::erfc(u / std::f64::consts::SQRT_2) / normal_density(u);
            // erfc's argument and φ's exponent are rounded: relative error about u²·ε.
            assert!((mills_ratio(u) / exact - 1.0).abs() < (8.0 + 2.0 * u * u) * f64::EPSILON, "u = {u}");
        }
        assert!(mills_ratio(f64::INFINITY) <= 1e-300);
        for u in [1e3, 1e5, 1e8] {
            let u2 = u * u;
            let series = (1.0 - 1.0 / u2 + 3.0 / (u2 * u2)) / u;
            assert!((mills_ratio(u) / series - 1.0).abs() < 4.0 * f64::EPSILON);
        }
    }

    #[test]
    fn logistic_tails_keep_relative_precision() {
        for t in [-700.0_f64, -40.0, -1.0, 0.0, 1.0, 40.0, 700.0] {
            let f = f64::exp(-t.abs());
            let left = f / (1.0 + f);
            assert!((sigmoid(-t.abs()) / left - 1.0).abs() < 4.0 * f64::EPSILON);
            assert!((sigmoid_derivative(t) / (sigmoid(t) * sigmoid(-t)) - 1.0).abs() < 8.0 * f64::EPSILON);
            assert!((log_sigmoid(t) + softplus(-t)).abs() == 0.0);
        }
        assert!((softplus(-50.0) / f64::exp(-50.0) - 1.0).abs() < 4.0 * f64::EPSILON);
        assert_eq!(softplus(1e4), 1e4);
    }

    #[test]
    fn series_and_closed_forms_beyond_tangents_meet() {
        for side in [1.0 - 1e-9, 1.0 + 1e-9, -1.0 + 1e-9, -1.0 - 1e-9] {
            let r = NEAR * side;
            // ε·r is left of the closed form.
            assert!((exp_beyond_tangent(r)[0] - (r.exp_m1() - r)).abs() < 2.0 * f64::EPSILON * NEAR);
            for p in [0.5, 0.1, 0.9] {
                let closed = (p * r.exp_m1()).ln_1p() - p * r;
                let [value, slope] = softplus_beyond_tangent(p, 1.0 - p, r);
                assert!((value - closed).abs() < 2.0 * f64::EPSILON * NEAR, "{p} {side}");
                let t = (p / (1.0 - p)).ln();
                assert!((slope - (sigmoid(t + r) - sigmoid(t))).abs() < 4.0 * f64::EPSILON, "{p} {side}");
            }
        }
        for (t, delta) in [(0.3, 2.0), (-4.0, 9.0), (5.0, -30.0), (-2.0, 800.0), (700.0, 3.0)] {
            let [value, slope] = softplus_beyond_tangent(sigmoid(t), sigmoid(-t), delta);
            let direct = softplus(t + delta) - softplus(t) - sigmoid(t) * delta;
            let size = softplus(t + delta) + softplus(t) + delta.abs();
            assert!((value - direct).abs() <= 4.0 * f64::EPSILON * size, "{t} {delta}: {value} {direct}");
            assert!((slope - (sigmoid(t + delta) - sigmoid(t))).abs() <= 4.0 * f64::EPSILON, "{t} {delta}");
        }
    }

    #[test]
    fn jaakkola_jordan_is_continuous_at_its_series_switch() {
        let (below, above) = (jaakkola_jordan(1e-4 * (1.0 - 1e-9)), jaakkola_jordan(1e-4 * (1.0 + 1e-9)));
        assert!((below - above).abs() < 4.0 * f64::EPSILON);
        assert_eq!(jaakkola_jordan(0.0), 0.25);
        assert!((jaakkola_jordan(2.0) - 0.25 * 1.0_f64.tanh()).abs() < f64::EPSILON);
    }
}
