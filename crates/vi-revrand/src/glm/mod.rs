//! Generalised linear models with a mixture of diagonal Gaussians as posterior, trained by stochastic gradients.

mod entropy;
mod expectation;
mod kernels;
mod mixture;
mod objective;
mod prior;
mod rows;

pub use expectation::{Expectation, Kept};
pub use mixture::Mixture;
pub use objective::{Featured, Gradient, Prior, Terms, objective};
pub use rows::{Batch, Rows};
