//! The normal-gamma posterior: weights and noise precision learned together, one observation at a time.

use rand::Rng;
use rand_distr::{Distribution, Gamma};
use vi_core::block::{self, BlockBelief, BlockScratch, BlockSettings};
use vi_core::filter::{self, Scratch, StepInfo};
use vi_core::{Belief, DenseGaussian, Error, PerRow, Projection, Site, SiteRule};
use vi_linalg::faer::{MatRef, Par};

use super::NoisePrecision;
use crate::{ModelError, Student, check, predict};

/// Linear regression whose noise variance `1/τ` is unknown: `τ ~ Gamma(a, b)`, `θ | τ ~ N(μ, V/τ)`, `y | θ, τ ~ N(xᵀθ, 1/τ)`.
///
/// The conjugate recursion, exact for dense and square-root beliefs, is a Kalman filter with unit noise and two further numbers:
///
/// ```text
/// ν = xᵀVx,  r = y − xᵀμ        μ ← μ + Vx·r/(1+ν),   V ← V − (Vx)(Vx)ᵀ/(1+ν)
/// a ← a + ½                     b ← b + ½r²/(1+ν)
/// y | earlier ~ Student-t(xᵀμ, √((b/a)·(1+ν)), 2a degrees of freedom)
/// ```
///
/// The belief `B` holds `N(μ, V)`: everything in it is in units of the noise. An observation of weight `w` counts `w` times: `h =
/// w`, `a += ½w`, `b += ½wr²/(1+wν)`.
///
/// ```
/// use vi_core::DenseGaussian;
/// use vi_linalg::faer::{MatRef, Par};
/// use vi_models::linear::NormalGamma;
///
/// let x = MatRef::from_row_major_slice(&[1.0, 0.0, 1.0, 1.0, 1.0, 2.0, 1.0, 3.0], 4, 2);
/// let y = [1.1, 2.9, 5.2, 6.8];
/// let mut model = NormalGamma::new(DenseGaussian::isotropic(&[0.0, 0.0], 100.0)?, 1.0, 1.0)?;
/// let log_evidence = model.run(x, &y, Par::Seq)?;
/// let predicted = model.predict(&[1.0, 4.0])?;
/// assert!(predicted.interval(0.9)?.contains(9.0));
/// assert_eq!(predicted.dof(), 6.0); // 2·(1 + 4·½)
/// assert!(log_evidence < 0.0);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone)]
pub struct NormalGamma<B = DenseGaussian> {
    belief: B,
    noise: NoisePrecision,
}

/// The Kalman filter's rule with noise variance `1/w`, in units of the noise; it refuses an observation that overflows `noise`.
#[derive(Debug, Clone, Copy)]
struct UnitNoise {
    weight: f64,
    noise: NoisePrecision,
}

impl UnitNoise {
    fn new(weight: f64, noise: NoisePrecision) -> Result<Self, Error> {
        check::not_negative("weight", weight)?;
        Ok(Self { weight, noise })
    }
}

impl SiteRule for UnitNoise {
    fn check_label(&self, label: f64) -> Result<(), Error> {
        if label.is_finite() { Ok(()) } else { Err(Error::NonFinite { argument: "label", index: 0, value: label }) }
    }

    fn site(&self, a: f64, nu: f64, y: f64) -> Result<Site, Error> {
        self.noise.learned(self.weight, y - a, nu)?;
        Ok(Site { slope: self.weight * (y - a), curvature: self.weight })
    }
}

impl<B: Belief> NormalGamma<B> {
    /// The prior `θ | τ ~ N(μ₀, V₀/τ)`, `τ ~ Gamma(a₀, b₀)` with shape `a₀` and rate `b₀` (squared units of `y`).
    ///
    /// `scaled` is `N(μ₀, V₀)`: with prior standard deviation `σ₀` of the weights and a noise standard deviation expected near
    /// `σ`, `V₀ = (σ₀/σ)²·I`. A prior guess `s²` of the noise variance that is worth `m` observations is `a₀ = m/2`,
    /// `b₀ = m·s²/2`.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` unless `shape` and `rate` are positive and finite.
    pub fn new(scaled: B, shape: f64, rate: f64) -> Result<Self, ModelError> {
        Ok(Self::with_noise(scaled, NoisePrecision::new(shape, rate)?))
    }

    /// The model with the prior `noise` of the noise precision: [`NoisePrecision::reference`] and vague weights give the
    /// intervals of least squares, where a vague `Gamma(a₀, b₀)` makes them too short.
    #[must_use]
    pub fn with_noise(scaled: B, noise: NoisePrecision) -> Self {
        Self { belief: scaled, noise }
    }

    /// Dimension `d` of `θ`.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.belief.dim()
    }

    /// The belief `N(μ, V)`, in units of the noise: `θ | τ ~ N(μ, V/τ)`.
    #[must_use]
    pub fn scaled_belief(&self) -> &B {
        &self.belief
    }

    /// The mean `μ` of the weights, length `d`.
    #[must_use]
    pub fn mean(&self) -> &[f64] {
        self.belief.mean()
    }

    /// The posterior of the noise precision `τ`, with shape, rate, and mean and interval of the noise variance.
    #[must_use]
    pub fn noise(&self) -> NoisePrecision {
        self.noise
    }

    /// Learns from one observation; returns the log of its predictive density before that, in nats. The sum of these over a
    /// stream is the log evidence.
    ///
    /// `x` has length `d`. It costs as much as a [`filter::step`].
    ///
    /// # Errors
    /// [`ModelError::Core`] with what [`filter::step`] reports and `Overflow`; the model is then as it was, to the bit.
    pub fn step(&mut self, x: &[f64], y: f64, scratch: &mut Scratch<B>) -> Result<f64, ModelError> {
        self.step_weighted(x, y, 1.0, scratch)
    }

    /// As [`step`](Self::step) for an observation that counts `weight = w` times; the result is then `log E[p(y|θ,τ)ʷ]`.
    ///
    /// # Errors
    /// As [`step`](Self::step); `Setting` unless `weight ≥ 0` and finite.
    pub fn step_weighted(
        &mut self,
        x: &[f64],
        y: f64,
        weight: f64,
        scratch: &mut Scratch<B>,
    ) -> Result<f64, ModelError> {
        let rule = UnitNoise::new(weight, self.noise)?;
        let info = filter::step(&mut self.belief, &rule, x, y, scratch)?;
        Ok(self.count(weight, &info, y)?)
    }

    /// Updates shape and rate by one step; returns its log predictive density.
    fn count(&mut self, weight: f64, info: &StepInfo, y: f64) -> Result<f64, Error> {
        let (residual, variance) = (y - info.projection.mean, info.projection.variance);
        let score = self.noise.log_predictive(weight, residual, variance);
        self.noise = self.noise.learned(weight, residual, variance)?;
        Ok(score)
    }

    /// The predictive distribution of `y` at the row `x` (length `d`). Cost `2d²` flops for a dense belief and `d` numbers.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Dimension`, `NonFinite`, `NegativeVariance` or `Overflow`.
    pub fn predict(&self, x: &[f64]) -> Result<Student, ModelError> {
        self.student(self.project(x)?, 1.0)
    }

    /// The posterior distribution of `xᵀθ` alone, without the noise of an observation. Cost as [`predict`](Self::predict).
    ///
    /// # Errors
    /// As [`predict`](Self::predict); `Setting` for a row whose `xᵀθ` is known exactly, `x = 0` for instance.
    pub fn predict_mean(&self, x: &[f64]) -> Result<Student, ModelError> {
        self.student(self.project(x)?, 0.0)
    }

    fn project(&self, x: &[f64]) -> Result<Projection, ModelError> {
        Ok(self.belief.predict(x)?)
    }

    /// The distribution of `xᵀθ` with `noise` times the noise of an observation.
    fn student(&self, seen: Projection, noise: f64) -> Result<Student, ModelError> {
        self.noise.student(seen.mean, noise, seen.variance)
    }
}

impl<B: BlockBelief + Clone> NormalGamma<B> {
    /// Learns from the rows of `x` (`n × d`) with labels `y` (length `n`) in blocks; the same as [`step`](Self::step) in a
    /// loop to rounding. Returns the sum of the log predictive densities, in nats: `log p(y₁…y_n)` given what came before.
    ///
    /// An empty batch changes nothing. It costs as much as [`block::run`].
    ///
    /// # Errors
    /// [`ModelError::Core`] with what [`block::run`] reports and `Overflow`; the model is then as it was, to the bit.
    pub fn run(&mut self, x: MatRef<'_, f64>, y: &[f64], par: Par) -> Result<f64, ModelError> {
        self.batch(x, y, None, par)
    }

    /// As [`run`](Self::run) with observation `t` counted `weights[t]` times.
    ///
    /// # Errors
    /// As [`run`](Self::run); `Dimension` for another number of weights, `Row` with `Setting` for one that is
    /// negative or not finite.
    pub fn run_weighted(
        &mut self,
        x: MatRef<'_, f64>,
        y: &[f64],
        weights: &[f64],
        par: Par,
    ) -> Result<f64, ModelError> {
        self.batch(x, y, Some(weights), par)
    }

    fn batch(&mut self, x: MatRef<'_, f64>, y: &[f64], weights: Option<&[f64]>, par: Par) -> Result<f64, ModelError> {
        check::length("y", x.nrows(), y.len())?;
        if let Some(weights) = weights {
            check::length("weights", y.len(), weights.len())?;
        }
        if y.is_empty() {
            check::length("columns of x", self.dim(), x.ncols())?;
            return Ok(0.0);
        }
        let weight = |t: usize| weights.map_or(1.0, |weights| weights[t]);
        let rules = (0..y.len())
            .map(|t| UnitNoise::new(weight(t), self.noise).map_err(|error| error.at_row(t)))
            .collect::<Result<Vec<_>, _>>()?;
        let mut next = self.clone();
        let mut steps = Vec::with_capacity(y.len());
        let mut scratch = BlockScratch::new(&next.belief, BlockSettings::for_dim(self.dim()));
        block::run(&mut next.belief, &PerRow(&rules), x, y, &mut scratch, par, |_, _, of_block| {
            steps.extend_from_slice(of_block);
        })?;
        let mut total = 0.0;
        for (t, step) in steps.iter().enumerate() {
            total += next.count(rules[t].weight, step, y[t]).map_err(|error| error.at_row(t))?;
        }
        *self = next;
        Ok(total)
    }
}

impl NormalGamma<DenseGaussian> {
    /// The predictive distributions of `y` at the rows of `x` (`n × d`), by matrix products. Cost `2nd²` flops.
    ///
    /// # Errors
    /// Those of [`predict::project`].
    pub fn predict_rows(&self, x: MatRef<'_, f64>) -> Result<Vec<Student>, ModelError> {
        predict::project(&self.belief, x)?.into_iter().map(|seen| self.student(seen, 1.0)).collect()
    }

    /// The marginal posteriors of the weights, `θ_j ~ Student-t(μ_j, √(b/a·V_jj), 2a)`. Length `d`.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` when rounding has left a variance that is not positive.
    pub fn weights(&self) -> Result<Vec<Student>, ModelError> {
        let covariance = self.belief.covariance_lower();
        let seen = |(j, &mean)| self.student(Projection { mean, variance: covariance[(j, j)] }, 0.0);
        self.mean().iter().enumerate().map(seen).collect()
    }

    /// One draw of weights and noise variance from their joint posterior: `θ` is written to `theta` (length `d`) and `1/τ`
    /// returned. Cost `d³/3`.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Dimension`, `NotPositiveDefinite`, or `Setting` for a shape that the generator refuses.
    pub fn draw<R: Rng + ?Sized>(&self, theta: &mut [f64], rng: &mut R) -> Result<f64, ModelError> {
        check::length("theta", self.dim(), theta.len())?;
        let refused =
            |_| Error::Setting { name: "shape", value: self.noise.shape(), requirement: "one that can be drawn with" };
        let cholesky = self.belief.cholesky()?;
        let precision = Gamma::new(self.noise.shape(), 1.0 / self.noise.rate()).map_err(refused)?.sample(rng);
        self.belief.draw_with(&cholesky, theta, rng)?;
        for (value, mean) in theta.iter_mut().zip(self.belief.mean()) {
            *value = mean + (*value - mean) / precision.sqrt();
        }
        Ok(1.0 / precision)
    }
}
