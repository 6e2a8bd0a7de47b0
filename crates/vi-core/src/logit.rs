//! The Bernoulli likelihood with the logistic link, `p(y=1|t) = s(t)`, `y ∈ {0, 1}`.

use crate::expectation::{LogisticExpectation, Mixture8};
use crate::implicit::ImplicitRoot;
use crate::likelihood::{Expected, GaussianExpectation, Likelihood, Tilted};
use crate::special::{sigmoid, sigmoid_derivative, softplus, softplus_beyond_tangent};
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
