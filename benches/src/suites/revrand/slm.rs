//! The standard linear model: seconds per fit and per evaluation of the evidence, against the number of features.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_linalg::faer::Par;
use vi_revrand::Kernel;
use vi_revrand::basis::{LengthScale, RandomFourier};
use vi_revrand::slm::{self, Hyperparameters, SlmSettings};

use super::Effort;
use crate::BenchError;
use crate::fit::exponent;
use crate::measure::{measure, seconds};
use crate::record::{Record, Report, Target, Unit};
use crate::stream::Stream;

/// Rows and inputs.
const ROWS: usize = 2000;
const INPUTS: usize = 8;
/// Numbers of features, fewer than rows.
const FEATURES: [usize; 4] = [100, 200, 400, 800];

pub(super) fn run(effort: Effort, report: &mut Report) -> Result<(), BenchError> {
    let rows = effort.choose(ROWS, 500);
    let stream = Stream::new(INPUTS, rows);
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    let noise = |rng: &mut ChaCha8Rng| -> f64 { StandardNormal.sample(rng) };
    let y: Vec<f64> = stream.responses().iter().map(|t| t.sin() + 0.1 * noise(rng)).collect();
    let features = FEATURES.into_iter().filter(|features| 2 * features <= rows);
    let mut growth = Vec::new();
    for features in features {
        let basis = RandomFourier::new(Kernel::Rbf, INPUTS, features / 2, LengthScale::Shared(1.0), rng)?;
        let at = Hyperparameters::start(&basis, 0.1);
        let x = stream.inputs();
        let name = format!("revrand/slm/evidence/D{features}_n{rows}");
        eprintln!("{name}");
        let spread = measure(effort.choose(9, 2), || {
            let mut done = Ok(());
            let elapsed = seconds(|| done = slm::evidence(&basis, &at, x, &y, Par::Seq).map(|_| ()));
            done?;
            Ok::<_, BenchError>(elapsed)
        })?;
        growth.push((features as f64, spread.median));
        report.push(Record::alone(name, spread, Unit::Seconds).note("value and gradient, once"));

        let (mut evaluations, mut stop) = (0, None);
        let spread = measure(effort.choose(3, 1), || {
            let settings = SlmSettings { noise_variance: 0.1, starts: 1, ..SlmSettings::default() };
            let mut fit = None;
            let elapsed = seconds(|| fit = Some(slm::learn(basis.clone(), x, &y, &settings, rng, Par::Seq)));
            if let Some(fit) = fit {
                let info = fit?.info;
                (evaluations, stop) = (info.evaluations, Some(info.stop));
            }
            Ok::<_, BenchError>(elapsed)
        })?;
        let record = Record::alone(format!("revrand/slm/fit/D{features}_n{rows}"), spread, Unit::Seconds);
        let stop = stop.map_or(String::new(), |stop| format!(", {stop:?}"));
        report.push(record.note(format!("whole fit, {evaluations} evaluations{stop}")));
    }
    // 3·n·D² + D³/3 flops, and what does not grow as fast: between 1 and 2.3 at the full sizes.
    if growth.len() == FEATURES.len() {
        let record = Record::number("revrand/slm/growth/D", exponent(&growth), Unit::Exponent);
        report.push(record.target(Target::Below(2.3)));
    }
    Ok(())
}
