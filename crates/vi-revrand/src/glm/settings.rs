//! Settings of a model and of its training.

use serde::{Deserialize, Serialize};

use super::Expectation;
use crate::sgd::{DescentSettings, EarlyStop, Updater};
use crate::{RevrandError, check};

/// Settings of a [`Glm`](super::Glm) and of its training.
///
/// ```
/// use vi_revrand::glm::{Expectation, GlmSettings};
/// let settings = GlmSettings { components: 3, expectation: Expectation::SecondOrder, ..GlmSettings::default() };
/// assert_eq!(settings.batch, 10);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GlmSettings {
    /// The number `K` of components; 1 by default.
    pub components: usize,
    /// How the expected log-likelihood is computed; by 16 nodes of quadrature by default.
    pub expectation: Expectation,
    /// The number `M` of rows in a batch; 10 by default.
    pub batch: usize,
    /// The most steps of one call; 10 000 by default.
    pub steps: usize,
    /// The update rule; Adam with `η = 0.01` by default.
    pub updater: Updater,
    /// When to stop early; never by default.
    pub stop: Option<EarlyStop>,
    /// What is learned besides the posterior; everything by default.
    pub learn: Learn,
    /// The initial standard deviation of the means, relative to that of the prior; 0.1 by default. With 0 several components
    /// start equal and stay so.
    pub start_means: f64,
    /// The initial variances of the posterior, relative to those of the prior; 0.1 by default.
    pub start_variances: f64,
}

/// What is learned besides the posterior.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Learn {
    /// Whether the prior variances are learned.
    pub regularisers: bool,
    /// Whether the parameters of the likelihood are learned.
    pub likelihood: bool,
    /// Whether the parameters of the basis are learned.
    pub basis: bool,
}

impl Default for Learn {
    fn default() -> Self {
        Self { regularisers: true, likelihood: true, basis: true }
    }
}

impl Default for GlmSettings {
    fn default() -> Self {
        Self {
            components: 1,
            expectation: Expectation::Quadrature { nodes: 16 },
            batch: 10,
            steps: 10_000,
            updater: Updater::default(),
            stop: None,
            learn: Learn::default(),
            start_means: 0.1,
            start_variances: 0.1,
        }
    }
}

impl GlmSettings {
    /// Checks the settings; every function that takes them calls this.
    ///
    /// # Errors
    /// `Setting`.
    pub fn check(&self) -> Result<(), RevrandError> {
        check::count("components", self.components)?;
        check::count("batch", self.batch)?;
        check::count("steps", self.steps)?;
        check::not_negative("start_means", self.start_means)?;
        check::positive("start_variances", self.start_variances)?;
        self.expectation.check()
    }

    /// The settings of the descent.
    pub(super) fn descent(&self) -> DescentSettings {
        DescentSettings { updater: self.updater, bounds: None, stop: self.stop }
    }

    /// Checks that memory holds what a step on `dimension` weights needs.
    ///
    /// # Errors
    /// `Setting`.
    pub(super) fn check_room(&self, dimension: usize) -> Result<(), RevrandError> {
        check::room("batch", &[self.batch, dimension])?;
        self.expectation.check_room(self.components, self.batch, dimension)
    }
}
