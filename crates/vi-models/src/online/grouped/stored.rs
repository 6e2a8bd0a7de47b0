//! Storing a grouped model as a document, and reading it.

use serde::{Deserialize, Serialize};
use vi_core::checkpoint::{ArrowWire, GroupedWire, Seal};
use vi_core::{Arrow, Belief, Checkpoint, Error, Grouped};
use vi_linalg::faer::Mat;

use super::columns::Columns;
use super::engine::{Engine, Kept, Node, Priors};
use super::sample::Sample;
use super::settings::GroupedSettings;
use crate::online::OnlineSettings;
use crate::online::engine::ScalarFamily;
use crate::{ModelError, check};

/// The stored form.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "", deny_unknown_fields)]
pub(super) struct EngineWire<F: ScalarFamily> {
    seal: Seal,
    settings: GroupedSettings,
    family: F,
    columns: Columns,
    fixed: bool,
    belief: GroupedWire,
    state: F::State,
    phi: Vec<f64>,
    log_weight: f64,
    nodes: Vec<NodeWire<F::State>>,
    /// By columns.
    curvature: Vec<f64>,
    rows: Vec<Kept>,
    sample: Sample,
    observations: u64,
    next: u64,
    evidence: f64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct NodeWire<S> {
    phi: Vec<f64>,
    arrow: ArrowWire,
    state: S,
    log_weight: f64,
}

impl<F: ScalarFamily> Engine<F> {
    pub(super) fn to_wire(&self) -> Result<EngineWire<F>, Error> {
        let r = self.phi.len();
        let mut wire = EngineWire {
            seal: Seal::default(),
            settings: self.settings.clone(),
            family: self.family.clone(),
            columns: self.columns.clone(),
            fixed: self.fixed,
            belief: self.belief.to_wire()?,
            state: self.state.clone(),
            phi: self.phi.clone(),
            log_weight: self.log_weight,
            nodes: self
                .nodes
                .iter()
                .map(|node| {
                    let Node { phi, arrow, state, log_weight } = node;
                    let (phi, state, arrow) = (phi.clone(), state.clone(), arrow.to_wire()?);
                    Ok(NodeWire { phi, arrow, state, log_weight: *log_weight })
                })
                .collect::<Result<_, Error>>()?,
            curvature: (0..r * r).map(|at| self.curvature[(at % r, at / r)]).collect(),
            rows: self.rows.clone(),
            sample: self.sample.clone(),
            observations: self.observations,
            next: self.next,
            evidence: self.evidence,
        };
        wire.seal = Seal::of(&wire)?;
        Ok(wire)
    }

    pub(super) fn from_wire(
        mut wire: EngineWire<F>,
        priors: impl Fn(&GroupedSettings) -> Priors,
    ) -> Result<Self, ModelError> {
        std::mem::take(&mut wire.seal).check(&wire)?;
        let inputs = wire.columns.design.inputs;
        let priors = priors(&wire.settings);
        let mut engine = Self::new(inputs, wire.family, priors, wire.settings)?;
        let settings = OnlineSettings {
            intercept: engine.settings.intercept,
            standardise: engine.settings.standardise.clone(),
            ..OnlineSettings::default()
        };
        wire.columns.design.check(&settings, engine.family.label_target(), wire.observations > 0)?;
        let unlike = |what| Err(ModelError::Document { what });
        if wire.columns.effects != engine.settings.effects {
            return unlike("effects and their settings");
        }
        let kept = if !wire.fixed || engine.settings.keep_rows { wire.observations } else { 0 };
        if wire.rows.len() as u64 != kept || (!wire.fixed && wire.rows.len() >= engine.first_rows()) {
            return unlike("number of kept rows");
        }
        if !wire.fixed && !wire.sample.rows.is_empty() {
            return unlike("sample of groups");
        }
        for (i, kept) in wire.rows.iter().chain(&wire.sample.rows).enumerate() {
            engine.check(vi_core::Row::Dense(&kept.row), &kept.observed).map_err(|error| match error {
                ModelError::Core(error) => error.at_row(i).into(),
                error => error,
            })?;
            check::finite("sites", &[kept.site.0, kept.site.1])?;
        }
        let r = engine.phi.len();
        let check_phi =
            |phi: &[f64]| check::length("components", r, phi.len()).and_then(|()| check::finite("components", phi));
        check_phi(&wire.phi)?;
        check::length("curvature of the components", r * r, wire.curvature.len())?;
        check::finite("curvature of the components", &wire.curvature)?;
        check::finite("evidence", &[wire.evidence, wire.log_weight])?;
        let dim = wire.columns.design.columns();
        let belief = Grouped::from_wire(wire.belief)?;
        check::length("weights", dim, belief.dim())?;
        check::length("effects", engine.settings.effects.count(), belief.effects_dim())?;
        engine.family.check_state(&wire.state)?;
        engine.nodes.clear();
        for NodeWire { phi, arrow, state, log_weight } in wire.nodes {
            check_phi(&phi)?;
            check::finite("share of a node", &[log_weight])?;
            engine.family.check_state(&state)?;
            let arrow = Arrow::from_wire(arrow)?;
            check::length("weights", dim, arrow.common().dim())?;
            check::length("effects", belief.effects_dim(), arrow.root().nrows())?;
            engine.nodes.push(Node { phi, arrow, state, log_weight });
        }
        engine.columns = wire.columns;
        engine.fixed = wire.fixed;
        engine.belief = belief;
        engine.state = wire.state;
        engine.phi = wire.phi;
        engine.log_weight = wire.log_weight;
        engine.curvature = Mat::from_fn(r, r, |i, j| wire.curvature[j * r + i]);
        engine.rows = wire.rows;
        engine.sample = wire.sample.counted();
        engine.observations = wire.observations;
        engine.next = wire.next;
        engine.evidence = wire.evidence;
        Ok(engine)
    }
}
