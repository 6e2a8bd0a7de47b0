//! How the step of a nonlinear model is taken.

use crate::Error;
use crate::check;

/// Where the expectations of a step are taken: L-RVGA §4.2.1 and Appendix G.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Under the old belief: the first two lines of (37).
    Explicit,
    /// Under a predicted belief `q̂`, which is the explicit one: `μ ← μ + P_t(E_q̂[∇log p] + X̂X̂ᵀ(μ̂ − μ))`, with
    /// `P_t⁻¹ = P⁻¹ + X̂X̂ᵀ`. Exact for linear models.
    MirrorProx,
    /// (37) as printed, without `X̂X̂ᵀ(μ̂ − μ)`. Wrong even for linear models; for figures.
    MirrorProxPrinted,
    /// The slope under `q̂`, the curvature of the explicit scheme (143)-(145): the paper's choice for its experiments. Wrong for
    /// linear models.
    SkipCovariance,
}

/// How the `K` draws of an expectation depend on each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampling {
    /// Not at all, as in the paper.
    Independent,
    /// In pairs `μ ± δ`: what is linear in `θ` has no sampling error. `K` is even.
    Antithetic,
}

/// Draws and scheme of a nonlinear step; checked at construction.
///
/// ```
/// use vi_core::nonlinear::{NonlinearSettings, Sampling, Scheme};
/// let settings = NonlinearSettings::new(10)?;
/// assert_eq!((settings.draws(), settings.scheme()), (10, Scheme::MirrorProx));
/// let as_printed = NonlinearSettings::new(10)?.with_scheme(Scheme::SkipCovariance).with_sampling(Sampling::Independent)?;
/// assert_eq!(as_printed.sampling(), Sampling::Independent);
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NonlinearSettings {
    draws: usize,
    scheme: Scheme,
    sampling: Sampling,
}

impl NonlinearSettings {
    /// `K = draws` draws for each expectation, the corrected mirror-prox scheme, antithetic pairs where `K` is even.
    ///
    /// # Errors
    /// [`Error::Setting`] for no draws.
    pub fn new(draws: usize) -> Result<Self, Error> {
        check::count("draws", draws)?;
        let sampling = if draws.is_multiple_of(2) { Sampling::Antithetic } else { Sampling::Independent };
        Ok(Self { draws, scheme: Scheme::MirrorProx, sampling })
    }

    /// The same with another scheme.
    #[must_use]
    pub fn with_scheme(self, scheme: Scheme) -> Self {
        Self { scheme, ..self }
    }

    /// The same with other sampling.
    ///
    /// # Errors
    /// [`Error::Setting`] for pairs of an odd number of draws.
    pub fn with_sampling(self, sampling: Sampling) -> Result<Self, Error> {
        if sampling == Sampling::Antithetic && !self.draws.is_multiple_of(2) {
            return Err(Error::Setting { name: "draws", value: self.draws as f64, requirement: "even" });
        }
        Ok(Self { sampling, ..self })
    }

    /// Number of draws `K`.
    #[must_use]
    pub fn draws(&self) -> usize {
        self.draws
    }

    /// The scheme.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// How draws depend on each other.
    #[must_use]
    pub fn sampling(&self) -> Sampling {
        self.sampling
    }
}

/// Checks that the numbers of a matrix can be counted.
///
/// # Errors
/// [`Error::Setting`].
pub(super) fn check_product(name: &'static str, rows: usize, columns: usize) -> Result<(), Error> {
    match rows.checked_mul(columns) {
        Some(count) if vi_linalg::check::room(name, &[count]).is_ok() => Ok(()),
        _ => Err(Error::Setting { name, value: rows as f64, requirement: "such that the parameters fit in memory" }),
    }
}
