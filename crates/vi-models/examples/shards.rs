//! Four threads learn a quarter of the rows each; their models, merged, are the one that saw all rows.
//!
//! `cargo run --example shards`
#![allow(clippy::print_stdout, reason = "an example shows what it finds")]

use std::thread;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_models::ModelError;
use vi_models::online::{OnlineLinear, OnlineSettings, PriorScale, Standardise};

const INPUTS: usize = 8;
const SHARDS: usize = 4;
const ROWS: usize = 20_000;

/// A model that has learned these rows.
fn learned(x: &[f64], y: &[f64]) -> Result<OnlineLinear, ModelError> {
    // Models that are to be merged must mean the same by their weights: columns are scaled by numbers that are fixed beforehand, and one
    // prior scale is given.
    let settings = OnlineSettings {
        standardise: Standardise::Never,
        prior_scale: PriorScale::Given(1.0),
        ..OnlineLinear::default_settings()
    };
    let mut model = OnlineLinear::with_settings(INPUTS, settings, 1e-2, 1e-4)?;
    model.update_batch(x, y)?;
    Ok(model)
}

/// Learns in one thread and in four.
///
/// # Errors
/// Those of the models, and a message where the promise of the last lines is broken.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let weights: [f64; INPUTS] = std::array::from_fn(|_| normal());
    let x: Vec<f64> = (0..ROWS * INPUTS).map(|_| normal()).collect();
    let y: Vec<f64> = x
        .chunks_exact(INPUTS)
        .map(|row| 3.0 + row.iter().zip(&weights).map(|(x, w)| x * w).sum::<f64>() + 0.5 * normal())
        .collect();

    let whole = learned(&x, &y)?;

    let rows = ROWS / SHARDS;
    let shards = thread::scope(|scope| {
        let begun: Vec<_> =
            (x.chunks(rows * INPUTS).zip(y.chunks(rows))).map(|(x, y)| scope.spawn(move || learned(x, y))).collect();
        begun.into_iter().map(|shard| shard.join().map_err(|_| "a thread has died")).collect::<Result<Vec<_>, _>>()
    })?;
    let mut shards = shards.into_iter().collect::<Result<Vec<_>, _>>()?;
    let Some(mut merged) = shards.pop() else { return Err("there are no shards".into()) };
    merged.merge(&shards.iter().collect::<Vec<_>>())?;

    println!("         truth    one thread           four threads, merged");
    let mut furthest: f64 = 0.0;
    for j in 0..INPUTS {
        let (one, four) = (whole.weight(j)?, merged.weight(j)?);
        let (doubt, other) = (one.standard_deviation(), four.standard_deviation());
        println!("{:>14.4} {:>10.4} ± {doubt:.4} {:>14.4} ± {other:.4}", weights[j], one.mean(), four.mean());
        furthest = furthest.max((one.mean() - four.mean()).abs() / doubt).max((doubt / other - 1.0).abs());
    }
    println!(
        "rows: {} and {}; furthest apart: {furthest:.1e} standard deviations",
        whole.info().observations,
        merged.info().observations
    );

    // Exact for a linear model: what is left is the rounding of 20,000 rows, and a doubt is some hundredth of a weight.
    if furthest > ROWS as f64 * f64::EPSILON * 100.0 {
        return Err("merged shards should be the model of all rows".into());
    }
    Ok(())
}
