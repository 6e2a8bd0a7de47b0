//! Counts with more zeros than a negative binomial has, with the log link.

use vi_core::quadrature::Quadrature;
use vi_core::{Error, Expected, GaussianExpectation, Likelihood, Mixture8, Tilted};

use super::NegativeBinomial;

/// The zero-inflated negative binomial likelihood: a share `π` of the labels is 0 whatever the predictor, the others are counts of mean `m =
/// E·eᵗ` and size `r`.
///
/// ```text
/// P(0|t) = π + (1−π)·NB(0|t),   P(y|t) = (1−π)·NB(y|t) for y > 0
/// ```
///
/// A 0 of which the share `q = (1−π)·NB(0|t)/P(0|t)` is no excess has the slope `q·∂ log NB(0|t)`. It is not log-concave: where excess zeros are
/// likely, a 0 can leave a belief wider than it was. The tilted density of a 0 is the mixture of the Gaussian and of the tilted density of
/// the [`NegativeBinomial`]. Each function costs what that one does, but for [`expected`](GaussianExpectation::expected) at 0, which is by
/// [`quadrature`](vi_core::quadrature).
///
/// ```
/// use vi_core::{Likelihood, MomentMatching, SiteRule};
/// use vi_models::likelihood::{NegativeBinomial, ZeroInflated};
/// let counts = ZeroInflated::new(0.5, NegativeBinomial::new(2.0)?)?;
/// // NB(0 | m = 2) = ¼.
/// assert!((counts.log_density(0.0, f64::ln(2.0)) - f64::ln(0.625)).abs() < 1e-15);
/// // At the mean e⁶ a 0 is an excess zero and tells nothing.
/// assert!(MomentMatching(counts).site(6.0, 0.1, 0.0)?.slope.abs() < 0.01);
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ZeroInflated {
    share: f64,
    counts: NegativeBinomial<Mixture8>,
}

impl ZeroInflated {
    /// The likelihood with the share `π` of excess zeros.
    ///
    /// # Errors
    /// [`Error::Setting`] unless `0 ≤ π < 1`.
    pub fn new(share: f64, counts: NegativeBinomial<Mixture8>) -> Result<Self, Error> {
        if (0.0..1.0).contains(&share) {
            Ok(Self { share, counts })
        } else {
            Err(Error::Setting { name: "share of excess zeros", value: share, requirement: "at least 0 and below 1" })
        }
    }

    /// The share `π` of excess zeros.
    pub(crate) fn share(&self) -> f64 {
        self.share
    }

    /// The counts that are no excess zeros.
    pub(crate) fn counts(&self) -> &NegativeBinomial<Mixture8> {
        &self.counts
    }

    /// `log(1 − π)`.
    pub(crate) fn log_rest(&self) -> f64 {
        (-self.share).ln_1p()
    }

    /// `log P(0)` and the share of it that is no excess, where the counts have `log NB(0) = of_counts`.
    fn of_zero(&self, of_counts: f64) -> (f64, f64) {
        let counted = self.log_rest() + of_counts;
        let all = (self.share + counted.exp()).ln();
        if all.is_finite() { (all, (counted - all).exp()) } else { (counted, 1.0) }
    }
}

impl Likelihood for ZeroInflated {
    fn family(&self) -> &'static str {
        "zero-inflated negative binomial (counts 0, 1, 2, …)"
    }

    fn supports(&self, label: f64) -> bool {
        self.counts.supports(label)
    }

    fn is_log_concave(&self) -> bool {
        false
    }

    fn log_density(&self, y: f64, t: f64) -> f64 {
        let of_counts = self.counts.log_density(y, t);
        if y == 0.0 { self.of_zero(of_counts).0 } else { self.log_rest() + of_counts }
    }

    fn slope(&self, y: f64, t: f64) -> f64 {
        self.derivatives(y, t)[1]
    }

    fn curvature(&self, y: f64, t: f64) -> f64 {
        self.derivatives(y, t)[2]
    }

    /// Of a 0 `q·c − q(1−q)·s²`, with slope `s` and curvature `c` of `log NB(0)`.
    fn derivatives(&self, y: f64, t: f64) -> [f64; 3] {
        let [of_counts, slope, curvature] = self.counts.derivatives(y, t);
        if y > 0.0 {
            return [self.log_rest() + of_counts, slope, curvature];
        }
        let (value, counted) = self.of_zero(of_counts);
        [value, counted * slope, counted * (curvature - (1.0 - counted) * slope * slope)]
    }

    /// `(1−π)(I − (1−q)·NB(0)·s²)` with the information `I` of the counts.
    fn fisher_information(&self, t: f64) -> f64 {
        let zero = self.counts.log_density(0.0, t);
        let (_, counted) = self.of_zero(zero);
        let lost = (1.0 - counted) * zero.exp() * self.counts.slope(0.0, t).powi(2);
        (1.0 - self.share) * (self.counts.fisher_information(t) - lost).max(0.0)
    }
}

impl GaussianExpectation for ZeroInflated {
    fn expected(&self, y: f64, a: f64, nu: f64) -> Expected {
        if y == 0.0 {
            return Quadrature(self).expected(y, a, nu);
        }
        let of_counts = self.counts.expected(y, a, nu);
        Expected { value: self.log_rest() + of_counts.value, ..of_counts }
    }

    fn log_predictive(&self, y: f64, a: f64, nu: f64) -> f64 {
        let of_counts = self.counts.log_predictive(y, a, nu);
        if y == 0.0 { self.of_zero(of_counts).0 } else { self.log_rest() + of_counts }
    }

    /// Of a 0, with slope `s` and variance `v` of the tilted density of the counts: slope `qs`, variance `(1−q)ν + qv + q(1−q)(νs)²`.
    fn tilted(&self, y: f64, a: f64, nu: f64) -> Result<Tilted, Error> {
        let of_counts = self.counts.tilted(y, a, nu)?;
        if y > 0.0 {
            return Ok(Tilted { log_normaliser: self.log_rest() + of_counts.log_normaliser, ..of_counts });
        }
        let (log_normaliser, counted) = self.of_zero(of_counts.log_normaliser);
        let Tilted { slope, curvature, .. } = of_counts;
        // −∂² log E NB(0), and that of the mixture.
        let bend = curvature / (1.0 + curvature * nu);
        let bend = counted * (bend - (1.0 - counted) * slope * slope);
        let left = 1.0 - nu * bend;
        Ok(Tilted { log_normaliser, slope: counted * slope, curvature: bend / left, variance: nu * left })
    }
}
