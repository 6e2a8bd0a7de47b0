//! The batch variational Gaussian optimum: the Gaussian nearest in `KL(q‖·)` to the posterior of all rows at once.
//!
//! The bound `B(q) = Σ_i E_q[log p(y_i|x_iᵀθ)] − KL(q‖p₀)` is concave in `(μ, chol P)` for a log-concave likelihood. Its
//! stationary points are
//!
//! ```text
//! Λ = Λ₀ + Σ h_i·x_ix_iᵀ      Λ₀(μ−μ₀) = Σ g_i·x_i      g_i = E∂, h_i = −E∂² under N(x_iᵀμ, x_iᵀPx_i)
//! ```
//!
//! An iteration needs only sums over the rows, [`Statistics`]: shards that add up theirs reach the same optimum as one machine.

mod anderson;
mod information;
mod optimum;
mod reached;
mod search;
mod statistics;
mod step;

pub use information::InformationGaussian;
pub use optimum::{BatchInfo, BatchSettings, optimum, optimum_of};
pub use reached::Reached;
pub use search::Search;
pub use statistics::Statistics;
