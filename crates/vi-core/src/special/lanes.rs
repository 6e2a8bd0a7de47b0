//! Functions of several numbers at once, in the vectors that the processor has.
//!
//! Each takes the proof of a [`Simd`] that a dispatch gives. What is dispatched must be a type that implements
//! [`WithSimd`](pulp::WithSimd): the body of a closure need not be compiled for the wider vectors.
//!
//! | function | error |
//! | :-- | :-- |
//! | [`exp`] | 2 ulp |
//! | [`mills_ratio`] | 5e-16 relative |
//!
//! Where the processor multiplies and adds in one rounding, the last digit may differ from that of one that does not.

use pulp::Simd;

/// `Σ_j coefficients[j]·zʲ` in every lane, as four polynomials in `z⁴`: a quarter of the latency of Horner's rule.
#[inline(always)]
fn polynomial<S: Simd, const K: usize>(simd: S, coefficients: &[f64; K], z: S::f64s) -> S::f64s {
    let z2 = simd.mul_f64s(z, z);
    let z4 = simd.mul_f64s(z2, z2);
    let mut sums = [simd.splat_f64s(0.0); 4];
    for j in (0..K).rev() {
        sums[j % 4] = simd.mul_add_e_f64s(sums[j % 4], z4, simd.splat_f64s(coefficients[j]));
    }
    let low = simd.mul_add_e_f64s(sums[1], z, sums[0]);
    let high = simd.mul_add_e_f64s(sums[3], z, sums[2]);
    simd.mul_add_e_f64s(high, z2, low)
}

/// `e^x` in every lane, to 2 ulp; 0 below −708, where floats lose digits, and infinite above 709.
///
/// ```
/// use vi_core::special::lanes;
/// let e = lanes::exp(pulp::Scalar::new(), -2.0);
/// assert!((e / (-2.0_f64).exp() - 1.0).abs() < 1e-15);
/// ```
#[inline(always)]
pub fn exp<S: Simd>(simd: S, x: S::f64s) -> S::f64s {
    const SMALLEST: f64 = -708.0;
    const LARGEST: f64 = 709.0;
    // Adding 1.5·2⁵² rounds to the nearest integer and leaves it in the low bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    let splat = |value| simd.splat_f64s(value);
    let (small, large) = (simd.less_than_f64s(x, splat(SMALLEST)), simd.greater_than_f64s(x, splat(LARGEST)));
    let x = simd.select_f64s(small, splat(SMALLEST), simd.select_f64s(large, splat(LARGEST), x));
    let shifted = simd.mul_add_e_f64s(x, splat(std::f64::consts::LOG2_E), splat(ROUND));
    let n = simd.sub_f64s(shifted, splat(ROUND));
    let r = simd.mul_add_e_f64s(n, splat(-LN_2_HIGH), x);
    let r = simd.mul_add_e_f64s(n, splat(-LN_2_LOW), r);
    let sum = polynomial(simd, &INVERSE_FACTORIALS, r);
    // 2ⁿ: the biased exponent, moved into its place.
    let exponent = simd.add_u64s(simd.transmute_u64s_f64s(shifted), simd.splat_u64s(1023));
    let exponent = simd.and_u64s(exponent, simd.splat_u64s(0x7ff));
    let power = simd.transmute_f64s_u64s(simd.mul_u64s(exponent, simd.splat_u64s(1 << 52)));
    let inside = simd.mul_f64s(sum, power);
    simd.select_f64s(small, splat(0.0), simd.select_f64s(large, splat(f64::INFINITY), inside))
}

/// Mills' ratio `R(u) = (1−Φ(u))/φ(u)` in every lane, for `u ≥ 0`.
///
/// `(u+4)·R(u)` is so smooth in `(u−4)/(u+4) ∈ [−1, 1]` that one polynomial serves (Shepherd and Laframboise 1981 do so for erfc).
///
/// ```
/// use vi_core::special::lanes;
/// assert!((lanes::mills_ratio(pulp::Scalar::new(), 2.0) / 0.421_369_229_288_054_5 - 1.0).abs() < 1e-15);
/// ```
#[inline(always)]
pub fn mills_ratio<S: Simd>(simd: S, u: S::f64s) -> S::f64s {
    // R(u) = 1/u long before: infinity would give 0·∞ below.
    let u = simd.min_f64s(u, simd.splat_f64s(1e300));
    let four = simd.splat_f64s(4.0);
    let scale = simd.div_f64s(simd.splat_f64s(1.0), simd.add_f64s(u, four));
    let z = simd.mul_f64s(simd.sub_f64s(u, four), scale);
    simd.mul_f64s(polynomial(simd, &MILLS, z), scale)
}

/// `values_i ← f(values_i)`, a vector at a time.
///
/// ```
/// use vi_core::special::lanes;
/// let simd = pulp::Scalar::new();
/// let mut values = [0.0, -1.0];
/// lanes::map(simd, &mut values, |x| lanes::exp(simd, x));
/// assert_eq!(values[0], 1.0);
/// ```
#[inline(always)]
pub fn map<S: Simd>(simd: S, values: &mut [f64], f: impl Fn(S::f64s) -> S::f64s) {
    let (vectors, tail) = S::as_mut_simd_f64s(values);
    for value in vectors {
        *value = f(*value);
    }
    if !tail.is_empty() {
        let value = f(simd.partial_load_f64s(tail));
        simd.partial_store_f64s(tail, value);
    }
}

/// `1/j!`; with `|r| ≤ ½·ln 2` the next term is below 5e-18.
const INVERSE_FACTORIALS: [f64; 14] = [
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

#[cfg(test)]
mod tests {
    use pulp::{Arch, Scalar, WithSimd};

    use super::*;

    struct Exp<'a>(&'a mut [f64]);

    impl WithSimd for Exp<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            map(simd, self.0, |x| exp(simd, x));
        }
    }

    #[test]
    fn exp_agrees_with_the_standard_library_in_vectors_and_alone() {
        let x: Vec<f64> = (-70_800..=70_900).map(|i| f64::from(i) * 0.01).collect();
        let mut vectors = x.clone();
        Arch::new().dispatch(Exp(&mut vectors));
        for (x, e) in x.into_iter().zip(vectors) {
            let exact = x.exp();
            for ours in [e, exp(Scalar::new(), x)] {
                assert!((ours - exact).abs() <= 2.0 * f64::EPSILON * exact, "x = {x}");
            }
        }
    }

    #[test]
    fn the_ends_of_exp_are_exact() {
        let mut ends = [f64::NEG_INFINITY, -709.0, 0.0, 709.5, f64::INFINITY, f64::NAN];
        Arch::new().dispatch(Exp(&mut ends));
        assert_eq!(ends[..5], [0.0, 0.0, 1.0, f64::INFINITY, f64::INFINITY]);
        assert!(ends[5].is_nan());
    }
}
