//! The constants of the guide's page on scale, and its model checked against a run of many partitions.
//!
//! `cargo run --release --example scale`, from the folder of this crate.
#![allow(clippy::print_stdout, reason = "a program that measures")]

use std::error::Error;
use std::hint::black_box;
use std::thread;
use std::time::Instant;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_sums::{At, Family, GlmPrior, LinearPosterior, LinearPrior, LinearSums, OnePass, PassSums, Posterior};

type Done<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Rows of a batch, as engines have them.
const BATCH: usize = 8192;
const THREADS: usize = 2;

/// A batch of `d` columns and labels.
struct Batch {
    x: Vec<Vec<f64>>,
    y: Vec<f64>,
    class: Vec<f64>,
}

impl Batch {
    fn new(d: usize) -> Self {
        let rng = &mut ChaCha8Rng::seed_from_u64(1);
        let mut column = || -> Vec<f64> { (0..BATCH).map(|_| StandardNormal.sample(rng)).collect() };
        let x: Vec<Vec<f64>> = (0..d).map(|_| column()).collect();
        let y: Vec<f64> = column().iter().zip(&x[0]).map(|(noise, x)| x + noise).collect();
        let class = y.iter().map(|y| f64::from(u8::from(*y > 0.0))).collect();
        Self { x, y, class }
    }

    fn columns(&self) -> Vec<&[f64]> {
        self.x.iter().map(Vec::as_slice).collect()
    }
}

/// Seconds of one call, over calls that take half a second in all.
fn seconds(mut call: impl FnMut() -> Done<()>) -> Done<f64> {
    call()?;
    let (begun, mut calls) = (Instant::now(), 0_u32);
    while begun.elapsed().as_secs_f64() < 0.5 {
        call()?;
        calls += 1;
    }
    Ok(begun.elapsed().as_secs_f64() / f64::from(calls))
}

/// What the model takes for a number of inputs, in seconds, on one thread.
struct Constants {
    /// A row of `vi_linear`.
    row: f64,
    /// A row of `vi_pass`, logistic.
    pass: f64,
    /// A state merged.
    merge: f64,
    /// A posterior made, stored and read.
    record: f64,
    /// The fit out of the sums.
    fit: f64,
}

fn constants(d: usize) -> Done<Constants> {
    let batch = Batch::new(d);
    let columns = batch.columns();
    let mut sums = LinearSums::new(d)?;
    let row = seconds(|| Ok(sums.update_columns(&columns, &batch.y)?))? / BATCH as f64;

    let prior = GlmPrior::default();
    let start = OnePass::new(Family::Logistic, prior, d)?.posterior()?.belief()?;
    let at = At::belief(Family::Logistic, prior, &start)?;
    let mut statistics = PassSums::new(&at);
    let pass = seconds(|| Ok(statistics.update_columns(&at, &columns, &batch.class)?))? / BATCH as f64;

    let mut merged = sums.clone();
    let merge = seconds(|| Ok(merged.merge_flat(sums.flat())?))?;
    let posterior = LinearPosterior::of(LinearPrior::default(), sums)?;
    let fit = seconds(|| {
        black_box(posterior.fit()?);
        Ok(())
    })?;
    let posterior = Posterior::from(posterior);
    let record = seconds(|| {
        black_box(Posterior::decode(&posterior.encode()?)?);
        Ok(())
    })?;
    Ok(Constants { row, pass, merge, record, fit })
}

/// Merges states in pairs, then pairs of pairs, on all threads.
fn tree(mut states: Vec<LinearSums>) -> Done<LinearSums> {
    while states.len() > 1 {
        let pairs = states.len().div_ceil(2);
        let share = pairs.div_ceil(THREADS) * 2;
        let halves = thread::scope(|scope| {
            let running: Vec<_> = states
                .chunks_mut(share)
                .map(|own| {
                    scope.spawn(move || -> Done<()> {
                        for pair in own.chunks_mut(2) {
                            if let [left, right] = pair {
                                left.merge(right)?;
                            }
                        }
                        Ok(())
                    })
                })
                .collect();
            running.into_iter().map(thread::ScopedJoinHandle::join).collect::<Vec<_>>()
        });
        for half in halves {
            half.map_err(|_| "a thread ended early")??;
        }
        let mut place = 0;
        states.retain(|_| {
            place += 1;
            place % 2 == 1
        });
    }
    states.pop().ok_or_else(|| "no states".into())
}

/// Folds `batches` batches in each of `partitions` partitions on all threads and merges them, beside what the constants say.
fn many(d: usize, partitions: usize, batches: usize, told: &Constants) -> Done<()> {
    let batch = Batch::new(d);
    let columns = batch.columns();
    let begun = Instant::now();
    let folded = thread::scope(|scope| {
        let running: Vec<_> = (0..THREADS)
            .map(|own| {
                let (columns, batch) = (&columns, &batch);
                scope.spawn(move || -> Done<Vec<LinearSums>> {
                    let mut states = Vec::new();
                    for _ in (own..partitions).step_by(THREADS) {
                        let mut sums = LinearSums::new(d)?;
                        for _ in 0..batches {
                            sums.update_columns(columns, &batch.y)?;
                        }
                        states.push(sums);
                    }
                    Ok(states)
                })
            })
            .collect();
        running.into_iter().map(thread::ScopedJoinHandle::join).collect::<Vec<_>>()
    });
    let mut states = Vec::new();
    for own in folded {
        states.extend(own.map_err(|_| "a thread ended early")??);
    }
    let folding = begun.elapsed().as_secs_f64();
    let mut chain = states[0].clone();
    let begun = Instant::now();
    for state in &states[1..] {
        chain.merge(state)?;
    }
    let chained = begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    let whole = tree(states)?;
    let merging = begun.elapsed().as_secs_f64();
    let rows = partitions * batches * BATCH;
    assert_eq!((whole.rows(), chain.rows()), (rows as u64, rows as u64));
    let worst =
        whole.scatter().iter().zip(chain.scatter()).map(|(a, b)| (a - b).abs() / rows as f64).fold(0.0, f64::max);
    // The columns have unit variance.
    assert!(worst < 1e-12, "{worst}");
    let expected = rows as f64 * told.row / THREADS as f64;
    println!(
        "d = {d}, {partitions} partitions, {rows} rows: folded in {folding:.2} s (model {expected:.2}), merged one after another in {:.1} ms (model {:.1}), as a tree on {THREADS} threads in {:.1} ms; they differ by {worst:.0e}",
        chained * 1e3,
        told.merge * (partitions - 1) as f64 * 1e3,
        merging * 1e3
    );
    Ok(())
}

fn main() -> Done<()> {
    println!("      d  linear, rows/s  GFlop/s  pass, rows/s  state, kB  merge, ms  record, ms   fit, ms");
    let mut found = Vec::new();
    for d in [10, 30, 100, 300, 1000] {
        let told = constants(d)?;
        println!(
            "{d:7} {:15.0} {:8.1} {:13.0} {:10.1} {:10.4} {:11.4} {:9.3}",
            told.row.recip(),
            (d * d) as f64 / told.row / 1e9,
            told.pass.recip(),
            (8 * LinearSums::flat_len(d)) as f64 / 1e3,
            told.merge * 1e3,
            told.record * 1e3,
            told.fit * 1e3
        );
        found.push((d, told));
    }
    for (d, told) in &found {
        let (partitions, batches) = match d {
            10 => (4096, 8),
            100 => (1024, 2),
            1000 => (64, 1),
            _ => continue,
        };
        many(*d, partitions, batches, told)?;
    }
    let told = &found[found.len() - 1].1;
    let hours = |row: f64| 1e10 * row / 100.0 / 3600.0;
    println!(
        "10^10 rows, d = 1000, 100 cores: linear {:.2} hours, a pass {:.2} hours; states of a tree of 128: {:.3} s on each path",
        hours(told.row),
        hours(told.pass),
        7.0 * told.merge
    );
    Ok(())
}
