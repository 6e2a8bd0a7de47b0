mod bad_input;
mod fixed_points;
mod online;
mod start;
mod update;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_linalg::faer::{Mat, MatMut, MatRef, Par};
use vi_linalg::kernels::mirror_lower;
use vi_linalg::{LowRank, SymmetricOperator};

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

/// A symmetric matrix by its diagonal and a closure `multiply(out, x)` that writes `S·x` to `out`, both `d × k`.
struct ByProducts<F> {
    diagonal: Vec<f64>,
    multiply: F,
}

impl<F: Fn(MatMut<'_, f64>, MatRef<'_, f64>)> ByProducts<F> {
    fn new(diagonal: Vec<f64>, multiply: F) -> Self {
        Self { diagonal, multiply }
    }
}

impl<F: Fn(MatMut<'_, f64>, MatRef<'_, f64>)> SymmetricOperator for ByProducts<F> {
    fn dim(&self) -> usize {
        self.diagonal.len()
    }

    fn apply(&self, out: MatMut<'_, f64>, x: MatRef<'_, f64>, _par: Par) {
        (self.multiply)(out, x);
    }

    fn diagonal(&self, out: &mut [f64], _par: Par) {
        out.copy_from_slice(&self.diagonal);
    }
}
