//! The tilted density of a log-concave likelihood, integrated by equal steps about its mode.

use pulp::{Arch, Simd, WithSimd};

use super::modes::Mode;
use super::tilted::Sums;
use crate::likelihood::Likelihood;
use crate::special::lanes;

/// The first step, in widths of the mode. On a Gaussian twice this step is off by `2e^(−2π²)`, 5e-9, this step by 1e-34.
const STEP: f64 = 0.5;
/// The number of halvings of the step.
const LEVELS: i32 = 3;
/// How near the result must be to that of twice the step: its own error is of the order of the square.
const NEAR: f64 = 1e-6;
/// The number of points taken together.
const BLOCK: usize = 16;
/// The most blocks on either side.
const MOST_BLOCKS: usize = 8;
/// The exponent at which a side ends: `e^(−30)` of the mode.
const END: f64 = -30.0;

/// The sums of [`Sums`] in steps of half a width of the mode, or a quarter or an eighth. Returns `None` if these do not converge.
///
/// On an analytic integrand the rule converges geometrically: halving the step squares the error. So a rule that is within 1e-6 of
/// that by every second point is good to about 1e-12.
pub(super) fn sums<L: Likelihood + ?Sized>(likelihood: &L, y: f64, (a, nu): (f64, f64), mode: Mode) -> Option<Sums> {
    let t = a + mode.offset;
    // 0 but for the inaccuracy of the mode.
    let lean = likelihood.slope(y, t) - mode.offset / nu;
    (0..LEVELS).find_map(|level| {
        let step = STEP * 0.5_f64.powi(level);
        let [all, even] = both(likelihood, y, t, Shape { scale: mode.scale, step, lean, nu })?;
        agree(all, even).then(|| Sums(all.map(|sum| sum * step)))
    })
}

#[derive(Clone, Copy)]
struct Shape {
    scale: f64,
    /// In units of `scale`.
    step: f64,
    lean: f64,
    nu: f64,
}

/// Sums over all points and twice those over every second.
fn both<L: Likelihood + ?Sized>(likelihood: &L, y: f64, t: f64, shape: Shape) -> Option<[[f64; 5]; 2]> {
    let Shape { scale, step, lean, nu } = shape;
    // The mode itself: e = 1, u = d = 0.
    let mut even = [1.0, 0.0, 0.0, 0.0, 0.0];
    let mut odd = [0.0; 5];
    let (mut u, mut delta, mut beyond) = ([0.0; BLOCK], [0.0; BLOCK], [[0.0; 2]; BLOCK]);
    for sign in [1.0, -1.0] {
        for block in 0.. {
            if block == MOST_BLOCKS {
                return None;
            }
            for (i, (u, delta)) in u.iter_mut().zip(&mut delta).enumerate() {
                *u = sign * step * (block * BLOCK + i + 1) as f64;
                *delta = *u * scale;
            }
            likelihood.beyond_tangent(y, t, &delta, &mut beyond);
            let last = add(&mut odd, &mut even, &u, &delta, &beyond, (lean, nu));
            if last.is_nan() {
                return None;
            }
            if last <= END {
                break;
            }
        }
    }
    let mut all = even;
    all.iter_mut().zip(odd).for_each(|(all, odd)| *all += odd);
    Some([all, even.map(|sum| 2.0 * sum)])
}

/// Adds a block of points, its first to `odd`; returns the last point's exponent.
fn add(
    odd: &mut [f64; 5],
    even: &mut [f64; 5],
    u: &[f64; BLOCK],
    delta: &[f64; BLOCK],
    beyond: &[[f64; 2]; BLOCK],
    (lean, nu): (f64, f64),
) -> f64 {
    let mut e = [0.0; BLOCK];
    for i in 0..BLOCK {
        e[i] = beyond[i][0] + (lean - 0.5 * (delta[i] / nu)) * delta[i];
    }
    let last = e[BLOCK - 1];
    Arch::new().dispatch(Terms { odd, even, u, beyond, e: &mut e });
    last
}

/// Adds the terms of a block, whose exponents are in `e`.
struct Terms<'a> {
    odd: &'a mut [f64; 5],
    even: &'a mut [f64; 5],
    u: &'a [f64; BLOCK],
    beyond: &'a [[f64; 2]; BLOCK],
    e: &'a mut [f64; BLOCK],
}

impl WithSimd for Terms<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { odd, even, u, beyond, e } = self;
        lanes::update(simd, [], e, &ExpUpToOne);
        for i in 0..BLOCK {
            let terms = [e[i], e[i] * u[i], e[i] * u[i] * u[i], e[i] * beyond[i][1], e[i] * beyond[i][1] * u[i]];
            let sums = if i % 2 == 0 { &mut *odd } else { &mut *even };
            for (sum, term) in sums.iter_mut().zip(terms) {
                *sum += term;
            }
        }
    }
}

/// `e^min(x, 0)`.
struct ExpUpToOne;

impl lanes::EachLane<0> for ExpUpToOne {
    #[inline(always)]
    fn at<S: Simd>(&self, simd: S, []: [S::f64s; 0], x: S::f64s) -> S::f64s {
        lanes::exp(simd, simd.min_f64s(x, simd.splat_f64s(0.0)))
    }
}

/// Whether mass, mean, variance and covariance with the slope are the same by both rules.
fn agree(all: [f64; 5], even: [f64; 5]) -> bool {
    let moments = |[mass, u, u2, d, du]: [f64; 5]| {
        let (mean, mean_slope) = (u / mass, d / mass);
        [mass, mean, u2 / mass - mean * mean, du / mass - mean * mean_slope]
    };
    let ([mass, mean, spread, covariance], coarse) = (moments(all), moments(even));
    let close = |fine: f64, coarse: f64, size: f64| (fine - coarse).abs() <= NEAR * size;
    close(mass, coarse[0], mass)
        && close(mean, coarse[1], spread.sqrt())
        && close(spread, coarse[2], spread)
        && close(covariance, coarse[3], covariance.abs())
}
