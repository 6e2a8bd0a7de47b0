//! Kernel machines as Bayesian linear models on random features: large-scale approximations of Gaussian processes.
//!
//! | symbol | name in code | shape | source |
//! |---|---|---|---|
//! | `x` | row of `x` | `d` | |
//! | `φ(x)`, `Φ` | [`Basis::features`] | `D`, `n × D` | revrand (11) |
//! | `θ` | `theta`: kernel parameters | `q` | revrand §1.2 |
//! | `W` | [`basis::RandomFourier::frequencies`] | `d × m` | revrand §1.4 |
//! | `l` | [`basis::LengthScale`] | 1 or `d` | |
//! | `λ` | [`basis::Regulariser::variance`]: prior variance | one a part | revrand (12) |
//! | `γ` | [`likelihood::GlmLikelihood::parameters`] | | revrand (18) |
//! | `mₖ`, `Ψₖ` | [`glm::Mixture::mean`], [`glm::Mixture::variance`] (written `Cₖ`) | `D` | revrand (20) |
//! | `K` | [`glm::GlmSettings::components`] | | revrand (20) |
//! | `M`, `N` | [`glm::GlmSettings::batch`], rows in all | | revrand (5) |

#![allow(clippy::inline_always, reason = "vector loops have to be compiled inside the dispatch that calls them")]

pub mod basis;
mod error;
pub mod glm;
mod lanes;
pub mod likelihood;
pub mod metrics;
pub mod sgd;
pub mod slm;

pub use basis::{Basis, Bound, Kernel};
pub use error::RevrandError;
pub use glm::{Glm, GlmSettings};
pub use slm::{Slm, SlmSettings};
pub use vi_core::Stop;

use vi_core::check;

/// The code of the crate's README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
