//! The rule of one pass.

use vi_core::{Error, GaussianExpectation, Implicit, MomentMatching, Site, SiteRule};

use super::scalar::ScalarFamily;

/// Which Gaussian is kept after a row, as the family chooses.
pub(super) enum OnePass<L> {
    Implicit(Implicit<L>),
    MomentMatching(MomentMatching<L>),
}

impl<L> OnePass<L> {
    pub(super) fn of<F: ScalarFamily>(likelihood: L) -> Self {
        if F::MATCHES_MOMENTS {
            Self::MomentMatching(MomentMatching(likelihood))
        } else {
            Self::Implicit(Implicit(likelihood))
        }
    }

    pub(super) fn likelihood(&self) -> &L {
        match self {
            Self::Implicit(Implicit(likelihood)) | Self::MomentMatching(MomentMatching(likelihood)) => likelihood,
        }
    }
}

impl<L: GaussianExpectation> SiteRule for OnePass<L> {
    fn check_label(&self, label: f64) -> Result<(), Error> {
        self.likelihood().check_label(label)
    }

    fn site(&self, a: f64, nu: f64, y: f64) -> Result<Site, Error> {
        match self {
            Self::Implicit(rule) => rule.site(a, nu, y),
            Self::MomentMatching(rule) => rule.site(a, nu, y),
        }
    }
}
