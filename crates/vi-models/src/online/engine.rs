//! The machine behind the front-door models: design, bank of beliefs, evidence, kept rows.

use std::fmt::Debug;

use rand::Rng;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use vi_core::filter::{Scratch, StepInfo};
use vi_core::refine::{self, RefineInfo, RefineSettings};
use vi_core::{Error, GaussianExpectation, Implicit, Likelihood, PerRow, Projection, Weighted};
use vi_linalg::faer::{Mat, MatRef, Par};

use super::belief::{AnyBelief, BeliefKind, BeliefWire};
use super::design::{Design, RowSpace, Standardise};
use super::observation::Observation;
use super::row::{OwnedRow, Row, Rows};
use super::settings::{Memory, OnlineSettings};
use crate::ModelError;
use crate::likelihood::Offset;

/// The likelihood of one row.
pub(super) type RowLikelihood<F> = Weighted<Offset<<F as Family>::Likelihood>>;

/// What a family of models adds to the machine.
pub trait Family: Clone + Debug + PartialEq + Serialize + DeserializeOwned {
    /// What is learned beside the weights: the noise of a linear model.
    type State: Clone + Debug + Serialize + DeserializeOwned;

    /// `p(y|t)`.
    type Likelihood: GaussianExpectation + Clone + Debug;

    /// The state before any row.
    fn initial(&self) -> Self::State;

    /// Checks the family's own settings, which may come from a file.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Checks a stored state.
    fn check_state(&self, _state: &Self::State) -> Result<(), Error> {
        Ok(())
    }

    /// The likelihood of a row with `size` trials, or of that exposure.
    fn likelihood(&self, size: f64) -> Result<Self::Likelihood, Error>;

    /// `log p(y | earlier rows)` in nats, from what the belief sees along the row.
    fn log_predictive(
        &self,
        _state: &Self::State,
        likelihood: &Offset<Self::Likelihood>,
        y: f64,
        seen: Projection,
    ) -> f64 {
        likelihood.log_predictive(y, seen.mean, seen.variance)
    }

    /// Learns what is beside the weights.
    fn learn(&self, _state: &mut Self::State, _observed: &Observation, _seen: Projection) {}

    /// Forgets what is beside the weights.
    fn forget(&self, _state: &mut Self::State, _memory: Memory) {}

    /// Brings the states of shards together; `spread = Σ_k μ_kᵀΛ_kμ_k − μᵀΛμ`, the prior mean being 0.
    fn merge(&self, _states: &[&Self::State], _spread: f64) -> Self::State {
        self.initial()
    }
}

/// The likelihood of a row, offset and weight included.
///
/// # Errors
/// What is wrong with size, offset or weight.
pub(super) fn row_likelihood<F: Family>(family: &F, observed: &Observation) -> Result<RowLikelihood<F>, Error> {
    Weighted::new(Offset::new(family.likelihood(observed.size)?, observed.offset)?, observed.weight)
}

fn check_observation<F: Family>(family: &F, observed: &Observation) -> Result<(), Error> {
    row_likelihood(family, observed)?.check_label(observed.label)
}

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

/// Rows of a batch that are written out at once.
const ROWS_AT_ONCE: usize = 1024;

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
    work: Work,
}

/// Memory used again from row to row; holds no state.
#[derive(Debug, Clone)]
struct Work {
    scratch: Scratch,
    space: RowSpace,
    dense: Vec<f64>,
}

impl<F: Family> Engine<F> {
    pub(super) fn new(inputs: usize, family: F, settings: OnlineSettings) -> Result<Self, ModelError> {
        settings.check(inputs)?;
        family.check()?;
        let (design, fixed) = match &settings.standardise {
            Standardise::Fixed { centres, scales } => {
                let (centres, scales) = (centres.clone(), scales.clone());
                (Design { centres, scales, ..Design::plain(inputs, settings.intercept) }, true)
            }
            Standardise::FirstRows { .. } => (Design::plain(inputs, settings.intercept), false),
            Standardise::Never => (Design::plain(inputs, settings.intercept), true),
        };
        let members = bank(&settings, &family, design.columns())?;
        let work = Work { scratch: Scratch::new(design.columns()), space: RowSpace::default(), dense: Vec::new() };
        Ok(Self { settings, family, design, fixed, members, rows: Vec::new(), observations: 0, work })
    }

    /// One row. On an error the model is as it was.
    pub(super) fn update(&mut self, row: Row<'_>, observed: Observation) -> Result<(), ModelError> {
        row.check(self.design.inputs)?;
        check_observation(&self.family, &observed)?;
        if !self.fixed {
            return self.warm_up(&[(row, observed)]);
        }
        if self.members.len() > 1 || self.settings.memory != Memory::Everything {
            let mut members = self.members.clone();
            learn(&mut members, &self.settings, &self.family, &self.design, row, &observed, &mut self.work)?;
            self.members = members;
        } else {
            learn(&mut self.members, &self.settings, &self.family, &self.design, row, &observed, &mut self.work)?;
        }
        self.keep(row, observed);
        Ok(())
    }

    /// Many rows, as if one by one. On an error the model is as it was before the first.
    pub(super) fn update_batch(&mut self, rows: Rows<'_>, observed: &[Observation]) -> Result<(), ModelError> {
        let rows = rows.checked(observed.len(), self.design.inputs)?;
        for (i, observed) in observed.iter().enumerate() {
            check_observation(&self.family, observed).map_err(|error| error.at_row(i))?;
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

    /// Many rows for every member, by blocks where that is cheaper. An error is told of its row and may leave members changed.
    fn learn_all(&mut self, members: &mut [Member<F::State>], rows: &[(Row<'_>, Observation)]) -> Result<(), Error> {
        let Self { settings, family, design, work, .. } = self;
        let blocks = members.iter().any(|member| member.belief.gains_by_blocks(rows.len()));
        if !blocks || settings.memory != Memory::Everything {
            return rows.iter().enumerate().try_for_each(|(i, (row, observed))| {
                learn(members, settings, family, design, *row, observed, work).map_err(|error| error.at_row(i))
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
                let mut tally = |t: usize, step: &StepInfo| {
                    account(family, state, evidence, &rules[t].0, &part[t].1, step.projection);
                };
                belief.run(&rules, x, &y, &mut tally).map_err(|error| error.shift_row(chunk * ROWS_AT_ONCE))?;
            }
        }
        Ok(())
    }

    fn warm_up_rows(&self) -> usize {
        match self.settings.standardise {
            Standardise::FirstRows { rows, .. } => rows,
            _ => 0,
        }
    }

    /// Rows that the scales are taken from: the model starts anew with all of them.
    fn warm_up(&mut self, more: &[(Row<'_>, Observation)]) -> Result<(), ModelError> {
        let Standardise::FirstRows { rows: needed, centre } = self.settings.standardise else {
            return Ok(());
        };
        let seen = self.rows.iter().map(|kept| (kept.row.as_row(), kept.observed));
        let all: Vec<(Row<'_>, Observation)> = seen.chain(more.iter().copied()).collect();
        let Design { inputs, intercept, .. } = self.design;
        let design = Design::of_rows(inputs, intercept, centre, all.iter().map(|(row, _)| *row));
        let mut members = bank(&self.settings, &self.family, design.columns())?;
        for (i, (row, observed)) in all.iter().enumerate() {
            learn(&mut members, &self.settings, &self.family, &design, *row, observed, &mut self.work)
                .map_err(|error| error.at_row(i))?;
        }
        self.rows.extend(more.iter().map(|(row, observed)| Kept { row: (*row).into(), observed: *observed }));
        self.observations += more.len() as u64;
        (self.members, self.design) = (members, design);
        self.fixed = self.rows.len() >= needed;
        if self.fixed && !self.settings.keep_rows {
            self.rows = Vec::new();
        }
        Ok(())
    }

    fn keep(&mut self, row: Row<'_>, observed: Observation) {
        self.observations += 1;
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

    /// `(xᵀμ, xᵀPx)` of the best member, the offset added.
    pub(super) fn project(&self, row: Row<'_>, offset: f64) -> Result<Projection, ModelError> {
        row.check(self.design.inputs)?;
        let mut space = RowSpace::default();
        let seen = self.best().belief.project(self.design.write(row, &mut space)?)?;
        Ok(Projection { mean: seen.mean + offset, variance: seen.variance })
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

    /// A draw of the weights of the best member's columns; `spread` multiplies the deviation from the mean.
    pub(super) fn draw<R: Rng + ?Sized>(&self, spread: f64, rng: &mut R) -> Result<(f64, Vec<f64>), ModelError> {
        let belief = &self.best().belief;
        let mut theta = vec![0.0; belief.dim()];
        belief.draw_deviation(&mut theta, rng)?;
        for (theta, mean) in theta.iter_mut().zip(belief.mean()) {
            *theta = mean + spread * *theta;
        }
        Ok(self.design.original_units(&theta))
    }

    /// Sweeps over the kept rows, for every member from its prior. Returns what was done for the best.
    pub(super) fn refine(&mut self, settings: RefineSettings) -> Result<RefineInfo, ModelError> {
        let OnlineSettings { keep_rows, belief, memory, .. } = self.settings;
        if !keep_rows || belief != BeliefKind::Full || memory != Memory::Everything {
            return Err(ModelError::NotKept);
        }
        let (x, y, likelihoods) = self.kept()?;
        let rules: Vec<_> = likelihoods.iter().map(Implicit).collect();
        let mut members = self.members.clone();
        let best = self.best().prior_scale;
        let mut best_info = None;
        for member in &mut members {
            let variances = prior_variances(&self.settings, member.prior_scale, self.design.columns());
            let AnyBelief::Full(prior) = AnyBelief::prior(BeliefKind::Full, &variances)? else { continue };
            let mut refinement = refine::first_pass(&prior, &PerRow(&rules), x.as_ref(), &y, Par::Seq)?;
            let rows = PerRow(&likelihoods);
            let info = refine::refine(&prior, &mut refinement, x.as_ref(), &y, &rows, settings, Par::Seq)?;
            member.belief = AnyBelief::Full(refinement.belief);
            if member.prior_scale == best {
                best_info = Some(info);
            }
        }
        let info = best_info.ok_or(ModelError::NotKept)?;
        self.members = members;
        Ok(info)
    }

    /// The kept rows as the model's columns (`n × p`), the labels, and each row's likelihood.
    #[allow(clippy::type_complexity, reason = "three columns of one table")]
    pub(super) fn kept(&self) -> Result<(Mat<f64>, Vec<f64>, Vec<RowLikelihood<F>>), Error> {
        let mut x = Mat::zeros(self.rows.len(), self.design.columns());
        let (mut y, mut likelihoods) = (Vec::new(), Vec::new());
        let mut space = RowSpace::default();
        for (i, Kept { row, observed }) in self.rows.iter().enumerate() {
            self.design.write(row.as_row(), &mut space)?.for_each(|j, value| x[(i, j)] = value);
            y.push(observed.label);
            likelihoods.push(row_likelihood(&self.family, observed)?);
        }
        Ok((x, y, likelihoods))
    }

    /// Brings in the posteriors of shards that started from the same settings.
    pub(super) fn merge(&mut self, others: &[&Self]) -> Result<(), ModelError> {
        for (k, other) in others.iter().enumerate() {
            self.check_merge(other).map_err(|what| ModelError::Unlike { shard: k, what })?;
        }
        let priors = bank(&self.settings, &self.family, self.design.columns())?;
        let mut members = Vec::with_capacity(self.members.len());
        for (m, prior) in priors.iter().enumerate() {
            let parts: Vec<&Member<F::State>> =
                std::iter::once(&self.members[m]).chain(others.iter().map(|other| &other.members[m])).collect();
            let beliefs: Vec<&AnyBelief> = parts.iter().map(|part| &part.belief).collect();
            let belief = AnyBelief::merge(&prior.belief, &beliefs)?;
            let spread = spread(&prior.belief, &beliefs, belief.mean())?;
            let states: Vec<&F::State> = parts.iter().map(|part| &part.state).collect();
            members.push(Member {
                prior_scale: prior.prior_scale,
                belief,
                state: self.family.merge(&states, spread),
                evidence: parts.iter().map(|part| part.evidence).sum(),
            });
        }
        self.members = members;
        for other in others {
            self.observations += other.observations;
            self.rows.extend(other.rows.iter().cloned());
        }
        Ok(())
    }

    fn check_merge(&self, other: &Self) -> Result<(), &'static str> {
        if self.settings != other.settings {
            Err("settings")
        } else if self.family != other.family {
            Err("family")
        } else if !(self.fixed && other.fixed) {
            Err("standardisation, which is not fixed yet")
        } else if self.design != other.design {
            Err("number of inputs or standardisation (merge needs Standardise::Fixed or Never)")
        } else if self.settings.memory != Memory::Everything {
            Err("past: what has been forgotten cannot be merged")
        } else {
            Ok(())
        }
    }

    pub(super) fn to_wire(&self) -> Result<EngineWire<F>, Error> {
        Ok(EngineWire {
            settings: self.settings.clone(),
            family: self.family.clone(),
            design: self.design.clone(),
            fixed: self.fixed,
            members: self
                .members
                .iter()
                .map(|member| Ok((member.belief.to_wire()?, member.state.clone(), member.evidence)))
                .collect::<Result<_, Error>>()?,
            rows: self.rows.clone(),
            observations: self.observations,
        })
    }

    pub(super) fn from_wire(wire: EngineWire<F>) -> Result<Self, ModelError> {
        let EngineWire { settings, family, design, fixed, members, rows, observations } = wire;
        settings.check(design.inputs)?;
        family.check()?;
        design.check()?;
        let scales = settings.prior_scale.candidates();
        crate::check::length("members", scales.len(), members.len())?;
        let members = members
            .into_iter()
            .zip(scales)
            .map(|((belief, state, evidence), &prior_scale)| {
                let belief = AnyBelief::from_wire(belief)?;
                crate::check::length("weights", design.columns(), belief.dim())?;
                if belief.kind() != settings.belief {
                    return Err(ModelError::Unlike { shard: 0, what: "kind of belief" });
                }
                family.check_state(&state)?;
                Ok(Member { prior_scale, belief, state, evidence })
            })
            .collect::<Result<Vec<_>, ModelError>>()?;
        for (i, kept) in rows.iter().enumerate() {
            let checked = kept.row.as_row().check(design.inputs);
            checked.and_then(|()| check_observation(&family, &kept.observed)).map_err(|error| error.at_row(i))?;
        }
        let work = Work { scratch: Scratch::new(design.columns()), space: RowSpace::default(), dense: Vec::new() };
        Ok(Self { settings, family, design, fixed, members, rows, observations, work })
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

/// Scores the row, then learns what is beside the weights.
fn account<F: Family>(
    family: &F,
    state: &mut F::State,
    evidence: &mut f64,
    likelihood: &RowLikelihood<F>,
    observed: &Observation,
    seen: Projection,
) {
    if observed.weight > 0.0 {
        let score = family.log_predictive(state, likelihood.likelihood(), observed.label, seen);
        *evidence += observed.weight * score;
    }
    family.learn(state, observed, seen);
}

fn prior_variances(settings: &OnlineSettings, prior_scale: f64, columns: usize) -> Vec<f64> {
    let mut variances = vec![prior_scale * prior_scale; columns];
    if let (true, Some(last)) = (settings.intercept, variances.last_mut()) {
        *last = settings.intercept_scale * settings.intercept_scale;
    }
    variances
}

/// One row for every member: forget, predict, learn. An error may leave members changed.
fn learn<F: Family>(
    members: &mut [Member<F::State>],
    settings: &OnlineSettings,
    family: &F,
    design: &Design,
    row: Row<'_>,
    observed: &Observation,
    work: &mut Work,
) -> Result<(), Error> {
    let Work { scratch, space, dense } = work;
    let row = design.write(row, space)?;
    let rule = Implicit(row_likelihood(family, observed)?);
    for member in members {
        match settings.memory {
            Memory::Everything => {}
            Memory::Fading(lambda) => member.belief.fade(lambda)?,
            Memory::TowardsPrior(lambda) => {
                let variances = prior_variances(settings, member.prior_scale, design.columns());
                let prior = AnyBelief::prior(settings.belief, &variances)?;
                member.belief.return_towards(&prior, lambda)?;
            }
        }
        family.forget(&mut member.state, settings.memory);
        let step = member.belief.step(&rule, row, observed.label, scratch, dense)?;
        account(family, &mut member.state, &mut member.evidence, &rule.0, observed, step.projection);
    }
    Ok(())
}

/// `Σ_k μ_kᵀΛ_kμ_k − μᵀΛμ = Σ_k (μ_k−μ)ᵀΛ_k(μ_k−μ) − (K−1)·μᵀΛ₀μ`, for `Λ = Λ₀ + Σ(Λ_k−Λ₀)`, `Λμ = ΣΛ_kμ_k`.
fn spread(prior: &AnyBelief, parts: &[&AnyBelief], mean: &[f64]) -> Result<f64, Error> {
    let mut total = -((parts.len() - 1) as f64) * prior.precision_form(mean)?;
    for part in parts {
        let deviation: Vec<f64> = part.mean().iter().zip(mean).map(|(a, b)| a - b).collect();
        total += part.precision_form(&deviation)?;
    }
    Ok(total)
}

/// The stored form.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "")]
pub(super) struct EngineWire<F: Family> {
    settings: OnlineSettings,
    family: F,
    design: Design,
    fixed: bool,
    members: Vec<(BeliefWire, F::State, f64)>,
    rows: Vec<Kept>,
    observations: u64,
}
