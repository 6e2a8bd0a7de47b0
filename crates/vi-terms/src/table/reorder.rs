//! Rows that come in an order, as in a file that is sorted by its target: learned again in a random order.
//!
//! One pass in a random order loses next to nothing, needs no more of a model than one pass does, and its evidence is that of the
//! data and not of their order.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{Builder, Scope, ScopedJoinHandle};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use vi_models::online::{Model, Observation, Order};

use crate::TermsError;
use crate::table::document::Document;
use crate::table::grouped::Groups;
use crate::table::learn::{read_all, reading, scored};
use crate::table::means::Means;
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
    label: Observation,
}

/// The parts of a document that a pass in a random order makes anew.
struct Shuffled {
    model: Model,
    means: Means,
    scores: Scores,
    /// Records that were read, and their fingerprint.
    read: (u64, u64),
}

/// The progress of a pass in a random order.
enum At {
    /// The number of rows that are held in memory.
    Held(usize),
    /// The share of these rows that has been learned.
    Learned(f64),
}

/// Learns the rows of the last table, the only one that the model has learned, again and in a random order, if its labels, or those of a level of many, come in runs; or if it has groups and is
/// not exact: it then keeps the rows until it is refined by them, if these are not too many. `bytes` is the size of
/// its file, `open` reads it from its start, `beside` may have learned it meanwhile, and `each` is called with the share of the rows that has been learned.
///
/// # Errors
/// A table that is no longer what it was; a row that the model refuses, unless such are skipped; the errors of `each`.
pub fn reorder<S: Source, O>(
    document: &mut Document,
    bytes: f64,
    mut open: impl FnMut() -> Result<S, S::Error>,
    beside: Beside<'_, '_, O>,
    mut each: impl FnMut(f64) -> Result<(), S::Error>,
) -> Result<(), S::Error> {
    let (runs, settles) = (document.runs(), document.settles());
    if runs.is_none() && !settles {
        document.to_reorder = false;
        return Ok(());
    }
    let meanwhile = beside.ended(&mut each)?.filter(|own| document.check_read(own.read).is_ok());
    let shuffled = if let Some(own) = meanwhile {
        own
    } else {
        let parts = (document.held(bytes, document.scores.rows as f64) / BYTES).ceil().max(1.0);
        let each = |at| if let At::Learned(share) = at { each(share).map(|()| true) } else { Ok(true) };
        let Some(own) = shuffled(document, (parts, true), &mut open, each)? else { return Ok(()) };
        own
    };
    let Shuffled { mut model, means, scores, .. } = shuffled;
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

/// Learns the rows of the last table of `document` from nothing and in a random order, held in memory one of `parts` after another. `document` may have learned a part of
/// the table only, and stays as it is. None if `go_on` answers no.
///
/// # Errors
/// A table that has changed since a first pass that `is_whole`; a row that the model refuses, unless such are skipped; the errors of `go_on`.
fn shuffled<S: Source>(
    document: &Document,
    (parts, is_whole): (f64, bool),
    mut open: impl FnMut() -> Result<S, S::Error>,
    mut go_on: impl FnMut(At) -> Result<bool, S::Error>,
) -> Result<Option<Shuffled>, S::Error> {
    let skip_bad = document.passes.last().is_some_and(|pass| pass.input.skip_bad);
    let mut model = match &document.model {
        Model::Grouped(model) if document.settles() => Model::Grouped(Box::new(model.keeping_rows()?)),
        model => model.emptied()?,
    };
    let mut means = document.means.emptied();
    let mut groups = document.groups.clone();
    let (mut scores, kinds) = (Scores::default(), scored(&document.target));
    let (mut part, mut read) = (0.0, (0, 0));
    while part < parts {
        let (mut turns, mut waiting) = (ChaCha8Rng::seed_from_u64(SEED), Vec::new());
        let mut source = open()?;
        let mut stopped = Ok(false);
        read = read_all(document, &mut source, |_, record, (row, label)| {
            let turn = turns.next_u64();
            if (turn as f64 / 2.0_f64.powi(64) * parts).floor().min(parts - 1.0) == part {
                waiting.push(Waiting { turn, record: record.clone(), row, label });
            }
            stopped = go_on(At::Held(waiting.len())).map(|go_on| !go_on);
            Ok(matches!(stopped, Ok(false)))
        })?;
        if stopped? {
            return Ok(None);
        }
        if is_whole {
            document.check_read(read).map_err(|error| source.refused(error))?;
        }
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
            if !go_on(At::Learned(done as f64 / all))? {
                return Ok(None);
            }
        }
        part += 1.0;
    }
    Ok(Some(Shuffled { model, means, scores, read }))
}

/// A second thread that learns a table in a random order while the first pass goes on: it begins as soon as labels have come in runs. The model is the same to the bit.
pub struct Beside<'scope, 'env, O> {
    scope: &'scope Scope<'scope, 'env>,
    open: &'env O,
    bytes: f64,
    /// The row from which on labels are looked at next; none where there is one thread.
    next: Option<u64>,
    begun: Option<Begun<'scope>>,
    /// Whether the thread has to end early: its result is not needed.
    stop: Arc<AtomicBool>,
}

/// The shares of the rows that the thread has learned, and its result.
type Begun<'scope> = (Receiver<f64>, ScopedJoinHandle<'scope, Option<Shuffled>>);

/// Rows that tell whether labels come in runs.
const FIRST_LOOK: u64 = 256;

impl<O> Drop for Beside<'_, '_, O> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl<'scope, 'env, O> Beside<'scope, 'env, O> {
    /// A thread of `scope` that has not begun; it never does if `threads`, the number of threads of the machine, is 1. `open` reads the table from its start, `bytes` is the size of its
    /// file, or 0 in memory.
    pub fn new(scope: &'scope Scope<'scope, 'env>, open: &'env O, bytes: f64, threads: usize) -> Self {
        let next = (threads > 1).then_some(FIRST_LOOK);
        Self { scope, open, bytes, next, begun: None, stop: Arc::default() }
    }

    /// Begins if the labels that `document` has learned so far, all of this table, come in runs.
    pub fn look<S: Source>(&mut self, document: &Document)
    where
        O: Fn() -> Result<S, S::Error> + Sync + 'env,
    {
        let Some(next) = self.next.filter(|next| document.row() >= *next && document.passes.len() == 1) else { return };
        if document.groups.is_some() || document.held(self.bytes, 0.0) > BYTES {
            self.next = None;
        } else if document.runs().is_some() {
            self.next = None;
            let (own, open, bytes, stop) = (document.clone(), self.open, self.bytes, Arc::clone(&self.stop));
            let (tell, told) = channel();
            let learn = move || {
                let go_on = |at| {
                    let within = match at {
                        At::Held(rows) => own.held(bytes, rows as f64) <= BYTES,
                        At::Learned(share) => tell.send(share).is_ok(),
                    };
                    Ok(within && !stop.load(Ordering::Relaxed))
                };
                shuffled(&own, (1.0, false), open, go_on).ok().flatten()
            };
            // Without a thread of the system the rows are learned after the first pass.
            self.begun = Builder::new().spawn_scoped(self.scope, learn).ok().map(|thread| (told, thread));
        } else {
            self.next = Some(2 * next);
        }
    }

    /// The result of the thread, if it has begun and has not failed.
    ///
    /// # Errors
    /// Those of `each`, which sees the shares of the rows that have been learned.
    fn ended<E>(mut self, mut each: impl FnMut(f64) -> Result<(), E>) -> Result<Option<Shuffled>, E> {
        let Some((told, thread)) = self.begun.take() else { return Ok(None) };
        told.into_iter().try_for_each(&mut each)?;
        Ok(thread.join().ok().flatten())
    }
}

impl Document {
    /// The bytes in memory of `rows` rows, and of the file's `bytes`.
    fn held(&self, bytes: f64, rows: f64) -> f64 {
        if is_sparse(&self.model) {
            UNPACKED * bytes
        } else {
            bytes + (OF_ROW + OF_FIELD * self.schema.columns.len() as f64) * rows
        }
    }

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
