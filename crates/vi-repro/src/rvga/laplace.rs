//! The batch Laplace approximation as a belief.

use super::methods::Posterior;
use super::shared::computation;
use crate::error::ReproError;
use vi_core::special::{sigmoid, sigmoid_derivative};
use vi_core::{Belief, DenseGaussian};
use vi_data::Dataset;
use vi_linalg::Cholesky;
use vi_linalg::faer::Mat;

/// Mode and inverse Hessian of the posterior of logistic regression.
pub(super) fn laplace(prior: &DenseGaussian, data: &Dataset) -> Result<DenseGaussian, ReproError> {
    let err = |e: &dyn std::fmt::Display| computation("Laplace", &e);
    let d = prior.dim();
    let p0 = prior.cholesky().map_err(|e| err(&e))?.inverse();
    let posterior = Posterior::new(prior, data)?;
    let mut m = prior.mean().to_vec();
    let mut hess = Mat::<f64>::zeros(d, d);
    for _ in 0..200 {
        hess = p0.clone();
        for j in 0..d {
            for i in 0..d {
                if i < j {
                    hess[(i, j)] = p0[(j, i)];
                }
            }
        }
        let full = hess.clone();
        let mut grad = vec![0.0; d];
        for i in 0..d {
            for j in 0..d {
                grad[i] -= full[(i, j)] * (m[j] - prior.mean()[j]);
            }
        }
        for (x, y) in data.observations() {
            let t: f64 = x.iter().zip(&m).map(|(a, b)| a * b).sum();
            let w = sigmoid_derivative(t);
            for i in 0..d {
                grad[i] += (y - sigmoid(t)) * x[i];
                for j in 0..d {
                    hess[(i, j)] += w * x[i] * x[j];
                }
            }
        }
        let c = Cholesky::new(hess.as_ref()).map_err(|e| err(&e))?;
        let step = c.solve(vi_linalg::faer::MatRef::from_column_major_slice(&grad, d, 1)).map_err(|e| err(&e))?;
        let l0 = posterior.log_joint(&m)?;
        let mut a = 1.0;
        let size: f64 = (0..d).map(|i| step[(i, 0)] * grad[i]).sum();
        loop {
            let n: Vec<f64> = (0..d).map(|i| m[i] + a * step[(i, 0)]).collect();
            if posterior.log_joint(&n)? >= l0 || a < 1e-8 {
                m = n;
                break;
            }
            a *= 0.5;
        }
        if size < 1e-22 {
            break;
        }
    }
    let c = Cholesky::new(hess.as_ref()).map_err(|e| err(&e))?;
    let mut inv = c.inverse();
    for j in 0..d {
        for i in 0..j {
            inv[(i, j)] = inv[(j, i)];
        }
    }
    DenseGaussian::new(&m, inv.as_ref()).map_err(|e| err(&e))
}
