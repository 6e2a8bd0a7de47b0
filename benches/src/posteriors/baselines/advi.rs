//! Full-rank ADVI (Kucukelbir, Tran, Ranganath, Gelman and Blei 2017): stochastic gradients of the bound by its factor, by Adam.

use rand_chacha::ChaCha8Rng;
use vi_linalg::faer::Mat;

use super::{Adam, Counted, mapped, normals};

/// Draws for each gradient.
const DRAWS: usize = 10;

/// Rates tried, each for a twentieth of the steps.
const RATES: [f64; 3] = [0.1, 0.03, 0.01];

/// Mean and factor after `steps` steps of ten draws each from `N(0, sd²I)`; the rate is the best of three on a short run, and falls to a hundredth over the second
/// half.
#[must_use]
pub fn full_rank_advi(target: &Counted<'_>, sd: f64, steps: usize, rng: &mut ChaCha8Rng) -> (Vec<f64>, Mat<f64>) {
    let mut best = (f64::NEG_INFINITY, RATES[2]);
    for rate in RATES {
        let (_, _, bound) = run(target, sd, steps / 20, rate, rng);
        if bound > best.0 {
            best = (bound, rate);
        }
    }
    let (mean, factor, _) = run(target, sd, steps, best.1, rng);
    (mean, factor)
}

/// Mean, factor, and the bound averaged over the last tenth of the steps.
fn run(target: &Counted<'_>, sd: f64, steps: usize, rate: f64, rng: &mut ChaCha8Rng) -> (Vec<f64>, Mat<f64>, f64) {
    let d = target.dim();
    let size = d + d * (d + 1) / 2;
    // The mean, then the factor's columns with the logarithm of the diagonal.
    let mut x = vec![0.0; size];
    for (at, _) in diagonal(d) {
        x[at] = sd.ln();
    }
    let mut adam = Adam::new(size);
    let (mut gradient, mut slope) = (vec![0.0; size], vec![0.0; d]);
    let (mut tail, mut count) = (0.0, 0.0);
    for step in 0..steps {
        let l = factor(&x, d);
        gradient.fill(0.0);
        let (mut bound, mut used) = (0.0, 0.0);
        for _ in 0..DRAWS {
            let z = normals(d, rng);
            let value = target.gradient(&mapped(&x[..d], l.as_ref(), &z), &mut slope);
            if value == f64::NEG_INFINITY {
                continue;
            }
            used += 1.0;
            bound += value;
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
        let mut entropy = 0.0;
        for (at, _) in diagonal(d) {
            gradient[at] += 1.0;
            entropy += x[at];
        }
        let progress = step as f64 / steps as f64;
        adam.step(&mut x, &gradient, rate * if progress < 0.5 { 1.0 } else { 0.01_f64.powf(2.0 * progress - 1.0) });
        if progress >= 0.9 {
            tail += if used > 0.0 { bound / used + entropy } else { f64::NEG_INFINITY };
            count += 1.0;
        }
    }
    let l = factor(&x, d);
    x.truncate(d);
    (x, l, tail / count)
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
