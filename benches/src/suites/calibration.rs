//! How often the intervals of the front door's defaults hold the truth.
//!
//! Every cell draws weights and rows, learns them with a default model, and asks where the truth lies in what the model believes of it:
//! the distribution function `u = P(T ≤ truth)` of each weight, and of the linear predictor and the label at twenty new rows. The central
//! interval of level `q` holds the truth where `|u − ½| ≤ ½q`. The standard error is that of the replications, whose weights and rows
//! hold or miss together; each record and each cell of the table says how many there were.

mod cells;
mod data;
mod models;
mod table;

use super::{Effort, Suite};
use crate::BenchError;
use crate::record::{Record, Report, Unit};

pub(super) const SUITE: Suite = Suite {
    name: "calibration",
    about: "coverage of 50, 90 and 95 % intervals with the defaults: every front-door model and VB, over rows, inputs and true scales",
    run,
};

/// Levels of the intervals.
const LEVELS: [f64; 3] = [0.5, 0.9, 0.95];

/// Where the truths of one replication lie in what the model believes of them.
#[derive(Debug, Default)]
struct Places {
    weights: Vec<f64>,
    predictors: Vec<f64>,
    labels: Vec<f64>,
}

/// Shares of one kind of truth that were held, one for each replication and level.
#[derive(Debug, Default, Clone)]
struct Shares(Vec<[f64; 3]>);

impl Shares {
    fn add(&mut self, places: &[f64]) {
        if places.is_empty() {
            return;
        }
        let share = |level: f64| {
            places.iter().filter(|u| (**u - 0.5).abs() <= 0.5 * level).count() as f64 / places.len() as f64
        };
        self.0.push(LEVELS.map(share));
    }

    /// Mean and standard error at one level.
    fn at(&self, level: usize) -> Option<(f64, f64)> {
        let n = self.0.len() as f64;
        if self.0.len() < 2 {
            return None;
        }
        let mean = self.0.iter().map(|share| share[level]).sum::<f64>() / n;
        let variance = self.0.iter().map(|share| (share[level] - mean).powi(2)).sum::<f64>() / (n - 1.0);
        Some((mean, (variance / n).sqrt()))
    }
}

/// What a cell measured.
#[derive(Debug, Default, Clone)]
struct Tally {
    weights: Shares,
    predictors: Shares,
    labels: Shares,
    /// Replications whose model returned an error.
    failed: usize,
}

impl Tally {
    /// Those that ended without an error.
    fn replications(&self) -> usize {
        self.weights.0.len()
    }

    fn join(&mut self, other: Self) {
        self.weights.0.extend(other.weights.0);
        self.predictors.0.extend(other.predictors.0);
        self.labels.0.extend(other.labels.0);
        self.failed += other.failed;
    }
}

fn run(effort: Effort) -> Result<Report, BenchError> {
    let mut report = Report::default();
    let mut measured = Vec::new();
    for cell in cells::cells(effort) {
        let tally = cell.measure();
        for (what, shares) in
            [("weights", &tally.weights), ("predictors", &tally.predictors), ("labels", &tally.labels)]
        {
            for (k, level) in LEVELS.iter().enumerate() {
                if let Some((mean, error)) = shares.at(k) {
                    let name = format!("calibration/{}/{what}/{}", cell.name(), 100.0 * level);
                    let record = Record {
                        range: Some((mean - error, mean + error)),
                        ..Record::number(name, mean, Unit::Fraction)
                    };
                    let (held, failed) = (tally.replications(), tally.failed);
                    let failed = if failed > 0 { format!(", {failed} failed") } else { String::new() };
                    report.push(record.note(format!("{held} replications{failed}")));
                }
            }
        }
        if let Some((mean, error)) = tally.predictors.at(1) {
            eprintln!("calibration: {}: predictors {:.1} ± {:.1} %", cell.name(), 100.0 * mean, 100.0 * error);
        }
        measured.push((cell, tally));
    }
    table::write(&crate::folder(), &measured)?;
    Ok(report)
}
