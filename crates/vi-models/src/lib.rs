//! Bayesian regression and classification: batch posteriors, predictions and how good they were.
//!
//! [`online`] is the front door: its models learn row by row or in batches, can predict at any time, and need no tuning.
//!
//! ```
//! use vi_models::online::OnlineLogistic;
//!
//! let mut model = OnlineLogistic::new(2)?;
//! for (x, y) in [([0.2, 3.1], 1.0), ([1.3, -0.2], 0.0), ([0.4, 2.2], 1.0), ([1.1, 0.3], 0.0)] {
//!     model.update(&x, y)?;
//! }
//! let seen = model.predict(&[0.3, 2.8])?;
//! let ninety = seen.interval(0.9)?;
//! assert!(seen.probability > 0.5 && ninety.lower < seen.probability && seen.probability < ninety.upper);
//! # Ok::<(), vi_models::ModelError>(())
//! ```
//!
//! Behind it are the parts: fit a belief exactly, by Laplace's approximation or with a filter of [`vi_core`], predict with it,
//! score the predictions. All of them are for a Gaussian belief over the weights `θ` of a model whose rows see the weights only
//! through `xᵀθ`.
//!
//! ```
//! use vi_core::{BernoulliLogit, DenseGaussian, Mixture8};
//! use vi_linalg::faer::mat;
//! use vi_models::laplace::{self, LaplaceSettings};
//! use vi_models::{metrics, predict};
//!
//! let x = mat![[1.0, 0.2], [1.0, -1.3], [1.0, 2.1], [1.0, -0.4], [1.0, 0.3]];
//! let y = [1.0, 0.0, 1.0, 1.0, 0.0];
//! let prior = DenseGaussian::isotropic(&[0.0, 0.0], 3.0)?;
//! let fit = laplace::fit(&prior, x.as_ref(), &y, &BernoulliLogit(Mixture8), &LaplaceSettings::default())?;
//!
//! let predicted = predict::logistic(&fit.belief, x.as_ref(), &Mixture8)?;
//! let probabilities: Vec<f64> = predicted.iter().map(|p| p.probability).collect();
//! assert!(metrics::log_loss(&probabilities, &y)? < f64::ln(2.0));
//! assert!(metrics::auc(&probabilities, &y)? > 0.5);
//! # Ok::<(), vi_models::ModelError>(())
//! ```
//!
//! | to | see |
//! |---|---|
//! | learn from a stream with nothing to tune, in plain slices | [`online`] |
//! | fit a table at once, with a prior scale for each column or weights that are mostly zero | [`vb`] |
//! | fit a linear regression exactly, with its evidence | [`linear`] |
//! | fit a linear regression with unknown noise on a stream | [`online::OnlineLinear`] |
//! | fit any log-concave likelihood by Laplace's approximation | [`laplace`] |
//! | classes, counts, trials; offsets, exposures, weights | [`likelihood`], [`vi_core::PerRow`] |
//! | more than two classes | [`softmax`] |
//! | predict probabilities, numbers, intervals | [`predict`] |
//! | score predictions | [`metrics`] |
//! | choose among arms or candidates, and tell from a log what a policy would earn | [`bandit`] |
//!
//! The product: [`online`], the fits of [`vb`] from plain slices, [`laplace`], [`linear`]. The papers': in [`vb`] the functions of Drugowitsch's note.
//!
//! | symbol | name in code | shape | source |
//! |---|---|---|---|
//! | `θ` | weights | `d` | |
//! | `X`, `y` | `x` (one observation a row), `y` | `n × d`, `n` | |
//! | `μ₀`, `P₀` | `prior` | `d`, `d × d` | |
//! | `μ`, `P` | `belief` | `d`, `d × d` | |
//! | `σ²` | [`vi_core::GaussianLikelihood::noise_variance`] | scalar | |
//! | `θ̂`, `H` | mean and precision of [`laplace::LaplacePosterior::belief`] | `d`, `d × d` | R-VGA §6 |
//! | `a`, `ν` | [`vi_core::Projection`] | scalars | R-VGA (73) |
//! | `E s(t)`, `Var s(t)` | [`predict::LogisticPrediction`] | scalars | R-VGA (62)-(63) |
//! | `s(a)` | [`predict::LogisticPrediction::plug_in`] | scalar | R-VGA (122) |

#![cfg_attr(doctest, doc = include_str!("../README.md"))]
#![allow(clippy::inline_always, reason = "vector loops have to be compiled inside the dispatch that calls them")]

pub mod bandit;
mod check;
mod error;
mod gamma;
mod interval;
pub mod laplace;
pub mod likelihood;
pub mod linear;
mod marginal;
pub mod metrics;
pub mod online;
pub mod predict;
pub mod softmax;
mod student;
mod transform;
mod units;
pub mod vb;
mod whitened;

pub use error::ModelError;
pub use interval::Interval;
pub use marginal::Marginal;
pub use student::Student;
pub use transform::Transform;
pub use vi_core::{Error as CoreError, Stop};
