//! The extended Kalman filter's rule: derivatives at the projected mean.

use crate::likelihood::Likelihood;
use crate::{Error, Site, SiteRule};

/// Which second derivative a [`Linearised`] rule takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Information {
    /// `E_y[−∂² log p]` at `a`: the extended Kalman filter, the natural gradient.
    #[default]
    Fisher,
    /// `−∂² log p(y|a)`: online Newton. Equal to Fisher's for a canonical link.
    Observed,
}

/// The rule `h = I(a)`, `g = ∂ log p(y|a)` of the extended Kalman filter, which is also the online natural gradient (R-VGA
/// Theorem 3; logistic (81), where `h = s′(a)`, `g = y − s(a)`).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Linearised<L> {
    /// The likelihood.
    pub likelihood: L,
    /// Which information is the curvature.
    pub information: Information,
}

impl<L: Likelihood> Linearised<L> {
    /// The extended Kalman filter: Fisher information.
    pub fn extended_kalman(likelihood: L) -> Self {
        Self { likelihood, information: Information::Fisher }
    }
}

impl<L: Likelihood> SiteRule for Linearised<L> {
    fn check_label(&self, label: f64) -> Result<(), Error> {
        self.likelihood.check_label(label)
    }

    fn site(&self, a: f64, _nu: f64, y: f64) -> Result<Site, Error> {
        let curvature = match self.information {
            Information::Fisher => self.likelihood.fisher_information(a),
            Information::Observed => self.likelihood.curvature(y, a),
        };
        Ok(Site { slope: self.likelihood.slope(y, a), curvature })
    }
}
