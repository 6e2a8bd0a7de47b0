//! L-RVGA: a Gaussian whose precision is a diagonal plus a matrix of low rank, in a million dimensions.
//!
//! | to | see |
//! | :-- | :-- |
//! | choose rank, block and form of projection | [`LowRankSettings`] |
//! | observe, predict, draw | [`LowRankGaussian`] |

mod apply;
mod belief;
mod columns;
mod em;
mod join;
mod look;
mod observe;
mod one_loop;
mod project;
mod recursive;
mod settings;
mod space;
mod spectral;
mod waiting;

pub use belief::{LowRankGaussian, ProjectionCounts};
pub use settings::{LowRankSettings, MeanMoves};
