//! Bayesian linear regression in one batch for a known noise variance ([`fit`]), exact posterior and exact evidence; the posterior
//! of an unknown one ([`NoisePrecision`]), of which [`OnlineLinear`](crate::online::OnlineLinear) learns on a stream; evidence and intervals for
//! an effect that hold however often they are looked at ([`Effect`]).
//!
//! | symbol | name in code | shape |
//! |---|---|---|
//! | `μ₀`, `P₀` | `prior` | `d`, `d × d` |
//! | `X`, `y` | `x`, `y` | `n × d`, `n` |
//! | `σ²` | [`GaussianLikelihood::noise_variance`] | scalar, squared units of `y` |
//! | `μ`, `P` | [`LinearPosterior::belief`] | `d`, `d × d` |
//! | `log p(y)` | [`LinearPosterior::log_evidence`] | scalar, nats |

mod effect;
mod noise;

pub use effect::Effect;
pub use noise::NoisePrecision;

use vi_core::special::LN_2PI;
use vi_core::{Belief, DenseGaussian, GaussianLikelihood, Likelihood};
use vi_linalg::faer::{Mat, MatRef, Par};
use vi_linalg::kernels::{dot, mirror_lower, symmetric_rank_r};

use crate::whitened::{Whitened, factor, squared_norm};
use crate::{ModelError, check};

/// The posterior of a linear regression and its log evidence.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LinearPosterior {
    /// The posterior `N(μ, P)`.
    pub belief: DenseGaussian,
    /// The log evidence `log p(y) = log N(y | Xμ₀, σ²I + XP₀Xᵀ)`, in nats, normalised over `y`.
    pub log_evidence: f64,
}

/// The exact posterior of `θ` under `y = Xθ + N(0, σ²I)` and the prior `θ ~ N(μ₀, P₀)`.
///
/// ```text
/// P⁻¹ = P₀⁻¹ + XᵀX/σ²        P⁻¹(μ − μ₀) = Xᵀ(y − Xμ₀)/σ²
/// log p(y) = −½[n·log 2π + log det S + rᵀS⁻¹r],   S = σ²I + XP₀Xᵀ,   r = y − Xμ₀
/// ```
///
/// It takes one Cholesky factor, of a `d × d` matrix or, with fewer observations than parameters, of an `n × n` one; nothing is
/// inverted. The numbers are those of the Kalman filter in any order of the rows (R-VGA, Theorem 2), and the evidence is the sum
/// of its one-step-ahead log predictive densities.
///
/// Cost `2·min(n, d)·nd + 3d³` flops or less.
///
/// # Errors
/// [`ModelError::Core`] with `Empty` (`n = 0`), `Dimension` (columns of `x`, length of `y`), `Row` with `NonFinite`
/// (an entry of `x` or of `y`), `NotPositiveDefinite` when rounding leaves no posterior covariance (`P₀` and `XᵀX/σ²`
/// too many orders apart).
///
/// ```
/// use vi_core::{Belief, DenseGaussian, GaussianLikelihood};
/// use vi_linalg::faer::MatRef;
/// use vi_models::linear;
///
/// let x = MatRef::from_row_major_slice(&[1.0, 0.0, 1.0, 1.0, 1.0, 2.0], 3, 2);
/// let y = [1.0, 3.0, 5.0];
/// let prior = DenseGaussian::isotropic(&[0.0, 0.0], 1e3)?;
/// let posterior = linear::fit(&prior, x, &y, GaussianLikelihood::new(0.01)?)?;
/// assert!((posterior.belief.mean()[1] - 2.0).abs() < 1e-6);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn fit(
    prior: &DenseGaussian,
    x: MatRef<'_, f64>,
    y: &[f64],
    likelihood: GaussianLikelihood,
) -> Result<LinearPosterior, ModelError> {
    check::rows(prior.dim(), x)?;
    check::length("y", x.nrows(), y.len())?;
    for (t, &label) in y.iter().enumerate() {
        likelihood.check_label(label).map_err(|error| error.at_row(t))?;
    }
    let noise = likelihood.noise_variance();
    let model = Whitened::new(prior, x)?;
    let residuals: Vec<f64> = y.iter().zip(&model.offset).map(|(y, offset)| y - offset).collect();
    if x.nrows() < prior.dim() {
        in_sample_space(prior, &model, noise, &residuals)
    } else {
        in_parameter_space(&model, noise, &residuals)
    }
}

/// `d ≤ n`: through `B = I + AᵀA/σ²`, the precision of `z` in `θ = μ₀ + Lz`, `A = XL`.
fn in_parameter_space(model: &Whitened, noise: f64, residuals: &[f64]) -> Result<LinearPosterior, ModelError> {
    let n = residuals.len();
    let precision = model.precision(&vec![1.0 / noise; n])?;
    let mut z = model.transpose_product(residuals);
    for z in &mut z {
        *z /= noise;
    }
    precision.solve_vec_in_place(&mut z)?;

    // det S = σ²ⁿ·det B, and rᵀS⁻¹r = ‖r − Az‖²/σ² + ‖z‖²: a sum, where the textbook form is a difference.
    let fitted = model.predictors(&z);
    let left: Vec<f64> =
        residuals.iter().zip(fitted.iter().zip(&model.offset)).map(|(r, (t, offset))| r - (t - offset)).collect();
    let log_det = n as f64 * noise.ln() + precision.log_det();
    let quadratic = squared_norm(&left) / noise + squared_norm(&z);
    Ok(LinearPosterior {
        belief: model.belief(&z, &precision)?,
        log_evidence: -0.5 * (n as f64 * LN_2PI + log_det + quadratic),
    })
}

/// `n < d`: through `S = σ²I + AAᵀ`, the covariance of `y`.
fn in_sample_space(
    prior: &DenseGaussian,
    model: &Whitened,
    noise: f64,
    residuals: &[f64],
) -> Result<LinearPosterior, ModelError> {
    let n = residuals.len();
    let a = model.rows.as_ref();
    let mut s = Mat::from_fn(n, n, |i, j| if i == j { noise } else { 0.0 });
    symmetric_rank_r(s.as_mut(), 1.0, a, a, Par::Seq);
    let innovation = factor("covariance of y", s.as_ref())?;
    let mut solved = residuals.to_vec();
    innovation.solve_vec_in_place(&mut solved)?;
    let z = model.transpose_product(&solved);

    // S = CCᵀ: P = P₀ − GᵀG with G = C⁻¹ALᵀ.
    let g = model.rows_by_parameter(innovation.whiten(a)?.as_ref());
    let mut covariance = prior.covariance();
    symmetric_rank_r(covariance.as_mut(), -1.0, g.as_ref().transpose(), g.as_ref().transpose(), Par::Seq);
    mirror_lower(covariance.as_mut());
    Ok(LinearPosterior {
        belief: DenseGaussian::new(&model.parameter(&z), covariance.as_ref())?,
        log_evidence: -0.5 * (n as f64 * LN_2PI + innovation.log_det() + dot(residuals, &solved)),
    })
}

#[cfg(test)]
mod tests;
