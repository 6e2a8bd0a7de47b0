//! Linear regression with unknown noise, its weights shrunk by one common precision or by one each (note §1).

mod bound;
mod predict;
mod rows;
mod stored;

pub use bound::LinearBoundTerms;
pub use predict::StudentPrediction;

use serde::{Deserialize, Serialize};
use vi_core::Error;
use vi_linalg::faer::{MatRef, Par};
use vi_linalg::kernels::dot;

use self::bound::Ingredients;
pub(super) use self::rows::Rows;
use self::rows::Spectrum;
use super::ascent::{Ascent, Cycle, Start, Step, ascend};
use super::gamma::Gamma;
use super::ridge::{Ridge, Shrinkage};
use super::weights::WeightDistribution;
use super::{LinearPrior, VbInfo, VbSettings};
use crate::{ModelError, check};

/// A fitted linear model: `q(w, τ) = N(w|w_N, V_N/τ)·Gam(τ|a_N, b_N)` and `q(α) = ∏ Gam(α|c_N, d_N)` (6), (11), (26).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "stored::Stored")]
pub struct LinearFit {
    weights: WeightDistribution,
    prior: LinearPrior,
    noise: Gamma,
    shrinkage: Vec<Gamma>,
    terms: LinearBoundTerms,
    bound: f64,
    info: VbInfo,
}

impl LinearFit {
    /// The posterior `w_N` and `V_N` of the weights, whose covariance is `V_N·b_N/(a_N−1)`.
    #[must_use]
    pub fn weights(&self) -> &WeightDistribution {
        &self.weights
    }

    /// The posterior `q(τ) = Gam(a_N, b_N)` of the noise precision (9), (10), (30); `b_N` is in squared units of `y`.
    #[must_use]
    pub fn noise(&self) -> Gamma {
        self.noise
    }

    /// The expected noise variance `E[1/τ] = b_N/(a_N−1)`; infinite for `a_N ≤ 1`.
    #[must_use]
    pub fn noise_variance(&self) -> f64 {
        self.noise.mean_inverse()
    }

    /// The posterior `q(α) = Gam(c_N, d_N)` of the shrinkage (12), (13), (31), (32): one, or `d` with automatic relevance
    /// determination.
    #[must_use]
    pub fn shrinkage(&self) -> &[Gamma] {
        &self.shrinkage
    }

    /// The expected shrinkage `E α = c_N/d_N` (15): length 1, or `d` with automatic relevance determination.
    #[must_use]
    pub fn expected_shrinkage(&self) -> Vec<f64> {
        self.shrinkage.iter().map(|alpha| alpha.mean()).collect()
    }

    /// The bound ℒ on the log evidence, from below, in nats (22), (33).
    #[must_use]
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// The terms of ℒ.
    #[must_use]
    pub fn bound_terms(&self) -> LinearBoundTerms {
        self.terms
    }

    /// The report of the fit.
    #[must_use]
    pub fn info(&self) -> &VbInfo {
        &self.info
    }
}

/// Linear regression with one shrinkage `α` for all weights (note §1.2).
///
/// ```text
/// y ~ N(Xw, 1/τ)   w ~ N(0, I/(τα))   τ ~ Gam(a₀, b₀)   α ~ Gam(c₀, d₀)
/// V⁻¹ = E[α]·I + XᵀX                         w = V·Xᵀy                                      (7), (8)
/// a_N = a₀ + n/2                             b_N = b₀ + ½(‖y − Xw‖² + E[α]·‖w‖²)            (9), (10)
/// c_N = c₀ + d/2                             d_N = d₀ + ½(a_N/b_N·‖w‖² + tr V)              (12), (13)
/// ```
///
/// `x` is `n × d`, `y` has length `n`; `q(w, τ)` is computed with the `E[α]` of the previous iteration, as the authors do. The
/// rows are decomposed once, at `2n(d+1)²` flops and a singular value decomposition of `d × d` for `n > d`, or `n²d` and an
/// eigendecomposition of `n × n` otherwise; an iteration then costs `min(n, d)` logarithms.
///
/// # Errors
/// [`ModelError::Core`] with `Empty` (no rows, no columns), `Dimension` (length of `y`), `Row` with `NonFinite`, `Overflow` if
/// numbers are not finite. Not converging is a [`Stop`](crate::Stop). Constant, collinear and too many columns are not errors:
/// [`VbInfo::condition`] says how well they can be distinguished.
///
/// Source: Drugowitsch, *Variational Bayesian inference for linear and logistic regression*, §1.2.
///
/// ```
/// use vi_core::Stop;
/// use vi_linalg::faer::{MatRef, Par};
/// use vi_models::vb::{self, LinearPrior, VbSettings};
///
/// let x = MatRef::from_row_major_slice(&[1.0, 0.0, 1.0, 1.0, 1.0, 2.0, 1.0, 3.0], 4, 2);
/// let y = [1.1, 2.9, 5.0, 7.1];
/// let fit = vb::linear(x, &y, LinearPrior::default(), &VbSettings::default(), Par::Seq)?;
/// assert_eq!(fit.info().stop, Stop::Converged);
/// assert!((fit.weights().mean()[1] - 2.0).abs() < 0.1);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn linear(
    x: MatRef<'_, f64>,
    y: &[f64],
    prior: LinearPrior,
    settings: &VbSettings,
    par: Par,
) -> Result<LinearFit, ModelError> {
    check_data(x, y)?;
    fit(x, y, y.len() as f64, false, prior, settings, par)
}

/// Linear regression with automatic relevance determination: a shrinkage `α_j` for each weight (note §1.4).
///
/// ```text
/// V⁻¹ = diag(E[α]) + XᵀX    w = V·Xᵀy    b_N = b₀ + ½(‖y − Xw‖² + Σ E[α_j]·w_j²)              (27)-(30)
/// c_N = c₀ + ½              d_Nj = d₀ + ½(a_N/b_N·w_j² + V_jj)                               (31), (32)
/// ```
///
/// As [`linear`], but an iteration costs `2d³/3` flops for `n ≥ d/2` and `2n²d + n³/3` otherwise; in the latter form `V_jj` is a
/// difference, accurate to `ε/(E[α_j]·V_jj)`, which can exceed `ε·κ` for weights that the data determine well. ℒ of this model
/// and ℒ of [`linear`] are evidences under different hyper-priors, each of which costs nats: their difference does not say
/// whether columns are relevant; [`LinearFit::relevance`] does.
///
/// # Errors
/// Those of [`linear`], and `NotPositiveDefinite` if rounding leaves no posterior covariance.
///
/// ```
/// use vi_linalg::faer::{Mat, Par};
/// use vi_models::vb::{self, LinearPrior, VbSettings};
///
/// // Only the first of three columns matters.
/// let x = Mat::from_fn(40, 3, |i, j| ((i * (j + 2)) as f64).sin());
/// let y: Vec<f64> = (0..40).map(|i| 3.0 * x[(i, 0)] + 0.01 * (7.0 * i as f64).cos()).collect();
/// let fit = vb::linear_ard(x.as_ref(), &y, LinearPrior::default(), &VbSettings::default(), Par::Seq)?;
/// assert_eq!(fit.relevance()[0].index, 0);
/// assert!(fit.weights().mean()[1].abs() < 1e-2);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn linear_ard(
    x: MatRef<'_, f64>,
    y: &[f64],
    prior: LinearPrior,
    settings: &VbSettings,
    par: Par,
) -> Result<LinearFit, ModelError> {
    check_data(x, y)?;
    fit(x, y, y.len() as f64, true, prior, settings, par)
}

pub(super) fn check_data(x: MatRef<'_, f64>, y: &[f64]) -> Result<(), Error> {
    super::check_rows(x)?;
    check::length("y", x.nrows(), y.len())?;
    match y.iter().position(|y| !y.is_finite()) {
        None => Ok(()),
        Some(row) => Err(Error::NonFinite { argument: "y", index: row, value: y[row] }.at_row(row)),
    }
}

/// The fit to checked rows that count as `observations`: one less than their number if a free intercept has been taken out.
pub(super) fn fit(
    x: MatRef<'_, f64>,
    y: &[f64],
    observations: f64,
    ard: bool,
    prior: LinearPrior,
    settings: &VbSettings,
    par: Par,
) -> Result<LinearFit, ModelError> {
    settings.check()?;
    let rows = Rows::new(x, y, par);
    let groups = if ard { x.ncols() } else { 1 };
    let per_group = if ard { 1.0 } else { x.ncols() as f64 };
    let model = Model {
        n: observations,
        d: x.ncols() as f64,
        noise_prior: Gamma::new(prior.noise_shape(), prior.noise_rate()),
        shrinkage_prior: Gamma::new(prior.shrinkage_shape(), prior.shrinkage_rate()),
        noise_shape: prior.noise_shape() + 0.5 * observations, // (9), (29)
        shrinkage_shape: prior.shrinkage_shape() + 0.5 * per_group, // (12), (31)
    };
    let start = Start { theta: vec![model.shrinkage_prior.mean().ln(); groups], pseudo_bound: None };
    // With XᵀX at hand the primal form costs no more down to n ≈ d/2, and it loses fewer digits of V_jj.
    let dual = if ard { 2 * x.nrows() < x.ncols() } else { rows.few() };
    let ridge = Ridge::new(rows.x(), dual, par);
    if ard {
        let mut cycle = PerWeight { model: &model, rows: &rows, ridge };
        let ascent = ascend(&mut cycle, start, settings)?;
        let shrinkage = Shrinkage::PerWeight(exponentials(&ascent.theta));
        cycle.ridge.solve_unweighted(shrinkage, &rows.y)?;
        model.finish(&rows, cycle.ridge, &ascent, prior)
    } else {
        let gram = rows.gram(par);
        let mut cycle = Shared { model: &model, spectrum: rows.spectrum(gram.as_ref(), par)? };
        let ascent = ascend(&mut cycle, start, settings)?;
        let mut ridge = ridge.with_gram(gram);
        ridge.solve_unweighted(Shrinkage::Shared(ascent.theta[0].exp()), &rows.y)?;
        model.finish(&rows, ridge, &ascent, prior)
    }
}

fn exponentials(theta: &[f64]) -> Vec<f64> {
    theta.iter().map(|theta| theta.exp()).collect()
}

/// What does not change over the iterations.
struct Model {
    n: f64,
    d: f64,
    noise_prior: Gamma,
    shrinkage_prior: Gamma,
    /// `a_N`.
    noise_shape: f64,
    /// `c_N`.
    shrinkage_shape: f64,
}

/// What an iteration gives besides `E α`.
struct State {
    noise: Gamma,
    shrinkage: Vec<Gamma>,
    squared_error: f64,
    fitted_trace: f64,
    log_det: f64,
}

/// The moments of `q(w|τ)` that an iteration needs.
struct Moments {
    squared_error: f64,
    fitted_trace: f64,
    log_det: f64,
    /// `Σ w_j²` of each group.
    squares: Vec<f64>,
    /// `Σ V_jj` of each group.
    variances: Vec<f64>,
}

impl Model {
    /// (10), (13), (15) and ℒ, from `q(w|τ)` at `E α`.
    fn update(&self, alpha: &[f64], moments: &Moments) -> Result<Step<State>, ModelError> {
        let penalty: f64 = alpha.iter().zip(&moments.squares).map(|(alpha, square)| alpha * square).sum();
        let rate = self.noise_prior.rate + 0.5 * (moments.squared_error + penalty); // (10), (30)
        let noise = Gamma::new(self.noise_shape, rate);
        let tau = noise.mean();
        let shrinkage: Vec<Gamma> = moments
            .squares
            .iter()
            .zip(&moments.variances)
            .map(|(square, variance)| {
                let rate = self.shrinkage_prior.rate + 0.5 * (tau * square + variance); // (13), (32)
                Gamma::new(self.shrinkage_shape, rate)
            })
            .collect();
        let next = shrinkage.iter().map(|g| g.mean().ln()).collect(); // (15)
        let &Moments { squared_error, fitted_trace, log_det, .. } = moments;
        let state = State { noise, shrinkage, squared_error, fitted_trace, log_det };
        let (bound, size) = self.ingredients(&state).closed_form();
        if !bound.is_finite() {
            return Err(Error::Overflow { quantity: "the bound", value: bound }.into());
        }
        Ok(Step { bound, size, next, state })
    }

    fn ingredients<'a>(&self, state: &'a State) -> Ingredients<'a> {
        Ingredients {
            n: self.n,
            d: self.d,
            noise_prior: self.noise_prior,
            shrinkage_prior: self.shrinkage_prior,
            noise: state.noise,
            shrinkage: &state.shrinkage,
            squared_error: state.squared_error,
            fitted_trace: state.fitted_trace,
            log_det: state.log_det,
        }
    }

    /// The result, with `V` and `w` of the last iteration in `ridge`.
    fn finish(
        &self,
        rows: &Rows<'_>,
        ridge: Ridge<'_>,
        ascent: &Ascent<State>,
        prior: LinearPrior,
    ) -> Result<LinearFit, ModelError> {
        let mut ridge = ridge;
        let Ascent { step: Step { bound, state, .. }, .. } = ascent;
        let given = self.ingredients(state);
        let constants = given.constants();
        let squares: Vec<f64> = ridge.mean().iter().map(|w| w * w).collect();
        let terms = LinearBoundTerms::new(&given, &squares, &ridge.variances());
        let (weights, condition) = ridge.finish(&rows.y)?;
        let info = ascent.info(constants, condition, ridge.reflections);
        Ok(LinearFit {
            weights,
            prior,
            noise: state.noise,
            shrinkage: state.shrinkage.clone(),
            terms,
            bound: bound + constants,
            info,
        })
    }
}

/// The iteration of [`linear`], on the spectrum of `X`.
struct Shared<'a> {
    model: &'a Model,
    spectrum: Spectrum,
}

impl Cycle for Shared<'_> {
    type State = State;

    fn cycle(&mut self, theta: &[f64]) -> Result<Step<State>, ModelError> {
        let alpha = theta[0].exp();
        let sums = self.spectrum.at(alpha); // (7), (8)
        let moments = Moments {
            squared_error: sums.squared_error,
            fitted_trace: sums.fitted_trace,
            log_det: sums.log_det,
            squares: vec![sums.squared_norm],
            variances: vec![sums.trace],
        };
        self.model.update(&[alpha], &moments)
    }
}

/// The iteration of [`linear_ard`].
struct PerWeight<'a> {
    model: &'a Model,
    rows: &'a Rows<'a>,
    ridge: Ridge<'a>,
}

impl Cycle for PerWeight<'_> {
    type State = State;

    fn cycle(&mut self, theta: &[f64]) -> Result<Step<State>, ModelError> {
        let alpha = exponentials(theta);
        self.ridge.solve_unweighted(Shrinkage::PerWeight(alpha.clone()), &self.rows.y)?; // (27), (28)
        let residual = self.ridge.residual(&self.rows.y);
        let variances = self.ridge.variances();
        let moments = Moments {
            squared_error: dot(&residual, &residual) + self.rows.rest,
            // tr(XᵀXV) = tr(I − AV)
            fitted_trace: self.model.d - alpha.iter().zip(&variances).map(|(alpha, v)| alpha * v).sum::<f64>(),
            log_det: self.ridge.log_det(),
            squares: self.ridge.mean().iter().map(|w| w * w).collect(),
            variances,
        };
        self.model.update(&alpha, &moments)
    }
}

#[cfg(test)]
mod tests;
