//! The explicit R-VGA step.

use crate::likelihood::GaussianExpectation;
use crate::{Error, Site, SiteRule};

/// The explicit step: `h = −E∂²`, `g = E∂`, both under the old belief `N(a, ν)` (R-VGA eqs 30-31; logistic 78-80).
///
/// Optimal for linear models, close to [`Implicit`](crate::Implicit) while sites are small.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Explicit<L>(
    /// The likelihood.
    pub L,
);

impl<L: GaussianExpectation> SiteRule for Explicit<L> {
    fn check_label(&self, label: f64) -> Result<(), Error> {
        self.0.check_label(label)
    }

    fn site(&self, a: f64, nu: f64, y: f64) -> Result<Site, Error> {
        let (slope, curvature) = self.0.expected_slope_curvature(y, a, nu);
        Ok(Site { slope, curvature })
    }
}
