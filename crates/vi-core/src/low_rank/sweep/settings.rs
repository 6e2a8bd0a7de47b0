//! Settings and report of sweeps over a low-rank belief.

use crate::check;
use crate::{Error, Stop};

/// When to stop [sweeping](super::sweep), and how a sweep is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SweepSettings {
    /// Sweeping stops when a sweep gains less than this, in nats (`δ·tolerance` where it is damped).
    pub tolerance: f64,
    /// The largest number of sweeps.
    pub max_sweeps: usize,
    /// The number of EM steps in a sweep.
    pub em_steps: usize,
    /// Conjugate gradients for the mean stop when the preconditioned residual is this share of the first one.
    pub mean_tolerance: f64,
    /// The largest number of iterations of conjugate gradients for one mean.
    pub max_mean_iterations: usize,
}

impl Default for SweepSettings {
    /// The default is a tolerance of 1e-6 nats and at most 100 sweeps of 5 EM steps, the mean's system being solved to 1e-6 in at
    /// most 100 iterations.
    fn default() -> Self {
        Self { tolerance: 1e-6, max_sweeps: 100, em_steps: 5, mean_tolerance: 1e-6, max_mean_iterations: 100 }
    }
}

impl SweepSettings {
    /// Checks the settings; every function that takes them calls this.
    ///
    /// # Errors
    /// [`Error::Setting`] unless tolerances are positive and finite and counts from 1 to 10⁶.
    pub fn check(&self) -> Result<(), Error> {
        check::positive("tolerance", self.tolerance)?;
        check::limit("max_sweeps", self.max_sweeps)?;
        check::limit("em_steps", self.em_steps)?;
        check::positive("mean_tolerance", self.mean_tolerance)?;
        check::limit("max_mean_iterations", self.max_mean_iterations)
    }
}

/// A report of the sweeps.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SweepInfo {
    /// The number of sweeps kept.
    pub sweeps: usize,
    /// The number of sweeps undone because the bound fell or the result was not a Gaussian; each halves `δ`.
    pub undone: usize,
    /// How many of the undone sweeps led to no Gaussian, because curvatures are negative or numbers not finite.
    pub indefinite: usize,
    /// How many of the kept sweeps began from a spectral start.
    pub restarts: usize,
    /// The bound on the log evidence before the first sweep and after each kept one, in nats: never falling.
    pub bounds: Vec<f64>,
    /// The number of iterations of conjugate gradients, over all sweeps.
    pub mean_iterations: usize,
    /// How many Newton steps for the mean ended before their tolerance, for want of iterations or at a negative curvature.
    pub mean_unsolved: usize,
    /// How many entries of `ψ` were lifted to the bound of an EM step, over all sweeps.
    pub lifted: usize,
    /// Why the sweeps stopped. [`Stop::Converged`]: a sweep gained less than the tolerance, and if a direction of `W` carries
    /// less than that, a spectral start gained no more. [`Stop::Improvement`]: damped a thousandfold, the next sweep still lowers
    /// the bound, or leads to no Gaussian.
    pub stop: Stop,
}
