//! Boosting variational inference: posteriors as Gaussian mixtures grown one component at a time.

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
