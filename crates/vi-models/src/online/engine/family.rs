//! What a family of models adds to the machine.

use std::fmt::Debug;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use vi_core::batch::{InformationGaussian, Statistics};
use vi_core::{Belief, DenseGaussian, Error, Projection, Row, Site};
use vi_linalg::faer::{Mat, MatRef};

use super::Member;
use super::order::RunLabel;
use super::start::FEWEST;
use super::steps::Path;
use crate::ModelError;
use crate::online::apart::Apart;
use crate::online::belief::{AnyBelief, AnyStep, BeliefKind};
use crate::online::posterior::RowDensities;
use crate::online::rescale::ScaledWeights;
use crate::online::scale::ScalePrior;
use crate::online::target::Target;
use crate::online::{Observation, OnlineSettings};
use crate::softmax::PreparedSoftmax;

/// Belief, state and log evidence of rows that were fitted together.
pub(crate) type Fitted<S> = (DenseGaussian, S, f64);

/// The parameters that a family has besides the weights, and what they say about priors, forgetting and shards; the defaults are
/// for none.
pub trait Stateful {
    /// Parameters besides the weights, such as the noise of a linear model.
    type State: Clone + Debug + Serialize + DeserializeOwned;

    /// The state before any row.
    fn initial(&self) -> Self::State;

    /// Checks a stored state.
    ///
    /// # Errors
    /// The first fault found.
    fn check_state(&self, _state: &Self::State) -> Result<(), Error> {
        Ok(())
    }

    /// The prior of the prior scale.
    #[doc(hidden)]
    fn scale_prior(&self) -> ScalePrior {
        ScalePrior::PREDICTOR
    }

    /// What a change of the prior scale adds to the log evidence, and the state after it; `log_det` and `quadratic` are those of
    /// [`ScaleChange`](crate::online::rescale::ScaleChange).
    #[doc(hidden)]
    fn rescale(&self, state: &Self::State, log_det: f64, quadratic: f64) -> (f64, Self::State) {
        (log_det - 0.5 * quadratic, state.clone())
    }

    /// The Gaussian part of the intercept that the state holds beside the weights; 0 where it holds none.
    #[doc(hidden)]
    fn level(&self, _state: &Self::State) -> Projection {
        Projection { mean: 0.0, variance: 0.0 }
    }

    /// By how much that part is larger in `state` than in the state `other`, where the rest of the state is as `other` has it.
    #[doc(hidden)]
    fn level_beside(&self, _state: &Self::State, _other: &Self::State) -> f64 {
        0.0
    }

    /// Forgets part of the state: what rows have told it loses the factor `lambda`. The weights' belief has returned towards its prior, by
    /// which `spread = λμᵀΛμ − μ′ᵀΛ′μ′`, the prior mean being 0; of a belief that keeps no covariance it is given as 0.
    fn forget(&self, _state: &mut Self::State, _lambda: f64, _spread: f64) {}

    /// The factor by which a belief's covariance is to be multiplied: 1, or the noise variance where that is learned.
    fn noise_variance(&self, _state: &Self::State) -> f64 {
        1.0
    }

    /// What a merge of shards adds to the sum of their log evidences beside the determinants, and the merged state; `spread = Σ_k
    /// μ_kᵀΛ_kμ_k − μᵀΛμ`, the prior mean being 0.
    fn merge(&self, _states: &[&Self::State], spread: f64) -> (f64, Self::State) {
        (-0.5 * spread, self.initial())
    }
}

/// How a family of models learns from a row of the model's columns.
pub(crate) trait Family: Stateful + Clone + Debug + PartialEq + Serialize + DeserializeOwned {
    /// Checks the family's own settings, which may come from a file, with those of the model.
    fn check(&self, settings: &OnlineSettings) -> Result<(), ModelError>;

    /// Checks label, offset, weight, trials or exposure.
    fn check_observation(&self, observed: &Observation) -> Result<(), Error>;

    /// Whether labels are numbers in some unit, which the first rows may standardise.
    fn standardises_labels(&self) -> bool {
        false
    }

    /// How labels are converted before rows have told their scale.
    fn target(&self) -> Target {
        Target::default()
    }

    /// How labels are converted, by the first rows.
    ///
    /// # Errors
    /// `Overflow`.
    fn target_of<'a>(
        &self,
        observed: impl Iterator<Item = &'a Observation> + Clone,
        centred: bool,
    ) -> Result<Target, Error> {
        self.target().of_mean(observed, centred)
    }

    /// The number of columns after those of the inputs and the intercept, each of a cut point between classes.
    fn cuts(&self) -> usize {
        0
    }

    /// The rows of the likelihood for the rows of `x`; `None` where each row is one.
    fn unrolled(&self, _x: MatRef<'_, f64>, _observed: &[Observation]) -> Option<(Mat<f64>, Vec<Observation>)> {
        None
    }

    /// The number of weights for so many columns; `None` where it overflows.
    fn weights(&self, columns: usize) -> Option<usize> {
        Some(columns)
    }

    /// How many numbers a belief over so many columns keeps; `None` where that overflows.
    fn numbers(&self, kind: BeliefKind, columns: usize) -> Option<usize> {
        kind.numbers(self.weights(columns)?)
    }

    /// An observation as the count of runs sees it, where labels are converted so.
    fn run_label(&self, observed: &Observation, target: &Target) -> RunLabel;

    /// How many kinds of labels are told apart where runs are counted: the classes, or 1 for numbers.
    fn run_components(&self) -> usize {
        1
    }

    /// How many kinds of labels are sampled by themselves; of numbers 0 and others.
    fn run_strata(&self) -> usize {
        2
    }

    /// Whether labels may be ranges of numbers.
    fn takes_ranges(&self) -> bool {
        false
    }

    /// The least number of rows that are fitted together.
    fn fewest_rows(&self) -> usize {
        FEWEST
    }

    /// Whether there is one belief over all weights.
    fn is_joint(&self) -> bool {
        true
    }

    /// The same family with one belief over all weights.
    fn whole(&self) -> Self {
        self.clone()
    }

    /// The belief before any row, for one prior scale.
    fn prior(&self, settings: &OnlineSettings, prior_scale: f64, columns: usize) -> Result<AnyBelief, Error>;

    /// Which weights have the prior scale: in each predictor the first `scaled` of `columns`.
    fn scaled_weights(&self, columns: usize, scaled: usize) -> ScaledWeights;

    /// Whether a row sees the weights through one number, so that one member can answer for the nodes of the prior scale.
    fn has_one_predictor(&self) -> bool {
        false
    }

    /// Whether [`rescale`](Stateful::rescale) is exact, as in a linear model, whose sites are the same under every prior.
    fn rescales_exactly(&self) -> bool {
        false
    }

    /// Whether sites tell the evidence at prior scales near their own only, as where heavy tails give some rows a negative curvature.
    fn tells_near(&self) -> bool {
        false
    }

    /// The Gaussian posterior of all rows of `x` together, with the state and the log evidence or a bound on it; a search may
    /// begin at `start`. Returns `None` if it would cost too much.
    fn fit(
        &self,
        prior: &DenseGaussian,
        start: &DenseGaussian,
        x: MatRef<'_, f64>,
        observed: &[Observation],
    ) -> Result<Option<Fitted<Self::State>>, Error>;

    /// As [`fit`](Self::fit), of one belief for each predictor, with the log evidence.
    fn fit_parts(
        &self,
        _prior: &Apart,
        _x: MatRef<'_, f64>,
        _observed: &[Observation],
    ) -> Result<Option<(Apart, f64)>, Error> {
        Ok(None)
    }

    /// What a pass over the rows of `x` sums at `q`, given the state.
    fn statistics(
        &self,
        state: &Self::State,
        q: &InformationGaussian,
        x: MatRef<'_, f64>,
        observed: &[Observation],
    ) -> Result<Statistics, Error>;

    /// The log-likelihoods of rows with these observations as functions of the weights, given the state.
    fn row_densities(&self, state: &Self::State, observed: &[Observation]) -> Result<Arc<dyn RowDensities>, Error>;

    /// May prepare what the first of `rows`, which is learned next, and those after it will need; see [`Belief::look_ahead`].
    fn look_ahead(&self, _belief: &AnyBelief, _rows: &[Row<'_>], _step: &mut RowStep) {}

    /// Scores a row under `belief`, and updates `state`. Returns the score in nats.
    fn score_row(
        &self,
        belief: &AnyBelief,
        state: &mut Self::State,
        row: (Row<'_>, &Observation),
        step: &mut RowStep,
    ) -> Result<f64, Error>;

    /// The same, and prepares to learn the row, which costs as much as its learning.
    fn prepare_row(
        &self,
        belief: &AnyBelief,
        state: &mut Self::State,
        row: (Row<'_>, &Observation),
        step: &mut RowStep,
    ) -> Result<f64, Error>;

    /// Learns the row that was prepared last with this `step`.
    fn commit_row(&self, belief: &mut AnyBelief, row: Row<'_>, step: &mut RowStep) {
        belief.commit(row, &mut step.belief);
    }

    /// Whether [`learn_block`](Self::learn_block) is cheaper than row by row for so many rows.
    fn takes_blocks(&self, _member: &Member<Self::State>, _rows: usize) -> bool {
        false
    }

    /// Learns the rows of `x` together, and adds the score of each in nats to `scores`. An error names its row and may leave the member changed.
    fn learn_block(
        &self,
        member: &mut Member<Self::State>,
        x: MatRef<'_, f64>,
        observed: &[Observation],
        scores: &mut Vec<f64>,
    ) -> Result<(), Error>;
}

/// Memory for one row of one member, reused from row to row.
#[derive(Debug, Default)]
pub(crate) struct RowStep {
    pub(in crate::online) belief: AnyStep,
    /// Used by families whose rows see several directions at once.
    pub(in crate::online) vector: Option<PreparedSoftmax>,
    /// The projection of each predictor.
    pub(in crate::online) seen: Vec<Projection>,
    /// Whether the next row has been projected: `seen` holds its projection, `belief` its product with the covariance.
    pub(in crate::online) known: bool,
    /// The steps of a row, for families with several rows of the likelihood in one.
    pub(in crate::online) path: Path,
    /// Used by families whose predictors are independent: the sites, and a step for each.
    pub(in crate::online) sites: Vec<Site>,
    pub(in crate::online) parts: Vec<AnyStep>,
}
