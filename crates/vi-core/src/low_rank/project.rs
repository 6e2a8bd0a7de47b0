//! From `Ψ + WWᵀ + XHXᵀ` back to `Ψ + WWᵀ`, a block of rows at a time.
//!
//! ```text
//! K = FᵀΨ⁻¹F, F = [W X];   D² = diag(1, h);   Q₁ = D·(the p leading eigenvectors of DKD)
//! W₁ = F Q₁;   ψ₁ = diag S − rowsum(W₁∘W₁) ≥ ψ                              the spectral start
//! inner_loops EM steps on S = Ψ + FD²Fᵀ                                     (em.rs)
//! μ ← μ + Ψ⁻¹F·m                                                            exact, before the projection
//! ```
//!
//! `K` is known from the inner products that the rows were absorbed with. With one inner loop two passes remain: one that
//! computes `W₁ = F Q₁` tile by tile and sums what the EM step needs, one that computes the step's result and overwrites
//! `W`, `ψ` and `μ` in place, summing the next `WᵀΨ⁻¹W` while the tile is at hand.

use vi_linalg::faer::{Mat, MatMut, MatRef, Par};
use vi_linalg::low_rank::{Capacitance, GramScratch};
use vi_linalg::tiles::Tiling;

use super::LowRankGaussian;
use super::columns::{Columns, mul_f, weighted_squares};
use super::em::{self, EmMemory, Floor, Maps, Outcome, Sums, Target, Tile};
use super::settings::Scheme;
use super::space::solve;
use super::spectral::{self, SpectralStart};
use crate::Error;

/// What the last pass sums.
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

impl LowRankGaussian {
    /// Projects the rows that wait; nothing happens where none does.
    ///
    /// Cost for `k` rows, in flops: `d(2p(p+k)·5 + 6p²)` with one inner loop (`13.5·d·p` for each row at `k = 2p`), and
    /// `O((p+k)³)`.
    ///
    /// # Errors
    /// [`Error::Overflow`], [`Error::NotPositiveDefinite`]: numbers beyond the range of floats, or negative curvatures that
    /// leave no Gaussian. The belief is then as it was.
    pub fn flush(&mut self, par: Par) -> Result<(), Error> {
        if self.waiting.len() == 0 {
            return Ok(());
        }
        let rows = std::mem::take(&mut self.waiting.rows);
        let projected = self.project(rows.columns(self.mean.len()), par);
        self.waiting.rows = rows;
        projected?;
        self.waiting.clear();
        Ok(())
    }

    /// Projects the rows of the space, whose coordinates are `columns`. The space is left as it is; on an error all is.
    pub(super) fn project(&mut self, columns: Columns<'_>, par: Par) -> Result<(), Error> {
        let p = self.rank();
        let weights: Vec<f64> = std::iter::repeat_n(1.0, p).chain(self.waiting.space.curvatures()).collect();
        let gram = self.waiting.space.gram(self.gram.as_ref());
        let start = spectral::start(gram.as_ref(), &weights, p)?;
        let target = Target { columns, weights: &weights, share: 1.0, least: start.least };
        let shift = self.mean_coefficients();
        em::check_magnitude(self.precision.psi(), gram.as_ref(), &weights)?;
        let inner_loops = match self.settings.scheme {
            Scheme::Blocked { inner_loops, .. } => inner_loops,
            Scheme::OneLoop | Scheme::Recursive { .. } => 0,
        };
        let written = match inner_loops {
            0 => self.write_start(target, &start, &shift, par),
            1 => self.write_one_step(target, &start, &shift, par)?,
            _ => self.write_steps(target, &start, &shift, inner_loops, par)?,
        };
        self.finish(written)
    }

    /// The Gram matrix of the new factor, and what was counted.
    pub(super) fn finish(&mut self, written: Written) -> Result<(), Error> {
        self.capacitance = Capacitance::from_gram(written.gram.clone())?;
        self.gram = written.gram;
        self.counts.projections += 1;
        self.counts.lifted += written.outcome.lifted as u64;
        self.shown.take();
        Ok(())
    }

    /// `m` with `μ = μ₀ + Ψ⁻¹F·m`: `(−M⁻¹·WᵀΨ⁻¹Xs, s)`.
    pub(super) fn mean_coefficients(&self) -> Mat<f64> {
        self.covariance_coefficients(&self.waiting.space.mean_weights())
    }

    /// `m` with `P₀X·s = Ψ⁻¹F·m`.
    pub(super) fn covariance_coefficients(&self, s: &[f64]) -> Mat<f64> {
        let p = self.rank();
        let mut on_w = self.waiting.space.combine_wx(s, p);
        solve(self.root(), &mut on_w);
        Mat::from_fn(p + s.len(), 1, |j, _| if j < p { -on_w[j] } else { s[j - p] })
    }

    /// `W ← W₁`, `ψ ← ψ₁`: no EM step.
    fn write_start(&mut self, target: Target<'_>, start: &SpectralStart, shift: &Mat<f64>, par: Par) -> Written {
        let p = self.rank();
        let columns = target.columns;
        let tiling = Tiling::for_width(p + columns.len());
        let height = tiling.height().min(self.mean.len());
        let (w, psi) = self.precision.parts_mut();
        tiling.fold(
            (w, psi, self.mean.as_mut_slice()),
            par,
            || (StartMemory::new(columns, height, p), GramScratch::new(height, p)),
            || Written::zeros(p),
            |written, (memory, gram), first, (mut w, psi, mean)| {
                let r = psi.len();
                let mut tile = memory.take_x();
                let x = columns.tile(first, r, &mut tile);
                memory.shift_mean(mean, Tile { w: w.as_ref(), x, psi }, shift.as_ref());
                memory.start(target, start, Tile { w: w.as_ref(), x, psi });
                psi.copy_from_slice(&memory.psi1[..r]);
                w.copy_from(memory.w1(r, p));
                gram.add_tile(written.gram.as_mut(), w.as_ref(), psi);
                memory.put_x(tile);
            },
            |left, right| left.add(&right),
        )
    }

    /// The spectral start and one EM step, `W₁` computed twice and never stored.
    fn write_one_step(
        &mut self,
        target: Target<'_>,
        start: &SpectralStart,
        shift: &Mat<f64>,
        par: Par,
    ) -> Result<Written, Error> {
        let (p, d) = (self.rank(), self.mean.len());
        let mut psi1 = vec![0.0; d];
        let (w, psi) = self.precision.parts_mut();
        let sums = start_sums(target, start, (w.as_ref(), psi), &mut psi1, None, par);
        let maps = Maps::new(&sums, target.weights)?.with_start(start.q1.as_ref());
        let columns = target.columns;
        let tiling = Tiling::for_width(p + columns.len());
        let height = tiling.height().min(d);
        Ok(tiling.fold(
            (w, psi, psi1.as_mut_slice(), self.mean.as_mut_slice()),
            par,
            || (EmMemory::new(columns, height, p), StartMemory::new(columns, height, 0), GramScratch::new(height, p)),
            || Written::zeros(p),
            |written, (memory, mean_memory, gram), first, (mut w, psi, psi1, mean)| {
                let mut tile = memory.take_x();
                let x = columns.tile(first, psi.len(), &mut tile);
                let f = Tile { w: w.as_ref(), x, psi };
                mean_memory.shift_mean(mean, f, shift.as_ref());
                let current = |out: MatMut<'_, f64>| mul_f(out, f.w, f.x, maps.from_current.as_ref());
                written.outcome.add(em::write_tile(target, &maps, f, current, psi1, first, Floor::Bound, memory));
                memory.write_factor(&maps, w.as_mut());
                psi.copy_from_slice(psi1);
                gram.add_tile(written.gram.as_mut(), w.as_ref(), psi);
                memory.put_x(tile);
            },
            |left, right| left.add(&right),
        ))
    }

    /// The spectral start and several EM steps, on a second `(W, ψ)`.
    fn write_steps(
        &mut self,
        target: Target<'_>,
        start: &SpectralStart,
        shift: &Mat<f64>,
        inner_loops: usize,
        par: Par,
    ) -> Result<Written, Error> {
        let (p, d) = (self.rank(), self.mean.len());
        let (w, psi) = (self.precision.w(), self.precision.psi());
        let (mut w1, mut psi1) = (vec![0.0; d * p], vec![0.0; d]);
        start_sums(target, start, (w, psi), &mut psi1, Some(MatMut::from_row_major_slice_mut(&mut w1, d, p)), par);
        let mut outcome = Outcome::default();
        for _ in 0..inner_loops {
            let current = (MatMut::from_row_major_slice_mut(&mut w1, d, p), psi1.as_mut_slice());
            outcome.lifted += em::step(target, (w, psi), current, Floor::Bound, par)?;
        }
        let gram = self.replace_precision((&w1, &psi1), target.columns, shift, par);
        Ok(Written { gram, outcome })
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
        let tiling = Tiling::for_width(p + columns.len());
        let height = tiling.height().min(d);
        let (w, psi) = self.precision.parts_mut();
        tiling.fold(
            (w, psi, self.mean.as_mut_slice(), MatRef::from_row_major_slice(w1, d, p), psi1),
            par,
            || (StartMemory::new(columns, height, 0), GramScratch::new(height, p)),
            || Mat::zeros(p, p),
            |sum: &mut Mat<f64>, (memory, gram), first, (mut w, psi, mean, w1, psi1)| {
                let mut tile = memory.take_x();
                let x = columns.tile(first, psi.len(), &mut tile);
                memory.shift_mean(mean, Tile { w: w.as_ref(), x, psi }, shift.as_ref());
                w.copy_from(w1);
                psi.copy_from_slice(psi1);
                gram.add_tile(sum.as_mut(), w1, psi1);
                memory.put_x(tile);
            },
            |left, right| *left += right,
        )
    }
}

/// Computes `(W₁, ψ₁)` tile by tile, keeping `ψ₁` and, if asked, `W₁`; returns the sums of the EM step from there.
fn start_sums(
    target: Target<'_>,
    start: &SpectralStart,
    (w, psi): (MatRef<'_, f64>, &[f64]),
    psi1: &mut [f64],
    keep: Option<MatMut<'_, f64>>,
    par: Par,
) -> Sums {
    let p = w.ncols();
    let columns = target.columns;
    let q = p + columns.len();
    let tiling = Tiling::for_width(q);
    let height = tiling.height().min(psi.len());
    let make = || (EmMemory::new(columns, height, p), StartMemory::new(columns, height, p));
    let visit = |sums: &mut Sums, memory: &mut (EmMemory, StartMemory), first, f: Tile<'_>, psi1: &mut [f64]| {
        let (em_memory, memory) = memory;
        let mut tile = memory.take_x();
        let f = Tile { x: columns.tile(first, psi1.len(), &mut tile), ..f };
        memory.start(target, start, f);
        psi1.copy_from_slice(&memory.psi1[..psi1.len()]);
        sums.add_tile(target, f, memory.w1(psi1.len(), p), psi1, em_memory);
        memory.put_x(tile);
    };
    let nothing = MatRef::from_row_major_slice(&[], 0, 0);
    match keep {
        None => tiling.fold(
            (w, psi, psi1),
            par,
            make,
            || Sums::zeros(q, p),
            |sums, memory, first, (w, psi, psi1)| visit(sums, memory, first, Tile { w, x: nothing, psi }, psi1),
            |left, right| left.add(&right),
        ),
        Some(keep) => tiling.fold(
            (w, psi, psi1, keep),
            par,
            make,
            || Sums::zeros(0, 0),
            |_, memory, first, (w, psi, psi1, mut keep)| {
                let memory = &mut memory.1;
                let mut tile = memory.take_x();
                let r = psi.len();
                memory.start(target, start, Tile { w, x: columns.tile(first, r, &mut tile), psi });
                psi1.copy_from_slice(&memory.psi1[..r]);
                keep.copy_from(memory.w1(r, p));
                memory.put_x(tile);
            },
            |left, right| left.add(&right),
        ),
    }
}

/// Memory for the start of a tile and for the mean.
pub(super) struct StartMemory {
    w1: Vec<f64>,
    psi1: Vec<f64>,
    x: Mat<f64>,
}

impl StartMemory {
    pub(super) fn new(columns: Columns<'_>, height: usize, p: usize) -> Self {
        Self { w1: vec![0.0; height * p], psi1: vec![0.0; height], x: columns.tile_memory(height) }
    }

    pub(super) fn take_x(&mut self) -> Mat<f64> {
        std::mem::replace(&mut self.x, Mat::zeros(0, 0))
    }

    pub(super) fn put_x(&mut self, x: Mat<f64>) {
        self.x = x;
    }

    fn w1(&self, r: usize, p: usize) -> MatRef<'_, f64> {
        MatRef::from_row_major_slice(&self.w1[..r * p], r, p)
    }

    /// `W₁ = F Q₁` and `ψ₁ = diag S − rowsum(W₁∘W₁)`, never below `least·ψ`.
    fn start(&mut self, target: Target<'_>, start: &SpectralStart, f: Tile<'_>) {
        let (r, p) = (f.psi.len(), f.w.ncols());
        let w1 = &mut self.w1[..r * p];
        mul_f(MatMut::from_row_major_slice_mut(w1, r, p), f.w, f.x, start.q1.as_ref());
        let psi1 = &mut self.psi1[..r];
        weighted_squares(psi1, f.w, f.x, target.weights);
        for (i, psi1) in psi1.iter_mut().enumerate() {
            let taken: f64 = w1[i * p..(i + 1) * p].iter().map(|w| w * w).sum();
            *psi1 = (f.psi[i] + (*psi1 - taken)).max(target.least * f.psi[i]);
        }
    }

    /// `μ ← μ + Ψ⁻¹F·shift` on a tile.
    pub(super) fn shift_mean(&mut self, mean: &mut [f64], f: Tile<'_>, shift: MatRef<'_, f64>) {
        let r = mean.len();
        let moved = &mut self.psi1[..r];
        mul_f(MatMut::from_column_major_slice_mut(moved, r, 1), f.w, f.x, shift);
        for ((mean, moved), psi) in mean.iter_mut().zip(moved).zip(f.psi) {
            *mean += *moved / psi;
        }
    }
}
