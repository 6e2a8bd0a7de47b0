//! Boosting variational inference: posteriors as Gaussian mixtures grown one component at a time.
//!
//! A target is a [`LogDensity`]: the logarithm of a density `f = Z·p` known up to its constant `Z`. A mixture `q` is grown so that
//! `KL(q‖p)` falls: each step adds one Gaussian where mass is missing. Three ways to do it:
//!
//! * [`Boost`], the default: what the paper's Algorithm 2 does, made so that it does not get stuck; with [`Refit::Each`] a few
//!   components do what many do without. [`boost::best_of`] keeps the best of several runs.
//! * [`printed`]: the algorithms of Guo et al. as printed, to be compared with.
//! * [`hellinger`]: Campbell and Li's boosting of square roots, which heavy tails cannot harm.
//!
//! [`gaussian::fit`] is the best single Gaussian, [`divergence`] says how far a mixture is from its target, with errors.
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
//! use vi_boost::{Boost, BoostSettings, Component, Refit, divergence, target::Banana};
//!
//! let target = Banana::new(1.5, 0.3)?;
//! // Broader than the target: places for components are drawn from it.
//! let start = Component::isotropic(&[0.0, 0.0], 4.0)?;
//! let settings = BoostSettings::default().components(3)?.points(256)?.refit(Refit::Each);
//! let mut boost = Boost::new(&target, &start, settings, &mut ChaCha8Rng::seed_from_u64(1))?;
//! boost.run(|_, _| ControlFlow::Continue(()))?;
//! if let Some(q) = boost.mixture() {
//!     let found = divergence::quasi(q, &target, 1024, 8, 1)?;
//!     assert!(found.kl.value < 0.05);
//! }
//! # Ok::<(), vi_boost::BoostError>(())
//! ```
//!
//! | symbol | name in code | shape | source |
//! |---|---|---|---|
//! | `θ` | `theta` | `d` | |
//! | `f`, `p = f/Z` | [`LogDensity`], by its logarithm | | BVI §2 |
//! | `q_t = Σ_k w_k·N(μ_k,Σ_k)` | [`GaussianMixture`] | | BVI §3 |
//! | `h_t = N(μ,Σ)` | [`Component`] | `d`, `d × d` | BVI §3 |
//! | `α_t` | [`Info::alpha`] | scalar | BVI (2) |
//! | `D̃(q) = E_q[log(q/f)]` | [`Info::objective`] | nats | BVI (4) |
//! | `n`, `b`, `ε` | [`printed::PrintedSettings::new`] | scalars | BVI Alg. 1 |
//! | `q_1` of the paper | `start`, a distribution kept apart from `q` | | BVI §3 |
//! | `√f`, `λ`, `Z_kl` | [`hellinger`] | | UBVI (2)-(5) |
//!
//! The cost of a step is that of a few searches, each of some tens of evaluations of the target with its gradient at all points;
//! beside them `O(n·K·d²)` for the mixture of `K` full components at `n` points.
//!
//! BVI: F. Guo, X. Wang, K. Fan, T. Broderick, D. B. Dunson, *Boosting variational inference*, arXiv 1611.05559, 2016. UBVI: T. Campbell,
//! X. Li, *Universal boosting variational inference*, NeurIPS 2019.

mod block;
pub mod boost;
mod chart;
mod component;
pub mod divergence;
mod error;
pub mod gaussian;
pub mod hellinger;
mod local;
mod mixture;
mod objective;
mod optimise;
pub mod points;
pub mod printed;
mod seeds;
mod simplex;
pub mod target;

pub use boost::{Boost, BoostSettings, Info, Refit, Stop};
pub use component::{Component, Family};
pub use error::BoostError;
pub use mixture::GaussianMixture;
pub use target::LogDensity;
