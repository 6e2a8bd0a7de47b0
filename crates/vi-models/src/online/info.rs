//! What a front-door model says of itself.

use super::engine::{Engine, Family};

/// The state of a model, for people.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct OnlineInfo {
    /// Rows learned from.
    pub observations: u64,
    /// Sum of log one-step predictive densities, in nats.
    pub evidence: f64,
    /// Each candidate prior scale and its own evidence.
    pub prior_scales: Vec<(f64, f64)>,
    /// The prior scale that answers now.
    pub prior_scale: f64,
    /// Inputs that showed a single value when scales were taken; they were centred but not scaled.
    pub constant_columns: Vec<usize>,
    /// Whether scales are still being taken from the first rows.
    pub warming_up: bool,
}

impl OnlineInfo {
    pub(super) fn of<F: Family>(engine: &Engine<F>) -> Self {
        Self {
            observations: engine.observations,
            evidence: engine.evidence(),
            prior_scales: engine.members.iter().map(|member| (member.prior_scale, member.evidence)).collect(),
            prior_scale: engine.best().prior_scale,
            constant_columns: engine.design.constant.clone(),
            warming_up: !engine.fixed,
        }
    }
}
