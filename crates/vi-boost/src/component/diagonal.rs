//! Components with independent coordinates.

use vi_linalg::faer::Mat;

use super::Spread;
use crate::BoostError;
use crate::block::Block;
use crate::error::check_positive_entries;
use vi_core::check;

/// `Σ = diag(σ²)`.
#[derive(Debug, Clone)]
pub(crate) struct Diagonal {
    sd: Vec<f64>,
}

impl Diagonal {
    pub(crate) fn new(d: usize, variances: &[f64]) -> Result<Self, BoostError> {
        check::length("variances", d, variances.len())?;
        check_positive_entries("variances", variances)?;
        Ok(Self { sd: variances.iter().map(|v| v.sqrt()).collect() })
    }

    pub(crate) fn from_sd(sd: Vec<f64>) -> Result<Self, BoostError> {
        check_positive_entries("standard deviations", &sd)?;
        Ok(Self { sd })
    }

    pub(crate) fn sd(&self) -> &[f64] {
        &self.sd
    }

    pub(crate) fn scaled(&self, root: f64) -> Result<Self, BoostError> {
        Self::from_sd(self.sd.iter().map(|sd| sd * root).collect())
    }
}

impl Spread for Diagonal {
    fn latent_dim(&self) -> usize {
        self.sd.len()
    }

    fn log_det(&self) -> f64 {
        2.0 * self.sd.iter().map(|sd| sd.ln()).sum::<f64>()
    }

    fn covariance(&self) -> Mat<f64> {
        let d = self.sd.len();
        Mat::from_fn(d, d, |i, j| if i == j { self.sd[i] * self.sd[i] } else { 0.0 })
    }

    fn precision(&self) -> Mat<f64> {
        let d = self.sd.len();
        Mat::from_fn(d, d, |i, j| if i == j { 1.0 / (self.sd[i] * self.sd[i]) } else { 0.0 })
    }

    fn map(&self, mean: &[f64], z: &Block, x: &mut Block) {
        for (j, (&mean, &sd)) in mean.iter().zip(&self.sd).enumerate() {
            for (x, z) in x.col_mut(j).iter_mut().zip(z.col(j)) {
                *x = mean + sd * z;
            }
        }
    }

    fn evaluate(&self, mean: &[f64], x: &Block, log: &mut [f64], s: &mut Block, solve: bool) {
        log.fill(0.0);
        for (j, (&mean, &sd)) in mean.iter().zip(&self.sd).enumerate() {
            let inverse = 1.0 / sd;
            for ((log, s), x) in log.iter_mut().zip(s.col_mut(j)).zip(x.col(j)) {
                let y = (x - mean) * inverse;
                *log -= 0.5 * y * y;
                if solve {
                    *s = y * inverse;
                }
            }
        }
    }

    fn pull_sample(&self, z: &Block, g: &Block, out: &mut Mat<f64>) {
        for j in 0..self.sd.len() {
            out[(j, 0)] += z.col(j).iter().zip(g.col(j)).map(|(z, g)| z * g).sum::<f64>();
        }
    }

    fn pull_density(&self, s: &Block, rho: &[f64], out: &mut Mat<f64>) {
        // ∂/∂σ_j = σ_j·s_j² − 1/σ_j
        for (j, sd) in self.sd.iter().enumerate() {
            let squares: f64 = s.col(j).iter().zip(rho).map(|(s, rho)| rho * s * s).sum();
            out[(j, 0)] += sd * squares - rho.iter().sum::<f64>() / sd;
        }
    }

    fn zero_gradient(&self) -> Mat<f64> {
        Mat::zeros(self.sd.len(), 1)
    }
}
