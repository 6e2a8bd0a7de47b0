//! Functions of several numbers at once, with the processor's vector instructions.
//!
//! Each takes the token of a [`Simd`] that a dispatch gives. What is dispatched must be a type that implements
//! [`WithSimd`], and what a loop applies one that implements [`EachLane`]: the body of a closure is a function of
//! its own, which need not be compiled for the wider vectors. Then every instruction would be a call, a hundred times slower;
//! whether it is so depends on the profile with which the program is built.
//!
//! | function | error |
//! | :-- | :-- |
//! | [`exp`] | 2 ulp |
//! | [`ln_1p`] | 2 ulp |
//! | [`mills_ratio`] | 5e-16 relative |
//!
//! On processors that multiply and add with one rounding, the last digit may differ from that on others.

use pulp::{Arch, Simd, WithSimd};

/// `Σ_j coefficients[j]·zʲ` in every lane, as four polynomials in `z⁴`: a quarter of the latency of Horner's rule.
#[inline(always)]
pub(super) fn polynomial<S: Simd, const K: usize>(simd: S, coefficients: &[f64; K], z: S::f64s) -> S::f64s {
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

/// `if_true` in the lanes of `mask`, `if_false` in the others. `pulp`'s own selection compiles without the vector instructions, which made fits
/// with Student-t noise take twice as long.
///
/// ```
/// use pulp::Simd;
/// use vi_core::special::lanes;
/// let simd = pulp::Scalar::new();
/// assert_eq!(lanes::select(simd, simd.less_than_f64s(1.0, 2.0), 3.0, 4.0), 3.0);
/// ```
#[inline(always)]
pub fn select<S: Simd>(simd: S, mask: S::m64s, if_true: S::f64s, if_false: S::f64s) -> S::f64s {
    let [if_true, if_false] = [if_true, if_false].map(|lanes| simd.transmute_u64s_f64s(lanes));
    simd.transmute_f64s_u64s(simd.select_u64s(mask, if_true, if_false))
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
    let (small, large) =
        (simd.less_than_f64s(x, simd.splat_f64s(SMALLEST)), simd.greater_than_f64s(x, simd.splat_f64s(LARGEST)));
    let x = select(simd, small, simd.splat_f64s(SMALLEST), select(simd, large, simd.splat_f64s(LARGEST), x));
    let shifted = simd.mul_add_e_f64s(x, simd.splat_f64s(std::f64::consts::LOG2_E), simd.splat_f64s(ROUND));
    let n = simd.sub_f64s(shifted, simd.splat_f64s(ROUND));
    let r = simd.mul_add_e_f64s(n, simd.splat_f64s(-LN_2_HIGH), x);
    let r = simd.mul_add_e_f64s(n, simd.splat_f64s(-LN_2_LOW), r);
    let sum = polynomial(simd, &INVERSE_FACTORIALS, r);
    // 2ⁿ: the biased exponent, moved into its place.
    let exponent = simd.add_u64s(simd.transmute_u64s_f64s(shifted), simd.splat_u64s(1023));
    let exponent = simd.and_u64s(exponent, simd.splat_u64s(0x7ff));
    let power = simd.transmute_f64s_u64s(simd.mul_u64s(exponent, simd.splat_u64s(1 << 52)));
    let inside = simd.mul_f64s(sum, power);
    select(simd, small, simd.splat_f64s(0.0), select(simd, large, simd.splat_f64s(f64::INFINITY), inside))
}

/// `log(1+x)` in every lane, for `0 ≤ x ≤ 1`, to 2 ulp.
///
/// `log(1+x) = 2·artanh s` with `s = x/(2+x)`; above `√2 − 1` the logarithm of 2 is taken out first, so that `|s| ≤ 0.172`.
///
/// ```
/// use vi_core::special::lanes;
/// assert!((lanes::ln_1p(pulp::Scalar::new(), 0.5) / 0.5_f64.ln_1p() - 1.0).abs() < 1e-15);
/// ```
#[inline(always)]
pub fn ln_1p<S: Simd>(simd: S, x: S::f64s) -> S::f64s {
    let upper = simd.greater_than_f64s(x, simd.splat_f64s(std::f64::consts::SQRT_2 - 1.0));
    let (minus_one, three) = (pick(simd, upper, -1.0, 0.0), pick(simd, upper, 3.0, 2.0));
    let s = simd.div_f64s(simd.add_f64s(x, minus_one), simd.add_f64s(x, three));
    let series = polynomial(simd, &ODD_INVERSES, simd.mul_f64s(s, s));
    simd.mul_add_e_f64s(s, series, pick(simd, upper, std::f64::consts::LN_2, 0.0))
}

#[inline(always)]
fn pick<S: Simd>(simd: S, upper: S::m64s, above: f64, below: f64) -> S::f64s {
    select(simd, upper, simd.splat_f64s(above), simd.splat_f64s(below))
}

/// `(softplus(t), s(t))` in every lane: `log(1+e^t)` and the logistic function, to 3 ulp where `|t| ≤ 708`.
///
/// ```
/// use vi_core::special::{lanes, sigmoid, softplus};
/// let (value, slope) = lanes::softplus(pulp::Scalar::new(), -1.5);
/// assert!((value / softplus(-1.5) - 1.0).abs() < 1e-15 && (slope / sigmoid(-1.5) - 1.0).abs() < 1e-15);
/// ```
#[inline(always)]
pub fn softplus<S: Simd>(simd: S, t: S::f64s) -> (S::f64s, S::f64s) {
    let (zero, one) = (simd.splat_f64s(0.0), simd.splat_f64s(1.0));
    // Floats lose digits below e^(−708). A selection keeps NaN, a maximum need not.
    let (away, least) = (simd.neg_f64s(simd.abs_f64s(t)), simd.splat_f64s(-708.0));
    let e = exp(simd, select(simd, simd.less_than_f64s(away, least), least, away));
    let positive = simd.greater_than_f64s(t, zero);
    let value = simd.add_f64s(select(simd, positive, t, zero), ln_1p(simd, e));
    (value, simd.div_f64s(select(simd, positive, one, e), simd.add_f64s(one, e)))
}

/// Mills' ratio `R(u) = (1−Φ(u))/φ(u)` in every lane, for `u ≥ 0`.
///
/// `(u+4)·R(u)` is so smooth in `(u−4)/(u+4) ∈ [−1, 1]` that one polynomial suffices (as in Shepherd and Laframboise 1981 for
/// erfc).
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

/// A function that [`update`] applies to each number: a type with an `#[inline(always)]` method, so that it is compiled in place.
pub trait EachLane<const K: usize> {
    /// `f([x, …], value)` in every lane.
    fn at<S: Simd>(&self, simd: S, x: [S::f64s; K], value: S::f64s) -> S::f64s;
}

/// `e^value`, as [`exp`].
#[derive(Debug, Clone, Copy)]
pub struct Exp;

impl EachLane<0> for Exp {
    #[inline(always)]
    fn at<S: Simd>(&self, simd: S, []: [S::f64s; 0], value: S::f64s) -> S::f64s {
        exp(simd, value)
    }
}

/// Applies `f` a vector at a time: `out_i ← f([x_i, …], out_i)`. Each `x` should be as long as `out`; entries beyond the shortest
/// stay.
///
/// ```
/// use pulp::{Arch, Simd, WithSimd};
/// use vi_core::special::lanes::{EachLane, Exp, update};
/// struct Add;
/// impl EachLane<1> for Add {
///     #[inline(always)]
///     fn at<S: Simd>(&self, simd: S, [x]: [S::f64s; 1], sum: S::f64s) -> S::f64s {
///         simd.add_f64s(sum, x)
///     }
/// }
/// let simd = pulp::Scalar::new();
/// let mut sums = [1.0, 2.0];
/// update(simd, [&[0.5, 0.25]], &mut sums, &Add);
/// assert_eq!(sums, [1.5, 2.25]);
/// let mut values = [0.0, -1.0];
/// update(simd, [], &mut values, &Exp);
/// assert_eq!(values[0], 1.0);
/// ```
#[inline(always)]
pub fn update<S: Simd, const K: usize>(simd: S, x: [&[f64]; K], out: &mut [f64], f: &impl EachLane<K>) {
    let n = x.iter().fold(out.len(), |n, x| n.min(x.len()));
    let (x, (out, tail)) = (x.map(|x| S::as_simd_f64s(&x[..n])), S::as_mut_simd_f64s(&mut out[..n]));
    for (i, out) in out.iter_mut().enumerate() {
        let mut at = [simd.splat_f64s(0.0); K];
        for (at, (x, _)) in at.iter_mut().zip(&x) {
            *at = x[i];
        }
        *out = f.at(simd, at, *out);
    }
    if !tail.is_empty() {
        let mut at = [simd.splat_f64s(0.0); K];
        for (at, (_, tail)) in at.iter_mut().zip(&x) {
            *at = simd.partial_load_f64s(tail);
        }
        let last = f.at(simd, at, simd.partial_load_f64s(tail));
        simd.partial_store_f64s(tail, last);
    }
}

/// [`update`] in the widest vectors that the processor has.
///
/// ```
/// use vi_core::special::lanes::{Exp, apply};
/// let mut values = [0.0, -1.0];
/// apply([], &mut values, &Exp);
/// assert_eq!(values[0], 1.0);
/// ```
pub fn apply<const K: usize>(x: [&[f64]; K], out: &mut [f64], f: &impl EachLane<K>) {
    Arch::new().dispatch(Update { x, out, f });
}

struct Update<'a, const K: usize, F> {
    x: [&'a [f64]; K],
    out: &'a mut [f64],
    f: &'a F,
}

impl<const K: usize, F: EachLane<K>> WithSimd for Update<'_, K, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        update(simd, self.x, self.out, self.f);
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

/// `2/(2j+1)`; with `s² ≤ 0.0295` the next term is below 1e-18.
const ODD_INVERSES: [f64; 11] = [
    2.0,
    2.0 / 3.0,
    2.0 / 5.0,
    2.0 / 7.0,
    2.0 / 9.0,
    2.0 / 11.0,
    2.0 / 13.0,
    2.0 / 15.0,
    2.0 / 17.0,
    2.0 / 19.0,
    2.0 / 21.0,
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
    use pulp::Scalar;

    use super::*;

    #[test]
    fn exp_agrees_with_the_standard_library_in_vectors_and_alone() {
        let x: Vec<f64> = (-70_800..=70_900).map(|i| f64::from(i) * 0.01).collect();
        let mut vectors = x.clone();
        apply([], &mut vectors, &Exp);
        for (x, e) in x.into_iter().zip(vectors) {
            let exact = x.exp();
            for ours in [e, exp(Scalar::new(), x)] {
                assert!((ours - exact).abs() <= 2.0 * f64::EPSILON * exact, "x = {x}");
            }
        }
    }

    struct Softplus;

    impl EachLane<0> for Softplus {
        #[inline(always)]
        fn at<S: Simd>(&self, simd: S, []: [S::f64s; 0], t: S::f64s) -> S::f64s {
            softplus(simd, t).0
        }
    }

    struct Slope;

    impl EachLane<0> for Slope {
        #[inline(always)]
        fn at<S: Simd>(&self, simd: S, []: [S::f64s; 0], t: S::f64s) -> S::f64s {
            softplus(simd, t).1
        }
    }

    fn softplus_of(values: &mut [f64], slopes: &mut [f64]) {
        apply([], values, &Softplus);
        apply([], slopes, &Slope);
    }

    #[test]
    fn softplus_and_its_slope_are_those_of_single_numbers() {
        let t: Vec<f64> = (-70_800..=70_800).map(|i| f64::from(i) * 0.01).chain([-1e-300, 1e-9, 0.881_373]).collect();
        let (mut values, mut slopes) = (t.clone(), t.clone());
        softplus_of(&mut values, &mut slopes);
        for ((&t, value), slope) in t.iter().zip(values).zip(slopes) {
            let exact = [crate::special::softplus(t), crate::special::sigmoid(t)];
            let alone = softplus(Scalar::new(), t);
            for (ours, exact) in [(value, exact[0]), (slope, exact[1]), (alone.0, exact[0]), (alone.1, exact[1])] {
                // Both are rounded, ours three times.
                assert!((ours - exact).abs() <= 4.0 * f64::EPSILON * exact, "t = {t}: {ours} for {exact}");
            }
        }
    }

    #[test]
    fn what_is_not_finite_stays_so() {
        let ends = [f64::NEG_INFINITY, f64::INFINITY, f64::NAN];
        let (mut values, mut slopes) = (ends, ends);
        softplus_of(&mut values, &mut slopes);
        assert!(values[0] < 1e-300 && values[1] == f64::INFINITY && values[2].is_nan());
        assert!(slopes[0] < 1e-300 && slopes[1] == 1.0 && slopes[2].is_nan());
    }

    #[test]
    fn the_ends_of_exp_are_exact() {
        let mut ends = [f64::NEG_INFINITY, -709.0, 0.0, 709.5, f64::INFINITY, f64::NAN];
        apply([], &mut ends, &Exp);
        assert_eq!(ends[..5], [0.0, 0.0, 1.0, f64::INFINITY, f64::INFINITY]);
        assert!(ends[5].is_nan());
    }
}
