//! The dense belief, block by block.

use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::linalg::triangular_solve::solve_unit_lower_triangular_in_place;
use vi_linalg::faer::{Accum, Mat, MatMut, MatRef, Par};
use vi_linalg::kernels::{dot, tiled_lower_product, tiled_mul_mat, tiled_rank_r};
use vi_linalg::tiles::Tiling;

use super::digits::Strain;
use super::{Belief, DenseGaussian};
use crate::block::{self, BlockBelief, BlockRecursion};
use crate::check;
use crate::rows::contiguous_row;
use crate::vectors::vectorised;
use crate::{Error, Projection};

/// Rows of `U` that one thread solves for at a time.
const TILE: usize = 128;

/// Memory of a dense block: `S`, then `U`; `−U·diag(c)`; the triangle `L`; what each variance loses.
#[derive(Debug, Clone)]
pub struct DensePanels {
    u: Mat<f64>,
    scaled: Mat<f64>,
    coefficients: Mat<f64>,
    losses: Vec<f64>,
}

impl BlockBelief for DenseGaussian {
    type Panels = DensePanels;

    fn panels(&self, b: usize) -> DensePanels {
        let d = self.dim();
        DensePanels {
            u: Mat::zeros(d, b),
            scaled: Mat::zeros(d, b),
            coefficients: Mat::zeros(b, b),
            losses: vec![0.0; d],
        }
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
        let par = block::threads(d, par);
        let (mean, covariance) = self.storage_mut();
        let mut s = panels.u.as_mut().submatrix_mut(0, 0, d, b);
        tiled_mul_mat(s.as_mut(), covariance.as_mut(), x.transpose(), par);
        let (a, t) = recursion.inputs(b);
        let a = MatMut::from_column_major_slice_mut(a, b, 1);
        matmul(a, Accum::Replace, x, MatRef::from_column_major_slice(mean, d, 1), 1.0, Par::Seq);
        tiled_lower_product(t, x, s.as_ref(), par);
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
        let par = block::threads(d, par);
        let DensePanels { u, scaled, coefficients, losses } = panels;
        let mut coefficients = coefficients.as_mut().submatrix_mut(0, 0, b, b);
        recursion.write_coefficients(coefficients.as_mut());
        let mut u = u.as_mut().submatrix_mut(0, 0, d, b);
        let mut scaled = scaled.as_mut().submatrix_mut(0, 0, d, b);
        let (coefficients, shrinkages) = (coefficients.as_ref(), recursion.shrinkages());
        Tiling::of_height(TILE).for_each(
            (u.as_mut(), scaled.as_mut(), losses.as_mut_slice()),
            par,
            || (),
            |(), _, (mut u, scaled, losses)| {
                solve_unit_lower_triangular_in_place(coefficients, u.as_mut().transpose_mut(), Par::Seq);
                scale_columns(u.as_ref(), shrinkages, scaled, losses);
            },
        );
        let InDigits { strain, factor, added } = self.in_digits(x, recursion, losses)?;
        let gains = MatRef::from_column_major_slice(recursion.gains(), b, 1);
        let mut moved = self.mean().to_vec();
        let target = MatMut::from_column_major_slice_mut(&mut moved, d, 1);
        matmul(target, Accum::Add, u.as_ref(), gains, 1.0, Par::Seq);
        check::results("μ + Ue", moved.iter().copied())?;
        let write = |belief: &mut Self| {
            let (mean, covariance) = belief.parts_mut();
            mean.copy_from_slice(&moved);
            tiled_rank_r(covariance.as_mut(), scaled.as_ref(), u.as_ref(), par);
        };
        let digits = self.digits_after(strain, factor, &added, write)?;
        write(self);
        self.set_digits(digits);
        Ok(())
    }
}

impl DenseGaussian {
    /// Mean and variance along every row of `x` (`n × d`), as [`predict`](Belief::predict) gives them. Cost `2nd²` flops at the rate of products of
    /// matrices.
    ///
    /// # Errors
    /// [`Error::Dimension`]; [`Error::Row`] for a row along which one of the two is not finite or the variance is negative beyond rounding.
    ///
    /// ```
    /// use vi_core::DenseGaussian;
    /// use vi_linalg::faer::mat;
    /// let belief = DenseGaussian::isotropic(&[1.0, 2.0], 3.0)?;
    /// let seen = belief.along_rows(mat![[1.0, 0.0], [1.0, 1.0]].as_ref())?;
    /// assert_eq!((seen[0].mean, seen[0].variance, seen[1].mean, seen[1].variance), (1.0, 9.0, 3.0, 18.0));
    /// # Ok::<(), vi_core::Error>(())
    /// ```
    pub fn along_rows(&self, x: MatRef<'_, f64>) -> Result<Vec<Projection>, Error> {
        let d = self.dim();
        check::length("row", d, x.ncols())?;
        let covariance = self.covariance();
        let mut gains = Mat::zeros(d, TILE.min(x.nrows()));
        let (mut seen, mut row, mut column) = (Vec::with_capacity(x.nrows()), Vec::new(), Vec::new());
        for first in (0..x.nrows()).step_by(TILE) {
            let x = x.subrows(first, TILE.min(x.nrows() - first));
            let mut gains = gains.as_mut().subcols_mut(0, x.nrows());
            matmul(gains.as_mut(), Accum::Replace, covariance.as_ref(), x.transpose(), 1.0, Par::Seq);
            for t in 0..x.nrows() {
                let row = contiguous_row(x, t, &mut row);
                let gain = contiguous_row(gains.as_ref().transpose(), t, &mut column);
                let (variance, mean) = (dot(row, gain), dot(row, self.mean()));
                let terms = || row.iter().zip(gain).map(|(x, g)| (x * g).abs()).sum::<f64>();
                let rounding = if variance < 0.0 { d as f64 * f64::EPSILON * terms() } else { 0.0 };
                seen.push(Projection::new(mean, variance, rounding).map_err(|error| error.at_row(first + t))?);
            }
        }
        Ok(seen)
    }
}

/// What a block does to the digits.
struct InDigits {
    strain: Strain,
    /// What it multiplies the precision by.
    factor: f64,
    /// `Σ_t h_t·x_ti²`.
    added: Vec<f64>,
}

impl DenseGaussian {
    /// Checks the variances that a block leaves on the way. Cost `4bd` flops.
    ///
    /// # Errors
    /// As [`strain_sums`](Self::strain_sums).
    fn in_digits(&self, x: MatRef<'_, f64>, recursion: &BlockRecursion, losses: &[f64]) -> Result<InDigits, Error> {
        let d = self.dim();
        let variances: Vec<f64> = (0..d).map(|i| self.variance(i)).collect();
        let (mut added, mut squares, mut row) = (vec![0.0; d], vec![0.0; d], Vec::new());
        let (mut of_gains, mut growth, mut product) = (0.0_f64, 1.0, 1.0);
        for (t, step) in recursion.steps().iter().enumerate() {
            let (h, nu) = (step.site.curvature, step.projection.variance);
            let factor = 1.0 + h * nu;
            let x = contiguous_row(x, t, &mut row);
            vectorised(
                #[inline(always)]
                || {
                    for ((square, added), x) in squares.iter_mut().zip(&mut added).zip(x) {
                        *square = x * x;
                        *added += h * *square;
                    }
                },
            );
            let entries = dot(&squares, &variances);
            of_gains = of_gains.max(2.0 * h.abs() * (nu * entries).sqrt() / factor);
            growth *= factor.recip().max(1.0);
            product *= factor;
        }
        let (condition, _) = self.strain_sums(1.0, |i| losses[i], |i| added[i])?;
        // The changes of a block add up as a random walk does.
        let roundings = 3.0 + (recursion.steps().len() as f64).sqrt() + of_gains;
        Ok(InDigits { strain: Strain { condition, roundings, growth }, factor: product, added })
    }
}

/// `−U·diag(c)` into `scaled`, and the diagonal of `U·diag(c)·Uᵀ` into `losses`. The columns are contiguous.
fn scale_columns(u: MatRef<'_, f64>, shrinkages: &[f64], scaled: MatMut<'_, f64>, losses: &mut [f64]) {
    let mut scaled = scaled;
    losses.fill(0.0);
    for (t, &c) in shrinkages.iter().enumerate() {
        let (Some(u), Some(scaled)) = (u.col(t).try_as_col_major(), scaled.as_mut().col_mut(t).try_as_col_major_mut())
        else {
            continue;
        };
        vectorised(
            #[inline(always)]
            || {
                for ((u, scaled), loss) in u.as_slice().iter().zip(scaled.as_slice_mut()).zip(&mut *losses) {
                    *scaled = -c * u;
                    *loss -= *scaled * u;
                }
            },
        );
    }
}
