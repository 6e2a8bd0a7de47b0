//! Simulated data and comparisons.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use vi_core::{Belief, DenseGaussian};
use vi_linalg::faer::Mat;

pub(crate) fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

pub(crate) fn normal(rng: &mut ChaCha8Rng) -> f64 {
    rng.sample(StandardNormal)
}

/// `n` rows of correlated inputs, the first column constant.
pub(crate) fn inputs(n: usize, d: usize, rng: &mut ChaCha8Rng) -> Mat<f64> {
    let mut x = Mat::zeros(n, d);
    for t in 0..n {
        let shared = normal(rng);
        for j in 0..d {
            x[(t, j)] = if j == 0 { 1.0 } else { 0.8 * normal(rng) + 0.4 * shared };
        }
    }
    x
}

/// `Xθ`.
pub(crate) fn predictors(x: &Mat<f64>, theta: &[f64]) -> Vec<f64> {
    (0..x.nrows()).map(|t| (0..x.ncols()).map(|j| x[(t, j)] * theta[j]).sum()).collect()
}

/// Largest difference of the means in standard deviations of `b`, and of the covariances relative to `b`'s scale.
pub(crate) fn difference(a: &DenseGaussian, b: &DenseGaussian) -> f64 {
    let (pa, pb) = (a.covariance(), b.covariance());
    let mut worst = 0.0_f64;
    for i in 0..a.dim() {
        worst = worst.max((a.mean()[i] - b.mean()[i]).abs() / pb[(i, i)].sqrt());
        for j in 0..a.dim() {
            worst = worst.max((pa[(i, j)] - pb[(i, j)]).abs() / (pb[(i, i)] * pb[(j, j)]).sqrt());
        }
    }
    worst
}
