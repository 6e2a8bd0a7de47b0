//! The reduction from `Ψ + WWᵀ + XHXᵀ` to `Ψ + WWᵀ`, a block of rows at a time: the paper's projection to low rank.
//!
//! ```text
//! K = FᵀΨ⁻¹F, F = [W X];   D² = diag(1, h);   Q₁ = D·(the p leading eigenvectors of DKD)
//! W₁ = F Q₁;   ψ₁ = diag S − rowsum(W₁∘W₁) ≥ ψ                              the spectral start
//! inner_loops EM steps on S = Ψ + FD²Fᵀ                                     (em.rs)
//! μ ← μ + Ψ⁻¹F·m                                                            exact, before the projection
//! ```
//!
//! `K` is known from the inner products computed when the rows were absorbed. With one inner loop two passes remain: one computes
//! `W₁ = F Q₁` tile by tile and the sums of the EM step, the other computes the step's result and overwrites `W`, `ψ` and `μ`
//! in place, summing the next `WᵀΨ⁻¹W` while the tile is at hand. All that can fail comes before the second.

use vi_linalg::faer::{Mat, MatRef, Par};
use vi_linalg::low_rank::Capacitance;

use super::LowRankGaussian;
use super::columns::Columns;
use super::em::{self, Current, EmMemory, Floor, Maps, Outcome, Sums, Target};
use super::kernels::{Factor, FactorMut, Tile, add_gram};
use super::range::Bounds;
use super::settings::Scheme;
use super::space::Space;
use super::spectral::{self, SpectralStart};
use super::storage::{Full, Storage};
use crate::Error;
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

/// A reduction that cannot fail any more.
pub(super) enum Reduction {
    /// The parts of `W`, `ψ` and `μ` to be written over the old ones.
    Planned(Plan),
    /// The belief after it.
    Done(Full),
}

/// The part of a reduction that can fail.
pub(super) struct Plan {
    /// `D²`.
    weights: Vec<f64>,
    start: SpectralStart,
    /// `m`.
    shift: Mat<f64>,
    begun: f64,
    scale: f64,
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
    fn may_lose_the_capacitance(&self) -> bool {
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
        match self.change() {
            Storage::Full(full) => full.flush(par),
            Storage::Lazy(lazy) => lazy.flush(),
        }
    }
}

impl Full {
    /// Reduces the buffered rows; see [`LowRankGaussian::flush`].
    pub(super) fn flush(&mut self, par: Par) -> Result<(), Error> {
        if self.core.waiting.len() == 0 { Ok(()) } else { self.reduce_with(None, par) }
    }

    /// Reduces the rows of the space, which are the buffered ones and those of `x`.
    ///
    /// # Errors
    /// As [`flush`](LowRankGaussian::flush).
    pub(super) fn reduce_with(&mut self, x: Option<MatRef<'_, f64>>, par: Par) -> Result<(), Error> {
        let rows = std::mem::take(&mut self.core.waiting.rows);
        let mut memory = Vec::new();
        let columns = x.map_or_else(|| rows.columns(self.mean.len()), |x| rows.with_dense(x, &mut memory));
        let reduced = self.reduction(&self.core.waiting.space, columns, self.core.scale, par);
        let done = reduced.map(|reduction| self.reduce(reduction, columns, par));
        self.core.waiting.put_back(rows);
        done
    }

    /// The reduction of the rows of `space`, whose coordinates are `columns`, with `scale` as the belief's: one pass over `W`, and
    /// two on a copy where numbers are so large that they may leave `I + WᵀΨ⁻¹W` without a Cholesky factor.
    ///
    /// # Errors
    /// As [`flush`](LowRankGaussian::flush).
    pub(super) fn reduction(
        &self,
        space: &Space,
        columns: Columns<'_>,
        scale: f64,
        par: Par,
    ) -> Result<Reduction, Error> {
        debug_assert_eq!(space.len(), columns.len());
        let plan = self.plan(space, columns, scale, par)?;
        if !plan.may_lose_the_capacitance() {
            return Ok(Reduction::Planned(plan));
        }
        let mut done = self.clone();
        done.reduce(Reduction::Planned(plan), columns, par);
        Capacitance::from_gram(done.core.gram.clone())?;
        Ok(Reduction::Done(done))
    }

    fn plan(&self, space: &Space, columns: Columns<'_>, scale: f64, par: Par) -> Result<Plan, Error> {
        let (p, d) = (self.core.rank(), self.mean.len());
        let weights = space.weights(p);
        let gram = space.gram(self.core.gram.as_ref());
        let start = spectral::start(gram.as_ref(), &weights, p)?;
        let shift = self.core.checked_mean_weights(space)?;
        let begun = self.core.begun / scale;
        let mut plan = Plan { weights, start, shift, begun, scale, lifted: 0, way: Way::Start };
        let target = plan.target(columns);
        let (w, psi) = (Factor::new(self.precision.w_row_major(), d), self.precision.psi());
        let inner_loops = match self.core.settings.scheme {
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

    /// Makes a reduction of the same rows, which then wait no longer.
    pub(super) fn reduce(&mut self, reduction: Reduction, columns: Columns<'_>, par: Par) {
        let plan = match reduction {
            Reduction::Planned(plan) => plan,
            Reduction::Done(done) => return *self = done,
        };
        let target = plan.target(columns);
        self.core.scale = plan.scale;
        let Written { gram, outcome } = match &plan.way {
            Way::Start => self.write_start(target, &plan.start, &plan.shift, par),
            Way::OneStep { psi1, maps } => self.write_one_step(target, psi1, maps, &plan.shift, par),
            Way::Steps { w1, psi1 } => {
                let gram = self.replace_precision((w1, psi1), columns, &plan.shift, par);
                Written { gram, outcome: Outcome::default() }
            }
        };
        self.settle(gram, outcome.lifted + plan.lifted);
    }

    /// Stores the Gram matrix of the new `W`, and the counts; no row waits.
    pub(super) fn settle(&mut self, gram: Mat<f64>, lifted: usize) {
        let (capacitance, pivots) = Capacitance::lifted(&gram);
        (self.core.gram, self.core.capacitance) = (gram, capacitance);
        self.core.waiting.clear();
        self.renew_scale();
        self.core.bounds = Bounds::of(self.precision.psi());
        self.core.counts.projections += 1;
        self.core.counts.lifted += (lifted + pivots) as u64;
    }

    /// `W ← W₁`, `ψ ← ψ₁`: no EM step.
    fn write_start(&mut self, target: Target<'_>, start: &SpectralStart, shift: &Mat<f64>, par: Par) -> Written {
        let (p, d) = (self.core.rank(), self.mean.len());
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
        let (p, d) = (self.core.rank(), self.mean.len());
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
        let (p, d) = (self.core.rank(), self.mean.len());
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
