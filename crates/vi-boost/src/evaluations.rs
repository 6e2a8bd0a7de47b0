//! Counts of the evaluations of a target, by phase of a fit.

/// Numbers of points at which a target was evaluated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// Points at which the value alone was asked for; of a target without a gradient, those of the differences too.
    pub values: u64,
    /// Points at which value and gradient were asked for together.
    pub gradients: u64,
}

impl Count {
    /// All points.
    #[must_use]
    pub fn total(self) -> u64 {
        self.values + self.gradients
    }

    fn plus(self, other: Self) -> Self {
        Self { values: self.values + other.values, gradients: self.gradients + other.gradients }
    }
}

/// Evaluations of the target by phase. Weights alone are optimised on points that other phases paid for, at no evaluation.
///
/// ```
/// use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
/// use vi_boost::{FitSettings, fit, target::Banana};
/// let found = fit(&Banana::new(1.0, 0.3)?, &FitSettings::default(), &mut ChaCha8Rng::seed_from_u64(1))?;
/// let spent = found.evaluations;
/// assert!(spent.modes.gradients > 0 && spent.diagnosis.gradients == 0);
/// assert_eq!(spent.all().total(), spent.phases().map(|(_, count)| count.total()).iter().sum());
/// # Ok::<(), vi_boost::BoostError>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Evaluations {
    /// The search for modes.
    pub modes: Count,
    /// The Gaussians of the modes, and the components that boosting adds.
    pub components: Count,
    /// Components and weights optimised together.
    pub refit: Count,
    /// Divergences on points that were used for nothing else.
    pub diagnosis: Count,
}

impl Evaluations {
    /// The phases with their names.
    #[must_use]
    pub fn phases(&self) -> [(&'static str, Count); 4] {
        let Self { modes, components, refit, diagnosis } = *self;
        [("modes", modes), ("components", components), ("refit", refit), ("diagnosis", diagnosis)]
    }

    /// The sum over the phases.
    #[must_use]
    pub fn all(&self) -> Count {
        self.phases().into_iter().fold(Count::default(), |sum, (_, count)| sum.plus(count))
    }

    pub(crate) fn plus(&self, other: &Self) -> Self {
        Self {
            modes: self.modes.plus(other.modes),
            components: self.components.plus(other.components),
            refit: self.refit.plus(other.refit),
            diagnosis: self.diagnosis.plus(other.diagnosis),
        }
    }
}

/// The phases of a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Modes,
    Components,
    Refit,
    Diagnosis,
}
