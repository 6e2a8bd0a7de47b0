//! Our front door on the same files, in a process of its own.

use std::fmt::Write as _;
use std::fs;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use vi_core::refine::RefineSettings;
use vi_models::ModelError;
use vi_models::online::family::{Counts, LearnedSpread};
use vi_models::online::{
    LabelPredicted, Memory, Observation, OnlineGlm, OnlineLinear, OnlineLogistic, OnlineSettings, OnlineSoftmax,
    PriorScale,
};
use vi_models::predict::CountPrediction;
use vi_models::softmax::SoftmaxRefineSettings;

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

enum Model {
    Number(OnlineLinear),
    Count(OnlineGlm<Counts>),
    Spread(OnlineGlm<LearnedSpread>),
    Two(OnlineLogistic),
    Many(OnlineSoftmax),
}

impl Model {
    fn new(
        kind: Kind,
        method: &str,
        inputs: usize,
        settings: impl FnOnce(OnlineSettings) -> OnlineSettings,
    ) -> Result<Self, ModelError> {
        Ok(match kind {
            Kind::Count if method == "ours_spread" => {
                Self::Spread(OnlineGlm::with_settings(inputs, LearnedSpread, settings(OnlineSettings::default()))?)
            }
            Kind::Number => {
                let settings = settings(OnlineLinear::default_settings());
                let (shape, rate) = OnlineLinear::DEFAULT_NOISE;
                Self::Number(OnlineLinear::with_settings(inputs, settings, shape, rate)?)
            }
            Kind::Count => Self::Count(OnlineGlm::with_settings(inputs, Counts, settings(OnlineSettings::default()))?),
            Kind::Two => Self::Two(OnlineLogistic::with_settings(inputs, settings(OnlineSettings::default()))?),
            Kind::Many(classes) => {
                Self::Many(OnlineSoftmax::with_settings(inputs, classes, settings(OnlineSettings::default()))?)
            }
        })
    }

    fn update(&mut self, rows: &[f64], labels: &[f64]) -> Result<(), ModelError> {
        match self {
            Self::Number(model) => model.update_batch(rows, labels),
            Self::Count(model) => model.update_batch(rows, labels),
            Self::Spread(model) => model.update_batch(rows, labels),
            Self::Two(model) => model.update_batch(rows, labels),
            Self::Many(model) => model.update_batch(rows, labels),
        }
    }

    fn refine(&mut self) -> Result<(), ModelError> {
        match self {
            // Its posterior is exact.
            Self::Number(_) => Ok(()),
            Self::Count(model) => model.refine(&RefineSettings::default()).map(drop),
            Self::Spread(model) => model.refine(&RefineSettings::default()).map(drop),
            Self::Two(model) => model.refine(&RefineSettings::default()).map(drop),
            Self::Many(model) => model.refine(&SoftmaxRefineSettings::default()).map(drop),
        }
    }

    /// A line of the predictions: probabilities, or mean, ends of the interval and log density.
    fn predict(&self, row: &[f64], label: f64, line: &mut String) -> Result<(), ModelError> {
        let numbers: Vec<f64> = match self {
            Self::Number(model) => {
                let seen = model.predict(row)?;
                let interval = seen.interval(LEVEL)?;
                vec![seen.mean(), interval.lower, interval.upper, seen.log_density(label)]
            }
            Self::Count(model) => count(&model.predict(row, Observation::new(0.0))?, label)?,
            Self::Spread(model) => count(&model.predict(row, Observation::new(0.0))?, label)?,
            Self::Two(model) => {
                let p = model.predict(row)?.probability;
                vec![1.0 - p, p]
            }
            Self::Many(model) => model.predict(row)?.probabilities,
        };
        for number in numbers {
            let _ = write!(line, "{number} ");
        }
        line.push('\n');
        Ok(())
    }
}

/// Mean, ends of the interval and log density of a count.
fn count<L: CountPrediction>(seen: &LabelPredicted<L>, label: f64) -> Result<Vec<f64>, ModelError> {
    let interval = seen.interval(LEVEL)?;
    Ok(vec![seen.mean, interval.lower, interval.upper, seen.log_density(label)?])
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
        let (seconds, cpu, peak) = fit(set, method, variance.parse().ok(), &mut predictions)?;
        let path = folder().join(format!("{method}-{name}-{index}"));
        fs::write(&path, predictions).map_err(|source| BenchError::Write { path, source })?;
        answer.seconds.push(Some(seconds));
        answer.cpu.push(cpu);
        answer.peak = answer.peak.or(peak);
    }
    Ok(serde_json::to_string(&answer)?)
}

/// From file to model to predictions; the seconds, those worked, and the memory until the model is there.
fn fit(
    set: &Set,
    method: &str,
    variance: Option<f64>,
    predictions: &mut String,
) -> Result<(f64, Option<f64>, Option<u64>), BenchError> {
    let (start, before) = (Instant::now(), memory::worked());
    let data = read(&set.train())?;
    let (rows, labels, d) = (data.rows_row_major(), data.y(), data.d());
    let mut model = Model::new(set.kind, method, d, |settings| OnlineSettings {
        prior_scale: variance.map_or(settings.prior_scale.clone(), |variance| PriorScale::Given(variance.sqrt())),
        memory: if method == "ours_memory" { Memory::Learned } else { Memory::Everything },
        keep_rows: method == "ours_refined",
        ..settings
    })?;
    if set.is_stream() {
        for (row, &label) in rows.chunks(d).zip(labels) {
            model.predict(row, label, predictions)?;
            model.update(row, &[label])?;
        }
    } else {
        for (rows, labels) in rows.chunks(BATCH * d).zip(labels.chunks(BATCH)) {
            model.update(rows, labels)?;
        }
        if method == "ours_refined" {
            model.refine()?;
        }
    }
    let cpu = memory::worked().zip(before).map(|(after, before)| after - before);
    let measured = (start.elapsed().as_secs_f64(), cpu, memory::peak());
    if !set.is_stream() {
        for (row, label) in read(&set.test())?.observations() {
            model.predict(row, label, predictions)?;
        }
    }
    Ok(measured)
}
