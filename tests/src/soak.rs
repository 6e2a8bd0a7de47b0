//! A learning process that is killed at random and goes on: nothing lost, nothing counted twice, the same bits as one that nobody
//! killed.
//!
//! [`work`] is the process: it takes rows of a [stream] that drifts, has outliers, bursts, collinear and quiet inputs, rare
//! labels and bad rows, teaches them to models of every belief and memory, and keeps its [state] in a file. The program `soak` kills
//! and restarts it, and compares what is left with a twin. [`updates`] does the like with processes that change one model file.

pub mod state;
pub mod stream;
pub mod updates;

use std::io;
use std::path::Path;

use state::{Learner, State};
use vi_models::Transform;
use vi_models::online::{BeliefKind, Kind, Memory, Model, Observation, OnlineSettings, PriorScale, Row, Standardise};

use crate::hostile::Finding;
use crate::hostile::models::{own, predicted};
use stream::{INPUTS, Stream};

/// Rows between two states on disk.
const ROWS_APART: u64 = 20;

/// Good rows refused in a row by which a model counts as stuck.
const STUCK: u64 = 200;

/// The models of a run: a name, a kind and settings for each.
#[must_use]
pub fn models() -> Vec<(String, Kind, OnlineSettings)> {
    let beliefs = [BeliefKind::Full, BeliefKind::SquareRoot, BeliefKind::LowRank { rank: 2 }, BeliefKind::Diagonal];
    let memories = [Memory::Everything, Memory::Fading(0.98), Memory::Learned];
    let noise = (1.0, 1.0);
    let kinds = [
        (Kind::Two, "logistic"),
        (Kind::Number { transform: Transform::Identity, noise }, "linear"),
        (Kind::Count, "counts"),
    ];
    let every = kinds.into_iter().flat_map(|kind| beliefs.map(|b| (kind, b)));
    // Kinds that differ from these in how they learn, with one belief each.
    let more = [
        ((Kind::Classes { classes: 3, joint: Some(true) }, "three classes"), BeliefKind::Full),
        ((Kind::LearnedSpread, "counts of learned spread"), BeliefKind::SquareRoot),
        ((Kind::Classes { classes: 3, joint: Some(false) }, "three classes apart"), BeliefKind::Diagonal),
    ];
    let mut models = Vec::new();
    for ((kind, name), belief) in every.chain(more) {
        for memory in memories {
            let settings = OnlineSettings {
                belief,
                memory,
                prior_scale: PriorScale::Among(vec![0.3, 3.0]),
                standardise: Standardise::FirstRows { rows: 20, centre: true },
                ..OnlineSettings::default()
            };
            models.push((format!("{name} {belief:?} {memory:?}"), kind, settings));
        }
    }
    models
}

/// Learns until `rows` rows have passed, or until `stop` says so after a state was written. With a folder, it starts from the
/// state in it and writes one every twenty rows.
///
/// # Errors
/// What reading or writing says; a [`Finding`] for a number that is not finite or a model that refuses all rows.
pub fn work(folder: Option<&Path>, seed: u64, rows: u64, stop: impl Fn() -> bool) -> Result<State, SoakError> {
    let mut state = match folder.map(State::read).transpose()?.flatten() {
        Some(state) => state,
        None => State::start(seed)?,
    };
    let mut learners = state.learners()?;
    let mut stream = Stream::new(state.seed);
    while state.passed < rows {
        let row = stream.row(state.passed);
        for (learner, model) in state.counts.iter_mut().zip(&mut learners) {
            learn(learner, model, &row)?;
        }
        state.passed += 1;
        if state.passed.is_multiple_of(ROWS_APART) || state.passed == rows {
            for (counts, model) in state.counts.iter().zip(&learners) {
                check(counts, model, state.passed)?;
            }
            state.keep(&learners)?;
            if let Some(folder) = folder {
                state.write(folder)?;
            }
            if stop() {
                break;
            }
        }
    }
    Ok(state)
}

fn learn(counts: &mut Learner, model: &mut Model, row: &stream::StreamRow) -> Result<(), Finding> {
    let observed = Observation::new(row.label(model));
    match model.update(Row::from(&row.x), observed) {
        Ok(()) => {
            counts.learned += 1;
            counts.refused_running = 0;
        }
        Err(error) => {
            counts.refused += 1;
            if row.is_good() {
                counts.refused_good += 1;
                counts.refused_running += 1;
            }
            if counts.refused_running >= STUCK {
                return Err(Finding::new(format!("{} refuses {STUCK} good rows running: {error}", counts.name)));
            }
        }
    }
    Ok(())
}

/// Every row was learned or refused, once, and every number is finite.
fn check(counts: &Learner, model: &Model, passed: u64) -> Result<(), Finding> {
    if counts.learned + counts.refused != passed || model.info().observations != counts.learned {
        let seen = model.info().observations;
        return Err(Finding::new(format!("{}: {passed} rows passed, {seen} in the model, {counts:?}", counts.name)));
    }
    let mut numbers = own(model);
    if let Ok(predicted) = predicted(model, Row::from(&vec![0.1; INPUTS]), Observation::new(0.0)) {
        numbers.extend(predicted);
    }
    match numbers.iter().find(|(_, value)| !value.is_finite()) {
        None => Ok(()),
        Some((name, value)) => Err(Finding::new(format!("{}: {name} is {value}", counts.name))),
    }
}

/// Why a run ended badly.
#[derive(Debug, thiserror::Error)]
pub enum SoakError {
    /// Something that must not be.
    #[error(transparent)]
    Finding(#[from] Finding),
    /// A state could not be read or written.
    #[error("the state of the run: {0}")]
    State(#[from] vi_core::Error),
    /// A model could not be stored or read.
    #[error("a model of the run: {0}")]
    Document(#[from] serde_json::Error),
    /// A model could not be made.
    #[error(transparent)]
    Model(#[from] vi_models::ModelError),
    /// A file could not be read or written.
    #[error("a file of the run: {0}")]
    Io(#[from] io::Error),
}
