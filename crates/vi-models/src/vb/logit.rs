//! Logistic regression under a local bound, its weights shrunk by one common precision or by one each (note §2).

mod bound;
mod incremental;
mod predict;
mod quadratic;
mod softplus;
mod stored;

pub use bound::LogitBoundTerms;
pub use incremental::{IncrementalFit, logit_incremental};
pub use predict::{AuthorsStop, authors_probabilities, bound_probability};

use serde::{Deserialize, Serialize};
use vi_core::{BernoulliLogit, Likelihood, Mixture8};
use vi_linalg::faer::{MatRef, Par};

use self::quadratic::Quadratic;
use self::softplus::Softplus;
use super::ascent::ascend;
use super::gamma::Gamma;
use super::ridge::{Ridge, Shrinkage};
use super::weights::WeightDistribution;
use super::{LogitPrior, VbInfo, VbSettings};
use crate::{ModelError, check};

/// Which lower bound of `E log σ(yt)` the fit maximises.
///
/// **The quadratic bound and independent weights give too narrow intervals.** The table is the coverage of 90 % intervals of the
/// weights on 400 data sets simulated from the prior, with known scale `σ₀` and normal rows with correlation `ρ` between columns
/// (`crates/vi-models/tests/it/vb_coverage.rs` measures it):
///
/// | n | d | σ₀ | ρ | Jaakkola-Jordan | softplus, weights independent | softplus |
/// |---|---|---|---|---|---|---|
/// | 80 | 10 | 1 | 0 | 0.78 | 0.86 | 0.89 |
/// | 80 | 10 | 1 | 0.7 | 0.84 | 0.75 | 0.90 |
/// | 40 | 5 | 2 | 0 | 0.74 | 0.86 | 0.90 |
/// | 160 | 20 | 1 | 0 | 0.74 | 0.86 | 0.90 |
///
/// (Independent weights are mean field, with variances `1/(V⁻¹)_jj`: those of the best diagonal Gaussian for `N(w, V)`.)
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum LogitBound {
    /// Jaakkola and Jordan's quadratic bound (45), that of the note: every iteration is a weighted ridge regression. Its
    /// curvature `2λ(ξ)` exceeds that of the logistic likelihood, so intervals of the weights are too narrow.
    #[default]
    JaakkolaJordan,
    /// The expectation itself, from above by at most 2.0e-10 nats a row: `E max(t, 0)` in closed form and the remaining `E
    /// log(1+e^(−|t|))` as a sum of normal tails, the form of Komodromos, Evangelou and Filippi ("Logistic variational Bayes
    /// revisited", ICML 2024). Their coefficients are those of the series of `log(1+z)` cut after an odd term; here they are
    /// those of its Chebyshev polynomial of degree 12, lifted to lie above it. The series cut after 23 terms is off by 0.02 nats
    /// near `t = 0`, where its curvature turns negative for narrow posteriors.
    Softplus,
}

/// Which weights share a shrinkage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Grouping {
    /// All weights share one shrinkage.
    One,
    /// Each weight has its own: automatic relevance determination.
    Each,
    /// All weights but the first, an intercept with its own, share one.
    FirstApart,
}

impl Grouping {
    fn sizes(self, d: usize) -> Vec<f64> {
        match self {
            Self::One => vec![d as f64],
            Self::Each => vec![1.0; d],
            Self::FirstApart if d == 1 => vec![1.0],
            Self::FirstApart => vec![1.0, (d - 1) as f64],
        }
    }

    fn of(self, j: usize) -> usize {
        match self {
            Self::One => 0,
            Self::Each => j,
            Self::FirstApart => j.min(1),
        }
    }

    /// `A` from a precision for each group.
    fn shrinkage(self, alpha: &[f64], d: usize) -> Shrinkage {
        match (self, alpha) {
            (Self::One, &[alpha]) => Shrinkage::Shared(alpha),
            _ => Shrinkage::PerWeight(self.spread(alpha, d)),
        }
    }

    /// The value of each weight's group, for each weight.
    fn spread(self, values: &[f64], d: usize) -> Vec<f64> {
        (0..d).map(|j| values[self.of(j)]).collect()
    }

    /// `Σ w_j² + V_jj` over each group; `nu` is from a projection of all rows.
    fn second_moments(self, ridge: &mut Ridge<'_>, groups: usize, alpha: &[f64], h: &[f64], nu: &[f64]) -> Vec<f64> {
        let mut moments = vec![0.0; groups];
        for (j, w) in ridge.mean().iter().enumerate() {
            moments[self.of(j)] += w * w;
        }
        if let (Self::One, &[alpha]) = (self, alpha) {
            // tr V from tr(V·V⁻¹) = d; its rounding, ε·d/α, is ε of b_N.
            let seen: f64 = h.iter().zip(nu).map(|(h, nu)| h * nu).sum();
            moments[0] += ((ridge.d() as f64 - seen) / alpha).max(0.0);
        } else {
            for (j, variance) in ridge.variances().into_iter().enumerate() {
                moments[self.of(j)] += variance;
            }
        }
        moments
    }
}

/// A fitted logistic model: `q(w) = N(w_N, V_N)` and `q(α) = ∏ Gam(α|a_N, b_N)` (48), (51), (71).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "stored::Stored")]
pub struct LogitFit {
    weights: WeightDistribution,
    prior: LogitPrior,
    bound_kind: LogitBound,
    grouping: Grouping,
    shrinkage: Vec<Gamma>,
    xi: Vec<f64>,
    terms: LogitBoundTerms,
    bound: f64,
    info: VbInfo,
}

impl LogitFit {
    /// The posterior `w_N` and `V_N` of the weights.
    #[must_use]
    pub fn weights(&self) -> &WeightDistribution {
        &self.weights
    }

    /// Which local bound was maximised.
    pub(super) fn local_bound(&self) -> LogitBound {
        self.bound_kind
    }

    /// The posterior `q(α) = Gam(a_N, b_N)` of the shrinkage (52), (53), (74), (75): one, or `d` with automatic relevance
    /// determination.
    #[must_use]
    pub fn shrinkage(&self) -> &[Gamma] {
        &self.shrinkage
    }

    /// The expected shrinkage `E α = a_N/b_N` (54): length 1, or `d` with automatic relevance determination.
    #[must_use]
    pub fn expected_shrinkage(&self) -> Vec<f64> {
        self.shrinkage.iter().map(|alpha| alpha.mean()).collect()
    }

    pub(super) fn grouping(&self) -> Grouping {
        self.grouping
    }

    /// `E α` of each weight, length `d`.
    pub(super) fn shrinkage_of_weights(&self) -> Vec<f64> {
        self.grouping.spread(&self.expected_shrinkage(), self.weights.dim())
    }

    /// The local parameters `ξ` with which `V_N` was computed (63), length `n`; empty if the bound has none.
    #[must_use]
    pub fn xi(&self) -> &[f64] {
        &self.xi
    }

    /// The bound ℒ on the log evidence, from below, in nats (62), (80).
    #[must_use]
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// The terms of ℒ.
    #[must_use]
    pub fn bound_terms(&self) -> LogitBoundTerms {
        self.terms
    }

    /// The report of the fit.
    #[must_use]
    pub fn info(&self) -> &VbInfo {
        &self.info
    }
}

/// Logistic regression with one shrinkage `α` for all weights (note §2.2).
///
/// ```text
/// p(y=1) = σ(xᵀw)   w ~ N(0, I/α)   α ~ Gam(a₀, b₀)
/// ξ_i² = x_iᵀ(V + wwᵀ)x_i                     b_N = b₀ + ½(‖w‖² + tr V),  a_N = a₀ + d/2      (63), (53), (52)
/// V⁻¹ = a_N/b_N·I + 2·Σ λ(ξ_i)·x_ix_iᵀ         w = V·Σ ±½·x_i                                 (49), (50)
/// ```
///
/// `x` is `n × d`, `y` has length `n` and holds 0 and 1 (the note has −1 and 1). With [`LogitBound::Softplus`] the same updates
/// take the slope and curvature of the expectation itself, and a step that would lower ℒ is shortened. An iteration costs `2nd² +
/// d³/3` flops for `n > d` and `2n³/3` otherwise, `n²d` once.
///
/// # Errors
/// [`ModelError::Core`] with `Empty` (no rows, no columns), `Dimension` (length of `y`), `Row` with `NonFinite` or `Label`,
/// `Overflow` if numbers are not finite, `NotPositiveDefinite` if rounding leaves no posterior covariance. Not converging is a
/// [`Stop`](crate::Stop). Separable classes, constant, collinear and too many columns are not errors.
///
/// Source: Drugowitsch, *Variational Bayesian inference for linear and logistic regression*, §2.2.
///
/// ```
/// use vi_linalg::faer::{MatRef, Par};
/// use vi_models::vb::{self, LogitBound, LogitPrior, VbSettings};
///
/// // Separable: the likelihood alone has no maximum.
/// let x = MatRef::from_row_major_slice(&[1.0, -2.0, 1.0, -1.0, 1.0, 1.0, 1.0, 3.0], 4, 2);
/// let y = [0.0, 0.0, 1.0, 1.0];
/// let settings = VbSettings::default();
/// let fit = vb::logit(x, &y, LogitPrior::default(), LogitBound::JaakkolaJordan, &settings, Par::Seq)?;
/// let tight = vb::logit(x, &y, LogitPrior::default(), LogitBound::Softplus, &settings, Par::Seq)?;
/// assert!(fit.bound() < tight.bound() && tight.bound() < 0.0);
/// assert!(fit.predict(x)?[3].probability > 0.8);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn logit(
    x: MatRef<'_, f64>,
    y: &[f64],
    prior: LogitPrior,
    bound: LogitBound,
    settings: &VbSettings,
    par: Par,
) -> Result<LogitFit, ModelError> {
    check_data(x, y)?;
    fit(x, y, Grouping::One, prior, bound, settings, par)
}

/// Logistic regression with automatic relevance determination: a shrinkage `α_j` for each weight (note §2.4).
///
/// ```text
/// V⁻¹ = diag(a_N/b_Nj) + 2·Σ λ(ξ_i)·x_ix_iᵀ    b_Nj = b₀ + ½(w_j² + V_jj),  a_N = a₀ + ½       (72), (75), (74)
/// ```
///
/// As [`logit`], but an iteration costs `2nd² + 2d³/3` flops for `n > d` and `2n²d + 2n³/3` otherwise. ℒ of this model and of
/// [`logit`] are evidences under different hyper-priors: their difference does not say whether columns are relevant;
/// [`LogitFit::relevance`] does.
///
/// # Errors
/// Those of [`logit`].
///
/// ```
/// use vi_linalg::faer::{Mat, Par};
/// use vi_models::vb::{self, LogitBound, LogitPrior, VbSettings};
///
/// // Only the first of three columns matters.
/// let x = Mat::from_fn(60, 3, |i, j| ((i * (j + 2)) as f64).sin());
/// let y: Vec<f64> = (0..60).map(|i| f64::from(x[(i, 0)] > 0.0)).collect();
/// let (prior, settings) = (LogitPrior::default(), VbSettings::default());
/// let fit = vb::logit_ard(x.as_ref(), &y, prior, LogitBound::Softplus, &settings, Par::Seq)?;
/// assert_eq!(fit.relevance()[0].index, 0);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn logit_ard(
    x: MatRef<'_, f64>,
    y: &[f64],
    prior: LogitPrior,
    bound: LogitBound,
    settings: &VbSettings,
    par: Par,
) -> Result<LogitFit, ModelError> {
    check_data(x, y)?;
    fit(x, y, Grouping::Each, prior, bound, settings, par)
}

pub(super) fn check_data(x: MatRef<'_, f64>, y: &[f64]) -> Result<(), ModelError> {
    super::check_rows(x)?;
    check::length("y", x.nrows(), y.len())?;
    for (row, &label) in y.iter().enumerate() {
        BernoulliLogit(Mixture8).check_label(label).map_err(|error| error.at_row(row))?;
    }
    Ok(())
}

/// What does not change over the iterations.
struct Model<'a> {
    y: &'a [f64],
    d: usize,
    grouping: Grouping,
    prior: Gamma,
    /// `a_N` of each group.
    shapes: Vec<f64>,
}

impl Model<'_> {
    /// `Gam(a_N, b_N)` of each group from its precision `E α = a_N/b_N`.
    fn of_means(&self, alpha: &[f64]) -> Vec<Gamma> {
        self.shapes.iter().zip(alpha).map(|(&shape, alpha)| Gamma::new(shape, shape / alpha)).collect()
    }

    /// (53), (75).
    fn of_moments(&self, moments: &[f64]) -> Vec<Gamma> {
        let posterior = |(&shape, moment): (&f64, &f64)| Gamma::new(shape, self.prior.rate + 0.5 * moment);
        self.shapes.iter().zip(moments).map(posterior).collect()
    }

    /// The constants of ℒ.
    fn constants(&self) -> f64 {
        self.shapes.len() as f64 * self.prior.log_normaliser()
    }
}

/// The fit to checked rows.
pub(super) fn fit(
    x: MatRef<'_, f64>,
    y: &[f64],
    grouping: Grouping,
    prior: LogitPrior,
    bound: LogitBound,
    settings: &VbSettings,
    par: Par,
) -> Result<LogitFit, ModelError> {
    settings.check()?;
    let (n, d) = x.shape();
    let shape = prior.shrinkage_shape();
    let model = Model {
        y,
        d,
        grouping,
        prior: Gamma::new(shape, prior.shrinkage_rate()),
        shapes: grouping.sizes(d).iter().map(|size| shape + 0.5 * size).collect(), // (52), (74)
    };
    let ridge = Ridge::new(x, n <= d, par);
    let (ascent, mut end) = match bound {
        LogitBound::JaakkolaJordan => {
            let mut cycle = Quadratic::new(&model, ridge);
            let start = cycle.start()?;
            let ascent = ascend(&mut cycle, start, settings)?;
            let end = cycle.end(&ascent.theta)?;
            (ascent, end)
        }
        LogitBound::Softplus => {
            let mut cycle = Softplus::new(&model, ridge);
            let start = cycle.start();
            let ascent = ascend(&mut cycle, start, settings)?;
            let end = cycle.end(&ascent.theta)?;
            (ascent, end)
        }
    };
    let terms = LogitBoundTerms::new(&model, &end);
    let (weights, condition) = end.ridge.finish(&end.r)?;
    Ok(LogitFit {
        weights,
        prior,
        bound_kind: bound,
        grouping,
        shrinkage: end.shrinkage,
        xi: end.xi,
        terms,
        bound: ascent.step.bound + model.constants(),
        info: ascent.info(model.constants(), condition, end.ridge.reflections),
    })
}

/// The end of an ascent; `ridge` holds `V` and `w`.
struct End<'a> {
    ridge: Ridge<'a>,
    /// The linear coefficients of the sites, `V⁻¹w = Xᵀr`.
    r: Vec<f64>,
    shrinkage: Vec<Gamma>,
    xi: Vec<f64>,
    /// The bound of `E log p(Y|w)`.
    likelihood: f64,
    /// `Σ w_j² + V_jj` of each group.
    moments: Vec<f64>,
}

#[cfg(test)]
mod tests;
