//! Passes over the file after the first, until the posterior is the best Gaussian there is.

use serde::{Deserialize, Serialize};
use vi_core::Stop;
use vi_core::batch::BatchSettings;
use vi_models::online::Memory;

use crate::TermsError;
use crate::table::document::Document;
use crate::table::learn::read_all;
use crate::table::plan::is_sparse;
use crate::table::source::Source;
use crate::table::target::TargetKind;

/// Convergence: a step moves the posterior by less than this many standard deviations, far below anything visible.
const TOLERANCE: f64 = 1e-4;

/// The result of the passes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Refined {
    /// Rows that had been learned.
    pub(crate) rows: u64,
    /// Passes over them, for each prior scale that was taken by itself.
    pub(crate) passes: usize,
    /// By how much the bound on the log evidence rose, in nats.
    pub(crate) gained: f64,
    /// Whether nothing is left to gain.
    pub(crate) converged: bool,
}

/// Checks that further passes over a table can be made for a model; `again` says whether the table can be read again.
///
/// # Errors
/// [`TermsError::Option`] with the obstacle and its remedy.
pub fn check(passes: u16, again: bool, document: &Document) -> Result<(), TermsError> {
    let refused =
        |what: &str| Err(TermsError::Option { option: "refine", value: passes.to_string(), what: what.to_owned() });
    if !again {
        return refused("a stream can be read only once: store it in a file first");
    }
    match &document.target.kind {
        TargetKind::Number => refused(
            "for a numeric target one pass is already exact (heavy tails, whose noise is learned row by row, take no others): leave the option out",
        ),
        _ if is_sparse(&document.model) => {
            refused("needs all correlations, and this many inputs have them only with `--belief full`")
        }
        // Such a model is refined when its rows are read again, whether or not that is asked for.
        _ if document.groups.is_some() && !document.to_reorder && document.refined.is_none() => {
            refused("needs the rows of this many groups again: leave out `--keep-order`")
        }
        _ if document.model.settings().memory != Memory::Everything => {
            refused("a model that forgets has no posterior of all rows: use `--forget nothing`")
        }
        _ => Ok(()),
    }
}

/// Makes at most `passes` passes over the last table of a model, which has learned it all; `open` reads it from its start. A model of groups is refined already.
///
/// # Errors
/// A table that is no longer what it was; a model that refuses the passes.
pub fn refine<S: Source>(
    document: &mut Document,
    mut open: impl FnMut() -> Result<S, S::Error>,
    passes: u16,
) -> Result<(), S::Error> {
    if document.groups.is_some() {
        return Ok(());
    }
    // The first pass looks where the posterior is; each one after tells whether the step before was one forward.
    let settings = BatchSettings { tolerance: TOLERANCE, max_passes: usize::from(passes) + 1 };
    let before = document.clone();
    let info = document.model.refine_over(&settings, |take| {
        // The inputs that the rows had when they were learned.
        let mut means = before.means.emptied();
        let mut source = open()?;
        let read = read_all(&before, &mut source, |reader, record, (row, label)| {
            let inputs = reader.row(&means, record, row)?;
            let taken = take(inputs, label.weight(record.weight));
            taken.map_err(|source| reader.refused(row, source))?;
            reader.tell(&mut means, record, label, None);
            Ok(true)
        })?;
        before.check_read(read).map_err(|error| source.refused(error))
    })?;
    document.refined = info.map(|info| Refined {
        rows: document.scores.rows,
        passes: info.passes,
        gained: info.bound() - info.bounds.first().copied().unwrap_or_default(),
        converged: info.stop == Stop::Converged,
    });
    Ok(())
}
