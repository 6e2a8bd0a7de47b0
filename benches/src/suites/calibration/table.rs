//! The table of the documentation: 90 % intervals, a row for each model, number of inputs and of rows, a column for each truth.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::Tally;
use super::cells::{Cell, Truth};
use crate::BenchError;

/// What stands above the table.
const ABOUT: &str = "\
Share (%) of 90 % intervals that held the truth with the defaults: weights / linear predictors at new rows / labels there, ± the largest of
their standard errors, and in parentheses the number of data sets. Inputs are Gaussian. Weights come from N(0, s²) with s as stated, or
\"drawn\": log s uniform between those of 0.05 and 5 (counts: up to a predictor of standard deviation 2); \"fixed\": 1, −½, ⅓, −¼, …;
\"separable\": s = 8, so that classes hardly ever overlap; \"drift\": s = ½ at first, then a step of 0.02 of each weight before every row,
with `Memory::Learned`. Softmax has three classes, binomial counts ten trials, negative-binomial counts a size of 3.
";

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
    let mut text = format!("{ABOUT}\n| model | inputs | rows |");
    for truth in Truth::ALL {
        let _ = write!(text, " {} |", truth.heading());
    }
    text.push_str("\n|---|--:|--:|");
    text.push_str(&"--:|".repeat(Truth::ALL.len()));
    text.push('\n');
    let row_of = |cell: &Cell| (cell.model.name(), cell.inputs, cell.rows);
    let mut rows: Vec<(&str, usize, usize)> = Vec::new();
    for (cell, _) in measured {
        if !rows.contains(&row_of(cell)) {
            rows.push(row_of(cell));
        }
    }
    for row @ (model, inputs, n) in rows {
        let _ = write!(text, "| {} | {inputs} | {n} |", model.replace('_', " "));
        for truth in Truth::ALL {
            let tally = measured.iter().find(|(cell, _)| row_of(cell) == row && cell.truth == truth);
            let _ = write!(text, " {} |", tally.and_then(|(_, tally)| held(tally)).unwrap_or_default());
        }
        text.push('\n');
    }
    text
}

/// `91/90/89 ± 2 (40)`.
fn held(tally: &Tally) -> Option<String> {
    let each = [&tally.weights, &tally.predictors, &tally.labels].map(|shares| shares.at(NINETY));
    let mut shares = Vec::new();
    let mut largest = 0.0_f64;
    for found in each {
        let (mean, error) = found?;
        shares.push(format!("{:.0}", 100.0 * mean));
        largest = largest.max(error);
    }
    Some(format!("{} ± {:.0} ({})", shares.join("/"), (100.0 * largest).ceil(), tally.replications()))
}

#[cfg(test)]
mod tests {
    use super::super::Shares;
    use super::*;

    #[test]
    fn a_cell_says_how_sure_it_is() {
        let shares = |held: [f64; 2]| Shares(held.map(|held| [0.0, held, 0.0]).to_vec());
        let mut tally = Tally { weights: shares([0.9, 0.9]), predictors: shares([0.8, 1.0]), ..Tally::default() };
        assert_eq!(held(&tally), None);
        tally.labels = shares([0.5, 0.5]);
        // The standard error of 0.8 and 1 is 0.1.
        assert_eq!(held(&tally).as_deref(), Some("90/90/50 ± 10 (2)"));
    }
}
