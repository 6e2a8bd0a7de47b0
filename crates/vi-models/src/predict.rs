//! Predictions from a Gaussian belief.
//!
//! A belief `N(μ, P)` gives a row `x` the predictor `t = xᵀθ ~ N(a, ν)`, a [`Projection`]; every prediction is made from that.
//!
//! | to predict | call | from |
//! |---|---|---|
//! | `(a, ν)` for many rows | [`project`] | one matrix product |
//! | `E s(t)`, its variance, quantiles and interval, the plug-in `s(a)`, draws of `s(t)` and of labels | [`logistic`], [`LogisticPrediction`] | R-VGA (62)-(63), (122) |
//! | `log p(y|x)` for any likelihood | [`vi_core::GaussianExpectation::log_predictive`] | |
//! | mean, variance, quantiles, intervals and draws of `xᵀθ` and of `y` | [`linear`], [`LinearPrediction`] | |
//! | mean, variance, quantiles, intervals and draws of classes and counts | [`counts`], [`CountsPredicted`] | |
//! | the same for `y` with Student-t noise | [`robust`], [`RobustPrediction`] | |
//! | `mean`, `variance`, `log_density`, `cdf`, `quantile`, `interval` of any of these, in the same words | [`Predictive`], a trait to have in scope | |
//! | the weighted average of several predictions | [`Mixture`] | |
//! | intervals and draws of the weights themselves | [`weights`], [`vi_core::DenseGaussian::draw_with`] | |
//!
//! # How far to trust the intervals
//!
//! Share of 90 % intervals of weights and of `xᵀθ` that held the truth, data drawn from the prior (`σ₀ = 1`, `d = 8` inputs,
//! `n = 64`; standard errors about half a point). A linear model holds its 90 %.
//!
//! | belief, rule | logit | probit | Poisson |
//! |---|---|---|---|
//! | [batch optimum](vi_core::batch::optimum) | 89.2 % | 88.7 % | 89.0 % |
//! | one pass, [`MomentMatching`](vi_core::MomentMatching) | 88.7 % | 87.4 % | 88.5 % |
//! | one pass, [`Implicit`](vi_core::Implicit) | 88.5 % | 85.6 % | 87.6 % |
//! | one pass, low rank, `p = 1` | 87.7 % | | |
//! | one pass, diagonal | **81.5 %** | | |
//! | one pass, [`QuadraticBound`](vi_core::QuadraticBound) | **79.4 %** | | |
//!
//! So intervals of a diagonal belief and of the quadratic bound are too narrow, about three quarters of the right width; their
//! means are usable. One pass costs a point or two, most with the implicit rule and the probit; a sweep of
//! [refinement](vi_core::refine) regains them. The models of [`online`](crate::online) match moments, and start from [expectation
//! propagation](vi_core::refine::expectation_propagation) of their first rows.

mod count_families;
mod count_quantile;
mod crossing;
mod few;
mod glm;
mod linear;
mod logistic;
mod mixture;
mod predictive;
mod robust;

pub use count_families::CountPrediction;
pub use glm::{CountsPredicted, counts};
pub use linear::{LinearPrediction, linear};
pub use logistic::{LogisticPrediction, ProbabilityVariance, logistic};
pub use mixture::Mixture;
pub use predictive::Predictive;
pub use robust::{RobustPrediction, robust};

use vi_core::{Belief, DenseGaussian, Error, Projection};
use vi_linalg::faer::{Mat, MatRef, Par};
use vi_linalg::kernels::symmetric_mul_mat;

use crate::{Interval, ModelError, check};

/// The number of rows taken together: enough for the speed of matrix products, and small beside `P`.
const BLOCK: usize = 256;

/// `(a, ν) = (xᵀμ, xᵀPx)` for every row of `x` (`n × d`), by matrix products. Cost `2nd²` flops, `256·d` numbers.
///
/// # Errors
/// [`ModelError::Core`] with `Empty` (`n = 0`), `Dimension`, `Row` with `NonFinite`, with `NegativeVariance` when rounding has
/// destroyed the covariance, or with `Overflow`.
///
/// ```
/// use vi_core::DenseGaussian;
/// use vi_linalg::faer::mat;
/// use vi_models::predict;
/// let belief = DenseGaussian::isotropic(&[0.0, 1.0], 2.0)?;
/// let seen = predict::project(&belief, mat![[3.0, 1.0], [0.0, 2.0]].as_ref())?;
/// assert_eq!((seen[0].mean, seen[0].variance), (1.0, 40.0));
/// assert_eq!((seen[1].mean, seen[1].variance), (2.0, 16.0));
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn project(belief: &DenseGaussian, x: MatRef<'_, f64>) -> Result<Vec<Projection>, ModelError> {
    check::rows(belief.dim(), x)?;
    let (n, d) = x.shape();
    let covariance = belief.covariance_lower();
    let mut products = Mat::zeros(d, BLOCK.min(n));
    let mut seen = Vec::with_capacity(n);
    for start in (0..n).step_by(BLOCK) {
        let block = x.subrows(start, BLOCK.min(n - start));
        let mut products = products.as_mut().subcols_mut(0, block.nrows());
        symmetric_mul_mat(products.as_mut(), Mat::as_ref(&covariance), block.transpose(), Par::Seq);
        for i in 0..block.nrows() {
            let projection = along(block.row(i).iter(), belief.mean(), products.as_ref().col(i).iter());
            seen.push(projection.map_err(|error| error.at_row(start + i))?);
        }
    }
    Ok(seen)
}

/// `(xᵀμ, xᵀ(Px))`; a variance that rounds to just below 0 becomes 0.
fn along<'a>(
    x: impl Iterator<Item = &'a f64>,
    mean: &[f64],
    products: impl Iterator<Item = &'a f64>,
) -> Result<Projection, Error> {
    let (mut along, mut variance, mut size) = (0.0, 0.0, 0.0);
    for ((x, mean), product) in x.zip(mean).zip(products) {
        along += x * mean;
        variance += x * product;
        size += (x * product).abs();
    }
    Projection::new(along, variance, mean.len() as f64 * f64::EPSILON * size)
}

/// The central interval of each weight `θⱼ ~ N(μⱼ, Pⱼⱼ)` that holds `level` of its mass. Length `d`.
///
/// # Errors
/// [`ModelError::Core`] with `Setting` unless `0 < level < 1`.
///
/// ```
/// use vi_core::DenseGaussian;
/// use vi_models::predict;
/// let belief = DenseGaussian::isotropic(&[0.0, 1.0], 2.0)?;
/// let intervals = predict::weights(&belief, 0.95)?;
/// assert!(intervals[1].contains(4.9) && !intervals[1].contains(5.0));
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn weights(belief: &DenseGaussian, level: f64) -> Result<Vec<Interval>, ModelError> {
    let covariance = belief.covariance_lower();
    belief.mean().iter().enumerate().map(|(j, &mean)| Interval::gaussian(mean, covariance[(j, j)], level)).collect()
}

#[cfg(test)]
mod tests;
