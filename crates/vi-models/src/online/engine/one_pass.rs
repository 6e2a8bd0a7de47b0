//! The rule by which one pass takes a row.

use std::cell::Cell;

use vi_core::{Error, GaussianExpectation, Implicit, Likelihood, Site, SiteRule, Weighted};

use super::scalar::{Pass, ScalarFamily};

/// Which Gaussian replaces the posterior after a row: the one with the mean and variance of the tilted density, or that of the
/// implicit step, where the two agree or the first is expensive.
pub(super) enum OnePass<L> {
    Implicit(Implicit<Weighted<L>>),
    /// [`MomentMatching`](vi_core::MomentMatching), which remembers the normaliser of the tilted density, since the row's score
    /// is the same integral.
    MomentMatching(Weighted<L>, Cell<Option<f64>>),
}

impl<L> OnePass<L> {
    pub(super) fn of<F: ScalarFamily>(likelihood: Weighted<L>) -> Self {
        match F::PASS {
            Pass::Exact => Self::Implicit(Implicit(likelihood)),
            Pass::MomentsOfUnitWeights if likelihood.weight() != 1.0 => Self::Implicit(Implicit(likelihood)),
            _ => Self::MomentMatching(likelihood, Cell::new(None)),
        }
    }

    pub(super) fn likelihood(&self) -> &Weighted<L> {
        match self {
            Self::Implicit(Implicit(likelihood)) | Self::MomentMatching(likelihood, _) => likelihood,
        }
    }

    /// `log E p(y|t)` in nats, if the last site's computation found it.
    pub(super) fn log_normaliser(&self) -> Option<f64> {
        match self {
            Self::Implicit(_) => None,
            Self::MomentMatching(_, remembered) => remembered.get(),
        }
    }
}

impl<L: GaussianExpectation> SiteRule for OnePass<L> {
    fn check_label(&self, label: f64) -> Result<(), Error> {
        Likelihood::check_label(self.likelihood(), label)
    }

    fn site(&self, a: f64, nu: f64, y: f64) -> Result<Site, Error> {
        match self {
            Self::Implicit(rule) => rule.site(a, nu, y),
            Self::MomentMatching(likelihood, remembered) => {
                let tilted = likelihood.tilted(y, a, nu)?;
                remembered.set(Some(tilted.log_normaliser));
                let site = tilted.site(nu);
                site.check(nu)?;
                Ok(site)
            }
        }
    }
}
