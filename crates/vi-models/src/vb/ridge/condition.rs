//! The condition number of a posterior.

use vi_linalg::cholesky::solve_in_place;
use vi_linalg::kernels::dot;

use super::super::weights::{Form, WeightDistribution};
use super::{Ridge, as_column, column};
use crate::whitened::product;

impl Ridge<'_> {
    /// `κ(D^½VD^½)` with `D = diag V⁻¹`: the largest eigenvalue of `D^(−½)V⁻¹D^(−½)` times that of its inverse, by power iterations.
    /// Cost `160·d²` or `160·nd` flops.
    pub(super) fn condition(&self, weights: &WeightDistribution) -> f64 {
        let (rows, d) = (self.rows.transposed(), self.d());
        let [precision, covariance] = match weights.form() {
            Form::Primal(factor) => {
                let factor = factor.factor();
                let roots: Vec<f64> = (0..d).map(|j| factor.row(j).norm_l2()).collect();
                let precision = largest_eigenvalue(d, |v| {
                    over(&product(factor, &product(factor.transpose(), &over(v, &roots))), &roots)
                });
                let covariance = largest_eigenvalue(d, |v| {
                    let mut out = times(v, &roots);
                    solve_in_place(factor, as_column(&mut out), self.par);
                    times(&out, &roots)
                });
                [precision, covariance]
            }
            Form::Dual { variances, loss } => {
                let mut squares: Vec<f64> = (0..d).map(|j| self.shrinkage.get(j)).collect();
                for i in 0..self.n() {
                    for (square, x) in squares.iter_mut().zip(column(rows, i)) {
                        *square += self.weight(i) * x * x;
                    }
                }
                let roots: Vec<f64> = squares.iter().map(|square| square.sqrt()).collect();
                let precision = largest_eigenvalue(d, |v| {
                    let v = over(v, &roots);
                    let mut along = product(rows.transpose(), &v);
                    for (i, along) in along.iter_mut().enumerate() {
                        *along *= self.weight(i);
                    }
                    let mut out = product(rows, &along);
                    for (j, out) in out.iter_mut().enumerate() {
                        *out += self.shrinkage.get(j) * v[j];
                    }
                    over(&out, &roots)
                });
                let covariance = largest_eigenvalue(d, |v| {
                    let v = times(v, &roots);
                    let lost = product(loss.as_ref().transpose(), &product(loss.as_ref(), &v));
                    let kept: Vec<f64> = (0..d).map(|j| variances[j] * v[j] - lost[j]).collect();
                    times(&kept, &roots)
                });
                [precision, covariance]
            }
        };
        (precision * covariance).max(1.0)
    }
}

fn times(v: &[f64], scale: &[f64]) -> Vec<f64> {
    v.iter().zip(scale).map(|(v, scale)| v * scale).collect()
}

fn over(v: &[f64], scale: &[f64]) -> Vec<f64> {
    v.iter().zip(scale).map(|(v, scale)| v / scale).collect()
}

/// The largest eigenvalue by 20 power iterations, from a vector with a component in every direction.
fn largest_eigenvalue(d: usize, apply: impl Fn(&[f64]) -> Vec<f64>) -> f64 {
    // Irrational steps: no eigenvector of a structured matrix is orthogonal to them all.
    let mut v: Vec<f64> = (0..d).map(|j| 0.5 + (j as f64 * std::f64::consts::SQRT_2).fract()).collect();
    let mut value = 0.0;
    for _ in 0..20 {
        let length = dot(&v, &v).sqrt();
        for v in &mut v {
            *v /= length;
        }
        let image = apply(&v);
        value = dot(&image, &image).sqrt();
        v = image;
    }
    value
}
