//! The sum of a Gaussian and a Student-t number, for a few degrees of freedom.
//!
//! A Student-t is a Gaussian whose precision has a gamma factor. With `x` the logarithm of that factor,
//!
//! ```text
//! p(ε) = ∫ N(ε; 0, s²e⁻ˣ)·π_k(x) dx,   π_k(x) ∝ exp ½k(x − eˣ),
//! ```
//!
//! the integrand is smooth and equal steps `x_j` converge geometrically, with weights `ω_j` that depend on `k` alone. So
//! `y = t + s·ε`, `t ~ N(a, ν)`, is a mixture of Gaussians, and with `r = y − a`, `V_j = ν + s²e^(−x_j)`
//!
//! ```text
//! log p(y) = log Σ_j ω_j·N(r; 0, V_j),   ∂_a = r·E[1/V],   −∂_a² = E[1/V] − r²·Var[1/V],
//! ```
//!
//! with the expectations over the posterior weights of the parts, whatever the ratio of `ν` and `s²` is.

use std::sync::LazyLock;

use pulp::{Arch, Simd, WithSimd};
use vi_core::special::{HALF_LN_2PI, lanes};

use super::log_density;

/// The degrees of freedom; the last tail is a Gaussian's.
pub(crate) const DOF: [f64; 9] = [1.2, 1.6, 2.2, 3.0, 4.2, 6.5, 11.0, 25.0, f64::INFINITY];

/// The lowest `x`: a label at `√FAR` scales still has its own part, at `x = −34.5`, and what is below it, `e^(−½(k+1)·20)` of that.
const LOWEST: f64 = -55.0;

/// The log weight, in nats, below which a part at the upper end is left out, or one that tells nothing further.
const LEAST: f64 = -36.0;

/// The same as a factor.
const TELLS_NOTHING: f64 = 2.3e-16;

/// The share of the parts so far below which those that are left out of a density stay: far below the error of the steps.
const FAINT: f64 = 1e-10;

/// The ratio of `r²` to `ν + s²` below which no logarithms are needed: some part then has a density within floats.
const NEAR: f64 = 400.0;

/// The ratio of `r²` to `s²` beyond which the Gaussian no longer shows, if `r²` is as far beyond `ν` too.
pub(super) const FAR: f64 = 1e15;

/// The width of a range, over the scale of the noise, below which the density is that of its middle: its logarithm is off by some `(k+1)/24` of the square.
pub(super) const NARROW: f64 = 3e-3;

/// The tails for [`DOF`].
pub(crate) static TAILS: LazyLock<[Tail; DOF.len()]> = LazyLock::new(|| DOF.map(Tail::new));

/// The number of parts is a multiple of this, which is one of a vector's length; parts of no weight fill it up.
const LANES: usize = 8;

/// The parts of a Student-t, by falling `x`.
#[derive(Debug)]
pub(crate) struct Tail {
    pub(crate) dof: f64,
    /// The log density at 0 of a finite tail of unit scale.
    peak: f64,
    /// `log ω_j`, without padding.
    log_weights: Vec<f64>,
    /// `ω_j`.
    weights: Vec<f64>,
    /// `e^(−x_j)`.
    spreads: Vec<f64>,
    /// How many parts count in the distribution function, padding included.
    counted: usize,
}

/// What a label says of the Gaussian.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Told {
    /// `log p(y)`.
    pub(crate) log_density: f64,
    /// `∂_a log p(y)`.
    pub(crate) slope: f64,
    /// `−∂_a² log p(y)`.
    pub(crate) bend: f64,
    /// `1 − ν·bend`, the tilted variance as a share of `ν`.
    pub(crate) left: f64,
}

impl Tail {
    fn new(dof: f64) -> Self {
        if dof.is_infinite() {
            return Self::of_parts(dof, -HALF_LN_2PI, vec![0.0], vec![1.0]);
        }
        let log = |x: f64| 0.5 * dof * (x + 1.0 - x.exp());
        // The trapezoidal rule of a log-gamma density of shape α = ½(k+1) is off by 2|Γ(α + 2πi/h)|/Γ(α) < 5·10⁻⁶.
        let step = 1.2 / (0.5 * (dof + 1.0) + 2.9).sqrt();
        let mut highest = 0.0;
        while log(highest) > LEAST {
            highest += step;
        }
        let places = (0..).map(|j| highest - step * f64::from(j)).take_while(|x| *x > LOWEST);
        let total: f64 = places.clone().map(|x| log(x).exp()).sum();
        let log_weights = places.clone().map(|x| log(x) - total.ln()).collect();
        Self::of_parts(dof, log_density(0.0, dof), log_weights, places.map(|x| (-x).exp()).collect())
    }

    fn of_parts(dof: f64, peak: f64, log_weights: Vec<f64>, mut spreads: Vec<f64>) -> Self {
        let mut weights: Vec<f64> = log_weights.iter().map(|log| log.exp()).collect();
        let counts = |(weight, spread): (&f64, &f64)| *weight > TELLS_NOTHING || *spread < 1.0;
        let counted = weights.iter().zip(&spreads).take_while(|part| counts(*part)).count();
        let padded = weights.len().next_multiple_of(LANES);
        weights.resize(padded, 0.0);
        spreads.resize(padded, 1.0);
        Self { dof, peak, log_weights, weights, spreads, counted: counted.next_multiple_of(LANES) }
    }

    /// What `y = a + r` says of `t ~ N(a, ν)`. Cost some fifteen exponentials, more for a label far out.
    pub(crate) fn told(&self, r: f64, nu: f64, scale: f64) -> Told {
        let (own, square) = (scale * scale, r * r);
        let away = square / own;
        if self.dof.is_finite() && !(away < FAR || square < 100.0 * nu) {
            let most = self.dof + away;
            let slope = (self.dof + 1.0) * (r / own) / most;
            let bend = (self.dof + 1.0) * ((self.dof - away) / most) / (most * own);
            return Told {
                log_density: log_density(r / scale, self.dof) - scale.ln(),
                slope,
                bend,
                left: 1.0 - nu * bend,
            };
        }
        let near = square < NEAR * (nu + own);
        let (top, sums) = if near {
            (0.0, Arch::new().dispatch(Near { tail: self, nu, own, square, settled: 3.0 * (1.0 + away) }))
        } else {
            self.far(square, nu, own, |precision, noise| {
                [1.0, precision, precision * precision * square, noise * precision]
            })
        };
        let [total, precision, squares, noise] = [sums[0], sums[1] / sums[0], sums[2] / sums[0], sums[3] / sums[0]];
        let slope = r * precision;
        let between = (squares - slope * slope).max(0.0);
        Told {
            log_density: top + total.ln() - HALF_LN_2PI,
            slope,
            bend: precision - between,
            left: noise + nu * between,
        }
    }

    /// `log p(y)` as a function of `u = log s`: its value, slope and curvature `−∂²`. With the share `a_j = 1 − ν/V_j` of the noise and
    /// `q_j = r²/V_j`, a part has the slope `g = a(q−1)`, whose derivative is `g′ = 2a(1−a)(q−1) − 2a²q`; the whole has the curvature
    /// `−E[g′] − Var[g]`. Cost as [`told`](Self::told).
    pub(crate) fn by_log_scale(&self, r: f64, nu: f64, scale: f64) -> [f64; 3] {
        let (own, square) = (scale * scale, r * r);
        if self.dof.is_infinite() {
            let precision = (nu + own).recip();
            let (a, q) = (own * precision, square * precision);
            let slope = a * (q - 1.0);
            let log_density = 0.5 * (precision.ln() - q) - HALF_LN_2PI;
            return [log_density, slope, 2.0 * (a * a * q - slope * (1.0 - a))];
        }
        let away = square / own;
        if !(away < FAR || square < 100.0 * nu) {
            let most = self.dof + away;
            let (slope, bend) =
                ((self.dof + 1.0) * away / most - 1.0, 2.0 * (self.dof + 1.0) * self.dof * (away / most) / most);
            return [log_density(r / scale, self.dof) - scale.ln(), slope, bend];
        }
        let (top, [total, slopes, squares]) = if square < NEAR * (nu + own) {
            (0.0, Arch::new().dispatch(Bent(Near { tail: self, nu, own, square, settled: 3.0 * (1.0 + away) })))
        } else {
            self.far(square, nu, own, |precision, noise| {
                let (a, q) = (noise * precision, square * precision);
                let g = a * (q - 1.0);
                [1.0, g, g * g + 2.0 * (g * (1.0 - a) - a * a * q)]
            })
        };
        let slope = slopes / total;
        [top + total.ln() - HALF_LN_2PI, slope, slope * slope - squares / total]
    }

    /// The largest logarithm of a part's density, and the sums of `of(1/V_j, s²e^(−x_j))` relative to it, the first of which is 1.
    fn far<const N: usize>(
        &self,
        square: f64,
        nu: f64,
        own: f64,
        of: impl Fn(f64, f64) -> [f64; N],
    ) -> (f64, [f64; N]) {
        let (mut top, mut sums) = (f64::NEG_INFINITY, [0.0; N]);
        for (log_weight, spread) in self.log_weights.iter().zip(&self.spreads) {
            let noise = own * spread;
            let precision = (nu + noise).recip();
            let term = log_weight + 0.5 * (precision.ln() - square * precision);
            if term > top {
                let shrink = (top - term).exp();
                sums = sums.map(|sum| sum * shrink);
                top = term;
            }
            let share = (term - top).exp();
            sums.iter_mut().zip(of(precision, noise)).for_each(|(sum, of)| *sum += share * of);
            if share < sums[0] * FAINT && *spread > 3.0 * (1.0 + square / own) {
                break;
            }
        }
        (top, sums)
    }

    /// `log p` of the Student-t alone at a distance of the square `square`.
    pub(crate) fn log_density(&self, square: f64, scale: f64) -> f64 {
        let ratio = square / (scale * scale);
        let shape = if self.dof.is_finite() {
            self.peak - 0.5 * (self.dof + 1.0) * (ratio / self.dof).ln_1p()
        } else {
            -HALF_LN_2PI - 0.5 * ratio
        };
        shape - scale.ln()
    }

    /// `P(y ≤ a + r)`.
    pub(crate) fn cdf(&self, r: f64, nu: f64, scale: f64) -> f64 {
        self.cdf_and_density(r, nu, scale).0
    }

    /// [`cdf`](Self::cdf) and `p(a + r)`; far out, where nearly no mass is, the density of a Student-t may come out too small.
    pub(crate) fn cdf_and_density(&self, r: f64, nu: f64, scale: f64) -> (f64, f64) {
        Arch::new().dispatch(Below { tail: self, r, nu, own: scale * scale })
    }

    /// `log ω_j` and `e^(−x_j)` of each part.
    pub(super) fn parts(&self) -> impl Iterator<Item = (f64, f64)> {
        self.log_weights.iter().copied().zip(self.spreads.iter().copied())
    }

    /// `ω_j` and `e^(−x_j)`, as many as vectors hold.
    pub(super) fn lanes(&self) -> (&[f64], &[f64]) {
        (&self.weights, &self.spreads)
    }

    /// Weight and variance of each Gaussian whose mixture is `N(0, ν)` plus a number of this tail and scale; what is left out has no weight.
    pub(crate) fn gaussians(&self, nu: f64, scale: f64) -> impl Iterator<Item = (f64, f64)> {
        let parts = self.weights[..self.counted].iter().zip(&self.spreads);
        parts.map(move |(weight, spread)| (*weight, nu + scale * scale * spread))
    }

    /// The variance of `ε`; infinite for at most two degrees of freedom.
    pub(crate) fn variance(&self) -> f64 {
        match self.dof {
            dof if dof.is_infinite() => 1.0,
            dof if dof > 2.0 => dof / (dof - 2.0),
            _ => f64::INFINITY,
        }
    }
}

/// `Σ_j q_j` of the densities `q_j` of the parts without `√(2π)`, and of `q_j` times `1/V_j`, `r²/V_j²` and `s²e^(−x_j)/V_j`, up to parts that
/// tell nothing further, whose `e^(−x_j)` is above `settled`.
struct Near<'a> {
    tail: &'a Tail,
    nu: f64,
    own: f64,
    square: f64,
    settled: f64,
}

impl WithSimd for Near<'_> {
    type Output = [f64; 4];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> [f64; 4] {
        let (weights, spreads) = (S::as_simd_f64s(&self.tail.weights).0, S::as_simd_f64s(&self.tail.spreads).0);
        let (one, nu, own) = (simd.splat_f64s(1.0), simd.splat_f64s(self.nu), simd.splat_f64s(self.own));
        let (square, half) = (simd.splat_f64s(self.square), simd.splat_f64s(-0.5 * self.square));
        let mut sums = [simd.splat_f64s(0.0); 4];
        for (k, (weight, spread)) in weights.iter().zip(spreads).enumerate() {
            let noise = simd.mul_f64s(own, *spread);
            let precision = simd.div_f64s(one, simd.add_f64s(nu, noise));
            let density = simd.mul_f64s(lanes::exp(simd, simd.mul_f64s(half, precision)), simd.sqrt_f64s(precision));
            let share = simd.mul_f64s(*weight, density);
            let precise = simd.mul_f64s(share, precision);
            sums[0] = simd.add_f64s(sums[0], share);
            sums[1] = simd.add_f64s(sums[1], precise);
            sums[2] = simd.mul_add_e_f64s(simd.mul_f64s(precise, precision), square, sums[2]);
            sums[3] = simd.mul_add_e_f64s(precise, noise, sums[3]);
            let settled = self.tail.spreads[k * S::F64_LANES] > self.settled;
            if settled && simd.reduce_sum_f64s(share) < FAINT * simd.reduce_sum_f64s(sums[0]) {
                break;
            }
        }
        let mut all = [0.0; 4];
        for (all, sum) in all.iter_mut().zip(sums) {
            *all = simd.reduce_sum_f64s(sum);
        }
        all
    }
}

/// `Σ_j q_j`, and the sums of `q_j` times the slope and the slope's square with its bend, of [`Tail::by_log_scale`].
struct Bent<'a>(Near<'a>);

impl WithSimd for Bent<'_> {
    type Output = [f64; 3];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> [f64; 3] {
        let Near { tail, nu, own, square, settled } = self.0;
        let (weights, spreads) = (S::as_simd_f64s(&tail.weights).0, S::as_simd_f64s(&tail.spreads).0);
        let (one, nu, own) = (simd.splat_f64s(1.0), simd.splat_f64s(nu), simd.splat_f64s(own));
        let (square, half) = (simd.splat_f64s(square), simd.splat_f64s(-0.5 * square));
        let (two, mut sums) = (simd.splat_f64s(2.0), [simd.splat_f64s(0.0); 3]);
        for (k, (weight, spread)) in weights.iter().zip(spreads).enumerate() {
            let noise = simd.mul_f64s(own, *spread);
            let precision = simd.div_f64s(one, simd.add_f64s(nu, noise));
            let density = simd.mul_f64s(lanes::exp(simd, simd.mul_f64s(half, precision)), simd.sqrt_f64s(precision));
            let share = simd.mul_f64s(*weight, density);
            let (a, q) = (simd.mul_f64s(noise, precision), simd.mul_f64s(square, precision));
            let g = simd.mul_f64s(a, simd.sub_f64s(q, one));
            let bent = simd.sub_f64s(simd.mul_f64s(g, simd.sub_f64s(one, a)), simd.mul_f64s(simd.mul_f64s(a, a), q));
            let of = simd.mul_add_e_f64s(g, g, simd.mul_f64s(two, bent));
            sums[0] = simd.add_f64s(sums[0], share);
            sums[1] = simd.mul_add_e_f64s(share, g, sums[1]);
            sums[2] = simd.mul_add_e_f64s(share, of, sums[2]);
            let settled = tail.spreads[k * S::F64_LANES] > settled;
            if settled && simd.reduce_sum_f64s(share) < FAINT * simd.reduce_sum_f64s(sums[0]) {
                break;
            }
        }
        sums.map(|sum| simd.reduce_sum_f64s(sum))
    }
}

/// `Σ_j ω_j·Φ(r/√V_j)` and `Σ_j ω_j·φ(r/√V_j)/√V_j`.
struct Below<'a> {
    tail: &'a Tail,
    r: f64,
    nu: f64,
    own: f64,
}

impl WithSimd for Below<'_> {
    type Output = (f64, f64);

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> (f64, f64) {
        let Self { tail, r, nu, own } = self;
        let weights = S::as_simd_f64s(&tail.weights[..tail.counted]).0;
        let spreads = S::as_simd_f64s(&tail.spreads[..tail.counted]).0;
        let (one, nu, own) = (simd.splat_f64s(1.0), simd.splat_f64s(nu), simd.splat_f64s(own));
        let (away, half) = (simd.splat_f64s(r.abs()), simd.splat_f64s(-0.5 * r * r));
        let [mut total, mut beyond, mut here] = [simd.splat_f64s(0.0); 3];
        for (weight, spread) in weights.iter().zip(spreads) {
            let precision = simd.div_f64s(one, simd.mul_add_e_f64s(own, *spread, nu));
            let root = simd.sqrt_f64s(precision);
            let ratio = lanes::mills_ratio(simd, simd.mul_f64s(away, root));
            let density = simd.mul_f64s(*weight, lanes::exp(simd, simd.mul_f64s(half, precision)));
            total = simd.add_f64s(total, *weight);
            beyond = simd.mul_add_e_f64s(density, ratio, beyond);
            here = simd.mul_add_e_f64s(density, root, here);
        }
        let [total, beyond, here] = [total, beyond, here].map(|sum| simd.reduce_sum_f64s(sum));
        let beyond = (-HALF_LN_2PI).exp() * beyond;
        (if r > 0.0 { total - beyond } else { beyond }, (-HALF_LN_2PI).exp() * here)
    }
}

#[cfg(test)]
mod tests {
    use vi_core::{GaussianExpectation, GaussianLikelihood, quadrature};

    use super::*;
    use crate::Student;
    use crate::likelihood::StudentT;

    #[test]
    fn parts_add_up_to_the_student() {
        for tail in TAILS.iter().filter(|tail| tail.dof.is_finite()) {
            let student = Student::new(0.0, 0.5, tail.dof).unwrap();
            for r in [0.0, 0.1, 1.0, -5.0, 40.0, 1e4, 1e7, 1e12] {
                let told = tail.told(r, 0.0, 0.5);
                // The rule's own error, at most 5·10⁻⁶ for each of the row and the weights; some 2π/h times that for each derivative, in units of 1/s = 2.
                assert!((told.log_density - student.log_density(r)).abs() < 1e-5, "{} {r}: {told:?}", tail.dof);
                let noise = StudentT::new(tail.dof, 0.5).unwrap();
                let (slope, bend) =
                    (vi_core::Likelihood::slope(&noise, r, 0.0), vi_core::Likelihood::curvature(&noise, r, 0.0));
                assert!((told.slope - slope).abs() < 5e-5 * (1.0 + slope.abs()), "{} {r}", tail.dof);
                assert!((told.bend - bend).abs() < 1e-4 * (4.0 + bend.abs()), "{} {r}: {} {bend}", tail.dof, told.bend);
                if r.abs() < 1e4 {
                    assert!((tail.cdf(r, 0.0, 0.5) - student.cdf(r)).abs() < 5e-6, "{} {r}", tail.dof);
                }
            }
        }
    }

    #[test]
    fn slopes_by_the_log_scale_are_those_of_differences() {
        let h = 1e-4;
        for tail in TAILS.iter() {
            for (r, nu, scale) in [
                (0.3, 1.0, 1.0),
                (4.0, 0.2, 1.0),
                (-9.0, 2.0, 0.5),
                (2.0, 25.0, 0.1),
                (90.0, 4.0, 1.0),
                (1e9, 0.0, 1.0),
            ] {
                let at = |u: f64| tail.told(r, nu, scale * u.exp()).log_density;
                let [log_density, slope, bend] = tail.by_log_scale(r, nu, scale);
                assert!(
                    (log_density - at(0.0)).abs() <= 4.0 * f64::EPSILON * (1.0 + log_density.abs()),
                    "{}",
                    tail.dof
                );
                // Differences are off by h² of a higher derivative, and by rounding of the density over h or h².
                let rounding = f64::EPSILON * (1.0 + log_density.abs());
                let (ahead, back) = (at(h), at(-h));
                let most = 1.0 + slope.abs() + bend.abs();
                assert!(
                    (slope - 0.5 * (ahead - back) / h).abs() < most * h * h + 4.0 * rounding / h,
                    "{} {r} {nu}",
                    tail.dof
                );
                let second = (2.0 * log_density - ahead - back) / (h * h);
                assert!(
                    (bend - second).abs() < 10.0 * most * h * h + 8.0 * rounding / (h * h),
                    "{} {r}: {bend} {second}",
                    tail.dof
                );
            }
        }
    }

    #[test]
    fn sums_with_a_gaussian_are_those_of_quadrature() {
        for tail in TAILS.iter() {
            for (r, nu, scale) in
                [(0.3, 1.0, 1.0), (4.0, 0.2, 1.0), (-9.0, 2.0, 0.5), (2.0, 25.0, 0.1), (30.0, 4.0, 1.0)]
            {
                let told = tail.told(r, nu, scale);
                let expected = if tail.dof.is_finite() {
                    quadrature::tilted(&StudentT::new(tail.dof, scale).unwrap(), r, 0.0, nu).unwrap()
                } else {
                    GaussianLikelihood::new(scale * scale).unwrap().tilted(r, 0.0, nu).unwrap()
                };
                let found = [told.log_density, told.slope, told.bend / told.left, nu * told.left];
                let wanted = [expected.log_normaliser, expected.slope, expected.curvature, expected.variance];
                for (found, wanted) in found.into_iter().zip(wanted) {
                    // As above, through two derivatives.
                    assert!(
                        (found - wanted).abs() < 1e-4 * (1.0 + wanted.abs()),
                        "{} {r} {nu}: {found} {wanted}",
                        tail.dof
                    );
                }
            }
        }
    }
}
