//! A fading rate that follows the prediction error (L-RVGA, Remark 1).

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::check;
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::filter::StepInfo;
use crate::forgetting::{Forget, Forgetting};

/// Adaptive fading memory: process noise `Q = η·P`, that is `P ← (1+η)P` before an observation, with `η` estimated from the size
/// of the prediction errors.
///
/// ```text
/// u = g²/h                 the squared innovation in units of the observation's own noise: (y − a)²/σ² for a linear model
/// E u = 1 + (1+η)·hν₀      ν₀ = xᵀPx before the inflation
/// η = (mean(u) − 1)/mean(hν₀) − 1, kept in [0, largest]
/// ```
///
/// with both means over about the last `memory` observations. Then `λ = 1/(1+η)`; `η = 0`, so that nothing is forgotten, as long
/// as predictions are no worse than the belief says. It uses only the sites, so it works with any rule and any belief that
/// [fades](Forget::fade).
///
/// ```
/// use vi_core::{AdaptiveFading, DenseGaussian, Explicit, GaussianLikelihood, filter};
/// let mut fading = AdaptiveFading::new(20.0, 1.0)?;
/// let mut belief = DenseGaussian::isotropic(&[0.0], 1.0)?;
/// let (rule, mut scratch) = (Explicit(GaussianLikelihood::new(0.01)?), filter::Scratch::default());
/// for t in 0..200 {
///     let level = if t < 100 { 0.0 } else { 5.0 }; // a jump
///     fading.apply(&mut belief)?;
///     fading.observe(&filter::step(&mut belief, &rule, &[1.0], level, &mut scratch)?);
/// }
/// use vi_core::Belief;
/// assert!((belief.mean()[0] - 5.0).abs() < 0.1);
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdaptiveFading {
    memory: f64,
    largest: f64,
    innovation: f64,
    uncertainty: f64,
    seen: f64,
    /// `1 + η` of the last [`apply`](Self::apply).
    inflation: f64,
}

impl AdaptiveFading {
    /// Means over about `memory ≥ 1` observations, `η ≤ largest`.
    ///
    /// # Errors
    /// [`Error::Setting`] unless `memory ≥ 1` and `largest > 0`, both finite.
    pub fn new(memory: f64, largest: f64) -> Result<Self, Error> {
        check::positive("largest", largest)?;
        if !(memory >= 1.0 && memory.is_finite()) {
            return Err(Error::Setting { name: "memory", value: memory, requirement: "finite and at least 1" });
        }
        Ok(Self { memory, largest, innovation: 0.0, uncertainty: 0.0, seen: 0.0, inflation: 1.0 })
    }

    /// Updates the means by a step. Sites without information (`h ≤ 0`) say nothing about the noise and are left out.
    pub fn observe(&mut self, step: &StepInfo) {
        let (g, h) = (step.site.slope, step.site.curvature);
        let innovation = g * g / h;
        if !(h > 0.0 && innovation.is_finite()) {
            return;
        }
        self.seen = (self.seen + 1.0).min(self.memory);
        self.innovation += (innovation - self.innovation) / self.seen;
        self.uncertainty += (h * step.projection.variance / self.inflation - self.uncertainty) / self.seen;
    }

    /// The current `η`.
    #[must_use]
    pub fn eta(&self) -> f64 {
        if self.uncertainty > 0.0 {
            ((self.innovation - 1.0) / self.uncertainty - 1.0).clamp(0.0, self.largest)
        } else {
            0.0
        }
    }

    /// The current `λ = 1/(1+η)`.
    #[must_use]
    pub fn lambda(&self) -> f64 {
        1.0 / (1.0 + self.eta())
    }

    /// Lets `belief` forget for one step: `P ← P/λ`, unless [fading is held](Forgetting::fading).
    ///
    /// # Errors
    /// As [`Forget::fade`].
    pub fn apply<B: Forget>(&mut self, belief: &mut B) -> Result<(), Error> {
        let eta = self.eta();
        let faded = Forgetting::fading(1.0 / (1.0 + eta))?.apply(belief)?;
        self.inflation = if faded { 1.0 + eta } else { 1.0 };
        Ok(())
    }
}

/// The stored form of an [`AdaptiveFading`].
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct FadingWire {
    memory: f64,
    largest: f64,
    innovation: f64,
    uncertainty: f64,
    seen: f64,
    inflation: f64,
}

impl Checkpoint for AdaptiveFading {
    const KIND: &'static str = "vi-core/adaptive-fading";

    type Wire = FadingWire;

    fn to_wire(&self) -> Result<FadingWire, Error> {
        let Self { memory, largest, innovation, uncertainty, seen, inflation } = *self;
        Ok(FadingWire { memory, largest, innovation, uncertainty, seen, inflation })
    }

    fn from_wire(wire: FadingWire) -> Result<Self, Error> {
        let FadingWire { memory, largest, innovation, uncertainty, seen, inflation } = wire;
        let read = || {
            check::finite("means", &[innovation, uncertainty])?;
            if !(0.0..=memory).contains(&seen) {
                return Err(Error::Setting { name: "seen", value: seen, requirement: "between 0 and the memory" });
            }
            check::positive("inflation", inflation)?;
            Ok(Self { innovation, uncertainty, seen, inflation, ..Self::new(memory, largest)? })
        };
        read().map_err(CheckpointError::contents)
    }
}
