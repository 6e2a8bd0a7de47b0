//! The assumed-density filter: keep the mean and variance of the tilted density.

use crate::likelihood::GaussianExpectation;
use crate::{Error, Site, SiteRule};

/// The moment-matching step: `h = −ℓ″/(1+νℓ″)`, `g = (1+hν)·ℓ′` with `ℓ(a, ν) = log ∫p(y|t)·N(t|a, ν) dt`, derivatives by `a`.
/// The new belief along `x` has the mean and variance of `p(y|t)·N(t|a, ν)/Z` (expectation propagation's step; Minka 2001).
///
/// It is the nearest Gaussian in `KL(p‖·)`, as [`Implicit`](crate::Implicit) is in `KL(·‖p)`. `h` is negative if the tilted
/// density is wider than the belief, which can happen only with a likelihood that is not log-concave; `1 + hν > 0` always. It is
/// computed in closed form if the likelihood has one, otherwise by one [quadrature](crate::quadrature::tilted).
///
/// ```
/// use vi_core::{GaussianLikelihood, MomentMatching, SiteRule};
/// let site = MomentMatching(GaussianLikelihood::new(0.5)?).site(1.0, 2.0, 3.0)?;
/// assert_eq!(site.curvature, 2.0);
/// assert!((site.gain(2.0) - 2.0 / 2.5).abs() < 1e-15);
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MomentMatching<L>(
    /// The likelihood.
    pub L,
);

impl<L: GaussianExpectation> SiteRule for MomentMatching<L> {
    fn check_label(&self, label: f64) -> Result<(), Error> {
        self.0.check_label(label)
    }

    fn site(&self, a: f64, nu: f64, y: f64) -> Result<Site, Error> {
        let site = self.0.tilted(y, a, nu)?.site(nu);
        site.check(nu)?;
        Ok(site)
    }
}
