//! A dense covariance whose changes wait and are written together, against one that is written row by row.

use vi_core::{Belief, Checkpoint, DenseGaussian, Row, Site};
use vi_linalg::faer::Mat;
use vi_linalg::kernels::{mirror_lower, symmetric_mul_vec, symmetric_scaled_rank_one};

use crate::common::{difference, prior, rng, rows};

/// Enough dimensions for changes to wait, some 16 of them.
const D: usize = 130;

type Step = <DenseGaussian as Belief>::Step;

/// A row's site and what is forgotten before it; some rows tell much, some widen the belief.
fn site(t: usize) -> (Site, f64) {
    let curvature = [0.3, 0.02, 5.0, -1e-4, 0.7][t % 5];
    (Site { slope: 0.1 * (t % 7) as f64 - 0.3, curvature }, if t % 11 == 3 { 0.97 } else { 1.0 })
}

fn learn(belief: &mut DenseGaussian, t: usize, x: &[f64], step: &mut Step) {
    let (site, fade) = site(t);
    belief.project(Row::Dense(x), fade, step).unwrap();
    belief.absorb(Row::Dense(x), site, step).unwrap();
}

/// `μ ← μ + e·P′x`, `P ← P′ − c·(P′x)(P′x)ᵀ`, written at once.
fn written(mean: &mut [f64], lower: &mut Mat<f64>, t: usize, x: &[f64]) {
    let (site, fade) = site(t);
    let mut gain = vec![0.0; x.len()];
    symmetric_mul_vec(&mut gain, lower.as_ref(), x);
    let variance = x.iter().zip(&gain).map(|(x, g)| x * g).sum::<f64>() / fade;
    let (e, c) = (site.gain(variance) / fade, site.shrinkage(variance) / fade);
    mean.iter_mut().zip(&gain).for_each(|(mean, gain)| *mean += e * gain);
    symmetric_scaled_rank_one(lower.as_mut(), 1.0 / fade, -c, &gain);
}

#[test]
fn changes_that_wait_count_in_every_answer() {
    let start = prior(D, 2.0, &mut rng(1));
    let x = rows(200, D, &mut rng(2));
    let (mut mean, mut lower) = (start.mean().to_vec(), start.covariance());
    let (mut belief, mut step) = (start, Step::default());
    for (t, x) in x.chunks_exact(D).enumerate() {
        learn(&mut belief, t, x, &mut step);
        written(&mut mean, &mut lower, t, x);
        if t % 23 == 0 || t == 199 {
            let mut full = lower.clone();
            mirror_lower(full.as_mut());
            let twin = DenseGaussian::new(&mean, full.as_ref()).unwrap();
            // A rounding of each of `t` changes, times the condition of the prior (some 10) and the terms of a product.
            let tolerance = 10.0 * (t + D) as f64 * f64::EPSILON;
            assert!(difference(&belief, &twin) < tolerance, "{t}: {:e}", difference(&belief, &twin));
            let (seen, expected) = (belief.predict(x).unwrap(), twin.predict(x).unwrap());
            assert!((seen.variance / expected.variance - 1.0).abs() < tolerance * D as f64);
        }
    }
}

#[test]
fn looking_ahead_changes_no_bit() {
    let x = rows(150, D, &mut rng(3));
    let rows: Vec<Row<'_>> = x.chunks_exact(D).map(Row::Dense).collect();
    let run = |ahead: usize| {
        let (mut belief, mut step) = (prior(D, 2.0, &mut rng(1)), Step::default());
        for (t, x) in x.chunks_exact(D).enumerate() {
            belief.look_ahead(&rows[t..rows.len().min(t + ahead)], &mut step);
            learn(&mut belief, t, x, &mut step);
        }
        belief
    };
    let alone = run(0);
    for ahead in [1, 2, 5, 1000] {
        let other = run(ahead);
        assert_eq!((other.mean(), other.covariance()), (alone.mean(), alone.covariance()), "{ahead}");
    }
}

#[test]
fn a_belief_stored_while_changes_wait_goes_on_to_the_bit() {
    let x = rows(100, D, &mut rng(4));
    let (mut belief, mut step) = (prior(D, 2.0, &mut rng(1)), Step::default());
    for (t, row) in x.chunks_exact(D).enumerate() {
        if t % 9 == 4 {
            let mut bytes = Vec::new();
            belief.write_to(&mut bytes).unwrap();
            let mut again = DenseGaussian::read_from(&mut bytes.as_slice()).unwrap();
            let mut whole = belief.clone();
            for (u, row) in x.chunks_exact(D).enumerate().skip(t).take(40) {
                learn(&mut whole, u, row, &mut step);
                learn(&mut again, u, row, &mut Step::default());
            }
            assert_eq!((whole.mean(), whole.covariance()), (again.mean(), again.covariance()), "{t}");
        }
        learn(&mut belief, t, row, &mut step);
    }
}

#[test]
fn an_error_leaves_what_waits_as_it_was() {
    let x = rows(20, D, &mut rng(5));
    let (mut belief, mut step) = (prior(D, 2.0, &mut rng(1)), Step::default());
    x.chunks_exact(D).enumerate().for_each(|(t, x)| learn(&mut belief, t, x, &mut step));
    let before = (belief.mean().to_vec(), belief.covariance());
    let row = Row::Dense(&x[..D]);
    belief.project(row, 1.0, &mut step).unwrap();
    assert!(belief.absorb(row, Site { slope: 0.0, curvature: -1e9 }, &mut step).is_err());
    assert_eq!((belief.mean().to_vec(), belief.covariance()), before);
}
