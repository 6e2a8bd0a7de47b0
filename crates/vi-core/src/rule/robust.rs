//! The weighted observation likelihood filter (WoLF): outlying observations lose weight.

use super::weighted::WeightedRule;
use crate::check;
use crate::likelihood::Likelihood;
use crate::{Error, Site, SiteRule};

/// Which residual decides the weight of an observation, with `I` the Fisher information and `∂` the slope at the old mean `a`.
///
/// `z = ∂/I` is the residual in units of the predictor, `y − a` for a Gaussian; `∂/√I` is Pearson's, in standard deviations of
/// the observation, for every exponential family and every link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Residual {
    Predictor,
    Pearson,
    Innovation,
}

/// The weight function `w ∈ [0, 1]` of a [`Robust`] rule; `w²` multiplies the log-likelihood.
///
/// `c` is the size up to which a residual is taken as ordinary. As `c → ∞`, `w → 1`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weighting {
    residual: Residual,
    /// Whether `w` is 0 or 1 instead of smooth.
    hard: bool,
    c: f64,
}

impl Weighting {
    /// The inverse multi-quadratic weights, WoLF-IMQ: `w = (1 + z²/c²)^(−½)`, `z = y − a` for a Gaussian, `∂/I` in general; `c`
    /// in units of the predictor.
    ///
    /// # Errors
    /// [`Error::Setting`] unless `c > 0` and finite.
    pub fn inverse_multiquadric(c: f64) -> Result<Self, Error> {
        Self::new(Residual::Predictor, false, c)
    }

    /// The weights by Mahalanobis distance, WoLF-MD: `w = (1 + r²/c²)^(−½)`, `r² = (y−a)²/R` for a Gaussian with noise variance
    /// `R`, `∂²/I` in general; `c` in standard deviations of the observation.
    ///
    /// # Errors
    /// [`Error::Setting`] unless `c > 0` and finite.
    pub fn mahalanobis(c: f64) -> Result<Self, Error> {
        Self::new(Residual::Pearson, false, c)
    }

    /// The threshold weights, WoLF-TMD: `w = 1` while `|r| ≤ c`, else 0, with `r` as for [`mahalanobis`](Self::mahalanobis):
    /// observations beyond are left out.
    ///
    /// # Errors
    /// [`Error::Setting`] unless `c > 0` and finite.
    pub fn threshold(c: f64) -> Result<Self, Error> {
        Self::new(Residual::Pearson, true, c)
    }

    /// The weights of [`mahalanobis`](Self::mahalanobis) with the variance of the innovation, `r² = z²/(1/I + ν)`: `(y−a)²/(R+ν)`
    /// for a Gaussian. They are not in the paper; from a vague prior the other weights take all first observations for outliers.
    ///
    /// # Errors
    /// [`Error::Setting`] unless `c > 0` and finite.
    pub fn innovation(c: f64) -> Result<Self, Error> {
        Self::new(Residual::Innovation, false, c)
    }

    fn new(residual: Residual, hard: bool, c: f64) -> Result<Self, Error> {
        check::positive("c", c)?;
        Ok(Self { residual, hard, c })
    }

    /// The weight `w` of label `y`, given the belief `N(a, ν)`.
    pub(crate) fn weight<L: Likelihood + ?Sized>(&self, likelihood: &L, y: f64, a: f64, nu: f64) -> f64 {
        let slope = likelihood.slope(y, a);
        if slope == 0.0 {
            return 1.0;
        }
        let information = likelihood.fisher_information(a);
        let residual = match self.residual {
            Residual::Predictor => slope / information,
            Residual::Pearson => slope / information.sqrt(),
            Residual::Innovation => slope / (information * (1.0 + information * nu)).sqrt(),
        };
        let ratio = residual / self.c;
        if self.hard { f64::from(u8::from(ratio.abs() <= 1.0)) } else { 1.0_f64.hypot(ratio).recip() }
    }
}

/// The weighted observation likelihood filter on top of any rule: the rule's site of `w²·log p(y|t)`, `w` from the residual at
/// the old mean (Duran-Martin et al. 2024, "Outlier-robust Kalman filtering through generalised Bayes").
///
/// With the linear rule it is the Kalman filter with noise variance `R/w²`, whose posterior moves by a bounded amount however
/// far off `y` is.
///
/// ```
/// use vi_core::{Explicit, GaussianLikelihood, Robust, SiteRule, Weighting};
/// let kalman = Explicit(GaussianLikelihood::new(1.0)?);
/// let robust = Robust { rule: kalman, weighting: Weighting::inverse_multiquadric(2.0)? };
/// let far = robust.site(0.0, 1.0, 1e6)?;
/// assert!(far.gain(1.0) < 1e-5 && kalman.site(0.0, 1.0, 1e6)?.gain(1.0) > 1e5);
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Robust<R> {
    /// The rule whose sites are weighted.
    pub rule: R,
    /// How the residual decides the weight.
    pub weighting: Weighting,
}

impl<R: WeightedRule> Robust<R> {
    /// The power `w²` to which the likelihood is raised, for label `y` given the belief `N(a, ν)`.
    pub fn power(&self, y: f64, a: f64, nu: f64) -> f64 {
        self.weighting.weight(self.rule.likelihood(), y, a, nu).powi(2)
    }
}

impl<R: WeightedRule> SiteRule for Robust<R> {
    fn check_label(&self, label: f64) -> Result<(), Error> {
        self.rule.check_label(label)
    }

    fn site(&self, a: f64, nu: f64, y: f64) -> Result<Site, Error> {
        self.rule.weighted_site(self.power(y, a, nu), a, nu, y)
    }
}

impl<R: WeightedRule> WeightedRule for Robust<R> {
    type Likelihood = R::Likelihood;

    fn likelihood(&self) -> &Self::Likelihood {
        self.rule.likelihood()
    }

    fn reweighted_site(&self, weight: f64, a: f64, nu: f64, y: f64) -> Result<Site, Error> {
        self.rule.weighted_site(weight * self.power(y, a, nu), a, nu, y)
    }
}
