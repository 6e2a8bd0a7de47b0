//! Likelihoods `p(y|t)` of a scalar predictor `t = xᵀθ`: log-density, derivatives, Gaussian expectations.

use crate::check;
use crate::implicit::{self, ImplicitRoot};
use crate::{Error, Site, Weighted, quadrature};

/// A likelihood of one label given a scalar predictor `t = xᵀθ`. `∂` is the derivative by `t`.
pub trait Likelihood {
    /// The name of the family, for messages.
    fn family(&self) -> &'static str;

    /// Whether `label` has positive density or probability.
    fn supports(&self, label: f64) -> bool;

    /// Whether `log p(y|t)` is concave in `t` for every label. Searches for implicit roots and modes rely on it.
    fn is_log_concave(&self) -> bool {
        true
    }

    /// The log-density `log p(y|t)` in nats, normalised over `y`.
    fn log_density(&self, y: f64, t: f64) -> f64;

    /// The slope `∂ log p(y|t)`.
    fn slope(&self, y: f64, t: f64) -> f64;

    /// The observed information `−∂² log p(y|t)`.
    fn curvature(&self, y: f64, t: f64) -> f64;

    /// `log p`, `∂ log p` and `−∂² log p` together, for likelihoods that share work between them.
    fn derivatives(&self, y: f64, t: f64) -> [f64; 3] {
        [self.log_density(y, t), self.slope(y, t), self.curvature(y, t)]
    }

    /// Adds one label's log-densities at many predictors: `values_i ← values_i + log p(y|t_i)`, `values` as long as `t`. A
    /// likelihood may use vector instructions, so that the last digits differ from those of [`log_density`](Self::log_density).
    fn add_log_densities(&self, y: f64, t: &[f64], values: &mut [f64]) {
        for (value, &t) in values.iter_mut().zip(t) {
            *value += self.log_density(y, t);
        }
    }

    /// Adds as [`add_log_densities`](Self::add_log_densities) does, and replaces `t_i` by `∂ log p(y|t_i)`.
    fn add_log_densities_and_slopes(&self, y: f64, t: &mut [f64], values: &mut [f64]) {
        for (value, t) in values.iter_mut().zip(t) {
            *value += self.log_density(y, *t);
            *t = self.slope(y, *t);
        }
    }

    /// How `log p` leaves its tangent at `t`: for each step `δ` writes
    ///
    /// ```text
    /// log p(y|t+δ) − log p(y|t) − δ·∂ log p(y|t)      ∂ log p(y|t+δ) − ∂ log p(y|t)
    /// ```
    ///
    /// into `out`, which is as long as `steps`. The default takes differences, which lose digits when a step `δ` is small; a
    /// likelihood that has closed forms should override it.
    fn beyond_tangent(&self, y: f64, t: f64, steps: &[f64], out: &mut [[f64; 2]]) {
        let (at, slope) = (self.log_density(y, t), self.slope(y, t));
        for (out, &step) in out.iter_mut().zip(steps) {
            *out = [self.log_density(y, t + step) - at - slope * step, self.slope(y, t + step) - slope];
        }
    }

    /// The `t` at which `log p(y|t)` is largest, infinite if it has no maximum; searches for modes start there. Returns `None` if
    /// there is no closed form.
    fn peak(&self, _y: f64) -> Option<f64> {
        None
    }

    /// The Fisher information `E_y[−∂² log p(y|t)]`.
    fn fisher_information(&self, t: f64) -> f64;

    /// Checks a label.
    ///
    /// # Errors
    /// [`Error::NonFinite`] or [`Error::Label`].
    fn check_label(&self, label: f64) -> Result<(), Error> {
        if !label.is_finite() {
            Err(Error::NonFinite { argument: "label", index: 0, value: label })
        } else if self.supports(label) {
            Ok(())
        } else {
            Err(Error::Label { label, family: self.family() })
        }
    }
}

/// `E[log p(y|t)]` and its derivatives by the mean `a`, under `t ~ N(a, ν)`.
///
/// By Bonnet's theorem the derivatives by `a` are the expectations of the derivatives, and by
/// Price's the derivative by `ν` is half of the second: `∂E/∂ν = −½·curvature`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected {
    /// `E[log p]`.
    pub value: f64,
    /// `E[∂ log p]`.
    pub slope: f64,
    /// `−E[∂² log p]`.
    pub curvature: f64,
    /// `E[∂³ log p]`.
    pub third: f64,
    /// `E[∂⁴ log p]`.
    pub fourth: f64,
}

impl Expected {
    /// All fields are NaN: the expectation could not be computed.
    pub(crate) const NAN: Self =
        Self { value: f64::NAN, slope: f64::NAN, curvature: f64::NAN, third: f64::NAN, fourth: f64::NAN };
}

/// The tilted density `p(y|t)·N(t|a, ν)/Z`, given by `ℓ(a, ν) = log Z`. Its mean is `a + ν·ℓ′`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tilted {
    /// `ℓ = log Z = log E[p(y|t)]`, in nats.
    pub log_normaliser: f64,
    /// `ℓ′ = ∂ℓ/∂a`.
    pub slope: f64,
    /// `h = −ℓ″/(1+νℓ″)`: by how much `1/variance` exceeds `1/ν`. Negative if the tilted density is wider than the Gaussian.
    pub curvature: f64,
    /// The variance `ν(1+νℓ″) = ν/(1+hν)`.
    pub variance: f64,
}

impl Tilted {
    /// The site that gives a belief with projected variance `nu` the mean and variance of this density.
    pub fn site(&self, nu: f64) -> Site {
        Site { slope: (1.0 + self.curvature * nu) * self.slope, curvature: self.curvature }
    }

    /// This density, if all its numbers are finite.
    ///
    /// # Errors
    /// [`Error::Overflow`] with the first that is not finite.
    pub(crate) fn checked(self) -> Result<Self, Error> {
        check::result("log E p(y|t)", self.log_normaliser)?;
        check::result("the slope of log E p(y|t)", self.slope)?;
        check::result("the curvature of the tilted density", self.curvature)?;
        check::result("the variance of the tilted density", self.variance)?;
        Ok(self)
    }
}

/// A likelihood whose expectations under a Gaussian predictor `t ~ N(a, ν)` can be computed.
pub trait GaussianExpectation: Likelihood {
    /// `E[log p(y|t)]` alone.
    fn expected_log_density(&self, y: f64, a: f64, nu: f64) -> f64 {
        self.expected(y, a, nu).value
    }

    /// The expected slope and curvature `(E[∂ log p], −E[∂² log p])`, which the filters need.
    fn expected_slope_curvature(&self, y: f64, a: f64, nu: f64) -> (f64, f64) {
        let expected = self.expected(y, a, nu);
        (expected.slope, expected.curvature)
    }

    /// The expectation and its first four derivatives by `a`, for `nu ≥ 0`.
    fn expected(&self, y: f64, a: f64, nu: f64) -> Expected;

    /// The log of the one-step-ahead predictive density, `log E[p(y|t)]`, in nats.
    fn log_predictive(&self, y: f64, a: f64, nu: f64) -> f64;

    /// The tilted density `p(y|t)·N(t|a, ν)/Z`: normaliser, mean and variance, for moment matching.
    ///
    /// # Errors
    /// As [`quadrature::tilted`], which is used where there is no closed form.
    fn tilted(&self, y: f64, a: f64, nu: f64) -> Result<Tilted, Error> {
        quadrature::tilted(self, y, a, nu)
    }

    /// The implicit step: the `(α, ν*)` at which expectation and update agree,
    /// `α = a + ν·E∂`, `ν* = ν/(1 + ν·(−E∂²))`, both expectations under `N(α, ν*)`.
    ///
    /// # Errors
    /// [`Error::RootNotFound`].
    fn implicit_root(&self, y: f64, a: f64, nu: f64) -> Result<ImplicitRoot, Error>
    where
        Self: Sized,
    {
        if self.is_log_concave() {
            implicit::log_concave_root(self, y, a, nu)
        } else {
            implicit::lowest_root(self, y, a, nu)
        }
    }

    /// The implicit step of `weight·log p(y|t)`, `weight > 0`.
    ///
    /// # Errors
    /// As [`implicit_root`](Self::implicit_root).
    fn weighted_implicit_root(&self, weight: f64, y: f64, a: f64, nu: f64) -> Result<ImplicitRoot, Error>
    where
        Self: Sized,
    {
        let weighted = Weighted::of_checked(self, weight);
        if self.is_log_concave() {
            implicit::log_concave_root(&weighted, y, a, nu)
        } else {
            implicit::lowest_root(&weighted, y, a, nu)
        }
    }
}

impl<L: Likelihood + ?Sized> Likelihood for &L {
    fn family(&self) -> &'static str {
        (**self).family()
    }

    fn supports(&self, label: f64) -> bool {
        (**self).supports(label)
    }

    fn is_log_concave(&self) -> bool {
        (**self).is_log_concave()
    }

    fn log_density(&self, y: f64, t: f64) -> f64 {
        (**self).log_density(y, t)
    }

    fn slope(&self, y: f64, t: f64) -> f64 {
        (**self).slope(y, t)
    }

    fn curvature(&self, y: f64, t: f64) -> f64 {
        (**self).curvature(y, t)
    }

    fn derivatives(&self, y: f64, t: f64) -> [f64; 3] {
        (**self).derivatives(y, t)
    }

    fn add_log_densities(&self, y: f64, t: &[f64], values: &mut [f64]) {
        (**self).add_log_densities(y, t, values);
    }

    fn add_log_densities_and_slopes(&self, y: f64, t: &mut [f64], values: &mut [f64]) {
        (**self).add_log_densities_and_slopes(y, t, values);
    }

    fn beyond_tangent(&self, y: f64, t: f64, steps: &[f64], out: &mut [[f64; 2]]) {
        (**self).beyond_tangent(y, t, steps, out);
    }

    fn peak(&self, y: f64) -> Option<f64> {
        (**self).peak(y)
    }

    fn fisher_information(&self, t: f64) -> f64 {
        (**self).fisher_information(t)
    }
}

impl<L: GaussianExpectation> GaussianExpectation for &L {
    fn expected_log_density(&self, y: f64, a: f64, nu: f64) -> f64 {
        (**self).expected_log_density(y, a, nu)
    }

    fn expected_slope_curvature(&self, y: f64, a: f64, nu: f64) -> (f64, f64) {
        (**self).expected_slope_curvature(y, a, nu)
    }

    fn expected(&self, y: f64, a: f64, nu: f64) -> Expected {
        (**self).expected(y, a, nu)
    }

    fn log_predictive(&self, y: f64, a: f64, nu: f64) -> f64 {
        (**self).log_predictive(y, a, nu)
    }

    fn tilted(&self, y: f64, a: f64, nu: f64) -> Result<Tilted, Error> {
        (**self).tilted(y, a, nu)
    }

    fn implicit_root(&self, y: f64, a: f64, nu: f64) -> Result<ImplicitRoot, Error> {
        (**self).implicit_root(y, a, nu)
    }

    fn weighted_implicit_root(&self, weight: f64, y: f64, a: f64, nu: f64) -> Result<ImplicitRoot, Error> {
        (**self).weighted_implicit_root(weight, y, a, nu)
    }
}
