//! What `p(y|t)` is, for a scalar predictor `t = xᵀθ`: log-density, derivatives, Gaussian expectations.

use crate::Error;
use crate::implicit::{self, ImplicitRoot};

/// A likelihood of one label given a scalar predictor `t = xᵀθ`. `∂` is the derivative by `t`.
pub trait Likelihood {
    /// Name of the family, for messages.
    fn family(&self) -> &'static str;

    /// Whether `label` has positive density or probability.
    fn supports(&self, label: f64) -> bool;

    /// `log p(y|t)` in nats, normalised over `y`.
    fn log_density(&self, y: f64, t: f64) -> f64;

    /// `∂ log p(y|t)`.
    fn slope(&self, y: f64, t: f64) -> f64;

    /// The observed information `−∂² log p(y|t)`.
    fn curvature(&self, y: f64, t: f64) -> f64;

    /// The Fisher information `E_y[−∂² log p(y|t)]`.
    fn fisher_information(&self, t: f64) -> f64;

    /// Checks a label.
    ///
    /// # Errors
    /// [`Error::NonFinite`] or [`Error::Label`].
    fn check_label(&self, label: f64) -> Result<(), Error> {
        if !label.is_finite() {
            Err(Error::NonFinite { argument: "label", index: 0, value: label })
        } else if self.supports(label) {
            Ok(())
        } else {
            Err(Error::Label { label, family: self.family() })
        }
    }
}

/// `E[log p(y|t)]` and its derivatives by the mean `a`, under `t ~ N(a, ν)`.
///
/// By Bonnet's theorem the derivatives by `a` are the expectations of the derivatives, and by
/// Price's the derivative by `ν` is half of the second: `∂E/∂ν = −½·curvature`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected {
    /// `E[log p]`.
    pub value: f64,
    /// `E[∂ log p]`.
    pub slope: f64,
    /// `−E[∂² log p]`.
    pub curvature: f64,
    /// `E[∂³ log p]`.
    pub third: f64,
    /// `E[∂⁴ log p]`.
    pub fourth: f64,
}

/// A likelihood whose expectations under a Gaussian predictor `t ~ N(a, ν)` can be had.
pub trait GaussianExpectation: Likelihood {
    /// `E[log p(y|t)]` alone.
    fn expected_log_density(&self, y: f64, a: f64, nu: f64) -> f64 {
        self.expected(y, a, nu).value
    }

    /// `(E[∂ log p], −E[∂² log p])`, what the filters need.
    fn expected_slope_curvature(&self, y: f64, a: f64, nu: f64) -> (f64, f64) {
        let expected = self.expected(y, a, nu);
        (expected.slope, expected.curvature)
    }

    /// The expectation and its first four derivatives by `a`, for `nu ≥ 0`.
    fn expected(&self, y: f64, a: f64, nu: f64) -> Expected;

    /// The log of the one-step predictive density, `log E[p(y|t)]`, in nats.
    fn log_predictive(&self, y: f64, a: f64, nu: f64) -> f64;

    /// The implicit step: the `(α, ν*)` at which expectation and update agree,
    /// `α = a + ν·E∂`, `ν* = ν/(1 + ν·(−E∂²))`, both expectations under `N(α, ν*)`.
    ///
    /// # Errors
    /// [`Error::RootNotFound`] (a likelihood that is not log-concave).
    fn implicit_root(&self, y: f64, a: f64, nu: f64) -> Result<ImplicitRoot, Error>
    where
        Self: Sized,
    {
        implicit::log_concave_root(self, y, a, nu)
    }
}
