//! What a front-door model says of itself.

use std::fmt;

use super::belief::BeliefKind;
use super::engine::{Engine, Family};
use crate::metrics::Psis;

/// The state of a model, for people.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct OnlineInfo {
    /// Rows learned from.
    pub observations: u64,
    /// Sum of log one-step predictive densities, in nats.
    pub evidence: f64,
    /// Each candidate prior scale and its own evidence.
    pub prior_scales: Vec<(f64, f64)>,
    /// The prior scale that answers now.
    pub prior_scale: f64,
    /// Inputs that showed a single value when scales were taken; they were centred but not scaled.
    pub constant_columns: Vec<usize>,
    /// Whether scales are still being taken from the first rows.
    pub warming_up: bool,
    /// PSIS `k̂` of the posterior against the true one, where it was asked for by `diagnose`: see
    /// [`metrics::psis`](crate::metrics::psis). It is the shape of the largest importance ratios and not their size: a posterior
    /// that is all but exact can have one near 1, which is why the advice looks at `effective_share` first. It is that of the last
    /// `diagnose` until the model learns, merges or is refined; a stored model does not keep it.
    pub k_hat: Option<f64>,
    /// The share of the draws that the reweighted ones are worth, `1/(SΣw²)`: 1 where the posterior is exact. Known as long as `k_hat`.
    pub effective_share: Option<f64>,
    /// What to do next.
    pub advice: Advice,
}

/// One line of advice; it prints as a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Advice {
    /// The posterior is exact.
    Exact,
    /// Rows are kept, and nobody has asked for a diagnosis.
    Diagnose,
    /// Nothing is known about the quality of the posterior.
    KeepRows,
    /// Correlations between weights are given up.
    NarrowIntervals,
    /// After one pass reweighting changes next to nothing: the draws are worth at least 90 % of their number.
    OnePassIsEnough,
    /// After one pass they are worth less.
    Sweep,
    /// After refinement they are worth that; or at least half, and `k̂ ≤ 0.7`, so that reweighting would repair the rest.
    Good,
    /// After refinement they are worth less.
    Boost,
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exact => "the posterior is exact",
            Self::Diagnose => "rows are kept: diagnose tells how near the posterior is to the true one",
            Self::KeepRows => "no rows are kept: whether one pass is enough cannot be told",
            Self::NarrowIntervals => "intervals are too narrow where inputs are correlated; a full covariance is not",
            Self::OnePassIsEnough => "one pass is enough",
            Self::Sweep => "one pass is not enough: refine",
            Self::Good => "the refined posterior is near the true one",
            Self::Boost => "the posterior is not Gaussian: boost",
        })
    }
}

/// Above this the largest importance ratios rule the rest (Vehtari et al. 2024).
const LARGEST_K: f64 = 0.7;

/// The share of draws from which on a posterior counts as near the true one.
const NEAR: f64 = 0.9;

/// The share below which reweighting repairs nothing.
const USEFUL: f64 = 0.5;

/// Whether a posterior with such a share and `k̂` is near the true one, or near enough for reweighting to repair the rest.
pub(crate) fn is_near(share: f64, k_hat: f64) -> bool {
    share >= NEAR || share >= USEFUL && k_hat <= LARGEST_K
}

/// What `diagnose` found of the posterior as it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Diagnosis {
    k_hat: f64,
    effective_share: f64,
}

impl Diagnosis {
    pub(super) fn of(psis: &Psis) -> Self {
        Self { k_hat: psis.k_hat, effective_share: psis.effective_draws() / psis.log_weights.len() as f64 }
    }
}

impl OnlineInfo {
    pub(super) fn of<F: Family>(engine: &Engine<F>) -> Self {
        let advice = match engine.settings.belief {
            BeliefKind::LowRank { .. } | BeliefKind::Diagonal => Advice::NarrowIntervals,
            _ if engine.check_kept().is_ok() => Advice::Diagnose,
            _ => Advice::KeepRows,
        };
        let info = Self {
            observations: engine.observations,
            evidence: engine.evidence(),
            prior_scales: engine.members.iter().map(|member| (member.prior_scale, member.evidence)).collect(),
            prior_scale: engine.best().prior_scale,
            constant_columns: engine.design.constant.clone(),
            warming_up: !engine.fixed,
            k_hat: None,
            effective_share: None,
            advice,
        };
        match engine.diagnosis {
            Some(diagnosis) => info.with(diagnosis, engine.refined == engine.observations),
            None => info,
        }
    }

    fn with(self, diagnosis: Diagnosis, refined: bool) -> Self {
        let Diagnosis { k_hat, effective_share: share } = diagnosis;
        let advice = match (share >= NEAR, refined) {
            (true, false) => Advice::OnePassIsEnough,
            (false, false) => Advice::Sweep,
            (false, true) if !is_near(share, k_hat) => Advice::Boost,
            (_, true) => Advice::Good,
        };
        Self { k_hat: Some(k_hat), effective_share: Some(share), advice, ..self }
    }

    /// A linear model with a full covariance is exact.
    pub(super) fn of_linear<F: Family>(engine: &Engine<F>) -> Self {
        let info = Self::of(engine);
        match engine.settings.belief {
            BeliefKind::Full | BeliefKind::SquareRoot => Self { advice: Advice::Exact, ..info },
            _ => info,
        }
    }
}
