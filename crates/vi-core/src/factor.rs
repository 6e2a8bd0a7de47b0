//! Factor analysis by EM: a symmetric matrix `S` (a covariance, or a precision) approximated by `Ψ + WWᵀ`.
//!
//! The approximation is the one of least `KL(N(0, S) ‖ N(0, Ψ+WWᵀ))` (8)-(11), that is, of greatest likelihood for data with
//! second moments `S`. There are three ways, with memory linear in `d`:
//!
//! | when `S` is | call |
//! |---|---|
//! | available: stored, or data, or known by its products | [`run`]; one iteration is [`step`] |
//! | a stream of outer products | [`RecursiveEm`] (Algorithm 1) |
//! | a stream of outer products, for comparison | [`OnlineEm`] (Appendix E) |
//!
//! The fixed-point iteration of the likelihood, whose fixed points are EM's, is
//! [`papers::likelihood_step`](crate::papers::likelihood_step).
//!
//! | symbol | name in code | shape | source |
//! |---|---|---|---|
//! | `S` | [`SymmetricOperator`](vi_linalg::SymmetricOperator) | `d × d` | L-RVGA (13) |
//! | `W`, `ψ` (`Ψ = diag ψ`) | [`LowRank`](vi_linalg::LowRank) | `d × p`, `d` | L-RVGA (5) |
//! | `M` | `I + WᵀΨ⁻¹W` | `p × p` | (14) |
//! | `V` | `SΨ⁻¹W` | `d × p` | Algorithm 1 |
//! | `H` | `M + WᵀΨ⁻¹V`, so that `W⁺ = VH⁻¹M` | `p × p` | (20) |
//! | `x_t` | `x`, a row or `d × K` | | (28) |
//! | `α_t`, `β_t` | [`Weights`] | scalars | (28), (101) |
//! | `γ_t` | [`OnlineSettings`] | scalar | (113)-(114) |

mod checkpoint;
pub(crate) mod em;
mod loss;
mod online;
mod products;
mod recursive;
mod settings;
mod start;
mod target;
mod update;
mod weights;

#[cfg(test)]
mod tests;

pub use em::{EmInfo, EmSettings, run, step};
pub use loss::{kl, loss};
pub use online::{Averaging, OnlineEm, OnlineSettings};
pub use recursive::{RecursiveEm, RecursiveSettings};
pub use settings::{Diagonal, DiagonalSettings, UpdateSettings};
pub use start::{guess_sigma0, start_diagonal, start_isotropic};
pub use target::SecondMoments;
pub use weights::Weights;
