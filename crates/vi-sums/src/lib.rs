//! Posteriors as sums over rows, for engines that already distribute sums.
//!
//! A fold takes rows wherever they are; folds over parts of the rows are merged in any order. The result is a posterior that
//! predicts, draws and knows its evidence, and from which rows can be removed again. No type here belongs to a particular engine:
//! the state of a fold is a plain list of floats (its *flat form*), a posterior one record of bytes.
//!
//! ```
//! use vi_sums::{LinearPosterior, LinearPrior, Posterior, Predictor};
//!
//! let mut months = Vec::new();
//! for month in 0..12 {
//!     let mut fold = LinearPosterior::new(1, LinearPrior::default())?;
//!     for day in 0..30 {
//!         let x = f64::from(day) / 10.0;
//!         fold.sums_mut().update(&[x], 1.0 + 2.0 * x + f64::from((day * 7 + month) % 5) / 10.0)?;
//!     }
//!     months.push(Posterior::from(fold));
//! }
//! let mut year = months[0].clone();
//! for month in &months[1..] {
//!     year.merge(month)?;
//! }
//! year.subtract(&months[2])?;
//! assert_eq!(year.rows(), 330);
//! let again = Posterior::decode(&year.encode()?)?;
//! assert!((Predictor::new(&again)?.predict(&[1.0], 0.9)?.mean - 3.2).abs() < 0.05);
//! # Ok::<(), vi_sums::SumsError>(())
//! ```
//!
//! | to | see | exact? |
//! |---|---|---|
//! | regress numbers, the noise unknown | [`LinearSums`], [`LinearPosterior`] | yes: also merged, subtracted, under another prior |
//! | classes and counts in one pass | [`OnePass`], [`GlmPosterior`] | as exact as one-pass R-VGA; a merge depends on the parts |
//! | classes and counts to the best Gaussian | [`At`], [`PassSums`] with [`vi_core::batch::Search`], or [`PassSums::newton`] if the search runs elsewhere | yes, for any partitioning |
//! | pool groups (a linear mixed model), cluster-robust errors | [`Pool`], [`PoolFit`] | yes: that of the rows themselves |
//! | predict, draw, read the weights | [`Predictor`] | |
//! | store and send | [`Posterior::encode`], [`posterior`] | to the bit |
//! | convert to and from a model of the front door | [`Posterior::to_model`], [`Posterior::of_model`] | linear: to rounding |
//! | describe a model in a query | [`LinearSpec`], [`GlmSpec`], [`PoolSpec`], [`RobustSpec`] | |
//!
//! | symbol | name in code | shape |
//! |---|---|---|
//! | `d` | `inputs` | |
//! | `n`, `z̄`, `S` | [`LinearSums`] | scalar, `d+1`, `(d+1)×(d+1)` |
//! | `s`, `κ`, `a₀`, `b₀` | [`LinearPrior`], [`GlmPrior`] | scalars |
//! | `η`, `G`, `c` | [`GlmPosterior`] | parameters, their square, scalar |

#![cfg_attr(doctest, doc = include_str!("../README.md"))]

mod coefficient;
mod error;
mod family;
mod glm;
mod linear;
mod model;
mod packed;
mod pool;
pub mod posterior;
mod predictor;
mod spec;

pub use coefficient::Coefficient;
pub use error::SumsError;
pub use family::Family;
pub use glm::{At, GlmPosterior, GlmPrior, Newton, OnePass, PassSums};
pub use linear::{LinearFit, LinearPosterior, LinearPrior, LinearSlice, LinearSums};
pub use pool::{GroupEffect, GroupKey, Pool, PoolFit, RobustSpec, VarianceComponent};
pub use posterior::{Posterior, kind};
pub use predictor::{Predicted, Predictor, Weight};
pub use spec::{GlmSpec, LinearSpec, PoolSpec};
