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
use vi_linalg::low_rank::GramScratch;
use vi_linalg::tiles::Tiling;

use super::LowRankGaussian;
use super::columns::{Columns, mul_f};
use super::em::{self, Outcome, Tile, product};
use super::project::{StartMemory, Written};
use crate::Error;

/// The small matrices of the step.
struct OneLoop {
    /// `(−ΩC, C)`, `(p + k) × k`.
    residual: Mat<f64>,
    /// `±(ΩC)ᵀ`, `k × p`.
    back: Mat<f64>,
    /// −1 for one row of negative curvature, else 1.
    sign: f64,
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
        let shift = self.mean_coefficients();
        let tiling = Tiling::for_width(p + k);
        let height = tiling.height().min(d);
        if step.sign < 0.0 {
            self.check_decrease(&step, columns, par)?;
        }
        let (w, psi) = self.precision.parts_mut();
        let written = tiling.fold(
            (w, psi, self.mean.as_mut_slice()),
            par,
            || (vec![0.0; height * k], StartMemory::new(columns, height, 0), GramScratch::new(height, p)),
            || Written { gram: Mat::zeros(p, p), outcome: Outcome::default() },
            |written, (residual, memory, gram), first, (mut w, psi, mean)| {
                let r = psi.len();
                let mut none = Mat::zeros(0, 0);
                let x = columns.tile(first, r, &mut none);
                memory.shift_mean(mean, Tile { w: w.as_ref(), x, psi }, shift.as_ref());
                let y = &mut residual[..r * k];
                mul_f(MatMut::from_column_major_slice_mut(y, r, k), w.as_ref(), x, step.residual.as_ref());
                for column in y.chunks(r) {
                    for (psi, y) in psi.iter_mut().zip(column) {
                        *psi += step.sign * (y * y);
                    }
                }
                if p > 0 {
                    let y = MatRef::from_column_major_slice(y, r, k);
                    matmul(w.as_mut(), Accum::Add, y, step.back.as_ref(), 1.0, Par::Seq);
                    gram.add_tile(written.gram.as_mut(), w.as_ref(), psi);
                }
            },
            |left, right| left.add(&right),
        );
        self.finish(written)
    }

    fn one_loop(&self) -> Result<OneLoop, Error> {
        let (p, k) = (self.rank(), self.waiting.len());
        let space = &self.waiting.space;
        let weights: Vec<f64> = std::iter::repeat_n(1.0, p).chain(space.curvatures()).collect();
        em::check_magnitude(self.precision.psi(), space.gram(self.gram.as_ref()).as_ref(), &weights)?;
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
        Ok(OneLoop { residual, back, sign })
    }

    /// Checks that `ψ − rowsum(ZC∘ZC)` stays positive.
    fn check_decrease(&self, step: &OneLoop, columns: Columns<'_>, par: Par) -> Result<(), Error> {
        let k = columns.len();
        let tiling = Tiling::for_width(self.rank() + k);
        let height = tiling.height().min(self.mean.len());
        let bad = tiling.fold(
            (self.precision.w(), self.precision.psi()),
            par,
            || vec![0.0; height * k],
            || None,
            |bad: &mut Option<usize>, residual, first, (w, psi)| {
                let r = psi.len();
                let mut none = Mat::zeros(0, 0);
                let y = &mut residual[..r * k];
                let x = columns.tile(first, r, &mut none);
                mul_f(MatMut::from_column_major_slice_mut(y, r, k), w, x, step.residual.as_ref());
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
