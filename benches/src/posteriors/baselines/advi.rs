//! Full-rank ADVI (Kucukelbir, Tran, Ranganath, Gelman and Blei 2017): stochastic gradients of the bound by its factor, by Adam.

use rand_chacha::ChaCha8Rng;
use vi_linalg::faer::Mat;

use super::{Adam, Counted, best_by_bound, dot, mapped, normals};

/// Draws for each gradient.
const DRAWS: usize = 10;

/// Rates tried, each for all steps.
const RATES: [f64; 5] = [0.3, 0.1, 0.03, 0.01, 0.003];

/// What Adam's average of squared slopes keeps, and the longest gradient it is shown: slopes of order 1e100 where a start is wide are else not forgotten.
const KEEPS: f64 = 0.99;
const LONGEST: f64 = 1e4;

/// The share of the steps after which the rate falls, to a hundredth at the end, and that after which the iterates are averaged.
const FALLS: f64 = 0.5;
const AVERAGED: f64 = 0.75;

/// Mean and factor after `steps` steps of ten draws each from `N(0, sd²I)`, averaged over the last quarter of the steps; the best of five rates by its bound.
#[must_use]
pub fn full_rank_advi(target: &Counted<'_>, sd: f64, steps: usize, rng: &mut ChaCha8Rng) -> (Vec<f64>, Mat<f64>) {
    let runs = RATES.iter().map(|rate| run(target, sd, steps, *rate, rng)).collect();
    best_by_bound(target, runs, rng)
}

fn run(target: &Counted<'_>, sd: f64, steps: usize, rate: f64, rng: &mut ChaCha8Rng) -> (Vec<f64>, Mat<f64>) {
    let d = target.dim();
    let size = d + d * (d + 1) / 2;
    // The mean, then the factor's columns with the logarithm of the diagonal.
    let mut x = vec![0.0; size];
    for (at, _) in diagonal(d) {
        x[at] = sd.ln();
    }
    let mut adam = Adam::new(size, KEEPS);
    let (mut gradient, mut slope) = (vec![0.0; size], vec![0.0; d]);
    let (mut tail, mut count) = (vec![0.0; size], 0.0);
    for step in 0..steps {
        let l = factor(&x, d);
        gradient.fill(0.0);
        let mut used = 0.0;
        for _ in 0..DRAWS {
            let z = normals(d, rng);
            if target.gradient(&mapped(&x[..d], l.as_ref(), &z), &mut slope) == f64::NEG_INFINITY {
                continue;
            }
            used += 1.0;
            let mut at = d;
            for j in 0..d {
                gradient[j] += slope[j];
                for i in j..d {
                    gradient[at] += slope[i] * z[j] * if i == j { l[(i, j)] } else { 1.0 };
                    at += 1;
                }
            }
        }
        if used > 0.0 {
            for g in &mut gradient {
                *g /= used;
            }
        }
        for (at, _) in diagonal(d) {
            gradient[at] += 1.0;
        }
        // A draw far out in an exponential's tail would be remembered for thousands of steps.
        let length = dot(&gradient, &gradient).sqrt();
        if length > LONGEST {
            let shorter = if length.is_finite() { LONGEST / length } else { 0.0 };
            for g in &mut gradient {
                *g = if g.is_finite() { *g * shorter } else { 0.0 };
            }
        }
        let progress = step as f64 / steps as f64;
        let fallen = ((progress - FALLS) / (1.0 - FALLS)).max(0.0);
        adam.step(&mut x, &gradient, rate * 0.01_f64.powf(fallen));
        if progress >= AVERAGED {
            tail.iter_mut().zip(&x).for_each(|(tail, x)| *tail += x);
            count += 1.0;
        }
    }
    for value in &mut tail {
        *value /= f64::max(count, 1.0);
    }
    let l = factor(&tail, d);
    tail.truncate(d);
    (tail, l)
}

/// Where the diagonal's entries are kept.
fn diagonal(d: usize) -> impl Iterator<Item = (usize, usize)> {
    let mut at = d;
    (0..d).map(move |j| {
        let here = at;
        at += d - j;
        (here, j)
    })
}

fn factor(x: &[f64], d: usize) -> Mat<f64> {
    let mut l = Mat::zeros(d, d);
    let mut at = d;
    for j in 0..d {
        for i in j..d {
            l[(i, j)] = if i == j { x[at].exp() } else { x[at] };
            at += 1;
        }
    }
    l
}
