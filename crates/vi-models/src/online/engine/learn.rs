//! Forget, predict, learn: one row, or many by blocks.

use vi_core::Error;
use vi_linalg::faer::MatRef;

use super::family::{Family, RowStep};
use super::{Engine, Member};
use crate::online::belief::AnyBelief;
use crate::online::design::{Design, RowSpace};
use crate::online::{Memory, Observation, OnlineSettings, Row};

/// Rows of a batch that are written out at once.
const ROWS_AT_ONCE: usize = 1024;

/// Memory used again from row to row; holds no state.
#[derive(Debug)]
pub(super) struct Work<S> {
    space: RowSpace,
    steps: Vec<MemberStep<S>>,
}

/// What a member will be after a row.
#[derive(Debug)]
struct MemberStep<S> {
    row: RowStep,
    /// The belief returned towards its prior.
    forgotten: Option<AnyBelief>,
    state: Option<S>,
    score: f64,
}

impl<S> Default for Work<S> {
    fn default() -> Self {
        Self { space: RowSpace::default(), steps: Vec::new() }
    }
}

impl<S> Clone for Work<S> {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl<S> Default for MemberStep<S> {
    fn default() -> Self {
        Self { row: RowStep::default(), forgotten: None, state: None, score: 0.0 }
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
    settings: &OnlineSettings,
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
        prepare(member, settings, family, design, (row, observed), step)?;
    }
    for (member, step) in members.iter_mut().zip(&mut work.steps) {
        if let Some(forgotten) = step.forgotten.take() {
            member.belief = forgotten;
        }
        family.commit_row(&mut member.belief, row, &mut step.row);
        if let Some(state) = step.state.take() {
            member.state = state;
        }
        member.evidence += step.score - jacobian;
    }
    Ok(())
}

/// Forgets, scores and prepares one row of the model's columns for one member.
fn prepare<F: Family>(
    member: &Member<F::State>,
    settings: &OnlineSettings,
    family: &F,
    design: &Design,
    (row, observed): (Row<'_>, &Observation),
    step: &mut MemberStep<F::State>,
) -> Result<(), Error> {
    let mut state = member.state.clone();
    family.forget(&mut state, settings.memory);
    let mut fade = 1.0;
    step.forgotten = None;
    match settings.memory {
        Memory::Everything => {}
        Memory::Fading(lambda) => fade = lambda,
        Memory::TowardsPrior(lambda) => {
            let prior = family.prior(settings, member.prior_scale, design.columns())?;
            let mut forgotten = member.belief.clone();
            forgotten.return_towards(&prior, lambda)?;
            step.forgotten = Some(forgotten);
        }
    }
    let belief = step.forgotten.as_ref().unwrap_or(&member.belief);
    step.score = family.prepare_row(belief, &mut state, (row, observed), fade, &mut step.row)?;
    if fade < 1.0 {
        let widest = member.prior_scale.max(settings.intercept_scale).powi(2);
        belief.check_faded(step.row.widest(), widest)?;
    }
    step.state = Some(state);
    Ok(())
}

impl<F: Family> Engine<F> {
    /// Many rows for every member, by blocks where that is cheaper. An error is told of its row and may leave members changed.
    pub(super) fn learn_all(
        &mut self,
        members: &mut [Member<F::State>],
        rows: &[(Row<'_>, Observation)],
    ) -> Result<(), Error> {
        let Self { settings, family, design, work, .. } = self;
        let blocks = members.iter().any(|member| family.takes_blocks(member, rows.len()));
        if !blocks || settings.memory != Memory::Everything {
            return rows.iter().enumerate().try_for_each(|(i, (row, observed))| {
                learn(members, settings, family, design, (*row, observed), work).map_err(|error| error.at_row(i))
            });
        }
        let columns = design.columns();
        let mut x = vec![0.0; ROWS_AT_ONCE.min(rows.len()) * columns];
        for (chunk, part) in rows.chunks(ROWS_AT_ONCE).enumerate() {
            let first = chunk * ROWS_AT_ONCE;
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
            for member in members.iter_mut() {
                family.learn_block(member, x, &observed).map_err(|error| error.shift_row(first))?;
                member.evidence -= jacobian;
            }
        }
        Ok(())
    }
}
