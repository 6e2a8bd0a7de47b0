//! Boosting variational inference: posteriors as Gaussian mixtures grown one component at a time.

mod block;
mod chart;
mod component;
mod error;
mod mixture;
mod objective;
mod optimise;
pub mod points;
pub mod target;

pub use component::{Component, Family};
pub use error::BoostError;
pub use mixture::GaussianMixture;
pub use target::LogDensity;
