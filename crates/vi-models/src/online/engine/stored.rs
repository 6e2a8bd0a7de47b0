//! A model as a document, and back.

use serde::{Deserialize, Serialize};
use vi_core::checkpoint::Seal;
use vi_core::{Belief, Error};

use super::family::Family;
use super::learn::Work;
use super::place::{bank, moves};
use super::start::start_rows;
use super::{Engine, Kept, Member, check_size};
use crate::ModelError;
use crate::online::OnlineSettings;
use crate::online::belief::{AnyBelief, BeliefWire};
use crate::online::design::Design;
use crate::online::row::check_row;
use crate::online::target::Target;

/// The stored form.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "", deny_unknown_fields)]
pub(in crate::online) struct EngineWire<F: Family> {
    seal: Seal,
    settings: OnlineSettings,
    family: F,
    design: Design,
    fixed: bool,
    members: Vec<MemberWire<F::State>>,
    base: f64,
    next_place: u64,
    rows: Vec<Kept>,
    observations: u64,
    refined: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct MemberWire<S> {
    prior_scale: f64,
    belief: BeliefWire,
    state: S,
    evidence: f64,
    log_mass: f64,
}

impl<F: Family> Engine<F> {
    pub(in crate::online) fn to_wire(&self) -> Result<EngineWire<F>, Error> {
        if self.mixed {
            return Err(Error::Unsupported { operation: "storing", belief: "mixture that a model answers from" });
        }
        let mut wire = EngineWire {
            seal: Seal::default(),
            settings: self.settings.clone(),
            family: self.family.clone(),
            design: self.design.clone(),
            fixed: self.fixed,
            members: self
                .members
                .iter()
                .map(|member| {
                    Ok(MemberWire {
                        prior_scale: member.prior_scale,
                        belief: member.belief.to_wire()?,
                        state: member.state.clone(),
                        evidence: member.evidence,
                        log_mass: member.log_mass,
                    })
                })
                .collect::<Result<_, Error>>()?,
            base: self.base,
            next_place: self.next_place,
            rows: self.rows.clone(),
            observations: self.observations,
            refined: self.refined,
        };
        wire.seal = Seal::of(&wire)?;
        Ok(wire)
    }

    pub(in crate::online) fn from_wire(mut wire: EngineWire<F>) -> Result<Self, ModelError> {
        std::mem::take(&mut wire.seal).check(&wire)?;
        let (observations, refined) = (wire.observations, wire.refined);
        let EngineWire { settings, family, design, fixed, members, base, next_place, rows, .. } = wire;
        let weights = check_size(design.inputs, &family, &settings)?;
        settings.check(design.inputs)?;
        family.check(&settings)?;
        design.check(&settings, observations > 0)?;
        if !family.standardises_labels() && design.target != Target::default() {
            return Err(ModelError::Unlike { shard: 0, what: "scale of the labels, which this family has not" });
        }
        check_rows(&settings, weights, fixed, rows.len(), observations, refined)?;
        check_scales(&settings, &bank_scales(&settings, &family)?, &members)?;
        finite("base of the evidence", base)?;
        let members = members
            .into_iter()
            .map(|MemberWire { prior_scale, belief, state, evidence, log_mass }| {
                let belief = AnyBelief::from_wire(belief)?;
                crate::check::length("weights", weights, belief.dim())?;
                if !belief.is(settings.belief) {
                    return Err(ModelError::Unlike { shard: 0, what: "kind of belief" });
                }
                family.check_state(&state)?;
                finite("evidence", evidence)?;
                finite("mass of a prior scale", log_mass)?;
                Ok(Member { prior_scale, belief, state, evidence, log_mass })
            })
            .collect::<Result<Vec<_>, ModelError>>()?;
        for (i, kept) in rows.iter().enumerate() {
            let checked = check_row(kept.row.as_row(), design.inputs);
            checked.and_then(|()| family.check_observation(&kept.observed)).map_err(|error| error.at_row(i))?;
        }
        let work = Work::default();
        Ok(Self {
            settings,
            family,
            design,
            fixed,
            members,
            base,
            next_place,
            rows,
            observations,
            refined,
            diagnosis: None,
            refused: 0,
            mixed: false,
            work,
        })
    }
}

fn bank_scales<F: Family>(settings: &OnlineSettings, family: &F) -> Result<Vec<f64>, Error> {
    Ok(bank(settings, family, 1)?.iter().map(|member| member.prior_scale).collect())
}

/// Checks that the members stand at scales that the settings lead to.
fn check_scales<S>(settings: &OnlineSettings, first: &[f64], members: &[MemberWire<S>]) -> Result<(), ModelError> {
    let unlike = Err(ModelError::Unlike { shard: 0, what: "prior scales and their settings" });
    if members.is_empty() || members.len() > first.len() || (!moves(settings) && members.len() < first.len()) {
        return unlike;
    }
    let mut before = 0.0;
    for (member, first) in members.iter().zip(first) {
        let scale = member.prior_scale;
        super::super::settings::check_scale("prior scale", scale)?;
        if (moves(settings) && scale <= before) || (!moves(settings) && scale != *first) {
            return unlike;
        }
        before = scale;
    }
    Ok(())
}

fn finite(argument: &'static str, value: f64) -> Result<(), Error> {
    if value.is_finite() { Ok(()) } else { Err(Error::NonFinite { argument, index: 0, value }) }
}

/// Checks that so many rows are kept as the settings keep after so many observations.
fn check_rows(
    settings: &OnlineSettings,
    weights: usize,
    fixed: bool,
    rows: usize,
    observations: u64,
    refined: u64,
) -> Result<(), ModelError> {
    let open = rows < start_rows(settings, weights);
    let kept = if !fixed || settings.keep_rows { observations } else { 0 };
    if (!fixed && !open) || rows as u64 != kept || refined > observations {
        return Err(ModelError::Unlike { shard: 0, what: "number of kept rows" });
    }
    Ok(())
}
