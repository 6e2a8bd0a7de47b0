//! Gaussian expectations of the logistic function, in three classes of accuracy.
//!
//! | class | `E s(t)` | error | cost |
//! |---|---|---|---|
//! | [`ProbitApproximation`] | `s(k·a)`, `k = β/√(ν+β²)` (R-VGA eq 58) | up to 0.02 | one exponential |
//! | [`Mixture8`] | `Σpᵢ·Φ(a/τᵢ)` (Monahan and Stefanski) | 2.1e-9 | eight normal densities as vectors |
//! | [`Exact`] | quadrature and closed tails | 1e-14, relative | 80 to 320 exponentials |

mod exact;
mod mixture8;
mod probit;

pub use exact::Exact;
pub use mixture8::{LogisticLanes, Mixture8, Mixture8Lanes};
pub use probit::{BETA, ProbitApproximation};

use crate::Error;
use crate::implicit::{self, ImplicitRoot};
use crate::likelihood::Tilted;
use crate::logit::BernoulliLogit;

/// Expectations of softplus, its derivative the logistic function `s`, and so on, under `t ~ N(a, ν)`.
///
/// Each is the derivative of the one before by `a`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogisticMoments {
    /// `E log(1+e^t)`.
    pub softplus: f64,
    /// `E s(t)`.
    pub sigmoid: f64,
    /// `E s′(t)`.
    pub first: f64,
    /// `E s″(t)`.
    pub second: f64,
    /// `E s‴(t)`.
    pub third: f64,
}

/// A way to take Gaussian expectations of the logistic function, for `t ~ N(a, ν)`, `ν ≥ 0`.
pub trait LogisticExpectation: Copy {
    /// `E softplus(t) = E log(1+e^t)`, in nats.
    fn softplus(&self, a: f64, nu: f64) -> f64;

    /// `(E s(t), E s′(t))`.
    fn sigmoid(&self, a: f64, nu: f64) -> (f64, f64);

    /// All five expectations.
    fn moments(&self, a: f64, nu: f64) -> LogisticMoments;

    /// `log E s(t)`, in nats, finite in the left tail.
    fn log_sigmoid_mean(&self, a: f64, nu: f64) -> f64;

    /// The largest absolute error of `E s`, which a likelihood of many trials multiplies; `None` for a class that is meant as an
    /// approximation.
    fn absolute_error(&self) -> Option<f64> {
        None
    }

    /// The tilted density `s(t)·N(t|a, ν)/Z`, if this class computes it as accurately as its other expectations; `None` leaves it
    /// to [`quadrature::tilted`](crate::quadrature::tilted).
    fn tilted_sigmoid(&self, _a: f64, _nu: f64) -> Option<Tilted> {
        None
    }

    /// The implicit step of logistic regression (R-VGA eqs 73-74), label `y ∈ {0, 1}`.
    ///
    /// # Errors
    /// [`Error::RootNotFound`] when the search does not converge.
    fn implicit_root(&self, y: f64, a: f64, nu: f64) -> Result<ImplicitRoot, Error> {
        let probit = implicit::probit_guess(y, a, nu)?;
        implicit::log_concave_root_from(&BernoulliLogit(*self), y, a, nu, (probit.alpha, probit.nu))
    }
}
