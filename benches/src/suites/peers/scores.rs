//! One score for all: from the predictions that a method wrote.

use std::fs;
use std::path::Path;

use vi_linalg::faer::Mat;
use vi_models::Interval;
use vi_models::metrics::{
    Binning, Calibrated, coverage, expected_calibration_error, multiclass_calibration_error, rmse,
};

use super::sets::Kind;
use crate::BenchError;
use crate::measure::mean_and_error;

/// No probability is taken for less than this, so that one sure error does not make a loss infinite.
const LEAST: f64 = 1e-15;

/// Bins of the calibration error, of equal counts.
const BINS: u32 = 10;

/// How good predictions are; nothing where a method does not say what is needed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scores {
    /// Mean of `−log p(label)` in nats, and its standard error over the rows.
    pub(super) loss: Option<(f64, f64)>,
    /// Root mean squared error of numbers and counts.
    pub(super) rmse: Option<f64>,
    /// Share of numbers and counts in their 90 % intervals.
    pub(super) coverage: Option<f64>,
    /// Expected calibration error of classes.
    pub(super) calibration: Option<f64>,
}

/// The scores of the predictions in a file, a line for each label.
///
/// # Errors
/// `Missing` for a file that has not a line of the right length for each label; those of the scores.
pub(super) fn scores(path: &Path, kind: Kind, labels: &[f64]) -> Result<Scores, BenchError> {
    let missing = || BenchError::Missing { what: format!("the predictions in {}", path.display()) };
    let text = fs::read_to_string(path).map_err(|_| missing())?;
    let width = match kind {
        Kind::Two => 2,
        Kind::Many(classes) => classes,
        Kind::Number | Kind::Count => 4,
    };
    let mut rows = Vec::with_capacity(labels.len());
    for line in text.lines() {
        let row: Result<Vec<f64>, _> = line.split_whitespace().map(str::parse).collect();
        rows.push(row.ok().filter(|row| row.len() == width).ok_or_else(missing)?);
    }
    if rows.len() != labels.len() {
        return Err(missing());
    }
    if kind.is_class() { classes(&rows, kind, labels) } else { numbers(&rows, labels) }
}

fn classes(rows: &[Vec<f64>], kind: Kind, labels: &[f64]) -> Result<Scores, BenchError> {
    let share = |row: &[f64], class: usize| row[class] / row.iter().sum::<f64>();
    let happened = |row: &[f64], label: f64| {
        (0..row.len()).find(|class| *class as f64 == label).map_or(0.0, |class| share(row, class))
    };
    let losses: Vec<f64> = rows.iter().zip(labels).map(|(row, label)| -happened(row, *label).max(LEAST).ln()).collect();
    let binning = Binning::EqualMass(BINS);
    let calibration = if kind == Kind::Two {
        let p: Vec<f64> = rows.iter().map(|row| share(row, 1)).collect();
        expected_calibration_error(&p, labels, binning)?
    } else {
        // Rounding may leave a sum that is not one.
        let p = Mat::from_fn(rows.len(), rows[0].len(), |i, j| share(&rows[i], j));
        multiclass_calibration_error(p.as_ref(), labels, Calibrated::Top, binning)?
    };
    Ok(Scores { loss: Some(mean_and_error(&losses)), rmse: None, coverage: None, calibration: Some(calibration) })
}

fn numbers(rows: &[Vec<f64>], labels: &[f64]) -> Result<Scores, BenchError> {
    let finite = |column: usize| rows.iter().all(|row| row[column].is_finite());
    let means: Vec<f64> = rows.iter().map(|row| row[0]).collect();
    let losses: Vec<f64> = rows.iter().map(|row| (-row[3]).min(-LEAST.ln())).collect();
    let intervals: Vec<Interval> = rows.iter().map(|row| Interval { lower: row[1], upper: row[2] }).collect();
    Ok(Scores {
        loss: if rows.iter().any(|row| row[3].is_nan()) { None } else { Some(mean_and_error(&losses)) },
        rmse: if finite(0) { Some(rmse(&means, labels)?) } else { None },
        coverage: if finite(1) && finite(2) { Some(coverage(&intervals, labels)?) } else { None },
        calibration: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scored(name: &str, text: &str, kind: Kind, labels: &[f64]) -> Result<Scores, BenchError> {
        let path = std::env::temp_dir().join(format!("vi-benches-scores-{name}-{}", std::process::id()));
        fs::write(&path, text).unwrap();
        let scores = scores(&path, kind, labels);
        fs::remove_file(&path).unwrap();
        scores
    }

    #[test]
    fn classes_are_scored_by_the_probability_of_what_happened() {
        let found = scored("two", "0.75 0.25\n0.5 0.5\n", Kind::Two, &[0.0, 1.0]).unwrap();
        let (loss, error) = found.loss.unwrap();
        let (a, b) = (-(0.75_f64.ln()), -(0.5_f64.ln()));
        // Two rounded logarithms and their mean.
        assert!((loss - 0.5 * (a + b)).abs() < 4.0 * f64::EPSILON);
        // Half the difference of two values is the standard error of their mean.
        assert!((error - 0.5 * (b - a)).abs() < 4.0 * f64::EPSILON);
        assert_eq!((found.rmse, found.coverage), (None, None));
    }

    #[test]
    fn a_sure_error_costs_much_but_not_everything() {
        let found = scored("sure", "1 0\n", Kind::Two, &[1.0]).unwrap();
        assert_eq!(found.loss.unwrap().0, -LEAST.ln());
    }

    #[test]
    fn numbers_without_intervals_have_an_error_alone() {
        let found = scored("alone", "1 nan nan nan\n3 nan nan nan\n", Kind::Number, &[1.0, 1.0]).unwrap();
        assert_eq!(found, Scores { loss: None, rmse: Some(2.0_f64.sqrt()), coverage: None, calibration: None });
        let found = scored("whole", "1 0 2 -1\n3 2 4 -3\n", Kind::Number, &[1.0, 1.0]).unwrap();
        assert_eq!((found.loss, found.coverage), (Some((2.0, 1.0)), Some(0.5)));
    }

    #[test]
    fn missing_and_broken_lines_are_refused() {
        for text in ["", "0.5\n0.5\n", "0.5 0.5\n", "0.5 0.5\n0.5 half\n"] {
            assert!(scored("broken", text, Kind::Two, &[0.0, 1.0]).is_err(), "{text}");
        }
    }
}
