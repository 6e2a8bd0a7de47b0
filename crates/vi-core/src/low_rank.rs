//! L-RVGA: a Gaussian whose precision is a diagonal plus a matrix of low rank, in a million dimensions.
//!
//! | to | see |
//! | :-- | :-- |
//! | read the paper's algorithm line by line | [`as_printed`] |
//! | choose rank, block and form of projection | [`LowRankSettings`] |
//! | observe, predict, draw | [`LowRankGaussian`] |
//! | sweep over the rows again, to the best Gaussian of this form | [`sweep()`] |
//! | forget, with a rate that follows the prediction error | [`AdaptiveFading`] |

mod anchor;
mod apply;
pub mod as_printed;
mod belief;
mod block;
mod checkpoint;
pub(crate) mod columns;
pub(crate) mod em;
mod fading;
mod forget;
mod joint;
pub(crate) mod kernels;
mod lazy;
mod lazy_wire;
mod look;
mod merge;
mod narrow;
mod observe;
pub(crate) mod one_loop;
mod range;
mod records;
mod recursive;
mod reduce;
mod ring;
mod settings;
mod space;
mod spectral;
mod step;
mod storage;
mod sweep;
mod touched;
mod unprojected;
mod waiting;

pub use anchor::LowRankAnchor;
pub use belief::{LowRankGaussian, ProjectionCounts};
pub use block::LowRankPanels;
pub use checkpoint::LowRankWire;
pub use fading::{AdaptiveFading, FadingWire};
pub(crate) use settings::check_loops;
pub use settings::{LowRankSettings, MeanMoves, Upkeep};
pub use step::LowRankStep;
pub use sweep::{SweepInfo, SweepSettings, sweep};
