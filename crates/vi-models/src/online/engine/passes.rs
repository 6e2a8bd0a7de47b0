//! Passes over rows that are kept elsewhere, until the posterior is the best Gaussian.

use std::ops::RangeInclusive;

use vi_core::Error;
use vi_core::batch::{BatchInfo, BatchSettings, InformationGaussian, Statistics, optimum_of};
use vi_linalg::faer::MatRef;

use super::family::Family;
use super::place::{CLOSE, kept_as};
use super::start::ALIKE;
use super::{Engine, Member};
use crate::ModelError;
use crate::online::belief::{AnyBelief, BeliefKind};
use crate::online::design::RowSpace;
use crate::online::row::check_row;
use crate::online::{Memory, Observation, OnlineSettings, Row};

/// The number of rows whose statistics are summed together.
const ROWS_AT_ONCE: usize = 1024;

/// The function that receives the rows of a pass one by one.
type Take<'a> = dyn FnMut(Row<'_>, Observation) -> Result<(), ModelError> + 'a;

impl<F: Family> Engine<F> {
    /// See `refine_over` of the models.
    pub(in crate::online) fn refine_over<E: From<ModelError>>(
        &mut self,
        settings: &BatchSettings,
        mut pass: impl FnMut(&mut Take<'_>) -> Result<(), E>,
    ) -> Result<BatchInfo, E> {
        self.check_passes()?;
        settings.check().map_err(ModelError::from)?;
        self.caught_up(|engine| {
            engine.refine_members(engine.likely(), |engine, member| engine.optimum(member, settings, &mut pass))
        })
    }

    /// The members to refine, and how close to one of them a scale follows from it.
    pub(in crate::online) fn likely(&self) -> (RangeInclusive<usize>, f64) {
        let last = self.members.len() - 1;
        let alike = self.moves() && self.members[last].prior_scale < ALIKE * ALIKE * self.members[0].prior_scale;
        if alike { (last / 2..=last / 2, ALIKE.ln()) } else { (0..=last, CLOSE) }
    }

    /// Checks that the belief is a full Gaussian of all rows.
    ///
    /// # Errors
    /// [`ModelError::NotKept`] for another belief.
    pub(in crate::online) fn check_passes(&self) -> Result<(), ModelError> {
        self.check_learns()?;
        let full = matches!(self.settings.belief, BeliefKind::Full | BeliefKind::SquareRoot);
        if full && self.settings.memory == Memory::Everything { Ok(()) } else { Err(ModelError::NotKept) }
    }

    /// The best Gaussian at a member's prior scale, with its bound as the evidence.
    fn optimum<E: From<ModelError>>(
        &self,
        member: &Member<F::State>,
        settings: &BatchSettings,
        pass: &mut impl FnMut(&mut Take<'_>) -> Result<(), E>,
    ) -> Result<(Member<F::State>, BatchInfo), E> {
        let full = OnlineSettings { belief: BeliefKind::Full, ..self.settings.clone() };
        let prior = self.family.prior(&full, member.prior_scale, self.design.columns()).map_err(ModelError::from)?;
        let AnyBelief::Full(prior) = prior else { return Err(ModelError::NotKept.into()) };
        let start = member.belief.full().map_err(ModelError::from)?.ok_or(ModelError::NotKept)?;
        let (mut failed, mut log_jacobian) = (None, 0.0);
        let found = optimum_of(&prior, &start, settings, |q| match self.sums(q, &member.state, &mut *pass) {
            Ok((sums, of_labels)) => {
                log_jacobian = of_labels;
                Ok(sums)
            }
            Err(error) => {
                failed = Some(error);
                Err(Error::Empty { argument: "pass" })
            }
        });
        if let Some(error) = failed {
            return Err(error);
        }
        let (belief, mut info) = found.map_err(ModelError::from)?;
        info.bounds.iter_mut().for_each(|bound| *bound -= log_jacobian);
        let belief = kept_as(self.settings.belief, AnyBelief::Full(belief)).map_err(ModelError::from)?;
        Ok((Member { belief, evidence: info.bound(), ..member.clone() }, info))
    }

    /// The sums of one pass, and the log of the factor between densities of the labels in the model's units and in the caller's.
    fn sums<E: From<ModelError>>(
        &self,
        q: &InformationGaussian,
        state: &F::State,
        pass: &mut impl FnMut(&mut Take<'_>) -> Result<(), E>,
    ) -> Result<(Statistics, f64), E> {
        let mut log_jacobian = 0.0;
        let mut tile = Tile { sums: Statistics::zero(q.dim()), x: Vec::new(), observed: Vec::new() };
        let (mut space, columns) = (RowSpace::default(), self.design.columns());
        pass(&mut |row, observed| {
            check_row(row, self.design.inputs).map_err(|error| self.named(error))?;
            self.family.check_observation(&observed)?;
            let at = tile.x.len();
            let written = self.design.write(row, &mut space)?;
            tile.x.resize(at + columns, 0.0);
            written.for_each(|j, value| tile.x[at + j] = value);
            tile.observed.push(self.design.target.apply(&observed)?);
            log_jacobian += self.design.target.log_jacobian(&observed);
            if tile.observed.len() == ROWS_AT_ONCE { tile.sum(&self.family, state, q) } else { Ok(()) }
        })?;
        tile.sum(&self.family, state, q)?;
        let (expected, found) = (usize::try_from(self.observations).unwrap_or(usize::MAX), tile.sums.rows);
        crate::check::length("rows of a pass", expected, found).map_err(ModelError::from)?;
        Ok((tile.sums, log_jacobian))
    }
}

/// Rows that are buffered until their statistics are summed together.
struct Tile {
    sums: Statistics,
    x: Vec<f64>,
    observed: Vec<Observation>,
}

impl Tile {
    fn sum<F: Family>(&mut self, family: &F, state: &F::State, q: &InformationGaussian) -> Result<(), ModelError> {
        if !self.observed.is_empty() {
            let rows = self.observed.len();
            let x = MatRef::from_row_major_slice(&self.x, rows, self.x.len() / rows);
            self.sums.add(&family.statistics(state, q, x, &self.observed)?)?;
        }
        self.x.clear();
        self.observed.clear();
        Ok(())
    }
}
