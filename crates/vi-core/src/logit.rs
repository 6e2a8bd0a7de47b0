//! The Bernoulli likelihood with the logistic link, `p(y=1|t) = s(t)`, `y ∈ {0, 1}`.

use pulp::{Arch, Simd, WithSimd};

use crate::expectation::{LogisticExpectation, Mixture8};
use crate::implicit::ImplicitRoot;
use crate::likelihood::{Expected, GaussianExpectation, Likelihood, Tilted};
use crate::special::{lanes, sigmoid, sigmoid_derivative, softplus, softplus_beyond_tangent};
use crate::{Error, quadrature};

/// Logistic regression's likelihood, with a choice of how its Gaussian expectations are taken:
/// [`ProbitApproximation`](crate::ProbitApproximation) as in the papers, [`Mixture8`] (default, error at most 8.1e-9 nats)
/// or [`Exact`](crate::Exact).
///
/// ```
/// use vi_core::{BernoulliLogit, GaussianExpectation, Likelihood, Mixture8};
/// let logit = BernoulliLogit(Mixture8);
/// assert_eq!(logit.log_density(1.0, 0.0), -f64::ln(2.0));
/// assert!(logit.expected_log_density(1.0, 0.0, 4.0) < -f64::ln(2.0));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BernoulliLogit<M = Mixture8>(
    /// How Gaussian expectations of the logistic are taken.
    pub M,
);

/// `+1` for `y = 1`, `−1` for `y = 0`: `log p(y|t) = −softplus(−sign·t)`.
fn sign(y: f64) -> f64 {
    if y > 0.5 { 1.0 } else { -1.0 }
}

impl<M: LogisticExpectation> Likelihood for BernoulliLogit<M> {
    fn family(&self) -> &'static str {
        "Bernoulli (labels 0 and 1)"
    }

    fn supports(&self, label: f64) -> bool {
        label == 0.0 || label == 1.0
    }

    fn log_density(&self, y: f64, t: f64) -> f64 {
        -softplus(-sign(y) * t)
    }

    fn slope(&self, y: f64, t: f64) -> f64 {
        // y − s(t), without cancellation.
        sign(y) * sigmoid(-sign(y) * t)
    }

    fn curvature(&self, _y: f64, t: f64) -> f64 {
        sigmoid_derivative(t)
    }

    fn add_log_densities(&self, y: f64, t: &[f64], values: &mut [f64]) {
        lanes::apply([t], values, &LogDensity { sign: sign(y) });
    }

    fn add_log_densities_and_slopes(&self, y: f64, t: &mut [f64], values: &mut [f64]) {
        Arch::new().dispatch(LogDensitiesAndSlopes { sign: sign(y), t, values });
    }

    fn beyond_tangent(&self, _y: f64, t: f64, steps: &[f64], out: &mut [[f64; 2]]) {
        let (p, q) = (sigmoid(t), sigmoid(-t));
        for (out, &step) in out.iter_mut().zip(steps) {
            *out = softplus_beyond_tangent(p, q, step).map(|x| -x);
        }
    }

    fn peak(&self, y: f64) -> Option<f64> {
        Some(sign(y) * f64::INFINITY)
    }

    fn fisher_information(&self, t: f64) -> f64 {
        sigmoid_derivative(t)
    }
}

/// `value − softplus(−sign·t)`.
struct LogDensity {
    sign: f64,
}

impl lanes::EachLane<1> for LogDensity {
    #[inline(always)]
    fn at<S: Simd>(&self, simd: S, [t]: [S::f64s; 1], value: S::f64s) -> S::f64s {
        let opposite = simd.mul_f64s(simd.splat_f64s(-self.sign), t);
        simd.sub_f64s(value, lanes::softplus(simd, opposite).0)
    }
}

/// `values ← values − softplus(−sign·t)`, and `t ← sign·s(−sign·t)`.
struct LogDensitiesAndSlopes<'a> {
    sign: f64,
    t: &'a mut [f64],
    values: &'a mut [f64],
}

impl WithSimd for LogDensitiesAndSlopes<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let ((t, t_tail), (values, values_tail)) = (S::as_mut_simd_f64s(self.t), S::as_mut_simd_f64s(self.values));
        let (sign, opposite) = (simd.splat_f64s(self.sign), simd.splat_f64s(-self.sign));
        for (t, value) in t.iter_mut().zip(values) {
            let (lost, wrong) = lanes::softplus(simd, simd.mul_f64s(opposite, *t));
            (*t, *value) = (simd.mul_f64s(sign, wrong), simd.sub_f64s(*value, lost));
        }
        if !t_tail.is_empty() {
            let (lost, wrong) = lanes::softplus(simd, simd.mul_f64s(opposite, simd.partial_load_f64s(t_tail)));
            let value = simd.sub_f64s(simd.partial_load_f64s(values_tail), lost);
            simd.partial_store_f64s(t_tail, simd.mul_f64s(sign, wrong));
            simd.partial_store_f64s(values_tail, value);
        }
    }
}

impl<M: LogisticExpectation> GaussianExpectation for BernoulliLogit<M> {
    fn expected_log_density(&self, y: f64, a: f64, nu: f64) -> f64 {
        -self.0.softplus(-sign(y) * a, nu)
    }

    fn expected_slope_curvature(&self, y: f64, a: f64, nu: f64) -> (f64, f64) {
        let (value, derivative) = self.0.sigmoid(-sign(y) * a, nu);
        (sign(y) * value, derivative)
    }

    fn expected(&self, y: f64, a: f64, nu: f64) -> Expected {
        let b = -sign(y) * a;
        let moments = self.0.moments(b, nu);
        // d/da of −E softplus(b), four times, with b = −sign·a.
        Expected {
            value: -moments.softplus,
            slope: sign(y) * moments.sigmoid,
            curvature: moments.first,
            third: sign(y) * moments.second,
            fourth: -moments.third,
        }
    }

    fn log_predictive(&self, y: f64, a: f64, nu: f64) -> f64 {
        self.0.log_sigmoid_mean(sign(y) * a, nu)
    }

    fn tilted(&self, y: f64, a: f64, nu: f64) -> Result<Tilted, Error> {
        match self.0.tilted_sigmoid(sign(y) * a, nu) {
            Some(tilted) => Ok(Tilted { slope: sign(y) * tilted.slope, ..tilted }),
            None => quadrature::tilted(self, y, a, nu),
        }
    }

    fn implicit_root(&self, y: f64, a: f64, nu: f64) -> Result<ImplicitRoot, Error> {
        self.0.implicit_root(y, a, nu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_predictors_at_once_are_those_one_by_one() {
        let logit = BernoulliLogit(Mixture8);
        for n in 0..11 {
            let t: Vec<f64> = (0..n).map(|i| f64::from(i) * 7.3 - 30.0).collect();
            for y in [0.0, 1.0] {
                let (mut values, mut both, mut slopes) = (vec![2.0; t.len()], vec![2.0; t.len()], t.clone());
                logit.add_log_densities(y, &t, &mut values);
                logit.add_log_densities_and_slopes(y, &mut slopes, &mut both);
                assert_eq!(values, both);
                for ((&t, value), slope) in t.iter().zip(values).zip(slopes) {
                    let (exact, exact_slope) = (2.0 + logit.log_density(y, t), logit.slope(y, t));
                    assert!((value - exact).abs() <= 4.0 * f64::EPSILON * exact.abs().max(2.0), "t = {t}");
                    assert!((slope - exact_slope).abs() <= 4.0 * f64::EPSILON * exact_slope.abs(), "t = {t}");
                }
            }
        }
    }

    #[test]
    fn the_closed_tilted_density_is_what_quadrature_finds() {
        for a in [-50.0, -6.0, -2.0, -0.3, 0.0, 1.0, 4.0, 20.0] {
            for nu in [0.0, 1e-6, 0.1, 1.0, 9.0, 100.0, 1e4] {
                for y in [0.0, 1.0] {
                    let closed = BernoulliLogit(Mixture8).tilted(y, a, nu).unwrap();
                    let found = quadrature::tilted(&BernoulliLogit(crate::Exact), y, a, nu).unwrap();
                    let context = format!("{a}, {nu}, {y}: {closed:?} {found:?}");
                    // 2.1e-9 in E s ≥ 0.1, 2.1e-8 in its derivatives; the curvature divides by the variance's share, 0.3 or more.
                    assert!((closed.log_normaliser - found.log_normaliser).abs() < 3e-8, "{context}");
                    assert!((closed.slope - found.slope).abs() < 5e-7, "{context}");
                    assert!((closed.curvature - found.curvature).abs() < 2e-6, "{context}");
                    assert!((closed.variance - found.variance).abs() <= 1e-6 * nu, "{context}");
                }
            }
        }
    }
}
