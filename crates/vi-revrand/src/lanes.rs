//! Loops over many numbers at once, compiled for the processor's vector instructions.
//!
//! Each function works on one number without branches, so that a loop over it becomes vector instructions; sums are split into
//! vectors by hand, since the compiler keeps the order of additions. What is dispatched is a struct, because the body of a
//! closure need not be compiled for the wider vectors.

use pulp::{Arch, Simd, WithSimd};
use vi_core::special::lanes;

/// How many numbers between ½ and 1 can be multiplied without underflow.
const FACTORS: usize = 1000;
/// How many numbers [`log_product`] takes one logarithm of.
const CHUNK: usize = 32;

/// `out_i ← exp(x_i)` to 2 ulp; 0 below −708 and infinite above 709.
pub(crate) fn exp(x: &[f64], out: &mut [f64]) {
    out.copy_from_slice(x);
    lanes::apply([], out, &lanes::Exp);
}

/// `Σ softplus(t_i)` with `t_i = sign·f_i`, and `slopes_i ← −sign·s(t_i)`; `sign` is 1 or −1.
///
/// The absolute error of the sum is at most a few `ε` for each number: if every `softplus` is below `ε`, it is 0.
pub(crate) fn softplus_sum(sign: f64, f: &[f64], slopes: &mut [f64]) -> f64 {
    slopes.copy_from_slice(f);
    lanes::apply([], slopes, &Slope { sign });
    let part = |(f, slopes)| Arch::new().dispatch(SoftplusSum { sign, f, slopes });
    f.chunks(FACTORS).zip(slopes.chunks(FACTORS)).map(part).sum()
}

/// `−sign·s(t)`, `t = sign·f`.
struct Slope {
    sign: f64,
}

impl lanes::EachLane<0> for Slope {
    #[inline(always)]
    fn at<S: Simd>(&self, simd: S, []: [S::f64s; 0], f: S::f64s) -> S::f64s {
        let slope = lanes::softplus(simd, simd.mul_f64s(simd.splat_f64s(self.sign), f)).1;
        simd.mul_f64s(simd.splat_f64s(-self.sign), slope)
    }
}

/// `Σ max(t, 0) − log Π s(|t|)`, since `softplus(t) = max(t, 0) − log s(|t|)`.
struct SoftplusSum<'a> {
    sign: f64,
    f: &'a [f64],
    /// `±s(t)`.
    slopes: &'a [f64],
}

impl WithSimd for SoftplusSum<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let Self { sign, f, slopes } = self;
        let ((f, f_tail), (slopes, slopes_tail)) = (S::as_simd_f64s(f), S::as_simd_f64s(slopes));
        let (zero, one, signs) = (simd.splat_f64s(0.0), simd.splat_f64s(1.0), simd.splat_f64s(sign));
        let (mut linear, mut product) = (zero, one);
        for (f, slope) in f.iter().zip(slopes) {
            linear = simd.add_f64s(linear, simd.max_f64s(simd.mul_f64s(signs, *f), zero));
            let s = simd.abs_f64s(*slope);
            // s(|t|) is the larger of s(t) and s(−t).
            product = simd.mul_f64s(product, simd.max_f64s(s, simd.sub_f64s(one, s)));
        }
        let (mut linear, mut product) = (simd.reduce_sum_f64s(linear), simd.reduce_product_f64s(product));
        for (f, slope) in f_tail.iter().zip(slopes_tail) {
            linear += (sign * f).max(0.0);
            product *= slope.abs().max(1.0 - slope.abs());
        }
        linear - product.ln()
    }
}

/// Whether every number is finite, without a branch for each: `0·x` is 0 unless `x` is infinite or NaN.
pub(crate) fn all_finite(x: &[f64]) -> bool {
    struct Zeros<'a>(&'a [f64]);

    impl WithSimd for Zeros<'_> {
        type Output = f64;

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> f64 {
            let (heads, tail) = S::as_simd_f64s(self.0);
            let (fours, rest) = heads.as_chunks::<4>();
            let zero = simd.splat_f64s(0.0);
            let mut sums = [zero; 4];
            for four in fours {
                for (sum, x) in sums.iter_mut().zip(four) {
                    *sum = simd.mul_add_e_f64s(*x, zero, *sum);
                }
            }
            for x in rest {
                sums[0] = simd.mul_add_e_f64s(*x, zero, sums[0]);
            }
            let [a, b, c, d] = sums;
            let sum = simd.add_f64s(simd.add_f64s(a, b), simd.add_f64s(c, d));
            simd.reduce_sum_f64s(sum) + tail.iter().map(|x| x * 0.0).sum::<f64>()
        }
    }

    Arch::new().dispatch(Zeros(x)) == 0.0
}

/// `Σ x_i`.
pub(crate) fn sum(x: &[f64]) -> f64 {
    struct Sum<'a>(&'a [f64]);

    impl WithSimd for Sum<'_> {
        type Output = f64;

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> f64 {
            let (heads, tail) = S::as_simd_f64s(self.0);
            let (pairs, rest) = heads.as_chunks::<2>();
            let [mut first, mut second] = [simd.splat_f64s(0.0); 2];
            for [x, y] in pairs {
                first = simd.add_f64s(first, *x);
                second = simd.add_f64s(second, *y);
            }
            for x in rest {
                first = simd.add_f64s(first, *x);
            }
            simd.reduce_sum_f64s(simd.add_f64s(first, second)) + tail.iter().sum::<f64>()
        }
    }

    Arch::new().dispatch(Sum(x))
}

/// `(log Π s_i, Σ d_i²/s_i)` with `s = c + c′` and `d = m − m′`, of `[m, m′, c, c′]`; one logarithm is taken of many numbers if
/// their product neither overflows nor underflows.
pub(crate) fn overlap(pair: [&[f64]; 4]) -> (f64, f64) {
    let d = pair[0].len();
    Arch::new().dispatch(Overlap { pair: pair.map(|x| &x[..d]) })
}

struct Overlap<'a> {
    pair: [&'a [f64]; 4],
}

impl WithSimd for Overlap<'_> {
    type Output = (f64, f64);

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> (f64, f64) {
        let [(m, m_tail), (n, n_tail), (c, c_tail), (e, e_tail)] = self.pair.map(|x| x.as_chunks::<CHUNK>());
        let (mut logarithm, mut distance) = (0.0, simd.splat_f64s(0.0));
        for i in 0..m.len() {
            let [m, n, c, e] = [&m[i], &n[i], &c[i], &e[i]].map(|x| S::as_simd_f64s(x.as_slice()).0);
            let mut product = simd.splat_f64s(1.0);
            for j in 0..c.len() {
                let s = simd.add_f64s(c[j], e[j]);
                let d = simd.sub_f64s(m[j], n[j]);
                distance = simd.mul_add_e_f64s(simd.div_f64s(d, s), d, distance);
                product = simd.mul_f64s(product, s);
            }
            let product = simd.reduce_product_f64s(product);
            logarithm += if product.is_normal() { product.ln() } else { log_sum(&self.pair, i * CHUNK, CHUNK) };
        }
        let mut distance = simd.reduce_sum_f64s(distance);
        for i in 0..m_tail.len() {
            let d = m_tail[i] - n_tail[i];
            distance += d * d / (c_tail[i] + e_tail[i]);
        }
        let product: f64 = c_tail.iter().zip(e_tail).map(|(c, e)| c + e).product();
        let first = self.pair[0].len() - c_tail.len();
        logarithm += if product.is_normal() { product.ln() } else { log_sum(&self.pair, first, c_tail.len()) };
        (logarithm, distance)
    }
}

/// `Σ log x_i` for positive `x_i`, with one logarithm for many numbers.
pub(crate) fn log_product(x: &[f64]) -> f64 {
    struct LogProduct<'a>(&'a [f64]);

    impl WithSimd for LogProduct<'_> {
        type Output = f64;

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> f64 {
            let (heads, tail) = self.0.as_chunks::<CHUNK>();
            let mut logarithm = 0.0;
            let mut add = |product: f64, x: &[f64]| {
                let logs = || x.iter().map(|x| x.ln()).sum();
                logarithm += if product.is_normal() { product.ln() } else { logs() };
            };
            for x in heads {
                let (vectors, _) = S::as_simd_f64s(x.as_slice());
                let mut product = simd.splat_f64s(1.0);
                for x in vectors {
                    product = simd.mul_f64s(product, *x);
                }
                add(simd.reduce_product_f64s(product), x);
            }
            add(tail.iter().product(), tail);
            logarithm
        }
    }

    Arch::new().dispatch(LogProduct(x))
}

/// The log sum of [`overlap`], one number at a time.
#[cold]
fn log_sum([_, _, c, e]: &[&[f64]; 4], first: usize, count: usize) -> f64 {
    (first..first + count).map(|i| (c[i] + e[i]).ln()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_agrees_with_the_standard_library() {
        let x: Vec<f64> = (-70_800..70_901).map(|i| f64::from(i) * 0.01).collect();
        let mut out = vec![f64::NAN; x.len()];
        exp(&x, &mut out);
        for (&x, &ours) in x.iter().zip(&out) {
            assert!((ours - x.exp()).abs() <= 2.0 * f64::EPSILON * x.exp(), "x = {x}");
        }
        let mut ends = [0.0; 5];
        exp(&[-709.0, 710.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN], &mut ends);
        assert_eq!(ends[..4], [0.0, f64::INFINITY, f64::INFINITY, 0.0]);
        assert!(ends[4].is_nan());
    }

    #[test]
    fn softplus_and_slopes_are_the_scalar_ones() {
        for n in [0, 1, 7, 16, 17, 50, 2500] {
            let f: Vec<f64> = (0..n).map(|i| f64::from(i) * 0.37 % 90.0 - 45.0).collect();
            for sign in [1.0, -1.0] {
                let mut slopes = vec![f64::NAN; f.len()];
                let sum = softplus_sum(sign, &f, &mut slopes);
                let exact: f64 = f.iter().map(|f| vi_core::special::softplus(sign * f)).sum();
                // Each of n terms is rounded, in the sum and in the product.
                assert!((sum - exact).abs() <= 4.0 * f64::from(n) * f64::EPSILON * (1.0 + exact), "n = {n}");
                for (&f, &slope) in f.iter().zip(&slopes) {
                    let exact = -sign * vi_core::special::sigmoid(sign * f);
                    assert!((slope - exact).abs() <= 8.0 * f64::EPSILON * exact.abs(), "f = {f}");
                }
            }
        }
    }

    #[test]
    fn sums_of_any_length() {
        for n in 0..40 {
            let x: Vec<f64> = (0..n).map(f64::from).collect();
            assert_eq!(sum(&x), f64::from(n * (n - 1) / 2));
        }
    }

    #[test]
    fn overlaps_are_those_of_single_numbers() {
        // 1e-200 and 1e200: the product of several leaves the range.
        for (n, scale) in [(1, 1.0), (15, 1.0), (16, 1.0), (100, 1e-200), (37, 1e200)] {
            let vector = |salt: i32| (0..n).map(|i| f64::from((i * 37 + salt * 11) % 23) + 0.5).collect::<Vec<f64>>();
            let (m, k) = (vector(0), vector(1));
            let [c, e] = [2, 3].map(|salt| vector(salt).iter().map(|c| scale * c).collect::<Vec<f64>>());
            let (log, distance) = overlap([&m, &k, &c, &e]);
            let each = |i: usize| (c[i] + e[i], m[i] - k[i]);
            let exact: (f64, f64) =
                (0..m.len()).map(each).fold((0.0, 0.0), |(log, sum), (s, d)| (log + s.ln(), sum + d * d / s));
            let tolerance = 4.0 * f64::from(n) * f64::EPSILON;
            assert!((log - exact.0).abs() <= tolerance * exact.0.abs().max(1.0), "{log} {}", exact.0);
            assert!((distance - exact.1).abs() <= tolerance * exact.1);
        }
    }
}
