//! GARCH(1,1): `y_t ~ N(μ, s_t)`, `s_t = α₀ + α₁(y_{t−1}−μ)² + β₁s_{t−1}`, `s₁ = σ₁²`; flat on `α₀ > 0`, `0 < α₁ < 1`, `0 < β₁ < 1−α₁`.

use vi_boost::transform::Parameters;
use vi_boost::{BoostError, LogDensity};

use super::Model;

/// With `β₁ = b(1−α₁)`, `0 < b < 1`, as the fourth parameter.
#[derive(Debug, Clone)]
pub(super) struct Garch {
    pub(super) y: Vec<f64>,
    pub(super) sigma1: f64,
}

impl LogDensity for Garch {
    fn dim(&self) -> usize {
        4
    }

    fn log_density(&self, x: &[f64]) -> f64 {
        self.value_and_gradient(x, &mut [0.0; 4]).unwrap_or(f64::NAN)
    }

    fn value_and_gradient(&self, x: &[f64], out: &mut [f64]) -> Option<f64> {
        let [mu, a0, a1, b] = *x else { return None };
        let beta = b * (1.0 - a1);
        // The variance with its derivatives by μ, α₀, α₁, β₁.
        let (mut s, mut by) = (self.sigma1 * self.sigma1, [0.0; 4]);
        let (mut value, mut slope) = ((1.0 - a1).ln(), [0.0; 4]);
        let mut last: Option<f64> = None;
        for y in &self.y {
            if let Some(last) = last {
                let next = a0 + a1 * last * last + beta * s;
                let own = [-2.0 * a1 * last, 1.0, last * last, s];
                for (by, own) in by.iter_mut().zip(own) {
                    *by = own + beta * *by;
                }
                s = next;
            }
            let away = y - mu;
            value -= 0.5 * (s.ln() + away * away / s);
            let by_s = 0.5 * (away * away / s - 1.0) / s;
            slope.iter_mut().zip(by).for_each(|(slope, by)| *slope += by_s * by);
            slope[0] += away / s;
            last = Some(away);
        }
        // The map from b to β₁ has the Jacobian 1 − α₁.
        out.copy_from_slice(&[slope[0], slope[1], slope[2] - b * slope[3] - 1.0 / (1.0 - a1), slope[3] * (1.0 - a1)]);
        Some(value)
    }
}

impl Model for Garch {
    fn parameters(&self) -> Result<Parameters, BoostError> {
        Parameters::new()
            .real("mu", 1)?
            .positive("alpha0", 1)?
            .between("alpha1", 1, 0.0, 1.0)?
            .between("b", 1, 0.0, 1.0)
    }

    fn report(&self, x: &[f64]) -> Vec<f64> {
        vec![x[0], x[1], x[2], x[3] * (1.0 - x[2])]
    }
}
