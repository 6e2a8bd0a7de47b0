//! Worlds that drift: a learned memory beside hand-set ones, and inputs that fall silent for long.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use vi_models::ModelError;
use vi_models::online::{BeliefKind, Memory, OnlineLinear, OnlineLogistic, OnlineSettings, PriorScale, Standardise};

use super::{Effort, Suite};
use crate::BenchError;
use crate::measure::timed;
use crate::record::{Record, Report, Target, Unit};

pub(super) const SUITE: Suite = Suite {
    name: "drift",
    about: "abrupt changes and random walks: a learned memory beside the best of four hand-set ones and beside none; a million rows of inputs that fall silent, by belief",
    run,
};

/// Inputs of the worlds.
const D: usize = 5;

/// `λ` of the hand-set memories.
const HAND: [f64; 4] = [0.9995, 0.998, 0.99, 0.95];

/// How a world changes: what is added to its weights in the middle (none is drawn anew for infinity), and at every row.
const WORLDS: [(&str, f64, f64); 4] =
    [("still", 0.0, 0.0), ("abrupt", f64::INFINITY, 0.0), ("small_change", 0.3, 0.0), ("walk", 0.0, 0.01)];

fn run(effort: Effort) -> Result<Report, BenchError> {
    let mut report = Report::default();
    for world in WORLDS {
        for logistic in [false, true] {
            compare(effort, world, logistic, &mut report)?;
        }
    }
    quiet(effort, &mut report)?;
    Ok(report)
}

/// Rows of standard normal inputs, and what the weights make of them.
fn stream(n: usize, (_, change, walk): (&str, f64, f64), seed: u64) -> Vec<([f64; D], f64)> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut draw = move || -> [f64; D] { std::array::from_fn(|_| rng.sample(StandardNormal)) };
    let mut weights = draw();
    let mut rows = Vec::with_capacity(n);
    for t in 0..n {
        if t == n / 2 && change > 0.0 {
            let drawn = draw();
            weights =
                std::array::from_fn(|j| if change.is_finite() { weights[j] + change * drawn[j] } else { drawn[j] });
        }
        let steps = draw();
        weights.iter_mut().zip(steps).for_each(|(weight, step)| *weight += walk * step);
        let x = draw();
        rows.push((x, weights.iter().zip(x).map(|(w, x)| w * x).sum()));
    }
    rows
}

/// Log loss by row after the first hundred, in nats; `noise` is drawn for the labels.
fn loss(memory: Memory, logistic: bool, rows: &[([f64; D], f64)], seed: u64) -> Result<f64, ModelError> {
    const FIRST: usize = 100;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut total = 0.0;
    if logistic {
        let mut model = OnlineLogistic::with_settings(D, OnlineSettings { memory, ..OnlineSettings::default() })?;
        for (t, (x, predictor)) in rows.iter().enumerate() {
            let label = f64::from(rng.random::<f64>() < 1.0 / (1.0 + (-predictor).exp()));
            if t >= FIRST {
                total -= model.predict(x)?.log_density(label)?;
            }
            model.update(x, label)?;
        }
    } else {
        let settings = OnlineSettings { memory, ..OnlineLinear::default_settings() };
        let (shape, rate) = OnlineLinear::DEFAULT_NOISE;
        let mut model = OnlineLinear::with_settings(D, settings, shape, rate)?;
        for (t, (x, predictor)) in rows.iter().enumerate() {
            let label = predictor + rng.sample::<f64, _>(StandardNormal);
            if t >= FIRST {
                total -= model.predict(x)?.log_density(label);
            }
            model.update(x, label)?;
        }
    }
    Ok(total / (rows.len() - FIRST) as f64)
}

fn compare(effort: Effort, world: (&str, f64, f64), logistic: bool, report: &mut Report) -> Result<(), BenchError> {
    let (n, streams) = (6000, effort.choose(8, 1));
    let model = if logistic { "logistic" } else { "linear" };
    let name = format!("drift/{model}/{}", world.0);
    eprintln!("{name}");
    let mean = |memory: Memory| -> Result<f64, ModelError> {
        let losses = (0..streams as u64).map(|seed| loss(memory, logistic, &stream(n, world, seed), 1000 + seed));
        Ok(losses.sum::<Result<f64, _>>()? / streams as f64)
    };
    let everything = mean(Memory::Everything)?;
    let mut best = f64::INFINITY;
    for lambda in HAND {
        best = best.min(mean(Memory::Fading(lambda))?);
    }
    let learned = mean(Memory::Learned)?;
    let note = format!("log loss {learned:.4}, best hand-set {best:.4}, nothing forgotten {everything:.4} nats a row");
    report.push(
        Record::number(format!("{name}/learned_over_best"), learned / best, Unit::Fraction)
            .target(Target::Below(1.01))
            .note(note),
    );
    report.push(Record::number(format!("{name}/everything_over_best"), everything / best, Unit::Fraction));
    Ok(())
}

/// Three dummies and an intercept, of which one dummy is silent for a third of the rows at a time.
fn quiet(effort: Effort, report: &mut Report) -> Result<(), BenchError> {
    let n = effort.choose(1_000_000, 20_000);
    let kinds = [
        ("full", BeliefKind::Full),
        ("square_root", BeliefKind::SquareRoot),
        ("low_rank2", BeliefKind::LowRank { rank: 2 }),
        ("diagonal", BeliefKind::Diagonal),
    ];
    for (name, belief) in kinds {
        eprintln!("drift/quiet/{name}");
        let settings = OnlineSettings {
            belief,
            memory: Memory::Fading(0.99),
            prior_scale: PriorScale::Given(3.0),
            intercept_scale: 3.0,
            standardise: Standardise::Never,
            ..OnlineSettings::default()
        };
        // The noise is given: what is asked is how wide the weights become in its units.
        let mut model = OnlineLinear::with_settings(3, settings, 1e6, 1e6)?;
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let (mut widest, mut squares, mut elapsed) = (0.0_f64, 0.0, 0.0);
        for t in 0..n {
            let silent = 3 * t / n;
            let spoken = (silent + 1 + usize::from(rng.random::<f64>() < 0.5)) % 3;
            let x: [f64; 3] = std::array::from_fn(|j| f64::from(u8::from(j == spoken)));
            let expected = 1.0 + spoken as f64;
            squares += (model.predict(&x)?.mean() - expected).powi(2);
            let label = expected + rng.sample::<f64, _>(StandardNormal);
            elapsed += timed(|| model.update(&x, label))?.0;
            if t % 1000 == 999 {
                for j in 0..3 {
                    widest = widest.max(model.weight(j)?.variance() / 9.0);
                }
            }
        }
        let rmse = (squares / n as f64).sqrt();
        report.push(Record::number(format!("drift/quiet/{name}/row"), elapsed / n as f64, Unit::Seconds));
        // The noise of a Student with 2·10⁶ degrees of freedom, and what is seen of it.
        report.push(
            Record::number(format!("drift/quiet/{name}/widest_over_prior"), widest, Unit::Fraction)
                .target(Target::Below(1.1)),
        );
        report.push(
            Record::number(format!("drift/quiet/{name}/error"), rmse, Unit::Deviations).target(Target::Below(0.3)),
        );
    }
    Ok(())
}
