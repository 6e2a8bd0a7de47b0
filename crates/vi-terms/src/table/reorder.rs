//! Rows that come in an order, as in a file that is sorted by its target: learned again in a random order.
//!
//! One pass in a random order loses next to nothing, needs no more of a model than one pass does, and its evidence is that of the
//! data and not of their order.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use vi_core::Row;
use vi_models::ModelError;
use vi_models::online::{Model, Order};

use crate::table::document::Document;
use crate::table::learn::{again, classes, taken};
use crate::table::plan::is_sparse;
use crate::table::scores::Scores;
use crate::table::source::Source;

/// Bytes of rows that are held at once; for more the file is read several times, each time for a part of the random order.
const BYTES: f64 = 512e6;
/// Bytes in memory for one in a file of entries, which may be compressed.
const UNPACKED: f64 = 8.0;
/// Where the random order comes from.
const SEED: u64 = 1;

/// That the rows were learned again, and what for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reordered {
    /// By how many standard deviations more labels were like the one before than in a random order.
    pub(crate) runs: f64,
    /// Each row predicted before it was learned, in the random order.
    pub(crate) scores: Scores,
}

/// A row that waits for its turn.
struct Waiting {
    turn: u64,
    positions: Option<Vec<usize>>,
    values: Vec<f64>,
    label: f64,
    weight: f64,
}

impl Waiting {
    fn new(turn: u64, row: Row<'_>, label: f64, weight: f64) -> Self {
        let (positions, values) = match row {
            Row::Dense(values) => (None, values.to_vec()),
            Row::Sparse { positions, values } => (Some(positions.to_vec()), values.to_vec()),
        };
        Self { turn, positions, values, label, weight }
    }

    fn learn(&self, model: &mut Model, scores: &mut Scores, classes: usize) -> Result<(), ModelError> {
        let values = &self.values;
        let row = self.positions.as_ref().map_or(Row::Dense(values), |positions| Row::Sparse { positions, values });
        let (predicted, log_density) = taken(model, row, (self.label, self.weight))?;
        scores.add((predicted.as_ref(), log_density), self.label, classes)
    }
}

/// Learns the rows of the last table, the only one that the model has learned, again and in a random order, if its labels come in runs. `bytes` is the size of
/// its file, `open` reads it from its start, and `each` is called after every row with the share of the rows that has been learned.
///
/// # Errors
/// A table that is no longer what it was; a row that the model refuses, unless such are skipped; the errors of `each`.
pub fn reorder<S: Source>(
    document: &mut Document,
    bytes: f64,
    mut open: impl FnMut() -> Result<S, S::Error>,
    mut each: impl FnMut(f64) -> Result<(), S::Error>,
) -> Result<(), S::Error> {
    let Some(order) = document.model.info().order.filter(Order::is_in_runs) else { return Ok(()) };
    let skip_bad = document.passes.last().is_some_and(|pass| pass.input.skip_bad);
    let bytes = if is_sparse(&document.model) {
        UNPACKED * bytes
    } else {
        8.0 * document.scores.rows as f64 * document.schema.width() as f64
    };
    let parts = (bytes / BYTES).ceil().max(1.0);
    let mut model = document.model.emptied()?;
    let (mut scores, kinds) = (Scores::default(), classes(&document.target));
    let mut part = 0.0;
    while part < parts {
        let (mut turns, mut waiting) = (ChaCha8Rng::seed_from_u64(SEED), Vec::new());
        again(document, &mut open()?, |row, label, weight| {
            let turn = turns.next_u64();
            if (turn as f64 / 2.0_f64.powi(64) * parts).floor().min(parts - 1.0) == part {
                waiting.push(Waiting::new(turn, row, label, weight));
            }
            Ok(())
        })?;
        waiting.sort_by_key(|row| row.turn);
        let all = waiting.len().max(1) as f64;
        for (done, row) in waiting.iter().enumerate() {
            // A row that is refused here alone is left out where such rows are.
            row.learn(&mut model, &mut scores, kinds).or_else(|error| if skip_bad { Ok(()) } else { Err(error) })?;
            each(done as f64 / all)?;
        }
        part += 1.0;
    }
    document.model = model;
    document.reordered = Some(Reordered { runs: order.runs, scores });
    Ok(())
}
