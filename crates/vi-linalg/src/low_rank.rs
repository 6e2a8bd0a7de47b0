//! Symmetric matrices S = Ψ + WWᵀ, a positive diagonal plus a product of low rank, without ever forming them.
//!
//! [`LowRank`] holds W and ψ; [`Factored`] adds the Cholesky factor of the capacitance M = I + WᵀΨ⁻¹W, from which everything with
//! S⁻¹ follows (Woodbury). All of it takes O(dp) memory and at most O(dp²) work, in passes over row tiles ([`crate::tiles`]), so
//! that results have the same bits for any number of threads.
//!
//! | symbol | meaning | shape |
//! | :-- | :-- | :-- |
//! | W | factor, stored row-major | d × p |
//! | ψ, Ψ | diagonal, Ψ = diag ψ | d |
//! | G | Gram matrix WᵀΨ⁻¹W | p × p |
//! | M | capacitance I + G | p × p |
//! | K | number of draws | |
//!
//! p = 0 is the diagonal matrix and p ≥ d works.

mod dense;
mod divergence;
mod factored;
mod gram;
mod matrix;
mod sampler;

#[cfg(test)]
mod tests;

pub use dense::CholeskySampler;
pub use divergence::{DenseRoot, kl_of_precisions, kl_of_precisions_to_dense};
pub use factored::{Capacitance, Factored, Inverse};
pub use gram::weighted_gram;
pub use matrix::LowRank;
