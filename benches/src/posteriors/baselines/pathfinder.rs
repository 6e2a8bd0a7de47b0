//! Pathfinder (Zhang, Carpenter, Gelman and Vehtari 2022): the Gaussian of largest bound along a path of L-BFGS; several paths resampled by importance.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use vi_core::psis;
use vi_linalg::Cholesky;
use vi_linalg::faer::Mat;

use super::{Counted, dot, mapped, normals};

/// Pairs that the inverse Hessian keeps, steps of a path, and draws on which bounds are compared.
const HISTORY: usize = 6;
const STEPS: usize = 1000;
const BOUND_DRAWS: usize = 25;

/// The best Gaussian of a path: mean, factor, bound.
struct Path {
    mean: Vec<f64>,
    factor: Mat<f64>,
    /// The bound on the draws it was chosen by.
    bound: f64,
}

/// One path from a draw of `N(0, sd²I)`; `None` where the target has no value there, or no Gaussian along the path a finite bound.
fn pathfinder(target: &Counted<'_>, sd: f64, rng: &mut ChaCha8Rng) -> Option<Path> {
    let d = target.dim();
    let mut x: Vec<f64> = normals(d, rng).iter().map(|z| sd * z).collect();
    let mut g = vec![0.0; d];
    let mut value = target.gradient(&x, &mut g);
    if value == f64::NEG_INFINITY {
        return None;
    }
    let mut pairs: Vec<(Vec<f64>, Vec<f64>)> = Vec::new();
    let mut diagonal = vec![1.0; d];
    let mut best: Option<Path> = None;
    for _ in 0..STEPS {
        let h = inverse_hessian(&diagonal, &pairs);
        let direction: Vec<f64> = (0..d).map(|i| (0..d).map(|j| h[(i, j)] * g[j]).sum()).collect();
        let along = dot(&direction, &g);
        let first = if pairs.is_empty() { 1.0 / dot(&g, &g).sqrt().max(1.0) } else { 1.0 };
        let Some((next, next_g, next_value)) = line(target, &x, &direction, value, along, first) else { break };
        let s: Vec<f64> = next.iter().zip(&x).map(|(a, b)| a - b).collect();
        let y: Vec<f64> = g.iter().zip(&next_g).map(|(a, b)| a - b).collect();
        if dot(&s, &y) > 1e-12 * dot(&y, &y) {
            // The paper's diagonal (Gilbert and Lemaréchal 1989).
            let (a, b, c): (f64, f64, f64) = (
                (0..d).map(|i| y[i] * y[i] * diagonal[i]).sum(),
                dot(&y, &s),
                (0..d).map(|i| s[i] * s[i] / diagonal[i]).sum(),
            );
            for i in 0..d {
                let inverse = a / (b * diagonal[i]) + y[i] * y[i] / b - a * s[i] * s[i] / (b * c * diagonal[i].powi(2));
                diagonal[i] = 1.0 / inverse;
            }
            if pairs.len() == HISTORY {
                pairs.remove(0);
            }
            pairs.push((s, y));
        }
        let gained = next_value - value;
        (x, g, value) = (next, next_g, next_value);
        if let Some(path) = gaussian(target, &x, &g, &inverse_hessian(&diagonal, &pairs), rng)
            && best.as_ref().is_none_or(|best| path.bound > best.bound)
        {
            best = Some(path);
        }
        if gained < 1e-8 * value.abs().max(1.0) {
            break;
        }
    }
    best
}

/// A step upwards with enough gain and slope (weak Wolfe conditions, by bisection).
fn line(
    target: &Counted<'_>,
    x: &[f64],
    direction: &[f64],
    value: f64,
    along: f64,
    first: f64,
) -> Option<(Vec<f64>, Vec<f64>, f64)> {
    let (mut low, mut high, mut step) = (0.0, f64::INFINITY, first);
    let mut g = vec![0.0; x.len()];
    for _ in 0..40 {
        let next: Vec<f64> = x.iter().zip(direction).map(|(x, d)| x + step * d).collect();
        let found = target.gradient(&next, &mut g);
        if found < value + 1e-4 * step * along || found == f64::NEG_INFINITY {
            high = step;
        } else if dot(&g, direction) > 0.9 * along {
            low = step;
        } else {
            return Some((next, g, found));
        }
        step = if high.is_finite() { 0.5 * (low + high) } else { 2.0 * step };
    }
    None
}

/// BFGS updates of a diagonal, in full: `H ← (I − ρsyᵀ)H(I − ρysᵀ) + ρssᵀ`.
fn inverse_hessian(diagonal: &[f64], pairs: &[(Vec<f64>, Vec<f64>)]) -> Mat<f64> {
    let d = diagonal.len();
    let mut h = Mat::from_fn(d, d, |i, j| if i == j { diagonal[i] } else { 0.0 });
    for (s, y) in pairs {
        let rho = 1.0 / dot(s, y);
        let hy: Vec<f64> = (0..d).map(|i| (0..d).map(|j| h[(i, j)] * y[j]).sum()).collect();
        let yhy = dot(y, &hy);
        h = Mat::from_fn(d, d, |i, j| {
            h[(i, j)] - rho * (s[i] * hy[j] + hy[i] * s[j]) + rho * (1.0 + rho * yhy) * s[i] * s[j]
        });
    }
    h
}

/// The Gaussian at a point of the path: `N(x + Hg, H)`.
fn gaussian(target: &Counted<'_>, x: &[f64], g: &[f64], h: &Mat<f64>, rng: &mut ChaCha8Rng) -> Option<Path> {
    let d = x.len();
    let factor = Cholesky::new(h.as_ref()).ok()?.factor().to_owned();
    let mean: Vec<f64> = (0..d).map(|i| x[i] + (0..d).map(|j| h[(i, j)] * g[j]).sum::<f64>()).collect();
    let log_det: f64 = (0..d).map(|i| factor[(i, i)].ln()).sum();
    let bound = (0..BOUND_DRAWS)
        .map(|_| {
            let z = normals(d, rng);
            target.value(&mapped(&mean, factor.as_ref(), &z)) + 0.5 * dot(&z, &z) + log_det
        })
        .sum::<f64>()
        / BOUND_DRAWS as f64;
    bound.is_finite().then_some(Path { mean, factor, bound })
}

/// `n` draws from `paths` paths, resampled by Pareto-smoothed weights of each draw's density over that of its own path, as the paper has it.
#[must_use]
pub fn multi_path(target: &Counted<'_>, sd: f64, paths: usize, n: usize, rng: &mut ChaCha8Rng) -> Option<Mat<f64>> {
    let found: Vec<Path> = (0..paths).filter_map(|_| pathfinder(target, sd, rng)).collect();
    let each = n.div_ceil(found.len().max(1));
    let (mut rows, mut logs) = (Vec::new(), Vec::new());
    for path in &found {
        let log_det: f64 = (0..path.mean.len()).map(|i| path.factor[(i, i)].ln()).sum();
        for _ in 0..each {
            let z = normals(path.mean.len(), rng);
            let theta = mapped(&path.mean, path.factor.as_ref(), &z);
            let log = target.value(&theta) + 0.5 * dot(&z, &z) + log_det;
            logs.push(if log.is_nan() { f64::NEG_INFINITY } else { log });
            rows.push(theta);
        }
    }
    let weights = psis::psis(&logs).ok()?.log_weights;
    let mut sums = Vec::with_capacity(weights.len());
    let mut sum = 0.0;
    for log in &weights {
        sum += log.exp();
        sums.push(sum);
    }
    let pick: Vec<usize> = (0..n)
        .map(|_| {
            let at: f64 = rng.random::<f64>() * sum;
            sums.partition_point(|s| *s < at).min(sums.len() - 1)
        })
        .collect();
    Some(Mat::from_fn(n, target.dim(), |i, j| rows[pick[i]][j]))
}
