//! The state of a front-door model, as reported to people.

use std::fmt;
use std::ops::Range;

use vi_core::Health;

use super::belief::BeliefKind;
use super::blocks::ranges;
use super::engine::{Engine, Family, Member};
use crate::metrics::Psis;

/// The state of a model, for people to read.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct OnlineInfo {
    /// The number of rows learned.
    pub observations: u64,
    /// The log evidence, in nats; see the model's `evidence`.
    pub evidence: f64,
    /// Each prior scale in use and its share of the answers; the shares sum to 1.
    pub prior_scales: Vec<(f64, f64)>,
    /// The average of the prior scales by their shares, on a logarithmic scale.
    pub prior_scale: f64,
    /// The average prior scale of the inputs of each block, in the units of `prior_scale`; empty without blocks.
    pub block_scales: Vec<f64>,
    /// The effective number of weights that the rows determine in each block, `Σ (1 − P_jj/s²)` over its weights with the variances `P_jj` and
    /// the prior variance `s²` in units of the noise, at the most likely prior scale; empty where no full covariance is kept.
    pub block_freedom: Vec<f64>,
    /// Each memory in use, as the factor `λ` by which a row weighs less with every later one (1 forgets nothing), and its share
    /// of the answers; the shares sum to 1. See [`Memory`](super::Memory).
    pub memories: Vec<(f64, f64)>,
    /// The row (from 1) at which a model with [`Memory::Learned`](super::Memory::Learned) last detected an abrupt change.
    pub last_change: Option<u64>,
    /// How often a belief could not forget when it was due to, because rounding had left it no longer positive definite; it then
    /// kept all it knew.
    pub forgetting_held: u64,
    /// How often a fit of the first rows together failed since the model was made or read, so that these rows were learned one by one: intervals
    /// are then those of [`Start::OnePass`](super::Start).
    pub failed_fits: u64,
    /// How often the prior scales could not be moved to where the rows put them and so stayed where they were, since the model
    /// was made or read.
    pub failed_moves: u64,
    /// Inputs that had a single value when scales were taken, or a scale below 1e-304; they were centred but not scaled.
    pub constant_columns: Vec<usize>,
    /// Whether the first rows, which set scales and the fit that the stream starts from, are still being gathered.
    pub warming_up: bool,
    /// PSIS `k̂` of the posterior against the true one, if `diagnose` was called: see [`metrics::psis`](crate::metrics::psis). It
    /// is the shape of the largest importance ratios and not their size: a nearly exact posterior can have a `k̂` near 1, which
    /// is why the advice looks at `effective_share` first. It is that of the last `diagnose` until the model learns, merges or is
    /// refined, and is not stored with the model.
    pub k_hat: Option<f64>,
    /// The effective sample size of the reweighted draws as a share of their number, `1/(SΣw²)`: 1 where the posterior is exact.
    /// Known when `k_hat` is.
    pub effective_share: Option<f64>,
    /// How many digits the belief has left, at the worst of the prior scales; see [`vi_core::health`]. With a full covariance
    /// this is the cost of the info: `p³/3` flops for `p` weights.
    pub health: Health,
    /// The precision not yet given back to coordinates of a low-rank belief that sparse rows have not touched lately, at the
    /// worst of the prior scales: see [`LowRankGaussian::owed`](vi_core::LowRankGaussian::owed). It is a sum over all weights,
    /// and intervals are too wide by no more than each weight's share of it.
    pub owed: f64,
    /// The prior scale that `diagnose` found to be likelier by more than three nats, and by how many; `None` where it found none.
    pub likelier_scale: Option<(f64, f64)>,
    /// How many calls of `update` and `update_batch` were refused since the model was made or read.
    pub refused: u64,
    /// What labels and a sample of the rows say of the order in which the rows came, labels alone while no more than the least number
    /// of first rows has come; `None` before the first, and for models that are exact or forget. It costs a prediction for each row of the sample, or of
    /// the first rows.
    pub order: Option<Order>,
    /// What to do next.
    pub advice: Advice,
}

/// In which order the rows came, as far as labels and a sample of the rows tell; it prints as a sentence.
///
/// One pass in a random order loses next to nothing. Rows that are sorted by their label, or come in blocks of one label, can leave
/// a posterior that is far off, with scores on the way that are too good. An exact posterior never gives the rows that it has
/// learned less probability than they had when they came, whatever the data; where this one does, and labels come in runs, the order
/// has done harm.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Order {
    /// By how many standard deviations more labels are like the one before than in a random order.
    pub runs: f64,
    /// How much more log probability the model now gives a row than it did before it had learned it, in nats a row, by the sample.
    pub gained: f64,
    /// The standard error of `gained`: 0 where all rows are in the sample.
    pub error: f64,
    /// The number of rows in the sample; 0 where none is kept.
    pub sampled: usize,
    /// Whether the posterior was refined after the last row, and no longer depends on the order.
    pub refined: bool,
}

impl Order {
    /// The standard deviations by which labels have to come in runs: one of 4,000 random orders has so many.
    const RUNS: f64 = 3.5;

    /// The standard errors by which rows have to be less probable than they were. In a random order they become more probable, so
    /// that far fewer than one sample of 40 goes so far.
    const ERRORS: f64 = 2.0;

    /// What the approximations of a harmless pass can amount to, in nats a row.
    const NATS: f64 = 2e-3;

    /// A loss by the order that is small, in nats a row.
    const LITTLE: f64 = 1e-2;

    /// The nats a row that the order may have cost as far as the sample tells.
    fn loses_at_most(&self) -> f64 {
        Self::ERRORS * self.error - self.gained
    }

    /// Whether labels come in runs, as they do where the rows are sorted by something that tells of them. Evidence and scores on the
    /// way are then those of this order, and can be too high, even where the posterior has not suffered.
    #[must_use]
    pub fn is_in_runs(&self) -> bool {
        self.runs > Self::RUNS
    }

    /// Whether the order has done harm: labels come in runs, no refinement came after, and the model gives the rows less probability than
    /// they had before it learned them, by more than the sample errs.
    #[must_use]
    pub fn matters(&self) -> bool {
        self.is_in_runs() && !self.refined && self.sampled > 0 && self.gained < -Self::ERRORS * self.error - Self::NATS
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.matters() {
            write!(f, "labels come in runs, and a row is {:.2} nats less probable now than at first", -self.gained)
        } else if !self.is_in_runs() {
            f.write_str("the labels show no order")
        } else if self.refined {
            f.write_str(
                "labels come in runs: the refined model does not depend on them, but scores on the way may be too high",
            )
        } else if self.sampled == 0 {
            f.write_str("labels come in runs; without a sample their effect is unknown")
        } else if self.loses_at_most() > Self::LITTLE {
            write!(
                f,
                "labels come in runs: a row may have lost up to {:.2} nats by it, and evidence and scores may be too high",
                self.loses_at_most()
            )
        } else {
            f.write_str(
                "labels come in runs: the model is hardly affected, but its evidence and scores may be too high",
            )
        }
    }
}

/// Advice on what to do next; it prints as a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Advice {
    /// The posterior is exact.
    Exact,
    /// Fewer than four digits are left: drop one of several nearly collinear inputs, or use [`BeliefKind::SquareRoot`],
    /// or a smaller prior scale.
    FewDigits,
    /// The rows came in an order that one pass cannot take, see [`Order`]: learn them anew in a random order, or refine.
    Order,
    /// Rows are kept, and `diagnose` has not been called.
    Diagnose,
    /// Nothing is known about the quality of the posterior.
    KeepRows,
    /// The belief neglects correlations between weights, so intervals are narrow.
    NarrowIntervals,
    /// The first rows were not fitted together, as with more than 512 weights or [`Start::OnePass`](super::Start::OnePass), and fewer than twenty rows a
    /// weight have come: with 300 weights and two to ten rows for each, 90 % intervals of logit and probit models held 71 to 86 %.
    NotFitted,
    /// After one pass reweighting changes next to nothing: the effective sample size is at least 90 % of the draws with up to 10
    /// weights, and `0.9^(d/10)` of them with `d` more than 10, since the shares of the directions multiply.
    OnePassIsEnough {
        /// Whether other prior scales were compared.
        scales: bool,
    },
    /// Another prior scale is likelier by more than three nats, see [`OnlineInfo::likelier_scale`]: sweep over the rows, which looks for it, or have
    /// a scale that is given learned.
    OtherScale,
    /// After one pass the effective sample size is below the threshold of [`OnePassIsEnough`](Self::OnePassIsEnough): sweep over
    /// the rows.
    Sweep,
    /// After refinement the effective share reaches the threshold of [`OnePassIsEnough`](Self::OnePassIsEnough), or at least 0.7
    /// (`0.7^(d/10)`) with `k̂ ≤ 0.7`, so that reweighting would repair the rest.
    Good {
        /// Whether other prior scales were compared.
        scales: bool,
    },
    /// After refinement the effective share is below the threshold of [`Good`](Self::Good): `posterior()` hands the true posterior
    /// to `vi-boost`, and `mixture` answers from what it finds.
    Boost,
    /// The model answers from a mixture; its diagnosis comes from the search that found it.
    Mixture,
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exact => "the posterior is exact",
            Self::FewDigits => "few digits are left: drop nearly collinear inputs, or use the square-root belief",
            Self::Order => "the rows came in an order that misleads one pass: shuffle them",
            Self::Diagnose => "rows are kept: diagnose measures the distance to the true posterior",
            Self::KeepRows => "no rows are kept: keep them to check whether one pass is enough",
            Self::NarrowIntervals => "intervals are too narrow for correlated inputs: use a full covariance",
            Self::NotFitted => {
                "intervals of weights are too narrow until about 20 rows a weight: first rows were not fitted"
            }
            Self::OnePassIsEnough { scales: true } => "one pass is enough, and no other prior scale is likelier",
            Self::OnePassIsEnough { scales: false } => "at its prior scale one pass is enough",
            Self::OtherScale => "another prior scale is likelier: refine, or have the scale learned",
            Self::Sweep => "one pass is not enough: refine",
            Self::Good { scales: true } => {
                "the refined posterior is near the true one, and no other prior scale is likelier"
            }
            Self::Good { scales: false } => "at its prior scale the refined posterior is near the true one",
            Self::Boost => "the posterior is not Gaussian: boost",
            Self::Mixture => "the model answers from a mixture and does not learn",
        })
    }
}

/// The `k̂` above which the largest importance ratios dominate (Vehtari et al. 2024).
const LARGEST_K: f64 = 0.7;

/// The effective share from which on a posterior of at most [`FEW`] weights counts as near the true one.
const NEAR: f64 = 0.9;

/// The effective share below which a posterior of at most [`FEW`] weights has another shape than the true one, however light the
/// tails: a Gaussian with the moments of a posterior behind a soft wall has .55 to .65.
const USEFUL: f64 = 0.7;

/// The number of weights to which [`NEAR`] and [`USEFUL`] refer. The log importance ratios of the directions add, and the
/// effective share is about `exp(−variance)` of the sum: the same error in each of `d` directions leaves the `d`-th power of one
/// direction's share.
const FEW: f64 = 10.0;

/// The effective share that the same error in each direction would give with [`FEW`] weights.
fn share_of_few(share: f64, weights: usize) -> f64 {
    share.powf(FEW / (weights as f64).max(FEW))
}

/// Whether a posterior of so many weights with such an effective share and `k̂` is near the true one, or near enough for
/// reweighting to repair the rest.
pub(crate) fn is_near(share: f64, k_hat: f64, weights: usize) -> bool {
    let share = share_of_few(share, weights);
    share >= NEAR || share >= USEFUL && k_hat <= LARGEST_K
}

/// What `diagnose` found about the current posterior.
#[derive(Debug, Clone, Copy)]
pub(super) struct Diagnosis {
    k_hat: f64,
    effective_share: f64,
    weights: usize,
    compared: Compared,
}

/// The likelier prior scale that a comparison found, if it found one, and by how many nats; the outer `None` where scales were not compared.
pub(super) type Compared = Option<Option<(f64, f64)>>;

impl Diagnosis {
    /// The diagnosis of a posterior of so many weights.
    pub(super) fn of(psis: &Psis, weights: usize, compared: Compared) -> Self {
        let effective_share = psis.effective_draws() / psis.log_weights.len() as f64;
        Self { k_hat: psis.k_hat, effective_share, weights, compared }
    }
}

/// The worst health of the members.
fn health<F: Family>(engine: &Engine<F>) -> Health {
    let mut worst = engine.members[0].belief.health();
    for member in &engine.members[1..] {
        worst = worst.worse(member.belief.health());
    }
    worst
}

/// Each value that `of` finds at the members, with its share of the answers; a member's own shares sum to 1.
fn shares<F: Family>(engine: &Engine<F>, of: impl Fn(&Member<F::State>) -> Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let mut shares: Vec<(f64, f64)> = Vec::new();
    for (member, weight) in engine.members.iter().zip(engine.weights()) {
        for (value, part) in of(member) {
            match shares.iter_mut().find(|(known, _)| *known == value) {
                Some((_, share)) => *share += weight * part,
                None => shares.push((value, weight * part)),
            }
        }
    }
    shares
}

impl OnlineInfo {
    pub(super) fn of<F: Family>(engine: &Engine<F>) -> Self {
        let advice = match engine.settings.belief {
            BeliefKind::LowRank { .. } | BeliefKind::LowRankInBlocks { .. } | BeliefKind::Diagonal => {
                Advice::NarrowIntervals
            }
            _ if engine.mixed => Advice::Mixture,
            _ if engine.check_kept().is_ok() => Advice::Diagnose,
            _ if engine.is_narrow() => Advice::NotFitted,
            _ => Advice::KeepRows,
        };
        let prior_scales = shares(engine, Member::scales);
        let prior_scale = prior_scales.iter().map(|(scale, share)| share * scale.ln()).sum::<f64>().exp();
        let of_block = |block: Range<usize>| prior_scale * engine.design.relative(block.start);
        let info = Self {
            observations: engine.observations,
            evidence: engine.evidence(),
            prior_scale,
            block_scales: ranges(&engine.settings.blocks).map(of_block).collect(),
            block_freedom: engine.block_freedom(),
            prior_scales,
            memories: shares(engine, |member| vec![(member.lambda, 1.0)]),
            last_change: engine.drift.last_change,
            forgetting_held: engine.drift.held,
            health: health(engine),
            owed: engine.members.iter().map(|member| member.belief.owed()).fold(0.0, f64::max),
            likelier_scale: None,
            refused: engine.refused,
            failed_fits: engine.fallbacks.fits,
            failed_moves: engine.fallbacks.places,
            constant_columns: engine.design.constant.clone(),
            warming_up: !engine.fixed,
            order: engine.order(),
            k_hat: None,
            effective_share: None,
            advice,
        };
        match engine.diagnosis {
            _ if !info.health.is_good() => Self { advice: Advice::FewDigits, ..info },
            _ if info.order.is_some_and(|order| order.matters()) => Self { advice: Advice::Order, ..info },
            Some(diagnosis) => info.with(diagnosis, engine.refined == engine.observations),
            None => info,
        }
    }

    fn with(self, diagnosis: Diagnosis, refined: bool) -> Self {
        let Diagnosis { k_hat, effective_share: share, weights, compared } = diagnosis;
        let (likelier_scale, scales) = (compared.flatten(), compared.is_some());
        let advice = match (share_of_few(share, weights) >= NEAR, refined) {
            _ if likelier_scale.is_some() => Advice::OtherScale,
            (true, false) => Advice::OnePassIsEnough { scales },
            (false, false) => Advice::Sweep,
            (false, true) if !is_near(share, k_hat, weights) => Advice::Boost,
            (_, true) => Advice::Good { scales },
        };
        Self { k_hat: Some(k_hat), effective_share: Some(share), likelier_scale, advice, ..self }
    }

    /// The info of a linear model, which is exact with a full covariance.
    pub(super) fn of_linear<F: Family>(engine: &Engine<F>) -> Self {
        let info = Self::of(engine);
        match engine.settings.belief {
            BeliefKind::Full | BeliefKind::SquareRoot if info.health.is_good() => {
                Self { advice: Advice::Exact, ..info }
            }
            _ => info,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_near;

    #[test]
    fn a_share_is_judged_by_what_each_direction_is_off() {
        for (share, weights, near) in
            [(0.95, 3, true), (0.8, 3, false), (0.8, 50, true), (0.5, 50, false), (0.15, 200, true)]
        {
            assert_eq!(is_near(share, 0.9, weights), near, "{share} {weights}");
        }
        assert!(is_near(0.75, 0.5, 4) && !is_near(0.6, 0.5, 4));
    }
}
