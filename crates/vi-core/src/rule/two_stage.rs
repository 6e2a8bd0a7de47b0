//! Two-stage rules: a first explicit step predicts where the expectations should be taken.

use crate::likelihood::GaussianExpectation;
use crate::{Error, Site, SiteRule};

/// The mean and variance after an explicit step from `(a, ν)`, and its curvature.
struct Predicted {
    /// `â = a + ν·g₀/(1+h₀ν)`.
    mean: f64,
    /// `ν̂ = ν/(1+h₀ν)`.
    variance: f64,
    /// `h₀`.
    curvature: f64,
}

fn predict<L: GaussianExpectation>(likelihood: &L, a: f64, nu: f64, y: f64) -> Predicted {
    let (slope, curvature) = likelihood.expected_slope_curvature(y, a, nu);
    let first = Site { slope, curvature };
    Predicted { mean: a + nu * first.gain(nu), variance: nu / (1.0 + curvature * nu), curvature }
}

/// Mirror-prox (extragradient in the natural parameters), corrected: with `(g, h)` the expectations
/// at the explicit step's `(â, ν̂)`, the natural slope is `r = g + h·â`, so `g + h(â − a)` from `a`
/// (L-RVGA eq 37 with the term `−2(∂f/∂P)μ` at the predicted point).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MirrorProx<L>(
    /// The likelihood.
    pub L,
);

/// Mirror-prox as L-RVGA prints it (eqs 37, 139-145), which is also what that paper calls
/// extragradient: `e = g/(1+hν)` with `(g, h)` at `(â, ν̂)`. Wrong even for a linear model.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MirrorProxPrinted<L>(
    /// The likelihood.
    pub L,
);

/// L-RVGA's variant that leaves the covariance at the explicit step and moves only the mean's
/// expectation: `h = h₀`, `g` at `(â, ν̂)`. Wrong for a linear model.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SkipCovariance<L>(
    /// The likelihood.
    pub L,
);

impl<L: GaussianExpectation> SiteRule for MirrorProx<L> {
    fn check_label(&self, label: f64) -> Result<(), Error> {
        self.0.check_label(label)
    }

    fn site(&self, a: f64, nu: f64, y: f64) -> Result<Site, Error> {
        let predicted = predict(&self.0, a, nu, y);
        let (slope, curvature) = self.0.expected_slope_curvature(y, predicted.mean, predicted.variance);
        Ok(Site { slope: slope + curvature * (predicted.mean - a), curvature })
    }
}

impl<L: GaussianExpectation> SiteRule for MirrorProxPrinted<L> {
    fn check_label(&self, label: f64) -> Result<(), Error> {
        self.0.check_label(label)
    }

    fn site(&self, a: f64, nu: f64, y: f64) -> Result<Site, Error> {
        let predicted = predict(&self.0, a, nu, y);
        let (slope, curvature) = self.0.expected_slope_curvature(y, predicted.mean, predicted.variance);
        Ok(Site { slope, curvature })
    }
}

impl<L: GaussianExpectation> SiteRule for SkipCovariance<L> {
    fn check_label(&self, label: f64) -> Result<(), Error> {
        self.0.check_label(label)
    }

    fn site(&self, a: f64, nu: f64, y: f64) -> Result<Site, Error> {
        let predicted = predict(&self.0, a, nu, y);
        let (slope, _) = self.0.expected_slope_curvature(y, predicted.mean, predicted.variance);
        Ok(Site { slope, curvature: predicted.curvature })
    }
}
