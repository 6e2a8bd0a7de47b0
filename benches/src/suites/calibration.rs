//! How often the intervals of the front door's defaults hold the truth.
//!
//! Every cell draws weights and rows, learns them with a default model, and asks where the truth lies in what the model believes of it:
//! the distribution function `u = P(T ≤ truth)` of each weight, and of the linear predictor and the label at twenty new rows. The central
//! interval of level `q` holds the truth where `|u − ½| ≤ ½q`. The standard error is that of the replications, whose weights and rows
//! hold or miss together; each record and each row of the table says how many there were.
//!
//! Settings that are nobody's prior (`worlds`) are held against the exact posterior of a few data sets too: its own coverage, the
//! regret of the default, the difference of evidence.

mod cells;
mod data;
mod exact;
mod models;
mod page;
mod picture;
mod table;
mod worlds;

use std::fs;
use std::time::Instant;

use exact::{Exact, Held, Known};

use super::{Effort, Suite};
use crate::measure::mean_and_error;
use crate::record::{Record, Report, Target, Unit};
use crate::{BenchError, folder, root};

pub(super) const SUITE: Suite = Suite {
    name: "calibration",
    about: "coverage of 50, 90 and 95 % intervals with the defaults, beside the exact posterior where the truth is nobody's prior: writes docs/src/calibration.md",
    run,
};

/// The environment variable that chooses settings: those of whose names one of its words, between commas, is a part are measured, and what
/// the guide says of the others stays.
const SETTINGS: &str = "VI_BENCH_SETTINGS";

/// Levels of the intervals.
const LEVELS: [f64; 3] = [0.5, 0.9, 0.95];

/// Where the truths of one replication lie in what the model believes of them.
#[derive(Debug, Default)]
struct Places {
    weights: Vec<f64>,
    predictors: Vec<f64>,
    labels: Vec<f64>,
    /// What is held against the exact posterior.
    held: Option<Held>,
}

/// The share of places inside the central interval of a level.
fn share(places: &[f64], level: f64) -> f64 {
    places.iter().filter(|u| (**u - 0.5).abs() <= 0.5 * level).count() as f64 / places.len() as f64
}

/// Shares of one kind of truth that were held, one for each replication and level.
#[derive(Debug, Default, Clone)]
struct Shares(Vec<[f64; 3]>);

impl Shares {
    fn add(&mut self, places: &[f64]) {
        if places.is_empty() {
            return;
        }
        self.0.push(LEVELS.map(|level| share(places, level)));
    }

    /// Mean and standard error at one level.
    fn at(&self, level: usize) -> Option<(f64, f64)> {
        let shares: Vec<f64> = self.0.iter().map(|share| share[level]).collect();
        (shares.len() > 1).then(|| mean_and_error(&shares))
    }
}

/// What a cell measured.
#[derive(Debug, Default, Clone)]
struct Tally {
    weights: Shares,
    predictors: Shares,
    labels: Shares,
    /// Whether the model said that rows came in an order, of each data set that was asked.
    ordered: Vec<bool>,
    /// Shares of 90 % intervals of weights, and of predictors, on data sets whose exact posterior is known: its own and the model's.
    exact: [Vec<f64>; 2],
    beside: [Vec<f64>; 2],
    /// By how much the log loss at new rows is above the exact posterior's, in nats a row.
    regrets: Vec<f64>,
    /// By how much the evidence is above the exact one, in nats, and whether the model said that rows came in an order.
    evidence: Vec<(f64, bool)>,
    /// Replications whose model returned an error.
    failed: usize,
}

impl Tally {
    /// Those that ended without an error.
    fn replications(&self) -> usize {
        self.weights.0.len()
    }

    /// Counts what the exact posterior says of the same data, if that is known.
    fn compare(&mut self, places: &Places, held: &Held, known: Option<Known>) {
        self.ordered.push(held.ordered);
        if let Some(known) = known {
            for (k, (exact, places)) in
                [(known.weights, &places.weights), (known.predictors, &places.predictors)].into_iter().enumerate()
            {
                self.exact[k].push(exact);
                self.beside[k].push(share(places, LEVELS[1]));
            }
            self.regrets.push(held.loss - known.loss);
            self.evidence.push((held.evidence - known.evidence, held.ordered));
        }
    }

    /// The evidence that is furthest from the exact one, of data sets by whether the model said an order.
    fn furthest(&self, which: impl Fn(bool) -> bool) -> Option<f64> {
        let gaps = self.evidence.iter().filter(|(_, said)| which(*said)).map(|(gap, _)| *gap);
        gaps.max_by(|a, b| a.abs().total_cmp(&b.abs()))
    }

    /// The share of data sets whose order was said.
    fn said(&self) -> Option<f64> {
        let said = self.ordered.iter().filter(|said| **said).count() as f64;
        (!self.ordered.is_empty()).then(|| said / self.ordered.len() as f64)
    }

    fn join(&mut self, other: Self) {
        self.weights.0.extend(other.weights.0);
        self.predictors.0.extend(other.predictors.0);
        self.labels.0.extend(other.labels.0);
        self.ordered.extend(other.ordered);
        self.exact.iter_mut().zip(other.exact).for_each(|(own, other)| own.extend(other));
        self.beside.iter_mut().zip(other.beside).for_each(|(own, other)| own.extend(other));
        self.regrets.extend(other.regrets);
        self.evidence.extend(other.evidence);
        self.failed += other.failed;
    }
}

/// Mean and standard error of some numbers.
fn mean(values: &[f64]) -> Option<(f64, f64)> {
    (!values.is_empty()).then(|| mean_and_error(values))
}

fn run(effort: Effort) -> Result<Report, BenchError> {
    let started = Instant::now();
    let stored = root().join("benches").join("data").join("calibration").join("exact.csv");
    let exact = Exact::read(&stored, folder().join("calibration"))?;
    let mut report = Report::default();
    let mut rows = Vec::new();
    let chosen = std::env::var(SETTINGS).ok();
    let before =
        if chosen.is_some() { fs::read_to_string(page::numbers(effort)).unwrap_or_default() } else { String::new() };
    let mut anew = 0;
    for cell in cells::cells(effort) {
        if chosen.as_ref().is_some_and(|words| !words.split(',').any(|word| cell.name().contains(word))) {
            rows.extend(table::read(&cell, &before));
            continue;
        }
        anew += 1;
        let tally = cell.measure(&exact);
        records(&cell.name(), &tally, &mut report);
        if let Some((mean, error)) = tally.predictors.at(1) {
            eprintln!("calibration: {}: predictors {:.1} ± {:.1} %", cell.name(), 100.0 * mean, 100.0 * error);
        }
        rows.push(table::Row::of(&cell, &tally));
        // A run that is ended leaves the numbers that it had.
        page::put(&folder().join("calibration.csv"), &table::csv(&rows))?;
    }
    page::write(effort, &rows, (anew, chosen.as_deref(), started.elapsed()))?;
    Ok(report)
}

fn records(cell: &str, tally: &Tally, report: &mut Report) {
    let ranged = |name: String, (mean, error): (f64, f64), unit| Record {
        range: Some((mean - error, mean + error)),
        ..Record::number(format!("calibration/{cell}/{name}"), mean, unit)
    };
    for (what, shares) in [("weights", &tally.weights), ("predictors", &tally.predictors), ("labels", &tally.labels)] {
        for (k, level) in LEVELS.iter().enumerate() {
            if let Some(found) = shares.at(k) {
                let (held, failed) = (tally.replications(), tally.failed);
                let failed = if failed > 0 { format!(", {failed} failed") } else { String::new() };
                let record = ranged(format!("{what}/{}", 100.0 * level), found, Unit::Fraction);
                report.push(record.note(format!("{held} replications{failed}")));
            }
        }
    }
    if let Some(regret) = mean(&tally.regrets) {
        let exact = format!("{} exact posteriors", tally.regrets.len());
        report.push(ranged("regret".to_owned(), regret, Unit::Nats).target(Target::Below(0.01)).note(exact));
    }
    if let (Some(furthest), Some(said)) = (tally.furthest(|_| true), tally.said()) {
        let target = Target::Near { value: 0.0, margin: 1.0 };
        let said = format!("order said in {:.0} % of the data sets", 100.0 * said);
        let record = Record::number(format!("calibration/{cell}/evidence"), furthest, Unit::Nats);
        report.push(record.target(target).note(said));
    }
}
