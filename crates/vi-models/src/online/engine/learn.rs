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

/// Rows of which the first are learned while the others are looked at.
const ROWS_AHEAD: usize = 256;

/// Memory used again from row to row; holds no state.
#[derive(Debug)]
pub(super) struct Work<S> {
    spaces: Vec<RowSpace>,
    steps: Vec<MemberStep<S>>,
    anchors: Anchors,
}

/// What a member will be after a row.
#[derive(Debug)]
pub(super) struct MemberStep<S> {
    pub(super) row: RowStep,
    state: Option<S>,
    score: f64,
}

impl<S> Default for Work<S> {
    fn default() -> Self {
        Self { spaces: Vec::new(), steps: Vec::new(), anchors: Anchors::new() }
    }
}

impl<S> Work<S> {
    /// Writes a row in the model's columns, and makes a step for each member.
    ///
    /// # Errors
    /// As [`Design::write`].
    pub(super) fn begin<'a>(
        &'a mut self,
        row: Row<'_>,
        design: &Design,
        members: usize,
    ) -> Result<(Row<'a>, &'a mut Vec<MemberStep<S>>), Error> {
        let Self { spaces, steps, .. } = self;
        spaces.resize_with(spaces.len().max(1), RowSpace::default);
        steps.resize_with(members, MemberStep::default);
        Ok((design.write(row, &mut spaces[0])?, steps))
    }

    /// Marks the next row as projected by the steps, or not.
    pub(super) fn set_known(&mut self, known: bool) {
        self.steps.iter_mut().for_each(|step| step.row.known = known);
    }

    /// The anchors of the priors to which members return.
    pub(super) fn anchors(&mut self) -> &mut Anchors {
        &mut self.anchors
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

/// One row for every member: prepared for all, then written for all. `then` sees the members before they are written. On an error every
/// member is as it was.
pub(super) fn learn<F: Family>(
    members: &mut [Member<F::State>],
    family: &F,
    design: &Design,
    (row, observed): (Row<'_>, &Observation),
    work: &mut Work<F::State>,
    then: impl FnOnce(&[Member<F::State>], &[MemberStep<F::State>]),
) -> Result<(), Error> {
    let (row, steps) = work.begin(row, design, members.len())?;
    learn_first(members, family, design, (&[row], observed), steps, then)
}

/// The first of `rows`, which are written in the model's columns and learned one after another.
fn learn_first<F: Family>(
    members: &mut [Member<F::State>],
    family: &F,
    design: &Design,
    (rows, observed): (&[Row<'_>], &Observation),
    steps: &mut Vec<MemberStep<F::State>>,
    then: impl FnOnce(&[Member<F::State>], &[MemberStep<F::State>]),
) -> Result<(), Error> {
    let jacobian = design.target.log_jacobian(observed);
    let observed = &design.target.apply(observed)?;
    let row = rows[0];
    steps.resize_with(members.len(), MemberStep::default);
    for (member, step) in members.iter().zip(&mut *steps) {
        let mut state = member.state.clone();
        family.look_ahead(&member.belief, rows, &mut step.row);
        step.score = family.prepare_row(&member.belief, &mut state, (row, observed), &mut step.row)?;
        step.state = Some(state);
    }
    then(members, steps);
    for (member, step) in members.iter_mut().zip(steps) {
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
    anchors: &mut Anchors,
) {
    if settings.memory == Memory::Learned && members.iter().any(|member| member.lambda < 1.0) {
        *base += weigh(members, drift, n);
    }
    let held = forget(members, settings, family, design.columns(), n, anchors);
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
            let Work { spaces, steps, anchors } = work;
            spaces.resize_with(spaces.len().max(rows.len().min(ROWS_AHEAD)), RowSpace::default);
            for first in (0..rows.len()).step_by(ROWS_AHEAD) {
                let part = &rows[first..rows.len().min(first + ROWS_AHEAD)];
                let mut written = Vec::with_capacity(part.len());
                let mut failed = None;
                for ((row, _), space) in part.iter().zip(&mut *spaces) {
                    match design.write(*row, space) {
                        Ok(row) => written.push(row),
                        Err(error) => {
                            failed = Some(error);
                            break;
                        }
                    }
                }
                for t in 0..written.len() {
                    let (i, then) = (first + t, &mut then[first + t]);
                    let before = then.map(|_| together(members));
                    let row = (&written[t..], &part[t].1);
                    learn_first(members, family, design, row, steps, |_, _| ()).map_err(|error| error.at_row(i))?;
                    *then = before.map(|before| together(members) - before);
                    let n = *observations + i as u64 + 1;
                    age(members, settings, family, design, (&mut *base, &mut *drift), n, anchors);
                }
                if let Some(error) = failed {
                    return Err(error.at_row(first + written.len()));
                }
            }
            return Ok(());
        }
        let mut x = vec![0.0; ROWS_AT_ONCE.min(at_once) * columns];
        work.spaces.resize_with(work.spaces.len().max(1), RowSpace::default);
        let mut first = 0;
        while first < rows.len() {
            let n = *observations + first as u64;
            let until = usize::try_from(between - n % between).unwrap_or(usize::MAX);
            let part = &rows[first..rows.len().min(first.saturating_add(until.min(ROWS_AT_ONCE)))];
            let x = &mut x[..part.len() * columns];
            x.fill(0.0);
            for (i, (row, _)) in part.iter().enumerate() {
                let written = design.write(*row, &mut work.spaces[0]).map_err(|error| error.at_row(first + i))?;
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
            age(members, settings, family, design, (&mut *base, &mut *drift), n + part.len() as u64, &mut work.anchors);
        }
        Ok(())
    }
}
