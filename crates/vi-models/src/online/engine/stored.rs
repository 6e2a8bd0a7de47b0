//! Storing a model as a document, and reading it.

use serde::{Deserialize, Serialize};
use vi_core::checkpoint::Seal;
use vi_core::{Belief, Error};

use super::drift::{Drift, LAMBDAS};
use super::family::Family;
use super::learn::Work;
use super::narrow::Around;
use super::order::OrderSeen;
use super::place::{first_scales, moves, takes_one};
use super::start::most_start_rows;
use super::{Engine, Fallbacks, Kept, Member, check_size};
use crate::ModelError;
use crate::online::belief::{AnyBelief, BeliefWire};
use crate::online::design::Design;
use crate::online::row::check_row;
use crate::online::target::Target;
use crate::online::{Memory, OnlineSettings, PriorScale};

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
    drift: Drift,
    next_place: u64,
    rows: Vec<Kept>,
    observations: u64,
    refined: u64,
    /// Not written where it is 1.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    runs: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    order: Option<OrderSeen>,
}

fn one() -> u64 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_one(runs: &u64) -> bool {
    *runs == 1
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct MemberWire<S> {
    prior_scale: f64,
    /// Not written where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    around: Vec<(f64, f64)>,
    lambda: f64,
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
                        around: member.around.nodes.clone(),
                        lambda: member.lambda,
                        belief: member.belief.to_wire()?,
                        state: member.state.clone(),
                        evidence: member.evidence,
                        log_mass: member.log_mass,
                    })
                })
                .collect::<Result<_, Error>>()?,
            base: self.base,
            drift: self.drift.clone(),
            next_place: self.next_place,
            rows: self.rows.clone(),
            observations: self.observations,
            refined: self.refined,
            runs: self.runs,
            order: self.order.clone(),
        };
        wire.seal = Seal::of(&wire)?;
        Ok(wire)
    }

    pub(in crate::online) fn from_wire(mut wire: EngineWire<F>) -> Result<Self, ModelError> {
        std::mem::take(&mut wire.seal).check(&wire)?;
        let (observations, refined, runs) = (wire.observations, wire.refined, wire.runs);
        let EngineWire { settings, family, design, fixed, members, base, drift, next_place, rows, order, .. } = wire;
        let weights = check_size(design.inputs, &family, &settings)?;
        settings.check(design.inputs)?;
        family.check(&settings)?;
        design.check(&settings, family.target(), observations > 0)?;
        if !family.standardises_labels() && design.target != Target::default() {
            return Err(ModelError::Document { what: "scale of the labels, which this family has not" });
        }
        if family.cuts() != design.cuts {
            return Err(ModelError::Document { what: "number of cut points" });
        }
        if family.target().transform != design.target.transform {
            return Err(ModelError::Document { what: "transform of the labels" });
        }
        check_rows((&settings, &family), design.columns(), fixed, rows.len(), observations, refined)?;
        let first = first_scales(&settings, &family)?;
        let first: Vec<f64> = first.into_iter().map(|(scale, _)| scale).collect();
        check_members(&settings, fixed, &first, &members)?;
        drift.check(observations)?;
        let alone = members.len() == 1 && takes_one(&settings, &family);
        finite("base of the evidence", base)?;
        if runs == 0 || runs > observations.max(1) {
            return Err(ModelError::Document { what: "number of merged runs" });
        }
        let members = members
            .into_iter()
            .map(|MemberWire { prior_scale, around, lambda, belief, state, evidence, log_mass }| {
                let belief = AnyBelief::from_wire(belief)?;
                crate::check::length("weights", weights, belief.dim())?;
                if !belief.is(settings.belief) {
                    return Err(ModelError::Document { what: "kind of belief" });
                }
                family.check_state(&state)?;
                finite("evidence", evidence)?;
                finite("mass of a prior scale", log_mass)?;
                if !(around.is_empty() || alone) {
                    return Err(ModelError::Document { what: "nodes about one of several prior scales" });
                }
                let around = Around { nodes: around, scaled: design.inputs };
                around.check()?;
                Ok(Member { prior_scale, around, lambda, belief, state, evidence, log_mass })
            })
            .collect::<Result<Vec<_>, ModelError>>()?;
        for (i, kept) in rows.iter().enumerate() {
            let checked = check_row(kept.row.as_row(), design.inputs);
            checked.and_then(|()| family.check_observation(&kept.observed)).map_err(|error| error.at_row(i))?;
        }
        if let Some(order) = &order {
            order.check(&settings, &family, design.inputs)?;
        }
        let work = Work::default();
        Ok(Self {
            settings,
            family,
            design,
            fixed,
            members,
            base,
            drift,
            next_place,
            rows,
            observations,
            order,
            runs,
            refined,
            diagnosis: None,
            refused: 0,
            fallbacks: Fallbacks::default(),
            mixed: false,
            work,
        })
    }
}

/// Checks that the members' memories and prior scales are ones that the settings lead to.
fn check_members<S>(
    settings: &OnlineSettings,
    fixed: bool,
    first: &[f64],
    members: &[MemberWire<S>],
) -> Result<(), ModelError> {
    let unlike = Err(ModelError::Document { what: "memories and their settings" });
    if settings.memory == Memory::Learned && fixed {
        if !members.iter().map(|member| member.lambda).eq(LAMBDAS) {
            return unlike;
        }
        let scale = members[0].prior_scale;
        super::super::settings::check_scale("prior scale", scale)?;
        let known = settings.prior_scale == PriorScale::Learned || first.contains(&scale);
        return if known && members.iter().all(|member| member.prior_scale == scale) { Ok(()) } else { unlike };
    }
    if members.iter().any(|member| member.lambda != settings.memory.lambda()) {
        return unlike;
    }
    check_scales(settings, first, members)
}

/// Checks that the members' prior scales are ones that the settings lead to.
fn check_scales<S>(settings: &OnlineSettings, first: &[f64], members: &[MemberWire<S>]) -> Result<(), ModelError> {
    let unlike = Err(ModelError::Document { what: "prior scales and their settings" });
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

/// Checks that the number of kept rows is the one that the settings keep after so many observations.
fn check_rows<F: Family>(
    (settings, family): (&OnlineSettings, &F),
    columns: usize,
    fixed: bool,
    rows: usize,
    observations: u64,
    refined: u64,
) -> Result<(), ModelError> {
    let open = rows < most_start_rows(settings, family, columns);
    let kept = if !fixed || settings.keep_rows { observations } else { 0 };
    if (!fixed && !open) || rows as u64 != kept || refined > observations {
        return Err(ModelError::Document { what: "number of kept rows" });
    }
    Ok(())
}
