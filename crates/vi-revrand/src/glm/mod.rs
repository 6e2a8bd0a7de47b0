//! Generalised linear models with a mixture of diagonal Gaussians as posterior, trained by stochastic gradients.

mod elbo;
mod entropy;
mod expectation;
mod kernels;
mod mixture;
mod model;
mod objective;
mod predict;
mod prior;
mod rows;
mod settings;
#[cfg(test)]
mod tests;
mod train;

pub use elbo::Elbo;
pub use expectation::{Expectation, Kept};
pub use mixture::Mixture;
pub use model::Glm;
pub use objective::{Featured, Gradient, Prior, Terms, objective};
pub use predict::{Predictions, RowPrediction};
pub use rows::{Batch, Rows};
pub use settings::{GlmSettings, Learn};
pub use train::GlmScratch;
