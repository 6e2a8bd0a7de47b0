//! The implicit step: the scalar `(α, ν*)` at which an update and the expectations it is made of agree.
//!
//! R-VGA's fixed-point equations (3)-(4) for a likelihood of `t = xᵀθ` are, with `a = xᵀμ`, `ν = xᵀPx`,
//!
//! ```text
//! α = a + ν·E∂          ν* = ν/(1 + ν·h),   h = −E∂²,   both expectations under N(α, ν*)
//! ```
//!
//! They are the stationary point of `J(α, σ) = −E log p(y|α+σε) + (α−a)²/2ν + σ²/2ν − ln σ`, `ν* = σ²`,
//! which is convex in `(α, σ)` for a log-concave likelihood; for others the root of lowest `J` is taken.

mod log_concave;
mod lowest;
mod probit;
#[cfg(test)]
mod tests;

pub(crate) use log_concave::log_concave_root;
pub use log_concave::log_concave_root_from;
pub use lowest::lowest_root;
pub(crate) use probit::probit_guess;
pub use probit::probit_root;

use crate::Error;

/// Checks that a projected variance is not negative; the search reports NaN.
///
/// # Errors
/// [`Error::NegativeVariance`].
pub(crate) fn check_variance(nu: f64) -> Result<(), Error> {
    if nu < 0.0 { Err(Error::NegativeVariance { value: nu }) } else { Ok(()) }
}

/// The result of the implicit step.
#[derive(Debug, Clone, Copy, PartialEq)]
#[must_use]
pub struct ImplicitRoot {
    /// The new projected mean `α = xᵀμ₊`.
    pub alpha: f64,
    /// The new projected variance `ν* = xᵀP₊x`.
    pub nu: f64,
    /// The gain `e = E∂` of `μ ← μ + e·Px`.
    pub gain: f64,
    /// The curvature `h = −E∂²`.
    pub curvature: f64,
}
