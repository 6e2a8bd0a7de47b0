//! A model as a document, and back.

use serde::{Deserialize, Serialize};
use vi_core::Error;

use super::family::Family;
use super::learn::Work;
use super::{Engine, Kept, Member, check_size};
use crate::ModelError;
use crate::online::belief::{AnyBelief, BeliefWire};
use crate::online::design::Design;
use crate::online::target::Target;
use crate::online::{OnlineSettings, Standardise};

/// The stored form.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "")]
pub(in crate::online) struct EngineWire<F: Family> {
    settings: OnlineSettings,
    family: F,
    design: Design,
    fixed: bool,
    members: Vec<(BeliefWire, F::State, f64)>,
    rows: Vec<Kept>,
    observations: u64,
    refined: u64,
}

impl<F: Family> Engine<F> {
    pub(in crate::online) fn to_wire(&self) -> Result<EngineWire<F>, Error> {
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
            refined: self.refined,
        })
    }

    pub(in crate::online) fn from_wire(wire: EngineWire<F>) -> Result<Self, ModelError> {
        let EngineWire { settings, family, design, fixed, members, rows, observations, refined } = wire;
        let weights = check_size(design.inputs, &family, &settings)?;
        settings.check(design.inputs)?;
        family.check(&settings)?;
        design.check(&settings, observations > 0)?;
        if !family.standardises_labels() && design.target != Target::default() {
            return Err(ModelError::Unlike { shard: 0, what: "scale of the labels, which this family has not" });
        }
        check_rows(&settings, fixed, rows.len(), observations, refined)?;
        let scales = settings.prior_scale.candidates();
        crate::check::length("members", scales.len(), members.len())?;
        let members = members
            .into_iter()
            .zip(scales)
            .map(|((belief, state, evidence), &prior_scale)| {
                let belief = AnyBelief::from_wire(belief)?;
                crate::check::length("weights", weights, belief.dim())?;
                if !belief.is(settings.belief) {
                    return Err(ModelError::Unlike { shard: 0, what: "kind of belief" });
                }
                family.check_state(&state)?;
                if evidence.is_nan() {
                    return Err(Error::NonFinite { argument: "evidence", index: 0, value: evidence }.into());
                }
                Ok(Member { prior_scale, belief, state, evidence })
            })
            .collect::<Result<Vec<_>, ModelError>>()?;
        for (i, kept) in rows.iter().enumerate() {
            let checked = kept.row.as_row().check(design.inputs);
            checked.and_then(|()| family.check_observation(&kept.observed)).map_err(|error| error.at_row(i))?;
        }
        let work = Work::new(design.columns());
        Ok(Self { settings, family, design, fixed, members, rows, observations, refined, diagnosis: None, work })
    }
}

/// Checks that so many rows are kept as the settings keep after so many observations.
fn check_rows(
    settings: &OnlineSettings,
    fixed: bool,
    rows: usize,
    observations: u64,
    refined: u64,
) -> Result<(), ModelError> {
    let open = match settings.standardise {
        Standardise::FirstRows { rows: needed, .. } => rows < needed,
        _ => false,
    };
    let kept = if !fixed || settings.keep_rows { observations } else { 0 };
    if (!fixed && !open) || rows as u64 != kept || refined > observations {
        return Err(ModelError::Unlike { shard: 0, what: "number of kept rows" });
    }
    Ok(())
}
