//! The posterior from the sums: weights and noise in closed form, under any prior.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};
use vi_core::batch::InformationGaussian;
use vi_core::special::LN_2PI;
use vi_core::{Belief, DenseGaussian, Error, Projection, check};
use vi_linalg::Cholesky;
use vi_models::linear::NoisePrecision;

use super::LinearSums;
use crate::{SumsError, packed};

/// The prior of a linear regression: `w_j | τ ~ N(0, s²/τ)`, intercept `~ N(0, κ²/τ)`, noise precision `τ ~ Gamma(a₀, b₀)`.
///
/// Scales are in units of the noise. The default is wide: scale inputs to about unit size first, or set `scale`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LinearPrior {
    /// The prior standard deviation `s` of each weight, in units of the noise.
    pub scale: f64,
    /// The prior standard deviation `κ` of the intercept, in units of the noise; 0 for a model without one.
    pub intercept: f64,
    /// The shape `a₀` of the noise precision.
    pub shape: f64,
    /// The rate `b₀` of the noise precision, in squared units of the label.
    pub rate: f64,
}

impl Default for LinearPrior {
    /// The default is `s` = 100, `κ` = 1000, `a₀` = 0.01, `b₀` = 0.0001.
    fn default() -> Self {
        Self { scale: 100.0, intercept: 1000.0, shape: 1e-2, rate: 1e-4 }
    }
}

impl LinearPrior {
    /// Checks the prior; every function that takes one calls this.
    ///
    /// # Errors
    /// [`Error::Setting`] unless scale, shape and rate are positive and finite, their squares too, and the intercept's scale not negative.
    pub fn check(&self) -> Result<(), Error> {
        check::positive("scale", self.scale)?;
        check::positive("scale²", self.scale * self.scale)?;
        check::not_negative("intercept", self.intercept)?;
        check::not_negative("intercept²", self.intercept * self.intercept)?;
        check::positive("shape", self.shape)?;
        check::positive("rate", self.rate)
    }
}

/// The posterior of a linear regression with unknown noise, kept as its prior and the sums over its rows: exact, and exactly
/// mergeable.
///
/// ```
/// use vi_sums::{LinearPosterior, LinearPrior};
/// let mut january = LinearPosterior::new(1, LinearPrior::default())?;
/// let mut february = january.clone();
/// for (x, y) in [(0.0, 1.1), (1.0, 2.9), (2.0, 5.2)] {
///     january.sums_mut().update(&[x], y)?;
/// }
/// for (x, y) in [(3.0, 6.8), (4.0, 9.1)] {
///     february.sums_mut().update(&[x], y)?;
/// }
/// january.merge(&february)?;
/// let year = january.fit()?;
/// assert!((year.predict(&[5.0])?.mean() - 11.0).abs() < 0.5);
/// # Ok::<(), vi_sums::SumsError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LinearPosterior {
    prior: LinearPrior,
    sums: LinearSums,
}

impl LinearPosterior {
    /// The posterior before any row, which is the prior of `inputs` weights.
    ///
    /// # Errors
    /// Those of [`LinearPrior::check`] and [`LinearSums::new`].
    pub fn new(inputs: usize, prior: LinearPrior) -> Result<Self, SumsError> {
        Self::of(prior, LinearSums::new(inputs)?)
    }

    /// The posterior of the rows in `sums`, under `prior`.
    ///
    /// # Errors
    /// Those of [`LinearPrior::check`].
    pub fn of(prior: LinearPrior, sums: LinearSums) -> Result<Self, SumsError> {
        prior.check()?;
        Ok(Self { prior, sums })
    }

    /// The prior of the model.
    #[must_use]
    pub fn prior(&self) -> &LinearPrior {
        &self.prior
    }

    /// The sums over the rows.
    #[must_use]
    pub fn sums(&self) -> &LinearSums {
        &self.sums
    }

    /// The sums over the rows, for adding further rows.
    pub fn sums_mut(&mut self) -> &mut LinearSums {
        &mut self.sums
    }

    /// Adds the rows of another posterior under the same prior.
    ///
    /// # Errors
    /// [`SumsError::Unlike`]; those of [`LinearSums::merge`].
    pub fn merge(&mut self, other: &Self) -> Result<(), SumsError> {
        self.check_like(other)?;
        self.sums.merge(&other.sums)
    }

    /// Removes the rows of another posterior, which must have been added before.
    ///
    /// # Errors
    /// [`SumsError::Unlike`]; those of [`LinearSums::subtract`].
    pub fn subtract(&mut self, other: &Self) -> Result<(), SumsError> {
        self.check_like(other)?;
        self.sums.subtract(&other.sums)
    }

    fn check_like(&self, other: &Self) -> Result<(), SumsError> {
        crate::posterior::check_like("number of inputs", &self.sums.inputs(), &other.sums.inputs())?;
        crate::posterior::check_like("prior", &self.prior, &other.prior)
    }

    /// Computes the posterior of weights and noise, and the evidence.
    ///
    /// The intercept is integrated out first. The means of the rows then count for the weights as `ω = n/(1 + nκ²)` rows, and a
    /// column's distance from zero does not enter the scatter:
    ///
    /// ```text
    /// Λ = I/s² + S_xx + ω·x̄x̄ᵀ      Λw = S_xy + ω·x̄ȳ      a = a₀ + n/2
    /// b = b₀ + ½[(−w,1)S(−w,1)ᵀ + ω(ȳ−x̄ᵀw)² + ‖w‖²/s²]
    /// log p(y) = log Γ(a)/Γ(a₀) + a₀·log b₀ − a·log b − ½[n·log 2π + log|s²Λ| + log(1 + nκ²)]
    /// ```
    ///
    /// Cost `d³`.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`], [`Error::Linalg`] or [`Error::Overflow`] if numbers are not finite.
    pub fn fit(&self) -> Result<LinearFit, SumsError> {
        let (prior, sums) = (&self.prior, &self.sums);
        let d = sums.inputs();
        let n = sums.rows() as f64;
        let square = prior.intercept * prior.intercept;
        let omega = n / (1.0 + n * square);
        let (label, centre) = (sums.mean()[d], &sums.mean()[..d]);
        let ridge = (prior.scale * prior.scale).recip();
        let mut precision = packed::matrix(sums.scatter(), d);
        for j in 0..d {
            precision[(j, j)] += ridge;
            for i in j..d {
                precision[(i, j)] += omega * centre[i] * centre[j];
            }
        }
        let cholesky = Cholesky::new(precision.as_ref())?;
        let mut weights: Vec<f64> = packed::row(sums.scatter(), d)[..d].to_vec();
        for (value, x) in weights.iter_mut().zip(centre) {
            *value += omega * x * label;
        }
        cholesky.solve_vec_in_place(&mut weights)?;

        let mut residual: Vec<f64> = weights.iter().map(|w| -w).collect();
        residual.push(1.0);
        let scatter: f64 = packed::multiply(sums.scatter(), &residual).iter().zip(&residual).map(|(a, b)| a * b).sum();
        let along: f64 = weights.iter().zip(centre).map(|(w, x)| w * x).sum();
        let squares: f64 = weights.iter().map(|w| w * w).sum();
        let shape = prior.shape + 0.5 * n;
        let rate = prior.rate + 0.5 * (scatter + omega * (label - along).powi(2) + ridge * squares);
        check::result("rate", rate)?;
        let log_det = cholesky.log_det() - d as f64 * ridge.ln();
        let log_evidence = libm::lgamma(shape) - libm::lgamma(prior.shape) + prior.shape * prior.rate.ln()
            - shape * rate.ln()
            - 0.5 * (n * LN_2PI + log_det + (n * square).ln_1p());
        Ok(LinearFit {
            belief: InformationGaussian::new(weights, precision)?.to_belief(),
            noise: NoisePrecision::new(shape, rate)?,
            log_evidence: check::result("log evidence", log_evidence)?,
            intercept: Intercept {
                pull: n * square / (1.0 + n * square),
                variance: square / (1.0 + n * square),
                centre: centre.to_vec(),
                label,
            },
        })
    }
}

/// The intercept given the weights, `β₀ | w, τ ~ N(g·(ȳ − x̄ᵀw), c/τ)`.
#[derive(Debug, Clone)]
struct Intercept {
    /// `g = nκ²/(1 + nκ²)`.
    pull: f64,
    /// `c = κ²/(1 + nκ²)`; 0 without an intercept.
    variance: f64,
    /// `x̄`.
    centre: Vec<f64>,
    /// `ȳ`.
    label: f64,
}

/// The posterior of weights and noise of a [`LinearPosterior`], and its evidence.
#[derive(Debug, Clone)]
pub struct LinearFit {
    /// `N(w, Λ⁻¹)`, in units of the noise.
    belief: DenseGaussian,
    noise: NoisePrecision,
    log_evidence: f64,
    intercept: Intercept,
}

impl LinearFit {
    /// The weights, without the intercept: `w | τ ~ N(μ, V/τ)`, the covariance in units of the noise.
    #[must_use]
    pub(crate) fn scaled_belief(&self) -> &DenseGaussian {
        &self.belief
    }

    /// The posterior of the noise precision.
    #[must_use]
    pub fn noise(&self) -> NoisePrecision {
        self.noise
    }

    /// The log evidence `log p(y)` in nats.
    #[must_use]
    pub fn log_evidence(&self) -> f64 {
        self.log_evidence
    }

    /// `β₀ + xᵀw = gȳ + (x − gx̄)ᵀw + N(0, c)`.
    fn project(&self, x: &[f64]) -> Result<Projection, Error> {
        check::length("x", self.belief.dim(), x.len())?;
        let Intercept { pull, variance, centre, label } = &self.intercept;
        let shifted: Vec<f64> = x.iter().zip(centre).map(|(x, centre)| x - pull * centre).collect();
        check::finite("x", x)?;
        let seen = self.belief.predict(&shifted)?;
        Ok(Projection { mean: pull * label + seen.mean, variance: variance + seen.variance })
    }

    /// The predictive distribution of the label at `x` (length `d`). Cost `2d²`.
    ///
    /// # Errors
    /// [`Error::Dimension`], [`Error::NonFinite`], [`Error::Overflow`].
    pub fn predict(&self, x: &[f64]) -> Result<vi_models::Student, SumsError> {
        let seen = self.project(x)?;
        Ok(self.noise.student(seen.mean, 1.0, seen.variance)?)
    }

    /// The marginal posterior of each weight; the intercept's comes first, if there is one.
    ///
    /// # Errors
    /// [`Error::Setting`] if rounding has left no variance.
    pub fn weights(&self) -> Result<Vec<vi_models::Student>, SumsError> {
        let mut out = Vec::with_capacity(self.belief.dim() + 1);
        if self.has_intercept() {
            let seen = self.project(&vec![0.0; self.belief.dim()])?;
            out.push(self.noise.student(seen.mean, 0.0, seen.variance)?);
        }
        let covariance = self.belief.covariance_lower();
        for (j, &mean) in self.belief.mean().iter().enumerate() {
            out.push(self.noise.student(mean, 0.0, covariance[(j, j)])?);
        }
        Ok(out)
    }

    /// Whether the model has an intercept.
    #[must_use]
    pub(crate) fn has_intercept(&self) -> bool {
        self.intercept.variance > 0.0
    }

    /// One draw of the intercept, if there is one, and the weights. Cost `d³/3`.
    ///
    /// # Errors
    /// [`Error::Overflow`] for a draw beyond the floats.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> Result<Vec<f64>, SumsError> {
        let deviation = self.noise.draw_deviation(rng)?;
        let mut weights = vec![0.0; self.belief.dim()];
        self.belief.draw_with(&self.belief.cholesky()?, &mut weights, rng)?;
        for (value, mean) in weights.iter_mut().zip(self.belief.mean()) {
            *value = mean + (*value - mean) * deviation;
        }
        if self.has_intercept() {
            let Intercept { pull, variance, centre, label } = &self.intercept;
            let along: f64 = weights.iter().zip(centre).map(|(w, x)| w * x).sum();
            let z: f64 = StandardNormal.sample(rng);
            weights.insert(0, pull * (label - along) + variance.sqrt() * deviation * z);
        }
        check::results("draw", weights.iter().copied())?;
        Ok(weights)
    }
}
