//! Other people's methods, from their papers, on the same targets.

mod advi;
mod batch_match;
mod pathfinder;

pub use advi::full_rank_advi;
pub use batch_match::batch_and_match;
pub use pathfinder::multi_path;

use std::cell::Cell;

use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_boost::LogDensity;
use vi_linalg::faer::{Mat, MatRef};

use super::Free;

/// A target that counts.
pub struct Counted<'a> {
    target: &'a Free,
    evaluations: Cell<u64>,
}

impl<'a> Counted<'a> {
    /// With no evaluations yet.
    #[must_use]
    pub fn new(target: &'a Free) -> Self {
        Self { target, evaluations: Cell::new(0) }
    }

    /// Points at which the target was asked for, with or without its gradient.
    #[must_use]
    pub fn evaluations(&self) -> u64 {
        self.evaluations.get()
    }

    fn dim(&self) -> usize {
        self.target.dim()
    }

    fn value(&self, theta: &[f64]) -> f64 {
        self.evaluations.set(self.evaluations.get() + 1);
        self.target.log_density(theta)
    }

    /// The value, and the gradient into `out`; −∞ where either is not finite.
    fn gradient(&self, theta: &[f64], out: &mut [f64]) -> f64 {
        self.evaluations.set(self.evaluations.get() + 1);
        match self.target.value_and_gradient(theta, out) {
            Some(value) if value.is_finite() && out.iter().all(|g| g.is_finite()) => value,
            _ => f64::NEG_INFINITY,
        }
    }
}

fn normals(n: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    (0..n).map(|_| StandardNormal.sample(rng)).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `μ + L·z`, `L` lower triangular.
fn mapped(mean: &[f64], l: MatRef<'_, f64>, z: &[f64]) -> Vec<f64> {
    (0..mean.len()).map(|i| mean[i] + (0..=i).map(|j| l[(i, j)] * z[j]).sum::<f64>()).collect()
}

/// Draws on which Gaussians are compared by their bounds: the same for all.
const COMPARED: usize = 1000;

/// Of Gaussians by mean and factor, the one with the largest bound `E_q log f + H(q)`; one at whose draws the target is not finite comes last.
fn best_by_bound(target: &Counted<'_>, runs: Vec<(Vec<f64>, Mat<f64>)>, rng: &mut ChaCha8Rng) -> (Vec<f64>, Mat<f64>) {
    let d = target.dim();
    let z: Vec<Vec<f64>> = (0..COMPARED).map(|_| normals(d, rng)).collect();
    let bound = |(mean, l): &(Vec<f64>, Mat<f64>)| {
        let entropy: f64 = (0..d).map(|j| l[(j, j)].ln()).sum();
        let sum: f64 = z.iter().map(|z| target.value(&mapped(mean, l.as_ref(), z))).sum();
        let bound = entropy + sum / COMPARED as f64;
        if bound.is_nan() { f64::NEG_INFINITY } else { bound }
    };
    let start = (vec![f64::NAN; d], Mat::zeros(d, d));
    let mut best = (f64::NEG_INFINITY, start);
    for run in runs {
        let own = bound(&run);
        if own > best.0 || best.1.0[0].is_nan() {
            best = (own, run);
        }
    }
    best.1
}

/// Adam (Kingma and Ba 2015) upwards.
struct Adam {
    first: Vec<f64>,
    second: Vec<f64>,
    /// What the average of squared slopes keeps from step to step.
    keeps: f64,
    steps: i32,
}

impl Adam {
    fn new(n: usize, keeps: f64) -> Self {
        Self { first: vec![0.0; n], second: vec![0.0; n], keeps, steps: 0 }
    }

    fn step(&mut self, x: &mut [f64], gradient: &[f64], rate: f64) {
        self.steps += 1;
        let (a, b) = (1.0 - 0.9_f64.powi(self.steps), 1.0 - self.keeps.powi(self.steps));
        for i in 0..x.len() {
            self.first[i] = 0.9 * self.first[i] + 0.1 * gradient[i];
            self.second[i] = self.keeps * self.second[i] + (1.0 - self.keeps) * gradient[i] * gradient[i];
            x[i] += rate * self.first[i] / a / ((self.second[i] / b).sqrt() + 1e-8);
        }
    }
}
