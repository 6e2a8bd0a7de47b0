//! Kernel machines as Bayesian linear models on random features: large-scale approximations of Gaussian processes.
//!
//! | symbol | name in code | shape | source |
//! |---|---|---|---|
//! | `x` | row of `x` | `d` | |
//! | `φ(x)`, `Φ` | [`Basis::features`] | `D`, `n × D` | revrand (11) |
//! | `θ` | `theta`: kernel parameters | `q` | revrand §1.2 |
//! | `W` | [`basis::RandomFourier::frequencies`] | `d × m` | revrand §1.4 |
//! | `l` | [`basis::LengthScale`] | 1 or `d` | |
//! | `λ` | [`basis::Regulariser::variance`]: prior variance | one a part | revrand (12) |

pub mod basis;
mod check;
mod error;
pub mod metrics;
pub mod slm;

pub use basis::{Basis, Bound, Kernel};
pub use error::RevrandError;
pub use slm::{Slm, SlmSettings};
