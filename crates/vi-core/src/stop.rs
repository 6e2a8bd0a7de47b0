//! Why an iterative algorithm stopped, in the same words for all of them.

use serde::{Deserialize, Serialize};

/// Why an iterative algorithm stopped.
///
/// Every search, sweep, fit and descent of the library returns one of these, with its own numbers (iterations, bounds, last
/// change) beside it. Not converging is no error: the result is the best that was found.
///
/// ```
/// use vi_core::{batch, DenseGaussian, GaussianLikelihood, Stop};
/// use vi_linalg::faer::{Par, mat};
/// let prior = DenseGaussian::isotropic(&[0.0], 1.0)?;
/// let (x, y, noise) = (mat![[1.0], [2.0]], [1.0, 1.5], GaussianLikelihood::new(0.5)?);
/// let (_, info) = batch::optimum(&prior, &prior, x.as_ref(), &y, &noise, &Default::default(), Par::Seq)?;
/// assert_eq!(info.stop, Stop::Converged);
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Stop {
    /// What the settings watch (a step, a gradient, a gain, a gap) is within its tolerance.
    Converged,
    /// The iterations that the settings allow ran out: passes, sweeps, steps, evaluations, components.
    Iterations,
    /// No further step improves the objective by more than rounding or, where the settings say so, by enough.
    Improvement,
    /// The objective is an average over points, and these are too few to tell what is left, with as many as the settings allow.
    Points,
    /// The caller ended it: a callback asked for it, or the source of data had no more.
    Cancelled,
    /// The iterates left what a float holds, or the optimum is at infinity. The result is the last that was finite.
    Diverged,
}
