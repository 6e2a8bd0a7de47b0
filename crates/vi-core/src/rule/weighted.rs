//! Weights of observations: `w·log p(y|t)` in place of `log p(y|t)`.

use crate::check;
use crate::implicit::ImplicitRoot;
use crate::likelihood::{Expected, GaussianExpectation, Likelihood, Tilted};
use crate::{BernoulliLogit, Information, Mixture8, quadrature};
use crate::{
    Error, Explicit, Implicit, Linearised, MirrorProx, MirrorProxPrinted, MomentMatching, QuadraticBound, Site,
    SiteRule, SkipCovariance,
};

/// A likelihood raised to a power, `w·log p(y|t)` with its derivatives and expectations; or a [`WeightedRule`] for such an
/// observation.
///
/// Weight 2 says that the observation was made twice, 0 that it was not. `p^w` is not normalised over `y`, and
/// `log_predictive` is `log E[p^w]`.
///
/// ```
/// use vi_core::{Explicit, GaussianLikelihood, SiteRule, Weighted};
/// let noise = GaussianLikelihood::new(1.0)?;
/// let site = Explicit(Weighted::new(noise, 4.0)?).site(0.0, 2.0, 1.0)?;
/// assert_eq!(site, Explicit(GaussianLikelihood::new(0.25)?).site(0.0, 2.0, 1.0)?);
/// assert!(Weighted::new(noise, -1.0).is_err());
/// # Ok::<(), vi_core::Error>(())
/// ```
///
/// A pass in which the second observation is left out:
///
/// ```
/// use vi_core::{filter, Belief, DenseGaussian, Explicit, GaussianLikelihood, PerRow, Weighted};
/// let kalman = Explicit(GaussianLikelihood::new(0.5)?);
/// let rules = [Weighted::new(&kalman, 1.0)?, Weighted::new(&kalman, 0.0)?];
/// let mut belief = DenseGaussian::isotropic(&[0.0, 0.0], 1.0)?;
/// filter::run(&mut belief, &PerRow(&rules), &[1.0, 0.3, 0.2, 1.0], &[1.0, 40.0], |_, _, _| {})?;
/// assert!(belief.mean()[1] < 1.0);
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weighted<L> {
    inner: L,
    weight: f64,
}

impl<L> Weighted<L> {
    /// A likelihood to the power of `weight`, or a rule for observations of that weight.
    ///
    /// # Errors
    /// [`Error::Setting`] unless `weight ≥ 0` and finite.
    pub fn new(inner: L, weight: f64) -> Result<Self, Error> {
        check::not_negative("weight", weight)?;
        Ok(Self { inner, weight })
    }

    /// `likelihood` to the power of a weight that has been checked.
    pub(crate) fn of_checked(inner: L, weight: f64) -> Self {
        Self { inner, weight }
    }

    /// The likelihood or the rule itself, as for weight 1.
    pub fn inner(&self) -> &L {
        &self.inner
    }

    /// The weight.
    #[must_use]
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// `w·x`, and 0 for `w = 0` whatever `x` is.
    fn scale(&self, x: f64) -> f64 {
        if self.weight == 0.0 { 0.0 } else { self.weight * x }
    }
}

impl<L: Likelihood> Likelihood for Weighted<L> {
    fn family(&self) -> &'static str {
        self.inner.family()
    }

    fn supports(&self, label: f64) -> bool {
        self.inner.supports(label)
    }

    fn is_log_concave(&self) -> bool {
        self.inner.is_log_concave()
    }

    fn log_density(&self, y: f64, t: f64) -> f64 {
        self.scale(self.inner.log_density(y, t))
    }

    fn slope(&self, y: f64, t: f64) -> f64 {
        self.scale(self.inner.slope(y, t))
    }

    fn curvature(&self, y: f64, t: f64) -> f64 {
        self.scale(self.inner.curvature(y, t))
    }

    fn derivatives(&self, y: f64, t: f64) -> [f64; 3] {
        self.inner.derivatives(y, t).map(|x| self.scale(x))
    }

    fn beyond_tangent(&self, y: f64, t: f64, steps: &[f64], out: &mut [[f64; 2]]) {
        self.inner.beyond_tangent(y, t, steps, out);
        for out in out {
            *out = out.map(|x| self.scale(x));
        }
    }

    fn peak(&self, y: f64) -> Option<f64> {
        self.inner.peak(y)
    }

    fn fisher_information(&self, t: f64) -> f64 {
        self.scale(self.inner.fisher_information(t))
    }
}

impl<L: GaussianExpectation> GaussianExpectation for Weighted<L> {
    fn expected_log_density(&self, y: f64, a: f64, nu: f64) -> f64 {
        self.scale(self.inner.expected_log_density(y, a, nu))
    }

    fn expected_slope_curvature(&self, y: f64, a: f64, nu: f64) -> (f64, f64) {
        let (slope, curvature) = self.inner.expected_slope_curvature(y, a, nu);
        (self.scale(slope), self.scale(curvature))
    }

    fn expected(&self, y: f64, a: f64, nu: f64) -> Expected {
        let Expected { value, slope, curvature, third, fourth } = self.inner.expected(y, a, nu);
        Expected {
            value: self.scale(value),
            slope: self.scale(slope),
            curvature: self.scale(curvature),
            third: self.scale(third),
            fourth: self.scale(fourth),
        }
    }

    fn log_predictive(&self, y: f64, a: f64, nu: f64) -> f64 {
        self.tilted(y, a, nu).map_or(f64::NAN, |tilted| tilted.log_normaliser)
    }

    fn tilted(&self, y: f64, a: f64, nu: f64) -> Result<Tilted, Error> {
        if self.weight == 0.0 {
            Ok(Tilted { log_normaliser: 0.0, slope: 0.0, curvature: 0.0, variance: nu })
        } else if self.weight == 1.0 {
            self.inner.tilted(y, a, nu)
        } else {
            quadrature::tilted(self, y, a, nu)
        }
    }

    fn implicit_root(&self, y: f64, a: f64, nu: f64) -> Result<ImplicitRoot, Error> {
        if self.weight == 0.0 {
            Ok(ImplicitRoot { alpha: a, nu, gain: 0.0, curvature: 0.0 })
        } else if self.weight == 1.0 {
            self.inner.implicit_root(y, a, nu)
        } else {
            self.inner.weighted_implicit_root(self.weight, y, a, nu)
        }
    }

    fn weighted_implicit_root(&self, weight: f64, y: f64, a: f64, nu: f64) -> Result<ImplicitRoot, Error> {
        Weighted::of_checked(&self.inner, weight * self.weight).implicit_root(y, a, nu)
    }
}

/// A rule made from a likelihood whose observations can be given weights.
///
/// ```
/// use vi_core::{BernoulliLogit, Implicit, Mixture8, Site, SiteRule, WeightedRule};
/// let rule = Implicit(BernoulliLogit(Mixture8));
/// assert_eq!(rule.weighted_site(0.0, 0.3, 2.0, 1.0)?, Site { slope: 0.0, curvature: 0.0 });
/// assert_eq!(rule.weighted_site(1.0, 0.3, 2.0, 1.0)?, rule.site(0.3, 2.0, 1.0)?);
/// # Ok::<(), vi_core::Error>(())
/// ```
pub trait WeightedRule: SiteRule {
    /// The likelihood of one observation.
    type Likelihood: Likelihood;

    /// The rule's likelihood, at weight 1.
    fn likelihood(&self) -> &Self::Likelihood;

    /// The rule's site of `weight·log p(y|t)`, for `weight` neither 0 nor 1.
    ///
    /// # Errors
    /// As [`SiteRule::site`].
    fn reweighted_site(&self, weight: f64, a: f64, nu: f64, y: f64) -> Result<Site, Error>;

    /// The site of an observation of weight `weight ≥ 0`: zero at 0, the rule's own at 1.
    ///
    /// # Errors
    /// As [`SiteRule::site`]; [`Error::Setting`] unless `weight ≥ 0` and finite.
    fn weighted_site(&self, weight: f64, a: f64, nu: f64, y: f64) -> Result<Site, Error> {
        check::not_negative("weight", weight)?;
        if weight == 0.0 {
            Ok(Site { slope: 0.0, curvature: 0.0 })
        } else if weight == 1.0 {
            self.site(a, nu, y)
        } else {
            self.reweighted_site(weight, a, nu, y)
        }
    }
}

macro_rules! weighted_rule {
    ($($rule:ident),*) => {$(
        impl<L: GaussianExpectation> WeightedRule for $rule<L> {
            type Likelihood = L;

            fn likelihood(&self) -> &L {
                &self.0
            }

            fn reweighted_site(&self, weight: f64, a: f64, nu: f64, y: f64) -> Result<Site, Error> {
                $rule(Weighted { inner: &self.0, weight }).site(a, nu, y)
            }
        }
    )*};
}

weighted_rule!(Implicit, Explicit, MomentMatching, MirrorProx, MirrorProxPrinted, SkipCovariance);

impl<L: Likelihood> WeightedRule for Linearised<L> {
    type Likelihood = L;

    fn likelihood(&self) -> &L {
        &self.likelihood
    }

    fn reweighted_site(&self, weight: f64, a: f64, nu: f64, y: f64) -> Result<Site, Error> {
        let information: Information = self.information;
        Linearised { likelihood: Weighted { inner: &self.likelihood, weight }, information }.site(a, nu, y)
    }
}

impl WeightedRule for QuadraticBound {
    type Likelihood = BernoulliLogit<Mixture8>;

    fn likelihood(&self) -> &Self::Likelihood {
        &BernoulliLogit(Mixture8)
    }

    fn reweighted_site(&self, weight: f64, a: f64, nu: f64, y: f64) -> Result<Site, Error> {
        self.site_at_weight(weight, a, nu, y)
    }
}

impl<R: WeightedRule> SiteRule for Weighted<R> {
    fn check_label(&self, label: f64) -> Result<(), Error> {
        self.inner.check_label(label)
    }

    fn site(&self, a: f64, nu: f64, y: f64) -> Result<Site, Error> {
        self.inner.weighted_site(self.weight, a, nu, y)
    }
}

impl<R: WeightedRule + ?Sized> WeightedRule for &R {
    type Likelihood = R::Likelihood;

    fn likelihood(&self) -> &Self::Likelihood {
        (**self).likelihood()
    }

    fn reweighted_site(&self, weight: f64, a: f64, nu: f64, y: f64) -> Result<Site, Error> {
        (**self).reweighted_site(weight, a, nu, y)
    }
}
