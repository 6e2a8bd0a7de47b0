//! The projection from `Ψ + WWᵀ + XHXᵀ` back to `Ψ + WWᵀ`, a block of rows at a time.
//!
//! ```text
//! K = FᵀΨ⁻¹F, F = [W X];   D² = diag(1, h);   Q₁ = D·(the p leading eigenvectors of DKD)
//! W₁ = F Q₁;   ψ₁ = diag S − rowsum(W₁∘W₁) ≥ ψ                              the spectral start
//! inner_loops EM steps on S = Ψ + FD²Fᵀ                                     (em.rs)
//! μ ← μ + Ψ⁻¹F·m                                                            exact, before the projection
//! ```
//!
//! `K` is known from the inner products computed when the rows were absorbed. With one inner loop two passes remain: one computes
//! `W₁ = F Q₁` tile by tile and sums what the EM step needs, the other computes the step's result and overwrites `W`, `ψ` and `μ`
//! in place, summing the next `WᵀΨ⁻¹W` while the tile is at hand.

use vi_linalg::faer::{Mat, Par};
use vi_linalg::low_rank::Capacitance;

use super::LowRankGaussian;
use super::columns::Columns;
use super::em::{self, Current, EmMemory, Floor, Maps, Outcome, Sums, Target};
use super::kernels::{Factor, FactorMut, Tile, add_gram};
use super::lazy::Spare;
use super::range::Bounds;
use super::settings::Scheme;
use super::space::{Space, solve};
use super::spectral::{self, SpectralStart};
use crate::Error;
use crate::check;
use crate::vectors::vectorised;

/// The sums of the last pass.
pub(super) struct Written {
    pub(super) gram: Mat<f64>,
    pub(super) outcome: Outcome,
}

impl Written {
    pub(super) fn zeros(p: usize) -> Self {
        Self { gram: Mat::zeros(p, p), outcome: Outcome::default() }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.gram += &other.gram;
        self.outcome.add(other.outcome);
    }
}

/// A projection that is ready to be written.
pub(super) struct Plan {
    /// `D²`.
    weights: Vec<f64>,
    start: SpectralStart,
    /// `m`.
    shift: Mat<f64>,
    begun: f64,
    lifted: usize,
    way: Way,
}

/// What is done after the spectral start.
enum Way {
    Start,
    OneStep { psi1: Vec<f64>, maps: Maps },
    Steps { w1: Vec<f64>, psi1: Vec<f64> },
}

impl Plan {
    fn target<'a>(&'a self, columns: Columns<'a>) -> Target<'a> {
        Target { columns, weights: &self.weights, share: 1.0, least: self.start.least, begun: self.begun }
    }

    /// Whether rounding may leave the new `I + WᵀΨ⁻¹W` without a Cholesky factor, which takes a largest eigenvalue near `1/(pε)`.
    /// The step keeps it within a few times that of `Ψ^(−½)SΨ^(−½)`.
    pub(super) fn may_lose_the_capacitance(&self) -> bool {
        let largest = self.start.largest;
        largest.is_nan() || largest > 1e9
    }
}

impl LowRankGaussian {
    /// Projects the buffered rows; does nothing if there are none.
    ///
    /// Cost for `k` rows with one inner loop, in flops: `d·p(8(p+k) + 5p)`, that is `14.5·d·p` for each row at `k = 2p`, and
    /// `O((p+k)³)`.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`] when rounding destroys what negative curvatures leave; [`Error::Overflow`],
    /// [`Error::Linalg`] if products of the rows are not finite. On an error the belief is unchanged.
    ///
    /// ```
    /// use vi_core::{Belief, Explicit, GaussianLikelihood, LowRankGaussian, LowRankSettings};
    /// use vi_linalg::faer::Par;
    /// let mut belief = LowRankGaussian::isotropic(&[0.0; 3], 1.0, LowRankSettings::blocked(1)?)?;
    /// belief.step(&Explicit(GaussianLikelihood::new(1.0)?), &[1.0, 2.0, -1.0], 7.0, Par::Seq)?;
    /// let before = belief.mean().to_vec();
    /// // The precision shows the row once it is projected; the mean has it already.
    /// assert_eq!((belief.waiting(), belief.precision().diagonal()[1]), (1, 1.0));
    /// belief.flush(Par::Seq)?;
    /// assert_eq!((belief.waiting(), belief.counts().projections), (0, 1));
    /// assert!((belief.precision().diagonal()[1] - 5.0).abs() < 1e-12);
    /// assert!(belief.mean().iter().zip(&before).all(|(after, before)| (after - before).abs() < 1e-12));
    /// # Ok::<(), vi_core::Error>(())
    /// ```
    pub fn flush(&mut self, par: Par) -> Result<(), Error> {
        if self.waiting.len() == 0 {
            return Ok(());
        }
        if let Some(lazy) = self.lazy.as_deref() {
            let plan = self.plan_lazily(lazy, None, &self.waiting.space, self.scale, Spare::default())?;
            let _memory = self.write_lazily(plan);
            return Ok(());
        }
        let rows = std::mem::take(&mut self.waiting.rows);
        let projected = self.project(rows.columns(self.mean.len()), par);
        self.waiting.rows = rows;
        projected?;
        self.waiting.clear();
        Ok(())
    }

    /// Projects the rows of the space, whose coordinates are `columns`. The space does not change; on an error nothing does.
    pub(super) fn project(&mut self, columns: Columns<'_>, par: Par) -> Result<(), Error> {
        let space = std::mem::take(&mut self.waiting.space);
        let projected =
            self.plan(&space, columns, self.scale, par).and_then(|plan| self.write_plan(&space, columns, &plan, par));
        self.waiting.space = space;
        projected
    }

    /// The part of the projection of the rows of `space` that can fail, with `scale` as the belief's: one pass over `W`.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub(super) fn plan(&self, space: &Space, columns: Columns<'_>, scale: f64, par: Par) -> Result<Plan, Error> {
        let (p, d) = (self.rank(), self.mean.len());
        let weights = space.weights(p);
        let gram = space.gram(self.gram.as_ref());
        let start = spectral::start(gram.as_ref(), &weights, p)?;
        let shift = self.checked_mean_weights(space)?;
        let begun = self.begun / scale;
        let mut plan = Plan { weights, start, shift, begun, lifted: 0, way: Way::Start };
        let target = plan.target(columns);
        let (w, psi) = (Factor::new(self.precision.w_row_major(), d), self.precision.psi());
        let inner_loops = match self.settings.scheme {
            Scheme::Blocked { inner_loops, .. } => inner_loops,
            Scheme::OneLoop | Scheme::Recursive { .. } => 0,
        };
        (plan.lifted, plan.way) = match inner_loops {
            0 => (0, Way::Start),
            1 => {
                let mut psi1 = vec![0.0; d];
                let (sums, lifted) = start_sums(target, &plan.start, (w, psi), &mut psi1, par);
                let maps = Maps::new(&sums, target.weights)?.with_start(plan.start.q1.as_ref());
                (lifted, Way::OneStep { psi1, maps })
            }
            _ => {
                let (mut w1, mut psi1) = (vec![0.0; d * p], vec![0.0; d]);
                let mut lifted = keep_start(target, &plan.start, (w, psi), (&mut w1, &mut psi1), par);
                for _ in 0..inner_loops {
                    lifted += em::step(target, (w, psi), (&mut w1, &mut psi1), Floor::Bound, par)?.proper()?;
                }
                (lifted, Way::Steps { w1, psi1 })
            }
        };
        Ok(plan)
    }

    /// Writes the projection that was planned for the same rows.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub(super) fn write_plan(
        &mut self,
        space: &Space,
        columns: Columns<'_>,
        plan: &Plan,
        par: Par,
    ) -> Result<(), Error> {
        debug_assert_eq!(space.len(), columns.len());
        let target = plan.target(columns);
        let mut written = match &plan.way {
            Way::Start => self.write_start(target, &plan.start, &plan.shift, par),
            Way::OneStep { psi1, maps } => self.write_one_step(target, psi1, maps, &plan.shift, par),
            Way::Steps { w1, psi1 } => {
                let gram = self.replace_precision((w1, psi1), columns, &plan.shift, par);
                Written { gram, outcome: Outcome::default() }
            }
        };
        written.outcome.lifted += plan.lifted;
        self.finish(written)
    }

    /// Stores the Gram matrix of the new factor, and the counts.
    ///
    /// # Errors
    /// [`Error::Linalg`] for a factor so large that `I + WᵀΨ⁻¹W` is not positive definite in floats; the belief is then invalid.
    pub(super) fn finish(&mut self, written: Written) -> Result<(), Error> {
        self.capacitance = Capacitance::from_gram(written.gram.clone())?;
        self.gram = written.gram;
        self.renew_scale();
        self.bounds = Bounds::of(self.precision.psi());
        self.counts.projections += 1;
        self.counts.lifted += written.outcome.lifted as u64;
        self.shown.take();
        Ok(())
    }

    /// `m` with `μ = μ₀ + Ψ⁻¹F·m` for the rows of `space`: `(−M⁻¹·WᵀΨ⁻¹Xs, s)`.
    pub(super) fn mean_weights(&self, space: &Space) -> Mat<f64> {
        self.covariance_coefficients(space, &space.mean_weights())
    }

    /// These weights, checked to be finite.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub(super) fn checked_mean_weights(&self, space: &Space) -> Result<Mat<f64>, Error> {
        let m = self.mean_weights(space);
        m.col(0).iter().try_for_each(|value| check::result("weight of a row in the mean", *value).map(drop))?;
        Ok(m)
    }

    /// `m` with `P₀X·s = Ψ⁻¹F·m`.
    pub(super) fn covariance_coefficients(&self, space: &Space, s: &[f64]) -> Mat<f64> {
        let p = self.rank();
        let mut on_w = space.combine_wx(s, p);
        solve(self.root(), &mut on_w);
        Mat::from_fn(p + s.len(), 1, |j, _| if j < p { -on_w[j] } else { s[j - p] })
    }

    /// `W ← W₁`, `ψ ← ψ₁`: no EM step.
    fn write_start(&mut self, target: Target<'_>, start: &SpectralStart, shift: &Mat<f64>, par: Par) -> Written {
        let (p, d) = (self.rank(), self.mean.len());
        let columns = target.columns;
        let tiling = target.tiling(p);
        let height = tiling.height().min(d);
        let (w, psi) = self.precision.row_major_mut();
        tiling.fold(
            (FactorMut::new(w, d), psi, self.mean.as_mut_slice()),
            par,
            || (StartMemory::new(height, p), columns.tile_memory(height)),
            || Written::zeros(p),
            |written, (memory, x), first, (mut w, psi, mean)| {
                let r = psi.len();
                let f = Tile { w: w.as_ref(), x: columns.part(first, r, x), psi };
                f.shift_mean(mean, shift.as_ref(), &mut memory.psi1);
                written.outcome.lifted += memory.start(target, start, f);
                psi.copy_from_slice(&memory.psi1[..r]);
                memory.write_factor(w.reborrow());
                add_gram(written.gram.as_mut(), w.as_ref(), psi, &mut memory.w1);
            },
            |left, right| left.add(&right),
        )
    }

    /// The spectral start and one EM step, `W₁` computed twice and never stored.
    fn write_one_step(&mut self, target: Target<'_>, psi1: &[f64], maps: &Maps, shift: &Mat<f64>, par: Par) -> Written {
        let (p, d) = (self.rank(), self.mean.len());
        let columns = target.columns;
        let tiling = target.tiling(p);
        let height = tiling.height().min(d);
        let (w, psi) = self.precision.row_major_mut();
        tiling.fold(
            (FactorMut::new(w, d), psi, psi1, self.mean.as_mut_slice()),
            par,
            || (EmMemory::new(height, p), vec![0.0; height * p.max(1)], vec![0.0; height], columns.tile_memory(height)),
            || Written::zeros(p),
            |written, (memory, other, new_psi, x), first, (mut w, psi, psi1, mean)| {
                let new_psi = &mut new_psi[..psi.len()];
                new_psi.copy_from_slice(psi1);
                let f = Tile { w: w.as_ref(), x: columns.part(first, psi.len(), x), psi };
                f.shift_mean(mean, shift.as_ref(), other);
                let psi_and_first = (&mut *new_psi, first);
                let found = em::advance_psi(target, maps, f, Current::Start, psi_and_first, Floor::Bound, memory);
                written.outcome.add(found);
                em::write_factor(maps, w.reborrow(), memory);
                psi.copy_from_slice(new_psi);
                add_gram(written.gram.as_mut(), w.as_ref(), psi, other);
            },
            |left, right| left.add(&right),
        )
    }

    /// Moves the mean by `Ψ⁻¹F·shift` on the old `(W, ψ)`, then puts the new ones in their place.
    pub(super) fn replace_precision(
        &mut self,
        (w1, psi1): (&[f64], &[f64]),
        columns: Columns<'_>,
        shift: &Mat<f64>,
        par: Par,
    ) -> Mat<f64> {
        let (p, d) = (self.rank(), self.mean.len());
        let tiling = Target { columns, weights: &[], share: 1.0, least: 1.0, begun: 0.0 }.tiling(p);
        let height = tiling.height().min(d);
        let (w, psi) = self.precision.row_major_mut();
        tiling.fold(
            (FactorMut::new(w, d), psi, self.mean.as_mut_slice(), Factor::new(w1, d), psi1),
            par,
            || (vec![0.0; height * p.max(1)], columns.tile_memory(height)),
            || Mat::zeros(p, p),
            |sum: &mut Mat<f64>, (memory, x), first, (w, psi, mean, w1, psi1)| {
                let f = Tile { w: w.as_ref(), x: columns.part(first, psi.len(), x), psi };
                f.shift_mean(mean, shift.as_ref(), memory);
                w.values.copy_from_slice(w1.values);
                psi.copy_from_slice(psi1);
                add_gram(sum.as_mut(), w1, psi1, memory);
            },
            |left, right| *left += right,
        )
    }
}

/// Computes `(W₁, ψ₁)` tile by tile and keeps `ψ₁`; returns the sums of the EM step from there, and how many entries of `ψ₁`
/// were lifted.
fn start_sums(
    target: Target<'_>,
    start: &SpectralStart,
    (w, psi): (Factor<'_>, &[f64]),
    psi1: &mut [f64],
    par: Par,
) -> (Sums, usize) {
    let (p, columns) = (w.rank(), target.columns);
    let tiling = target.tiling(p);
    let height = tiling.height().min(psi.len());
    tiling.fold(
        (w, psi, psi1),
        par,
        || (EmMemory::new(height, p), StartMemory::new(height, p), columns.tile_memory(height)),
        || (Sums::zeros(p + columns.len(), p), 0),
        |(sums, lifted), (memory, start_memory, x), first, (w, psi, psi1)| {
            let f = Tile { w, x: columns.part(first, psi.len(), x), psi };
            *lifted += start_memory.start(target, start, f);
            psi1.copy_from_slice(&start_memory.psi1[..psi1.len()]);
            sums.add_tile(target.share, f, &start_memory.w1[..w.values.len()], psi1, memory);
        },
        |left, right| {
            left.0.add(&right.0);
            left.1 += right.1;
        },
    )
}

/// Computes `(W₁, ψ₁)` and keeps both; returns how many entries of `ψ₁` were lifted.
fn keep_start(
    target: Target<'_>,
    start: &SpectralStart,
    (w, psi): (Factor<'_>, &[f64]),
    (w1, psi1): (&mut [f64], &mut [f64]),
    par: Par,
) -> usize {
    let (p, d, columns) = (w.rank(), psi.len(), target.columns);
    let tiling = target.tiling(p);
    let height = tiling.height().min(d);
    tiling.fold(
        (w, psi, FactorMut::new(w1, d), psi1),
        par,
        || (StartMemory::new(height, p), columns.tile_memory(height)),
        || 0,
        |lifted, (memory, x), first, (w, psi, w1, psi1)| {
            *lifted += memory.start(target, start, Tile { w, x: columns.part(first, psi.len(), x), psi });
            psi1.copy_from_slice(&memory.psi1[..psi1.len()]);
            memory.write_factor(w1);
        },
        |left, right| *left += right,
    )
}

/// Memory for the start of a tile.
struct StartMemory {
    /// `W₁`, column after column.
    w1: Vec<f64>,
    psi1: Vec<f64>,
}

impl StartMemory {
    fn new(height: usize, p: usize) -> Self {
        Self { w1: vec![0.0; height * p], psi1: vec![0.0; height] }
    }

    /// `W₁ = F Q₁` and `ψ₁ = diag S − rowsum(W₁∘W₁)`, which is at least `least·ψ`: what has rounded to below is lifted. Returns
    /// how many entries were.
    fn start(&mut self, target: Target<'_>, start: &SpectralStart, f: Tile<'_>) -> usize {
        let (r, p) = (f.psi.len(), f.w.rank());
        let (w1, psi1) = (&mut self.w1[..r * p], &mut self.psi1[..r]);
        f.mul(w1, start.q1.as_ref());
        f.weighted_squares(psi1, target.weights);
        vectorised(
            #[inline(always)]
            || {
                for w1 in w1.chunks_exact(r) {
                    psi1.iter_mut().zip(w1).for_each(|(psi1, w1)| *psi1 -= w1 * w1);
                }
                let mut lifted = 0;
                for (psi1, psi) in psi1.iter_mut().zip(f.psi) {
                    let (value, least) = (psi + *psi1, target.least * psi);
                    let kept = value >= least;
                    lifted += usize::from(!kept);
                    *psi1 = if kept { value } else { least };
                }
                lifted
            },
        )
    }

    /// `w ← W₁`.
    fn write_factor(&self, w: FactorMut<'_>) {
        let values = w.values;
        let p = self.w1.len() / self.psi1.len().max(1);
        if let Some(r) = values.len().checked_div(p) {
            for (i, row) in values.chunks_exact_mut(p).enumerate() {
                row.iter_mut().enumerate().for_each(|(j, value)| *value = self.w1[j * r + i]);
            }
        }
    }
}
