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
//! `W₁ = F Q₁` tile by tile and the sums of the EM step, the other computes the step's result, with the next `WᵀΨ⁻¹W` while the
//! tile is at hand. The result is new memory, which then takes the place of the old: all that can fail comes before.

use vi_linalg::LowRank;
use vi_linalg::faer::{Mat, Par};
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
use super::waiting::Waiting;
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

/// `W`, `ψ` and `μ` after a reduction, ready to take their place.
#[derive(Debug)]
pub(super) struct Reduced {
    w: Vec<f64>,
    psi: Vec<f64>,
    mean: Vec<f64>,
    gram: Mat<f64>,
    capacitance: Capacitance,
    lifted: usize,
}

impl Reduced {
    /// The parts, with the factor of `I + WᵀΨ⁻¹W`.
    ///
    /// # Errors
    /// [`Error::Linalg`] for a `W` so large that this matrix is not positive definite in floats.
    pub(super) fn new(
        (w, psi): (Vec<f64>, Vec<f64>),
        mean: Vec<f64>,
        gram: Mat<f64>,
        lifted: usize,
    ) -> Result<Self, Error> {
        let capacitance = Capacitance::from_gram(gram.clone())?;
        Ok(Self { w, psi, mean, gram, capacitance, lifted })
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
        let Waiting { space, rows } = &self.core.waiting;
        if space.len() > 0 {
            let reduced = self.reduced(space, rows.columns(self.mean.len()), self.core.scale, par)?;
            self.take(reduced, self.core.scale);
        }
        Ok(())
    }

    /// The belief reduced with the rows of `space`, whose coordinates are `columns`, and with `scale` as its own: two passes over
    /// `W` for one inner loop, and memory for another `W`.
    ///
    /// # Errors
    /// As [`flush`](LowRankGaussian::flush).
    pub(super) fn reduced(&self, space: &Space, columns: Columns<'_>, scale: f64, par: Par) -> Result<Reduced, Error> {
        debug_assert_eq!(space.len(), columns.len());
        let (p, d) = (self.core.rank(), self.mean.len());
        let weights = space.weights(p);
        let start = spectral::start(space.gram(self.core.gram.as_ref()).as_ref(), &weights, p)?;
        let shift = self.core.checked_mean_weights(space)?;
        let begun = self.core.begun / scale;
        let target = Target { columns, weights: &weights, share: 1.0, least: start.least, begun };
        let old = (Factor::new(self.precision.w_row_major(), d), self.precision.psi());
        let (mut w1, mut psi1) = (vec![0.0; d * p], vec![0.0; d]);
        let new = (w1.as_mut_slice(), psi1.as_mut_slice());
        let inner_loops = match self.core.settings.scheme {
            Scheme::Blocked { inner_loops, .. } => inner_loops,
            Scheme::OneLoop | Scheme::Recursive { .. } => 0,
        };
        if inner_loops > 1 {
            let mut lifted = keep_start(target, &start, old, new, par);
            for _ in 0..inner_loops {
                lifted += em::step(target, old, (&mut w1, &mut psi1), Floor::Bound, par)?.proper()?;
            }
            let (mean, gram) = self.moved((&w1, &psi1), columns, &shift, par);
            return Reduced::new((w1, psi1), mean, gram, lifted);
        }
        let mut mean = self.mean.clone();
        let (lifted, written) = if inner_loops == 0 {
            (0, write_start(target, &start, old, new, (&mut mean, &shift), par))
        } else {
            let (sums, lifted) = start_sums(target, &start, old, new.1, par);
            let maps = Maps::new(&sums, target.weights)?.with_start(start.q1.as_ref());
            (lifted, write_one_step(target, &maps, old, new, (&mut mean, &shift), par))
        };
        Reduced::new((w1, psi1), mean, written.gram, lifted + written.outcome.lifted)
    }

    /// Puts a reduction in the place of `W`, `ψ`, `μ` and the buffered rows.
    pub(super) fn take(&mut self, reduced: Reduced, scale: f64) {
        let Reduced { w, psi, mean, gram, capacitance, lifted } = reduced;
        self.precision = LowRank::of_parts(w, self.core.rank(), psi);
        self.mean = mean;
        self.core.scale = scale;
        self.core.waiting.clear();
        self.settle(gram, capacitance, lifted);
    }

    /// Stores the Gram matrix of the new `W`, and the counts.
    pub(super) fn settle(&mut self, gram: Mat<f64>, capacitance: Capacitance, lifted: usize) {
        (self.core.gram, self.core.capacitance) = (gram, capacitance);
        self.renew_scale();
        self.core.bounds = Bounds::of(self.precision.psi());
        self.core.counts.projections += 1;
        self.core.counts.lifted += lifted as u64;
    }

    /// The mean moved by `Ψ⁻¹F·shift` with the belief's own `(W, ψ)`, and the Gram matrix of the new ones.
    pub(super) fn moved(
        &self,
        (w1, psi1): (&[f64], &[f64]),
        columns: Columns<'_>,
        shift: &Mat<f64>,
        par: Par,
    ) -> (Vec<f64>, Mat<f64>) {
        let (p, d) = (self.core.rank(), self.mean.len());
        let tiling = Target { columns, weights: &[], share: 1.0, least: 1.0, begun: 0.0 }.tiling(p);
        let height = tiling.height().min(d);
        let mut moved = self.mean.clone();
        let old = Factor::new(self.precision.w_row_major(), d);
        let gram = tiling.fold(
            (old, self.precision.psi(), moved.as_mut_slice(), Factor::new(w1, d), psi1),
            par,
            || (vec![0.0; height * p.max(1)], columns.tile_memory(height)),
            || Mat::zeros(p, p),
            |sum: &mut Mat<f64>, (memory, x), first, (w, psi, mean, w1, psi1)| {
                let f = Tile { w, x: columns.part(first, psi.len(), x), psi };
                f.shift_mean(mean, shift.as_ref(), memory);
                add_gram(sum.as_mut(), w1, psi1, memory);
            },
            |left, right| *left += right,
        );
        (moved, gram)
    }
}

/// Computes `(W₁, ψ₁)`, no EM step following, and moves the mean by `Ψ⁻¹F·shift`.
fn write_start(
    target: Target<'_>,
    start: &SpectralStart,
    (w, psi): (Factor<'_>, &[f64]),
    (w1, psi1): (&mut [f64], &mut [f64]),
    (mean, shift): (&mut [f64], &Mat<f64>),
    par: Par,
) -> Written {
    let (p, d, columns) = (w.rank(), psi.len(), target.columns);
    let tiling = target.tiling(p);
    let height = tiling.height().min(d);
    tiling.fold(
        (w, psi, FactorMut::new(w1, d), psi1, mean),
        par,
        || (StartMemory::new(height, p), columns.tile_memory(height)),
        || Written::zeros(p),
        |written, (memory, x), first, (w, psi, mut w1, psi1, mean)| {
            let f = Tile { w, x: columns.part(first, psi.len(), x), psi };
            f.shift_mean(mean, shift.as_ref(), &mut memory.psi1);
            written.outcome.lifted += memory.start(target, start, f);
            psi1.copy_from_slice(&memory.psi1[..psi1.len()]);
            memory.write_factor(w1.reborrow());
            add_gram(written.gram.as_mut(), w1.as_ref(), psi1, &mut memory.w1);
        },
        |left, right| left.add(&right),
    )
}

/// Turns the start's `ψ₁` into that of an EM step with its `W₁`, the start's `W₁` being computed anew and never stored, and
/// moves the mean by `Ψ⁻¹F·shift`.
fn write_one_step(
    target: Target<'_>,
    maps: &Maps,
    (w, psi): (Factor<'_>, &[f64]),
    (w1, psi1): (&mut [f64], &mut [f64]),
    (mean, shift): (&mut [f64], &Mat<f64>),
    par: Par,
) -> Written {
    let (p, d, columns) = (w.rank(), psi.len(), target.columns);
    let tiling = target.tiling(p);
    let height = tiling.height().min(d);
    tiling.fold(
        (w, psi, FactorMut::new(w1, d), psi1, mean),
        par,
        || (EmMemory::new(height, p), vec![0.0; height * p.max(1)], columns.tile_memory(height)),
        || Written::zeros(p),
        |written, (memory, other, x), first, (w, psi, mut w1, psi1, mean)| {
            let f = Tile { w, x: columns.part(first, psi.len(), x), psi };
            f.shift_mean(mean, shift.as_ref(), other);
            let psi_and_first = (&mut *psi1, first);
            written.outcome.add(em::advance_psi(target, maps, f, Current::Start, psi_and_first, Floor::Bound, memory));
            em::write_factor(maps, w1.reborrow(), memory);
            add_gram(written.gram.as_mut(), w1.as_ref(), psi1, other);
        },
        |left, right| left.add(&right),
    )
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
