//! Linear regression with unknown noise in which most weights are exactly 0: a spike-and-slab prior.

mod ascent;
mod stored;

use serde::{Deserialize, Serialize};
use vi_core::Stop;
use vi_linalg::faer::{MatRef, Par};

use self::ascent::Ascent;
use super::gamma::Gamma;
use super::linear::check_data;
use super::ridge::{Ridge, Shrinkage};
use super::weights::WeightDistribution;
use super::{LinearPrior, StudentPrediction, VbInfo, VbSettings};
use crate::{Interval, ModelError};

/// A fitted linear model with a spike-and-slab prior: which columns count, their weights and the noise.
///
/// Weights and noise are `w ~ N(w_N, V_N/τ)`, `τ ~ Gam(a_N, b_N)`, as those of a [`LinearFit`](super::LinearFit).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "stored::Stored")]
pub struct SparseFit {
    weights: WeightDistribution,
    noise: Gamma,
    inclusion: Vec<f64>,
    inclusion_rate: f64,
    slab_variance: f64,
    info: VbInfo,
}

impl SparseFit {
    /// The posterior `w_N` and `V_N` of the weights, whose covariance is `V_N·b_N/(a_N−1)`.
    #[must_use]
    pub fn weights(&self) -> &WeightDistribution {
        &self.weights
    }

    /// The posterior `q(τ) = Gam(a_N, b_N)` of the noise precision: `b_N/a_N = σ²` and `2a_N = n − Σφ_j` degrees of freedom, one
    /// for each observation less the expected number of weights. `b_N` is in squared units of `y`.
    #[must_use]
    pub fn noise(&self) -> Gamma {
        self.noise
    }

    /// The probability `φ_j` that weight `j` is not 0. Length `d`; 0 for a column of zeros.
    #[must_use]
    pub fn inclusion(&self) -> &[f64] {
        &self.inclusion
    }

    /// The estimated share `π` of weights that are not 0.
    #[must_use]
    pub fn inclusion_rate(&self) -> f64 {
        self.inclusion_rate
    }

    /// The estimated variance `v` of the weights that are not 0, in units of the noise variance.
    #[must_use]
    pub fn slab_variance(&self) -> f64 {
        self.slab_variance
    }

    /// The bound ℒ plus the log priors of the hyper-parameters, up to a constant, in nats.
    #[must_use]
    pub fn bound(&self) -> f64 {
        self.info.bounds.last().copied().unwrap_or(f64::NEG_INFINITY)
    }

    /// The report of the fit.
    #[must_use]
    pub fn info(&self) -> &VbInfo {
        &self.info
    }

    /// The predictive densities at every row of `x` (`m × d`). Cost `md²` or `2mnd` flops.
    ///
    /// # Errors
    /// Those of [`WeightDistribution::project`].
    pub fn predict(&self, x: MatRef<'_, f64>) -> Result<Vec<StudentPrediction>, ModelError> {
        StudentPrediction::of(&self.weights, self.noise, x)
    }

    /// The central interval of each weight, a Student's t with `2a_N` degrees of freedom. Length `d`.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` unless `0 < level < 1`.
    pub fn weight_intervals(&self, level: f64) -> Result<Vec<Interval>, ModelError> {
        self.weights.intervals(self.noise, level)
    }
}

/// Linear regression in which each weight is 0 or drawn from one Gaussian (spike and slab).
///
/// ```text
/// y ~ N(Xw, σ²I),   w_j = γ_j·β_j,   γ_j ~ Bernoulli(π),   β_j ~ N(0, vσ²)
/// q(γ_j = 1, β_j) = φ_j·N(m_j, s_j),   s_j = σ²/(x_jᵀx_j + 1/v),   m_j = s_j·x_jᵀ(y − Σ_{i≠j} φ_i m_i x_i)/σ²
/// ln φ_j/(1−φ_j) = ln π/(1−π) + ½·ln s_j/(vσ²) + m_j²/(2s_j)
/// ```
///
/// The coordinates are updated one after another from `w = 0`, those that correlate most with `y` first, and `σ²`, `v`, `π` after
/// each sweep to the maximum of ℒ with the priors `Gam(a₀, b₀)` of `1/σ²`, `v^(−½)·exp(−1/(2v))` and `Beta(½, ½)`. Since it
/// starts from 0, the noise is explained last: with more columns than rows the ascent of [`linear_ard`](super::linear_ard) ends
/// where the residuals vanish, and this one does not. The independent `q` gives the scale of each weight, `E w_j² = φ_j(s_j +
/// m_j²)`; the weights that are returned are those of the ridge regression with these prior variances, so that intervals include
/// the correlations of the columns.
///
/// `x` is `n × d`, `y` has length `n` and mean 0. Cost `4nd` flops a sweep (some 10 to 100 of them), and one step of
/// [`linear_ard`](super::linear_ard). Columns of very different scales should first be scaled, as [`VbSparse`](super::VbSparse)
/// does, since all share one `v`.
///
/// # Errors
/// [`ModelError::Core`] with `Empty` (no rows, no columns), `Dimension` (length of `y`), `Row` with `NonFinite`, `Setting` (the
/// authors' stopping rule, which this algorithm does not have), `Overflow` if numbers are not finite. Not converging is a
/// [`Stop`].
///
/// Source: Carbonetto and Stephens, *Scalable variational inference for Bayesian variable selection*, Bayesian Analysis 7 (2012), equations
/// (8) to (11); the hyper-parameters maximised instead of averaged over a grid.
///
/// ```
/// use vi_linalg::faer::{Mat, Par};
/// use vi_models::vb::{self, LinearPrior, VbSettings};
///
/// // 20 rows of 30 columns, of which the fifth matters.
/// let x = Mat::from_fn(20, 30, |i, j| (((i + 1) * (2 * j + 3)) as f64).sin());
/// let y: Vec<f64> = (0..20).map(|i| 3.0 * x[(i, 4)] + 0.1 * (7.0 * i as f64).cos()).collect();
/// let fit = vb::linear_sparse(x.as_ref(), &y, LinearPrior::default(), &VbSettings::default(), Par::Seq)?;
/// assert!(fit.inclusion()[4] > 0.99 && fit.inclusion().iter().sum::<f64>() < 3.0);
/// assert!((fit.weights().mean()[4] - 3.0).abs() < 0.1);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn linear_sparse(
    x: MatRef<'_, f64>,
    y: &[f64],
    prior: LinearPrior,
    settings: &VbSettings,
    par: Par,
) -> Result<SparseFit, ModelError> {
    check_data(x, y)?;
    fit(x, y, y.len() as f64, prior, settings, par)
}

/// The tolerance of checked settings.
pub(super) fn check_stop(settings: &VbSettings) -> Result<f64, ModelError> {
    settings.check()?;
    settings.tolerance.ok_or_else(|| {
        let requirement = "a tolerance on the parameters: the authors' rule is for their own algorithms";
        vi_core::Error::Setting { name: "stop", value: f64::NAN, requirement }.into()
    })
}

/// The fit to checked rows that count as `observations`: one less than their number if a free intercept has been taken out.
pub(super) fn fit(
    x: MatRef<'_, f64>,
    y: &[f64],
    observations: f64,
    prior: LinearPrior,
    settings: &VbSettings,
    par: Par,
) -> Result<SparseFit, ModelError> {
    let tolerance = check_stop(settings)?;
    let mut ascent = Ascent::new(x, y, observations, prior);
    let (mut bounds, mut last_change) = (Vec::new(), f64::INFINITY);
    while last_change > tolerance && bounds.len() < settings.max_iterations {
        last_change = ascent.sweep()?;
        bounds.push(ascent.bound());
    }
    let mut ridge = Ridge::new(x, 2 * x.nrows() < x.ncols(), par);
    ridge.solve_unweighted(Shrinkage::PerWeight(ascent.precisions()), y)?;
    let (weights, condition) = ridge.finish(y)?;
    let shape = 0.5 * (observations - ascent.expected_weights()).max(1.0);
    let stop = if last_change <= tolerance { Stop::Converged } else { Stop::Iterations };
    let info = VbInfo {
        stop,
        authors_rule: false,
        iterations: bounds.len(),
        bounds,
        rounding: ascent.rounding(),
        last_change,
        rejected: 0,
        condition,
        reflections: ridge.reflections,
    };
    Ok(SparseFit {
        weights,
        noise: Gamma::new(shape, shape * ascent.noise_variance()),
        inclusion_rate: ascent.inclusion_rate(),
        slab_variance: ascent.slab_variance(),
        inclusion: ascent.into_inclusion(),
        info,
    })
}

#[cfg(test)]
mod tests;
