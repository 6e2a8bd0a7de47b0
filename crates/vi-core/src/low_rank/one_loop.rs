//! One EM step from `(W, ψ)` itself, without cancellation and in one pass over `W`.
//!
//! For `S = Ψ + WWᵀ + XHXᵀ`, in any basis:
//!
//! ```text
//! M = I + WᵀΨ⁻¹W;   Ω = M⁻¹WᵀΨ⁻¹X;   Z = X − WΩ;   B = (H⁻¹ + ΩᵀΩ)⁻¹ = CCᵀ
//! W⁺ = W + Z·BΩᵀ = W + (ZC)(ΩC)ᵀ;    ψ⁺ = ψ + rowsum(ZB∘Z) = ψ + rowsum(ZC∘ZC) ≥ ψ
//! ```
//!
//! `ZC = F·(−ΩC, C)`, so a tile needs its own rows alone, and the next `WᵀΨ⁻¹W` is summed while it is at hand: `dp²` flops
//! for that and `O(dpK)` beside it. Where `S = αΨ + αWWᵀ + …`, the belief fades first and this step starts from
//! `(√α·W, αψ)`; the printed map starts from `(W, ψ)` instead and is the [recursion](super::recursive).

use vi_linalg::cholesky;
use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, Mat, MatMut, MatRef, Par};
use vi_linalg::tiles::Tiling;

use super::LowRankGaussian;
use super::columns::Columns;
use super::em::{self, product};
use super::kernels::{Factor, FactorMut, Tile, add_gram, vectorised};
use super::project::Written;
use crate::Error;

/// The small matrices of the step.
struct OneLoop {
    /// `(−ΩC, C)`, `(p + k) × k`.
    residual: Mat<f64>,
    /// `±(ΩC)ᵀ`, `k × p`.
    back: Mat<f64>,
    /// −1 for one row of negative curvature, else 1.
    sign: f64,
    /// For one row `μ ← μ + shift·Ψ⁻¹(ZC)`, with `shift = e/C`; not finite where `C = 0`.
    shift: f64,
}

impl LowRankGaussian {
    /// Projects the rows of the space, which are those of `x` (`k × d`).
    ///
    /// # Errors
    /// [`Error::Overflow`]; [`Error::NotPositiveDefinite`] with the coordinate where a negative curvature would leave nothing of
    /// `ψ`; [`Error::ImproperSite`] for a negative curvature among several rows. The belief is then as it was.
    pub(super) fn project_one_loop(&mut self, x: MatRef<'_, f64>, par: Par) -> Result<(), Error> {
        let (p, k, d) = (self.rank(), x.nrows(), x.ncols());
        let columns = Columns::Dense(x);
        let step = self.one_loop()?;
        let shift = self.mean_coefficients()?;
        if step.sign < 0.0 {
            self.check_decrease(&step, columns, par)?;
        }
        let tiling = Tiling::for_width(2 * p + k);
        let height = tiling.height().min(d);
        let (w, psi) = self.precision.row_major_mut();
        let written = tiling.fold(
            (FactorMut::new(w, d), psi, self.mean.as_mut_slice()),
            par,
            || (vec![0.0; height * k], vec![0.0; height * p.max(1)]),
            || Written::zeros(p),
            |written, (residual, memory), first, (w, psi, mean)| {
                let r = psi.len();
                let y = &mut residual[..r * k];
                let f = Tile { w: w.as_ref(), x: x.subcols(first, r).into(), psi };
                f.mul(y, step.residual.as_ref());
                if k == 1 && step.shift.is_finite() {
                    move_by_residual(mean, psi, y, step.shift);
                } else {
                    f.shift_mean(mean, shift.as_ref(), memory);
                }
                for column in y.chunks_exact(r) {
                    add_squares(psi, column, step.sign);
                }
                add_outer(w.values, y, step.back.as_ref(), r);
                add_gram(written.gram.as_mut(), w.as_ref(), psi, memory);
            },
            |left, right| left.add(&right),
        );
        self.finish(written)
    }

    fn one_loop(&self) -> Result<OneLoop, Error> {
        let (p, k) = (self.rank(), self.waiting.len());
        let space = &self.waiting.space;
        let weights: Vec<f64> = std::iter::repeat_n(1.0, p).chain(space.curvatures()).collect();
        let h = &weights[p..];
        if let (Some(&curvature), true) = (h.iter().find(|h| **h < 0.0), k > 1) {
            return Err(Error::ImproperSite { slope: 0.0, curvature, variance: f64::NAN });
        }
        let mut omega = Mat::from_fn(p, k, |i, j| space.rows[j].wx[i]);
        cholesky::solve_in_place(self.root(), omega.as_mut(), Par::Seq);
        let sign = if h.first().is_some_and(|h| *h < 0.0) { -1.0 } else { 1.0 };
        // B = D(I ± DΩᵀΩD)⁻¹D with D = √|H|, and C = D·L⁻ᵀ.
        let scaled = Mat::from_fn(p, k, |i, j| omega[(i, j)] * h[j].abs().sqrt());
        let mut inner = product(scaled.transpose(), scaled.as_ref());
        for j in 0..k {
            for i in 0..k {
                inner[(i, j)] = sign * inner[(i, j)] + f64::from(u8::from(i == j));
            }
        }
        em::factor(inner.as_mut(), "1 + h·‖Ω‖²")?;
        let mut c = Mat::<f64>::identity(k, k);
        cholesky::solve_lower_in_place(inner.as_ref(), c.as_mut(), Par::Seq);
        let c = Mat::from_fn(k, k, |i, j| h[i].abs().sqrt() * c[(j, i)]);
        let on_w = product(omega.as_ref(), c.as_ref());
        let residual = Mat::from_fn(p + k, k, |i, j| if i < p { -on_w[(i, j)] } else { c[(i - p, j)] });
        let back = Mat::from_fn(k, p, |i, j| sign * on_w[(j, i)]);
        let shift = if k == 1 { space.rows[0].gain / c[(0, 0)] } else { f64::NAN };
        Ok(OneLoop { residual, back, sign, shift })
    }

    /// Checks that `ψ − rowsum(ZC∘ZC)` stays positive.
    fn check_decrease(&self, step: &OneLoop, columns: Columns<'_>, par: Par) -> Result<(), Error> {
        let (d, k) = (self.mean.len(), columns.len());
        let tiling = Tiling::for_width(self.rank() + k);
        let height = tiling.height().min(d);
        let bad = tiling.fold(
            (Factor::new(self.precision.w_row_major(), d), self.precision.psi()),
            par,
            || (vec![0.0; height * k], columns.tile_memory(height)),
            || None,
            |bad: &mut Option<usize>, (residual, memory), first, (w, psi)| {
                let r = psi.len();
                let y = &mut residual[..r * k];
                Tile { w, x: columns.part(first, r, memory), psi }.mul(y, step.residual.as_ref());
                let left = |i: usize| psi[i] - (0..k).map(|j| y[j * r + i] * y[j * r + i]).sum::<f64>();
                *bad = bad.or_else(|| (0..r).find(|&i| left(i) <= 0.0 || left(i).is_nan()).map(|i| first + i));
            },
            |left, right| *left = left.or(right),
        );
        match bad {
            None => Ok(()),
            Some(pivot) => Err(Error::NotPositiveDefinite { argument: "psi after the update", pivot }),
        }
    }
}

/// `μ ← μ + shift·Ψ⁻¹y`.
fn move_by_residual(mean: &mut [f64], psi: &[f64], y: &[f64], shift: f64) {
    vectorised(
        #[inline(always)]
        || mean.iter_mut().zip(psi).zip(y).for_each(|((mean, psi), y)| *mean += shift * y / psi),
    );
}

/// `ψ ← ψ + sign·y∘y`.
fn add_squares(psi: &mut [f64], y: &[f64], sign: f64) {
    vectorised(
        #[inline(always)]
        || psi.iter_mut().zip(y).for_each(|(psi, y)| *psi += sign * (y * y)),
    );
}

/// `W ← W + Y·back` on a tile, `Y` column after column.
fn add_outer(w: &mut [f64], y: &[f64], back: MatRef<'_, f64>, r: usize) {
    let (k, p) = back.shape();
    if p == 0 {
        return;
    }
    if k > 1 {
        let y = MatRef::from_column_major_slice(y, r, k);
        matmul(MatMut::from_row_major_slice_mut(w, r, p), Accum::Add, y, back, 1.0, Par::Seq);
        return;
    }
    let back: Vec<f64> = back.row(0).iter().copied().collect();
    match *back {
        [back] => vectorised(
            #[inline(always)]
            || w.iter_mut().zip(y).for_each(|(w, y)| *w += y * back),
        ),
        _ => vectorised(
            #[inline(always)]
            || {
                for (w, y) in w.chunks_exact_mut(p).zip(y) {
                    w.iter_mut().zip(&back).for_each(|(w, back)| *w += y * back);
                }
            },
        ),
    }
}
