//! Passes over the file after the first, until the posterior is the best Gaussian there is.

use std::fs;

use serde::{Deserialize, Serialize};
use vi_core::Stop;
use vi_core::batch::BatchSettings;
use vi_models::online::Observation;

use crate::args::Input;
use crate::document::Document;
use crate::error::CliError;
use crate::learn::again;
use crate::target::TargetKind;

/// The posterior is told to be found where a step would move it by less than this many standard deviations: far below what anybody sees.
const TOLERANCE: f64 = 1e-4;

/// What the passes have done.
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

/// Whether passes over `input` can be made for a model of `target`, before any row is learned.
///
/// # Errors
/// What stands in the way, and what to do.
pub(crate) fn check(passes: u16, input: &Input, document: &Document) -> Result<(), CliError> {
    let refused =
        |what: &str| Err(CliError::Option { option: "refine", value: passes.to_string(), what: what.to_owned() });
    if !fs::metadata(&input.data).is_ok_and(|data| data.is_file()) {
        return refused("a stream can be read only once; store it in a file first");
    }
    match &document.target.kind {
        TargetKind::Number => refused("of a number one pass is exact: leave the option out"),
        _ if document.model.is_by_class() && !document.model.is_sparse() => {
            refused("with so many coefficients each class has a belief of its own, and passes take one of all classes")
        }
        _ if document.model.is_sparse() => {
            refused("it takes all correlations, which so many inputs have not by default; `--belief full`")
        }
        _ if document.model.forgets() => {
            refused("a model that forgets has no one posterior of all rows: `--forget nothing`")
        }
        _ => Ok(()),
    }
}

/// Makes at most so many passes over the last file of a model, which has learned it all.
///
/// # Errors
/// A file that is no longer what it was; what the model refuses.
pub(crate) fn refine(document: &mut Document, input: &Input, passes: u16) -> Result<(), CliError> {
    // The first pass looks where the posterior is; each one after tells whether the step before was one forward.
    let settings = BatchSettings { tolerance: TOLERANCE, max_passes: usize::from(passes) + 1 };
    let before = document.clone();
    let info = document.model.refine_over(&settings, |take| {
        again(&before, input, |row, label, weight| take(row, Observation::new(label).weight(weight)))
    })?;
    document.refined = info.map(|info| Refined {
        rows: document.scores.rows,
        passes: info.passes,
        gained: info.bound() - info.bounds.first().copied().unwrap_or_default(),
        converged: info.stop == Stop::Converged,
    });
    Ok(())
}
