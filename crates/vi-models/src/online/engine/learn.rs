//! Forget, predict, learn: one row, or many by blocks.

use vi_core::Error;
use vi_linalg::faer::MatRef;

use super::family::{Family, RowWork};
use super::{Engine, Member};
use crate::online::design::{Design, RowSpace};
use crate::online::{Memory, Observation, OnlineSettings, Row};

/// Rows of a batch that are written out at once.
const ROWS_AT_ONCE: usize = 1024;

/// Memory used again from row to row; holds no state.
#[derive(Debug, Clone)]
pub(super) struct Work {
    space: RowSpace,
    row: RowWork,
}

impl Work {
    pub(super) fn new(columns: usize) -> Self {
        Self { space: RowSpace::default(), row: RowWork::new(columns) }
    }
}

/// The members before any row.
pub(super) fn bank<F: Family>(
    settings: &OnlineSettings,
    family: &F,
    columns: usize,
) -> Result<Vec<Member<F::State>>, Error> {
    settings
        .prior_scale
        .candidates()
        .iter()
        .map(|&prior_scale| {
            let belief = family.prior(settings, prior_scale, columns)?;
            Ok(Member { prior_scale, belief, state: family.initial(), evidence: 0.0 })
        })
        .collect()
}

/// Squared prior scales of the columns: `s²`, and the intercept's own.
pub(in crate::online) fn prior_variances(settings: &OnlineSettings, prior_scale: f64, columns: usize) -> Vec<f64> {
    let mut variances = vec![prior_scale * prior_scale; columns];
    if let (true, Some(last)) = (settings.intercept, variances.last_mut()) {
        *last = settings.intercept_scale * settings.intercept_scale;
    }
    variances
}

/// One row for every member. An error may leave all members but a single one changed, which is then as it was unless it forgets.
pub(super) fn learn<F: Family>(
    members: &mut [Member<F::State>],
    settings: &OnlineSettings,
    family: &F,
    design: &Design,
    (row, observed): (Row<'_>, &Observation),
    work: &mut Work,
) -> Result<(), Error> {
    let row = design.write(row, &mut work.space)?;
    let jacobian = design.target.log_jacobian(observed);
    let observed = &design.target.apply(observed)?;
    for member in members {
        match settings.memory {
            Memory::Everything => {}
            Memory::Fading(lambda) => member.belief.fade(lambda)?,
            Memory::TowardsPrior(lambda) => {
                let prior = family.prior(settings, member.prior_scale, design.columns())?;
                member.belief.return_towards(&prior, lambda)?;
            }
        }
        family.forget(&mut member.state, settings.memory);
        family.learn_row(member, row, observed, &mut work.row)?;
        if let Memory::Fading(_) = settings.memory {
            member.belief.check_faded(member.prior_scale.max(settings.intercept_scale).powi(2))?;
        }
        member.evidence -= jacobian;
    }
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
