//! Expectations of the logistic to machine precision: quadrature in the middle, closed tails.

use super::{LogisticExpectation, LogisticMoments};
use crate::special::{
    HALF_LN_2PI, log_normal_cdf, log_sigmoid, normal_cdf, normal_density, sigmoid, sigmoid_derivative, softplus,
};

/// Expectations by panels of 16-point Gauss-Legendre on `|t| ≤ 40`, beyond which
/// `softplus(t)` is `t` or `e^t` to 4e-18 and integrates in closed form.
///
/// Relative error about 1e-14, in the tails too. 80 to 320 evaluations of the integrand: for
/// reference values, stored optima and logarithms of small probabilities.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Exact;

/// Beyond this `|t|` the logistic is its own asymptote to 4e-18.
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

/// Calls `visit(x, weight)` for the quadrature nodes of `∫ f(a+σx) dx` over the part of the
/// Gaussian's reach in which `|a+σx| ≤ 40`. Both the logistic's poles at ±iπ and the Gaussian
/// allow panels of width 4 in their own unit.
fn for_each_node(a: f64, sigma: f64, mut visit: impl FnMut(f64, f64)) {
    // e^(±t) tilts the Gaussian by ±σ²: its mass then sits σ standard deviations away.
    let low = (-REACH - sigma).max((-EDGE - a) / sigma);
    let high = (REACH + sigma).min((EDGE - a) / sigma);
    if low >= high {
        return;
    }
    let panels = ((high - low) * sigma.max(1.0) / 4.0).ceil().max(1.0);
    let half = 0.5 * (high - low) / panels;
    let mut centre = low + half;
    while centre < high {
        for (node, weight) in GAUSS_LEGENDRE {
            visit(centre - half * node, half * weight);
            visit(centre + half * node, half * weight);
        }
        centre += 2.0 * half;
    }
}

/// `log ∫_{t<−40} e^t N(t|a,σ²) dt`; with `−a` it is the tail of `e^(−t)` above 40.
fn log_exponential_tail(a: f64, sigma: f64) -> f64 {
    a + 0.5 * sigma * sigma + log_normal_cdf((-EDGE - a) / sigma - sigma)
}

impl LogisticExpectation for Exact {
    fn softplus(&self, a: f64, nu: f64) -> f64 {
        if nu == 0.0 {
            return softplus(a);
        }
        let sigma = nu.sqrt();
        let edge = (a - EDGE) / sigma;
        let mut sum = log_exponential_tail(a, sigma).exp() + a * normal_cdf(edge) + sigma * normal_density(edge);
        for_each_node(a, sigma, |x, weight| sum += weight * normal_density(x) * softplus(a + sigma * x));
        sum
    }

    fn sigmoid(&self, a: f64, nu: f64) -> (f64, f64) {
        let LogisticMoments { sigmoid, first, .. } = self.moments(a, nu);
        (sigmoid, first)
    }

    fn moments(&self, a: f64, nu: f64) -> LogisticMoments {
        let sigma = nu.sqrt();
        let softplus = self.softplus(a, nu);
        let mut sum = LogisticMoments { softplus, sigmoid: 0.0, first: 0.0, second: 0.0, third: 0.0 };
        let mut add = |t: f64, weight: f64| {
            let first = sigmoid_derivative(t);
            let skew = sigmoid(-t) - sigmoid(t);
            sum.sigmoid += weight * sigmoid(t);
            sum.first += weight * first;
            sum.second += weight * first * skew;
            sum.third += weight * first * (skew * skew - 2.0 * first);
        };
        if nu == 0.0 {
            add(a, 1.0);
            return sum;
        }
        for_each_node(a, sigma, |x, weight| add(a + sigma * x, weight * normal_density(x)));
        let left = log_exponential_tail(a, sigma).exp();
        let right = log_exponential_tail(-a, sigma).exp();
        sum.sigmoid += left + normal_cdf((a - EDGE) / sigma);
        sum.first += left + right;
        sum.second += left - right;
        sum.third += left + right;
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
        // Log-sum-exp over the same nodes and tails.
        let sigma = nu.sqrt();
        let mut logs = vec![log_exponential_tail(a, sigma), log_normal_cdf((a - EDGE) / sigma)];
        for_each_node(a, sigma, |x, weight| {
            logs.push(weight.ln() - 0.5 * x * x - HALF_LN_2PI + log_sigmoid(a + sigma * x));
        });
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        largest + logs.iter().map(|l| (l - largest).exp()).sum::<f64>().ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expectation::{Mixture8, Probit};
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
    fn mixture_stays_within_its_stated_errors() {
        for (a, nu) in CASES {
            // In the far tails E softplus is of size |a| or σ, and so is its rounding.
            let rounding = 8.0 * f64::EPSILON * (a.abs() + nu.sqrt());
            assert!((Mixture8.softplus(a, nu) - Exact.softplus(a, nu)).abs() < 8.1e-9 + rounding, "{a}, {nu}");
            let (m, e) = (Mixture8.moments(a, nu), Exact.moments(a, nu));
            assert!((m.sigmoid - e.sigmoid).abs() < 2.1e-9, "{a}, {nu}");
            assert!((m.first - e.first).abs() < 2.1e-8, "{a}, {nu}");
            assert!((Probit.sigmoid(a, nu).0 - e.sigmoid).abs() < 0.02, "{a}, {nu}");
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
            check_derivatives(Probit, a, nu);
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
