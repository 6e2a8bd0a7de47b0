//! The implicit R-VGA step: the nearest Gaussian to `p(y|θ)·q(θ)` in `KL(q‖·)`.

use crate::likelihood::GaussianExpectation;
use crate::{Error, Site, SiteRule};

/// The implicit step: `h = −E∂²`, `e = E∂`, both under the new belief (R-VGA eqs 3-4; logistic 73-77).
///
/// It minimises the KL divergence to one observation's posterior, and is found to rounding for every finite `(a, ν, y)`.
///
/// ```
/// use vi_core::{BernoulliLogit, Implicit, ProbitApproximation, SiteRule};
/// let rule = Implicit(BernoulliLogit(ProbitApproximation));
/// let site = rule.site(-3.0, 100.0, 1.0)?;
/// let new_mean = -3.0 + 100.0 * site.gain(100.0);
/// assert!(new_mean > 0.0);
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Implicit<L>(
    /// The likelihood.
    pub L,
);

impl<L: GaussianExpectation> SiteRule for Implicit<L> {
    fn check_label(&self, label: f64) -> Result<(), Error> {
        self.0.check_label(label)
    }

    fn site(&self, a: f64, nu: f64, y: f64) -> Result<Site, Error> {
        let site = self.0.implicit_root(y, a, nu)?.site(nu);
        site.check(nu)?;
        Ok(site)
    }
}
