//! Counts that vary more than a Poisson's, with the log link.

use vi_core::expectation::LogisticExpectation;
use vi_core::quadrature::Quadrature;
use vi_core::{Error, Expected, GaussianExpectation, Likelihood, Mixture8, quadrature};

use crate::check;

use super::logistic_counts::{LogisticCounts, is_count};
use super::saddle::ln_choose;

/// The negative binomial likelihood: `y ∈ {0, 1, 2, …}` with mean `m = E·eᵗ` and variance `m + m²/r`, exposure `E`, size `r` (a
/// gamma mixture of Poissons).
///
/// ```text
/// p(y|t) = Γ(y+r)/(Γ(r)·y!)·(m/(r+m))ʸ·(r/(r+m))ʳ = C·s(u)ʸ·s(−u)ʳ,   u = t + log(E/r)
/// ```
///
/// As `r → ∞` it becomes a [`Poisson`](super::Poisson). `M` says how Gaussian expectations of the logistic function are computed:
/// [`Mixture8`] is off by at most `8.1e-9·(y+r)` nats, [`Exact`](vi_core::Exact) by rounding; if `y+r` is so large that this is
/// not small beside the spread of the counts themselves, quadrature replaces either. The predictive density and tilted moments
/// are by [`quadrature`]. Log-concave in `t`. If rows have different exposures, use a [`PerRow`](vi_core::PerRow).
///
/// ```
/// use vi_core::{Implicit, Likelihood, SiteRule};
/// use vi_models::likelihood::NegativeBinomial;
/// let counts = NegativeBinomial::new(2.0)?;
/// // Geometric-like: p(0 | m = 2) = (r/(r+m))ʳ = ¼.
/// assert!((counts.log_density(0.0, f64::ln(2.0)) - f64::ln(0.25)).abs() < 1e-15);
/// assert!(Implicit(counts.with_exposure(3.0)?).site(0.0, 1.0, 0.0)?.slope < 0.0);
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NegativeBinomial<M = Mixture8> {
    size: f64,
    exposure: f64,
    /// `log(E/r)`.
    shift: f64,
    method: M,
}

impl NegativeBinomial<Mixture8> {
    /// The likelihood of size `size = r` and exposure 1.
    ///
    /// # Errors
    /// [`Error::Setting`] unless `r` is positive and finite.
    pub fn new(size: f64) -> Result<Self, Error> {
        Self::with_method(size, Mixture8)
    }
}

impl<M> NegativeBinomial<M> {
    /// The likelihood with Gaussian expectations computed by `method`.
    ///
    /// # Errors
    /// As [`new`](NegativeBinomial::new).
    pub fn with_method(size: f64, method: M) -> Result<Self, Error> {
        check::positive("size", size)?;
        Ok(Self { size, exposure: 1.0, shift: -size.ln(), method })
    }

    /// This likelihood at exposure `E`: counts over `E` units of time, area or population.
    ///
    /// # Errors
    /// [`Error::Setting`] unless `E` is positive and finite.
    pub fn with_exposure(self, exposure: f64) -> Result<Self, Error> {
        check::positive("exposure", exposure)?;
        Ok(Self { exposure, shift: exposure.ln() - self.size.ln(), ..self })
    }

    /// The size `r`.
    #[must_use]
    pub fn size(&self) -> f64 {
        self.size
    }

    /// The exposure `E`.
    pub(crate) fn exposure(&self) -> f64 {
        self.exposure
    }

    fn without_constant(&self, y: f64) -> LogisticCounts {
        LogisticCounts { successes: y, failures: self.size, constant: 0.0 }
    }

    fn counts(&self, y: f64) -> LogisticCounts {
        LogisticCounts { constant: ln_choose(y, self.size) + self.ln_last(y), ..self.without_constant(y) }
    }

    /// `log r/(y+r)`, the log ratio of `Γ(y+r)/(Γ(r)·y!)` to `C(y+r, y)`.
    fn ln_last(&self, y: f64) -> f64 {
        -(y / self.size).ln_1p()
    }
}

impl<M: LogisticExpectation> Likelihood for NegativeBinomial<M> {
    fn family(&self) -> &'static str {
        "negative binomial (counts 0, 1, 2, …)"
    }

    fn supports(&self, label: f64) -> bool {
        is_count(label)
    }

    fn log_density(&self, y: f64, t: f64) -> f64 {
        self.without_constant(y).ln_binomial(self.shift, t) + self.ln_last(y)
    }

    fn slope(&self, y: f64, t: f64) -> f64 {
        self.without_constant(y).slope(self.shift, t)
    }

    fn curvature(&self, y: f64, t: f64) -> f64 {
        self.without_constant(y).curvature(t + self.shift)
    }

    fn derivatives(&self, y: f64, t: f64) -> [f64; 3] {
        let [value, slope, curvature] = self.without_constant(y).derivatives(self.shift, t);
        [value + self.ln_last(y), slope, curvature]
    }

    fn beyond_tangent(&self, y: f64, t: f64, steps: &[f64], out: &mut [[f64; 2]]) {
        self.without_constant(y).beyond_tangent(t + self.shift, steps, out);
    }

    fn peak(&self, y: f64) -> Option<f64> {
        self.without_constant(y).peak().map(|peak| peak - self.shift)
    }

    /// `(E y + r)·s′(u) = r·s(u)`.
    fn fisher_information(&self, t: f64) -> f64 {
        self.size * vi_core::special::sigmoid(t + self.shift)
    }
}

impl<M: LogisticExpectation> GaussianExpectation for NegativeBinomial<M> {
    fn expected_log_density(&self, y: f64, a: f64, nu: f64) -> f64 {
        if self.without_constant(y).outgrow(&self.method) {
            return Quadrature(self).expected_log_density(y, a, nu);
        }
        self.counts(y).expected_log_density(&self.method, a + self.shift, nu)
    }

    fn expected_slope_curvature(&self, y: f64, a: f64, nu: f64) -> (f64, f64) {
        if self.without_constant(y).outgrow(&self.method) {
            return Quadrature(self).expected_slope_curvature(y, a, nu);
        }
        self.without_constant(y).expected_slope_curvature(&self.method, a + self.shift, nu)
    }

    fn expected(&self, y: f64, a: f64, nu: f64) -> Expected {
        if self.without_constant(y).outgrow(&self.method) {
            return Quadrature(self).expected(y, a, nu);
        }
        self.counts(y).expected(&self.method, a + self.shift, nu)
    }

    fn log_predictive(&self, y: f64, a: f64, nu: f64) -> f64 {
        quadrature::tilted(self, y, a, nu).map_or(f64::NAN, |tilted| tilted.log_normaliser)
    }
}
