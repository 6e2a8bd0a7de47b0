//! `E[log Φ(u)]` and its derivatives by the mean, `u ~ N(b, σ²)`, by a trapezoid rule in vectors.

use pulp::{Arch, Simd, WithSimd};
use vi_core::special::{HALF_LN_2PI, INV_SQRT_2PI, lanes};

/// The largest spacing in standard deviations: the error on a Gaussian times a polynomial is `e^(−2π²/s²)`, below 1e-34.
const SPACING: f64 = 0.5;
/// The largest spacing in units of `u`. The zeros of `Φ` next to the axis are `1.92 ± 2.82i`: the error is about
/// `e^(−2π·2.82/0.5)`, 4e-16.
const STEP: f64 = 0.5;
/// The Gaussian is cut off here, in standard deviations.
const REACH: f64 = 9.1;
/// The most points.
const MOST: usize = 640;
/// The least `σ`: below it derivatives of third and fourth order lose too many digits by cancellation.
const LEAST_SIGMA: f64 = 0.02;
/// The least mean: below it `λ(λ+u)` loses too many digits, `u²·ε`.
const LEAST_MEAN: f64 = -60.0;
/// The largest shift of the integrand's peak that is followed: up to it `φ` keeps its digits.
const LARGEST_SHIFT: f64 = 20.0;

/// The expectations of `log Φ`, `λ = φ/Φ`, `q = λ(λ+u)`, `q·ε`, `q·(ε²−1)`, `u = b + σε`, to 1e-11 of their integrals of absolute
/// values. Returns `None` if that is not assured or takes more than 640 points.
pub(super) fn averages(b: f64, sigma: f64) -> Option<[f64; 5]> {
    // Where λ falls as φ, the peak of its product with the Gaussian is at −b·σ/(1+σ²).
    let shift = (b * sigma / (1.0 + sigma * sigma)).max(0.0);
    if !(sigma >= LEAST_SIGMA && b - 3.0 * sigma >= LEAST_MEAN && shift <= LARGEST_SHIFT) {
        return None;
    }
    let spacing = SPACING.min(STEP / sigma);
    let mut memory = [0.0; MOST];
    let mut points = 0;
    for (k, node) in memory.iter_mut().enumerate() {
        *node = k as f64 * spacing - (REACH + shift);
        // Whole vectors on any processor.
        if *node >= REACH && k % 8 == 7 {
            points = k + 1;
            break;
        }
    }
    if points == 0 {
        return None;
    }
    let nodes = &memory[..points];
    let mut mills = [1.0; MOST];
    let mut sums = Arch::new().dispatch(Rule { nodes, mills: &mut mills[..points], b, sigma, spacing });
    for (node, mills) in nodes.iter().zip(&mills) {
        let u = b + sigma * node;
        if u <= 0.0 {
            // log Φ = log φ + log R
            let weight = spacing * INV_SQRT_2PI * (-0.5 * node * node).exp();
            sums[0] += weight * (mills.ln() - HALF_LN_2PI - 0.5 * u * u);
        }
    }
    Some(sums)
}

struct Rule<'a> {
    nodes: &'a [f64],
    /// Memory for Mills' ratio of `|u|`.
    mills: &'a mut [f64],
    b: f64,
    sigma: f64,
    spacing: f64,
}

impl WithSimd for Rule<'_> {
    type Output = [f64; 5];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> [f64; 5] {
        let (nodes, _) = S::as_simd_f64s(self.nodes);
        let (mills, _) = S::as_mut_simd_f64s(self.mills);
        let (zero, one, minus_half, least) =
            (simd.splat_f64s(0.0), simd.splat_f64s(1.0), simd.splat_f64s(-0.5), simd.splat_f64s(-708.0));
        let (b, sigma, density) = (simd.splat_f64s(self.b), simd.splat_f64s(self.sigma), simd.splat_f64s(INV_SQRT_2PI));
        let mut sums = [zero; 5];
        for (&x, mills) in nodes.iter().zip(mills) {
            let u = simd.mul_add_e_f64s(sigma, x, b);
            let v = simd.abs_f64s(u);
            let ratio = lanes::mills_ratio(simd, v);
            *mills = ratio;
            let of_x = simd.max_f64s(simd.mul_f64s(minus_half, simd.mul_f64s(x, x)), least);
            let of_u = simd.max_f64s(simd.mul_f64s(minus_half, simd.mul_f64s(v, v)), least);
            let weight = simd.mul_f64s(simd.splat_f64s(self.spacing * INV_SQRT_2PI), lanes::exp(simd, of_x));
            // u > 0: 1 − Φ = φ·R, λ = φ/Φ, log Φ = −log(1 + (1−Φ)/Φ); u ≤ 0: λ = 1/R.
            let phi = simd.mul_f64s(density, lanes::exp(simd, of_u));
            let positive = simd.greater_than_f64s(u, zero);
            let beyond = simd.mul_f64s(phi, ratio);
            let within = simd.sub_f64s(one, beyond);
            let lost = lanes::ln_1p(simd, simd.div_f64s(beyond, within));
            let lambda =
                simd.div_f64s(lanes::select(simd, positive, phi, one), lanes::select(simd, positive, within, ratio));
            let q = simd.mul_f64s(lambda, simd.add_f64s(lambda, u));
            let weighted = simd.mul_f64s(weight, q);
            let terms = [
                simd.neg_f64s(simd.mul_f64s(weight, lanes::select(simd, positive, lost, zero))),
                simd.mul_f64s(weight, lambda),
                weighted,
                simd.mul_f64s(weighted, x),
                simd.mul_f64s(weighted, simd.sub_f64s(simd.mul_f64s(x, x), one)),
            ];
            for (sum, term) in sums.iter_mut().zip(terms) {
                *sum = simd.add_f64s(*sum, term);
            }
        }
        let mut of_all = [0.0; 5];
        for (of_all, sum) in of_all.iter_mut().zip(sums) {
            *of_all = simd.reduce_sum_f64s(sum);
        }
        of_all
    }
}

#[cfg(test)]
mod tests {
    use vi_core::quadrature;

    use super::super::BernoulliProbit;
    use super::*;

    #[test]
    fn the_rule_agrees_with_adaptive_panels() {
        let mut taken = 0;
        for b in [-55.0, -20.0, -6.0, -1.5, 0.0, 0.4, 2.0, 4.0, 9.0, 25.0] {
            for sigma in [0.02, 0.1, 0.7, 1.3, 2.0, 5.0, 15.0] {
                let Some([value, slope, curvature, ..]) = averages(b, sigma) else { continue };
                taken += 1;
                let exact = quadrature::expected(&BernoulliProbit, 1.0, b, sigma * sigma).unwrap();
                for (ours, exact) in [(value, exact.value), (slope, exact.slope), (curvature, exact.curvature)] {
                    assert!((ours - exact).abs() <= 2e-11 * exact.abs(), "{b} {sigma}: {ours} {exact}");
                }
            }
        }
        assert!(taken >= 60, "{taken}");
    }

    #[test]
    fn higher_derivatives_are_those_of_the_slope() {
        for (b, sigma) in [(-3.0, 0.5), (0.3, 1.0), (1.0, 4.0)] {
            let slope = |b: f64| averages(b, sigma).unwrap()[1];
            let (step, at) = (1e-3, averages(b, sigma).unwrap());
            let second = (slope(b + step) - 2.0 * slope(b) + slope(b - step)) / (step * step);
            // Differences of second order, and 1e-11 over the square of the step.
            assert!((-at[3] / sigma - second).abs() < 2e-5, "{b} {sigma}: {} {second}", -at[3] / sigma);
        }
    }

    #[test]
    fn what_the_rule_does_not_know_it_leaves() {
        for (b, sigma) in [(0.0, 1e-3), (-80.0, 1.0), (0.0, 40.0), (500.0, 1.0), (f64::NAN, 1.0), (0.0, f64::NAN)] {
            assert!(averages(b, sigma).is_none(), "{b} {sigma}");
        }
    }
}
