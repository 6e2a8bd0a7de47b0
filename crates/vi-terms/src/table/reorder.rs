//! Rows that come in an order, as in a file that is sorted by its target: learned again in a random order.
//!
//! One pass in a random order loses next to nothing, needs no more of a model than one pass does, and its evidence is that of the
//! data and not of their order.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use vi_models::online::{Model, Order};

use crate::TermsError;
use crate::table::document::Document;
use crate::table::grouped::Groups;
use crate::table::learn::{again, reading, scored};
use crate::table::plan::is_sparse;
use crate::table::refine::Refined;
use crate::table::scores::Scores;
use crate::table::source::{Record, Source};
use crate::table::target::TargetKind;

/// Bytes of rows that are held at once; for more the file is read several times, each time for a part of the random order.
const BYTES: f64 = 512e6;
/// Bytes that a row takes beside its text, and each of its fields.
const OF_ROW: f64 = 150.0;
const OF_FIELD: f64 = 8.0;
/// Bytes that a kept row of a model of groups takes beside its inputs.
const OF_KEPT: f64 = 250.0;
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

/// The state of a document that [awaits its order](Document::awaits_order), in words.
pub(crate) const AWAITS_ORDER: &str = "labels come in runs, and the rows were not learned again in random order";

/// A row that waits for its turn.
struct Waiting {
    turn: u64,
    record: Record,
    row: u64,
    label: f64,
}

/// Learns the rows of the last table, the only one that the model has learned, again and in a random order, if its labels, or those of a level of many, come in runs; or if it has groups and is
/// not exact: it then keeps the rows until it is refined by them, if these are not too many. `bytes` is the size of
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
    let (runs, settles) = (document.runs(), document.settles());
    if runs.is_none() && !settles {
        document.to_reorder = false;
        return Ok(());
    }
    let skip_bad = document.passes.last().is_some_and(|pass| pass.input.skip_bad);
    let bytes = if is_sparse(&document.model) {
        UNPACKED * bytes
    } else {
        bytes + (OF_ROW + OF_FIELD * document.schema.columns.len() as f64) * document.scores.rows as f64
    };
    let parts = (bytes / BYTES).ceil().max(1.0);
    let mut model = match &document.model {
        Model::Grouped(model) if settles => Model::Grouped(Box::new(model.keeping_rows()?)),
        model => model.emptied()?,
    };
    let mut means = document.means.emptied();
    let mut groups = document.groups.clone();
    let (mut scores, kinds) = (Scores::default(), scored(&document.target));
    let mut part = 0.0;
    while part < parts {
        let (mut turns, mut waiting) = (ChaCha8Rng::seed_from_u64(SEED), Vec::new());
        let mut source = open()?;
        again(document, &mut source, |_, record, (row, label)| {
            let turn = turns.next_u64();
            if (turn as f64 / 2.0_f64.powi(64) * parts).floor().min(parts - 1.0) == part {
                waiting.push(Waiting { turn, record: record.clone(), row, label });
            }
            Ok(())
        })?;
        waiting.sort_by_key(|own| own.turn);
        let (mut reader, _) = reading(&document.schema, document, &source)?;
        let all = waiting.len().max(1) as f64;
        for (done, Waiting { record, row, label, .. }) in waiting.iter().enumerate() {
            let learned = (|| {
                let (seen, log_density) =
                    reader.learn((&mut model, &mut means, &mut groups), record, (*row, *label))?;
                let refused = |source| TermsError::Row { row: *row, source };
                scores.add((seen.as_ref(), log_density), *label, kinds).map_err(refused)
            })();
            // A row that is refused here alone is left out where such rows are.
            learned.or_else(|error| if skip_bad { Ok(()) } else { Err(source.refused(error)) })?;
            each(done as f64 / all)?;
        }
        part += 1.0;
    }
    if let Model::Grouped(model) = &mut model {
        let rows = document.scores.rows;
        let settled = |(passes, gained, converged)| Refined { rows, passes, gained, converged };
        document.refined = model.settle().map(settled);
    }
    document.means = means;
    document.model = model;
    document.reordered = runs.map(|runs| Reordered { runs, scores });
    document.to_reorder = false;
    Ok(())
}

impl Document {
    /// By how many standard deviations more labels, or those of a level of many, were like the one before than in a random order, if they come in runs;
    /// or more rows were of the group of the row before, where such an order misleads the model.
    fn runs(&self) -> Option<f64> {
        let runs = self.model.info().order.filter(Order::is_in_runs).map(|order| order.runs);
        let exact = self.target.kind == TargetKind::Number;
        let of_groups = || self.groups.as_ref().filter(|_| !exact).and_then(Groups::in_order);
        runs.or_else(of_groups).or_else(|| self.means.in_order())
    }

    /// Whether the rows are few enough to be kept until a model of groups that is not exact is refined by them.
    fn settles(&self) -> bool {
        let row = (OF_KEPT + OF_FIELD * self.schema.width() as f64) * self.scores.rows as f64;
        self.groups.is_some() && self.target.kind != TargetKind::Number && row < BYTES
    }

    /// Whether labels come in runs and the rows should have been learned again in a random order, but were not.
    pub(crate) fn awaits_order(&self) -> bool {
        self.to_reorder && self.runs().is_some()
    }
}
