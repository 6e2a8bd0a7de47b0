//! What the log spread is told: its settings and its inputs.

use super::LEVEL;
use crate::online::{OnlineSettings, PriorScale, Row, Standardise};

/// The settings of the log spread in a model of so many inputs with these.
pub(super) fn of_spread(settings: &OnlineSettings, inputs: usize) -> OnlineSettings {
    let own = OnlineSettings {
        prior_scale: PriorScale::Learned,
        intercept: true,
        intercept_scale: LEVEL,
        keep_sample: false,
        spread_inputs: None,
        ..settings.clone()
    };
    match &settings.spread_inputs {
        None => own,
        Some(chosen) => of_inputs(own, chosen, inputs),
    }
}

/// The settings of a model of these of `all` inputs.
fn of_inputs(settings: OnlineSettings, inputs: &[usize], all: usize) -> OnlineSettings {
    let chosen = |values: &[f64]| inputs.iter().filter_map(|at| values.get(*at).copied()).collect();
    let (mut first, mut blocks) = (0, Vec::new());
    for width in &settings.blocks {
        blocks.push(inputs.iter().filter(|at| (first..first + width).contains(at)).count());
        first += width;
    }
    blocks.retain(|width| *width > 0);
    OnlineSettings {
        as_they_are: inputs.iter().filter(|at| **at >= all.saturating_sub(settings.as_they_are)).count(),
        blocks,
        names: inputs.iter().filter_map(|at| settings.names.get(*at).cloned()).collect(),
        standardise: match settings.standardise {
            Standardise::Fixed { centres, scales } => {
                Standardise::Fixed { centres: chosen(&centres), scales: chosen(&scales) }
            }
            other => other,
        },
        ..settings
    }
}

/// The entries of a row at these places, in increasing order.
pub(super) fn chosen<'a>(row: Row<'_>, inputs: &[usize], space: &'a mut Vec<f64>) -> Row<'a> {
    space.clear();
    space.resize(inputs.len(), 0.0);
    row.for_each(|j, value| {
        if let Ok(at) = inputs.binary_search(&j) {
            space[at] = value;
        }
    });
    Row::Dense(space)
}
