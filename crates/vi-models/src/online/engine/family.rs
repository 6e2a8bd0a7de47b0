//! What a family of models adds to the machine.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use vi_core::{Error, GaussianExpectation, Likelihood, Projection, Weighted};

use crate::likelihood::Offset;
use crate::online::{Memory, Observation};

/// The likelihood of one row.
pub(crate) type RowLikelihood<F> = Weighted<Offset<<F as Family>::Likelihood>>;

/// What a family of models adds to the machine.
pub trait Family: Clone + Debug + PartialEq + Serialize + DeserializeOwned {
    /// What is learned beside the weights: the noise of a linear model.
    type State: Clone + Debug + Serialize + DeserializeOwned;

    /// `p(y|t)`.
    type Likelihood: GaussianExpectation + Clone + Debug;

    /// The state before any row.
    fn initial(&self) -> Self::State;

    /// Checks the family's own settings, which may come from a file.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Checks a stored state.
    fn check_state(&self, _state: &Self::State) -> Result<(), Error> {
        Ok(())
    }

    /// The likelihood of a row with `size` trials, or of that exposure.
    fn likelihood(&self, size: f64) -> Result<Self::Likelihood, Error>;

    /// `log p(y | earlier rows)` in nats, from what the belief sees along the row.
    fn log_predictive(
        &self,
        _state: &Self::State,
        likelihood: &Offset<Self::Likelihood>,
        y: f64,
        seen: Projection,
    ) -> f64 {
        likelihood.log_predictive(y, seen.mean, seen.variance)
    }

    /// Checks, before anything is learned, that what is beside the weights can take the observation.
    ///
    /// # Errors
    /// What it is that does not fit.
    fn check_step(&self, _observed: &Observation, _seen: Projection) -> Result<(), Error> {
        Ok(())
    }

    /// Learns what is beside the weights.
    fn learn(&self, _state: &mut Self::State, _observed: &Observation, _seen: Projection) {}

    /// Forgets what is beside the weights.
    fn forget(&self, _state: &mut Self::State, _memory: Memory) {}

    /// Brings the states of shards together; `spread = Σ_k μ_kᵀΛ_kμ_k − μᵀΛμ`, the prior mean being 0.
    fn merge(&self, _states: &[&Self::State], _spread: f64) -> Self::State {
        self.initial()
    }
}

/// The likelihood of a row, offset and weight included.
///
/// # Errors
/// What is wrong with size, offset or weight.
pub(in crate::online) fn row_likelihood<F: Family>(
    family: &F,
    observed: &Observation,
) -> Result<RowLikelihood<F>, Error> {
    Weighted::new(Offset::new(family.likelihood(observed.size)?, observed.offset)?, observed.weight)
}

/// # Errors
/// What is wrong with size, offset, weight or label.
pub(super) fn check_observation<F: Family>(family: &F, observed: &Observation) -> Result<(), Error> {
    row_likelihood(family, observed)?.check_label(observed.label)
}
