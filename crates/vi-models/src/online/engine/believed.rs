//! The posterior of one number in the caller's units, for a model of one predictor: of a row's predictor, a weight, a
//! combination.

use vi_core::{Belief, Error, GaussianBelief, Projection};

use super::family::{Family, RowStep};
use super::place::shares;
use super::scalar::{Levels, ScalarFamily};
use super::steps::{StepSpace, StepsSeen, ones_of};
use super::{Engine, Member};
use crate::marginal::Marginal;
use crate::online::belief::{AnyBelief, AnyStep};
use crate::online::design::RowSpace;
use crate::online::row::check_row;
use crate::online::target::Target;
use crate::online::{Coefficient, Observation, Row};
use crate::{ModelError, check};

impl<F: ScalarFamily> Engine<F> {
    /// `(weight, xᵀμ + offset, xᵀPx)` of each member, the weights summing to 1.
    pub(in crate::online) fn project(&self, row: Row<'_>, offset: f64) -> Result<Vec<(f64, Projection)>, ModelError> {
        check_row(row, self.design.inputs).map_err(|error| self.named(error))?;
        check_offset(offset)?;
        let mut space = RowSpace::default();
        self.seen_along(self.design.write(row, &mut space)?, offset)
    }

    fn seen_along(&self, row: Row<'_>, offset: f64) -> Result<Vec<(f64, Projection)>, ModelError> {
        let see = |(weight, member): (f64, &Member<_>)| {
            let seen = member.seen(row, self.family.noise_variance(&member.state))?;
            Ok((weight, shifted(seen, offset)?))
        };
        self.weights().into_iter().zip(&self.members).map(see).collect()
    }

    /// [`project`](Self::project) with the state of each member.
    pub(in crate::online) fn parts(&self, row: Row<'_>, offset: f64) -> Result<Parts<F::State>, ModelError> {
        let seen = self.project(row, offset)?;
        Ok(seen.into_iter().zip(&self.members).map(|((share, seen), of)| (share, seen, of.state.clone())).collect())
    }

    /// [`parts`](Self::parts), and then learns the row: one product with the covariance serves both. The parts are an error of their own
    /// where they cannot be computed though the row was learned.
    pub(in crate::online) fn parts_and_update(
        &mut self,
        row: Row<'_>,
        offset: f64,
        observed: Observation,
    ) -> Result<Result<Parts<F::State>, ModelError>, ModelError> {
        if !self.fixed {
            let parts = self.parts(row, offset);
            return self.update(row, observed).map(|()| parts);
        }
        let family = self.family.clone();
        let mut parts = Ok(Vec::new());
        self.update_telling(row, observed, false, |members, steps| {
            let part = |share: f64, member: &Member<F::State>, RowStep { seen, belief, .. }: &RowStep| {
                let seen = member.averaged(seen[0], belief.gain(), family.noise_variance(&member.state))?;
                Ok((share, shifted(seen, offset)?, member.state.clone()))
            };
            let all = shares(members).into_iter().zip(members).zip(steps);
            parts = all.map(|((share, member), step)| part(share, member, &step.row)).collect();
        })?;
        Ok(parts)
    }

    /// [`project`](Self::project) without an offset, for [`update_seen`](Self::update_seen) to go on from.
    pub(in crate::online) fn project_next(&mut self, row: Row<'_>) -> Result<Vec<(f64, Projection)>, ModelError> {
        if !self.fixed {
            return self.project(row, 0.0);
        }
        check_row(row, self.design.inputs).map_err(|error| self.named(error))?;
        let weights = self.weights();
        let Self { members, family, design, work, .. } = self;
        let (row, steps) = work.begin(row, design, members.len())?;
        let mut all = Vec::with_capacity(steps.len());
        for ((weight, member), step) in weights.into_iter().zip(members.iter()).zip(steps) {
            let RowStep { belief, seen, .. } = &mut step.row;
            seen.clear();
            seen.push(member.belief.project(row, 1.0, belief)?);
            all.push((weight, member.averaged(seen[0], belief.gain(), family.noise_variance(&member.state))?));
        }
        Ok(all)
    }

    /// Learns the row that [`project_next`](Self::project_next) saw in the call before: one product with the covariance serves both.
    pub(in crate::online) fn update_seen(&mut self, row: Row<'_>, observed: Observation) -> Result<(), ModelError> {
        self.update_telling(row, observed, true, |_, _| ())
    }

    /// The posterior of a number in the units of the labels, from what each member says of it.
    pub(in crate::online) fn marginal(&self, seen: &[(f64, Projection)]) -> Result<Marginal, ModelError> {
        let parts: Vec<_> =
            seen.iter().zip(&self.members).map(|((weight, seen), member)| (*weight, *seen, &member.state)).collect();
        self.family.marginal(&parts)
    }

    /// The posterior of the weight of input `j`, in the caller's units.
    pub(in crate::online) fn weight(&self, j: usize) -> Result<Marginal, ModelError> {
        let inputs = self.design.inputs;
        if j >= inputs {
            return Err(Error::Index { argument: "inputs", index: j, len: inputs }.into());
        }
        self.combination(Row::Sparse { positions: &[j], values: &[1.0] })
    }

    /// The posterior of `cᵀw`, in the caller's units.
    pub(in crate::online) fn combination(&self, c: Row<'_>) -> Result<Marginal, ModelError> {
        check_row(c, self.design.inputs)?;
        let (mut positions, mut values) = (Vec::new(), Vec::new());
        c.for_each(|j, value| {
            positions.push(j);
            values.push(self.design.scaled(j, value));
        });
        check::results("coefficient in the model's units", values.iter().copied())?;
        let seen = self.seen_along(Row::Sparse { positions: &positions, values: &values }, 0.0)?;
        self.marginal(&seen)?.in_units(0.0, self.design.target.scale)
    }

    /// The posterior of the predictor of each step at all inputs 0, as the family [tells](ScalarFamily::levels) it: the cut points of classes, the
    /// logarithms of hazards; empty where the family has no such steps.
    pub(in crate::online) fn levels(&self) -> Result<Vec<Coefficient>, ModelError> {
        let Some(Levels { names, sign, shift }) = self.family.levels() else { return Ok(Vec::new()) };
        let (mut space, mut step) = (RowSpace::default(), StepSpace::default());
        let row = self.design.write(Row::Dense(&vec![0.0; self.design.inputs]), &mut space)?;
        let mut level = |(k, name): (usize, String)| {
            let ones = ones_of(&self.family, self.design.columns(), k);
            let seen = self.seen_along(step.write(row, ones), 0.0)?;
            let told = |(weight, Projection { mean, variance }): (f64, Projection)| {
                (weight, Projection { mean: sign * mean + shift, variance })
            };
            let belief = Marginal::of_gaussians(&seen.into_iter().map(told).collect::<Vec<_>>());
            Ok(Coefficient { name, belief })
        };
        names.into_iter().enumerate().map(&mut level).collect()
    }

    /// The predictors of the first `steps` steps of a row, jointly, for each member with its share of the answers.
    pub(in crate::online) fn steps_at(
        &self,
        row: Row<'_>,
        offset: f64,
        steps: usize,
    ) -> Result<Vec<(f64, StepsSeen)>, ModelError> {
        if self.family.has_one_predictor() {
            let seen = self.project(row, offset)?.into_iter();
            return Ok(seen.map(|(weight, seen)| (weight, StepsSeen::of_one(seen))).collect());
        }
        check_row(row, self.design.inputs).map_err(|error| self.named(error))?;
        check_offset(offset)?;
        let mut space = RowSpace::default();
        let row = self.design.write(row, &mut space)?;
        let mut spaces: Vec<StepSpace> = Vec::with_capacity(steps);
        spaces.resize_with(steps, StepSpace::default);
        let ones = (0..steps).map(|k| ones_of(&self.family, self.design.columns(), k));
        let rows: Vec<Row<'_>> = spaces.iter_mut().zip(ones).map(|(space, ones)| space.write(row, ones)).collect();
        let parts = self.weights().into_iter().zip(&self.members).map(|(weight, member)| {
            let seen = member.belief.scores(&rows)?;
            let means: Vec<f64> = seen.means().iter().map(|mean| mean + offset).collect();
            check::results("the linear predictor, offset included", means.iter().copied())?;
            let covariance = (0..steps).map(|j| (0..steps).map(|k| seen.covariance(j, k)).collect()).collect();
            Ok((weight, StepsSeen { means, covariance }))
        });
        parts.collect()
    }

    /// The posterior of each weight in the caller's units, the intercept first, or what the family tells of its steps.
    pub(in crate::online) fn coefficients(&self) -> Result<Vec<Coefficient>, ModelError> {
        let mut found = self.levels()?;
        if found.is_empty() && self.design.intercept {
            found.push(Coefficient { name: "intercept".into(), belief: self.intercept()? });
        }
        for j in 0..self.design.inputs {
            found.push(Coefficient { name: self.name(j), belief: self.weight(j)? });
        }
        Ok(found)
    }

    /// The posterior of the predictor at all inputs 0.
    pub(in crate::online) fn intercept(&self) -> Result<Marginal, ModelError> {
        self.predictor(Row::Dense(&vec![0.0; self.design.inputs]), 0.0)
    }

    /// `Cov(w_j, w_k)`, in the caller's units: `¼Var(w_j + w_k) − ¼Var(w_j − w_k)`.
    pub(in crate::online) fn covariance(&self, j: usize, k: usize) -> Result<f64, ModelError> {
        let (own, _) = (self.weight(j)?.variance(), self.weight(k)?);
        if j == k {
            return Ok(own);
        }
        let positions = [j.min(k), j.max(k)];
        let variance = |sign: f64| -> Result<f64, ModelError> {
            Ok(self.combination(Row::Sparse { positions: &positions, values: &[1.0, sign] })?.variance())
        };
        let value = 0.25 * variance(1.0)? - 0.25 * variance(-1.0)?;
        if value.is_finite() {
            Ok(value)
        } else {
            Err(Error::Overflow { quantity: "covariance of two weights", value }.into())
        }
    }

    /// The covariances of the weights with the predictor of `row`, averaged over the members.
    pub(in crate::online) fn gains(&self, row: Row<'_>) -> Result<Gains, ModelError> {
        check_row(row, self.design.inputs).map_err(|error| self.named(error))?;
        let (mut space, mut step) = (RowSpace::default(), AnyStep::default());
        let row = self.design.write(row, &mut space)?;
        let mut gain = vec![0.0; self.design.columns()];
        let (mut variance, mut noise) = (0.0, 0.0);
        for (share, member) in self.weights().into_iter().zip(&self.members) {
            if !matches!(member.belief, AnyBelief::Full(_) | AnyBelief::SquareRoot(_)) {
                return Err(ModelError::Unsupported { what: "robust error of a weight but of a full covariance" });
            }
            let share = share * self.family.noise_variance(&member.state);
            noise += share;
            variance += share * member.belief.project(row, 1.0, &mut step)?.variance;
            gain.iter_mut().zip(step.gain()).for_each(|(sum, own)| *sum += share * own);
        }
        let Target { centre, scale, .. } = self.design.target;
        let (intercept, inputs) = self.design.original_units(&gain);
        let own = self.design.intercept.then_some(intercept - centre);
        let weights = own.into_iter().chain(inputs).map(|gain| scale * gain).collect();
        Ok(Gains { weights, variance: scale * scale * variance, noise: scale * scale * noise })
    }

    /// The posterior of `offset + intercept + xᵀw`, in the caller's units.
    pub(in crate::online) fn predictor(&self, row: Row<'_>, offset: f64) -> Result<Marginal, ModelError> {
        check_offset(offset)?;
        let Target { centre, scale, .. } = self.design.target;
        let levels = self.members.iter().map(|member| self.family.level(&member.state));
        let seen = self.project(row, 0.0)?.into_iter().zip(levels);
        let seen: Vec<(f64, Projection)> = seen.map(|((weight, seen), level)| (weight, beside(seen, level))).collect();
        let origin = offset + centre;
        if let Some(value) = seen.iter().map(|(_, seen)| origin + scale * seen.mean).find(|mean| !mean.is_finite()) {
            return Err(Error::Overflow { quantity: "the linear predictor, offset included", value }.into());
        }
        self.marginal(&seen)?.in_units(origin, scale)
    }
}

/// The covariances of the weights with the predictor of a row, its variance and that of the noise, in the caller's units.
pub(in crate::online) struct Gains {
    /// The covariance of each weight with the predictor, the intercept first.
    pub(in crate::online) weights: Vec<f64>,
    /// The variance of the predictor.
    pub(in crate::online) variance: f64,
    /// The variance of the noise, where that is learned.
    pub(in crate::online) noise: f64,
}

/// What the members say of a row: the share of each, its projection, its state.
pub(in crate::online) type Parts<S> = Vec<(f64, Projection, S)>;

/// The sum of two independent numbers.
pub(in crate::online) fn beside(one: Projection, other: Projection) -> Projection {
    Projection { mean: one.mean + other.mean, variance: one.variance + other.variance }
}

/// A projection with the offset added.
///
/// # Errors
/// `Overflow`.
fn shifted(seen: Projection, offset: f64) -> Result<Projection, ModelError> {
    let mean = seen.mean + offset;
    if mean.is_finite() {
        Ok(Projection { mean, ..seen })
    } else {
        Err(Error::Overflow { quantity: "the linear predictor, offset included", value: mean }.into())
    }
}

pub(in crate::online) fn check_offset(offset: f64) -> Result<(), Error> {
    if offset.is_finite() {
        Ok(())
    } else {
        Err(Error::Setting { name: "offset", value: offset, requirement: "finite" })
    }
}
