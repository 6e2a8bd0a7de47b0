//! The dense belief, block by block.

use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::linalg::matmul::triangular::{self, BlockStructure};
use vi_linalg::faer::linalg::triangular_solve::solve_unit_lower_triangular_in_place;
use vi_linalg::faer::{Accum, Mat, MatRef, Par};
use vi_linalg::kernels::{mirror_lower, symmetric_mul_mat, symmetric_rank_r};

use super::dense::check_variances;
use super::{Belief, DenseGaussian};
use crate::Error;
use crate::block::{BlockBelief, BlockRecursion};
use crate::error::check_results;

/// Below this dimension one plain product with a mirrored covariance is faster than two triangular ones; above, the mirroring
/// costs memory traffic that the products do not.
const MIRROR_BELOW: usize = 512;

/// Memory of a dense block: `S`, then `U`; `U·diag(c)`; the triangle `L`.
#[derive(Debug, Clone)]
pub struct DensePanels {
    u: Mat<f64>,
    scaled: Mat<f64>,
    coefficients: Mat<f64>,
}

impl BlockBelief for DenseGaussian {
    type Panels = DensePanels;

    fn panels(&self, b: usize) -> DensePanels {
        let d = self.dim();
        DensePanels { u: Mat::zeros(d, b), scaled: Mat::zeros(d, b), coefficients: Mat::zeros(b, b) }
    }

    /// `S = PX_b` (`2bd²` flops), `T = X_bᵀS`, `a = X_bᵀμ`.
    fn project_block(
        &mut self,
        x: MatRef<'_, f64>,
        recursion: &mut BlockRecursion,
        panels: &mut DensePanels,
        par: Par,
    ) {
        let (b, d) = (x.nrows(), x.ncols());
        let (mean, covariance) = self.parts_mut();
        let mut s = panels.u.as_mut().submatrix_mut(0, 0, d, b);
        if d < MIRROR_BELOW {
            mirror_lower(covariance.as_mut());
            matmul(s.as_mut(), Accum::Replace, covariance.as_ref(), x.transpose(), 1.0, par);
        } else {
            symmetric_mul_mat(s.as_mut(), covariance.as_ref(), x.transpose(), par);
        }
        let (a, t) = recursion.inputs(b);
        let a = vi_linalg::faer::MatMut::from_column_major_slice_mut(a, b, 1);
        matmul(a, Accum::Replace, x, MatRef::from_column_major_slice(mean, d, 1), 1.0, par);
        triangular::matmul(
            t,
            BlockStructure::TriangularLower,
            Accum::Replace,
            x,
            BlockStructure::Rectangular,
            s.as_ref(),
            BlockStructure::Rectangular,
            1.0,
            par,
        );
    }

    /// `U = S·L⁻ᵀ`, `μ ← μ + Ue`, `P ← P − U·diag(c)·Uᵀ` (`bd²` flops).
    fn absorb_block(
        &mut self,
        x: MatRef<'_, f64>,
        recursion: &BlockRecursion,
        panels: &mut DensePanels,
        par: Par,
    ) -> Result<(), Error> {
        let (b, d) = (x.nrows(), x.ncols());
        let mut coefficients = panels.coefficients.as_mut().submatrix_mut(0, 0, b, b);
        recursion.write_coefficients(coefficients.as_mut());
        let mut u = panels.u.as_mut().submatrix_mut(0, 0, d, b);
        solve_unit_lower_triangular_in_place(coefficients.as_ref(), u.as_mut().transpose_mut(), par);
        let (mean, covariance) = self.parts_mut();
        let loss = |i: usize| (0..b).map(|t| recursion.shrinkages()[t] * u[(i, t)] * u[(i, t)]).sum();
        check_variances(covariance, loss)?;
        let gains = MatRef::from_column_major_slice(recursion.gains(), b, 1);
        let mut moved = mean.clone();
        let target = vi_linalg::faer::MatMut::from_column_major_slice_mut(&mut moved, d, 1);
        matmul(target, Accum::Add, u.as_ref(), gains, 1.0, par);
        check_results("μ + Ue", moved.iter().copied())?;
        *mean = moved;
        let mut scaled = panels.scaled.as_mut().submatrix_mut(0, 0, d, b);
        for (t, &c) in recursion.shrinkages().iter().enumerate() {
            for i in 0..d {
                scaled[(i, t)] = c * u[(i, t)];
            }
        }
        symmetric_rank_r(covariance.as_mut(), -1.0, scaled.as_ref(), u.as_ref(), par);
        Ok(())
    }
}
