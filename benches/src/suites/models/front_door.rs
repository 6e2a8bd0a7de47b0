//! Seconds per row of the front-door types, one thread: rows one at a time, and in batches of a thousand.

use vi_models::ModelError;
use vi_models::online::{BeliefKind, OnlineLinear, OnlineLogistic, OnlineSettings, PriorScale};

use super::Effort;
use crate::BenchError;
use crate::measure::{measure, seconds};
use crate::record::{Record, Report, Unit};
use crate::stream::Stream;

const SIZES: [usize; 2] = [10, 100];
const BATCH: usize = 1000;

/// What is kept, and the prior scales that run beside each other.
const KINDS: [(&str, BeliefKind, bool); 5] = [
    ("default", BeliefKind::Full, true),
    ("full", BeliefKind::Full, false),
    ("square_root", BeliefKind::SquareRoot, false),
    ("low_rank5", BeliefKind::LowRank { rank: 5 }, false),
    ("diagonal", BeliefKind::Diagonal, false),
];

fn settings(belief: BeliefKind, learned: bool, start: OnlineSettings) -> OnlineSettings {
    let prior_scale = if learned { start.prior_scale.clone() } else { PriorScale::Given(1.0) };
    OnlineSettings { belief, prior_scale, ..start }
}

pub(super) fn run(effort: Effort, report: &mut Report) -> Result<(), BenchError> {
    for d in SIZES {
        let n = effort.choose(20_000, 2000);
        let stream = Stream::new(d, n);
        let rows: Vec<f64> = (0..n).flat_map(|t| stream.inputs().row(t).iter().copied().collect::<Vec<_>>()).collect();
        for (kind, belief, learned) in KINDS {
            let logistic = settings(belief, learned, OnlineSettings::default());
            push(report, effort, format!("models/online_logistic/{kind}/update_d{d}"), n, || {
                let mut model = OnlineLogistic::with_settings(d, logistic.clone())?;
                rows.chunks(d).zip(stream.labels()).try_for_each(|(row, &label)| model.update(row, label))
            })?;
            push(report, effort, format!("models/online_logistic/{kind}/batch_d{d}"), n, || {
                let mut model = OnlineLogistic::with_settings(d, logistic.clone())?;
                let mut batches = rows.chunks(d * BATCH).zip(stream.labels().chunks(BATCH));
                batches.try_for_each(|(rows, labels)| model.update_batch(rows, labels))
            })?;
            let linear = settings(belief, learned, OnlineLinear::default_settings());
            push(report, effort, format!("models/online_linear/{kind}/update_d{d}"), n, || {
                let (shape, rate) = OnlineLinear::DEFAULT_NOISE;
                let mut model = OnlineLinear::with_settings(d, linear.clone(), shape, rate)?;
                rows.chunks(d).zip(stream.responses()).try_for_each(|(row, &y)| model.update(row, y))
            })?;
        }
    }
    Ok(())
}

pub(super) fn push(
    report: &mut Report,
    effort: Effort,
    name: String,
    n: usize,
    work: impl Fn() -> Result<(), ModelError>,
) -> Result<(), BenchError> {
    let spread = measure(effort.choose(3, 1), || {
        let mut done = Ok(());
        let elapsed = seconds(|| done = work());
        done.map(|()| elapsed / n as f64)
    })?;
    report.push(Record::alone(name, spread, Unit::Seconds));
    Ok(())
}
