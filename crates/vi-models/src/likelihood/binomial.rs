//! Successes among a number of trials, with the logistic link.

use vi_core::expectation::LogisticExpectation;
use vi_core::quadrature::Quadrature;
use vi_core::{Error, Expected, GaussianExpectation, Likelihood, Mixture8, quadrature};

use super::logistic_counts::{LogisticCounts, is_count};
use super::saddle::ln_choose;

/// The binomial likelihood `p(y|t) = C(n, y)·s(t)ʸ·s(−t)ⁿ⁻ʸ`: `y` successes in `n` trials, each with probability `s(t)`.
///
/// `M` says how Gaussian expectations of the logistic function are computed, as for [`BernoulliLogit`](vi_core::BernoulliLogit):
/// [`Mixture8`] is off by at most `8.1e-9·n` nats, [`Exact`](vi_core::Exact) by rounding; if `n` is so large that this is not
/// small beside the spread of the counts themselves, quadrature replaces either. The predictive density and tilted moments are by
/// [`quadrature`]. Log-concave. If rows have different `n`, use a [`PerRow`](vi_core::PerRow).
///
/// ```
/// use vi_core::{Implicit, Likelihood, SiteRule};
/// use vi_models::likelihood::Binomial;
/// let ten = Binomial::new(10.0)?;
/// assert!((ten.log_density(5.0, 0.0) - (252.0_f64 / 1024.0).ln()).abs() < 1e-13);
/// let site = Implicit(ten).site(0.0, 1.0, 9.0)?;
/// assert!(site.slope > 0.0);
/// assert_eq!(ten.check_label(11.0).unwrap_err().to_string(),
///     "label 11 is outside the support of the binomial (integers from 0 to the number of trials) likelihood");
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Binomial<M = Mixture8> {
    trials: f64,
    method: M,
}

impl Binomial<Mixture8> {
    /// The likelihood of the number of successes in `trials = n` trials.
    ///
    /// # Errors
    /// [`Error::Setting`] unless `n` is one of 0, 1, 2, ….
    pub fn new(trials: f64) -> Result<Self, Error> {
        Self::with_method(trials, Mixture8)
    }
}

impl<M> Binomial<M> {
    /// The likelihood with Gaussian expectations computed by `method`.
    ///
    /// # Errors
    /// As [`new`](Binomial::new).
    pub fn with_method(trials: f64, method: M) -> Result<Self, Error> {
        if is_count(trials) {
            Ok(Self { trials, method })
        } else {
            Err(Error::Setting { name: "trials", value: trials, requirement: "a whole number, not negative" })
        }
    }

    /// The number of trials `n`.
    pub(crate) fn trials(&self) -> f64 {
        self.trials
    }

    fn without_constant(&self, y: f64) -> LogisticCounts {
        LogisticCounts { successes: y, failures: self.trials - y, constant: 0.0 }
    }

    fn counts(&self, y: f64) -> LogisticCounts {
        LogisticCounts { constant: ln_choose(y, self.trials - y), ..self.without_constant(y) }
    }
}

impl<M: LogisticExpectation> Likelihood for Binomial<M> {
    fn family(&self) -> &'static str {
        "binomial (integers from 0 to the number of trials)"
    }

    fn supports(&self, label: f64) -> bool {
        is_count(label) && label <= self.trials
    }

    fn log_density(&self, y: f64, t: f64) -> f64 {
        self.without_constant(y).ln_binomial(0.0, t)
    }

    fn slope(&self, y: f64, t: f64) -> f64 {
        self.without_constant(y).slope(0.0, t)
    }

    fn curvature(&self, y: f64, t: f64) -> f64 {
        self.without_constant(y).curvature(t)
    }

    fn beyond_tangent(&self, y: f64, t: f64, steps: &[f64], out: &mut [[f64; 2]]) {
        self.without_constant(y).beyond_tangent(t, steps, out);
    }

    fn peak(&self, y: f64) -> Option<f64> {
        self.without_constant(y).peak()
    }

    fn fisher_information(&self, t: f64) -> f64 {
        self.without_constant(0.0).curvature(t)
    }
}

impl<M: LogisticExpectation> GaussianExpectation for Binomial<M> {
    fn expected_log_density(&self, y: f64, a: f64, nu: f64) -> f64 {
        if self.without_constant(y).outgrow(&self.method) {
            return Quadrature(self).expected_log_density(y, a, nu);
        }
        self.counts(y).expected_log_density(&self.method, a, nu)
    }

    fn expected_slope_curvature(&self, y: f64, a: f64, nu: f64) -> (f64, f64) {
        if self.without_constant(y).outgrow(&self.method) {
            return Quadrature(self).expected_slope_curvature(y, a, nu);
        }
        self.without_constant(y).expected_slope_curvature(&self.method, a, nu)
    }

    fn expected(&self, y: f64, a: f64, nu: f64) -> Expected {
        if self.without_constant(y).outgrow(&self.method) {
            return Quadrature(self).expected(y, a, nu);
        }
        self.counts(y).expected(&self.method, a, nu)
    }

    fn log_predictive(&self, y: f64, a: f64, nu: f64) -> f64 {
        quadrature::tilted(self, y, a, nu).map_or(f64::NAN, |tilted| tilted.log_normaliser)
    }
}
