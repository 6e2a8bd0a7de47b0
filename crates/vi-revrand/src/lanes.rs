//! Loops over many numbers at once, compiled for the vector width that the processor has.

use pulp::Arch;

/// Numbers that go through a loop together: two of the widest vectors.
pub(crate) const LANES: usize = 16;
/// Numbers whose `1 + e ≤ 2` are multiplied before one logarithm is taken.
const PRODUCT: usize = 1000;
/// Beyond this [`exp`] is 0, or infinite.
const SMALLEST: f64 = -708.0;
const LARGEST: f64 = 709.0;

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

/// `out_i ← exp(x_i)` to 2 ulp; 0 below −708 and infinite above 709.
pub(crate) fn exp(x: &[f64], out: &mut [f64]) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            let (heads, tail) = x.as_chunks::<LANES>();
            let (out_heads, out_tail) = out.as_chunks_mut::<LANES>();
            for (x, out) in heads.iter().zip(out_heads) {
                *out = exp_lanes(*x);
            }
            out_tail.copy_from_slice(&exp_lanes(padded(tail, 0.0))[..tail.len()]);
        },
    );
}

/// `Σ softplus(t_i)` with `t_i = sign·f_i`, and `slopes_i ← −sign·s(t_i)`; `sign` is 1 or −1.
///
/// The sum is off by at most a few `ε` for each number, which is absolute: where every `softplus` is below `ε` it is 0.
pub(crate) fn softplus_sum(sign: f64, f: &[f64], slopes: &mut [f64]) -> f64 {
    let part = |(f, slopes): (&[f64], &mut [f64])| {
        Arch::new().dispatch(
            #[inline(always)]
            || {
                let (heads, tail) = f.as_chunks::<LANES>();
                let (slope_heads, slope_tail) = slopes.as_chunks_mut::<LANES>();
                let (mut linear, mut product) = ([0.0; LANES], [1.0; LANES]);
                for (f, slopes) in heads.iter().zip(slope_heads) {
                    *slopes = softplus_lanes(sign, *f, &mut linear, &mut product);
                }
                // softplus(−∞) = 0.
                let last = softplus_lanes(sign, padded(tail, -sign * f64::INFINITY), &mut linear, &mut product);
                slope_tail.copy_from_slice(&last[..tail.len()]);
                linear.iter().sum::<f64>() + product.iter().product::<f64>().ln()
            },
        )
    };
    f.chunks(PRODUCT).zip(slopes.chunks_mut(PRODUCT)).map(part).sum()
}

/// `Σ (x_i² + y_i)`.
pub(crate) fn sum_of_squares_and(x: &[f64], y: &[f64]) -> f64 {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            let ((x, x_tail), (y, y_tail)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
            let mut sums = [0.0; LANES];
            for (x, y) in x.iter().zip(y) {
                for i in 0..LANES {
                    sums[i] += x[i] * x[i] + y[i];
                }
            }
            let tail: f64 = x_tail.iter().zip(y_tail).map(|(x, y)| x * x + y).sum();
            sums.iter().sum::<f64>() + tail
        },
    )
}

/// `out_i ← −x_i`.
pub(crate) fn negate(x: &[f64], out: &mut [f64]) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for (out, x) in out.iter_mut().zip(x) {
                *out = -x;
            }
        },
    );
}

/// `out_i ← −x_i·y_i`.
pub(crate) fn negative_product(x: &[f64], y: &[f64], out: &mut [f64]) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
                *out = -x * y;
            }
        },
    );
}

/// `y_i ← y_i + α`.
pub(crate) fn add(alpha: f64, y: &mut [f64]) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for y in y.iter_mut() {
                *y += alpha;
            }
        },
    );
}

/// The logarithm of a product of many positive, normal, finite numbers: mantissas are multiplied and exponents added, so that
/// one logarithm is taken for all and nothing overflows.
pub(crate) struct LogProduct {
    mantissas: [f64; LANES],
    /// Sums of biased exponents.
    exponents: [u64; LANES],
    factors: u64,
    /// Of the mantissas put aside before they overflow.
    logarithm: f64,
}

const MANTISSA: u64 = (1 << 52) - 1;
const ONE: u64 = 1023 << 52;

impl LogProduct {
    pub(crate) fn new() -> Self {
        Self { mantissas: [1.0; LANES], exponents: [0; LANES], factors: 0, logarithm: 0.0 }
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "has to be compiled inside the caller's dispatch")]
    pub(crate) fn multiply(&mut self, x: [f64; LANES]) {
        for i in 0..LANES {
            let bits = x[i].to_bits();
            self.mantissas[i] *= f64::from_bits(bits & MANTISSA | ONE);
            self.exponents[i] += bits >> 52;
        }
        self.factors += 1;
        if self.factors % PRODUCT as u64 == 0 {
            self.set_aside();
        }
    }

    fn set_aside(&mut self) {
        self.logarithm += self.mantissas.iter().map(|mantissa| mantissa.ln()).sum::<f64>();
        self.mantissas = [1.0; LANES];
    }

    pub(crate) fn ln(mut self) -> f64 {
        if self.factors < 1000 / LANES as u64 {
            // All of them together stay below 2¹⁰⁰⁰.
            self.mantissas = std::array::from_fn(|i| if i == 0 { self.mantissas.iter().product() } else { 1.0 });
            self.logarithm += self.mantissas[0].ln();
        } else {
            self.set_aside();
        }
        let bias = 1023.0 * (self.factors * LANES as u64) as f64;
        self.logarithm + (self.exponents.iter().sum::<u64>() as f64 - bias) * std::f64::consts::LN_2
    }
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "has to be compiled inside the caller's dispatch")]
pub(crate) fn padded(tail: &[f64], with: f64) -> [f64; LANES] {
    let mut lanes = [with; LANES];
    lanes[..tail.len()].copy_from_slice(tail);
    lanes
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "has to be compiled inside the caller's dispatch")]
fn softplus_lanes(sign: f64, f: [f64; LANES], linear: &mut [f64; LANES], product: &mut [f64; LANES]) -> [f64; LANES] {
    let t = f.map(|f| sign * f);
    let e = exp_lanes(t.map(|t| -t.abs()));
    let mut slopes = [0.0; LANES];
    for i in 0..LANES {
        linear[i] += t[i].max(0.0);
        product[i] *= 1.0 + e[i];
        slopes[i] = -sign * (if t[i] >= 0.0 { 1.0 } else { e[i] }) / (1.0 + e[i]);
    }
    slopes
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "has to be compiled inside the caller's dispatch")]
fn exp_lanes(x: [f64; LANES]) -> [f64; LANES] {
    // Adding 1.5·2⁵² rounds to the nearest integer and leaves it in the low bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    let mut out = [0.0; LANES];
    for i in 0..LANES {
        let kept = x[i].clamp(SMALLEST, LARGEST);
        let shifted = kept * std::f64::consts::LOG2_E + ROUND;
        let n = shifted - ROUND;
        let r = (kept - n * LN_2_HIGH) - n * LN_2_LOW;
        let mut sum = INVERSE_FACTORIALS[13];
        for j in (0..13).rev() {
            sum = sum * r + INVERSE_FACTORIALS[j];
        }
        let power = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
        let inside = sum * power;
        let low = if x[i] < SMALLEST { 0.0 } else { inside };
        out[i] = if x[i] > LARGEST { f64::INFINITY } else { low };
    }
    out
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
        let mut ends = [0.0; 4];
        exp(&[-709.0, 710.0, f64::INFINITY, f64::NEG_INFINITY], &mut ends);
        assert_eq!(ends, [0.0, f64::INFINITY, f64::INFINITY, 0.0]);
        exp(&[f64::NAN], &mut ends[..1]);
        assert!(ends[0].is_nan());
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
}
