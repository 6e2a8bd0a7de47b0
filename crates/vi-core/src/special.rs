//! Scalar functions in forms that keep their digits: logistic, softplus, normal distribution.

/// `1/√(2π)`.
pub(crate) const INV_SQRT_2PI: f64 = 0.398_942_280_401_432_7;
/// `½·log(2π)`.
pub(crate) const HALF_LN_2PI: f64 = 0.918_938_533_204_672_8;

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

/// Mills' ratio `R(u) = (1−Φ(u))/φ(u)` for `u ≥ 0`, to 5e-16 relative on the half line.
#[must_use]
pub fn mills_ratio(u: f64) -> f64 {
    let [ratio] = mills_ratios([u]);
    ratio
}

/// [`mills_ratio`] of `N` arguments, a loop over the lanes at each step so that they run as vectors.
///
/// `(u+4)·R(u)` is so smooth in `(u−4)/(u+4) ∈ [−1, 1]` that one polynomial serves (Shepherd and
/// Laframboise 1981 do so for erfc).
#[inline(always)]
#[allow(clippy::inline_always)] // has to be compiled inside the caller's SIMD dispatch
pub(crate) fn mills_ratios<const N: usize>(u: [f64; N]) -> [f64; N] {
    // R(u) = 1/u long before: infinity would give 0·∞ below.
    let u = u.map(|u| if u < 1e300 { u } else { 1e300 });
    let scale = u.map(|u| 1.0 / (u + 4.0));
    let mut z = [0.0; N];
    for i in 0..N {
        z[i] = (u[i] - 4.0) * scale[i];
    }
    let mut sum = horner(&MILLS, z);
    for i in 0..N {
        sum[i] *= scale[i];
    }
    sum
}

/// `Σ_j coefficients[j]·zʲ` in every lane.
#[inline(always)]
#[allow(clippy::inline_always)] // has to be compiled inside the caller's SIMD dispatch
fn horner<const N: usize>(coefficients: &[f64], z: [f64; N]) -> [f64; N] {
    let mut sum = [0.0; N];
    for &coefficient in coefficients.iter().rev() {
        for i in 0..N {
            sum[i] = sum[i] * z[i] + coefficient;
        }
    }
    sum
}

/// Coefficients of `(u+4)·R(u)` in `((u−4)/(u+4))^j`: Chebyshev interpolation at 60 digits, degree 22.
const MILLS: [f64; 23] = [
    1.8932190633084853,
    -1.5237709108199855,
    0.9704095548675924,
    -0.4675409629981585,
    0.15139176231205376,
    -0.018900450866100364,
    -0.008722295263838522,
    0.004087855732516909,
    0.0003342444896278021,
    -0.0005792696390945318,
    -4.7824148557878045e-06,
    8.8097066448958e-05,
    1.7929254081847195e-06,
    -1.4846708706118606e-05,
    -1.5696678628944616e-06,
    2.5745450687200353e-06,
    6.673466387680481e-07,
    -4.068738380935788e-07,
    -2.0027585806454338e-07,
    4.915081730923273e-08,
    4.144971738484859e-08,
    -3.2199692790143122e-09,
    -4.446108100174536e-09,
];

/// `e^x` for `x ≤ 0` in every lane, to 2 ulp; 0 below −708, where floats lose digits.
#[inline(always)]
#[allow(clippy::inline_always)] // has to be compiled inside the caller's SIMD dispatch
pub(crate) fn exp_nonpositive<const N: usize>(x: [f64; N]) -> [f64; N] {
    // Adding 1.5·2⁵² rounds to the nearest integer and leaves it in the low bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    let kept = x.map(|x| if x >= -708.0 { 1.0 } else { 0.0 });
    let x = x.map(|x| if x > -708.0 { x } else { -708.0 });
    let shifted = x.map(|x| x * std::f64::consts::LOG2_E + ROUND);
    let mut r = [0.0; N];
    for i in 0..N {
        let n = shifted[i] - ROUND;
        r[i] = (x[i] - n * LN_2_HIGH) - n * LN_2_LOW;
    }
    let mut sum = horner(&INV_FACTORIALS, r);
    for i in 0..N {
        sum[i] *= kept[i] * f64::from_bits(shifted[i].to_bits().wrapping_add(1023) << 52);
    }
    sum
}

/// `1/j!`; with `|r| ≤ ½·ln 2` the next term is below 5e-18.
const INV_FACTORIALS: [f64; 14] = [
    1.0,
    1.0,
    1.0 / 2.0,
    1.0 / 6.0,
    1.0 / 24.0,
    1.0 / 120.0,
    1.0 / 720.0,
    1.0 / 5_040.0,
    1.0 / 40_320.0,
    1.0 / 362_880.0,
    1.0 / 3_628_800.0,
    1.0 / 39_916_800.0,
    1.0 / 479_001_600.0,
    1.0 / 6_227_020_800.0,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_agrees_with_the_standard_library() {
        for i in 0..=70_800 {
            let x = -f64::from(i) * 0.01;
            let exact = x.exp();
            let [ours] = exp_nonpositive([x]);
            assert!((ours - exact).abs() <= 2.0 * f64::EPSILON * exact, "x = {x}");
        }
        assert_eq!(exp_nonpositive([f64::NEG_INFINITY, -709.0, 0.0]), [0.0, 0.0, 1.0]);
    }

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
    fn jaakkola_jordan_is_continuous_at_its_series_switch() {
        let (below, above) = (jaakkola_jordan(1e-4 * (1.0 - 1e-9)), jaakkola_jordan(1e-4 * (1.0 + 1e-9)));
        assert!((below - above).abs() < 4.0 * f64::EPSILON);
        assert_eq!(jaakkola_jordan(0.0), 0.25);
        assert!((jaakkola_jordan(2.0) - 0.25 * 1.0_f64.tanh()).abs() < f64::EPSILON);
    }
}
