//! Any posterior as a Gaussian mixture, from its log-density alone.
//!
//! ```
//! use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
//! use vi_boost::transform::{Constrained, Parameters};
//! use vi_boost::{FitSettings, LogDensity, Verdict, fit, summarise};
//!
//! /// Log-normal waiting times of unknown median and spread, with exponential priors.
//! struct Waiting(Vec<f64>);
//!
//! impl LogDensity for Waiting {
//!     fn dim(&self) -> usize {
//!         2
//!     }
//!     fn log_density(&self, x: &[f64]) -> f64 {
//!         let (median, spread) = (x[0], x[1]);
//!         let log = |t: &f64| -0.5 * ((t.ln() - median.ln()) / spread).powi(2) - spread.ln() - t.ln();
//!         self.0.iter().map(log).sum::<f64>() - median / 10.0 - spread
//!     }
//! }
//!
//! let parameters = Parameters::new().positive("median", 1)?.positive("spread", 1)?;
//! let target = Constrained::new(parameters.clone(), Waiting(vec![1.2, 3.4, 0.8, 2.1, 5.0]))?;
//! let mut rng = ChaCha8Rng::seed_from_u64(1);
//! let found = fit(&target, &FitSettings::default(), &mut rng)?;
//! assert_eq!(found.diagnosis.verdict, Verdict::Good);
//! let draws = parameters.constrain_draws(found.mixture.draw(4000, &mut rng).as_ref())?;
//! for number in summarise(&parameters.names(), draws.as_ref())? {
//!     assert!(number.quantiles[0] > 0.0 && number.quantiles[0] < number.mean);
//! }
//! # Ok::<(), vi_boost::BoostError>(())
//! ```
//!
//! [`fit`](fit()) finds where the mass is, grows a mixture by boosting variational inference, refits it and diagnoses it
//! ([`Diagnosis`]). A target is a [`LogDensity`]: the logarithm of a density `f = Z·p` known up to its constant `Z`, with its
//! gradient if it has one. For more control:
//!
//! * [`Boost`] grows a mixture `q` from a start distribution of yours so that `KL(q‖p)` falls: each step adds one Gaussian where mass is missing.
//!   It is what the paper's Algorithm 2 does, made so that it does not get stuck.
//! * [`gaussian::fit`] is the best single Gaussian, whatever the scales and correlations.
//! * [`GaussianMixture::beliefs`]: the way back to a front-door model of `vi-models`, whose `posterior()` is a target and whose `mixture` answers from
//!   what was found.
//! * [`latent`]: many parameters that are Gaussian given a few others, as effects of groups and Gaussian processes are: nested, exact where one
//!   mixture in all dimensions is fair at best.
//! * [`transform`]: constrained parameters; [`divergence`]: how far a mixture is from its target, with errors.
//!
//! All of it is the product but [`papers`], the algorithms of Guo et al. as printed, to be compared with, and the targets of their figures in [`target`].
//!
//! | symbol | name in code | shape | source |
//! |---|---|---|---|
//! | `θ` | `theta` | `d` | |
//! | `f`, `p = f/Z` | [`LogDensity`], by its logarithm | | BVI §2 |
//! | `q_t = Σ_k w_k·N(μ_k,Σ_k)` | [`GaussianMixture`] | | BVI §3 |
//! | `h_t = N(μ,Σ)` | [`Component`] | `d`, `d × d` | BVI §3 |
//! | `α_t` | [`Info::alpha`] | scalar | BVI (2) |
//! | `D̃(q) = E_q[log(q/f)]` | [`Info::objective`] | nats | BVI (4) |
//! | `n`, `b`, `ε` | [`papers::PrintedSettings`] | scalars | BVI Alg. 1 |
//! | `q_1` of the paper | `start`, a distribution kept apart from `q` | | BVI §3 |
//!
//! A step costs a few searches, each of some tens of evaluations of the target with its gradient at all points, and `O(n·K·d²)`
//! for the mixture of `K` full components at `n` points.
//!
//! BVI: F. Guo, X. Wang, K. Fan, T. Broderick, D. B. Dunson, *Boosting variational inference*, arXiv 1611.05559, 2016.

#![cfg_attr(doctest, doc = include_str!("../README.md"))]
#![allow(clippy::inline_always, reason = "vector loops have to be compiled inside the dispatch that calls them")]

mod block;
pub mod boost;
mod chart;
mod component;
pub mod divergence;
mod error;
mod evaluations;
mod fit;
pub mod gaussian;
pub mod latent;
mod local;
mod mixture;
mod modes;
mod objective;
mod optimise;
pub mod papers;
pub mod points;
mod seeds;
mod simplex;
pub mod target;
pub mod transform;

pub use boost::{Boost, BoostSettings, Info, Refit};
pub use component::{Component, Family};
pub use error::BoostError;
pub use evaluations::{Count, Evaluations};
pub use fit::{Diagnosis, Fit, FitSettings, Summary, Verdict, fit, summarise};
pub use mixture::GaussianMixture;
pub use target::LogDensity;
pub use vi_core::Stop;
