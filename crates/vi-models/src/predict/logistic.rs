//! Predictions of a logistic regression.

use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal};
use vi_core::expectation::LogisticExpectation;
use vi_core::special::{normal_cdf, normal_density, sigmoid};
use vi_core::{
    BernoulliLogit, DenseGaussian, Exact, GaussianExpectation, Likelihood, Mixture8, ProbitApproximation, Projection,
};
use vi_linalg::faer::MatRef;

use super::Predictive;
use crate::interval::two_sided;
use crate::{Interval, ModelError, check};
use vi_core::special::normal_quantile;

/// A way to take Gaussian expectations of the logistic function that also gives the variance of `s(t)` under `t ~ N(a, ν)`.
pub trait ProbabilityVariance: LogisticExpectation {
    /// `Var s(t) = E s² − (E s)² = E s·(1 − E s) − E s′`, since `s² = s − s′`. Never negative, `nu ≥ 0`.
    fn probability_variance(&self, a: f64, nu: f64) -> f64;
}

impl ProbabilityVariance for ProbitApproximation {
    /// `s(ka)·(1 − s(ka))·(1 − k)` (R-VGA eq 63), to full relative precision.
    fn probability_variance(&self, a: f64, nu: f64) -> f64 {
        let k = Self::scale(nu);
        // β² = k²(ν+β²): 1 − k = (1−k²)/(1+k) = k²·(ν/β²)/(1+k).
        let beta_squared = vi_core::expectation::BETA * vi_core::expectation::BETA;
        let one_minus_k = k * k * (nu / beta_squared) / (1.0 + k);
        sigmoid(k * a) * sigmoid(-k * a) * one_minus_k
    }
}

impl ProbabilityVariance for Mixture8 {
    /// By quadrature for `ν ≤ 1`, as [`Exact`]; beyond, the difference of moments, off by at most 2.4e-8.
    fn probability_variance(&self, a: f64, nu: f64) -> f64 {
        if nu <= QUADRATURE_LIMIT { by_quadrature(a, nu) } else { by_difference(self, a, nu) }
    }
}

impl ProbabilityVariance for Exact {
    /// By quadrature for `ν ≤ 1`, to full relative precision; beyond, the difference of moments, off by about 1e-14 of
    /// `E s(−|t|)`.
    fn probability_variance(&self, a: f64, nu: f64) -> f64 {
        if nu <= QUADRATURE_LIMIT { by_quadrature(a, nu) } else { by_difference(self, a, nu) }
    }
}

/// The largest `ν` for which quadrature is used, since the difference of moments cancels and few nodes suffice.
const QUADRATURE_LIMIT: f64 = 1.0;

/// `E s·E(1−s) − E s′`.
fn by_difference<M: LogisticExpectation>(method: &M, a: f64, nu: f64) -> f64 {
    let (mean, derivative) = method.sigmoid(a, nu);
    let (complement, _) = method.sigmoid(-a, nu);
    (mean * complement - derivative).max(0.0)
}

/// `E d² − (E d)²`, `d = s(a+σx) − s(a)`, by the trapezoid rule.
///
/// Spectrally accurate: with step `h` the Gaussian contributes `e^(−2π²/h²)`, the logistic's poles, `π/σ ≥ π` away,
/// `e^(π²/2 − 2π·π/h)`, both below 1e-17.
/// `x` reaches 12, where even `e^(2σx)`, the fastest growth of `d²`, is negligible under the Gaussian.
fn by_quadrature(a: f64, nu: f64) -> f64 {
    const STEP: f64 = 0.4;
    let sigma = nu.sqrt();
    let (mut first, mut second) = (0.0, 0.0);
    for i in -30..=30 {
        let x = STEP * f64::from(i);
        let weight = STEP * normal_density(x);
        // s(t) − s(a) = −s(t)·s(−a)·(e^(a−t) − 1), with the sign that cannot overflow.
        let shift = sigma * x;
        let difference = if shift >= 0.0 {
            -sigmoid(a + shift) * sigmoid(-a) * (-shift).exp_m1()
        } else {
            sigmoid(a) * sigmoid(-a - shift) * shift.exp_m1()
        };
        first += weight * difference;
        second += weight * difference * difference;
    }
    (second - first * first).max(0.0)
}

/// The prediction of `p(y=1|x)` by a logistic regression at one row.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct LogisticPrediction {
    /// The predictor `t = xᵀθ ~ N(a, ν)`.
    pub projection: Projection,
    /// `E s(t)`, the predictive probability of label 1 (R-VGA eq 62).
    pub probability: f64,
    /// `Var s(t)`, the uncertainty of the probability that comes from `θ` (R-VGA eq 63).
    pub variance: f64,
    /// `s(a)`, the probability at the mean (for Laplace the mode) of `θ`; further from ½ than [`probability`](Self::probability)
    /// (R-VGA eq 122).
    pub plug_in: f64,
}

impl LogisticPrediction {
    /// The prediction from `xᵀθ ~ N(a, ν)`, `ν ≥ 0`; NaN if `a` or `ν` is.
    ///
    /// ```
    /// use vi_core::{ProbitApproximation, Projection};
    /// use vi_models::predict::LogisticPrediction;
    /// let seen = Projection { mean: 2.0, variance: 9.0 };
    /// let predicted = LogisticPrediction::new(seen, &ProbitApproximation);
    /// assert!(0.5 < predicted.probability && predicted.probability < predicted.plug_in);
    /// ```
    #[must_use]
    pub fn new<M: ProbabilityVariance>(seen: Projection, method: &M) -> Self {
        Self {
            projection: seen,
            // A quadrature's weights sum to 1 up to rounding.
            probability: method.sigmoid(seen.mean, seen.variance).0.clamp(0.0, 1.0),
            variance: method.probability_variance(seen.mean, seen.variance),
            plug_in: sigmoid(seen.mean),
        }
    }

    /// One draw of the probability `s(t)`, `t ~ N(a, ν)`, as from a draw of the weights.
    ///
    /// ```
    /// use rand::SeedableRng;
    /// use vi_core::{Mixture8, Projection};
    /// use vi_models::predict::LogisticPrediction;
    /// let certain = LogisticPrediction::new(Projection { mean: 2.0, variance: 0.0 }, &Mixture8);
    /// assert_eq!(certain.draw_probability(&mut rand_chacha::ChaCha8Rng::seed_from_u64(1)), certain.plug_in);
    /// ```
    pub fn draw_probability<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        let z: f64 = StandardNormal.sample(rng);
        sigmoid(self.projection.mean + self.projection.variance.sqrt() * z)
    }

    /// One draw of the label: 1 with the predictive [`probability`](Self::probability), else 0.
    ///
    /// ```
    /// use rand::SeedableRng;
    /// use vi_core::{Mixture8, Projection};
    /// use vi_models::predict::LogisticPrediction;
    /// let certain = LogisticPrediction::new(Projection { mean: 800.0, variance: 0.0 }, &Mixture8);
    /// assert_eq!(certain.draw_label(&mut rand_chacha::ChaCha8Rng::seed_from_u64(1)), 1.0);
    /// ```
    pub fn draw_label<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        f64::from(rng.random::<f64>() < self.probability)
    }
}

impl Predictive for LogisticPrediction {
    fn mean(&self) -> f64 {
        self.probability
    }

    fn variance(&self) -> f64 {
        self.variance
    }

    fn is_discrete(&self) -> bool {
        false
    }

    /// `log p(y)` of a label, in nats: that of [`probability`](Self::probability) for label 1, of its complement for label 0.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Label` or `NonFinite`.
    fn log_density(&self, y: f64) -> Result<f64, ModelError> {
        let logit = BernoulliLogit(Mixture8);
        logit.check_label(y)?;
        Ok(logit.log_predictive(y, self.projection.mean, self.projection.variance))
    }

    /// `P(s(xᵀθ) ≤ q)`: `Φ((logit q − a)/√ν)`, exact since `s` increases.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `NonFinite`.
    fn cdf(&self, q: f64) -> Result<f64, ModelError> {
        check::values("q", &[q])?;
        if q <= 0.0 || q >= 1.0 {
            return Ok(f64::from(u8::from(q >= 1.0)));
        }
        let (from_mean, sigma) = (q.ln() - (-q).ln_1p() - self.projection.mean, self.projection.variance.sqrt());
        Ok(if sigma > 0.0 { normal_cdf(from_mean / sigma) } else { f64::from(u8::from(from_mean >= 0.0)) })
    }

    /// The probability `q` with `P(s(xᵀθ) ≤ q) = p`: `s(a + z·√ν)`, `z = Φ⁻¹(p)`, exact since `s` increases.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` unless `0 < p < 1`.
    ///
    /// ```
    /// use vi_core::{Mixture8, Projection};
    /// use vi_models::predict::{LogisticPrediction, Predictive};
    /// let predicted = LogisticPrediction::new(Projection { mean: 2.0, variance: 9.0 }, &Mixture8);
    /// assert_eq!(predicted.quantile(0.5)?, predicted.plug_in);
    /// assert!((predicted.quantile(0.05)? - predicted.interval(0.9)?.lower).abs() < 1e-14);
    /// # Ok::<(), vi_models::ModelError>(())
    /// ```
    fn quantile(&self, p: f64) -> Result<f64, ModelError> {
        check::probability("p", p)?;
        Ok(sigmoid(self.projection.mean + normal_quantile(p) * self.projection.variance.sqrt()))
    }

    /// The interval that holds `s(xᵀθ)` with probability `level`: the image of the Gaussian's, exact since `s` increases.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` unless `0 < level < 1`.
    fn interval(&self, level: f64) -> Result<Interval, ModelError> {
        let half = two_sided(level)? * self.projection.variance.sqrt();
        Ok(Interval { lower: sigmoid(self.projection.mean - half), upper: sigmoid(self.projection.mean + half) })
    }
}

/// The predictions of a logistic regression for every row of `x` (`n × d`).
///
/// `method` is [`ProbitApproximation`] for the paper's (62)-(63), [`Mixture8`] for the integrals to 2e-9, [`Exact`] for them to
/// rounding. Cost `2nd²` flops and `n` expectations.
///
/// # Errors
/// Those of [`project`](super::project).
///
/// ```
/// use vi_core::{DenseGaussian, Mixture8};
/// use vi_linalg::faer::mat;
/// use vi_models::predict;
/// let belief = DenseGaussian::isotropic(&[0.5, -1.0], 2.0)?;
/// let predicted = predict::logistic(&belief, mat![[1.0, 0.0], [1.0, -3.0]].as_ref(), &Mixture8)?;
/// assert!(predicted[0].probability < predicted[1].probability);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn logistic<M: ProbabilityVariance>(
    belief: &DenseGaussian,
    x: MatRef<'_, f64>,
    method: &M,
) -> Result<Vec<LogisticPrediction>, ModelError> {
    Ok(super::project(belief, x)?.into_iter().map(|seen| LogisticPrediction::new(seen, method)).collect())
}
