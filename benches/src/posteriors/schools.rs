//! Eight schools, non-centred: `θ_j = μ + τ·t_j`, `t_j ~ N(0, 1)`, `y_j ~ N(θ_j, σ_j²)`, `μ ~ N(0, 5²)`, `τ ~ Cauchy⁺(0, 5)`.

use vi_boost::transform::Parameters;
use vi_boost::{BoostError, LogDensity};

use super::Model;

#[derive(Debug, Clone)]
pub(super) struct Schools {
    pub(super) y: Vec<f64>,
    pub(super) sigma: Vec<f64>,
}

impl LogDensity for Schools {
    fn dim(&self) -> usize {
        self.y.len() + 2
    }

    fn log_density(&self, x: &[f64]) -> f64 {
        self.value_and_gradient(x, &mut vec![0.0; x.len()]).unwrap_or(f64::NAN)
    }

    fn value_and_gradient(&self, x: &[f64], out: &mut [f64]) -> Option<f64> {
        let n = self.y.len();
        let (mu, tau) = (x[n], x[n + 1]);
        let mut value = -0.5 * (mu / 5.0).powi(2) - (tau / 5.0).powi(2).ln_1p();
        let (mut by_mu, mut by_tau) = (-mu / 25.0, -2.0 * tau / (25.0 + tau * tau));
        for j in 0..n {
            let away = (self.y[j] - mu - tau * x[j]) / self.sigma[j];
            value -= 0.5 * (away * away + x[j] * x[j]);
            let slope = away / self.sigma[j];
            by_mu += slope;
            by_tau += slope * x[j];
            out[j] = slope * tau - x[j];
        }
        (out[n], out[n + 1]) = (by_mu, by_tau);
        Some(value)
    }
}

impl Model for Schools {
    fn parameters(&self) -> Result<Parameters, BoostError> {
        Parameters::new().real("theta_trans", self.y.len())?.real("mu", 1)?.positive("tau", 1)
    }

    fn report(&self, x: &[f64]) -> Vec<f64> {
        let n = self.y.len();
        let mut reported = x.to_vec();
        for theta in &mut reported[..n] {
            *theta = x[n] + x[n + 1] * *theta;
        }
        reported
    }
}
