//! Families that see a row only through `t = offset + xᵀθ`.

use std::cell::Cell;
use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use vi_core::filter::StepInfo;
use vi_core::{Error, GaussianExpectation, Likelihood, Projection, Site, SiteRule, Weighted};
use vi_linalg::faer::MatRef;

use super::family::{Family, RowWork};
use super::learn::prior_variances;
use super::one_pass::OnePass;
use super::{Engine, Member};
use crate::ModelError;
use crate::likelihood::Offset;
use crate::online::belief::{AnyBelief, DesignRow};
use crate::online::design::RowSpace;
use crate::online::observation::Size;
use crate::online::{Memory, Observation, OnlineSettings, Row};

/// The likelihood of one row.
pub(super) type RowLikelihood<F> = Weighted<Offset<<F as ScalarFamily>::Likelihood>>;

/// A likelihood of one label given one number.
pub trait ScalarFamily: Clone + Debug + PartialEq + Serialize + DeserializeOwned {
    /// What is learned beside the weights: the noise of a linear model.
    type State: Clone + Debug + Serialize + DeserializeOwned;

    /// `p(y|t)`.
    type Likelihood: GaussianExpectation + Clone + Debug;

    /// What a row brings beside label, offset and weight.
    const SIZE: Size = Size::None;

    /// Whether one pass takes the moments of the tilted density and not the implicit step.
    const MATCHES_MOMENTS: bool = false;

    /// Whether labels are numbers in some unit, which the first rows may tell.
    const STANDARDISES_LABELS: bool = false;

    /// The state before any row.
    fn initial(&self) -> Self::State;

    /// Checks the family's own settings.
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

    /// Checks, before anything is learned, that what is beside the weights can take the observation.
    ///
    /// # Errors
    /// What it is that does not fit.
    fn check_step(&self, _observed: &Observation, _seen: Projection) -> Result<(), Error> {
        Ok(())
    }

    /// Learns what is beside the weights.
    fn learn(&self, _state: &mut Self::State, _observed: &Observation, _seen: Projection) {}

    /// Forgets what is beside the weights.
    fn forget(&self, _state: &mut Self::State, _memory: Memory) {}

    /// Brings the states of shards together; see [`Family::merge`].
    fn merge(&self, _states: &[&Self::State], _spread: f64) -> Self::State {
        self.initial()
    }
}

/// The likelihood of a row, offset and weight included.
///
/// # Errors
/// What is wrong with size, offset or weight.
pub(super) fn row_likelihood<F: ScalarFamily>(family: &F, observed: &Observation) -> Result<RowLikelihood<F>, Error> {
    Weighted::new(Offset::new(family.likelihood(observed.size(F::SIZE)?)?, observed.offset)?, observed.weight)
}

impl<F: ScalarFamily> Family for F {
    type State = <F as ScalarFamily>::State;

    fn initial(&self) -> Self::State {
        ScalarFamily::initial(self)
    }

    fn check(&self, _settings: &OnlineSettings) -> Result<(), ModelError> {
        Ok(ScalarFamily::check(self)?)
    }

    fn check_state(&self, state: &Self::State) -> Result<(), Error> {
        ScalarFamily::check_state(self, state)
    }

    fn standardises_labels(&self) -> bool {
        F::STANDARDISES_LABELS
    }

    fn check_observation(&self, observed: &Observation) -> Result<(), Error> {
        row_likelihood(self, observed)?.check_label(observed.label)
    }

    fn prior(&self, settings: &OnlineSettings, prior_scale: f64, columns: usize) -> Result<AnyBelief, Error> {
        AnyBelief::prior(settings.belief, &prior_variances(settings, prior_scale, columns))
    }

    fn learn_row(
        &self,
        member: &mut Member<Self::State>,
        row: DesignRow<'_>,
        observed: &Observation,
        RowWork { scratch, dense }: &mut RowWork,
    ) -> Result<(), Error> {
        let rule = OnePass::of::<F>(row_likelihood(self, observed)?);
        let scored = Scored { rule: &rule, family: self, state: &member.state, observed, score: Cell::new(0.0) };
        let step = member.belief.step(&scored, row, observed.label, scratch, dense)?;
        member.evidence += scored.score.get();
        self.learn(&mut member.state, observed, step.projection);
        Ok(())
    }

    fn takes_blocks(&self, member: &Member<Self::State>, rows: usize) -> bool {
        member.belief.gains_by_blocks(rows)
    }

    fn learn_block(
        &self,
        Member { belief, state, evidence, .. }: &mut Member<Self::State>,
        x: MatRef<'_, f64>,
        observed: &[Observation],
    ) -> Result<(), Error> {
        let (mut y, mut rules) = (Vec::with_capacity(observed.len()), Vec::with_capacity(observed.len()));
        for (i, observed) in observed.iter().enumerate() {
            y.push(observed.label);
            rules.push(OnePass::of::<F>(row_likelihood(self, observed).map_err(|error| error.at_row(i))?));
        }
        let mut failed = None;
        belief.run(&rules, x, &y, |t: usize, step: &StepInfo| {
            match score(self, state, rules[t].likelihood(), &observed[t], step.projection) {
                Ok(score) => {
                    *evidence += score;
                    self.learn(state, &observed[t], step.projection);
                }
                Err(error) => failed = failed.take().or(Some(error.at_row(t))),
            }
        })?;
        failed.map_or(Ok(()), Err)
    }

    fn forget(&self, state: &mut Self::State, memory: Memory) {
        ScalarFamily::forget(self, state, memory);
    }

    fn merge(&self, states: &[&Self::State], spread: f64) -> Self::State {
        ScalarFamily::merge(self, states, spread)
    }
}

impl<F: ScalarFamily> Engine<F> {
    /// `(xᵀμ, xᵀPx)` of the best member, the offset added.
    pub(in crate::online) fn project(&self, row: Row<'_>, offset: f64) -> Result<Projection, ModelError> {
        row.check(self.design.inputs)?;
        check_offset(offset)?;
        let mut space = RowSpace::default();
        let seen = self.best().belief.project(self.design.write(row, &mut space)?)?;
        let mean = seen.mean + offset;
        if !mean.is_finite() {
            return Err(Error::Overflow { quantity: "the linear predictor, offset included", value: mean }.into());
        }
        Ok(Projection { mean, variance: seen.variance })
    }
}

pub(in crate::online) fn check_offset(offset: f64) -> Result<(), Error> {
    if offset.is_finite() {
        Ok(())
    } else {
        Err(Error::Setting { name: "offset", value: offset, requirement: "finite" })
    }
}

/// `weight·log p(y | earlier rows)`.
///
/// # Errors
/// What the family finds; `NonFinite` for a density that is not a number.
fn score<F: ScalarFamily>(
    family: &F,
    state: &<F as ScalarFamily>::State,
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
        // A quadrature that failed says how.
        likelihood.tilted(observed.label, seen.mean, seen.variance)?;
        return Err(Error::NonFinite { argument: "log predictive density", index: 0, value: score });
    }
    Ok(score)
}

/// The rule of a row, which scores the row when it is asked for the site: an error then comes before anything has changed.
struct Scored<'a, F: ScalarFamily> {
    rule: &'a OnePass<RowLikelihood<F>>,
    family: &'a F,
    state: &'a <F as ScalarFamily>::State,
    observed: &'a Observation,
    score: Cell<f64>,
}

impl<F: ScalarFamily> SiteRule for Scored<'_, F> {
    fn check_label(&self, label: f64) -> Result<(), Error> {
        self.rule.check_label(label)
    }

    fn site(&self, a: f64, nu: f64, y: f64) -> Result<Site, Error> {
        let seen = Projection { mean: a, variance: nu };
        self.score.set(score(self.family, self.state, self.rule.likelihood(), self.observed, seen)?);
        self.rule.site(a, nu, y)
    }
}
