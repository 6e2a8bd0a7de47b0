//! Predictions of a regression with Student-t noise.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_core::{DenseGaussian, Error, GaussianExpectation, Likelihood, Projection, quadrature};
use vi_linalg::faer::MatRef;

use super::Predictive;
use crate::likelihood::StudentT;
use crate::{Interval, ModelError, Student, check};

/// The width at which the search for a quantile ends, relative to its first bracket.
const QUANTILE: f64 = 1e-12;
const MAX_DOUBLINGS: usize = 1100;
const MAX_HALVINGS: usize = 200;

/// The prediction of `y = xᵀθ + s·ε`, `ε` Student-t, at one row: the sum of a Gaussian and a Student-t.
///
/// ```
/// use vi_core::Projection;
/// use vi_models::likelihood::StudentT;
/// use vi_models::predict::{Predictive, RobustPrediction};
/// let predicted = RobustPrediction::new(Projection { mean: 1.0, variance: 0.5 }, StudentT::new(4.0, 1.0)?);
/// assert_eq!((predicted.mean, predicted.variance), (1.0, 2.5));
/// assert!((predicted.quantile(0.5)? - 1.0).abs() < 1e-9);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct RobustPrediction {
    /// The predictor `t = xᵀθ ~ N(a, ν)`.
    pub projection: Projection,
    /// The predictive mean `E y`; NaN for `k ≤ 1` degrees of freedom, where it does not exist.
    pub mean: f64,
    /// The predictive variance `Var y = ν + s²k/(k−2)`; infinite for `k ≤ 2`.
    pub variance: f64,
    noise: StudentT,
}

impl RobustPrediction {
    /// The prediction from `xᵀθ ~ N(a, ν)`.
    #[must_use]
    pub fn new(seen: Projection, noise: StudentT) -> Self {
        let (k, s) = (noise.dof(), noise.scale());
        let spread = if k > 2.0 { s * s * (k / (k - 2.0)) } else { f64::INFINITY };
        let mean = if k > 1.0 { seen.mean } else { f64::NAN };
        Self { projection: seen, mean, variance: seen.variance + spread, noise }
    }

    /// One draw of `y`.
    ///
    /// # Errors
    /// As [`Student::draw`].
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> Result<f64, ModelError> {
        let z: f64 = StandardNormal.sample(rng);
        let noise = Student::new(0.0, self.noise.scale(), self.noise.dof())?.draw(rng)?;
        Ok(self.projection.mean + self.projection.variance.sqrt() * z + noise)
    }
}

impl Predictive for RobustPrediction {
    fn mean(&self) -> f64 {
        self.mean
    }

    fn variance(&self) -> f64 {
        self.variance
    }

    fn is_discrete(&self) -> bool {
        false
    }

    /// The log predictive density `log p(y)`, in nats.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `NonFinite`.
    fn log_density(&self, y: f64) -> Result<f64, ModelError> {
        self.noise.check_label(y)?;
        Ok(self.noise.log_predictive(y, self.projection.mean, self.projection.variance))
    }

    /// The distribution function `P(Y ≤ y)`, by [`quadrature::average`].
    ///
    /// # Errors
    /// [`ModelError::Core`] with `NonFinite` or `Quadrature`.
    fn cdf(&self, y: f64) -> Result<f64, ModelError> {
        check::values("y", &[y])?;
        let noise = Student::new(0.0, self.noise.scale(), self.noise.dof())?;
        Ok(quadrature::average(|t| noise.cdf(y - t), self.projection.mean, self.projection.variance)?)
    }

    /// The value `y` with `P(Y ≤ y) = p`, by bisection: some 50 quadratures.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` unless `0 < p < 1`, `Quadrature`, `Overflow` if the quantile is not finite.
    fn quantile(&self, p: f64) -> Result<f64, ModelError> {
        check::probability("p", p)?;
        let centre = self.projection.mean;
        let first = self.projection.variance.sqrt().hypot(self.noise.scale());
        let (mut low, mut high, mut width) = (centre, centre, first);
        for _ in 0..MAX_DOUBLINGS {
            let (below, above) = (self.cdf(low)? < p, self.cdf(high)? >= p);
            if below && above {
                break;
            }
            low = if below { low } else { centre - width };
            high = if above { high } else { centre + width };
            width *= 2.0;
            if !width.is_finite() {
                return Err(Error::Overflow { quantity: "quantile", value: width }.into());
            }
        }
        for _ in 0..MAX_HALVINGS {
            if high - low <= QUANTILE * (first + low.abs().max(high.abs())) {
                break;
            }
            let middle = 0.5 * (low + high);
            if self.cdf(middle)? >= p {
                high = middle;
            } else {
                low = middle;
            }
        }
        Ok(0.5 * (low + high))
    }

    /// The central interval that holds a new `y` with probability `level`.
    ///
    /// # Errors
    /// As [`quantile`](Self::quantile).
    fn interval(&self, level: f64) -> Result<Interval, ModelError> {
        check::probability("level", level)?;
        let half = self.quantile(0.5 * (1.0 + level))? - self.projection.mean;
        Ok(Interval { lower: self.projection.mean - half, upper: self.projection.mean + half })
    }
}

/// The predictions of a regression with Student-t noise for every row of `x` (`n × d`). Cost `2nd²` flops.
///
/// # Errors
/// Those of [`project`](super::project).
pub fn robust(
    belief: &DenseGaussian,
    x: MatRef<'_, f64>,
    noise: StudentT,
) -> Result<Vec<RobustPrediction>, ModelError> {
    Ok(super::project(belief, x)?.into_iter().map(|seen| RobustPrediction::new(seen, noise)).collect())
}
