//! Seconds per row of the front door's numbers, counts and classes, one thread, one row at a time: with one prior scale and by default; and
//! seconds per interval.

use vi_models::ModelError;
use vi_models::online::family::{Counts, GlmFamily, SpreadCounts, Trials};
use vi_models::online::{Observation, OnlineGlm, OnlineLinear, OnlineSettings, OnlineSoftmax, PriorScale};

use super::Effort;
use crate::BenchError;
use crate::measure::{measure, timed};
use crate::record::{Record, Report, Unit};
use crate::stream::Stream;

const D: usize = 5;
/// Classes and inputs of the handwritten digits.
const CLASSES: usize = 10;
const PIXELS: usize = 64;
const TRIALS: f64 = 10.0;

fn kinds() -> [(&'static str, OnlineSettings); 2] {
    let one = OnlineSettings { prior_scale: PriorScale::Given(1.0), ..OnlineSettings::default() };
    [("one_scale", one), ("default", OnlineSettings::default())]
}

pub(super) fn run(effort: Effort, report: &mut Report) -> Result<(), BenchError> {
    let n = effort.choose(20_000, 2000);
    let stream = Stream::new(D, n);
    let rows: Vec<Vec<f64>> = stream.rows().map(<[f64]>::to_vec).collect();
    let tilt = |row: &[f64]| 1.0 + 0.5 * row[0] - 0.3 * row[1];
    let count = |row: &[f64]| Observation::new(tilt(row).exp().round());
    let successes = |row: &[f64]| Observation::new((TRIALS / (1.0 + (-tilt(row)).exp())).round()).trials(TRIALS);
    glm(effort, report, "poisson", Counts, &rows, count)?;
    glm(effort, report, "negative_binomial", SpreadCounts { size: 3.0 }, &rows, count)?;
    glm(effort, report, "binomial", Trials, &rows, successes)?;
    for (kind, settings) in kinds() {
        let settings = OnlineSettings { intercept_scale: OnlineLinear::default_settings().intercept_scale, ..settings };
        push(report, effort, format!("models/online_linear/{kind}/update_d{D}"), n, || {
            let (shape, rate) = OnlineLinear::DEFAULT_NOISE;
            let mut model = OnlineLinear::with_settings(D, settings.clone(), shape, rate)?;
            rows.iter().zip(stream.responses()).try_for_each(|(row, &y)| model.update(row, y))
        })?;
    }

    let n = effort.choose(400, 100);
    let stream = Stream::new(PIXELS, n);
    for (kind, settings) in kinds() {
        push(report, effort, format!("models/online_softmax/{kind}/update_c{CLASSES}_d{PIXELS}"), n, || {
            let mut model = OnlineSoftmax::with_settings(PIXELS, CLASSES, settings.clone())?;
            stream.rows().try_for_each(|row| {
                let largest = (0..CLASSES).max_by(|&i, &j| row[i].total_cmp(&row[j])).unwrap_or(0);
                model.update(row, largest as f64)
            })
        })?;
    }
    Ok(())
}

fn glm<F: GlmFamily + Copy>(
    effort: Effort,
    report: &mut Report,
    name: &str,
    family: F,
    rows: &[Vec<f64>],
    label: impl Fn(&[f64]) -> Observation,
) -> Result<(), BenchError> {
    let learn = |settings: &OnlineSettings| -> Result<OnlineGlm<F>, ModelError> {
        let mut model = OnlineGlm::with_settings(D, family, settings.clone())?;
        rows.iter().try_for_each(|row| model.update(row, label(row)))?;
        Ok(model)
    };
    for (kind, settings) in kinds() {
        push(report, effort, format!("models/online_{name}/{kind}/update_d{D}"), rows.len(), || {
            learn(&settings).map(drop)
        })?;
    }
    let model = learn(&OnlineSettings::default())?;
    push(report, effort, format!("models/online_{name}/default/interval_d{D}"), rows.len(), || {
        rows.iter().try_for_each(|row| model.predict(row, label(row))?.interval(0.9).map(drop))
    })
}

fn push(
    report: &mut Report,
    effort: Effort,
    name: String,
    n: usize,
    work: impl Fn() -> Result<(), ModelError>,
) -> Result<(), BenchError> {
    let spread = measure(effort.choose(3, 1), || Ok::<_, ModelError>(timed(&work)?.0 / n as f64))?;
    report.push(Record::alone(name, spread, Unit::Seconds));
    Ok(())
}
