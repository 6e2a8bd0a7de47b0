//! Random operations on a random front-door model.

use vi_models::ModelError;
use vi_models::online::{
    BeliefKind, Memory, Model, Observation, OnlineSettings, PriorScale, RefineSettings, Row, Rows, Standardise, Start,
};

use super::models::{Numbers, drawn, label, own, predicted};
use super::{Bytes, Finding, MODELS, ensure};

/// Operations of one run.
const MOST: usize = 48;

/// Settings of any kind for `d` inputs.
pub fn settings(bytes: &mut Bytes<'_>, d: usize) -> OnlineSettings {
    let belief = match bytes.below(4) {
        0 => BeliefKind::Full,
        1 => BeliefKind::SquareRoot,
        2 => BeliefKind::LowRank { rank: bytes.below(3) },
        _ => BeliefKind::Diagonal,
    };
    let prior_scale = match bytes.below(4) {
        0 => PriorScale::Given(1.0),
        1 => PriorScale::Among(vec![0.2, 2.0]),
        2 => PriorScale::Given(bytes.number()),
        _ => PriorScale::Learned,
    };
    let memory = match bytes.below(6) {
        0 => Memory::Fading(0.9),
        1 => Memory::Learned,
        2 => Memory::Fading(bytes.number()),
        _ => Memory::Everything,
    };
    let standardise = match bytes.below(3) {
        0 => Standardise::Never,
        1 => Standardise::FirstRows { rows: 2 + bytes.below(3), centre: bytes.below(2) == 0 },
        _ => Standardise::Fixed {
            centres: (0..d).map(|_| bytes.tame()).collect(),
            scales: (0..d).map(|_| bytes.number()).collect(),
        },
    };
    OnlineSettings {
        belief,
        prior_scale,
        memory,
        standardise,
        intercept: bytes.below(4) > 0,
        keep_rows: bytes.below(3) == 0,
        start: if bytes.below(2) == 0 { Start::Fitted } else { Start::OnePass },
        ..OnlineSettings::default()
    }
}

/// Does what `data` says with a model that `data` describes. After each error its document is what it was before; after each
/// success it can be stored and read to the same document, and all numbers that it tells are finite.
///
/// # Errors
/// The first of these that does not hold.
pub fn operations(data: &[u8]) -> Result<(), Finding> {
    let mut bytes = Bytes::new(data);
    let ((_, kind), d) = (MODELS[bytes.below(MODELS.len())], 1 + bytes.below(4));
    let settings = settings(&mut bytes, d);
    let Ok(mut model) = Model::new(kind, d, settings) else { return Ok(()) };
    let fresh = model.clone();
    let mut before = stored(&model, "a new model")?;
    for _ in 0..MOST {
        if bytes.is_empty() {
            break;
        }
        let (name, done) = one(&mut model, &fresh, d, &mut bytes)?;
        match done {
            Ok(()) => {
                before = stored(&model, name)?;
                let again = serde_json::from_str(&before).map_err(|error| {
                    Finding::new(format!("after {name}, its document is refused: {error}: {before}"))
                })?;
                ensure(stored(&again, name)? == before, || format!("after {name}, a document reads as another model"))?;
                finite(name, &own(&model))?;
            }
            Err(error) => {
                let after = stored(&model, name)?;
                ensure(after == before, || format!("{name} changed the model and failed: {error}"))?;
            }
        }
    }
    Ok(())
}

/// One operation: its name and answer.
fn one(
    model: &mut Model,
    fresh: &Model,
    d: usize,
    bytes: &mut Bytes<'_>,
) -> Result<(&'static str, Result<(), ModelError>), Finding> {
    Ok(match bytes.below(10) {
        0..=2 => {
            let (row, observed) = (row(d, bytes), observed(model, bytes));
            ("update", model.update(Row::from(&row), observed))
        }
        3 => {
            let (position, value) = (bytes.below(d + 1), bytes.number());
            let observed = observed(model, bytes);
            ("update by a sparse row", model.update(Row::from((&[position], &[value])), observed))
        }
        4 | 5 => {
            let n = 1 + bytes.below(8);
            let rows: Vec<f64> = (0..n).flat_map(|_| row(d, bytes)).collect();
            let labels: Vec<Observation> = (0..n).map(|_| observed(model, bytes)).collect();
            ("update_batch", model.update_batch(Rows::from(rows.as_slice()), &labels))
        }
        6 => {
            let (row, at, offset) = (row(d, bytes), observed(model, bytes), bytes.tame());
            for at in [at, Observation::new(0.0).offset(offset), Observation::new(0.0)] {
                if let Ok(numbers) = predicted(model, Row::from(&row), at) {
                    finite("predict", &numbers)?;
                }
            }
            ("predict", Ok(()))
        }
        7 => {
            if let Ok(numbers) = drawn(model, u64::from(bytes.byte())) {
                finite("a draw", &numbers)?;
            }
            ("a draw", Ok(()))
        }
        8 => {
            let settings = RefineSettings { tolerance: 1e-6, max_sweeps: 2, ..RefineSettings::default() };
            ("refine", model.refine(&settings).map(drop))
        }
        _ => {
            let mut other = fresh.clone();
            for _ in 0..bytes.below(4) {
                let (row, observed) = (row(d, bytes), observed(model, bytes));
                // What is refused leaves the shard as it is.
                let _answer = other.update(Row::from(&row), observed);
            }
            ("merge", model.merge(&[&other]))
        }
    })
}

/// A row, mostly of ordinary numbers.
fn row(d: usize, bytes: &mut Bytes<'_>) -> Vec<f64> {
    let wild = bytes.below(4) == 0;
    (0..d).map(|_| if wild { bytes.number() } else { bytes.tame() }).collect()
}

/// What is observed, mostly possible.
fn observed(model: &Model, bytes: &mut Bytes<'_>) -> Observation {
    match bytes.below(8) {
        0 => Observation::new(bytes.number()).offset(bytes.number()).weight(bytes.number()),
        1 => Observation::new(label(model, bytes.tame())).offset(bytes.tame()).weight(bytes.tame().abs()),
        2 if matches!(model, Model::Trials(_)) => Observation::new(1.0).trials(bytes.number()),
        2 => Observation::new(label(model, bytes.number())).exposure(bytes.number()),
        _ => Observation::new(label(model, bytes.tame())),
    }
}

fn stored(model: &Model, after: &str) -> Result<String, Finding> {
    serde_json::to_string(model)
        .map_err(|error| Finding::new(format!("after {after}, the model cannot be stored: {error}")))
}

fn finite(after: &str, numbers: &Numbers) -> Result<(), Finding> {
    match numbers.iter().find(|(_, value)| !value.is_finite()) {
        None => Ok(()),
        Some((name, value)) => Err(Finding::new(format!("after {after}, {name} is {value}"))),
    }
}
