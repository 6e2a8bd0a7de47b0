//! The machine behind the front-door models: design, bank of beliefs, evidence, kept rows.

mod diagnose;
mod family;
mod learn;
mod one_pass;
mod scalar;
mod shards;
mod stored;
mod sweeps;

pub(super) use family::{Family, RowWork};
pub(super) use scalar::{ScalarFamily, check_offset};
pub(super) use stored::EngineWire;

use rand::Rng;
use serde::{Deserialize, Serialize};
use vi_core::Error;

pub(super) use self::learn::prior_variances;
use self::learn::{Work, bank, learn};
use super::belief::AnyBelief;
use super::design::{Design, Standardise};
use super::info::Diagnosis;
use super::observation::Observation;
use super::row::{OwnedRow, Row, Rows};
use super::settings::{Memory, OnlineSettings};
use super::target::Target;
use crate::ModelError;

/// One belief of the bank.
#[derive(Debug, Clone)]
pub(super) struct Member<S> {
    pub(super) prior_scale: f64,
    pub(super) belief: AnyBelief,
    pub(super) state: S,
    /// Sum of log one-step predictive densities, in nats.
    pub(super) evidence: f64,
}

/// A row that is kept.
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
    /// Whether `design` will not change any more.
    pub(super) fixed: bool,
    pub(super) members: Vec<Member<F::State>>,
    /// All rows if they are kept, else those of the warm-up.
    pub(super) rows: Vec<Kept>,
    pub(super) observations: u64,
    /// How many rows there were when the model was refined last.
    pub(super) refined: u64,
    /// Of the posterior as it is, if asked for.
    pub(super) diagnosis: Option<Diagnosis>,
    work: Work,
}

/// The error itself, where only one row was given.
fn without_row(error: Error) -> Error {
    match error {
        Error::Row { source, .. } => *source,
        other => other,
    }
}

/// Checks that an address space can hold the belief.
///
/// # Errors
/// `Setting`.
fn check_size<F: Family>(inputs: usize, family: &F, settings: &OnlineSettings) -> Result<usize, Error> {
    const MOST: usize = isize::MAX as usize / size_of::<f64>();
    let columns = inputs.checked_add(usize::from(settings.intercept));
    let weights = columns.and_then(|columns| family.weights(columns));
    let numbers = weights.and_then(|weights| settings.belief.numbers(weights));
    match (weights, numbers) {
        (Some(weights), Some(numbers)) if numbers <= MOST => Ok(weights),
        _ => {
            let requirement = "so few that the belief's numbers can be counted";
            Err(Error::Setting { name: "inputs", value: inputs as f64, requirement })
        }
    }
}

impl<F: Family> Engine<F> {
    pub(super) fn new(inputs: usize, family: F, settings: OnlineSettings) -> Result<Self, ModelError> {
        check_size(inputs, &family, &settings)?;
        settings.check(inputs)?;
        family.check(&settings)?;
        let (design, fixed) = match &settings.standardise {
            Standardise::Fixed { centres, scales } => {
                let (centres, scales) = (centres.clone(), scales.clone());
                (Design { centres, scales, ..Design::plain(inputs, settings.intercept) }, true)
            }
            Standardise::FirstRows { .. } => (Design::plain(inputs, settings.intercept), false),
            Standardise::Never => (Design::plain(inputs, settings.intercept), true),
        };
        let members = bank(&settings, &family, design.columns())?;
        let work = Work::new(design.columns());
        let (rows, diagnosis) = (Vec::new(), None);
        Ok(Self { settings, family, design, fixed, members, rows, observations: 0, refined: 0, diagnosis, work })
    }

    /// One row. On an error the model is as it was.
    pub(super) fn update(&mut self, row: Row<'_>, observed: Observation) -> Result<(), ModelError> {
        row.check(self.design.inputs)?;
        self.family.check_observation(&observed)?;
        if !self.fixed {
            return Ok(self.warm_up(&[(row, observed)]).map_err(without_row)?);
        }
        if self.members.len() > 1 || self.settings.memory != Memory::Everything {
            let mut members = self.members.clone();
            learn(&mut members, &self.settings, &self.family, &self.design, (row, &observed), &mut self.work)?;
            self.members = members;
        } else {
            learn(&mut self.members, &self.settings, &self.family, &self.design, (row, &observed), &mut self.work)?;
        }
        self.keep(row, observed);
        Ok(())
    }

    /// Many rows, as if one by one. On an error the model is as it was before the first.
    pub(super) fn update_batch(&mut self, rows: Rows<'_>, observed: &[Observation]) -> Result<(), ModelError> {
        let rows = rows.checked(observed.len(), self.design.inputs)?;
        for (i, observed) in observed.iter().enumerate() {
            self.family.check_observation(observed).map_err(|error| error.at_row(i))?;
        }
        let pairs: Vec<(Row<'_>, Observation)> = rows.into_iter().zip(observed.iter().copied()).collect();
        let first = if self.fixed { 0 } else { (self.warm_up_rows() - self.rows.len()).min(pairs.len()) };
        let before = (first > 0).then(|| self.clone());
        let (warm_up, rest) = pairs.split_at(first);
        if first > 0 {
            self.warm_up(warm_up)?;
        }
        let mut members = self.members.clone();
        if let Err(error) = self.learn_all(&mut members, rest) {
            if let Some(before) = before {
                *self = before;
            }
            return Err(error.shift_row(first).into());
        }
        self.members = members;
        for (row, observed) in rest {
            self.keep(*row, *observed);
        }
        Ok(())
    }

    fn warm_up_rows(&self) -> usize {
        match self.settings.standardise {
            Standardise::FirstRows { rows, .. } => rows,
            _ => 0,
        }
    }

    /// Rows that the scales are taken from: the model starts anew with all of them. An error of one of `more` is told of it.
    fn warm_up(&mut self, more: &[(Row<'_>, Observation)]) -> Result<(), Error> {
        let Standardise::FirstRows { rows: needed, centre } = self.settings.standardise else {
            return Ok(());
        };
        let seen = self.rows.iter().map(|kept| (kept.row.as_row(), kept.observed));
        let all: Vec<(Row<'_>, Observation)> = seen.chain(more.iter().copied()).collect();
        let Design { inputs, intercept, .. } = self.design;
        let mut design = Design::of_rows(inputs, intercept, centre, all.iter().map(|(row, _)| *row))?;
        if self.family.standardises_labels() {
            design.target = Target::of(all.iter().map(|(_, observed)| observed), intercept)?;
        }
        let mut members = bank(&self.settings, &self.family, design.columns())?;
        for (i, (row, observed)) in all.iter().enumerate() {
            learn(&mut members, &self.settings, &self.family, &design, (*row, observed), &mut self.work)
                // An earlier row that cannot be learned any more is the work of the new ones together.
                .map_err(|error| i.checked_sub(self.rows.len()).map_or(error.clone(), |new| error.at_row(new)))?;
        }
        self.rows.extend(more.iter().map(|(row, observed)| Kept { row: (*row).into(), observed: *observed }));
        self.observations = self.observations.saturating_add(more.len() as u64);
        (self.members, self.design, self.diagnosis) = (members, design, None);
        self.fixed = self.rows.len() >= needed;
        if self.fixed && !self.settings.keep_rows {
            self.rows = Vec::new();
        }
        Ok(())
    }

    fn keep(&mut self, row: Row<'_>, observed: Observation) {
        self.diagnosis = None;
        self.observations = self.observations.saturating_add(1);
        if self.settings.keep_rows {
            self.rows.push(Kept { row: row.into(), observed });
        }
    }

    /// The member that has predicted best; the first of equals.
    pub(super) fn best(&self) -> &Member<F::State> {
        let mut best = &self.members[0];
        for member in &self.members[1..] {
            if member.evidence > best.evidence {
                best = member;
            }
        }
        best
    }

    /// Log of the mean of the members' evidences: that of the predictor which averages them, in nats.
    pub(super) fn evidence(&self) -> f64 {
        let most = self.best().evidence;
        if !most.is_finite() {
            return most;
        }
        let sum: f64 = self.members.iter().map(|member| (member.evidence - most).exp()).sum();
        most + (sum / self.members.len() as f64).ln()
    }

    /// A draw of the best member's weights, of its columns; `spread` multiplies the deviation from the mean.
    pub(super) fn draw<R: Rng + ?Sized>(&self, spread: f64, rng: &mut R) -> Result<Vec<f64>, ModelError> {
        let belief = &self.best().belief;
        let mut theta = vec![0.0; belief.dim()];
        belief.draw_deviation(&mut theta, rng)?;
        for (theta, mean) in theta.iter_mut().zip(belief.mean()) {
            *theta = mean + spread * *theta;
        }
        Ok(theta)
    }
}
