//! Linear regression, `y ~ N(Xβ, σ²)`.

use vi_boost::transform::Parameters;
use vi_boost::{BoostError, LogDensity};

use super::Model;

/// The priors; flat where there is none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prior {
    /// `β_j ~ N(0, sd²)`.
    pub(super) coefficient_sd: Option<f64>,
    /// `σ ~ Cauchy⁺(0, scale)`.
    pub(super) noise_scale: Option<f64>,
}

/// `(β, σ)` from the second moments `[X y]ᵀ[X y]`.
#[derive(Debug, Clone)]
pub(super) struct Regression {
    moments: Vec<Vec<f64>>,
    n: f64,
    prior: Prior,
    intercepts: usize,
}

impl Regression {
    /// From rows and responses; the first `intercepts` coefficients are a block `alpha`, the others `beta`.
    pub(super) fn new(rows: impl Iterator<Item = (Vec<f64>, f64)>, prior: Prior, intercepts: usize) -> Self {
        let (mut moments, mut n) = (Vec::new(), 0.0);
        for (mut row, y) in rows {
            row.push(y);
            moments.resize(row.len(), vec![0.0; row.len()]);
            for (sums, a) in moments.iter_mut().zip(&row) {
                sums.iter_mut().zip(&row).for_each(|(sum, b)| *sum += a * b);
            }
            n += 1.0;
        }
        Self { moments, n, prior, intercepts }
    }
}

impl LogDensity for Regression {
    fn dim(&self) -> usize {
        self.moments.len()
    }

    fn log_density(&self, x: &[f64]) -> f64 {
        self.value_and_gradient(x, &mut vec![0.0; x.len()]).unwrap_or(f64::NAN)
    }

    fn value_and_gradient(&self, x: &[f64], out: &mut [f64]) -> Option<f64> {
        let (sigma, beta) = x.split_last()?;
        // ‖Xβ − y‖² = rᵀMr with r = (β, −1).
        let r: Vec<f64> = beta.iter().copied().chain([-1.0]).collect();
        let mut square = 0.0;
        for (i, row) in self.moments.iter().enumerate() {
            let along: f64 = row.iter().zip(&r).map(|(m, r)| m * r).sum();
            square += along * r[i];
            out[i] = -along / (sigma * sigma);
        }
        let mut value = -self.n * sigma.ln() - 0.5 * square / (sigma * sigma);
        out[beta.len()] = -self.n / sigma + square / sigma.powi(3);
        if let Some(sd) = self.prior.coefficient_sd {
            for (out, b) in out.iter_mut().zip(beta) {
                value -= 0.5 * (b / sd).powi(2);
                *out -= b / (sd * sd);
            }
        }
        if let Some(scale) = self.prior.noise_scale {
            value -= (sigma / scale).powi(2).ln_1p();
            out[beta.len()] -= 2.0 * sigma / (scale * scale + sigma * sigma);
        }
        Some(value)
    }
}

impl Model for Regression {
    fn parameters(&self) -> Result<Parameters, BoostError> {
        let coefficients = self.moments.len() - 1 - self.intercepts;
        let parameters = match self.intercepts {
            0 => Parameters::new(),
            count => Parameters::new().real("alpha", count)?,
        };
        parameters.real("beta", coefficients)?.positive("sigma", 1)
    }
}
