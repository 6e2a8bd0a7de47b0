//! Why an iterative algorithm stopped, in the same words for all of them.

use serde::{Deserialize, Serialize};

/// Why an iterative algorithm stopped.
///
/// Every search, sweep, fit and descent of the library returns one of these, with its own numbers (iterations, bounds, last
/// change) beside it. Not converging is not an error: the result is the best that was found.
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
    /// The quantity that the settings limit (a step, a gradient, a gain, a gap) is within its tolerance.
    Converged,
    /// The iterations that the settings allow are used up: passes, sweeps, steps, evaluations, components.
    Iterations,
    /// No further step improves the objective by more than rounding or, where the settings say so, by enough.
    Improvement,
    /// The objective is an average over points, and the most that the settings allow are too few to measure what is left to gain.
    Points,
    /// The caller ended it: a callback asked to stop, or the source of data had no more.
    Cancelled,
    /// The iterates overflowed, or the optimum is at infinity. The result is the last that was finite.
    Diverged,
}
