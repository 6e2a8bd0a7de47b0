//! Stochastic gradients: update rules, bounds, endless batches, and early stopping.
//!
//! [`Descent`] keeps the state of a run, so that a run can be stopped, stored and continued; [`minimise`] is the loop around it
//! for a function of your own.
//!
//! ```
//! use vi_core::Stop;
//! use vi_revrand::sgd::{Descent, DescentSettings, Updater, minimise};
//!
//! // f(x) = ½(x₀ − 3)² + ½(x₁ + 1)².
//! let objective = |x: &[f64], gradient: &mut [f64]| {
//!     gradient.copy_from_slice(&[x[0] - 3.0, x[1] + 1.0]);
//!     Ok(0.5 * (gradient[0] * gradient[0] + gradient[1] * gradient[1]))
//! };
//! let settings = DescentSettings { updater: Updater::plain(0.1)?, ..DescentSettings::default() };
//! let mut x = vec![0.0, 0.0];
//! let mut descent = Descent::new(settings, 2)?;
//! let run = minimise(&mut descent, &mut x, 300, objective)?;
//! assert_eq!(run.stop, Stop::Iterations);
//! assert!((x[0] - 3.0).abs() < 1e-12 && (x[1] + 1.0).abs() < 1e-12);
//! # Ok::<(), vi_revrand::RevrandError>(())
//! ```
//!
//! | symbol | name in code | source |
//! |---|---|---|
//! | `θ_k` | `x` | report (3) |
//! | `η` | [`Updater`]'s `rate` | report (3) |
//! | `M`, `N` | `batch`, `rows`, of which each is seen once before any is seen again | report (5) |

mod batches;
mod bounds;
mod descent;
mod smooth;
#[cfg(test)]
mod tests;
mod updater;

pub(crate) use batches::Permutations;
pub use bounds::Bounds;
pub use descent::{Descent, DescentSettings, Run, minimise};
pub use smooth::EarlyStop;
pub use updater::{Updater, UpdaterState};
