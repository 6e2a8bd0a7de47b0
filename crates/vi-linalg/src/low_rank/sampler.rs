//! Draws from N(0, S) and N(0, S⁻¹) without forming either: ensemble sampling.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rand_distr::{Distribution, StandardNormal};

use super::factored::Factored;
use super::gram::factor_product;
use super::matrix::LowRank;
use crate::cholesky::solve_in_place;
use crate::tiles::Tiling;
use crate::{LinalgError, check};

impl LowRank {
    /// K draws from N(0, Ψ + WWᵀ), the columns of the result (d × K): Ψ^½z + Wε with z, ε standard normal.
    ///
    /// Cost 2dpK flops and (d + p)K normal variates, drawn one after the other: column by column z, then ε.
    #[must_use]
    pub fn draw<R: rand::Rng + ?Sized>(&self, k: usize, rng: &mut R, par: Par) -> Mat<f64> {
        let mut out = Mat::zeros(self.dim(), k);
        let mut epsilon = Mat::zeros(self.rank(), k);
        fill_normal(out.as_mut(), rng);
        fill_normal(epsilon.as_mut(), rng);
        Tiling::for_width(self.rank() + k).for_each(
            (self.w(), self.psi(), out.as_mut()),
            par,
            || (),
            |(), _, (w, psi, mut out)| {
                for j in 0..k {
                    for (i, psi) in psi.iter().enumerate() {
                        out[(i, j)] *= psi.sqrt();
                    }
                }
                matmul(out, Accum::Add, w, epsilon.as_ref(), 1.0, Par::Seq);
            },
        );
        out
    }
}

impl Factored<'_> {
    /// K draws from N(0, (Ψ + WWᵀ)⁻¹), the columns of the result (d × K), by the ensemble sampler (L-RVGA Proposition 1).
    ///
    /// Cost 4dpK flops in two passes over W, and (d + p)K normal variates drawn one after the other: column by column z, then ε.
    /// Memory d × K for the result and p × K.
    ///
    /// ```
    /// use rand::SeedableRng;
    /// use vi_linalg::LowRank;
    /// use vi_linalg::faer::{Par, mat};
    /// let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    /// let s = LowRank::new(mat![[1.0], [2.0]].as_ref(), &[1.0, 1.0])?;
    /// let draws = s.factor(Par::Seq)?.draw_inverse(20_000, &mut rng, Par::Seq);
    /// let variance = draws.row(0).squared_norm_l2() / 20_000.0;
    /// // (S⁻¹)₀₀ = 5/6; six standard errors √(2/N) of a variance.
    /// assert!((variance / (5.0 / 6.0) - 1.0).abs() < 6.0 * (2.0 / 20_000.0_f64).sqrt());
    /// # Ok::<(), vi_linalg::LinalgError>(())
    /// ```
    #[must_use]
    pub fn draw_inverse<R: rand::Rng + ?Sized>(&self, k: usize, rng: &mut R, par: Par) -> Mat<f64> {
        let mut out = Mat::zeros(self.matrix().dim(), k);
        let mut epsilon = Mat::zeros(self.matrix().rank(), k);
        fill_normal(out.as_mut(), rng);
        fill_normal(epsilon.as_mut(), rng);
        self.transform(out.as_mut(), epsilon, par);
        out
    }

    /// The deterministic part of the sampler: x₊ = x + L(ε − Wᵀx) with x = Ψ^(−½)z, L = Ψ⁻¹WM⁻¹, for z of d × K and ε of p × K.
    /// Standard normal z and ε give draws from N(0, (Ψ + WWᵀ)⁻¹).
    ///
    /// The paper prints ε − LWᵀx, whose shapes do not agree; its second form (I − LWᵀ)x + Lε is this one.
    ///
    /// # Errors
    /// [`LinalgError::Dimension`], [`LinalgError::NonFinite`] for z and ε.
    pub fn ensemble_transform(
        &self,
        z: MatRef<'_, f64>,
        epsilon: MatRef<'_, f64>,
        par: Par,
    ) -> Result<Mat<f64>, LinalgError> {
        self.matrix().check_rows("z", z)?;
        check::dimension("rows of epsilon", self.matrix().rank(), epsilon.nrows())?;
        check::dimension("columns of epsilon", z.ncols(), epsilon.ncols())?;
        check::finite_matrix("epsilon", epsilon)?;
        let mut out = z.to_owned();
        self.transform(out.as_mut(), epsilon.to_owned(), par);
        Ok(out)
    }

    fn transform(&self, mut out: MatMut<'_, f64>, epsilon: Mat<f64>, par: Par) {
        let s = self.matrix();
        let k = out.ncols();
        let tiling = Tiling::for_width(s.rank() + k);
        tiling.for_each(
            (s.psi(), out.as_mut()),
            par,
            || (),
            |(), _, (psi, mut out)| {
                for j in 0..k {
                    for (i, psi) in psi.iter().enumerate() {
                        out[(i, j)] /= psi.sqrt();
                    }
                }
            },
        );
        let mut c = epsilon;
        c -= factor_product(s.w(), out.as_ref(), None, par);
        solve_in_place(self.capacitance().cholesky().factor(), c.as_mut(), Par::Seq);
        tiling.for_each(
            (s.w(), s.psi(), out),
            par,
            || Mat::zeros(tiling.height().min(s.dim()), k),
            |scratch, _, (w, psi, mut out)| {
                let mut shift = scratch.as_mut().subrows_mut(0, psi.len());
                matmul(shift.as_mut(), Accum::Replace, w, c.as_ref(), 1.0, Par::Seq);
                for j in 0..k {
                    for (i, psi) in psi.iter().enumerate() {
                        out[(i, j)] += shift[(i, j)] / psi;
                    }
                }
            },
        );
    }
}

/// Standard normal variates, column by column.
pub(super) fn fill_normal<R: rand::Rng + ?Sized>(out: MatMut<'_, f64>, rng: &mut R) {
    for column in out.col_iter_mut() {
        for value in column.iter_mut() {
            *value = StandardNormal.sample(rng);
        }
    }
}
