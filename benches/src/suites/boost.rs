//! Boosting on the paper's data next to the full-rank Gaussian.

use std::ops::ControlFlow;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use vi_boost::gaussian::{self, GaussianSettings};
use vi_boost::target::GlmTarget;
use vi_boost::{Boost, BoostSettings, Component, Refit};
use vi_core::{BernoulliLogit, DenseGaussian, Mixture8};
use vi_linalg::faer::MatRef;

use super::{Effort, Suite};
use crate::BenchError;
use crate::measure::{compare, timed};
use crate::record::{Record, Report, Target};

pub(super) const SUITE: Suite =
    Suite { name: "boost", about: "boosting on the Nodal data next to the full-rank Gaussian", run };

/// Points of each component, and of the full-rank Gaussian.
const POINTS: usize = 1024;

/// Name of the baseline.
const FULL_RANK: &str = "full-rank Gaussian";

type Nodal = GlmTarget<BernoulliLogit<Mixture8>>;

fn run(effort: Effort) -> Result<Report, BenchError> {
    let mut report = Report::default();
    let target = nodal()?;
    let repetitions = effort.choose(5, 1);
    for (what, settings, target_time) in [
        ("greedy16", settings(effort.choose(16, 4), Refit::Never), Some(Target::RatioAtLeast(1.0 / 20.0))),
        ("refitted2", settings(2, Refit::Each), None),
        ("refitted3", settings(3, Refit::Each), None),
    ] {
        let name = format!("boost/{what}/nodal/n{POINTS}");
        eprintln!("{name}");
        let compared = compare(repetitions, || boosted(&target, &settings), || full_rank(&target))?;
        // "In seconds".
        let record = Record::compared(name, compared, FULL_RANK).target(Target::Below(10.0));
        report.push(match target_time {
            Some(target) => record.target(target),
            None => record,
        });
    }
    Ok(report)
}

fn nodal() -> Result<Nodal, BenchError> {
    let data = vi_data::nodal()?;
    let prior = DenseGaussian::isotropic(&vec![0.0; data.d()], 1.0)?;
    let x = MatRef::from_row_major_slice(data.rows_row_major(), data.n(), data.d());
    Ok(GlmTarget::new(&prior, x, data.y(), BernoulliLogit(Mixture8))?)
}

/// The paper's start, N(0, 10·I).
fn start(d: usize) -> Result<Component, BenchError> {
    Ok(Component::isotropic(&vec![0.0; d], 10.0_f64.sqrt())?)
}

fn settings(components: usize, refit: Refit) -> BoostSettings {
    BoostSettings { components, points: Some(POINTS), improvement: 1e-6, refit, ..BoostSettings::default() }
}

/// Seconds of a whole run.
fn boosted(target: &Nodal, settings: &BoostSettings) -> Result<f64, BenchError> {
    let start = start(6)?;
    let run = || {
        let mut boost = Boost::new(target, &start, settings, &mut ChaCha8Rng::seed_from_u64(1))?;
        boost.run(|_, _| ControlFlow::Continue(())).map(|_| ())
    };
    Ok(timed(run)?.0)
}

/// Seconds of the full-rank Gaussian, to the same tolerance as a component's search.
fn full_rank(target: &Nodal) -> Result<f64, BenchError> {
    let start = start(6)?;
    let settings = GaussianSettings { points: POINTS, tolerance: 1e-8, ..GaussianSettings::default() };
    Ok(timed(|| gaussian::fit(target, &start, &settings, &mut ChaCha8Rng::seed_from_u64(1)))?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_take_time_and_end() {
        let target = nodal().unwrap();
        assert!(boosted(&target, &settings(2, Refit::Never)).unwrap() > 0.0);
        assert!(full_rank(&target).unwrap() > 0.0);
    }
}
