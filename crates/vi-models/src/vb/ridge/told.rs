//! The results of a step: means and variances of rows, variances of weights, the residual, the posterior.

use vi_linalg::Cholesky;
use vi_linalg::faer::Mat;
use vi_linalg::faer::linalg::triangular_inverse::invert_lower_triangular;
use vi_linalg::kernels::{dot, lower_mul_mat};

use super::super::weights::WeightDistribution;
use super::{Ridge, TILE, column, column_mut};
use crate::ModelError;
use crate::whitened::product;

impl Ridge<'_> {
    /// `aᵢ = xᵢᵀw` and `νᵢ = xᵢᵀVxᵢ` of every row. Cost `nd² + d³/3` flops (primal), `n³/3 + 2nd` (dual), where `νᵢ` is off by up to `ε/hᵢ`.
    pub(in crate::vb) fn project(&mut self, a: &mut [f64], nu: &mut [f64]) {
        let n = self.n();
        if self.dual {
            self.invert();
            for i in 0..n {
                a[i] = dot(column(self.rows.transposed(), i), &self.w);
                let tail = &column(self.inverse.as_ref(), i)[i..];
                nu[i] = ((1.0 - dot(tail, tail)) / self.weight(i)).max(0.0);
            }
            return;
        }
        self.invert();
        for start in (0..n).step_by(TILE) {
            let count = TILE.min(n - start);
            let rows = self.rows.transposed().subcols(start, count);
            lower_mul_mat(self.tile.as_mut().subcols_mut(0, count), self.inverse.as_ref(), rows, self.par);
            for i in 0..count {
                a[start + i] = dot(column(rows, i), &self.w);
                let whitened = column(self.tile.as_ref(), i);
                nu[start + i] = dot(whitened, whitened);
            }
        }
    }

    /// `L⁻¹`, lower triangle. Cost a third of its size cubed.
    fn invert(&mut self) {
        if self.inverted {
            return;
        }
        self.inverted = true;
        let size = self.factor.nrows();
        if self.inverse.nrows() == 0 {
            self.inverse = Mat::zeros(size, size);
        }
        invert_lower_triangular(self.inverse.as_mut(), self.factor.as_ref(), self.par);
    }

    /// `V_jj`, length `d`. Cost `d³/3` flops (primal), `n²d + n³/3` (dual), where they are off by up to `ε/α_j`.
    pub(in crate::vb) fn variances(&mut self) -> Vec<f64> {
        if !self.dual {
            self.invert();
            return (0..self.d())
                .map(|j| {
                    let tail = &column(self.inverse.as_ref(), j)[j..];
                    dot(tail, tail)
                })
                .collect();
        }
        self.scale();
        self.invert();
        let (n, d) = (self.n(), self.d());
        let mut variances = Vec::with_capacity(d);
        for start in (0..d).step_by(TILE.min(n)) {
            let count = TILE.min(n).min(d - start);
            let columns = self.scaled.as_ref().subcols(start, count);
            let mut whitened = self.tile.as_mut().submatrix_mut(0, 0, n, count);
            lower_mul_mat(whitened.as_mut(), self.inverse.as_ref(), columns, self.par);
            for j in 0..count {
                let whitened = column(whitened.as_ref(), j);
                variances.push(((1.0 - dot(whitened, whitened)) / self.shrinkage.get(start + j)).max(0.0));
            }
        }
        variances
    }

    /// The residual `r − Xw` for unit weights: in the dual form it is `M⁻¹r`, without a difference.
    pub(in crate::vb) fn residual(&self, r: &[f64]) -> Vec<f64> {
        if self.dual {
            return self.pull.clone();
        }
        let fitted = product(self.rows.transposed().transpose(), &self.w);
        r.iter().zip(&fitted).map(|(r, fitted)| r - fitted).collect()
    }

    /// The posterior `N(w, V)` of the last step, whose `r` is given again, and its condition. Cost `n²d` flops in the dual form.
    pub(in crate::vb) fn finish(&mut self, r: &[f64]) -> Result<(WeightDistribution, f64), ModelError> {
        let weights = if self.dual {
            self.scale();
            self.invert();
            let (n, d) = (self.n(), self.d());
            let mut loss = Mat::zeros(n, d);
            lower_mul_mat(loss.as_mut(), self.inverse.as_ref(), self.scaled.as_ref(), self.par);
            for j in 0..d {
                let root = self.shrinkage.get(j).sqrt();
                for loss in column_mut(loss.as_mut(), j) {
                    *loss /= root;
                }
            }
            let variances = (0..d).map(|j| 1.0 / self.shrinkage.get(j)).collect();
            // V⁻¹w = Xᵀr.
            let energy = (0..n).map(|i| r[i] * dot(column(self.rows.transposed(), i), &self.w)).sum();
            WeightDistribution::dual(self.w.clone(), variances, loss, self.log_det, energy)
        } else {
            WeightDistribution::primal(self.w.clone(), Cholesky::from_factor(self.factor.clone())?)
        };
        let condition = self.condition(&weights);
        Ok((weights, condition))
    }
}
