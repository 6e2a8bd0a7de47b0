//! Forget, predict, learn: one row, or many by blocks.

use std::cell::Cell;

use vi_core::filter::{Scratch, StepInfo};
use vi_core::{Error, Implicit, Projection, Site, SiteRule};
use vi_linalg::faer::MatRef;

use super::family::{Family, RowLikelihood, row_likelihood};
use super::{Engine, Member};
use crate::online::belief::AnyBelief;
use crate::online::design::{Design, RowSpace};
use crate::online::{Memory, Observation, OnlineSettings, Row};

/// Rows of a batch that are written out at once.
const ROWS_AT_ONCE: usize = 1024;

/// Memory used again from row to row; holds no state.
#[derive(Debug, Clone)]
pub(super) struct Work {
    scratch: Scratch,
    space: RowSpace,
    dense: Vec<f64>,
}

impl Work {
    pub(super) fn new(columns: usize) -> Self {
        Self { scratch: Scratch::new(columns), space: RowSpace::default(), dense: Vec::new() }
    }
}

/// The members before any row: `w ~ N(0, s²I)`, the intercept with its own scale.
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
            let belief = AnyBelief::prior(settings.belief, &prior_variances(settings, prior_scale, columns))?;
            Ok(Member { prior_scale, belief, state: family.initial(), evidence: 0.0 })
        })
        .collect()
}

/// Squared prior scales of the columns.
pub(super) fn prior_variances(settings: &OnlineSettings, prior_scale: f64, columns: usize) -> Vec<f64> {
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
    let Work { scratch, space, dense } = work;
    let row = design.write(row, space)?;
    let rule = Implicit(row_likelihood(family, observed)?);
    for Member { prior_scale, belief, state, evidence } in members {
        match settings.memory {
            Memory::Everything => {}
            Memory::Fading(lambda) => belief.fade(lambda)?,
            Memory::TowardsPrior(lambda) => {
                let variances = prior_variances(settings, *prior_scale, design.columns());
                belief.return_towards(&AnyBelief::prior(settings.belief, &variances)?, lambda)?;
            }
        }
        family.forget(state, settings.memory);
        let scored = Scored { rule: &rule, family, state, observed, score: Cell::new(0.0) };
        let step = belief.step(&scored, row, observed.label, scratch, dense)?;
        *evidence += scored.score.get();
        family.learn(state, observed, step.projection);
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
        let blocks = members.iter().any(|member| member.belief.gains_by_blocks(rows.len()));
        if !blocks || settings.memory != Memory::Everything {
            return rows.iter().enumerate().try_for_each(|(i, (row, observed))| {
                learn(members, settings, family, design, (*row, observed), work).map_err(|error| error.at_row(i))
            });
        }
        let columns = design.columns();
        let mut x = vec![0.0; ROWS_AT_ONCE.min(rows.len()) * columns];
        for (chunk, part) in rows.chunks(ROWS_AT_ONCE).enumerate() {
            let shift = |error: Error, i: usize| error.at_row(chunk * ROWS_AT_ONCE + i);
            let x = &mut x[..part.len() * columns];
            x.fill(0.0);
            let (mut y, mut rules) = (Vec::with_capacity(part.len()), Vec::with_capacity(part.len()));
            for (i, (row, observed)) in part.iter().enumerate() {
                let written = design.write(*row, &mut work.space).map_err(|error| shift(error, i))?;
                written.for_each(|j, value| x[i * columns + j] = value);
                y.push(observed.label);
                rules.push(Implicit(row_likelihood(family, observed).map_err(|error| shift(error, i))?));
            }
            let x = MatRef::from_row_major_slice(x, part.len(), columns);
            for Member { belief, state, evidence, .. } in members.iter_mut() {
                let mut failed = None;
                let mut tally = |t: usize, step: &StepInfo| {
                    let (likelihood, observed, seen) = (&rules[t].0, &part[t].1, step.projection);
                    match score(family, state, likelihood, observed, seen) {
                        Ok(score) => {
                            *evidence += score;
                            family.learn(state, observed, seen);
                        }
                        Err(error) => failed = failed.take().or(Some(shift(error, t))),
                    }
                };
                belief.run(&rules, x, &y, &mut tally).map_err(|error| error.shift_row(chunk * ROWS_AT_ONCE))?;
                failed.map_or(Ok(()), Err)?;
            }
        }
        Ok(())
    }
}

/// `weight·log p(y | earlier rows)`.
///
/// # Errors
/// What the family finds; `NonFinite` for a density that is not a number.
fn score<F: Family>(
    family: &F,
    state: &F::State,
    likelihood: &RowLikelihood<F>,
    observed: &Observation,
    seen: Projection,
) -> Result<f64, Error> {
    if observed.weight == 0.0 {
        return Ok(0.0);
    }
    family.check_step(observed, seen)?;
    let score = observed.weight * family.log_predictive(state, likelihood.likelihood(), observed.label, seen);
    if score.is_nan() {
        return Err(Error::NonFinite { argument: "log predictive density", index: 0, value: score });
    }
    Ok(score)
}

/// The rule of a row, which scores the row when it is asked for the site: an error then comes before anything has changed.
struct Scored<'a, F: Family> {
    rule: &'a Implicit<RowLikelihood<F>>,
    family: &'a F,
    state: &'a F::State,
    observed: &'a Observation,
    score: Cell<f64>,
}

impl<F: Family> SiteRule for Scored<'_, F> {
    fn check_label(&self, label: f64) -> Result<(), Error> {
        self.rule.check_label(label)
    }

    fn site(&self, a: f64, nu: f64, y: f64) -> Result<Site, Error> {
        let seen = Projection { mean: a, variance: nu };
        self.score.set(score(self.family, self.state, &self.rule.0, self.observed, seen)?);
        self.rule.site(a, nu, y)
    }
}
