//! Predictions of labels that the model has not seen.
//!
//! Under each component a row's predictor `f = φᵀw` is Gaussian, so every prediction is a mixture of one-dimensional integrals,
//! computed in closed form or by quadratures that report failure, never by draws.

mod integrate;
mod quantile;
mod row;
#[cfg(test)]
mod tests;

use rand::Rng;
use vi_linalg::faer::{Mat, MatRef, Par};
use vi_models::Interval;

pub use row::RowPrediction;

use super::rows::check_trials;
use super::{Glm, Mixture, kernels};
use crate::basis::{Basis, check_features};
use crate::likelihood::GlmLikelihood;
use crate::{RevrandError, check};

/// The number of rows whose features are held at a time.
const BLOCK: usize = 256;

/// Predictions for rows; [`Glm::predict`] makes them.
///
/// Each method works on all rows, by several threads when it is given [`Par::rayon`] (with the feature `rayon`); results do not
/// depend on their number.
///
/// ```
/// use rand::SeedableRng;
/// use vi_linalg::faer::{Par, mat};
/// use vi_revrand::glm::{Mixture, Predictions};
/// use vi_revrand::likelihood::{Poisson, Rate};
///
/// // One weight, N(5, 0.01); two rows with rates near e⁵ and 1.
/// let posterior = Mixture::new(mat![[5.0]].as_ref(), mat![[0.01]].as_ref())?;
/// let counts = Poisson(Rate::Exponential);
/// let predictions = Predictions::new(&posterior, &counts, mat![[1.0], [0.0]].as_ref(), None)?;
/// assert!((predictions.means(Par::Seq)?[0] - f64::exp(5.005)).abs() < 1e-9);
/// let median = predictions.quantiles(0.5, Par::Seq)?;
/// assert_eq!(median, [148.0, 1.0]);
/// let ninety = predictions.intervals(0.9, Par::Seq)?;
/// assert!(ninety[0].lower < 125.0 && ninety[0].upper > 170.0);
/// let samples = predictions.draws(3, &mut rand_chacha::ChaCha8Rng::seed_from_u64(1))?;
/// assert_eq!(samples.shape(), (2, 3));
/// # Ok::<(), vi_revrand::RevrandError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Predictions<'a, L> {
    likelihood: &'a L,
    components: usize,
    /// `φᵀmₖ` and `Σ φᵢ²Cₖᵢ`, row by row (`n × K`).
    means: Vec<f64>,
    variances: Vec<f64>,
    /// The numbers of trials; 1 if the likelihood counts none.
    trials: Vec<f64>,
}

impl<B: Basis, L: GlmLikelihood> Glm<B, L> {
    /// Predictions for the rows of `x` (`n × d`); `trials` as in training. Cost `n·D·K`, and the features.
    ///
    /// # Errors
    /// Those of [`Basis::check_rows`]; [`RevrandError::Feature`]; [`RevrandError::Trials`], `Dimension` or `Entry` for the trials.
    pub fn predict(
        &self,
        x: MatRef<'_, f64>,
        trials: Option<&[f64]>,
        par: Par,
    ) -> Result<Predictions<'_, L>, RevrandError> {
        self.basis.check_rows(x)?;
        check_trials(x.nrows(), trials, &self.likelihood)?;
        let blocks: Vec<usize> = (0..x.nrows()).step_by(BLOCK).collect();
        let of_block = |b: usize| {
            let first = blocks[b];
            let x = x.subrows(first, BLOCK.min(x.nrows() - first));
            let mut features = Mat::zeros(x.nrows(), self.basis.width());
            self.basis.fill(&self.known.theta, x, features.as_mut(), Par::Seq);
            check_features(features.as_ref())?;
            Ok(project(&self.known.posterior, features.as_ref()))
        };
        let mut predictions = Predictions::empty(&self.likelihood, self.known.posterior.components());
        for (means, variances) in each(blocks.len(), par, of_block)? {
            predictions.means.extend(means);
            predictions.variances.extend(variances);
        }
        predictions.trials = trials.map_or_else(|| vec![1.0; x.nrows()], <[f64]>::to_vec);
        Ok(predictions)
    }
}

impl<'a, L: GlmLikelihood> Predictions<'a, L> {
    fn empty(likelihood: &'a L, components: usize) -> Self {
        Self { likelihood, components, means: Vec::new(), variances: Vec::new(), trials: Vec::new() }
    }

    /// Predictions from features (`n × D`) and a posterior of your own.
    ///
    /// # Errors
    /// `Dimension`, `Row` with `NonFinite` (a feature), [`RevrandError::Trials`], `Entry`.
    pub fn new(
        posterior: &Mixture,
        likelihood: &'a L,
        features: MatRef<'_, f64>,
        trials: Option<&[f64]>,
    ) -> Result<Self, RevrandError> {
        check::length("columns of the features", posterior.dimension(), features.ncols())?;
        check::matrix("features", features)?;
        check_trials(features.nrows(), trials, likelihood)?;
        let (means, variances) = project(posterior, features);
        let trials = trials.map_or_else(|| vec![1.0; features.nrows()], <[f64]>::to_vec);
        Ok(Self { means, variances, trials, ..Self::empty(likelihood, posterior.components()) })
    }

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.trials.len()
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.trials.is_empty()
    }

    /// One row's prediction.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn row(&self, row: usize) -> RowPrediction<'_, L> {
        let range = row * self.components..(row + 1) * self.components;
        RowPrediction::new(self.likelihood, self.trials[row], &self.means[range.clone()], &self.variances[range])
    }

    /// The predictive mean `E[y]` of each row (report (24)).
    ///
    /// # Errors
    /// `Row` with `Quadrature` or `Overflow`.
    pub fn means(&self, par: Par) -> Result<Vec<f64>, RevrandError> {
        self.each_row(par, |row, _| row.mean())
    }

    /// The predictive variance `Var[y]` of each row: that of the predictor plus that of the label given the predictor.
    ///
    /// # Errors
    /// `Row` with `Quadrature` or `Overflow`.
    pub fn variances(&self, par: Par) -> Result<Vec<f64>, RevrandError> {
        self.each_row(par, |row, _| row.variance())
    }

    /// The log predictive density, or log probability, of each row's `y` (`n`) (report (23)).
    ///
    /// # Errors
    /// `Dimension`; `Row` with `Label`, `NonFinite` or `Quadrature`.
    pub fn log_densities(&self, y: &[f64], par: Par) -> Result<Vec<f64>, RevrandError> {
        check::length("y", self.len(), y.len())?;
        self.each_row(par, |row, i| row.log_density(y[i]))
    }

    /// The predictive distribution function `P(Y ≤ y)` of each row (report (25)).
    ///
    /// # Errors
    /// `Dimension`; `Row` with `NonFinite` or `Quadrature`.
    pub fn cdfs(&self, y: &[f64], par: Par) -> Result<Vec<f64>, RevrandError> {
        check::length("y", self.len(), y.len())?;
        self.each_row(par, |row, i| row.cdf(y[i]))
    }

    /// The quantile of each row: the smallest `y` with `P(Y ≤ y) ≥ p` (report (26)).
    ///
    /// # Errors
    /// `Setting` unless `0 < p < 1`; `Row` with `Quadrature` or `Overflow`.
    pub fn quantiles(&self, p: f64, par: Par) -> Result<Vec<f64>, RevrandError> {
        check::probability("p", p)?;
        self.each_row(par, |row, _| row.quantile(p))
    }

    /// The central interval of each row, between the quantiles at `(1 ∓ level)/2`.
    ///
    /// # Errors
    /// `Setting` unless `0 < level < 1`; `Row` with `Quadrature` or `Overflow`.
    pub fn intervals(&self, level: f64, par: Par) -> Result<Vec<Interval>, RevrandError> {
        check::probability("level", level)?;
        self.each_row(par, |row, _| row.interval(level))
    }

    /// Draws of `y` (`n × draws`), independent from row to row.
    ///
    /// # Errors
    /// `Row` with `Overflow`; `Setting` for more draws than memory holds.
    pub fn draws<R: Rng + ?Sized>(&self, draws: usize, rng: &mut R) -> Result<Mat<f64>, RevrandError> {
        check::room("draws", &[draws, self.len()])?;
        let mut drawn = Mat::zeros(self.len(), draws);
        for i in 0..self.len() {
            let row = self.row(i);
            for j in 0..draws {
                drawn[(i, j)] = row.draw(rng).map_err(|error| at_row(error, i))?;
            }
        }
        Ok(drawn)
    }

    fn each_row<T: Send>(
        &self,
        par: Par,
        of_row: impl Fn(RowPrediction<'_, L>, usize) -> Result<T, RevrandError> + Sync,
    ) -> Result<Vec<T>, RevrandError> {
        each(self.len(), par, |i| of_row(self.row(i), i).map_err(|error| at_row(error, i)))
    }
}

/// `φᵀmₖ` and `Σ φᵢ²Cₖᵢ`, row by row (`n × K`).
fn project(q: &Mixture, features: MatRef<'_, f64>) -> (Vec<f64>, Vec<f64>) {
    let (n, k_all) = (features.nrows(), q.components());
    let phi = kernels::rows(features);
    let (mut means, mut variances) = (vec![0.0; n * k_all], vec![0.0; n * k_all]);
    let (mut a, mut v) = (vec![0.0; n], vec![0.0; n]);
    for k in 0..k_all {
        kernels::project(&phi, q.mean(k), q.variance(k), &mut a, &mut v);
        for i in 0..n {
            means[i * k_all + k] = a[i];
            variances[i * k_all + k] = v[i];
        }
    }
    (means, variances)
}

fn at_row(error: RevrandError, row: usize) -> RevrandError {
    match error {
        RevrandError::Core(error) => RevrandError::Core(error.at_row(row)),
        other => other,
    }
}

/// `f(0), …, f(n−1)`, by several threads if `par` says so; of several errors the first is returned.
fn each<T: Send>(
    n: usize,
    par: Par,
    f: impl Fn(usize) -> Result<T, RevrandError> + Send + Sync,
) -> Result<Vec<T>, RevrandError> {
    #[cfg(feature = "rayon")]
    if par.degree() > 1 {
        use rayon::prelude::*;
        let results: Vec<_> = (0..n).into_par_iter().map(f).collect();
        return results.into_iter().collect();
    }
    // Without the feature there is one thread, whatever `par` is.
    let _ = par;
    (0..n).map(f).collect()
}
