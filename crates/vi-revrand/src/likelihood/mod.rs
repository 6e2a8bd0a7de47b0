//! Likelihoods `p(y|f, γ)` of a predictor `f = φᵀw`: densities, three derivatives, moments, distribution function, draws.
//!
//! | family | `y` | `E[y\|f]` | parameter `γ` |
//! |---|---|---|---|
//! | [`Gaussian`] | real | `f` | noise variance |
//! | [`Bernoulli`] | 0, 1 | `s(f)` | |
//! | [`Binomial`] | 0, 1, …, trials | `trials·s(f)` | |
//! | [`Poisson`] with [`Rate::Exponential`] | 0, 1, … | `e^f` | |
//! | [`Poisson`] with [`Rate::Softplus`] | 0, 1, … | `log(1 + e^f)` | |
//!
//! Densities, distribution functions and draws are those of [`vi_models::likelihood`]; this module adds what gradients of a
//! mixture need: a third derivative, derivatives by `γ`, and many predictors at once.

mod bernoulli;
mod binomial;
mod gaussian;
mod poisson;
#[cfg(test)]
mod tests;

pub use bernoulli::Bernoulli;
pub use binomial::Binomial;
pub use gaussian::Gaussian;
pub use poisson::{Poisson, Rate};

use std::fmt;

use rand::Rng;

use crate::RevrandError;
use crate::basis::Parameter;

/// A likelihood of one label `y` given a scalar predictor `f`, with parameters `γ` that can be learned.
///
/// `trials` is the number of trials of a binomial observation and 1 for every other family. Primes are derivatives by `f`.
pub trait GlmLikelihood: fmt::Debug + Clone + Send + Sync {
    /// Name of the family, for messages.
    fn family(&self) -> &'static str;

    /// The current parameters `γ`, with their bounds.
    fn parameters(&self) -> Vec<Parameter> {
        Vec::new()
    }

    /// Sets `γ`. It is called in loops with values between the bounds, and checks nothing.
    fn set_parameters(&mut self, gamma: &[f64]) {
        let _ = gamma;
    }

    /// Whether every observation comes with a number of trials.
    fn counts_trials(&self) -> bool {
        false
    }

    /// Whether labels are integers from 0.
    fn is_discrete(&self) -> bool;

    /// Whether `log p(y|f)` is concave in `f` for every label. Searches for the mode of a predictive density rely on it.
    fn is_log_concave(&self) -> bool {
        true
    }

    /// Whether `y` has positive density or probability.
    fn supports(&self, y: f64, trials: f64) -> bool;

    /// The log-density `log p(y|f, γ)` in nats, normalised over `y`.
    fn log_density(&self, y: f64, trials: f64, f: f64) -> f64;

    /// `log p` and its first three derivatives by `f`.
    fn derivatives(&self, y: f64, trials: f64, f: f64) -> [f64; 4];

    /// `log p` and its first derivative.
    fn value_and_slope(&self, y: f64, trials: f64, f: f64) -> [f64; 2] {
        let [value, slope, ..] = self.derivatives(y, trials, f);
        [value, slope]
    }

    /// The derivatives `∂ log p/∂γ_i` and `∂ (log p)″/∂γ_i`, for each `i`.
    fn parameter_derivatives(&self, y: f64, trials: f64, f: f64, out: &mut [[f64; 2]]) {
        let _ = (y, trials, f, out);
    }

    /// `log p` and its first derivative for `f.len()/y.len()` predictors of each row, row `n`'s being `f[n·s..(n+1)·s]`. Writes
    /// the derivatives into `slopes`, and the sum of row `n`'s `log p` into `sums[n]`.
    ///
    /// Stochastic gradients spend most of their time here; a family should override it if many predictors at once are cheaper.
    fn sums_and_slopes(&self, y: &[f64], trials: &[f64], f: &[f64], sums: &mut [f64], slopes: &mut [f64]) {
        let per_row = f.len() / y.len().max(1);
        for (n, (f, slopes)) in f.chunks_exact(per_row).zip(slopes.chunks_exact_mut(per_row)).enumerate() {
            sums[n] = 0.0;
            for (slope, &f) in slopes.iter_mut().zip(f) {
                let [value, first] = self.value_and_slope(y[n], trials[n], f);
                sums[n] += value;
                *slope = first;
            }
        }
    }

    /// The mean `E[y|f]`.
    fn mean(&self, trials: f64, f: f64) -> f64;

    /// The variance `Var[y|f]`.
    fn variance(&self, trials: f64, f: f64) -> f64;

    /// The distribution function `P(Y ≤ y|f)`.
    fn cdf(&self, y: f64, trials: f64, f: f64) -> f64;

    /// A draw of `y`.
    ///
    /// # Errors
    /// `Overflow` if the family's rate at `f` is too large to draw from.
    fn draw(&self, trials: f64, f: f64, rng: &mut impl Rng) -> Result<f64, RevrandError>;

    /// `E[y]` and `Var[y]` for `f ~ N(a, v)`, if there is a closed form.
    fn closed_moments(&self, trials: f64, a: f64, v: f64) -> Option<[f64; 2]> {
        let _ = (trials, a, v);
        None
    }

    /// `log E[p(y|f)]` and `E[P(Y ≤ y|f)]` for `f ~ N(a, v)`, if there is a closed form.
    fn closed_predictive(&self, y: f64, a: f64, v: f64) -> Option<[f64; 2]> {
        let _ = (y, a, v);
        None
    }
}
