//! Components with any covariance, kept as its Cholesky factor.

use vi_linalg::cholesky::{mul_lower, solve_lower_in_place, solve_upper_in_place};
use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, Mat, MatRef, Par};
use vi_linalg::kernels::{axpy, dot};
use vi_linalg::{Cholesky, check};

use super::Spread;
use crate::BoostError;
use crate::block::Block;

/// The dimension from which on matrix products and triangular solves are faster than sums of columns.
const MATRIX: usize = 24;

/// `Σ = LLᵀ`.
#[derive(Debug, Clone)]
pub(crate) struct Full {
    cholesky: Cholesky,
}

impl Full {
    pub(crate) fn new(d: usize, covariance: MatRef<'_, f64>) -> Result<Self, BoostError> {
        check::dimension("rows of the covariance", d, covariance.nrows())?;
        Ok(Self { cholesky: Cholesky::new(covariance)? })
    }

    pub(crate) fn from_factor(factor: Mat<f64>) -> Result<Self, BoostError> {
        Ok(Self { cholesky: Cholesky::from_factor(factor)? })
    }

    /// `L`, its strict upper triangle zero.
    pub(crate) fn factor(&self) -> MatRef<'_, f64> {
        self.cholesky.factor()
    }

    pub(crate) fn scaled(&self, root: f64) -> Result<Self, BoostError> {
        let l = self.factor();
        Self::from_factor(Mat::from_fn(l.nrows(), l.ncols(), |i, j| root * l[(i, j)]))
    }
}

impl Spread for Full {
    fn latent_dim(&self) -> usize {
        self.cholesky.dim()
    }

    fn log_det(&self) -> f64 {
        self.cholesky.log_det()
    }

    fn covariance(&self) -> Mat<f64> {
        let l = self.factor();
        l * l.transpose()
    }

    fn precision(&self) -> Mat<f64> {
        self.cholesky.inverse()
    }

    fn map(&self, mean: &[f64], z: &Block, x: &mut Block) {
        let l = self.factor();
        if mean.len() >= MATRIX {
            mul_lower(x.as_mut().transpose_mut(), l, z.as_ref().transpose(), Par::Seq);
            for (j, &mean) in mean.iter().enumerate() {
                x.col_mut(j).iter_mut().for_each(|x| *x += mean);
            }
            return;
        }
        for (j, &mean) in mean.iter().enumerate() {
            let x = x.col_mut(j);
            x.fill(mean);
            for k in 0..=j {
                axpy(x, l[(j, k)], z.col(k));
            }
        }
    }

    fn evaluate(&self, mean: &[f64], x: &Block, log: &mut [f64], s: &mut Block, solve: bool) {
        let (d, l) = (mean.len(), self.factor());
        for (j, &mean) in mean.iter().enumerate() {
            for (s, x) in s.col_mut(j).iter_mut().zip(x.col(j)) {
                *s = x - mean;
            }
        }
        if d >= MATRIX {
            solve_lower_in_place(l, s.as_mut().transpose_mut(), Par::Seq);
        } else {
            for j in 0..d {
                for k in 0..j {
                    let (target, source) = s.col_mut_and(j, k);
                    axpy(target, -l[(j, k)], source);
                }
                let inverse = 1.0 / l[(j, j)];
                s.col_mut(j).iter_mut().for_each(|s| *s *= inverse);
            }
        }
        log.fill(0.0);
        for j in 0..d {
            for (log, y) in log.iter_mut().zip(s.col(j)) {
                *log -= 0.5 * y * y;
            }
        }
        if !solve {
            return;
        }
        if d >= MATRIX {
            solve_upper_in_place(l, s.as_mut().transpose_mut(), Par::Seq);
        } else {
            for j in (0..d).rev() {
                for k in j + 1..d {
                    let (target, source) = s.col_mut_and(j, k);
                    axpy(target, -l[(k, j)], source);
                }
                let inverse = 1.0 / l[(j, j)];
                s.col_mut(j).iter_mut().for_each(|s| *s *= inverse);
            }
        }
    }

    fn pull_sample(&self, z: &Block, g: &Block, out: &mut Mat<f64>) {
        // ∂/∂L = Σ_i g_i·z_iᵀ, lower triangle
        let d = g.columns();
        if d >= MATRIX {
            matmul(out.as_mut(), Accum::Add, g.as_ref().transpose(), z.as_ref(), 1.0, Par::Seq);
            return;
        }
        for j in 0..d {
            for i in j..d {
                out[(i, j)] += dot(g.col(i), z.col(j));
            }
        }
    }

    fn pull_density(&self, s: &Block, rho: &[f64], out: &mut Mat<f64>) {
        // ∂/∂L = Σ_i ρ_i·(s_i·y_iᵀ − diag(1/L)), lower triangle, with y = Lᵀs
        let (d, l) = (s.columns(), self.factor());
        let total: f64 = rho.iter().sum();
        if d >= MATRIX {
            let mut y = Block::zeros(s.rows(), d);
            matmul(y.as_mut(), Accum::Replace, s.as_ref(), l, 1.0, Par::Seq);
            for j in 0..d {
                y.col_mut(j).iter_mut().zip(rho).for_each(|(y, rho)| *y *= rho);
            }
            matmul(out.as_mut(), Accum::Add, s.as_ref().transpose(), y.as_ref(), 1.0, Par::Seq);
        } else {
            let mut y = vec![0.0; s.rows()];
            for j in 0..d {
                y.fill(0.0);
                for k in j..d {
                    axpy(&mut y, l[(k, j)], s.col(k));
                }
                y.iter_mut().zip(rho).for_each(|(y, rho)| *y *= rho);
                for i in j..d {
                    out[(i, j)] += dot(s.col(i), &y);
                }
            }
        }
        for j in 0..d {
            out[(j, j)] -= total / l[(j, j)];
        }
    }

    fn zero_gradient(&self) -> Mat<f64> {
        Mat::zeros(self.cholesky.dim(), self.cholesky.dim())
    }
}
