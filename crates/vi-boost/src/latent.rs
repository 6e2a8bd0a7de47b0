//! Latent Gaussian values under a few hyper-parameters, seen through scalar likelihoods: nested inference.
//!
//! Many posteriors have many parameters `f` that are Gaussian given a few others `ψ`: effects of groups, values of a Gaussian
//! process. A mixture of few Gaussians in all dimensions together cannot take the funnel that this is; nested it is easy:
//!
//! ```text
//! ψ ~ p(ψ),   f | ψ ~ N(m(ψ), K(ψ)),   η_i = o_i + a_iᵀf,   y_i ~ p(y_i | η_i, ψ)
//! ```
//!
//! Inside, `f` given `ψ` is integrated by expectation propagation (or Laplace's method), which gives `log p(y|ψ)` and its gradient;
//! outside, a mixture in the dimensions of `ψ` alone, whose quasi-random points, weighted by the density there, are the nodes of the answer (Rue,
//! Martino and Chopin 2009, §6, on a grid). A latent value's posterior is then a mixture of one Gaussian from each node.
//!
//! ```
//! use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
//! use vi_boost::latent::{Field, Latent, LatentSettings, Observed, Spread, fit_latent};
//! use vi_boost::transform::Parameters;
//! use vi_boost::{BoostError, Verdict};
//! use vi_core::GaussianLikelihood;
//!
//! /// Eight schools: effects `μ + τ·N(0, 1)`, measured with known errors; `μ` is a latent value too.
//! struct Schools {
//!     parameters: Parameters,
//!     errors: Vec<f64>,
//! }
//!
//! impl Latent for Schools {
//!     type Likelihood = GaussianLikelihood;
//!     fn parameters(&self) -> &Parameters {
//!         &self.parameters
//!     }
//!     fn dim(&self) -> usize {
//!         9
//!     }
//!     fn log_prior(&self, hyper: &[f64]) -> f64 {
//!         -(hyper[0] / 5.0).powi(2).ln_1p() // τ ~ Cauchy⁺(0, 5)
//!     }
//!     fn field(&self, hyper: &[f64]) -> Result<Field, BoostError> {
//!         let variances = [25.0].into_iter().chain([hyper[0].powi(2); 8]).collect();
//!         Ok(Field { mean: vec![0.0; 9], spread: Spread::Variances(variances) })
//!     }
//!     fn likelihood(&self, _: &[f64], row: usize) -> Result<GaussianLikelihood, BoostError> {
//!         Ok(GaussianLikelihood::new(self.errors[row].powi(2))?)
//!     }
//! }
//!
//! let errors = vec![15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0];
//! let model = Schools { parameters: Parameters::new().positive("tau", 1)?, errors };
//! let rows: Vec<f64> = (0..72).map(|k| if k % 9 == 0 || k % 9 == k / 9 + 1 { 1.0 } else { 0.0 }).collect();
//! let effects = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0];
//! let observed = Observed::of(&effects).design(&rows);
//! let found = fit_latent(&model, &observed, &LatentSettings::default(), &mut ChaCha8Rng::seed_from_u64(1))?;
//! assert_eq!(found.diagnosis.verdict, Verdict::Good);
//! let mu = found.latent(0)?;
//! assert!((mu.mean()[0] - 4.4).abs() < 0.2);
//! # Ok::<(), BoostError>(())
//! ```

mod cloud;
mod data;
mod inner;
mod marginal;
mod nodes;

pub use data::Observed;
pub use marginal::{Work, log_marginal};
pub use nodes::{LatentDiagnosis, LatentFit, Node, fit_latent};

use vi_core::{GaussianExpectation, check};
use vi_linalg::faer::Mat;

use crate::error::setting;
use crate::transform::Parameters;
use crate::{BoostError, FitSettings};

/// A model whose latent values are Gaussian given its hyper-parameters and seen through scalar likelihoods.
///
/// Every `hyper` is on the scale of [`parameters`](Self::parameters), with as many numbers. Where a method fails the density counts as zero,
/// and the failure is counted ([`Work::refused`]): far out, where a search comes too, a covariance may have no digits left.
pub trait Latent {
    /// The likelihood of one row. Rows whose likelihoods are equal at two places cost a gradient nothing.
    type Likelihood: GaussianExpectation + PartialEq;

    /// Names and constraints of the hyper-parameters, at least one.
    fn parameters(&self) -> &Parameters;

    /// The number of latent values `N`.
    fn dim(&self) -> usize;

    /// The log prior density of the hyper-parameters, in nats, up to a constant.
    fn log_prior(&self, hyper: &[f64]) -> f64;

    /// The prior of the latent values.
    ///
    /// # Errors
    /// Any, where there is none.
    fn field(&self, hyper: &[f64]) -> Result<Field, BoostError>;

    /// The likelihood of a row.
    ///
    /// # Errors
    /// Any, where there is none.
    fn likelihood(&self, hyper: &[f64], row: usize) -> Result<Self::Likelihood, BoostError>;
}

/// The Gaussian prior of the latent values at some hyper-parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The mean, length `N`.
    pub mean: Vec<f64>,
    /// The covariance.
    pub spread: Spread,
}

/// The covariance of latent values, in one of three forms.
#[derive(Debug, Clone, PartialEq)]
pub enum Spread {
    /// Independent values of these variances: the fastest.
    Variances(Vec<f64>),
    /// A covariance (`N × N`, lower triangle).
    Covariance(Mat<f64>),
    /// A precision (`N × N`, lower triangle).
    Precision(Mat<f64>),
}

impl Field {
    /// Checks that it is a Gaussian of `dim` values but for positive definiteness.
    fn check(&self, dim: usize) -> Result<(), BoostError> {
        check::length("mean of the field", dim, self.mean.len())?;
        check::finite("mean of the field", &self.mean)?;
        let shape = match &self.spread {
            Spread::Variances(variances) => (variances.len(), dim),
            Spread::Covariance(matrix) | Spread::Precision(matrix) => matrix.shape(),
        };
        check::length("rows of the field's covariance or precision", dim, shape.0)?;
        Ok(check::length("columns of the field's covariance or precision", dim, shape.1)?)
    }
}

/// The method that integrates the latent values given the hyper-parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Inner {
    /// Expectation propagation by quadrature: accurate moments, and a gradient for one more factor of the covariance a side.
    #[default]
    ExpectationPropagation,
    /// Laplace's method: the mode and the curvature there. Without quadratures, and biased where a label says little (one class or
    /// count alone); gradients are differences of whole solutions.
    Laplace,
}

/// The method that explores the hyper-parameters.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Outer {
    /// By nodes about the modes that a few starts lead to, in rounds: some hundreds of integrations.
    Nodes {
        /// The number of starts.
        starts: usize,
    },
    /// By a mixture of [`fit`](crate::fit()), whose search for modes goes up to 1000 deviations: some 10⁵ integrations.
    Fit(Box<FitSettings>),
}

/// The settings of [`fit_latent`].
///
/// ```
/// use vi_boost::latent::LatentSettings;
/// assert!(LatentSettings::default().check().is_ok());
/// assert!(LatentSettings { nodes: 3, ..LatentSettings::default() }.check().is_err());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LatentSettings {
    /// The inner method.
    pub inner: Inner,
    /// Sweeps end when the sites of all rows move by less than this, in standard deviations of their predictors, in sum; the log evidence
    /// is then off by about its square.
    pub tolerance: f64,
    /// The largest number of sweeps.
    pub sweeps: usize,
    /// The outer method.
    pub outer: Outer,
    /// The number of nodes, about.
    pub nodes: usize,
    /// The number of draws of hyper-parameters and latent values together.
    pub draws: usize,
}

impl Default for LatentSettings {
    /// The default is expectation propagation to 1e-6 in at most 100 sweeps, 3 starts, 768 nodes and 4000 draws.
    fn default() -> Self {
        let outer = Outer::Nodes { starts: 3 };
        Self { inner: Inner::default(), tolerance: 1e-6, sweeps: 100, outer, nodes: 768, draws: 4000 }
    }
}

impl LatentSettings {
    /// Checks the settings; every function that takes them calls this.
    ///
    /// # Errors
    /// Those of [`FitSettings::check`]; `Setting` unless the tolerance is positive, there are 1 to 10⁶ starts, sweeps and draws, and 16 to
    /// 10⁵ nodes.
    pub fn check(&self) -> Result<(), BoostError> {
        match &self.outer {
            Outer::Nodes { starts } => check::limit("starts", *starts)?,
            Outer::Fit(settings) => settings.check()?,
        }
        check::positive("tolerance", self.tolerance)?;
        check::limit("sweeps", self.sweeps)?;
        check::limit("draws", self.draws)?;
        if (16..=100_000).contains(&self.nodes) {
            Ok(())
        } else {
            Err(setting("nodes", self.nodes as f64, "from 16 to 100000"))
        }
    }
}
