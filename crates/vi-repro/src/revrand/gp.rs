//! An exact Gaussian process: what the features approximate.

use vi_linalg::Cholesky;
use vi_linalg::faer::{Mat, MatRef};

use super::scores::Predicted;
use crate::error::{Doing as _, ReproError};

/// `y ~ N(0, K + σ²I)` conditioned on rows `x` and labels. Cost `n³/3`, and `n²` a prediction.
pub(super) struct Gp<K> {
    x: Mat<f64>,
    kernel: K,
    noise: f64,
    factor: Cholesky,
    /// `(K + σ²I)⁻¹y`.
    weights: Vec<f64>,
}

/// `K + σ²I` (lower triangle).
pub(super) fn covariance(
    x: MatRef<'_, f64>,
    kernel: impl Fn(&[f64], &[f64]) -> f64,
    noise: f64,
) -> Result<Cholesky, ReproError> {
    let rows = rows(x);
    let k = Mat::from_fn(rows.len(), rows.len(), |i, j| {
        if i < j { 0.0 } else { kernel(&rows[i], &rows[j]) + if i == j { noise } else { 0.0 } }
    });
    Cholesky::new(k.as_ref()).context("covariance of the process")
}

/// `log N(y | 0, K + σ²I)`, in nats.
pub(super) fn evidence(
    x: MatRef<'_, f64>,
    y: &[f64],
    kernel: impl Fn(&[f64], &[f64]) -> f64,
    noise: f64,
) -> Result<f64, ReproError> {
    let factor = covariance(x, kernel, noise)?;
    let quadratic = factor.quadratic_form_inverse(y).context("evidence")?;
    Ok(-0.5 * (y.len() as f64 * std::f64::consts::TAU.ln() + factor.log_det() + quadratic))
}

fn rows(x: MatRef<'_, f64>) -> Vec<Vec<f64>> {
    (0..x.nrows()).map(|i| x.row(i).iter().copied().collect()).collect()
}

impl<K: Fn(&[f64], &[f64]) -> f64> Gp<K> {
    /// Conditions on `y` at the rows of `x`.
    pub(super) fn new(x: MatRef<'_, f64>, y: &[f64], kernel: K, noise: f64) -> Result<Self, ReproError> {
        let factor = covariance(x, &kernel, noise)?;
        let mut weights = y.to_vec();
        factor.solve_vec_in_place(&mut weights).context("weights of the process")?;
        Ok(Self { x: x.to_owned(), kernel, noise, factor, weights })
    }

    /// Mean and variance of `y`, noise included.
    pub(super) fn predict(&self, x: MatRef<'_, f64>) -> Result<Predicted, ReproError> {
        let known = rows(self.x.as_ref());
        let mut predicted = Predicted::default();
        for row in rows(x) {
            let k: Vec<f64> = known.iter().map(|other| (self.kernel)(&row, other)).collect();
            let explained = self.factor.quadratic_form_inverse(&k);
            let explained = explained.context("prediction of the process")?;
            let mean = k.iter().zip(&self.weights).map(|(k, w)| k * w).sum();
            predicted.push(mean, (self.kernel)(&row, &row) - explained + self.noise);
        }
        Ok(predicted)
    }
}

#[cfg(test)]
mod tests {
    use vi_linalg::faer::mat;

    use super::*;

    #[test]
    fn two_points_by_hand() {
        // K + σ²I = [[2, ½], [½, 2]]; its inverse is [[2, −½], [−½, 2]]/3.75, so the weights are [2, −½]/3.75.
        let kernel = |a: &[f64], b: &[f64]| if a == b { 1.0 } else { 0.5 };
        let gp = Gp::new(mat![[0.0], [1.0]].as_ref(), &[1.0, 0.0], kernel, 1.0).unwrap();
        let predicted = gp.predict(mat![[0.0], [7.0]].as_ref()).unwrap();
        assert!((predicted.means[0] - (2.0 - 0.25) / 3.75).abs() < 1e-15);
        assert!((predicted.means[1] - (1.0 - 0.25) / 3.75).abs() < 1e-15);
        // 1 − [½, ½](K + σ²I)⁻¹[½, ½]ᵀ + σ² = 1 − ½·1.5/3.75 + 1.
        assert!((predicted.variances[1] - 1.8).abs() < 1e-15);
    }
}
