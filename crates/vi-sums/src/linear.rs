//! Linear regression with unknown noise from the number, the means and the scatter of its rows.
//!
//! ```text
//! z = (x, y)      n,   z̄ = Σz/n,   S = Σ(z−z̄)(z−z̄)ᵀ
//! two sets        n = n₁+n₂,   z̄ = z̄₁ + (n₂/n)·δ,   S = S₁ + S₂ + (n₁n₂/n)·δδᵀ,   δ = z̄₂ − z̄₁
//! ```
//!
//! The sums are centred, so that columns far from zero keep their digits (Chan, Golub, LeVeque 1983). The prior is not part of
//! them, so that the same sums can be used with any prior.

mod effect;
mod fit;
mod rows;
mod slice;
mod sums;

pub use fit::{LinearFit, LinearPosterior, LinearPrior};
pub use slice::LinearSlice;
pub use sums::LinearSums;
pub(crate) use sums::{check_columns, check_count, check_inputs, count};
