//! The Bernoulli likelihood with the logistic link, `p(y=1|t) = s(t)`, `y ∈ {0, 1}`.

use crate::Error;
use crate::expectation::{LogisticExpectation, Mixture8};
use crate::implicit::ImplicitRoot;
use crate::likelihood::{Expected, GaussianExpectation, Likelihood};
use crate::special::{sigmoid, sigmoid_derivative, softplus};

/// Logistic regression's likelihood, with a choice of how its Gaussian expectations are taken:
/// [`Probit`](crate::Probit) as in the papers, [`Mixture8`] (default, error at most 8.1e-9 nats)
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

    fn implicit_root(&self, y: f64, a: f64, nu: f64) -> Result<ImplicitRoot, Error> {
        self.0.implicit_root(y, a, nu)
    }
}
