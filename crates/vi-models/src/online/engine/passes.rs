//! Passes over rows that are kept elsewhere, until the posterior is the best Gaussian.

use vi_core::batch::{BatchInfo, BatchSettings, InformationGaussian, Statistics, optimum_of};
use vi_core::{Error, PerRow};
use vi_linalg::faer::{MatRef, Par};

use super::family::Family;
use super::place::{kept_as, moves, placed};
use super::scalar::{RowLikelihood, ScalarFamily, row_likelihood};
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

impl<F: ScalarFamily> Engine<F> {
    /// See `refine_over` of the models. The info is that of the member with the largest share, or of the one that stands for all.
    pub(in crate::online) fn refine_over<E: From<ModelError>>(
        &mut self,
        settings: &BatchSettings,
        mut pass: impl FnMut(&mut Take<'_>) -> Result<(), E>,
    ) -> Result<BatchInfo, E> {
        self.check_passes()?;
        settings.check().map_err(ModelError::from)?;
        let last = self.members.len() - 1;
        let moving = moves(&self.settings);
        let alike = moving && self.members[last].prior_scale < ALIKE * ALIKE * self.members[0].prior_scale;
        let chosen = if alike { last / 2..=last / 2 } else { 0..=last };
        let best = self.best().prior_scale;
        let mut told = None;
        let mut members = Vec::with_capacity(self.members.len());
        for member in &self.members[chosen] {
            let (member, info) = self.optimum(member, settings, &mut pass)?;
            if alike || member.prior_scale == best {
                told = Some(info);
            }
            members.push(member);
        }
        if moving {
            let found = placed(&self.family, &members, &self.design).map_err(ModelError::from)?;
            (self.members, self.base) = found.ok_or(ModelError::NotKept)?;
        } else {
            (self.base, self.members) = (self.averaged(&mut members).map_err(ModelError::from)?, members);
        }
        self.settle();
        if !self.settings.keep_rows {
            self.rows = Vec::new();
        }
        told.ok_or_else(|| ModelError::NotKept.into())
    }

    /// Checks that the belief is a full Gaussian of all rows.
    ///
    /// # Errors
    /// [`ModelError::NotKept`] for another belief.
    fn check_passes(&self) -> Result<(), ModelError> {
        self.check_learns()?;
        let full = matches!(self.settings.belief, BeliefKind::Full | BeliefKind::SquareRoot);
        if full && self.settings.memory == Memory::Everything && self.family.is_joint() {
            Ok(())
        } else {
            Err(ModelError::NotKept)
        }
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
        let mut failed = None;
        let found = optimum_of(&prior, &start, settings, |q| {
            self.sums(q, &member.state, &mut *pass).map_err(|error| {
                failed = Some(error);
                Error::Empty { argument: "pass" }
            })
        });
        if let Some(error) = failed {
            return Err(error);
        }
        let (belief, info) = found.map_err(ModelError::from)?;
        let belief = kept_as(self.settings.belief, belief).map_err(ModelError::from)?;
        Ok((Member { belief, evidence: info.bound(), ..member.clone() }, info))
    }

    /// The sums of one pass.
    fn sums<E: From<ModelError>>(
        &self,
        q: &InformationGaussian,
        state: &F::State,
        pass: &mut impl FnMut(&mut Take<'_>) -> Result<(), E>,
    ) -> Result<Statistics, E> {
        let mut tile =
            Tile::<F> { sums: Statistics::zero(q.dim()), x: Vec::new(), y: Vec::new(), likelihoods: Vec::new() };
        let mut space = RowSpace::default();
        pass(&mut |row, observed| {
            check_row(row, self.design.inputs).map_err(|error| self.named(error))?;
            Family::check_observation(&self.family, &observed)?;
            let at = tile.x.len();
            let written = self.design.write(row, &mut space)?;
            tile.x.resize(at + q.dim(), 0.0);
            written.for_each(|j, value| tile.x[at + j] = value);
            tile.y.push(observed.label);
            tile.likelihoods.push(row_likelihood(&self.family, state, &observed)?);
            if tile.y.len() == ROWS_AT_ONCE { tile.sum(q) } else { Ok(()) }
        })?;
        tile.sum(q)?;
        let (expected, found) = (usize::try_from(self.observations).unwrap_or(usize::MAX), tile.sums.rows);
        crate::check::length("rows of a pass", expected, found).map_err(ModelError::from)?;
        Ok(tile.sums)
    }
}

/// Rows that are buffered until their statistics are summed together.
struct Tile<F: ScalarFamily> {
    sums: Statistics,
    x: Vec<f64>,
    y: Vec<f64>,
    likelihoods: Vec<RowLikelihood<F>>,
}

impl<F: ScalarFamily> Tile<F> {
    fn sum(&mut self, q: &InformationGaussian) -> Result<(), ModelError> {
        if !self.y.is_empty() {
            let x = MatRef::from_row_major_slice(&self.x, self.y.len(), q.dim());
            self.sums.add(&Statistics::at(q, x, &self.y, &PerRow(&self.likelihoods), Par::Seq)?)?;
        }
        self.x.clear();
        self.y.clear();
        self.likelihoods.clear();
        Ok(())
    }
}
