//! How far sweeps go, and what they did.

use crate::check;
use crate::{Error, Stop};

/// How far to [sweep](super::sweep).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SweepSettings {
    /// Sweeping stops when a sweep gains less than this, in nats (`δ·tolerance` where it is damped).
    pub tolerance: f64,
    /// The largest number of sweeps.
    pub max_sweeps: usize,
    /// EM steps in a sweep.
    pub em_steps: usize,
    /// Conjugate gradients for the mean stop when the preconditioned residual is this share of the first one.
    pub mean_tolerance: f64,
    /// The largest number of iterations of conjugate gradients for one mean.
    pub max_mean_iterations: usize,
}

impl Default for SweepSettings {
    /// Tolerance 1e-6 nats, at most 100 sweeps of 5 EM steps; the mean's system to 1e-6 in at most 100 iterations.
    fn default() -> Self {
        Self { tolerance: 1e-6, max_sweeps: 100, em_steps: 5, mean_tolerance: 1e-6, max_mean_iterations: 100 }
    }
}

impl SweepSettings {
    /// Checks the settings, as every entry that takes them does.
    ///
    /// # Errors
    /// [`Error::Setting`] unless tolerances are positive and finite and counts at least 1.
    pub fn check(&self) -> Result<(), Error> {
        check::positive("tolerance", self.tolerance)?;
        check::count("max_sweeps", self.max_sweeps)?;
        check::count("em_steps", self.em_steps)?;
        check::positive("mean_tolerance", self.mean_tolerance)?;
        check::count("max_mean_iterations", self.max_mean_iterations)
    }
}

/// What the sweeps did.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SweepInfo {
    /// Sweeps kept.
    pub sweeps: usize,
    /// Sweeps undone because the bound fell or there was no Gaussian; each halves `δ`.
    pub undone: usize,
    /// Those of them that led to no Gaussian: curvatures are negative, or beyond the range of floats.
    pub indefinite: usize,
    /// Sweeps kept that began from a spectral start.
    pub restarts: usize,
    /// The bound on the log evidence before the first sweep and after each kept one, in nats: never falling.
    pub bounds: Vec<f64>,
    /// Iterations of conjugate gradients, over all sweeps.
    pub mean_iterations: usize,
    /// Newton steps for the mean that ended before their tolerance: iterations ran out, or negative curvature was met.
    pub mean_unsolved: usize,
    /// Entries of `ψ` lifted to the bound of an EM step, over all sweeps.
    pub lifted: usize,
    /// Why it stopped. [`Stop::Converged`]: a sweep gained less than the tolerance, and where a direction of `W` carries less
    /// than that, a spectral start gained no more. [`Stop::Improvement`]: damped a thousandfold, the next sweep still loses the
    /// bound, or leads to no Gaussian.
    pub stop: Stop,
}
