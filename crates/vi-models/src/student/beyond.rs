//! The probability of a range of a Student-t number as a function of its scale, for a few degrees of freedom.
//!
//! With `u = log s`, `z = e·e⁻ᵘ` for each end `e` of a range, the density `p` and the tail `S` of unit scale,
//!
//! ```text
//! P = S(z₀) − S(z₁),   ∂_u P = z₀p(z₀) − z₁p(z₁),   ∂_u z·p(z) = −z·p(z)·(1 − q),   q = (k+1)z²/(k+z²).
//! ```
//!
//! `log S` is interpolated between equal steps of `asinh z`, with its slopes.

use std::sync::LazyLock;

use vi_core::special::log_normal_cdf;

use super::between;
use super::blurred::{DOF, NARROW, TAILS, Tail, Told};
use super::tail::upper_tail;

/// The step of `asinh z`: the error is some `h⁴/384` of a fourth derivative, about 1e-8.
const STEP: f64 = 0.03;

/// The last step; a tail beyond is a power.
const LAST: u32 = 667;

/// The upper tails of [`TAILS`].
pub(crate) static BEYOND: LazyLock<[Beyond; DOF.len()]> =
    LazyLock::new(|| std::array::from_fn(|k| Beyond::new(&TAILS[k])));

/// `log S(z)` of the standard Student-t.
#[derive(Debug)]
pub(crate) struct Beyond {
    tail: &'static Tail,
    /// `log S`, and its slope by `asinh z`.
    knots: Vec<[f64; 2]>,
}

impl Beyond {
    fn new(tail: &'static Tail) -> Self {
        let knot = |i: u32| {
            let x = STEP * f64::from(i);
            let z = x.sinh();
            let log = upper_tail(z, tail.dof).ln();
            [log, -x.cosh() * (tail.log_density(z * z, 1.0) - log).exp()]
        };
        let last = if tail.dof.is_finite() { LAST } else { 0 };
        Self { tail, knots: (0..=last).map(knot).collect() }
    }

    /// `log S(z)` for `z ≥ 0`.
    fn log_tail(&self, z: f64) -> f64 {
        if self.tail.dof.is_infinite() {
            return log_normal_cdf(-z);
        }
        let place = z.asinh() / STEP;
        let last = self.knots.len() - 1;
        if place >= last as f64 {
            // Far out `S` is a power of `z`.
            return self.knots[last][0] - self.tail.dof * STEP * (place - last as f64);
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "not negative, and below the number of knots"
        )]
        let i = place as usize;
        let ([low, from], [high, to], t) = (self.knots[i], self.knots[i + 1], place - i as f64);
        let (rise, from, to) = (high - low, STEP * from, STEP * to);
        low + t * (from + t * ((3.0 * rise - 2.0 * from - to) + t * (from + to - 2.0 * rise)))
    }

    /// The ends of a range in units of the scale, seen in a mirror where its middle is below 0, whether it was, and `log P`.
    fn ends(&self, range: (f64, f64), scale: f64) -> ([f64; 2], bool, f64) {
        let (low, high) = between::ends(range);
        // The larger end keeps its digits.
        let is_mirrored = low + high < 0.0;
        let (low, high) = if is_mirrored { (-high / scale, -low / scale) } else { (low / scale, high / scale) };
        let beyond = if high.is_finite() { self.log_tail(high) } else { f64::NEG_INFINITY };
        let log_mass = if low < 0.0 {
            (-self.log_tail(-low).exp() - beyond.exp()).ln_1p()
        } else {
            let from = self.log_tail(low);
            from + (-(beyond - from).exp()).ln_1p()
        };
        ([low, high], is_mirrored, log_mass)
    }

    /// The log probability of a label between `t + r` and `t + r + reach`, with its slopes by the known predictor `t`. With `h = (k+1)/(k+z²)`
    ///
    /// ```text
    /// ∂_t P = (p(z₀) − p(z₁))/s,   ∂_t² P = (z₀h₀p(z₀) − z₁h₁p(z₁))/s².
    /// ```
    pub(super) fn told(&self, range: (f64, f64), scale: f64) -> Told {
        let ([low, high], is_mirrored, log_density) = self.ends(range, scale);
        let dof = self.tail.dof;
        let of_end = |z: f64| {
            if !z.is_finite() {
                return [0.0; 2];
            }
            let density = (self.tail.log_density(z * z, 1.0) - log_density).exp() / scale;
            let h = if dof.is_finite() { (dof + 1.0) / (dof + z * z) } else { 1.0 };
            [density, z * h * density / scale]
        };
        let ([from, bent_from], [to, bent_to]) = (of_end(low), of_end(high));
        let slope = from - to;
        let bend = slope * slope - (bent_from - bent_to);
        Told { log_density, slope: if is_mirrored { -slope } else { slope }, bend, left: 1.0 }
    }

    /// `log P` of an error between `r` and `r + reach`, as a function of `u = log s`: its value, slope and curvature `−∂²`.
    pub(crate) fn by_log_scale(&self, (r, reach): (f64, f64), scale: f64) -> [f64; 3] {
        let dof = self.tail.dof;
        // `q`, and its slope by `log z²`.
        let q = |square: f64| {
            if dof.is_finite() { ((dof + 1.0) * square / (dof + square), dof / (dof + square)) } else { (square, 1.0) }
        };
        if reach.abs() < NARROW * scale {
            let square = ((r + 0.5 * reach) / scale).powi(2);
            let (q, rest) = q(square);
            return [self.tail.log_density(square, 1.0) + (reach.abs() / scale).ln(), q - 1.0, 2.0 * q * rest];
        }
        let ([low, high], _, log_mass) = self.ends((r, reach), scale);
        let of_end =
            |z: f64| if z.is_finite() { z * (self.tail.log_density(z * z, 1.0) - log_mass).exp() } else { 0.0 };
        let (from, to) = (of_end(low), of_end(high));
        let bent = |z: f64, product: f64| if product == 0.0 { 0.0 } else { product * (1.0 - q(z * z).0) };
        let slope = from - to;
        [log_mass, slope, slope * slope + bent(low, from) - bent(high, to)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Student;

    const RANGES: [(f64, f64); 8] = [
        (0.3, f64::INFINITY),
        (-2.0, f64::INFINITY),
        (-0.7, f64::NEG_INFINITY),
        (4.0, 3.0),
        (-1.0, 2.5),
        (-30.0, 10.0),
        (1e5, f64::INFINITY),
        (0.4, 1e-3),
    ];

    #[test]
    fn probabilities_are_those_of_the_distribution() {
        for (beyond, dof) in BEYOND.iter().zip(DOF).filter(|(_, dof)| dof.is_finite()) {
            let student = Student::new(0.0, 0.7, dof).unwrap();
            for (r, reach) in RANGES {
                let (low, high) = between::ends((r, reach));
                let (low, high) = if low > 0.0 { (-high, -low) } else { (low, high) };
                let cdf = |t: f64| if t.is_finite() { student.cdf(t) } else { f64::from(t > 0.0) };
                let exact = (cdf(high) - cdf(low)).ln();
                let [found, _, _] = beyond.by_log_scale((r, reach), 0.7);
                // The interpolation, and a difference that leaves 1e-3 of its terms.
                assert!((found - exact).abs() < 2e-6, "{dof} {r} {reach}: {found} {exact}");
            }
        }
        // Beyond all knots.
        let far = (BEYOND[3].by_log_scale((1e12, f64::INFINITY), 1.0)[0], upper_tail(1e12, DOF[3]).ln());
        assert!((far.0 - far.1).abs() < 1e-6, "{far:?}");
    }

    #[test]
    fn slopes_are_those_of_differences() {
        let h = 1e-3;
        for beyond in BEYOND.iter() {
            for (r, reach) in RANGES {
                let at = |u: f64| beyond.by_log_scale((r, reach), (0.7_f64.ln() + u).exp());
                let [[below, ..], [own, slope, bend], [above, ..]] = [-h, 0.0, h].map(at);
                if !own.is_finite() || own < -1e6 {
                    continue;
                }
                let size = 1.0 + slope.abs() + bend.abs();
                // A third derivative, and the kinks of the interpolation, 1e-8 over h and h².
                assert!((slope - 0.5 * (above - below) / h).abs() < size * h, "{r} {reach}");
                assert!((bend - (2.0 * own - above - below) / (h * h)).abs() < 0.03 * size, "{r} {reach}: {bend}");
            }
        }
    }
}
