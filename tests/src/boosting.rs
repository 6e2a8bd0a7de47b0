//! What the shapes of boosting variational inference share: targets as the files hold them, divergences by quadrature, runs.

mod literal;
mod quadrature;
mod toy;

pub use literal::{Literal, overlap_gap};
pub use quadrature::Quadrature;
pub use toy::Toy;
pub(crate) use toy::start;

use std::ops::ControlFlow;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use vi_boost::{Boost, BoostError, BoostSettings, Component, GaussianMixture, LogDensity, Refit};

use crate::CaseError;

/// Seed of every run of the shapes: the algorithms promise their bounds for any.
pub const SEED: u64 = 1;

/// Runs tried before a bound counts as missed.
const RESTARTS: usize = 8;

/// The mixture with the largest bound on the log evidence among a run and up to `restarts` more, and the number of runs. They end
/// early when that bound is within `near` nats of the largest estimate of the log evidence seen.
///
/// # Errors
/// That of a run; `NoStart` where a run ends without a mixture.
pub fn best_of<T: LogDensity>(
    target: &T,
    start: &Component,
    settings: &BoostSettings,
    (restarts, near): (usize, f64),
    seed: u64,
) -> Result<(GaussianMixture, usize), BoostError> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut runs, mut objective, mut log_evidence) = (0, f64::INFINITY, f64::NEG_INFINITY);
    let mut best = None;
    while runs == 0 || (runs <= restarts && objective + log_evidence > near) {
        let mut run = Boost::new(target, start, settings, &mut rng)?;
        run.run(|_, _| ControlFlow::Continue(()))?;
        runs += 1;
        if let (Some(info), Some(q)) = (run.last(), run.mixture()) {
            log_evidence = log_evidence.max(info.log_evidence.value);
            if info.objective.value < objective {
                (objective, best) = (info.objective.value, Some(q.clone()));
            }
        }
    }
    let none = BoostError::NoStart { points: 0, zero: 0, nan: 0, infinite: 0 };
    best.map(|q| (q, runs)).ok_or(none)
}

/// What a refit of `count` components finds from `start`: several runs where the first is not near the evidence it sees itself.
///
/// # Errors
/// [`CaseError::Boost`].
pub fn refitted<T: LogDensity>(
    target: &T,
    start: &Component,
    count: usize,
    points: usize,
    near: f64,
) -> Result<GaussianMixture, CaseError> {
    let settings = BoostSettings { refit: Refit::Each, polish: 4 * points, ..unrefitted(count, points) };
    Ok(best_of(target, start, &settings, (RESTARTS, near), SEED)?.0)
}

fn unrefitted(components: usize, points: usize) -> BoostSettings {
    let (points, refit) = (Some(points), Refit::Never);
    BoostSettings { components, points, improvement: 1e-6, refit, ..BoostSettings::default() }
}

/// What the greedy algorithm without a refit finds with at most `count` components.
///
/// # Errors
/// [`CaseError::Boost`].
pub fn greedy<T: LogDensity>(
    target: &T,
    start: &Component,
    count: usize,
    points: usize,
) -> Result<GaussianMixture, CaseError> {
    let settings = unrefitted(count, points);
    Ok(best_of(target, start, &settings, (0, 0.0), SEED)?.0)
}
