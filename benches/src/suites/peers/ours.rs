//! Our front door on the same files, in a process of its own.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::BufReader;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use vi_core::refine::RefineSettings;
use vi_data::records::Record;
use vi_models::online::{
    self, Memory, Model, Observation, OnlineLinear, OnlineSettings, Prediction, PriorScale, Row, Rows,
};
use vi_models::softmax::SoftmaxRefineSettings;
use vi_models::{ModelError, Transform};
use vi_terms::table::{self, Family, FileError, FileRows, Input, Options, Source};

use super::sets::{Kind, SETS, Set, folder, read};
use crate::{BenchError, memory};

/// How much each interval is to hold.
const LEVEL: f64 = 0.9;

/// Rows that are learned in one call.
const BATCH: usize = 1000;

/// What a method in a process of its own says of itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Answer {
    /// From file to model, for each setting; nothing where it broke down.
    pub(super) seconds: Vec<Option<f64>>,
    /// What processors worked in them.
    pub(super) cpu: Vec<Option<f64>>,
    /// What broke down.
    pub(super) errors: Vec<String>,
    /// The process at its largest, in bytes, when the first model was there.
    pub(super) peak: Option<u64>,
    pub(super) version: String,
}

fn kind_of(set: Kind, method: &str) -> online::Kind {
    match set {
        Kind::Number => online::Kind::Number { transform: Transform::Identity, noise: OnlineLinear::DEFAULT_NOISE },
        Kind::Count if method == "ours_spread" => online::Kind::LearnedSpread,
        Kind::Count => online::Kind::Count,
        Kind::Two => online::Kind::Two,
        Kind::Many(classes) => online::Kind::Classes { classes, joint: None },
    }
}

fn predict(model: &Model, row: &[f64], label: f64, line: &mut String) -> Result<(), ModelError> {
    write_line(&model.predict(Row::Dense(row), Observation::new(0.0))?, label, line)
}

/// A line of the predictions: probabilities, or mean, ends of the interval and log density.
fn write_line(seen: &Prediction, label: f64, line: &mut String) -> Result<(), ModelError> {
    let numbers = match seen {
        Prediction::Two(seen) => vec![1.0 - seen.probability, seen.probability],
        Prediction::Classes(seen) => seen.probabilities.clone(),
        _ => {
            let interval = seen.interval(LEVEL)?.map(|interval| [interval.lower, interval.upper]);
            let ends = interval.into_iter().flatten();
            seen.mean().into_iter().chain(ends).chain([seen.log_density(label)?]).collect()
        }
    };
    for number in numbers {
        let _ = write!(line, "{number} ");
    }
    line.push('\n');
    Ok(())
}

/// Does `peers METHOD SET VARIANCE…`, with `default` for the default: writes the predictions to `METHOD-SET-0`, `-1`, …
///
/// # Errors
/// `Child` for a job that is not one; those of the models and files.
pub(in crate::suites) fn child(job: &str) -> Result<String, BenchError> {
    let unknown = || BenchError::Child { job: job.to_owned(), message: "there is no such job".to_owned() };
    let mut words = job.split_whitespace().skip(1);
    let (method, name) = words.next().zip(words.next()).ok_or_else(unknown)?;
    let set = SETS.iter().find(|set| set.name == name).ok_or_else(unknown)?;
    let mut answer = Answer {
        seconds: Vec::new(),
        cpu: Vec::new(),
        errors: Vec::new(),
        peak: None,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    for (index, variance) in words.enumerate() {
        let mut predictions = String::new();
        let (seconds, cpu, peak) = match method {
            "ours_table" => fit_table(set, &mut predictions)?,
            _ => fit(set, method, variance.parse().ok(), &mut predictions)?,
        };
        let path = folder().join(format!("{method}-{name}-{index}"));
        fs::write(&path, predictions).map_err(|source| BenchError::Write { path, source })?;
        answer.seconds.push(Some(seconds));
        answer.cpu.push(cpu);
        answer.peak = answer.peak.or(peak);
    }
    Ok(serde_json::to_string(&answer)?)
}

/// The seconds, those worked, and the largest memory, from file to model.
type Costs = (f64, Option<f64>, Option<u64>);

/// Tells the costs since this call.
fn costs() -> impl FnOnce() -> Costs {
    let (start, before) = (Instant::now(), memory::worked());
    move || {
        let worked = memory::worked().zip(before).map(|(after, before)| after - before);
        (start.elapsed().as_secs_f64(), worked, memory::peak())
    }
}

/// From file to model to predictions; what it costs until the model is there.
fn fit(set: &Set, method: &str, variance: Option<f64>, predictions: &mut String) -> Result<Costs, BenchError> {
    let costs = costs();
    let data = read(&set.train())?;
    let (rows, labels, d) = (data.rows_row_major(), data.y(), data.d());
    let kind = kind_of(set.kind, method);
    let settings = OnlineSettings {
        prior_scale: variance.map_or(PriorScale::Learned, |variance| PriorScale::Given(variance.sqrt())),
        memory: if method == "ours_memory" { Memory::Learned } else { Memory::Everything },
        keep_rows: method == "ours_refined",
        ..kind.default_settings()
    };
    let observed: Vec<Observation> = labels.iter().map(|&label| Observation::new(label)).collect();
    let mut model = Model::new(kind, d, settings)?;
    if set.is_stream() {
        for ((row, &label), observed) in rows.chunks(d).zip(labels).zip(&observed) {
            predict(&model, row, label, predictions)?;
            model.update(Row::Dense(row), *observed)?;
        }
    } else {
        for (rows, observed) in rows.chunks(BATCH * d).zip(observed.chunks(BATCH)) {
            model.update_batch(Rows::Dense(rows), observed)?;
        }
        if method == "ours_refined" {
            let mut settings = RefineSettings::default();
            if let Model::Classes(_) = model {
                settings.tolerance = SoftmaxRefineSettings::default().tolerance;
            }
            model.refine(&settings)?;
        }
    }
    let measured = costs();
    if !set.is_stream() {
        for (row, label) in read(&set.test())?.observations() {
            predict(&model, row, label, predictions)?;
        }
    }
    Ok(measured)
}

/// As [`fit`], by what the command `rvi fit` does with a file.
fn fit_table(set: &Set, predictions: &mut String) -> Result<Costs, BenchError> {
    let costs = costs();
    // Only the numbers of several classes have to be named as such.
    let family = if let Kind::Many(_) = set.kind { Family::Classes } else { Family::Auto };
    let options = Options { target: Some("label".to_owned()), family, ..Options::default() };
    let [train, test] = [set.train(), set.test()].map(|data| Input { data, ..Input::in_memory("", false) });
    let document = table::fit(&options, &train, false, || open(&train))?;
    let measured = costs();

    let mut rows = open(&test)?;
    let mut answers = document.answers(rows.columns()).map_err(|error| rows.refused(error))?;
    let mut record = Record::default();
    while Source::next(&mut rows, &mut record)? {
        let (row, refused) = (rows.row(), |error| rows.refused(error));
        let label = answers.label(&record, row).map_err(refused)?.map_or(f64::NAN, |own| own.label());
        write_line(&answers.predict(&record, row).map_err(refused)?, label, predictions)?;
    }
    Ok(measured)
}

fn open(input: &Input) -> Result<FileRows<'static>, FileError> {
    let path = input.data.as_path();
    let file = File::open(path).map_err(|source| FileError::Unreadable { path: path.to_owned(), source })?;
    FileRows::open(BufReader::new(file), input)
}
