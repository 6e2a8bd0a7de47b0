//! Settings of the step of a nonlinear model.

use crate::Error;
use crate::check;

/// Under which belief the expectations of a step are taken: L-RVGA §4.2.1 and Appendix G.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Expectations are taken under the old belief: the first two lines of (37).
    Explicit,
    /// Expectations are taken under a predicted belief `q̂`, which is the explicit one: `μ ← μ + P_t(E_q̂[∇log p] + X̂X̂ᵀ(μ̂ −
    /// μ))`, with `P_t⁻¹ = P⁻¹ + X̂X̂ᵀ`. Exact for linear models.
    MirrorProx,
    /// (37) as printed, without `X̂X̂ᵀ(μ̂ − μ)`. Wrong even for linear models; kept to reproduce the paper's figures.
    MirrorProxPrinted,
    /// The slope is taken under `q̂`, the curvature is that of the explicit scheme (143)-(145): the paper's choice for its
    /// experiments. Wrong for linear models.
    SkipCovariance,
}

/// How the `K` draws of an expectation depend on each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampling {
    /// The draws are independent, as in the paper.
    Independent,
    /// The draws come in pairs `μ ± δ`, so that what is linear in `θ` has no sampling error. `K` is even.
    Antithetic,
}

/// Draws and scheme of a nonlinear step.
///
/// ```
/// use vi_core::nonlinear::{NonlinearSettings, Sampling, Scheme};
/// let settings = NonlinearSettings::new(10);
/// assert_eq!((settings.scheme, settings.sampling), (Scheme::MirrorProx, Sampling::Antithetic));
/// let as_printed = NonlinearSettings { scheme: Scheme::SkipCovariance, sampling: Sampling::Independent, ..settings };
/// assert!(as_printed.check().is_ok());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NonlinearSettings {
    /// The number `K` of draws for each expectation.
    pub draws: usize,
    /// Where expectations are taken.
    pub scheme: Scheme,
    /// How the draws depend on each other.
    pub sampling: Sampling,
}

impl NonlinearSettings {
    /// Settings with `K = draws` draws for each expectation, the corrected mirror-prox scheme, and antithetic pairs if `K` is
    /// even.
    #[must_use]
    pub fn new(draws: usize) -> Self {
        let sampling = if draws.is_multiple_of(2) { Sampling::Antithetic } else { Sampling::Independent };
        Self { draws, scheme: Scheme::MirrorProx, sampling }
    }

    /// Checks the settings, as every entry that takes them does.
    ///
    /// # Errors
    /// [`Error::Setting`] for no draws, or for pairs of an odd number of them.
    pub fn check(&self) -> Result<(), Error> {
        check::count("draws", self.draws)?;
        if self.sampling == Sampling::Antithetic && !self.draws.is_multiple_of(2) {
            return Err(Error::Setting { name: "draws", value: self.draws as f64, requirement: "even" });
        }
        Ok(())
    }
}

/// Checks that the number of entries of a matrix does not overflow.
///
/// # Errors
/// [`Error::Setting`].
pub(super) fn check_product(name: &'static str, rows: usize, columns: usize) -> Result<(), Error> {
    match rows.checked_mul(columns) {
        Some(count) if vi_linalg::check::room(name, &[count]).is_ok() => Ok(()),
        _ => Err(Error::Setting { name, value: rows as f64, requirement: "such that the parameters fit in memory" }),
    }
}
