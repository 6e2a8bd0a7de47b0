//! One-pass variational Gaussian inference.
//!
//! Every filter here sees an observation through two numbers, `a = xᵀμ` and `ν = xᵀPx`, and answers with two, a slope `g` and a
//! curvature `h`. So the parts combine freely: *likelihoods* (what `p(y|t)` is) × *rules* (how a site is chosen) × *beliefs* (how
//! the Gaussian is kept).
//!
//! ```
//! use vi_core::{filter, Belief, BernoulliLogit, DenseGaussian, Implicit, Mixture8};
//! use vi_linalg::faer::MatRef;
//!
//! let x = MatRef::from_row_major_slice(&[1.0, 0.2, 1.0, -1.3, 1.0, 2.1, 1.0, -0.4], 4, 2);
//! let y = [1.0, 0.0, 1.0, 0.0];
//! let mut belief = DenseGaussian::isotropic(&[0.0, 0.0], 3.0)?;
//! filter::run(&mut belief, &Implicit(BernoulliLogit(Mixture8)), x, &y, |_, _, _| {})?;
//! assert!(belief.mean()[1] > 0.0);
//! # Ok::<(), vi_core::Error>(())
//! ```
//!
//! The product: [`filter`] and [`block`] over the beliefs, [`refine`] and [`batch`], [`forgetting`], [`merge`], [`checkpoint`], [`low_rank`] in blocks; the
//! models of `vi-models` stand on these. The papers': [`papers`] (theorems and matrix forms), [`factor`], [`nonlinear`], [`low_rank::as_printed`].
//!
//! | symbol | name in code | shape | source |
//! |---|---|---|---|
//! | `θ` | parameter | `d` | |
//! | `μ` | `mean` | `d` | R-VGA Alg. 1 |
//! | `P` | `covariance` (lower triangle) | `d × d` | R-VGA Alg. 1 |
//! | `L = Rᵀ` | `root` (lower triangle), `P⁻¹ = LLᵀ` | `d × d` | |
//! | `x`, `y` | row, label | `d`, scalar | |
//! | `a` (`α₀`) | [`Projection::mean`] | scalar | R-VGA (73) |
//! | `ν` (`ν₀`) | [`Projection::variance`] | scalar | R-VGA (73) |
//! | `g`, `h` | [`Site::slope`], [`Site::curvature`] | scalars | |
//! | `e` | [`Site::gain`] | scalar | R-VGA (76) |
//! | `α`, `ν*` | [`implicit::ImplicitRoot`] | scalars | R-VGA (69)-(70) |
//! | `s`, `β` | [`special::sigmoid`], `√(8/π)` | | R-VGA §5 |

#![cfg_attr(doctest, doc = include_str!("../README.md"))]
#![allow(clippy::inline_always, reason = "vector loops have to be compiled inside the dispatch that calls them")]

pub mod batch;
mod belief;
pub mod block;
pub mod check;
pub mod checkpoint;
pub mod divergence;
mod error;
pub mod expectation;
pub mod factor;
pub mod filter;
mod fingerprint;
pub mod forgetting;
mod gaussian;
pub mod health;
pub mod implicit;
mod likelihood;
mod log_density;
mod logit;
pub mod low_rank;
pub mod merge;
mod natural;
pub mod nonlinear;
pub mod papers;
mod per_row;
mod posterior;
pub mod psis;
pub mod quadrature;
pub mod refine;
mod row;
mod rows;
mod rule;
mod site;
mod sites;
pub mod special;
mod stop;
mod vectors;

pub use belief::{
    Arrow, Belief, DenseGaussian, DenseStep, DiagonalGaussian, DiagonalStep, FactoredScores, GaussianBelief, Grouped,
    GroupedRow, GroupedSlopes, GroupedSolution, GroupedStep, Projection, Scores, SquareRootGaussian, VectorSite,
    VectorStep,
};
pub use checkpoint::{Checkpoint, CheckpointError};
pub use divergence::Estimate;
pub use error::Error;
pub use expectation::{Exact, Mixture8, ProbitApproximation};
pub use fingerprint::Fingerprint;
pub use forgetting::{Forget, Forgetting};
pub use gaussian::GaussianLikelihood;
pub use health::Health;
pub use likelihood::{Expected, GaussianExpectation, Likelihood, Tilted};
pub use log_density::{LogDensity, by_slabs};
pub use logit::BernoulliLogit;
pub use low_rank::{AdaptiveFading, LowRankAnchor, LowRankGaussian, LowRankSettings, LowRankStep, MeanMoves, Upkeep};
pub use merge::{Mergeable, ShardPosterior};
pub use natural::NaturalParameters;
pub use per_row::{Likelihoods, PerRow, SiteRules};
pub use posterior::GlmPosterior;
pub use row::Row;
pub use rows::Rows;
pub use rule::{
    Explicit, Implicit, Information, Kalman, Linearised, MirrorProx, MirrorProxPrinted, MomentMatching, QuadraticBound,
    Robust, SkipCovariance, Weighted, WeightedRule, Weighting,
};
pub use site::{Site, SiteRule};
pub use sites::Sites;
pub use stop::Stop;
