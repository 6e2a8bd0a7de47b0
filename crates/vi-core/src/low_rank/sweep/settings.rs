//! How far sweeps go, and what they did.

use crate::Error;
use crate::error::check_positive;

/// How far to sweep; checked at construction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SweepSettings {
    pub(super) tolerance: f64,
    pub(super) max_sweeps: usize,
    pub(super) em_steps: usize,
    pub(super) mean_tolerance: f64,
    pub(super) max_mean_iterations: usize,
}

impl Default for SweepSettings {
    /// Tolerance 1e-6 nats, at most 100 sweeps of 5 EM steps; the mean's system to 1e-6 in at most 100 iterations.
    fn default() -> Self {
        Self { tolerance: 1e-6, max_sweeps: 100, em_steps: 5, mean_tolerance: 1e-6, max_mean_iterations: 100 }
    }
}

impl SweepSettings {
    /// Stops when a sweep gains less than `tolerance` nats (`δ·tolerance` where it is damped), or after `max_sweeps`.
    ///
    /// # Errors
    /// [`Error::Setting`] unless `tolerance > 0` and `max_sweeps ≥ 1`.
    pub fn new(tolerance: f64, max_sweeps: usize) -> Result<Self, Error> {
        check_positive("tolerance", tolerance)?;
        check_count("max_sweeps", max_sweeps)?;
        Ok(Self { tolerance, max_sweeps, ..Self::default() })
    }

    /// The same with another number of EM steps in a sweep.
    ///
    /// # Errors
    /// [`Error::Setting`] unless `em_steps ≥ 1`.
    pub fn with_em_steps(self, em_steps: usize) -> Result<Self, Error> {
        check_count("em_steps", em_steps)?;
        Ok(Self { em_steps, ..self })
    }

    /// The same with conjugate gradients stopped when the preconditioned residual is `tolerance` times the first one, or after
    /// `max_iterations`.
    ///
    /// # Errors
    /// [`Error::Setting`] unless `tolerance > 0` and `max_iterations ≥ 1`.
    pub fn with_mean(self, tolerance: f64, max_iterations: usize) -> Result<Self, Error> {
        check_positive("mean_tolerance", tolerance)?;
        check_count("max_mean_iterations", max_iterations)?;
        Ok(Self { mean_tolerance: tolerance, max_mean_iterations: max_iterations, ..self })
    }
}

fn check_count(name: &'static str, count: usize) -> Result<(), Error> {
    if count == 0 { Err(Error::Setting { name, value: 0.0, requirement: "at least 1" }) } else { Ok(()) }
}

/// Why the sweeps stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SweepStop {
    /// A sweep gained less than the tolerance, and where a direction of `W` carries less than that, a spectral start gained no
    /// more.
    Converged,
    /// The sweeps ran out.
    MaxSweeps,
    /// Damped a thousandfold, the next sweep still loses the bound.
    Stalled,
    /// Damped a thousandfold, there is still no Gaussian to go to: curvatures are negative, or beyond the range of floats.
    Indefinite,
}

/// What the sweeps did.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SweepInfo {
    /// Sweeps kept.
    pub sweeps: usize,
    /// Sweeps undone because the bound fell or there was no Gaussian; each halves `δ`.
    pub undone: usize,
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
    /// Why it stopped.
    pub stop: SweepStop,
}
