//! The logistic as a mixture of eight probits (Monahan and Stefanski 1989).

use pulp::{Arch, Simd, WithSimd};

use super::{Exact, LogisticExpectation, LogisticMoments};
use crate::likelihood::Tilted;
use crate::special::{INV_SQRT_2PI, lanes};

/// Weights `pᵢ` of `s(t) ≈ Σpᵢ·Φ(sᵢt)`.
const P: [f64; 8] = [
    0.003246343272134,
    0.051517477033972,
    0.195077912673858,
    0.315569823632818,
    0.274149576158423,
    0.131076880695470,
    0.027912418727972,
    0.001449567805354,
];

/// Scales `sᵢ`.
const S: [f64; 8] = [
    1.365340806296348,
    1.059523971016916,
    0.830791313765644,
    0.650732166639391,
    0.508135425366489,
    0.396313345166341,
    0.308904252267995,
    0.238212616409306,
];

/// Expectations by `s(t) ≈ ΣpᵢΦ(sᵢt)`; with `τᵢ² = ν + 1/sᵢ²` and `uᵢ = a/τᵢ`:
///
/// ```text
/// E softplus = Σpᵢ[aΦ(uᵢ) + τᵢφ(uᵢ)]   error ≤ 8.1e-9
/// E s        = ΣpᵢΦ(uᵢ)                error ≤ 2.1e-9
/// E s′       = Σ(pᵢ/τᵢ)φ(uᵢ)
/// ```
///
/// Each is the exact derivative of the one above, so bounds and line searches are consistent. The errors are absolute, on the
/// whole line and for every `ν`; logarithms of small probabilities are left to [`Exact`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mixture8;

/// `1/sᵢ²`.
const INVERSE_SQUARES: [f64; 8] = {
    let mut values = [0.0; 8];
    let mut i = 0;
    while i < 8 {
        values[i] = 1.0 / (S[i] * S[i]);
        i += 1;
    }
    values
};

/// `pᵢ/√(2π)`.
const DENSITIES: [f64; 8] = {
    let mut values = [0.0; 8];
    let mut i = 0;
    while i < 8 {
        values[i] = P[i] * INV_SQRT_2PI;
        i += 1;
    }
    values
};

/// The contribution of one probit of the mixture, in every lane.
struct Part<V> {
    /// `uᵢ = a/τᵢ`.
    u: V,
    square: V,
    /// `pᵢφ(uᵢ)`.
    density: V,
    /// `R(|uᵢ|)`, so that `pᵢΦ(−|uᵢ|)` is its product with the density.
    ratio: V,
}

impl<V> Part<V> {
    /// The part from `a`, `1/τᵢ` and `pᵢ/√(2π)`.
    #[inline(always)]
    fn new<S: Simd<f64s = V>>(simd: S, a: V, inverse: V, weight: V) -> Self
    where
        V: Copy,
    {
        // Beyond 38 the density is 0; a bound far beyond it keeps u² finite.
        let u =
            simd.min_f64s(simd.max_f64s(simd.mul_f64s(a, inverse), simd.splat_f64s(-1e100)), simd.splat_f64s(1e100));
        let square = simd.mul_f64s(u, u);
        let density = simd.mul_f64s(weight, lanes::exp(simd, simd.mul_f64s(simd.splat_f64s(-0.5), square)));
        Self { u, square, density, ratio: lanes::mills_ratio(simd, simd.abs_f64s(u)) }
    }
}

struct Sums {
    a: f64,
    nu: f64,
}

impl WithSimd for Sums {
    type Output = LogisticMoments;

    #[inline(always)]
    fn with_simd<V: Simd>(self, simd: V) -> LogisticMoments {
        let Self { a, nu } = self;
        let zero = simd.splat_f64s(0.0);
        let (mut tail, mut spread, mut first, mut second, mut third) = (zero, zero, zero, zero, zero);
        for (weight, s) in V::as_simd_f64s(&DENSITIES).0.iter().zip(V::as_simd_f64s(&INVERSE_SQUARES).0) {
            let tau = simd.sqrt_f64s(simd.add_f64s(simd.splat_f64s(nu), *s));
            let inverse = simd.div_f64s(simd.splat_f64s(1.0), tau);
            let part = Part::new(simd, simd.splat_f64s(a), inverse, *weight);
            let slope = simd.mul_f64s(part.density, inverse);
            tail = simd.mul_add_e_f64s(part.density, part.ratio, tail);
            spread = simd.mul_add_e_f64s(tau, part.density, spread);
            first = simd.add_f64s(first, slope);
            second = simd.sub_f64s(second, simd.mul_f64s(simd.mul_f64s(part.u, slope), inverse));
            third = simd.add_f64s(
                third,
                simd.mul_f64s(
                    simd.mul_f64s(simd.sub_f64s(part.square, simd.splat_f64s(1.0)), slope),
                    simd.mul_f64s(inverse, inverse),
                ),
            );
        }
        // All uᵢ have the sign of a; 1 − tail keeps E s within [0, 1] though the pᵢ sum to 1 + 1e-15.
        let tail = simd.reduce_sum_f64s(tail);
        let sigmoid = if a < 0.0 { tail } else { 1.0 - tail };
        LogisticMoments {
            softplus: a * sigmoid + simd.reduce_sum_f64s(spread),
            sigmoid,
            first: simd.reduce_sum_f64s(first),
            second: simd.reduce_sum_f64s(second),
            third: simd.reduce_sum_f64s(third),
        }
    }
}

/// The expectations of [`Mixture8`] at one variance and many means, in the processor's vectors: what depends on the variance is
/// computed once.
///
/// ```
/// use vi_core::expectation::{LogisticExpectation, Mixture8, Mixture8Lanes};
/// let found = Mixture8Lanes::new(2.0).at(pulp::Scalar::new(), -0.5);
/// let expected = Mixture8.moments(-0.5, 2.0);
/// assert!((found.sigmoid - expected.sigmoid).abs() < 1e-15 && (found.first - expected.first).abs() < 1e-15);
/// assert!((found.spread - 0.5 * found.sigmoid - expected.softplus).abs() < 1e-15);
/// assert!((found.second - expected.second).abs() < 1e-15);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Mixture8Lanes {
    tau: [f64; 8],
    inverse: [f64; 8],
}

/// Expectations of the logistic function at several means `a`, for `t ~ N(a, ν)`.
#[derive(Debug, Clone, Copy)]
pub struct LogisticLanes<V> {
    /// `E softplus(t) − a·E s(t) = E softplus(−t) + a·E s(−t)`, a sum of positive numbers.
    pub spread: V,
    /// `E s(t)`.
    pub sigmoid: V,
    /// `E s(−t)`, to full precision where it is small.
    pub complement: V,
    /// `E s′(t)`.
    pub first: V,
    /// `E s″(t)`.
    pub second: V,
}

impl Mixture8Lanes {
    /// Prepares the expectations at the variance `ν ≥ 0`.
    #[must_use]
    pub fn new(nu: f64) -> Self {
        let tau = INVERSE_SQUARES.map(|s| (nu + s).sqrt());
        Self { tau, inverse: tau.map(f64::recip) }
    }

    /// The expectations at the mean in every lane.
    #[inline(always)]
    pub fn at<S: Simd>(&self, simd: S, a: S::f64s) -> LogisticLanes<S::f64s> {
        let zero = simd.splat_f64s(0.0);
        let (mut tail, mut spread, mut first, mut steep) = (zero, zero, zero, zero);
        for ((weight, tau), inverse) in DENSITIES.iter().zip(&self.tau).zip(&self.inverse) {
            let inverse = simd.splat_f64s(*inverse);
            let part = Part::new(simd, a, inverse, simd.splat_f64s(*weight));
            tail = simd.mul_add_e_f64s(part.density, part.ratio, tail);
            spread = simd.mul_add_e_f64s(simd.splat_f64s(*tau), part.density, spread);
            let narrow = simd.mul_f64s(part.density, inverse);
            first = simd.add_f64s(narrow, first);
            steep = simd.mul_add_e_f64s(narrow, simd.mul_f64s(inverse, inverse), steep);
        }
        let second = simd.neg_f64s(simd.mul_f64s(a, steep));
        // As above: 1 − tail for the larger of the two.
        let (left, rest) = (simd.less_than_f64s(a, zero), simd.sub_f64s(simd.splat_f64s(1.0), tail));
        let (sigmoid, complement) = (lanes::select(simd, left, tail, rest), lanes::select(simd, left, rest, tail));
        LogisticLanes { spread, sigmoid, complement, first, second }
    }
}

fn evaluate(a: f64, nu: f64) -> LogisticMoments {
    Arch::new().dispatch(Sums { a, nu })
}

impl LogisticExpectation for Mixture8 {
    fn softplus(&self, a: f64, nu: f64) -> f64 {
        evaluate(a, nu).softplus
    }

    fn sigmoid(&self, a: f64, nu: f64) -> (f64, f64) {
        let LogisticMoments { sigmoid, first, .. } = evaluate(a, nu);
        (sigmoid, first)
    }

    fn moments(&self, a: f64, nu: f64) -> LogisticMoments {
        evaluate(a, nu)
    }

    /// Accurate to 4e-7 nats as [`tilted_sigmoid`](Self::tilted_sigmoid) is, and by [`Exact`] where that returns `None`.
    fn log_sigmoid_mean(&self, a: f64, nu: f64) -> f64 {
        match Leaning::of(a, nu) {
            Some(Leaning { shift, seen, .. }) => shift + seen.sigmoid.ln(),
            None => Exact.log_sigmoid_mean(a, nu),
        }
    }

    fn absolute_error(&self) -> Option<f64> {
        Some(2.1e-9)
    }

    /// The curvature's error stays below 2e-6.
    fn tilted_sigmoid(&self, a: f64, nu: f64) -> Option<Tilted> {
        let Leaning { shift, side, seen: LogisticMoments { sigmoid, first, second, .. } } = Leaning::of(a, nu)?;
        let slope = first / sigmoid;
        let bend = second / sigmoid - slope * slope; // ℓ″
        let kept = 1.0 + nu * bend;
        Some(Tilted {
            log_normaliser: shift + sigmoid.ln(),
            slope: 0.5 * (1.0 - side) + side * slope,
            curvature: -bend / kept,
            variance: nu * kept,
        })
    }
}

/// Computes `log E s(t) = shift + log E s(b)` from the larger of two: `b = t`, or `b = −t−ν`, since `s(t) = eᵗ·s(−t)` and `eᵗ`
/// moves the Gaussian by `ν`.
struct Leaning {
    /// 0, or `a + ½ν`.
    shift: f64,
    /// 1 or −1, the sign of `t` in `b`.
    side: f64,
    seen: LogisticMoments,
}

impl Leaning {
    /// Returns `None` if the mixture is accurate enough for neither.
    fn of(a: f64, nu: f64) -> Option<Self> {
        let direct = Self { shift: 0.0, side: 1.0, seen: evaluate(a, nu) };
        if direct.seen.sigmoid >= LEAST {
            return Some(direct);
        }
        let moved = Self { shift: a + 0.5 * nu, side: -1.0, seen: evaluate(-(a + nu), nu) };
        let larger = if moved.seen.sigmoid > direct.seen.sigmoid { moved } else { direct };
        (larger.seen.sigmoid >= if nu >= WIDE { LEAST_WIDE } else { LEAST }).then_some(larger)
    }
}

/// The value of `E s` from which on its derivatives are accurate enough relative to it: the mixture's error is of order 1e-8, and
/// a Gaussian of a larger variance than [`WIDE`] averages its oscillations out.
const LEAST: f64 = 0.1;
const LEAST_WIDE: f64 = 1e-3;
const WIDE: f64 = 4.0;
