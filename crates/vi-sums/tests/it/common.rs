//! Rows for all tests.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_core::{Belief, DenseGaussian};

pub(crate) fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

pub(crate) fn normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// `d` columns of `n` correlated inputs with means and scales of their own, and a linear predictor with noise.
pub(crate) fn columns(n: usize, d: usize, seed: u64) -> (Vec<Vec<f64>>, Vec<f64>) {
    let rng = &mut rng(seed);
    let mut x = vec![Vec::with_capacity(n); d];
    let mut y = Vec::with_capacity(n);
    for _ in 0..n {
        let common = normal(rng);
        let mut label = 0.7;
        for (j, column) in x.iter_mut().enumerate() {
            let value = 0.5 * common + normal(rng);
            label += value * (1.0 - 0.4 * j as f64);
            column.push(value);
        }
        y.push(label + 0.3 * normal(rng));
    }
    (x, y)
}

pub(crate) fn slices(x: &[Vec<f64>]) -> Vec<&[f64]> {
    x.iter().map(Vec::as_slice).collect()
}

pub(crate) fn row(x: &[Vec<f64>], t: usize) -> Vec<f64> {
    x.iter().map(|column| column[t]).collect()
}

/// The largest difference in units of the first's standard deviations.
pub(crate) fn distance(a: &DenseGaussian, b: &DenseGaussian) -> f64 {
    let (p, q) = (a.covariance(), b.covariance());
    let mut worst: f64 = 0.0;
    for i in 0..a.dim() {
        worst = worst.max((a.mean()[i] - b.mean()[i]).abs() / p[(i, i)].sqrt());
        for j in 0..a.dim() {
            worst = worst.max((p[(i, j)] - q[(i, j)]).abs() / (p[(i, i)] * p[(j, j)]).sqrt());
        }
    }
    worst
}
