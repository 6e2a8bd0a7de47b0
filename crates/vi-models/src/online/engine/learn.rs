//! Predict, learn, forget: one row, or many by blocks.

use vi_core::Error;
use vi_linalg::faer::MatRef;

use super::drift::{Drift, weigh};
use super::family::{Family, RowStep};
use super::forget::{Anchors, forget, rows_between};
use super::{Engine, Member};
use crate::marginal::log_sum_exp;
use crate::online::design::{Design, RowSpace};
use crate::online::{Memory, Observation, OnlineSettings, Row};

/// Rows of a batch that are written out at once.
const ROWS_AT_ONCE: usize = 1024;

/// Memory used again from row to row; holds no state.
#[derive(Debug)]
pub(super) struct Work<S> {
    space: RowSpace,
    steps: Vec<MemberStep<S>>,
    anchors: Anchors,
}

/// What a member will be after a row.
#[derive(Debug)]
struct MemberStep<S> {
    row: RowStep,
    state: Option<S>,
    score: f64,
}

impl<S> Default for Work<S> {
    fn default() -> Self {
        Self { space: RowSpace::default(), steps: Vec::new(), anchors: Anchors::new() }
    }
}

impl<S> Clone for Work<S> {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl<S> Default for MemberStep<S> {
    fn default() -> Self {
        Self { row: RowStep::default(), state: None, score: 0.0 }
    }
}

/// Squared prior scales of the columns: `s²`, and the intercept's own.
pub(in crate::online) fn prior_variances(settings: &OnlineSettings, prior_scale: f64, columns: usize) -> Vec<f64> {
    let mut variances = vec![prior_scale * prior_scale; columns];
    if let (true, Some(last)) = (settings.intercept, variances.last_mut()) {
        *last = settings.intercept_scale * settings.intercept_scale;
    }
    variances
}

/// One row for every member: prepared for all, then written for all. On an error every member is as it was.
pub(super) fn learn<F: Family>(
    members: &mut [Member<F::State>],
    family: &F,
    design: &Design,
    (row, observed): (Row<'_>, &Observation),
    work: &mut Work<F::State>,
) -> Result<(), Error> {
    let row = design.write(row, &mut work.space)?;
    let jacobian = design.target.log_jacobian(observed);
    let observed = &design.target.apply(observed)?;
    work.steps.resize_with(members.len(), MemberStep::default);
    for (member, step) in members.iter().zip(&mut work.steps) {
        let mut state = member.state.clone();
        step.score = family.prepare_row(&member.belief, &mut state, (row, observed), &mut step.row)?;
        step.state = Some(state);
    }
    for (member, step) in members.iter_mut().zip(&mut work.steps) {
        family.commit_row(&mut member.belief, row, &mut step.row);
        if let Some(state) = step.state.take() {
            member.state = state;
        }
        member.evidence += step.score - jacobian;
    }
    Ok(())
}

/// What time does after row `n` (from 1) was learned: memories are weighed, and what is old is forgotten. It cannot fail.
pub(super) fn age<F: Family>(
    members: &mut [Member<F::State>],
    settings: &OnlineSettings,
    family: &F,
    design: &Design,
    (base, drift): (&mut f64, &mut Drift),
    n: u64,
    work: &mut Work<F::State>,
) {
    if settings.memory == Memory::Learned && members.iter().any(|member| member.lambda < 1.0) {
        *base += weigh(members, drift, n);
    }
    let held = forget(members, settings, family, design.columns(), n, &mut work.anchors);
    drift.held = drift.held.saturating_add(held);
}

/// The log evidence of all members together since they were last placed, in nats.
pub(super) fn together<S>(members: &[Member<S>]) -> f64 {
    log_sum_exp(members.iter().map(Member::log_weight))
}

impl<F: Family> Engine<F> {
    /// Many rows for every member, by blocks where that is cheaper; `then` receives the scores of those that are wanted for the sample.
    /// An error is told of its row and may leave members changed.
    pub(super) fn learn_all(
        &mut self,
        members: &mut [Member<F::State>],
        rows: &[(Row<'_>, Observation)],
        then: &mut [Option<f64>],
    ) -> Result<(), Error> {
        for (i, (then, (_, observed))) in then.iter_mut().zip(rows).enumerate() {
            *then = self.is_wanted(observed, self.observations + i as u64).then_some(0.0);
        }
        let Self { settings, family, design, work, base, drift, observations, .. } = self;
        for (row, _) in rows {
            design.meet(*row);
        }
        let columns = design.columns();
        // Rows between two times at which something is forgotten.
        let between = match settings.memory {
            Memory::Everything => u64::MAX,
            Memory::Fading(lambda) => {
                rows_between(settings.belief, family.weights(columns).unwrap_or(usize::MAX), lambda)
            }
            Memory::Learned => 1,
        };
        let at_once = rows.len().min(usize::try_from(between).unwrap_or(usize::MAX));
        if !members.iter().any(|member| family.takes_blocks(member, at_once)) {
            for (i, ((row, observed), then)) in rows.iter().zip(then).enumerate() {
                let before = then.map(|_| together(members));
                learn(members, family, design, (*row, observed), work).map_err(|error| error.at_row(i))?;
                *then = before.map(|before| together(members) - before);
                age(members, settings, family, design, (&mut *base, &mut *drift), *observations + i as u64 + 1, work);
            }
            return Ok(());
        }
        let mut x = vec![0.0; ROWS_AT_ONCE.min(at_once) * columns];
        let mut first = 0;
        while first < rows.len() {
            let n = *observations + first as u64;
            let until = usize::try_from(between - n % between).unwrap_or(usize::MAX);
            let part = &rows[first..rows.len().min(first.saturating_add(until.min(ROWS_AT_ONCE)))];
            let x = &mut x[..part.len() * columns];
            x.fill(0.0);
            for (i, (row, _)) in part.iter().enumerate() {
                let written = design.write(*row, &mut work.space).map_err(|error| error.at_row(first + i))?;
                written.for_each(|j, value| x[i * columns + j] = value);
            }
            let x = MatRef::from_row_major_slice(x, part.len(), columns);
            let mut observed = Vec::with_capacity(part.len());
            for (i, (_, given)) in part.iter().enumerate() {
                observed.push(design.target.apply(given).map_err(|error| error.at_row(first + i))?);
            }
            let jacobian: f64 = part.iter().map(|(_, given)| design.target.log_jacobian(given)).sum();
            let mut log_weights: Vec<f64> = members.iter().map(Member::log_weight).collect();
            let total = |log_weights: &[f64]| log_sum_exp(log_weights.iter().copied());
            let mut scores = vec![Vec::with_capacity(part.len()); members.len()];
            for (member, scores) in members.iter_mut().zip(&mut scores) {
                family.learn_block(member, x, &observed, scores).map_err(|error| error.shift_row(first))?;
                member.evidence -= jacobian;
            }
            for (t, then) in then[first..first + part.len()].iter_mut().enumerate() {
                let before = then.map(|_| total(&log_weights));
                log_weights.iter_mut().zip(&scores).for_each(|(own, scores)| *own += scores[t]);
                *then = before.map(|before| total(&log_weights) - before);
            }
            first += part.len();
            age(members, settings, family, design, (&mut *base, &mut *drift), n + part.len() as u64, work);
        }
        Ok(())
    }
}
