//! The predictive probability of class 1: by the integral, and by the note's bound (65).

use vi_core::special::{jaakkola_jordan, log_sigmoid};
use vi_core::{Mixture8, Projection, QuadraticBound};
use vi_linalg::faer::MatRef;

use super::LogitFit;
use crate::ModelError;
use crate::predict::{LogisticPrediction, ProbabilityVariance};

/// When the authors' code ends its search for `ξ`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuthorsStop {
    /// A row's search ends when its own bound changes by less than 1e-5 of itself (`bayes_logit_post_iter.m`).
    EachRow,
    /// All searches end when the sum of the rows' bounds changes by less than that (`bayes_logit_post.m`); single rows are less
    /// converged.
    SumOfRows,
}

/// The largest value over `ξ` of the bound (65) on `E σ(t)`, `t ~ N(a, ν)`: its logarithm is
///
/// ```text
/// −½ln(1+hν) + (a + ν/4 − ha²)/(2(1+hν)) + ln σ(ξ) − ξ/2 + ½hξ²,   h = 2λ(ξ)
/// ```
///
/// which is (65) after (95)-(97) for any `V`. It is a bound and not a probability: the values for `x` and `−x` sum to less than
/// 1, to 0.66 for wide posteriors.
///
/// # Errors
/// [`ModelError::Core`] with `RootNotFound`, which was not seen for `|a|` and `ν` up to 1e150.
///
/// ```
/// use vi_core::Projection;
/// use vi_models::vb::bound_probability;
/// let wide = |mean| Projection { mean, variance: 1e4 };
/// let sum = bound_probability(wide(1.0))? + bound_probability(wide(-1.0))?;
/// assert!(sum < 0.3);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn bound_probability(seen: Projection) -> Result<f64, ModelError> {
    let xi = QuadraticBound::Optimal.xi(seen.mean, seen.variance, 1.0)?; // (68)
    Ok((gain(seen, xi) + local(xi)).exp())
}

/// The terms of (65) that depend on the belief, and on `ξ`.
fn gain(seen: Projection, xi: f64) -> f64 {
    let Projection { mean: a, variance: nu } = seen;
    let h = jaakkola_jordan(xi);
    let grown = 1.0 + h * nu;
    -0.5 * grown.ln() + 0.5 * (a + 0.25 * nu - h * a * a) / grown
}

/// `ln σ(ξ) − ξ/2 + λ(ξ)ξ²`.
fn local(xi: f64) -> f64 {
    log_sigmoid(xi) - 0.5 * xi + 0.5 * jaakkola_jordan(xi) * xi * xi
}

/// (68) from the last `ξ`: `ξ² = xᵀ(Ṽ + w̃w̃ᵀ)x`.
fn next_xi(seen: Projection, xi: f64) -> f64 {
    let grown = 1.0 + jaakkola_jordan(xi) * seen.variance;
    let mean = (seen.mean + 0.5 * seen.variance) / grown; // (67)
    (seen.variance / grown + mean * mean).sqrt()
}

/// The value of the bound (65) at which the authors' code ends, for a posterior with `energy = wᵀVₙ⁻¹w`, which enters their rule.
///
/// Starts at `ξ = 0` and takes at most 500 steps of (66)-(68).
#[must_use]
pub fn authors_probabilities(seen: &[Projection], energy: f64, stop: AuthorsStop) -> Vec<f64> {
    match stop {
        AuthorsStop::EachRow => seen.iter().flat_map(|seen| ascend(std::slice::from_ref(seen), energy)).collect(),
        AuthorsStop::SumOfRows => ascend(seen, energy),
    }
}

fn ascend(seen: &[Projection], energy: f64) -> Vec<f64> {
    // Their rule sees this without −½wᵀV⁻¹w.
    let sum =
        |xi: &[f64]| seen.iter().zip(xi).map(|(seen, &xi)| gain(*seen, xi) + local(xi) + 0.5 * energy).sum::<f64>();
    let mut xi = vec![0.0; seen.len()];
    let mut last = sum(&xi);
    for _ in 0..500 {
        for (xi, seen) in xi.iter_mut().zip(seen) {
            *xi = next_xi(*seen, *xi);
        }
        let bound = sum(&xi);
        if last > bound || (last - bound).abs() < (1e-5 * bound).abs() {
            break;
        }
        last = bound;
    }
    seen.iter().zip(&xi).map(|(seen, &xi)| (gain(*seen, xi) + local(xi)).exp()).collect()
}

impl LogitFit {
    /// The predictions at every row of `x` (`m × d`), `E σ(xᵀw)` by the eight-term mixture of probits. Cost `md²` or `2mnd` flops.
    ///
    /// # Errors
    /// Those of [`WeightDistribution::project`](super::super::WeightDistribution::project).
    pub fn predict(&self, x: MatRef<'_, f64>) -> Result<Vec<LogisticPrediction>, ModelError> {
        self.predict_by(x, &Mixture8)
    }

    /// The predictions by another method: [`ProbitApproximation`](vi_core::ProbitApproximation) for the one-term formula, [`Exact`](vi_core::Exact) for the
    /// integral to rounding.
    ///
    /// # Errors
    /// Those of [`predict`](Self::predict).
    pub fn predict_by<M: ProbabilityVariance>(
        &self,
        x: MatRef<'_, f64>,
        method: &M,
    ) -> Result<Vec<LogisticPrediction>, ModelError> {
        Ok(self.weights.project(x)?.into_iter().map(|seen| LogisticPrediction::new(seen, method)).collect())
    }

    /// The bound (65) at every row of `x`, maximised for each: see [`bound_probability`].
    ///
    /// # Errors
    /// Those of [`predict`](Self::predict) and of [`bound_probability`].
    pub fn bound_probabilities(&self, x: MatRef<'_, f64>) -> Result<Vec<f64>, ModelError> {
        self.weights.project(x)?.into_iter().map(bound_probability).collect()
    }
    /// The bound (65) at every row of `x`, as the authors' code leaves it.
    ///
    /// # Errors
    /// Those of [`predict`](Self::predict).
    pub fn authors_probabilities(&self, x: MatRef<'_, f64>, stop: AuthorsStop) -> Result<Vec<f64>, ModelError> {
        Ok(authors_probabilities(&self.weights.project(x)?, self.weights.energy(), stop))
    }
}
