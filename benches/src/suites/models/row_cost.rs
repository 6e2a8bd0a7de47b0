//! What one row of `OnlineLogistic::update` costs: one prior scale given; the default, which learns the scale; one scale that fades.
//!
//! The three are timed in turns on the same rows: first the start, in which a model fits rows together, then the rows that follow, for
//! some of which a default with 100 inputs or more still has several models. The baseline of the default and of the fading model is the model
//! of one scale.

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use vi_models::ModelError;
use vi_models::online::{BeliefKind, Memory, OnlineLogistic, OnlineSettings, PriorScale, Standardise};

use super::Effort;
use crate::BenchError;
use crate::measure::{Comparison, Spread, timed};
use crate::record::{Record, Report, Target, Unit};
use crate::stream::Stream;

/// Inputs of the full belief, rows that are timed after the start, and rows of a quick run: whole periods between the returns of the fading model.
const FULL: [(usize, usize, usize); 5] =
    [(10, 20_000, 5000), (30, 10_000, 2500), (100, 3000, 800), (300, 1200, 600), (1000, 500, 500)];
const SPARSE_INPUTS: usize = 1 << 20;
const ENTRIES: usize = 40;
/// Rows of the start: those beyond which the default is to cost hardly more than one scale.
const START: usize = 2064;
/// The same of sparse rows: the fading model's first return, which makes the prior that it returns to, is among them.
const SPARSE_START: usize = 256;

const ONE: &str = "one scale";
/// How many times one scale the default may cost with sparse rows, where it keeps three, and with a full belief, where one is to do for them; and
/// a fading model.
const SPARSE: f64 = 3.3;
const FULL_BELIEF: f64 = 1.2;
const FADING: f64 = 1.2;

pub(super) fn run(effort: Effort, report: &mut Report) -> Result<(), BenchError> {
    for (d, n, quick) in FULL {
        let n = effort.choose(n, quick);
        let stream = Stream::new(d, START + n);
        let rows: Vec<Vec<f64>> = (0..stream.len()).map(|t| stream.inputs().row(t).iter().copied().collect()).collect();
        let limit = (d == 10).then_some(0.6e-6);
        measure(
            report,
            effort,
            &format!("full_d{d}"),
            (d, OnlineSettings::default()),
            [limit, None],
            |model, t| model.update(&rows[t], stream.labels()[t]),
            [START, n],
        )?;
    }
    for (name, belief, n, quick, limit) in [
        ("diagonal", BeliefKind::Diagonal, 20_000, 5000, Some(3e-6)),
        ("low_rank10", BeliefKind::LowRank { rank: 10 }, 400, 200, None),
    ] {
        let n = effort.choose(n, quick);
        let rng = &mut ChaCha8Rng::seed_from_u64(0);
        let rows: Vec<(Vec<usize>, Vec<f64>, f64)> = (0..SPARSE_START + n)
            .map(|_| {
                let mut positions: Vec<usize> = (0..ENTRIES).map(|_| rng.random_range(0..SPARSE_INPUTS)).collect();
                positions.sort_unstable();
                positions.dedup();
                let values = positions.iter().map(|_| rng.random::<f64>() - 0.5).collect();
                (positions, values, f64::from(u8::from(rng.random::<bool>())))
            })
            .collect();
        let settings = OnlineSettings { belief, standardise: Standardise::Never, ..OnlineSettings::default() };
        let name = format!("{name}_d2e20_nnz{ENTRIES}");
        measure(
            report,
            effort,
            &name,
            (SPARSE_INPUTS, settings),
            [limit, limit],
            |model, t| {
                let (positions, values, label) = &rows[t];
                model.update((positions, values), *label)
            },
            [SPARSE_START, n],
        )?;
    }
    Ok(())
}

/// Times the three forms of a model in turns; `limits` are those of one scale and of the fading one, in seconds.
fn measure(
    report: &mut Report,
    effort: Effort,
    name: &str,
    (inputs, settings): (usize, OnlineSettings),
    limits: [Option<f64>; 2],
    update: impl Fn(&mut OnlineLogistic, usize) -> Result<(), ModelError>,
    [first, n]: [usize; 2],
) -> Result<(), BenchError> {
    eprintln!("models/row/{name}");
    let one = OnlineSettings { prior_scale: PriorScale::Given(0.5), ..settings.clone() };
    let fading = OnlineSettings { memory: Memory::Fading(0.999), ..one.clone() };
    let run = |settings: &OnlineSettings| -> Result<[f64; 2], ModelError> {
        let mut model = OnlineLogistic::with_settings(inputs, settings.clone())?;
        let start = timed(|| (0..first).try_for_each(|t| update(&mut model, t)))?.0;
        Ok([start, timed(|| (first..first + n).try_for_each(|t| update(&mut model, t)))?.0 / n as f64])
    };
    let forms = [&one, &settings, &fading];
    let mut starts = [const { Vec::new() }; 3];
    let mut samples = [const { Vec::new() }; 3];
    for _ in 0..effort.choose(5, 3) {
        for (form, (starts, samples)) in forms.iter().zip(starts.iter_mut().zip(&mut samples)) {
            let [start, row] = run(form)?;
            starts.push(start);
            samples.push(row);
        }
    }
    for (form, starts) in ["one", "default", "fading"].iter().zip(&starts) {
        let name = format!("models/start/{name}/{first}_rows/{form}");
        report.push(Record::alone(name, Spread::of(starts), Unit::Seconds));
    }
    let against_one = |of: &[f64]| {
        let ratios: Vec<f64> = samples[0].iter().zip(of).map(|(one, other)| one / other).collect();
        Comparison { ours: Spread::of(of), baseline: Spread::of(&samples[0]), ratio: Spread::of(&ratios) }
    };
    let below = |record: Record, limit: Option<f64>| match limit {
        Some(limit) => record.target(Target::Below(limit)),
        None => record,
    };
    let alone = Record::alone(format!("models/row/{name}/one"), Spread::of(&samples[0]), Unit::Seconds);
    report.push(below(alone, limits[0]));
    for (form, samples, most, limit) in [
        ("default", &samples[1], if inputs < SPARSE_INPUTS { FULL_BELIEF } else { SPARSE }, None),
        ("fading", &samples[2], FADING, limits[1]),
    ] {
        let record = Record::compared(format!("models/row/{name}/{form}"), against_one(samples), ONE);
        report.push(below(record.target(Target::RatioAtLeast(1.0 / most)), limit));
    }
    Ok(())
}
