//! The machine behind the front-door models: design, one belief or a bank of them, evidence, kept rows.

mod believed;
mod blocks;
mod candidates;
mod diagnose;
mod drift;
mod family;
mod forget;
mod learn;
mod mixed;
mod narrow;
mod one_pass;
mod order;
mod passes;
mod place;
mod scalar;
mod shards;
mod start;
mod steps;
mod stored;
mod sweeps;

pub(super) use believed::{Gains, Parts, beside, check_offset};
pub(super) use family::{Family, Fitted, RowStep, Stateful};
pub(super) use order::{RunLabel, key};
pub(super) use scalar::{
    FIT_PASSES, FIT_SWEEP, FIT_TOLERANCE, Levels, Pass, ScalarFamily, Together, is_score, row_likelihood, site_of,
};
pub(super) use start::WIDE;
pub(super) use steps::StepsSeen;
pub(super) use stored::EngineWire;

use rand::Rng;
use serde::{Deserialize, Serialize};
use vi_core::{Belief, Error, Row, Rows};

use self::drift::Drift;
pub(super) use self::learn::prior_variances;
use self::learn::{MemberStep, Work, age, learn, together};
use self::narrow::Around;
use self::order::OrderSeen;
pub(super) use self::place::{CLOSE, kept_as, moves};
use self::place::{bank, stays_placed};
use super::belief::AnyBelief;
use super::design::{Design, Standardise};
use super::info::Diagnosis;
use super::observation::Observation;
use super::row::{OwnedRow, check_row, split, split_all};
use super::settings::OnlineSettings;
use crate::ModelError;
use crate::marginal::pick;

/// One belief of the bank: the posterior at one prior scale, or with one memory; or the only one, about its prior scale.
#[derive(Debug, Clone)]
pub(super) struct Member<S> {
    pub(super) prior_scale: f64,
    pub(super) around: Around,
    /// The factor by which a row's weight is multiplied when the next one comes; 1 where nothing is forgotten.
    pub(super) lambda: f64,
    pub(super) belief: AnyBelief,
    pub(super) state: S,
    /// Log evidence at this prior scale, in nats: the bound of the rows that were fitted together, plus the log one-step-ahead
    /// predictive densities of the rows after.
    pub(super) evidence: f64,
    /// Log prior mass that the scale stands for; with the evidence it gives the member's share of the answers.
    pub(super) log_mass: f64,
}

/// How often a first way of computing failed and a second one, which then gave the answers, was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Fallbacks {
    /// Failed fits of the first rows together; those rows were learned one by one instead.
    pub(super) fits: u64,
    /// Failed moves of the prior scales; the members stayed where they were.
    pub(super) places: u64,
}

/// A row that is kept, with its observation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Kept {
    pub(super) row: OwnedRow,
    pub(super) observed: Observation,
}

#[derive(Debug, Clone)]
pub(super) struct Engine<F: Family> {
    pub(super) settings: OnlineSettings,
    pub(super) family: F,
    pub(super) design: Design,
    /// Whether the first rows are complete: the design changes only where a column shows its second value, and rows are learned one by one.
    pub(super) fixed: bool,
    /// The members, by rising prior scale where it is learned.
    pub(super) members: Vec<Member<F::State>>,
    /// The log evidence of the mixture when the members were last placed, in nats; where memories are averaged over, that of all
    /// rows.
    pub(super) base: f64,
    pub(super) drift: Drift,
    /// The number of observations at which the members are placed anew.
    pub(super) next_place: u64,
    /// All rows if they are kept, otherwise the first ones until there are enough.
    pub(super) rows: Vec<Kept>,
    pub(super) observations: u64,
    /// What is known of the order of the rows, where it matters.
    order: Option<OrderSeen>,
    /// In how many separate runs from the prior the rows were learned: 1, and more after a merge.
    pub(super) runs: u64,
    /// The number of rows at the last refinement.
    pub(super) refined: u64,
    /// The diagnosis of the current posterior, if asked for.
    pub(super) diagnosis: Option<Diagnosis>,
    /// The number of refused calls since the model was made or read.
    pub(super) refused: u64,
    /// Computations that failed and were replaced since the model was made or read.
    pub(super) fallbacks: Fallbacks,
    /// Whether the members are a mixture found by another method: the model then answers and does not learn.
    pub(super) mixed: bool,
    work: Work<F::State>,
}

/// Checks that the belief fits into a computer's memory before any is allocated.
///
/// # Errors
/// [`ModelError::TooLarge`].
fn check_size<F: Family>(inputs: usize, family: &F, settings: &OnlineSettings) -> Result<usize, ModelError> {
    /// The largest count of numbers: 64 GiB for one prior scale.
    const MOST: u64 = 1 << 33;
    let columns = inputs.checked_add(usize::from(settings.intercept)).and_then(|own| own.checked_add(family.cuts()));
    let weights = columns.and_then(|columns| family.weights(columns));
    let numbers = columns.and_then(|columns| family.numbers(settings.belief, columns));
    match (weights, numbers) {
        (Some(weights), Some(numbers)) if u64::try_from(numbers).is_ok_and(|numbers| numbers <= MOST) => Ok(weights),
        _ => Err(ModelError::TooLarge { inputs, belief: settings.belief }),
    }
}

impl<F: Family> Engine<F> {
    pub(super) fn new(inputs: usize, family: F, settings: OnlineSettings) -> Result<Self, ModelError> {
        check_size(inputs, &family, &settings)?;
        settings.check(inputs)?;
        family.check(&settings)?;
        let design = match &settings.standardise {
            Standardise::Fixed { centres, scales } => {
                let (centres, scales) = (centres.clone(), scales.clone());
                Design { centres, scales, ..Design::plain(inputs, settings.intercept) }
            }
            _ => Design::plain(inputs, settings.intercept),
        };
        let design = Design { target: family.target(), cuts: family.cuts(), ..design };
        let fixed = start::start_rows(&settings, &family, design.columns()) == 0;
        let members = bank(&settings, &family, design.columns())?;
        let mut engine = Self {
            fixed,
            members,
            base: 0.0,
            drift: Drift::default(),
            next_place: Self::first_place(&design, 0),
            rows: Vec::new(),
            observations: 0,
            order: OrderSeen::new(&settings, &family),
            runs: 1,
            refined: 0,
            diagnosis: None,
            refused: 0,
            fallbacks: Fallbacks::default(),
            mixed: false,
            work: Work::default(),
            settings,
            family,
            design,
        };
        engine.start_memories();
        Ok(engine)
    }

    /// Runs `learn` and counts an error of it as a refused call; on an error nothing else changes.
    pub(super) fn counted<T>(
        &mut self,
        learn: impl FnOnce(&mut Self) -> Result<T, ModelError>,
    ) -> Result<T, ModelError> {
        learn(self).inspect_err(|_| self.refused = self.refused.saturating_add(1))
    }

    /// Learns one row. On an error the model is unchanged.
    pub(super) fn update(&mut self, row: Row<'_>, observed: Observation) -> Result<(), ModelError> {
        self.update_telling(row, observed, false, |_, _| ())
    }

    /// [`update`](Self::update); `then` sees the members before they are written, unless rows are still fitted together. The row is `known` if the last
    /// call was [`project_next`](Self::project_next) of it.
    fn update_telling(
        &mut self,
        row: Row<'_>,
        observed: Observation,
        known: bool,
        then: impl FnOnce(&[Member<F::State>], &[MemberStep<F::State>]),
    ) -> Result<(), ModelError> {
        self.check_learns()?;
        check_row(row, self.design.inputs).map_err(|error| self.named(error))?;
        self.family.check_observation(&observed)?;
        if !self.fixed {
            return Ok(self.start_with(row, observed, false)?);
        }
        let standing = self.design.meet(row);
        let before = self.is_wanted(&observed, self.observations).then(|| together(&self.members));
        self.work.set_known(known && standing.is_none());
        let Self { members, family, design, work, .. } = self;
        if let Err(error) = learn(members, family, design, (row, &observed), work, then) {
            if let Some(standing) = standing {
                self.design = standing;
            }
            return Err(error.into());
        }
        let then = before.map(|before| together(&self.members) - before);
        self.keep(row, observed, then);
        let Self { members, settings, family, design, base, drift, observations, work, .. } = self;
        age(members, settings, family, design, (base, drift), *observations, work.anchors());
        self.place();
        Ok(())
    }

    /// The checked rows one by one; `memory` is for rows that are not contiguous.
    pub(super) fn rows<'m, 'a: 'm>(
        &self,
        rows: Rows<'a>,
        memory: &'m mut Vec<f64>,
    ) -> Result<Vec<Row<'m>>, ModelError> {
        split_all(rows, self.design.inputs, memory).map_err(|error| self.named(error))
    }

    /// [`rows`](Self::rows) of which each has a label.
    pub(super) fn labelled<'m, 'a: 'm>(
        &self,
        rows: Rows<'a>,
        labels: usize,
        memory: &'m mut Vec<f64>,
    ) -> Result<Vec<Row<'m>>, ModelError> {
        split(rows, labels, self.design.inputs, memory).map_err(|error| self.named(error))
    }

    /// Learns many rows, as if one by one. On an error the model is unchanged.
    pub(super) fn update_batch(&mut self, rows: Rows<'_>, observed: &[Observation]) -> Result<(), ModelError> {
        self.check_learns()?;
        let mut memory = Vec::new();
        let rows = self.labelled(rows, observed.len(), &mut memory)?;
        for (i, observed) in observed.iter().enumerate() {
            self.family.check_observation(observed).map_err(|error| error.at_row(i))?;
        }
        let pairs: Vec<(Row<'_>, Observation)> = rows.into_iter().zip(observed.iter().copied()).collect();
        let mut learned = self.learned_or_restored(&pairs, true);
        if learned.is_err() && !self.fixed {
            // Rows that were kept for a later one have no error of their own.
            learned = self.learned_or_restored(&pairs, false);
        }
        Ok(learned?)
    }

    /// [`learn_pairs`](Self::learn_pairs); on an error the model is unchanged.
    fn learned_or_restored(&mut self, pairs: &[(Row<'_>, Observation)], ahead: bool) -> Result<(), Error> {
        let kept = self.rows.len();
        let started = self.fixed;
        let may_end = !started && !self.settings.keep_rows && kept + pairs.len() >= self.next_end();
        let rows_before = may_end.then(|| self.rows.clone());
        let before = (self.members.clone(), self.design.clone(), self.base, self.next_place, self.observations);
        let (diagnosis, drift, order) = (self.diagnosis, self.drift.clone(), self.order.clone());
        let learned = self.learn_pairs(pairs, ahead);
        if learned.is_err() {
            (self.members, self.design, self.base, self.next_place, self.observations) = before;
            (self.diagnosis, self.fixed, self.drift, self.order) = (diagnosis, started, drift, order);
            match rows_before {
                Some(rows) => self.rows = rows,
                None => self.rows.truncate(kept),
            }
        }
        learned
    }

    /// Learns the rows in order, first ones only together with a later one by which they are learned anew, if they may be looked at `ahead`.
    /// An error names its row, and rows before it may have been learned.
    fn learn_pairs(&mut self, pairs: &[(Row<'_>, Observation)], ahead: bool) -> Result<(), Error> {
        let mut done = 0;
        while done < pairs.len() {
            if !self.fixed {
                let kept = if ahead { self.keep_until_anew(&pairs[done..]) } else { 0 };
                done += kept;
                let (row, observed) = pairs[done];
                self.start_with(row, observed, kept > 0).map_err(|error| error.at_row(done))?;
                done += 1;
                continue;
            }
            // Up to the row at which the members are placed anew.
            let free =
                if stays_placed(&self.settings) { self.next_place.saturating_sub(self.observations) } else { u64::MAX };
            let count = usize::try_from(free).unwrap_or(usize::MAX).clamp(1, pairs.len() - done);
            let part = &pairs[done..done + count];
            let mut members = std::mem::take(&mut self.members);
            let mut then = vec![None; part.len()];
            let learned = self.learn_all(&mut members, part, &mut then);
            self.members = members;
            learned.map_err(|error| error.shift_row(done))?;
            for ((row, observed), then) in part.iter().zip(then) {
                self.keep(*row, *observed, then);
            }
            self.place();
            done += count;
        }
        Ok(())
    }

    /// Counts a row that was learned, and keeps it where it is to be kept; `then` is its score before, if it is wanted for the sample.
    fn keep(&mut self, row: Row<'_>, observed: Observation, then: Option<f64>) {
        self.see(row, observed, then);
        self.diagnosis = None;
        self.observations = self.observations.saturating_add(1);
        if self.settings.keep_rows {
            self.rows.push(Kept { row: row.into(), observed });
        }
    }

    /// The member with the largest share of the answers; the first of equals.
    pub(super) fn best(&self) -> &Member<F::State> {
        let mut best = &self.members[0];
        for member in &self.members[1..] {
            if member.log_weight() > best.log_weight() {
                best = member;
            }
        }
        best
    }

    /// The log evidence with the prior scale averaged over, in nats.
    pub(super) fn evidence(&self) -> f64 {
        self.base + together(&self.members)
    }

    /// Posterior mean of the columns' weights.
    pub(super) fn mean(&self) -> Vec<f64> {
        let mut mean = vec![0.0; self.best().belief.dim()];
        for (weight, member) in self.weights().into_iter().zip(&self.members) {
            // A product that overflows leaves the mean at the member's own scale.
            let own = member.mean().unwrap_or_else(|_| member.belief.mean().to_vec());
            mean.iter_mut().zip(own).for_each(|(mean, own)| *mean += weight * own);
        }
        mean
    }

    /// A member drawn with its share of the answers as probability.
    pub(super) fn draw_member<R: Rng + ?Sized>(&self, rng: &mut R) -> &Member<F::State> {
        &self.members[pick(self.weights().into_iter(), rng)]
    }
}
