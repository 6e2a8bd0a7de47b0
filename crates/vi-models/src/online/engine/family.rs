//! What a family of models adds to the machine.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use vi_core::Error;
use vi_core::filter::Scratch;
use vi_linalg::faer::MatRef;

use super::Member;
use crate::ModelError;
use crate::online::belief::{AnyBelief, DesignRow};
use crate::online::{Memory, Observation, OnlineSettings};

/// How a family learns from a row of the model's columns, and what it learns beside the weights.
pub(crate) trait Family: Clone + Debug + PartialEq + Serialize + DeserializeOwned {
    /// What is learned beside the weights: the noise of a linear model.
    type State: Clone + Debug + Serialize + DeserializeOwned;

    /// The state before any row.
    fn initial(&self) -> Self::State;

    /// Checks the family's own settings, which may come from a file, with those of the model.
    fn check(&self, settings: &OnlineSettings) -> Result<(), ModelError>;

    /// Checks a stored state.
    fn check_state(&self, state: &Self::State) -> Result<(), Error>;

    /// Checks label, offset, weight, trials or exposure.
    fn check_observation(&self, observed: &Observation) -> Result<(), Error>;

    /// Whether labels are numbers in some unit, which the first rows may tell.
    fn standardises_labels(&self) -> bool {
        false
    }

    /// How many weights so many columns make; none where they cannot be counted.
    fn weights(&self, columns: usize) -> Option<usize> {
        Some(columns)
    }

    /// The belief before any row, for one prior scale.
    fn prior(&self, settings: &OnlineSettings, prior_scale: f64, columns: usize) -> Result<AnyBelief, Error>;

    /// Scores a row, then learns it. On an error the member is as it was.
    fn learn_row(
        &self,
        member: &mut Member<Self::State>,
        row: DesignRow<'_>,
        observed: &Observation,
        work: &mut RowWork,
    ) -> Result<(), Error>;

    /// Whether [`learn_block`](Self::learn_block) is the cheaper way for so many rows.
    fn takes_blocks(&self, _member: &Member<Self::State>, _rows: usize) -> bool {
        false
    }

    /// The same for the rows of `x` together. An error is told of its row and may leave the member changed.
    fn learn_block(
        &self,
        member: &mut Member<Self::State>,
        x: MatRef<'_, f64>,
        observed: &[Observation],
    ) -> Result<(), Error>;

    /// Forgets what is beside the weights.
    fn forget(&self, _state: &mut Self::State, _memory: Memory) {}

    /// Brings the states of shards together; `spread = Σ_k μ_kᵀΛ_kμ_k − μᵀΛμ`, the prior mean being 0.
    fn merge(&self, _states: &[&Self::State], _spread: f64) -> Self::State {
        self.initial()
    }
}

/// Memory of one row, used again from row to row; holds no state.
#[derive(Debug, Clone)]
pub(crate) struct RowWork {
    pub(super) scratch: Scratch,
    pub(super) dense: Vec<f64>,
}

impl RowWork {
    pub(super) fn new(columns: usize) -> Self {
        Self { scratch: Scratch::new(columns), dense: Vec::new() }
    }

    /// Memory to write a sparse row out in.
    pub(in crate::online) fn dense(&mut self) -> &mut Vec<f64> {
        &mut self.dense
    }
}
