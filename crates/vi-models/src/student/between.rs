//! The probability of a range of the sum of a Gaussian and a Student-t number, with its slopes by the mean of the Gaussian.
//!
//! With `y = t + s·ε`, `t ~ N(a, ν)`, and the parts of [`Tail`], of variance `V_j = ν + s²e^(−x_j)`,
//!
//! ```text
//! log P(l < y < h) = log Σ_j ω_j·P_j,   P_j = Φ((h−a)/√V_j) − Φ((l−a)/√V_j).
//! ```
//!
//! In part `j` the standardised label is a truncated normal of mean `m_j` and variance `τ_j`, so that `∂_a log P_j = m_j/√V_j`,
//! `−∂_a² log P_j = (1 − τ_j)/V_j`, and the predictor is left the share `(V_j − ν)/V_j + ν·τ_j/V_j` of its variance.

use pulp::{Arch, Simd, WithSimd};
use vi_core::special::{HALF_LN_2PI, lanes};

use super::beyond::BEYOND;
use super::blurred::{DOF, FAR, NARROW, TAILS, Tail, Told};
use super::truncated::Truncated;

/// The probability below which parts are summed by their logarithms.
const SMALL: f64 = 1e-200;

/// The share of the parts so far below which those that are left out stay: far below the error of the steps.
const FAINT: f64 = 1e-8;

/// The log density of `y = a + r`, or where the reach is not 0 the log probability of a `y` between `a + r` and `a + r + reach`, with its slopes by the mean of
/// `t ~ N(a, ν)`, for the tail `k`.
pub(crate) fn told_of(k: usize, (r, reach): (f64, f64), nu: f64, scale: f64) -> Told {
    if reach == 0.0 {
        TAILS[k].told(r, nu, scale)
    } else if reach.abs() < NARROW * scale {
        let middle = TAILS[k].told(r + 0.5 * reach, nu, scale);
        Told { log_density: middle.log_density + reach.abs().ln(), ..middle }
    } else if nu == 0.0 || is_far(k, (r, reach), nu, scale) {
        let told = BEYOND[k].told((r, reach), scale);
        Told { left: 1.0 - nu * told.bend, ..told }
    } else {
        TAILS[k].told_between((r, reach), nu, scale)
    }
}

/// The lower and the upper end of a range that goes from `r` as far as `reach`.
pub(super) fn ends((r, reach): (f64, f64)) -> (f64, f64) {
    if reach < 0.0 { (r + reach, r) } else { (r, r + reach) }
}

/// The distance of a range from 0.
pub(crate) fn distance(range: (f64, f64)) -> f64 {
    let (low, high) = ends(range);
    low.max(-high).max(0.0)
}

/// Whether a range lies so far out that the Gaussian no longer shows beside a tail that is a power.
fn is_far(k: usize, range: (f64, f64), nu: f64, scale: f64) -> bool {
    let square = distance(range).powi(2);
    DOF[k].is_finite() && square >= FAR * scale * scale && square >= 100.0 * nu
}

impl Tail {
    /// [`told_of`] a range.
    fn told_between(&self, range: (f64, f64), nu: f64, scale: f64) -> Told {
        let own = scale * scale;
        let (low, high) = ends(range);
        let settled = 3.0 * (1.0 + distance(range).powi(2) / own);
        let arch = Arch::new();
        // A range that is open below is seen in a mirror.
        let (sign, sums) = if high == f64::INFINITY {
            (1.0, arch.dispatch(Between::<false> { tail: self, nu, own, low, high, settled }))
        } else if low == f64::NEG_INFINITY {
            (-1.0, arch.dispatch(Between::<false> { tail: self, nu, own, low: -high, high: -low, settled }))
        } else {
            (1.0, arch.dispatch(Between::<true> { tail: self, nu, own, low, high, settled }))
        };
        let (top, [total, slopes, squares, bends, left]) =
            if sums[0] > SMALL { (0.0, sums) } else { self.far_between((low, high), nu, own, settled) };
        if total == 0.0 {
            return Told { log_density: f64::NEG_INFINITY, slope: 0.0, bend: 0.0, left: 1.0 };
        }
        let slope = if sums[0] > SMALL { sign * slopes / total } else { slopes / total };
        let between = (squares / total - slope * slope).max(0.0);
        Told { log_density: top + total.ln(), slope, bend: bends / total - between, left: left / total + nu * between }
    }

    /// The largest logarithm of a part's probability, and relative to it the sums of the probabilities, and of these times the slope, its square, the bend and
    /// the share of the variance that is left.
    fn far_between(&self, (low, high): (f64, f64), nu: f64, own: f64, settled: f64) -> (f64, [f64; 5]) {
        let (mut top, mut sums) = (f64::NEG_INFINITY, [0.0; 5]);
        for (log_weight, spread) in self.parts() {
            let noise = own * spread;
            let precision = (nu + noise).recip();
            let root = precision.sqrt();
            let own = Truncated::new(low * root, high * root);
            let term = log_weight + own.log_mass;
            if term == f64::NEG_INFINITY {
                continue;
            }
            if term > top {
                let shrink = (top - term).exp();
                sums = sums.map(|sum| sum * shrink);
                top = term;
            }
            let (share, slope) = ((term - top).exp(), own.mean * root);
            let of =
                [1.0, slope, slope * slope, precision * (1.0 - own.variance), precision * (noise + nu * own.variance)];
            sums.iter_mut().zip(of).for_each(|(sum, of)| *sum += share * of);
            if share < sums[0] * FAINT && spread > settled {
                break;
            }
        }
        (top, sums)
    }
}

/// `Σ_j ω_j·P_j`, and these times slope, slope squared, bend, and what is left of the variance, of a range with `TWO` ends or one that is open above; up to
/// parts that tell nothing further, whose `e^(−x_j)` is above `settled`.
struct Between<'a, const TWO: bool> {
    tail: &'a Tail,
    nu: f64,
    own: f64,
    low: f64,
    high: f64,
    settled: f64,
}

/// Where nothing is left beyond within floats, in deviations.
const END: f64 = 39.0;

/// The probability beyond `|z|`, the density at `z`, and `z` times that.
#[inline(always)]
fn end<S: Simd>(simd: S, z: S::f64s) -> [S::f64s; 3] {
    let near = simd.max_f64s(simd.min_f64s(z, simd.splat_f64s(END)), simd.splat_f64s(-END));
    let size = simd.abs_f64s(near);
    let density = lanes::exp(simd, simd.mul_f64s(simd.mul_f64s(simd.splat_f64s(-0.5), size), size));
    let density = simd.mul_f64s(simd.splat_f64s((-HALF_LN_2PI).exp()), density);
    [simd.mul_f64s(density, lanes::mills_ratio(simd, size)), density, simd.mul_f64s(near, density)]
}

impl<const TWO: bool> WithSimd for Between<'_, TWO> {
    type Output = [f64; 5];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> [f64; 5] {
        let (weights, all_spreads) = self.tail.lanes();
        let (weights, spreads) = (S::as_simd_f64s(weights).0, S::as_simd_f64s(all_spreads).0);
        let (zero, one) = (simd.splat_f64s(0.0), simd.splat_f64s(1.0));
        let (nu, own) = (simd.splat_f64s(self.nu), simd.splat_f64s(self.own));
        let (low, high) = (simd.splat_f64s(self.low), simd.splat_f64s(if TWO { self.high } else { 0.0 }));
        let mut sums = [zero; 5];
        for (k, (weight, spread)) in weights.iter().zip(spreads).enumerate() {
            let noise = simd.mul_f64s(own, *spread);
            let precision = simd.div_f64s(one, simd.add_f64s(nu, noise));
            let root = simd.sqrt_f64s(precision);
            let below = simd.mul_f64s(low, root);
            let [beyond, mut density, mut product] = end(simd, below);
            // Above 0 a tail, otherwise what its mirror leaves of 1; of two ends on one side of 0 the difference of the tails.
            let is_right = simd.less_than_f64s(zero, below);
            let mut mass = lanes::select(simd, is_right, beyond, simd.sub_f64s(one, beyond));
            if TWO {
                let above = simd.mul_f64s(high, root);
                let [from_high, at_high, of_high] = end(simd, above);
                let is_left = simd.less_than_f64s(above, zero);
                mass = lanes::select(simd, is_left, simd.sub_f64s(from_high, beyond), simd.sub_f64s(mass, from_high));
                density = simd.sub_f64s(density, at_high);
                product = simd.sub_f64s(product, of_high);
            }
            let mass = simd.max_f64s(mass, simd.splat_f64s(f64::MIN_POSITIVE));
            let mean = simd.div_f64s(density, mass);
            // The share of the label's variance that the range takes is between 0 and 1.
            let taken = simd.sub_f64s(simd.mul_f64s(mean, mean), simd.div_f64s(product, mass));
            let taken = simd.max_f64s(simd.min_f64s(taken, one), zero);
            let (share, slope) = (simd.mul_f64s(*weight, mass), simd.mul_f64s(mean, root));
            let of_slope = simd.mul_f64s(share, slope);
            let precise = simd.mul_f64s(share, precision);
            let left = simd.mul_add_e_f64s(nu, simd.sub_f64s(one, taken), noise);
            sums[0] = simd.add_f64s(sums[0], share);
            sums[1] = simd.add_f64s(sums[1], of_slope);
            sums[2] = simd.mul_add_e_f64s(of_slope, slope, sums[2]);
            sums[3] = simd.mul_add_e_f64s(precise, taken, sums[3]);
            sums[4] = simd.mul_add_e_f64s(precise, left, sums[4]);
            let settled = all_spreads[k * S::F64_LANES] > self.settled;
            if settled && simd.reduce_sum_f64s(share) < FAINT * simd.reduce_sum_f64s(sums[0]) {
                break;
            }
        }
        sums.map(|sum| simd.reduce_sum_f64s(sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGES: [(f64, f64); 9] = [
        (0.4, f64::INFINITY),
        (-1.7, f64::INFINITY),
        (0.9, f64::NEG_INFINITY),
        (-4.0, f64::NEG_INFINITY),
        (-1.0, 2.5),
        (3.0, 1.0),
        (-3.0, 2.0),
        (20.0, 5.0),
        (0.2, 1e-3),
    ];

    #[test]
    fn a_probability_is_the_sum_of_densities() {
        for (k, tail) in TAILS.iter().enumerate() {
            for (r, reach) in RANGES.into_iter().filter(|(_, reach)| reach.is_finite()) {
                for (nu, scale) in [(0.3, 1.0), (4.0, 0.5), (0.0, 0.8)] {
                    // Simpson's rule.
                    let (n, step) = (2000, reach / 2000.0);
                    let weight = |i: i32| if i == 0 || i == n { 1.0 } else { f64::from(2 + 2 * (i % 2)) };
                    let density = |i: i32| tail.told(r + step * f64::from(i), nu, scale).log_density.exp();
                    let sum: f64 = (0..=n).map(|i| weight(i) * density(i)).sum::<f64>() * step.abs() / 3.0;
                    let found = told_of(k, (r, reach), nu, scale).log_density;
                    // The steps of the tails, and without variance their exact distribution.
                    assert!(
                        (found - sum.ln()).abs() < if nu > 0.0 { 1e-6 } else { 2e-5 },
                        "{} {r} {reach}: {found} {}",
                        tail.dof,
                        sum.ln()
                    );
                }
            }
        }
    }

    #[test]
    fn slopes_are_those_of_differences_and_a_mirror_turns_their_sign() {
        let h = 1e-3;
        for (k, tail) in TAILS.iter().enumerate() {
            for (r, reach) in RANGES {
                for (nu, scale) in [(0.3, 1.0), (4.0, 0.5), (1e-4, 1.0), (0.0, 0.8)] {
                    // A predictor that is higher by `a` is nearer to the range by `a`.
                    let at = |a: f64| told_of(k, (r - a, reach), nu, scale);
                    let Told { log_density, slope, bend, left } = at(0.0);
                    let (ahead, back) = (at(h).log_density, at(-h).log_density);
                    let size = 1.0 + slope.abs() + bend.abs();
                    assert!((slope - 0.5 * (ahead - back) / h).abs() < size * h, "{} {r} {reach} {nu}", tail.dof);
                    let second = (2.0 * log_density - ahead - back) / (h * h);
                    assert!((bend - second).abs() < 0.01 * size, "{} {r} {reach} {nu}: {bend} {second}", tail.dof);
                    assert!((left - (1.0 - nu * bend)).abs() < 1e-6 && left > 0.0, "{} {r} {reach} {nu}", tail.dof);
                    let mirrored = told_of(k, (-r, -reach), nu, scale);
                    assert!((mirrored.slope + slope).abs() < 1e-9 * size, "{} {r} {reach}", tail.dof);
                }
            }
        }
    }

    #[test]
    fn ways_of_computing_agree_where_one_ends() {
        for k in 0..TAILS.len() - 1 {
            // Beside where the Gaussian no longer shows, and far beyond where the parts end.
            let [near, far] = [0.999, 1.001].map(|share| told_of(k, (share * FAR.sqrt(), f64::INFINITY), 1.0, 1.0));
            // The tail is a power there.
            let fallen = DOF[k] * f64::ln(1.001 / 0.999);
            assert!((near.slope / far.slope - 1.0).abs() < 0.01, "{near:?} {far:?}");
            assert!((near.log_density - far.log_density - fallen).abs() < 0.01, "{near:?} {far:?}");
            let beyond = told_of(k, (-1e100, f64::NEG_INFINITY), 1.0, 1.0);
            assert!(beyond.slope < 0.0 && beyond.slope > -1e-98 && beyond.log_density.is_finite(), "{beyond:?}");
        }
        let gaussian = TAILS.len() - 1;
        // Probabilities of some 1e-190 and 1e-210: on both sides of where parts are summed by their logarithms.
        let [near, far] = [29.3, 30.9].map(|r| told_of(gaussian, (r, f64::INFINITY), 0.5, 0.5_f64.sqrt()));
        for (told, r) in [(near, 29.3), (far, 30.9)] {
            assert!((told.log_density - vi_core::special::log_normal_cdf(-r)).abs() < 1e-9, "{told:?}");
            assert!((told.slope - r - 1.0 / r).abs() < 1e-3, "{told:?}");
        }
        for (k, tail) in TAILS.iter().enumerate() {
            let [below, above] = [0.999, 1.001].map(|share| told_of(k, (0.7, share * NARROW), 0.2, 1.0));
            assert!((above.log_density - below.log_density - f64::ln(1.001 / 0.999)).abs() < 1e-5, "{}", tail.dof);
            assert!((above.bend - below.bend).abs() < 1e-3 && (above.left - below.left).abs() < 1e-3, "{}", tail.dof);
        }
    }
}
