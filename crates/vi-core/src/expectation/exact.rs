//! Expectations of the logistic function to machine precision: quadrature in the middle, closed forms in the tails.

use super::{LogisticExpectation, LogisticMoments};
use crate::special::{
    HALF_LN_2PI, log_normal_cdf, log_sigmoid, log_sum_exp, mills_ratio, normal_cdf, normal_density, sigmoid,
    sigmoid_derivative, softplus,
};

/// Expectations by panels of 16-point Gauss-Legendre on `|t| ≤ 40`, beyond which
/// `softplus(t)` is `t` or `e^t` to 4e-18 and integrates in closed form.
///
/// Relative error about 1e-14, in the tails too. 80 to 320 evaluations of the integrand: for
/// reference values, stored optima and logarithms of small probabilities.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Exact;

/// Beyond this `|t|` the logistic function equals its asymptote to 4e-18.
const EDGE: f64 = 40.0;
/// Standard deviations beyond which the Gaussian is dropped (2e-21 of its mass).
const REACH: f64 = 9.5;

/// Positive half of the 16-point Gauss-Legendre rule: nodes and weights.
const GAUSS_LEGENDRE: [(f64, f64); 8] = [
    (0.09501250983763744, 0.1894506104550685),
    (0.2816035507792589, 0.18260341504492358),
    (0.45801677765722737, 0.16915651939500254),
    (0.6178762444026438, 0.14959598881657674),
    (0.755404408355003, 0.12462897125553388),
    (0.8656312023878318, 0.09515851168249285),
    (0.9445750230732326, 0.06225352393864789),
    (0.9894009349916499, 0.027152459411754096),
];

/// The part of the line on which the quadrature runs, within `|t| ≤ 40` and the Gaussian's reach.
#[derive(Debug, Clone, Copy)]
struct Region {
    a: f64,
    sigma: f64,
    low: f64,
    high: f64,
}

/// A node: the predictor `t`, its standardised distance `x = (t−a)/σ`, and its share `dx` of the line.
struct Node {
    t: f64,
    x: f64,
    measure: f64,
}

impl Node {
    /// The weight of this node in `∫ f(t) φ(x) dx`.
    fn weight(&self) -> f64 {
        self.measure * normal_density(self.x)
    }
}

impl Region {
    /// In units of `t` where the Gaussian is wider than the logistic, else of `x`: so the narrower of the two keeps its digits.
    fn new(a: f64, sigma: f64) -> Self {
        // e^(±t) tilts the Gaussian by ±σ²: its mass then sits σ standard deviations away.
        let reach = REACH + sigma;
        let (low, high) = if sigma > 1.0 {
            ((a - reach * sigma).max(-EDGE), (a + reach * sigma).min(EDGE))
        } else {
            ((-reach).max((-EDGE - a) / sigma), reach.min((EDGE - a) / sigma))
        };
        Self { a, sigma, low, high }
    }

    fn node(&self, u: f64) -> Node {
        let (t, x, measure) = if self.sigma > 1.0 {
            (u, (u - self.a) / self.sigma, 1.0 / self.sigma)
        } else {
            (self.a + self.sigma * u, u, 1.0)
        };
        Node { t, x, measure }
    }

    /// Visits the nodes of 16-point panels of width 4: both the logistic's poles at ±iπ and the Gaussian allow it.
    fn for_each(&self, mut visit: impl FnMut(Node)) {
        if self.low >= self.high {
            return;
        }
        let panels = ((self.high - self.low) / 4.0).ceil().max(1.0);
        let half = 0.5 * (self.high - self.low) / panels;
        let mut k = 0.0;
        while k < panels {
            let centre = self.low + (2.0 * k + 1.0) * half;
            for (position, weight) in GAUSS_LEGENDRE {
                for u in [centre - half * position, centre + half * position] {
                    let node = self.node(u);
                    visit(Node { measure: node.measure * half * weight, ..node });
                }
            }
            k += 1.0;
        }
    }

    /// `[f(t, x)·φ(x)]` from the region's lower end to its upper.
    fn boundary(&self, f: impl Fn(f64, f64) -> f64) -> f64 {
        if self.low >= self.high {
            return 0.0;
        }
        let at = |u: f64| {
            let Node { t, x, .. } = self.node(u);
            f(t, x) * normal_density(x)
        };
        at(self.high) - at(self.low)
    }
}

/// `log ∫_{t<−40} e^t N(t|a,σ²) dt`; with `−a` it is the tail of `e^(−t)` above 40.
fn log_exponential_tail(a: f64, sigma: f64) -> f64 {
    let u = (-EDGE - a) / sigma;
    if u < sigma {
        // e^(a+σ²/2)·Φ(u−σ), with the squares cancelled analytically.
        -EDGE - 0.5 * u * u - HALF_LN_2PI + mills_ratio(sigma - u).ln()
    } else {
        a + 0.5 * sigma * sigma + log_normal_cdf(u - sigma)
    }
}

impl LogisticExpectation for Exact {
    fn softplus(&self, a: f64, nu: f64) -> f64 {
        if nu == 0.0 {
            return softplus(a);
        }
        let sigma = nu.sqrt();
        let edge = (a - EDGE) / sigma;
        let mut sum = log_exponential_tail(a, sigma).exp() + a * normal_cdf(edge) + sigma * normal_density(edge);
        Region::new(a, sigma).for_each(|node| sum += node.weight() * softplus(node.t));
        sum
    }

    fn absolute_error(&self) -> Option<f64> {
        Some(1e-14)
    }

    fn sigmoid(&self, a: f64, nu: f64) -> (f64, f64) {
        let LogisticMoments { sigmoid, first, .. } = self.moments(a, nu);
        (sigmoid, first)
    }

    fn moments(&self, a: f64, nu: f64) -> LogisticMoments {
        let sigma = nu.sqrt();
        let softplus = self.softplus(a, nu);
        if nu == 0.0 {
            let first = sigmoid_derivative(a);
            let skew = sigmoid(-a) - sigmoid(a);
            let third = first * (skew * skew - 2.0 * first);
            return LogisticMoments { softplus, sigmoid: sigmoid(a), first, second: first * skew, third };
        }
        let region = Region::new(a, sigma);
        let left = log_exponential_tail(a, sigma).exp();
        let right = log_exponential_tail(-a, sigma).exp();
        let sigmoid_tails = left + normal_cdf((a - EDGE) / sigma);
        let mut sum = LogisticMoments { softplus, sigmoid: sigmoid_tails, first: 0.0, second: 0.0, third: 0.0 };
        if sigma > 1.0 {
            // Integrated by parts onto the Gaussian, since sums of s″ and s‴ would cancel to 1/σ² and 1/σ⁴ of their size.
            region.for_each(|node| {
                let Node { t, x, .. } = node;
                let first = node.weight() * sigmoid_derivative(t);
                sum.sigmoid += node.weight() * sigmoid(t);
                sum.first += first;
                sum.second += first * x / sigma;
                sum.third += first * (x * x - 1.0) / (sigma * sigma);
            });
            // Tails this small are rounding errors, which cancelling them against the region's ends would enlarge.
            if left + right > f64::EPSILON * sum.first {
                let first = |t: f64, _: f64| sigmoid_derivative(t);
                let second = |t: f64, _: f64| sigmoid_derivative(t) * (sigmoid(-t) - sigmoid(t));
                sum.second += region.boundary(first) / sigma + left - right;
                sum.third += region.boundary(second) / sigma
                    + region.boundary(|t, x| sigmoid_derivative(t) * x) / (sigma * sigma)
                    + left
                    + right;
            }
        } else {
            region.for_each(|node| {
                let t = node.t;
                let first = node.weight() * sigmoid_derivative(t);
                let skew = sigmoid(-t) - sigmoid(t);
                sum.sigmoid += node.weight() * sigmoid(t);
                sum.first += first;
                sum.second += first * skew;
                sum.third += first * (skew * skew - 2.0 * sigmoid_derivative(t));
            });
            sum.second += left - right;
            sum.third += left + right;
        }
        sum.first += left + right;
        sum
    }

    fn log_sigmoid_mean(&self, a: f64, nu: f64) -> f64 {
        if nu == 0.0 {
            return log_sigmoid(a);
        }
        let (mean, _) = self.sigmoid(a, nu);
        if mean > 1e-280 {
            return mean.ln();
        }
        // Over the same nodes and tails.
        let sigma = nu.sqrt();
        let mut logs = vec![log_exponential_tail(a, sigma), log_normal_cdf((a - EDGE) / sigma)];
        let region = Region::new(a, sigma);
        region.for_each(|Node { t, x, measure }| {
            logs.push(measure.ln() - 0.5 * x * x - HALF_LN_2PI + log_sigmoid(t));
        });
        log_sum_exp(logs.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expectation::{Mixture8, Mixture8Lanes, ProbitApproximation};
    use crate::special::INV_SQRT_2PI;

    const CASES: [(f64, f64); 14] = [
        (0.0, 1e-12),
        (0.3, 0.01),
        (-2.0, 0.5),
        (5.0, 1.0),
        (-5.0, 9.0),
        (1.0, 100.0),
        (-30.0, 4.0),
        (30.0, 900.0),
        (-100.0, 1.0),
        (100.0, 1e4),
        (-1e3, 1e3),
        (1e3, 1e8),
        (-1e4, 1e-8),
        (0.5, 1e8),
    ];

    /// Trapezoid sums on a fine grid: spectrally accurate for these integrands.
    fn trapezoid(a: f64, nu: f64, f: impl Fn(f64) -> f64) -> f64 {
        let sigma = nu.sqrt();
        let step = (0.02_f64 / sigma).min(0.02);
        let n = (11.0 / step).round();
        let mut sum = 0.0;
        let mut i = -n;
        while i <= n {
            let x = i * step;
            sum += step * INV_SQRT_2PI * (-0.5 * x * x).exp() * f(a + sigma * x);
            i += 1.0;
        }
        sum
    }

    #[test]
    fn exact_agrees_with_a_fine_trapezoid_rule() {
        for (a, nu) in CASES.into_iter().filter(|c| c.1 <= 1e4 && c.0.abs() <= 100.0) {
            // The trapezoid sum's own rounding: about ε per unit of the integrand's size.
            let tolerance = |size: f64| 1e-13 * size + 1e-15;
            let value = trapezoid(a, nu, softplus);
            assert!((Exact.softplus(a, nu) - value).abs() < tolerance(value), "softplus at {a}, {nu}");
            let m = Exact.moments(a, nu);
            assert!((m.sigmoid - trapezoid(a, nu, sigmoid)).abs() < tolerance(1.0), "sigmoid at {a}, {nu}");
            assert!((m.first - trapezoid(a, nu, sigmoid_derivative)).abs() < tolerance(1.0), "first at {a}, {nu}");
        }
    }

    #[test]
    fn a_wide_gaussian_sees_a_step() {
        // For σ ≫ 1: E s → Φ(a/σ), E s′ → φ(a/σ)/σ, E s″ → −(a/σ³)·φ, E s‴ → (a²/σ²−1)/σ³·φ, each to π²/(6σ²) relative or so.
        for sigma in [1e4, 1e6, 1e9, 1e17, 1e100] {
            for u in [0.0_f64, 0.3, -1.5] {
                let m = Exact.moments(u * sigma, sigma * sigma);
                let (phi, tolerance) = (normal_density(u), 10.0 / (sigma * sigma) + 1e-13);
                assert!((m.sigmoid - normal_cdf(u)).abs() < tolerance, "{sigma}, {u}");
                assert!((m.first * sigma / phi - 1.0).abs() < tolerance, "{sigma}, {u}");
                assert!((m.second * sigma.powi(2) / phi + u).abs() < 10.0 * tolerance, "{sigma}, {u}");
                assert!(
                    (m.third * sigma.powi(3) / phi - (u * u - 1.0)).abs() < 10.0 * tolerance,
                    "{sigma}, {u}: {m:?}"
                );
                let log = Exact.log_sigmoid_mean(u * sigma, sigma * sigma);
                assert!((log - normal_cdf(u).ln()).abs() < tolerance, "{sigma}, {u}: {log}");
            }
        }
    }

    #[test]
    fn the_two_forms_meet_at_unit_width() {
        for a in [0.0, -3.0, 20.0, -45.0] {
            let (below, above) = (Exact.moments(a, 1.0 - 1e-12), Exact.moments(a, 1.0 + 1e-12));
            // Moments move by at most half their next derivative but one over a step of 2e-12; rounding of the parts, ε·10.
            for (x, y) in [
                (below.sigmoid, above.sigmoid),
                (below.first, above.first),
                (below.second, above.second),
                (below.third, above.third),
            ] {
                assert!((x - y).abs() < 3e-12 * (x.abs() + below.first), "{a}: {x} against {y}");
            }
        }
    }

    #[test]
    fn extremes_end_and_stay_finite() {
        for (a, nu) in [(-4e17, 1e34), (4e17, 1e34), (1e300, 5e-324), (-1e300, 5e-324), (0.0, 1e300), (-1e150, 1e300)] {
            let m = Exact.moments(a, nu);
            assert!(m.sigmoid.is_finite() && (0.0..=1.0 + 1e-14).contains(&m.sigmoid), "{a}, {nu}: {m:?}");
            assert!(m.first.is_finite() && m.second.is_finite() && m.third.is_finite(), "{a}, {nu}: {m:?}");
            assert!(!Exact.log_sigmoid_mean(a, nu).is_nan() && !Mixture8.log_sigmoid_mean(a, nu).is_nan());
        }
    }

    #[test]
    fn mixture_stays_within_its_stated_errors() {
        for (a, nu) in CASES {
            // In the far tails E softplus is of size |a| or σ, and so is its rounding.
            let rounding = 8.0 * f64::EPSILON * (a.abs() + nu.sqrt());
            assert!((Mixture8.softplus(a, nu) - Exact.softplus(a, nu)).abs() < 8.1e-9 + rounding, "{a}, {nu}");
            let (m, e) = (Mixture8.moments(a, nu), Exact.moments(a, nu));
            assert!((m.sigmoid - e.sigmoid).abs() < 2.1e-9, "{a}, {nu}");
            assert!((m.first - e.first).abs() < 2.1e-8, "{a}, {nu}");
            assert!((ProbitApproximation.sigmoid(a, nu).0 - e.sigmoid).abs() < 0.02, "{a}, {nu}");
        }
    }

    struct Lanes<'a>(&'a [f64], f64);

    impl pulp::WithSimd for Lanes<'_> {
        type Output = Vec<[f64; 4]>;

        #[inline(always)]
        fn with_simd<S: pulp::Simd>(self, simd: S) -> Self::Output {
            let (given, mut all) = (Mixture8Lanes::new(self.1), Vec::new());
            for a in self.0 {
                let seen = given.at(simd, simd.splat_f64s(*a));
                let lanes = (S::F64_LANES as f64).recip();
                let mut at = [0.0; 4];
                for (at, value) in at.iter_mut().zip([seen.spread, seen.sigmoid, seen.complement, seen.first]) {
                    *at = lanes * simd.reduce_sum_f64s(value);
                }
                all.push(at);
            }
            all
        }
    }

    #[test]
    fn lanes_of_means_agree_with_one_mean_at_a_time() {
        let means = [-1e300, -900.0, -30.0, -2.5, -1e-9, 0.0, 0.3, 7.0, 120.0, 1e200];
        for nu in [0.0, 1e-8, 0.4, 9.0, 1e4, 1e300] {
            for (a, found) in means.iter().zip(pulp::Arch::new().dispatch(Lanes(&means, nu))) {
                let (up, down) = (Mixture8.moments(*a, nu), Mixture8.moments(-a, nu));
                // Sums of eight terms in another order; the spread is what the value has beyond the mean's part.
                let rounding = |size: f64| 16.0 * f64::EPSILON * size;
                let spread = if *a < 0.0 { up.softplus - a * up.sigmoid } else { down.softplus + a * down.sigmoid };
                let scale = up.softplus.min(down.softplus) + (nu.sqrt() + 1.0).min(a.abs());
                assert!((found[0] - spread).abs() <= rounding(scale), "spread at {a}, {nu}");
                assert!((found[1] - up.sigmoid).abs() <= rounding(up.sigmoid), "{a}, {nu}");
                assert!((found[2] - down.sigmoid).abs() <= rounding(down.sigmoid), "{a}, {nu}");
                assert!((found[3] - up.first).abs() <= rounding(up.first), "{a}, {nu}");
            }
        }
    }

    fn check_derivatives<M: LogisticExpectation>(method: M, a: f64, nu: f64) {
        let h = 1e-5 * (1.0 + nu.sqrt());
        let (up, down) = (method.moments(a + h, nu), method.moments(a - h, nu));
        let m = method.moments(a, nu);
        // Central differences: truncation h²/6·(next derivative ≤ 1), rounding ε/h.
        let tolerance = h * h + 2e-16 / h * 4.0;
        assert!(((up.sigmoid - down.sigmoid) / (2.0 * h) - m.first).abs() < tolerance, "first at {a}, {nu}");
        assert!(((up.first - down.first) / (2.0 * h) - m.second).abs() < tolerance, "second at {a}, {nu}");
        assert!(((up.second - down.second) / (2.0 * h) - m.third).abs() < tolerance, "third at {a}, {nu}");
    }

    #[test]
    fn every_moment_is_the_derivative_of_the_one_before() {
        for (a, nu) in [(0.3, 0.01), (-2.0, 0.5), (1.5, 3.0), (5.0, 40.0)] {
            check_derivatives(Exact, a, nu);
            check_derivatives(Mixture8, a, nu);
            check_derivatives(ProbitApproximation, a, nu);
            let rise = (Exact.softplus(a + 1e-5, nu) - Exact.softplus(a - 1e-5, nu)) / 2e-5;
            assert!((rise - Exact.sigmoid(a, nu).0).abs() < 1e-9);
        }
    }

    #[test]
    fn tails_are_relative_and_logarithms_finite() {
        // E s(t) → e^(a+ν/2) far on the left.
        let (a, nu) = (-200.0, 4.0);
        assert!((Exact.sigmoid(a, nu).0.ln() - (a + 0.5 * nu)).abs() < 1e-12 * 200.0);
        assert!((Exact.log_sigmoid_mean(-1e4, 4.0) - (-1e4 + 2.0)).abs() < 1e-11);
        let deep = Exact.log_sigmoid_mean(-1e4, 1e4);
        assert!(deep.is_finite() && deep < -4990.0 && deep > -5010.0, "{deep}");
        assert!((Mixture8.log_sigmoid_mean(-30.0, 1.0) - Exact.log_sigmoid_mean(-30.0, 1.0)).abs() < 1e-12);
    }
}
