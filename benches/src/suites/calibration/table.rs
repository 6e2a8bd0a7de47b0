//! The table of the documentation: 90 % intervals, weights / predictors, a row for each model, number of inputs and of rows.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::Tally;
use super::cells::{Cell, Truth};
use crate::BenchError;

/// Position of 90 % among the levels.
const NINETY: usize = 1;

/// Writes `calibration-table.md` into `folder`.
pub(super) fn write(folder: &Path, measured: &[(Cell, Tally)]) -> Result<(), BenchError> {
    let path = folder.join("calibration-table.md");
    let cannot = |path: &Path| {
        let path = path.to_path_buf();
        |source| BenchError::Write { path, source }
    };
    fs::create_dir_all(folder).map_err(cannot(folder))?;
    fs::write(&path, markdown(measured)).map_err(cannot(&path))
}

fn markdown(measured: &[(Cell, Tally)]) -> String {
    let mut text = String::from("| model | d | n |");
    for truth in Truth::ALL {
        let _ = write!(text, " {} |", truth.name());
    }
    text.push_str("\n|---|--:|--:|");
    text.push_str(&"--:|".repeat(Truth::ALL.len()));
    text.push('\n');
    let mut rows: Vec<(&str, usize, usize)> = Vec::new();
    for (cell, _) in measured {
        let row = (cell.model.name(), cell.inputs, cell.rows);
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    for (model, inputs, n) in rows {
        let _ = write!(text, "| {model} | {inputs} | {n} |");
        for truth in Truth::ALL {
            let of = |(cell, _): &&(Cell, Tally)| {
                (cell.model.name(), cell.inputs, cell.rows) == (model, inputs, n) && cell.truth == truth
            };
            let tally = measured.iter().find(of).map(|(_, tally)| tally);
            let both = tally.and_then(|tally| Some((tally.weights.at(NINETY)?, tally.predictors.at(NINETY)?)));
            let _ = match both {
                Some(((w, dw), (p, dp))) => write!(
                    text,
                    " {:.0} ± {:.0} / {:.0} ± {:.0} |",
                    100.0 * w,
                    (100.0 * dw).ceil(),
                    100.0 * p,
                    (100.0 * dp).ceil()
                ),
                None => write!(text, " |"),
            };
        }
        text.push('\n');
    }
    text
}
