//! Kernel machines as Bayesian linear models on random features: large-scale approximations of Gaussian processes.
//!
//! ```
//! use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
//! use vi_linalg::faer::{Mat, Par};
//! use vi_revrand::basis::{Bias, Kernel, LengthScale, RandomFourier};
//! use vi_revrand::slm::{self, SlmSettings};
//!
//! let x = Mat::from_fn(60, 1, |i, _| i as f64 / 10.0);
//! let y: Vec<f64> = (0..60).map(|i| 3.0 + x[(i, 0)].sin()).collect();
//! let rng = &mut ChaCha8Rng::seed_from_u64(1);
//! let basis = RandomFourier::new(Kernel::Rbf, 1, 10, LengthScale::Shared(1.0), rng)? + Bias::new(1.0)?;
//!
//! // Noise, prior variances and length scale are found, the weights' posterior is exact.
//! let fit = slm::learn(basis, x.as_ref(), &y, &SlmSettings::default(), rng, Par::Seq)?;
//! let at = fit.model.predict(Mat::full(1, 1, 1.57).as_ref(), Par::Seq)?[0];
//! assert!((at.mean - 4.0).abs() < 0.01);
//! # Ok::<(), vi_revrand::RevrandError>(())
//! ```
//!
//! [`slm`] is the linear model, learned from its marginal likelihood; [`glm`] takes other likelihoods; [`basis`] holds the features. The product is
//! [`basis`], whose features every model of the front door takes as inputs, and [`slm`]; [`glm`] and [`sgd`] are the report's.
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

#![cfg_attr(doctest, doc = include_str!("../README.md"))]
#![allow(clippy::inline_always, reason = "vector loops have to be compiled inside the dispatch that calls them")]

pub mod basis;
mod error;
pub mod glm;
mod lanes;
pub mod likelihood;
pub mod sgd;
pub mod slm;

pub use basis::{Basis, Bound, Kernel};
pub use error::RevrandError;
pub use glm::{Glm, GlmSettings};
pub use slm::{Slm, SlmSettings};
pub use vi_core::Stop;

use vi_core::check;
