//! The papers' formula: the logistic function approximated by a probit, and the result by a logistic (R-VGA eq 58).

use super::{LogisticExpectation, LogisticMoments};
use crate::Error;
use crate::implicit::{self, ImplicitRoot};
use crate::special::{log_sigmoid, normal_cdf, normal_density, sigmoid};

/// `β = √(8/π)`: `s(t) ≈ Φ(t/β)` with equal slopes at 0.
pub const BETA: f64 = 1.595_769_121_605_730_7;

/// The papers' expectations, `E s(t) ≈ s(ka)` and `E s′(t) ≈ k·s′(ka)` with `k = β/√(ν+β²)`
/// (R-VGA eqs 58-59). Off by up to 0.02; use it to reproduce the papers or where every
/// nanosecond counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProbitApproximation;

impl ProbitApproximation {
    /// `k = β/√(ν+β²)`, eq 59.
    #[must_use]
    pub fn scale(nu: f64) -> f64 {
        BETA / (nu + BETA * BETA).sqrt()
    }
}

impl LogisticExpectation for ProbitApproximation {
    /// The integral of `E s(t) ≈ Φ(a/√(ν+β²))`, since that of `s(ka)` has no closed form: off by up to 0.06 nats.
    fn softplus(&self, a: f64, nu: f64) -> f64 {
        let tau = (nu + BETA * BETA).sqrt();
        a * normal_cdf(a / tau) + tau * normal_density(a / tau)
    }

    fn sigmoid(&self, a: f64, nu: f64) -> (f64, f64) {
        let k = Self::scale(nu);
        let e = (-(k * a).abs()).exp();
        let small = e / (1.0 + e);
        let value = if a >= 0.0 { 1.0 / (1.0 + e) } else { small };
        (value, k * small / (1.0 + e))
    }

    fn moments(&self, a: f64, nu: f64) -> LogisticMoments {
        let k = Self::scale(nu);
        let (value, first) = self.sigmoid(a, nu);
        let skew = sigmoid(-k * a) - sigmoid(k * a); // s″ = s′·(1 − 2s)
        let derivative = first / k;
        LogisticMoments {
            softplus: self.softplus(a, nu),
            sigmoid: value,
            first,
            second: k * first * skew,
            third: k * k * first * (skew * skew - 2.0 * derivative),
        }
    }

    fn log_sigmoid_mean(&self, a: f64, nu: f64) -> f64 {
        log_sigmoid(Self::scale(nu) * a)
    }

    fn implicit_root(&self, y: f64, a: f64, nu: f64) -> Result<ImplicitRoot, Error> {
        implicit::probit_root(y, a, nu)
    }
}
