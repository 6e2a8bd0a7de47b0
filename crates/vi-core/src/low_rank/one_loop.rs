//! Algorithm 1's first step, which starts from the target's own `(W, ψ)`: without cancellation and in one pass over `W`.
//!
//! For `S = α(Ψ + WWᵀ) + XHXᵀ`, in any basis:
//!
//! ```text
//! M = I + WᵀΨ⁻¹W;   N = I + αWᵀΨ⁻¹W;   Θ = N⁻¹WᵀΨ⁻¹X;   Z = X − αWΘ;   B = (H⁻¹ + ΘᵀM⁻¹WᵀΨ⁻¹X)⁻¹ = CCᵀ
//! W⁺ = W − (1−α)WN⁻¹ + Z·BΘᵀ = W − (1−α)WN⁻¹ + (ZC)(ΘC)ᵀ
//! ψ⁺ = αψ + α(1−α)·rowsum(W ∘ WN⁻¹) + rowsum(ZC∘ZC) ≥ αψ
//! ```
//!
//! which is the [general step](super::em) with `M⁻¹` and Woodbury multiplied out; no term of `ψ⁺` is negative unless `H` is.
//! `ZC = F·(−αΘC, C)`, so a tile needs only its own rows. The low-rank belief has `α = 1`: it fades first, and this step starts
//! from `(√α·W, αψ)`; the next `WᵀΨ⁻¹W` is summed while the tile is at hand, in `dp²` flops, and `O(dpK)` for the rest.

use vi_linalg::cholesky;
use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, Mat, MatMut, MatRef, Par};
use vi_linalg::kernels::{axpy, dot, product};
use vi_linalg::tiles::Tiling;

use super::columns::Columns;
use super::em;
use super::kernels::{Factor, FactorMut, Tile, add_gram};
use super::reduce::Written;
use super::storage::Full;
use crate::Error;
use crate::vectors::vectorised;

/// The small matrices of the step.
pub(crate) struct OneLoop {
    /// `(−αΘC, C)`, `(p + k) × k`.
    residual: Mat<f64>,
    /// `±(ΘC)ᵀ`, `k × p`.
    back: Mat<f64>,
    /// −1 for one row of negative curvature, else 1.
    sign: f64,
    /// `α` and the Cholesky factor of `N`, unless `α = 1`.
    fade: Option<(f64, Mat<f64>)>,
}

impl OneLoop {
    /// The step from the Cholesky factor `m` of `M`, that of `N` unless `α = 1`, `WᵀΨ⁻¹X` (`p × k`) and the diagonal `h` of `H`,
    /// which is not negative unless `k = 1`. Cost `O((p + k)²k)`.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`], [`Error::Overflow`].
    pub(crate) fn new(
        m: MatRef<'_, f64>,
        fade: Option<(f64, Mat<f64>)>,
        wx: &Mat<f64>,
        h: &[f64],
    ) -> Result<Self, Error> {
        let (p, k) = wx.shape();
        let solved = |root: MatRef<'_, f64>| {
            let mut solved = wx.clone();
            cholesky::solve_in_place(root, solved.as_mut(), Par::Seq);
            solved
        };
        let weighted = |a: &Mat<f64>| Mat::from_fn(p, k, |i, j| a[(i, j)] * h[j].abs().sqrt());
        let theta = solved(fade.as_ref().map_or(m, |(_, n)| n.as_ref()));
        let sign = if h.first().is_some_and(|h| *h < 0.0) { -1.0 } else { 1.0 };
        // B = D(I ± D·ΘᵀM⁻¹WᵀΨ⁻¹X·D)⁻¹D with D = √|H|, and C = D·L⁻ᵀ.
        let scaled = weighted(&theta);
        let mut inner = match fade {
            None => product(scaled.transpose(), scaled.as_ref(), Par::Seq),
            Some(_) => product(scaled.transpose(), weighted(&solved(m)).as_ref(), Par::Seq),
        };
        for j in 0..k {
            for i in 0..k {
                inner[(i, j)] = sign * inner[(i, j)] + f64::from(u8::from(i == j));
            }
        }
        em::factor(inner.as_mut(), "1 + h·‖Ω‖²")?;
        let mut c = Mat::<f64>::identity(k, k);
        cholesky::solve_lower_in_place(inner.as_ref(), c.as_mut(), Par::Seq);
        let c = Mat::from_fn(k, k, |i, j| h[i].abs().sqrt() * c[(j, i)]);
        let on_w = product(theta.as_ref(), c.as_ref(), Par::Seq);
        let alpha = fade.as_ref().map_or(1.0, |(alpha, _)| *alpha);
        let residual = Mat::from_fn(p + k, k, |i, j| if i < p { -alpha * on_w[(i, j)] } else { c[(i - p, j)] });
        let back = Mat::from_fn(k, p, |i, j| sign * on_w[(j, i)]);
        Ok(Self { residual, back, sign, fade })
    }

    /// `C` when one row is projected.
    fn root(&self) -> f64 {
        self.residual[(self.back.ncols(), 0)]
    }

    /// `y ← ZC` on a tile, column after column.
    pub(crate) fn residuals(&self, f: Tile<'_>, y: &mut [f64]) {
        f.mul(y, self.residual.as_ref());
    }

    /// Replaces a tile's `(W, ψ)` by the next, from the residuals of the current one; `memory` holds `r·p` numbers or more.
    pub(crate) fn write(&self, w: &mut [f64], psi: &mut [f64], y: &[f64], memory: &mut [f64]) {
        let (r, p) = (psi.len(), self.back.ncols());
        if let Some((alpha, n)) = &self.fade {
            for psi in psi.iter_mut() {
                *psi *= alpha;
            }
            if p > 0 {
                fade(w, psi, *alpha, n.as_ref(), &mut memory[..r * p]);
            }
        }
        for column in y.chunks_exact(r) {
            add_squares(psi, column, self.sign);
        }
        add_outer(w, y, self.back.as_ref(), r);
    }
}

/// `ψ ← ψ + α(1−α)·rowsum(W ∘ WN⁻¹)` and `W ← W − (1−α)WN⁻¹` on a tile.
fn fade(w: &mut [f64], psi: &mut [f64], alpha: f64, n: MatRef<'_, f64>, memory: &mut [f64]) {
    let (r, p) = (psi.len(), n.nrows());
    memory.copy_from_slice(w);
    // Row-major r × p is column-major p × r: Uᵀ with U = WL_N⁻ᵀ, whose rows have the squares wᵀN⁻¹w, then WN⁻¹.
    cholesky::solve_lower_in_place(n, MatMut::from_column_major_slice_mut(memory, p, r), Par::Seq);
    for (psi, u) in psi.iter_mut().zip(memory.chunks_exact(p)) {
        *psi += alpha * (1.0 - alpha) * dot(u, u);
    }
    cholesky::solve_upper_in_place(n, MatMut::from_column_major_slice_mut(memory, p, r), Par::Seq);
    axpy(w, alpha - 1.0, memory);
}

impl Full {
    /// Projects the rows of the space, which are those of `x` (`k × d`).
    ///
    /// # Errors
    /// [`Error::Overflow`]; [`Error::NotPositiveDefinite`] with the coordinate in which a negative curvature would leave no
    /// positive `ψ`; [`Error::ImproperSite`] for a negative curvature among several rows. On an error the belief is unchanged.
    pub(super) fn reduce_by_one_loop(&mut self, x: MatRef<'_, f64>, par: Par) -> Result<(), Error> {
        let (p, k, d) = (self.core.rank(), x.nrows(), x.ncols());
        let columns = Columns::Dense(x);
        let step = self.one_loop()?;
        // For one row μ ← μ + e/C·Ψ⁻¹(ZC); not finite where C = 0.
        let by_residual = if k == 1 { self.core.waiting.space.rows[0].gain / step.root() } else { f64::NAN };
        let shift = self.core.checked_mean_weights(&self.core.waiting.space)?;
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
                step.residuals(f, y);
                if by_residual.is_finite() {
                    move_by_residual(mean, psi, y, by_residual);
                } else {
                    f.shift_mean(mean, shift.as_ref(), memory);
                }
                step.write(w.values, psi, y, memory);
                add_gram(written.gram.as_mut(), w.as_ref(), psi, memory);
            },
            |left, right| left.add(&right),
        );
        self.settle(written.gram, written.outcome.lifted);
        Ok(())
    }

    fn one_loop(&self) -> Result<OneLoop, Error> {
        let (p, k) = (self.core.rank(), self.core.waiting.len());
        let space = &self.core.waiting.space;
        let h: Vec<f64> = space.curvatures().collect();
        if let (Some(&curvature), true) = (h.iter().find(|h| **h < 0.0), k > 1) {
            return Err(Error::ImproperSite { slope: 0.0, curvature, variance: f64::NAN });
        }
        OneLoop::new(self.core.root(), None, &Mat::from_fn(p, k, |i, j| space.rows[j].wx[i]), &h)
    }

    /// Checks that `ψ − rowsum(ZC∘ZC)` stays positive.
    fn check_decrease(&self, step: &OneLoop, columns: Columns<'_>, par: Par) -> Result<(), Error> {
        let (d, k) = (self.mean.len(), columns.len());
        let tiling = Tiling::for_width(self.core.rank() + k);
        let height = tiling.height().min(d);
        let bad = tiling.fold(
            (Factor::new(self.precision.w_row_major(), d), self.precision.psi()),
            par,
            || (vec![0.0; height * k], columns.tile_memory(height)),
            || None,
            |bad: &mut Option<usize>, (residual, memory), first, (w, psi)| {
                let r = psi.len();
                let y = &mut residual[..r * k];
                step.residuals(Tile { w, x: columns.part(first, r, memory), psi }, y);
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
