//! The front door as a caller meets it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod any_kind;
mod batches;
mod blocks;
mod by_class;
mod censored;
mod certified;
mod doors;
mod drift;
mod exact;
mod families;
mod fractions;
mod hashed;
mod inflated;
mod learning;
mod narrow;
mod order;
mod ordered;
mod passes;
mod robust;
mod sandwich;
mod scales;
mod spread;
mod stored;
mod survival;
mod trial;
mod varying;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use vi_models::online::{BeliefKind, OnlineLogistic, OnlineSettings};

pub(crate) const KINDS: [BeliefKind; 4] =
    [BeliefKind::Full, BeliefKind::SquareRoot, BeliefKind::LowRank { rank: 2 }, BeliefKind::Diagonal];

/// `n` rows of 3 inputs of very different scales, and labels.
pub(crate) fn stream(n: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut rows, mut labels) = (Vec::new(), Vec::new());
    for _ in 0..n {
        let z: [f64; 3] = std::array::from_fn(|_| rng.sample(StandardNormal));
        rows.extend([z[0], 100.0 + 30.0 * z[1], 1e-3 * z[2]]);
        let p = 1.0 / (1.0 + (-(0.5 + 1.5 * z[0] - z[1])).exp());
        labels.push(if rng.random::<f64>() < p { 1.0 } else { 0.0 });
    }
    (rows, labels)
}

pub(crate) fn settings(belief: BeliefKind) -> OnlineSettings {
    OnlineSettings { belief, ..OnlineSettings::default() }
}

pub(crate) fn bits(model: &OnlineLogistic) -> String {
    serde_json::to_string(model).unwrap()
}

/// `n` rows of 2 inputs, and numbers.
pub(crate) fn numbers(n: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let rows: Vec<f64> = (0..2 * n).map(|_| rng.sample(StandardNormal)).collect();
    let noise = |rng: &mut ChaCha8Rng| 0.3 * rng.sample::<f64, _>(StandardNormal);
    let labels = rows.chunks(2).map(|x| 5.0 + x[0] - 2.0 * x[1] + noise(&mut rng)).collect();
    (rows, labels)
}

include!("../../../../tests/src/slow.rs");
