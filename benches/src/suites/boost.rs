//! Boosting: on the paper's data next to the full-rank Gaussian, and what a step costs.

use std::ops::ControlFlow;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use vi_boost::gaussian::{self, GaussianSettings};
use vi_boost::target::GlmTarget;
use vi_boost::{Boost, BoostSettings, Component, GaussianMixture, LogDensity, Refit};
use vi_core::{BernoulliLogit, DenseGaussian, Mixture8};
use vi_linalg::faer::{Mat, MatRef};

use super::{Effort, Suite};
use crate::BenchError;
use crate::fit::exponent;
use crate::measure::{compare, measure, seconds};
use crate::record::{Record, Report, Target, Unit};

pub(super) const SUITE: Suite =
    Suite { name: "boost", about: "boosting on the Nodal data next to the full-rank Gaussian; cost of a step", run };

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
    steps(&target, effort, &mut report)?;
    steps_by_dimension(effort, &mut report)?;
    densities(effort, &mut report)?;
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
    let mut outcome = Ok(());
    let elapsed = seconds(|| {
        outcome = Boost::new(target, &start, settings, &mut ChaCha8Rng::seed_from_u64(1))
            .and_then(|mut boost| boost.run(|_, _| ControlFlow::Continue(())).map(|_| ()));
    });
    outcome?;
    Ok(elapsed)
}

/// Seconds of the full-rank Gaussian, to the same tolerance as a component's search.
fn full_rank(target: &Nodal) -> Result<f64, BenchError> {
    let start = start(6)?;
    let settings = GaussianSettings { points: POINTS, tolerance: 1e-8, ..GaussianSettings::default() };
    let mut outcome = Ok(());
    let elapsed = seconds(|| {
        outcome = gaussian::fit(target, &start, &settings, &mut ChaCha8Rng::seed_from_u64(1)).map(|_| ());
    });
    outcome?;
    Ok(elapsed)
}

/// Components after which a step is timed.
const COUNTS: [usize; 3] = [4, 8, 16];

/// Seconds of one step by the number of components there are, and the exponent of its growth.
fn steps(target: &Nodal, effort: Effort, report: &mut Report) -> Result<(), BenchError> {
    let counts = &COUNTS[..effort.choose(3, 2)];
    let mut points = Vec::new();
    for &count in counts {
        let name = format!("boost/step/greedy/k{count}");
        eprintln!("{name}");
        let grown = grown(target, count)?;
        let spread = measure(effort.choose(5, 1), || one_step(target, &grown, &start(6)?))?;
        points.push((count as f64, spread.median));
        report.push(Record::alone(name, spread, Unit::Seconds));
    }
    report.push(Record::number("boost/growth/step/k", exponent(&points), Unit::Exponent).target(Target::Below(1.5)));
    Ok(())
}

/// Dimensions in which a step is timed.
const DIMENSIONS: [usize; 4] = [5, 10, 20, 40];

/// Seconds of one step from one Gaussian towards two, by dimension, and the exponent of its growth.
fn steps_by_dimension(effort: Effort, report: &mut Report) -> Result<(), BenchError> {
    let mut points = Vec::new();
    for &d in &DIMENSIONS[..effort.choose(4, 2)] {
        let name = format!("boost/step/greedy/d{d}");
        eprintln!("{name}");
        let (near, far) = (vec![0.0; d], vec![1.5; d]);
        let parts = vec![Component::isotropic(&near, 1.0)?, Component::isotropic(&far, 0.7)?];
        let target = GaussianMixture::new(parts, &[0.6, 0.4])?;
        let q = GaussianMixture::single(Component::isotropic(&near, 1.0)?);
        let spread = measure(effort.choose(5, 1), || one_step(&target, &q, &Component::isotropic(&near, 3.0)?))?;
        points.push((d as f64, spread.median));
        report.push(Record::alone(name, spread, Unit::Seconds));
    }
    report.push(Record::number("boost/growth/step/d", exponent(&points), Unit::Exponent));
    Ok(())
}

/// A mixture of `count` components of its own kind: `count` shifted copies of the full-rank Gaussian.
fn grown(target: &Nodal, count: usize) -> Result<GaussianMixture, BenchError> {
    let settings = GaussianSettings { points: POINTS, tolerance: 1e-8, ..GaussianSettings::default() };
    let (best, _) = gaussian::fit(target, &start(6)?, &settings, &mut ChaCha8Rng::seed_from_u64(1))?;
    let covariance = best.covariance();
    let mut components = Vec::new();
    for k in 0..count {
        let angle = std::f64::consts::TAU * k as f64 / count as f64;
        let mean: Vec<f64> =
            (0..6).map(|j| best.mean()[j] + 0.3 * covariance[(j, j)].sqrt() * (angle + j as f64).sin()).collect();
        components.push(Component::full(&mean, covariance.as_ref())?);
    }
    Ok(GaussianMixture::new(components, &vec![1.0 / count as f64; count])?)
}

fn one_step(target: &impl LogDensity, q: &GaussianMixture, start: &Component) -> Result<f64, BenchError> {
    let settings = settings(q.len() + 1, Refit::Never);
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut boost = Boost::from_mixture(target, q.clone(), start, &settings, &mut rng)?;
    let mut outcome = Ok(());
    let elapsed = seconds(|| outcome = boost.step().map(|_| ()));
    outcome?;
    Ok(elapsed)
}

/// Seconds per point of the log-density with its gradient, by dimension and number of components.
fn densities(effort: Effort, report: &mut Report) -> Result<(), BenchError> {
    let sizes = [(6, 1), (6, 4), (6, 16), (25, 4), (50, 4), (100, 4)];
    let mut by_count = Vec::new();
    let mut by_dimension = Vec::new();
    for (d, count) in sizes {
        let name = format!("boost/density/gradient/d{d}_k{count}");
        eprintln!("{name}");
        let covariance = Mat::from_fn(d, d, |i, j| if i == j { 2.0 } else { 1.0 / (1 + i.abs_diff(j)) as f64 });
        let component = |k: usize| Component::full(&vec![k as f64; d], covariance.as_ref());
        let components = (0..count).map(component).collect::<Result<Vec<_>, _>>()?;
        let q = GaussianMixture::new(components, &vec![1.0 / count as f64; count])?;
        let points = q.draw(2048, &mut ChaCha8Rng::seed_from_u64(1));
        let (mut values, mut gradients) = (vec![0.0; 2048], Mat::zeros(2048, d));
        let spread = measure(effort.choose(15, 1), || {
            let mut outcome = Ok(());
            let elapsed = seconds(|| {
                outcome = q.log_densities_and_gradients(points.as_ref(), &mut values, gradients.as_mut());
            });
            outcome?;
            Ok::<_, BenchError>(elapsed / 2048.0)
        })?;
        if d == 6 {
            by_count.push((count as f64, spread.median));
        } else {
            by_dimension.push((d as f64, spread.median));
        }
        report.push(Record::alone(name, spread, Unit::Seconds));
    }
    for (name, points) in [("boost/growth/density/k", by_count), ("boost/growth/density/d", by_dimension)] {
        report.push(Record::number(name, exponent(&points), Unit::Exponent));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_steps_take_time_and_end() {
        let target = nodal().unwrap();
        assert!(boosted(&target, &settings(2, Refit::Never)).unwrap() > 0.0);
        assert!(full_rank(&target).unwrap() > 0.0);
        let grown = grown(&target, 3).unwrap();
        assert_eq!(grown.len(), 3);
        assert!(one_step(&target, &grown, &start(6).unwrap()).unwrap() > 0.0);
    }
}
