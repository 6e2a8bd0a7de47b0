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
use vi_boost::{BoostSettings, Component, GaussianMixture, LogDensity, Refit, boost};

use crate::CaseError;

/// Seed of every run of the shapes: the algorithms promise their bounds for any.
pub const SEED: u64 = 1;

/// Runs tried before a bound counts as missed.
const RESTARTS: usize = 8;

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
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    Ok(boost::best_of(target, start, &settings, RESTARTS, near, &mut rng, |_, _| ControlFlow::Continue(()))?.0)
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
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    Ok(boost::best_of(target, start, &settings, 0, 0.0, &mut rng, |_, _| ControlFlow::Continue(()))?.0)
}
