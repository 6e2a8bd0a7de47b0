//! A site: what one observation says to a Gaussian belief, in two numbers.

use crate::Error;
use crate::check;

/// What one observation says to a Gaussian belief through `t = xᵀθ`: a slope and a curvature.
///
/// With projected mean `a = xᵀμ` and projected variance `ν = xᵀPx`, every filter of the family is
///
/// ```text
/// P⁻¹ ← P⁻¹ + h·xxᵀ        P ← P − h/(1+hν)·(Px)(Px)ᵀ        μ ← μ + e·Px,   e = g/(1+hν)
/// ```
///
/// Free of any belief, the site is the factor `exp(r·t − ½h·t²)` with `r = g + h·a`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[must_use]
pub struct Site {
    /// Slope `g`, in nats per unit of `xᵀθ`.
    pub slope: f64,
    /// Curvature `h`, in nats per squared unit of `xᵀθ`. Negative only for rules that say so.
    pub curvature: f64,
}

impl Site {
    /// The mean's gain `e = g/(1+hν)` on the old covariance: `μ ← μ + e·Px`.
    #[must_use]
    pub fn gain(&self, variance: f64) -> f64 {
        self.slope / (1.0 + self.curvature * variance)
    }

    /// The coefficient `c = h/(1+hν)` of the rank-one change `P ← P − c·(Px)(Px)ᵀ`.
    #[must_use]
    pub fn shrinkage(&self, variance: f64) -> f64 {
        self.curvature / (1.0 + self.curvature * variance)
    }

    /// The linear coefficient `r = g + h·a` of the belief-free factor `exp(r·t − ½h·t²)`.
    #[must_use]
    pub fn natural_slope(&self, mean: f64) -> f64 {
        self.slope + self.curvature * mean
    }

    /// Checks that the site leaves a Gaussian, finite with `1 + hν > 0`, and that its step is finite.
    ///
    /// # Errors
    /// [`Error::ImproperSite`]; [`Error::Overflow`] for a `1 + hν`, a gain or a shrinkage that is infinite.
    pub fn check(&self, variance: f64) -> Result<(), Error> {
        let left = 1.0 + self.curvature * variance;
        if !(self.slope.is_finite() && self.curvature.is_finite() && left > 0.0) {
            return Err(Error::ImproperSite { slope: self.slope, curvature: self.curvature, variance });
        }
        check::result("1 + hν", left)?;
        check::result("g/(1+hν)", self.gain(variance))?;
        check::result("h/(1+hν)", self.shrinkage(variance)).map(drop)
    }
}

/// A rule that turns one observation, given the projection `(a, ν)`, into a [`Site`].
///
/// A rule sees no vector and a belief sees no label, so rules and beliefs compose freely.
pub trait SiteRule {
    /// Checks that the rule's likelihood gives `label` a positive probability or density.
    ///
    /// # Errors
    /// [`Error::Label`], or [`Error::NonFinite`] for a NaN or infinite label.
    fn check_label(&self, label: f64) -> Result<(), Error>;

    /// The site of an observation with label `y`, at projected mean `a` and variance `nu ≥ 0`.
    ///
    /// Callers must make sure that the arguments are finite and the label has been checked.
    ///
    /// # Errors
    /// [`Error::ImproperSite`] when there is no site.
    fn site(&self, a: f64, nu: f64, y: f64) -> Result<Site, Error>;
}
