mod bad_input;
mod fixed_points;
mod online;
mod start;
mod update;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_linalg::LowRank;
use vi_linalg::faer::{Mat, Par};
use vi_linalg::kernels::mirror_lower;

fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

fn normal(n: usize, m: usize, rng: &mut ChaCha8Rng) -> Mat<f64> {
    Mat::from_fn(n, m, |_, _| StandardNormal.sample(rng))
}

/// A factor with entries of size one and ψ between ½ and 1½.
fn factor(d: usize, p: usize, rng: &mut ChaCha8Rng) -> LowRank {
    let psi: Vec<f64> = (0..d).map(|i| 1.0 + 0.5 * (1.0 + 2.3 * i as f64).sin()).collect();
    LowRank::new(normal(d, p, rng).as_ref(), &psi).unwrap()
}

fn dense(c: &LowRank) -> Mat<f64> {
    let mut s = c.to_dense_lower(Par::Seq);
    mirror_lower(s.as_mut());
    s
}

/// `‖a − b‖/‖b‖` in the Frobenius norm.
fn distance(a: &Mat<f64>, b: &Mat<f64>) -> f64 {
    (a - b).norm_l2() / b.norm_l2()
}

/// A covariance with eigenvalues between about 0.1 and a few, `d × d`.
fn covariance(d: usize, rng: &mut ChaCha8Rng) -> Mat<f64> {
    let a = normal(d, 2 * d, rng);
    &a * a.transpose() * (0.5 / d as f64)
}
