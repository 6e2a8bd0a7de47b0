//! Stochastic gradient steps of a Bernoulli GLM next to the same steps in plain NumPy.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use vi_linalg::faer::MatRef;
use vi_revrand::basis::Linear;
use vi_revrand::glm::{Expectation, Glm, GlmSettings, Kept, Rows};
use vi_revrand::likelihood::Bernoulli;
use vi_revrand::sgd::Updater;

use super::{Effort, Suite};
use crate::measure::timed;
use crate::python::{Environment, beside_numpy};
use crate::record::{Record, Report, Target};
use crate::{BenchError, folder};

pub(super) const SUITE: Suite =
    Suite { name: "revrand", about: "a thousand stochastic gradient steps of a GLM beside NumPy", run };

/// As in the NumPy script: weights, rows, components, rows in a batch.
const D: usize = 500;
const N: usize = 10_000;
const K: usize = 3;
const BATCH: usize = 10;
const DRAWS: [usize; 2] = [50, 10];
/// The number of steps that a record's seconds stand for.
const STEPS: usize = 1000;
/// The speed of a step that is aimed at, as a multiple of NumPy's.
const TARGET: f64 = 20.0;

/// The script's data: rows of length about 1, labels by the logistic function.
struct Data {
    x: Vec<f64>,
    y: Vec<f64>,
}

impl Data {
    fn new(rng: &mut ChaCha8Rng) -> Self {
        let scale = 1.0 / (D as f64).sqrt();
        let theta: Vec<f64> = (0..D).map(|_| rng.sample(StandardNormal)).collect();
        let x: Vec<f64> = (0..N * D).map(|_| scale * rng.sample::<f64, _>(StandardNormal)).collect();
        let label = |row: &[f64]| {
            let f: f64 = row.iter().zip(&theta).map(|(x, t)| 3.0 * x * t).sum();
            f64::from(u8::from(rng.random::<f64>() < vi_core::special::sigmoid(f)))
        };
        let y = x.chunks_exact(D).map(label).collect();
        Self { x, y }
    }
}

/// Seconds for [`STEPS`] steps, from `steps` of them.
fn thousand(data: &Data, expectation: Expectation, steps: usize) -> Result<f64, BenchError> {
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    let settings = GlmSettings {
        components: K,
        expectation,
        batch: BATCH,
        steps,
        updater: Updater::adam_with(0.01, 0.9, 0.999, 1e-8)?,
        ..GlmSettings::default()
    };
    let mut model = Glm::new(Linear::new(D)?, Bernoulli, settings, rng)?;
    let x = MatRef::from_row_major_slice(&data.x, N, D);
    Ok(timed(|| model.fit(Rows::new(x, &data.y), rng))?.0 * STEPS as f64 / steps as f64)
}

fn run(effort: Effort) -> Result<Report, BenchError> {
    let mut report = Report::default();
    let environment = Environment::set_up(&folder());
    let data = Data::new(&mut ChaCha8Rng::seed_from_u64(0));
    let (steps, repetitions) = (effort.choose(20_000, 2000), effort.choose(5, 1));
    let size = format!("d{D}_k{K}_batch{BATCH}");
    for draws in DRAWS {
        let forms = [
            ("predictors", Expectation::Predictors { draws, kept: Kept::Fresh }),
            ("weights", Expectation::Weights { draws, kept: Kept::Fresh }),
        ];
        for (form, expectation) in forms {
            let name = format!("revrand/glm_1000_steps/{form}/{size}_draws{draws}");
            eprintln!("{name}");
            // The script gives seconds for one step: both are divided alike.
            let ours = || Ok(thousand(&data, expectation, steps)? / STEPS as f64);
            let theirs = format!("glm_sgd --d {D} --k {K} --batch {BATCH} --draws {draws}");
            let record = beside_numpy(&environment, name, repetitions, ours, &theirs)?;
            let per_thousand = Record {
                value: record.value * STEPS as f64,
                range: record.range.map(|(min, max)| (min * STEPS as f64, max * STEPS as f64)),
                ..record
            };
            // Drawing D normal numbers for each draw is what the other form does without.
            report.push(if form == "predictors" {
                per_thousand.target(Target::RatioAtLeast(TARGET))
            } else {
                per_thousand
            });
        }
    }
    Ok(report)
}
