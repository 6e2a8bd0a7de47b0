//! Eight posteriors with reference draws: every method from every start, by the worst parameter's 1-Wasserstein distance.

use std::ops::ControlFlow;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use vi_boost::gaussian::{self, GaussianSettings};
use vi_boost::{
    Boost, BoostError, BoostSettings, Component, Diagnosis, Evaluations, FitSettings, GaussianMixture, LogDensity as _,
    fit,
};
use vi_linalg::faer::Mat;

use super::{Effort, Suite};
use crate::BenchError;
use crate::measure::seconds;
use crate::posteriors::{Case, Counted, batch_and_match, cases, full_rank_advi, multi_path, reported, wasserstein};
use crate::record::{Record, Report, Target, Unit};

pub(super) const SUITE: Suite = Suite {
    name: "posteriors",
    about: "eight posteriors with reference draws: ours, Pathfinder, ADVI, batch and match",
    run,
};

/// Draws of an approximation that are compared with the reference.
const DRAWS: usize = 10_000;

/// What a method returned.
struct Outcome {
    draws: Mat<f64>,
    /// The mixture, where there is one to diagnose.
    mixture: Option<GaussianMixture>,
    evaluations: u64,
    /// Their numbers by phase, for methods that count them.
    phases: Option<Evaluations>,
}

impl Outcome {
    fn of(mixture: GaussianMixture, evaluations: u64, rng: &mut ChaCha8Rng) -> Self {
        Self { draws: mixture.draw(DRAWS, rng), mixture: Some(mixture), evaluations, phases: None }
    }

    fn gaussian(mean: &[f64], factor: &Mat<f64>, evaluations: u64, rng: &mut ChaCha8Rng) -> Result<Self, BoostError> {
        let component = Component::full(mean, (factor * factor.transpose()).as_ref())?;
        Ok(Self::of(GaussianMixture::single(component), evaluations, rng))
    }
}

/// A method: from a case and a start's standard deviation to draws; a message where there are none.
struct Method {
    name: &'static str,
    /// Whether it takes no start.
    startless: bool,
    run: fn(&Case, f64, &mut ChaCha8Rng) -> Result<Outcome, String>,
}

impl Method {
    /// Whether the posterior has the form that the method takes.
    fn takes(&self, case: &Case) -> bool {
        self.name != "nested" || case.nested.is_some()
    }
}

const METHODS: &[Method] = &[
    Method { name: "fit", startless: true, run: one_call },
    Method { name: "nested", startless: true, run: latent },
    Method { name: "boost", startless: false, run: boost },
    Method { name: "gaussian", startless: false, run: single },
    Method { name: "multi_path", startless: false, run: paths },
    Method { name: "advi", startless: false, run: advi },
    Method { name: "batch_match", startless: false, run: matched },
];

fn run(effort: Effort) -> Result<Report, BenchError> {
    let mut report = Report::default();
    let starts = &[3.0, 1.0, 10.0][..effort.choose(3, 1)];
    for case in cases()? {
        for method in METHODS.iter().filter(|method| method.takes(&case)) {
            // A method without a start has seeds instead.
            for (k, &sd) in starts.iter().enumerate() {
                let (seed, of) =
                    if method.startless { (1 + k as u64, format!("seed{}", 1 + k)) } else { (1, format!("s{sd}")) };
                let name = format!("posteriors/{}/{}/{of}", case.name, method.name);
                let record = measured(&case, method, (sd, seed), name)?;
                eprintln!("{} {:.3} {}", record.name, record.value, record.note.as_deref().unwrap_or_default());
                report.push(record);
            }
        }
    }
    Ok(report)
}

/// The distance of one run, with everything else about it in the note.
fn measured(case: &Case, method: &Method, (sd, seed): (f64, u64), name: String) -> Result<Record, BenchError> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut outcome = Err(String::new());
    let elapsed = seconds(|| outcome = (method.run)(case, sd, &mut rng));
    let record = match outcome {
        Ok(outcome) => {
            let draws =
                if method.name == "nested" { outcome.draws } else { reported(&case.target, outcome.draws.as_ref())? };
            let distance = wasserstein(case, draws.as_ref());
            let diagnosis = outcome.mixture.as_ref().map(|q| Diagnosis::of(q, &case.target, 4000, f64::NAN, &mut rng));
            let quality = match diagnosis {
                Some(Ok(found)) => format!("KL {:.4}, k̂ {:.2}, ", found.kl, found.k_hat),
                _ => String::new(),
            };
            let evaluations = outcome.evaluations;
            let phases = outcome.phases.map_or_else(String::new, told);
            Record::number(name, distance.worst, Unit::Deviations)
                .note(format!("mean {:.3}, {quality}{elapsed:.2} s, {evaluations} evaluations{phases}", distance.mean))
        }
        Err(message) => Record::number(name, f64::INFINITY, Unit::Deviations).note(message),
    };
    let limit = match (method.name, sd) {
        ("fit" | "nested", _) | ("boost", 3.0) => Some(0.05),
        ("boost", _) => Some(0.1),
        ("gaussian", _) if case.near_gaussian => Some(0.1),
        _ => None,
    };
    Ok(match limit {
        Some(limit) => record.target(Target::Below(limit)),
        None => record,
    })
}

/// Evaluations with and without gradient, by phase.
fn told(spent: Evaluations) -> String {
    let phases = spent.phases().map(|(name, of)| format!("{name} {} and {}", of.gradients, of.values));
    format!(" ({} with gradient; with and without: {})", spent.all().gradients, phases.join(", "))
}

fn start(case: &Case, sd: f64) -> Result<Component, BoostError> {
    Component::isotropic(&vec![0.0; case.target.dim()], sd)
}

/// Errors as what the table says.
fn said<T>(result: Result<T, BoostError>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

fn one_call(case: &Case, _: f64, rng: &mut ChaCha8Rng) -> Result<Outcome, String> {
    let found = said(fit(&case.target, &FitSettings::default(), rng))?;
    let spent = found.evaluations;
    Ok(Outcome { phases: Some(spent), ..Outcome::of(found.mixture, spent.all().total(), rng) })
}

fn latent(case: &Case, _: f64, rng: &mut ChaCha8Rng) -> Result<Outcome, String> {
    let nested = case.nested.as_ref().ok_or("not a latent Gaussian model")?;
    let (draws, found) = said(nested(rng))?;
    Ok(Outcome { draws, mixture: None, evaluations: found.work.evaluations, phases: None })
}

fn boost(case: &Case, sd: f64, rng: &mut ChaCha8Rng) -> Result<Outcome, String> {
    let start = said(start(case, sd))?;
    let mut run = said(Boost::new(&case.target, &start, &BoostSettings::default(), rng))?;
    said(run.run(|_, _| ControlFlow::Continue(())))?;
    let found = run.mixture().zip(run.last()).map(|(q, info)| (q.clone(), info.evaluations));
    let (q, evaluations) = found.ok_or("no mixture")?;
    Ok(Outcome::of(q, evaluations, rng))
}

fn single(case: &Case, sd: f64, rng: &mut ChaCha8Rng) -> Result<Outcome, String> {
    let (q, info) = said(gaussian::fit(&case.target, &said(start(case, sd))?, &GaussianSettings::default(), rng))?;
    Ok(Outcome::of(GaussianMixture::single(q), info.target_evaluations, rng))
}

/// Paths of Pathfinder.
const PATHS: usize = 20;

fn paths(case: &Case, sd: f64, rng: &mut ChaCha8Rng) -> Result<Outcome, String> {
    let target = Counted::new(&case.target);
    let draws = multi_path(&target, sd, PATHS, DRAWS, rng).ok_or("no path")?;
    Ok(Outcome { draws, mixture: None, evaluations: target.evaluations(), phases: None })
}

fn advi(case: &Case, sd: f64, rng: &mut ChaCha8Rng) -> Result<Outcome, String> {
    let target = Counted::new(&case.target);
    let (mean, factor) = full_rank_advi(&target, sd, 10_000, rng);
    said(Outcome::gaussian(&mean, &factor, target.evaluations(), rng))
}

fn matched(case: &Case, sd: f64, rng: &mut ChaCha8Rng) -> Result<Outcome, String> {
    let target = Counted::new(&case.target);
    let (mean, factor) = batch_and_match(&target, sd, 2000, 32, rng);
    said(Outcome::gaussian(&mean, &factor, target.evaluations(), rng))
}

#[cfg(test)]
mod tests {
    use vi_boost::LogDensity;
    use vi_boost::target::difference;

    use super::*;

    /// A target of which only values are known.
    struct Blind<'a>(&'a dyn LogDensity);

    impl LogDensity for Blind<'_> {
        fn dim(&self) -> usize {
            self.0.dim()
        }

        fn log_density(&self, theta: &[f64]) -> f64 {
            self.0.log_density(theta)
        }
    }

    #[test]
    fn gradients_are_those_of_differences() {
        for case in cases().unwrap() {
            let d = case.target.dim();
            // Where the mode's search of one call ends, and a little aside.
            let q = Component::isotropic(&vec![0.1; d], 0.3).unwrap();
            let points = GaussianMixture::single(q).draw(5, &mut ChaCha8Rng::seed_from_u64(3));
            for i in 0..5 {
                let u: Vec<f64> = (0..d).map(|j| points[(i, j)]).collect();
                let (mut exact, mut found) = (vec![0.0; d], vec![0.0; d]);
                let value = case.target.value_and_gradient(&u, &mut exact).unwrap();
                let alone = case.target.log_density(&u);
                if !value.is_finite() {
                    continue;
                }
                assert!((value - alone).abs() <= 1e-9 * value.abs().max(1.0), "{}: {value} {alone}", case.name);
                difference::gradient(&Blind(&case.target), &u, &vec![0.1; d], &mut found).unwrap();
                let size = exact.iter().fold(value.abs(), |a, b| a.max(b.abs()));
                for (exact, found) in exact.iter().zip(&found) {
                    // ε^⅔ over steps in units of 0.1, times what cancels in the value.
                    assert!((exact - found).abs() < 1e-5 * size, "{}: {exact} {found}", case.name);
                }
            }
        }
    }

    #[test]
    fn the_measure_of_the_reference_itself_is_its_resolution() {
        for case in cases().unwrap() {
            assert_eq!(case.quantiles.len(), case.names.len());
            let own = Mat::from_fn(400, case.quantiles.len(), |i, j| case.quantiles[j][i]);
            assert!(wasserstein(&case, own.as_ref()).worst < 1e-12);
        }
    }

    #[test]
    fn a_near_gaussian_posterior_is_met() {
        for case in cases().unwrap().iter().filter(|case| ["arK", "nes1980"].contains(&case.name)) {
            for method in METHODS.iter().filter(|method| ["gaussian", "batch_match", "advi"].contains(&method.name)) {
                let record = measured(case, method, (1.0, 1), format!("{} by {}", case.name, method.name)).unwrap();
                // The floor of 10,000 draws on either side is 0.03; a Gaussian's skewness adds a little.
                assert!(record.value < 0.1, "{record:?}");
            }
        }
    }
}
