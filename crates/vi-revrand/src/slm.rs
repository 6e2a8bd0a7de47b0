//! The standard linear model: Bayesian linear regression on features, its kernel learned from the marginal likelihood.
//!
//! ```text
//! y = Φw + N(0, σ²I),   w ~ N(0, Λ),   Λ = diag(λ), one λ for the features of each part        (11)-(12)
//! ```
//!
//! [`learn`] finds the noise variance `σ²`, the prior variances `λ` and the kernel parameters `θ` that maximise the log marginal
//! likelihood (13), with its exact gradient, on logarithmic scales, from several starts; [`Slm`] is the posterior and predicts
//! (14)-(16). The paper's `C` should have `I/λ` in place of `λI`, and (13) should have `λΦΦᵀ`.
//!
//! ```
//! use rand::SeedableRng;
//! use vi_linalg::faer::{Mat, Par};
//! use vi_revrand::basis::{Bias, Kernel, LengthScale, RandomFourier};
//! use vi_revrand::slm::{self, SlmSettings};
//!
//! let x = Mat::from_fn(60, 1, |i, _| i as f64 / 10.0);
//! let y: Vec<f64> = (0..60).map(|i| 3.0 + x[(i, 0)].sin()).collect();
//! let rng = &mut rand_chacha::ChaCha8Rng::seed_from_u64(1);
//! let basis = RandomFourier::new(Kernel::Rbf, 1, 10, LengthScale::Shared(1.0), rng)? + Bias::new(1.0)?;
//!
//! let fit = slm::learn(basis, x.as_ref(), &y, &SlmSettings::default(), rng, Par::Seq)?;
//! let at = fit.model.predict(Mat::full(1, 1, 1.57).as_ref(), Par::Seq)?[0];
//! assert!((at.mean - 4.0).abs() < 0.01);
//! assert!(fit.model.hyperparameters().noise_variance < 1e-4);
//! # Ok::<(), vi_revrand::RevrandError>(())
//! ```
//!
//! | symbol | name in code | shape |
//! |---|---|---|
//! | `Φ` | features | `n × D` |
//! | `σ²`, `λ`, `θ` | [`Hyperparameters`] | scalar, one a part, `q` |
//! | `Ψ = ΦΛ^½` | `psi` | `n × D` |
//! | `B = I + ΨᵀΨ/σ²` | factor of the posterior precision of `Λ^{-½}w` | `D × D` |
//! | `m`, `C = Λ^½B⁻¹Λ^½` | [`Slm::weight_mean`], [`Slm::weight_covariance`] | `D`, `D × D` |

mod evidence;
mod learning;
mod posterior;
mod search;
mod settings;

pub use evidence::{Evidence, evidence};
pub use learning::{SlmFit, SlmInfo, learn};
pub use posterior::Slm;
pub use settings::SlmSettings;

use serde::{Deserialize, Serialize};
use vi_linalg::faer::MatRef;

use crate::basis::prior_variances;
use crate::{Basis, RevrandError, check};

/// The hyper-parameters of the model, on which the marginal likelihood depends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hyperparameters {
    /// The noise variance `σ²`.
    pub noise_variance: f64,
    /// The prior variances `λ` of the weights, one for each part of the basis.
    pub prior_variances: Vec<f64>,
    /// The parameters `θ` of the basis.
    pub theta: Vec<f64>,
}

impl Hyperparameters {
    /// The initial hyper-parameters: noise variance `noise_variance`, the rest from the basis.
    #[must_use]
    pub fn start(basis: &(impl Basis + ?Sized), noise_variance: f64) -> Self {
        let variances = basis.regularisers().iter().map(|part| part.variance.start).collect();
        Self { noise_variance, prior_variances: variances, theta: basis.start() }
    }

    /// The standard deviations `√λ` of all `D` weights, after a check of everything.
    fn checked_roots(&self, basis: &(impl Basis + ?Sized)) -> Result<Vec<f64>, RevrandError> {
        check::positive_entries("noise variance", &[self.noise_variance])?;
        basis.check_parameters(&self.theta)?;
        Ok(prior_variances(basis, &self.prior_variances)?.into_iter().map(f64::sqrt).collect())
    }
}

/// Checks rows and labels.
fn check_data(basis: &(impl Basis + ?Sized), x: MatRef<'_, f64>, y: &[f64]) -> Result<(), RevrandError> {
    basis.check_rows(x)?;
    check::length("y", x.nrows(), y.len())?;
    Ok(check::finite("y", y)?)
}

#[cfg(test)]
mod tests;
