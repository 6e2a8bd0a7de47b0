//! Blocks of sparse rows at a cost that does not depend on `d`.
//!
//! With `Q₁ = [Q_a; Q_b]` the `p` leading eigenvectors of `K` ([`spectral`]), a row of `W` that no row of the block touches
//! becomes `wᵢQ_a`, and its `ψᵢ` grows by `‖wᵢ‖² − ‖wᵢQ_a‖²`. So `sᵢ = ψᵢ + ‖wᵢ‖²` does not change for untouched rows, and both
//! updates can be applied when the row is touched next. The one sum that needs all rows is `G = WᵀΨ⁻¹W`, in which an untouched
//! row keeps its old `ψ̃ᵢ ≤ ψᵢ`. Then `M = I + G` is at least what it should be, and the belief `P = Ψ⁻¹ − Ψ⁻¹WM⁻¹WᵀΨ⁻¹` is a
//! proper Gaussian of slightly too little precision: all algebra is exact for it. With `T` the rows that the block touches and
//! `c` rows of a sweep over those ever touched:
//!
//! ```text
//! 1  W_T, ψ_T, μ_T as they are now                                                         (records.rs)
//! 2  G_u = G − W_TᵀΨ̃_T⁻¹W_T, what the other rows have in G;   G_w = G_u + W_TᵀΨ_T⁻¹W_T
//! 3  Q₁ from K = [G_w  WᵀΨ⁻¹X√h; ·  √hXᵀΨ⁻¹X√h], of which G_w alone is new: the rest is known since the rows came
//! 4  μ_T ← μ_T + Ψ_T⁻¹(Xs − W_T v),   v = M⁻¹WᵀΨ⁻¹Xs;   all slots: g ← g + Pv
//! 5  W₁ = W_TQ_a + X√hQ_b;   ψ₁ = ψ_T + max(0, ‖w‖² + h‖x‖² − ‖w₁‖²)
//!    EM steps from there, with Q_uu = Q_aᵀG_uQ_a for the other rows; Q_a ← (G_w + Q_a)H⁻¹M₁
//! 6  G ← Q_aᵀG_uQ_a + W₁ᵀΨ₁⁻¹W₁;   all slots: P ← PQ_a;   T is written with a slot of its own
//! ```
//!
//! `D ← D + tr (I − Q_aQ_aᵀ)G_u − Σ_T(ψ/ψ̃ − 1)` gives `Σᵢ(ψᵢ/ψ̃ᵢ − 1)` over all rows at no further cost. After the first row of
//! a block `M` does not change until the block is full, so that predictions do not depend on rows that come later.
#![allow(clippy::cast_possible_truncation, reason = "positions are below 2³², as `Records::can_hold` has found")]

use vi_linalg::faer::{Mat, MatRef};
use vi_linalg::low_rank::Capacitance;

use super::em::{HEYWOOD, Maps, Sums};
use super::look::LazyRow;
use super::narrow::{add_outer, add_scaled, add_times, product};
use super::range::Bounds;
use super::records::Records;
use super::space::{Seen, Space};
use super::spectral;
use super::storage::Core;
use super::touched::{Numbers, Panel, Touched};
use crate::vectors::vectorised;
use crate::{Error, Row, Site};

/// The least number of rows of `W` that a sweep brings up to date for each row of a block, unless the settings say otherwise.
const SWEEP: usize = 16;

/// The lazy form of `W`, `ψ` and `μ`.
#[derive(Debug, Clone)]
pub(super) struct Lazy {
    pub(super) records: Records,
    pub(super) touched: Touched,
    pub(super) core: Core,
}

/// Memory of a block, kept for the next one: allocations this large would go back to the system when freed.
#[derive(Debug, Default)]
pub(super) struct Spare {
    /// The rows of `T` as they are, and what they become.
    block: Touched,
    rows: Panel,
    swept: Panel,
}

/// A block that is ready to be written.
pub(super) struct LazyPlan {
    memory: Spare,
    /// `Q_a`, `p` padded rows.
    turn: Vec<f64>,
    /// `v`, padded.
    shift: Vec<f64>,
    gram: Mat<f64>,
    capacitance: Capacitance,
    /// Where the next sweep begins.
    next: usize,
    /// What `D` gains.
    owed: f64,
    bounds: Bounds,
    lifted: usize,
}

impl Lazy {
    /// Absorbs a row with its local rows, which has been checked and does not fill a block.
    pub(super) fn wait(&mut self, row: &LazyRow, x: Row<'_>, seen: Seen, site: Site) {
        self.touched.add(&row.found, &row.values);
        self.core.waiting.push(x, self.records.dim(), self.core.settings.block(), seen, site);
    }

    /// Reduces the buffered rows; see [`LowRankGaussian::flush`](super::LowRankGaussian::flush).
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        if self.core.waiting.len() > 0 {
            let plan = self.plan(None, &self.core.waiting.space, self.core.scale, Spare::default())?;
            let _memory = self.take(plan, self.core.scale);
        }
        Ok(())
    }

    /// Plans the block of the rows of `space`, the last of which may be `new`, with `scale` as the belief's: everything that can
    /// fail.
    ///
    /// # Errors
    /// As [`flush`](super::LowRankGaussian::flush).
    pub(super) fn plan(
        &self,
        new: Option<&LazyRow>,
        space: &Space,
        scale: f64,
        mut memory: Spare,
    ) -> Result<LazyPlan, Error> {
        let Self { records, touched, core } = self;
        let (p, width) = (core.rank(), records.width());
        let Spare { block, rows, swept } = &mut memory;
        block.copy_from(touched);
        if let Some(row) = new {
            block.add(&row.found, &row.values);
        }
        // 1. Rows of the sweep join those of the block.
        // Costs of the ring and of a sweep's rows: 2p³ for each 64 of the ring's slots, of which there is one for each c of the
        // rows ever touched; 8p² for each of c rows.
        let balanced = (records.visited.len() * p).isqrt() / 16;
        let count = core.settings.sweep().unwrap_or((SWEEP * space.len()).max(block.len() / 4).max(balanced));
        let (sweep, next) = due(records, block, count);
        swept.reset(width);
        records.read(sweep.iter().map(|&i| i as usize), swept);
        block.append_unlisted(&sweep, swept);
        // 2.
        let Untouched { mut others, with_block, credit } = untouched(&block.panel, core.gram.as_ref(), p, width);
        // 3.
        let weights = space.weights(p);
        let start = spectral::start(space.gram(with_block.as_ref()).as_ref(), &weights, p)?;
        let (mut turn, from_x) = split(start.q1.as_ref(), p, width);
        // 4.
        let moves = core.checked_mean_weights(space)?;
        let shift: Vec<f64> = (0..width).map(|j| if j < p { -moves[(j, 0)] } else { 0.0 }).collect();
        move_means(block, &shift, moves.as_ref().subrows(p, space.len()));
        // 5.
        let h: Vec<f64> = space.curvatures().collect();
        let mut lifted = spectral_rows(block, &turn, &from_x, &h, rows);
        for _ in 0..if p == 0 { 0 } else { core.settings.inner_loops() } {
            let sums = em_sums(block, rows, (&others, &turn), h.len(), p);
            let maps = Maps::new(&sums, &weights)?;
            lifted += em_rows(block, rows, &maps, p, core.begun / scale);
            turn = em_turn(&turn, &maps, p);
        }
        vectorised(
            #[inline(always)]
            || {
                for (at, w) in rows.numbers.iter_mut().zip(rows.w.chunks_exact(width)) {
                    at.s = at.psi + product(w, w);
                }
            },
        );
        // 6.
        let kept = congruent(&others, &turn, p);
        let owed = (0..p).map(|j| others[(j, j)] - kept[(j, j)]).sum::<f64>() - credit;
        others = kept;
        add_gram(&mut others, rows, p);
        let bounds = rows.numbers.iter().fold(core.bounds, |Bounds { least, largest }, at| Bounds {
            least: least.min(at.psi),
            largest: largest.max(at.s),
        });
        let capacitance = Capacitance::from_gram(others.clone())?;
        Ok(LazyPlan { memory, turn, shift, gram: others, capacitance, next, owed, bounds, lifted })
    }

    /// Writes a planned block, and returns the memory of the plan. It cannot fail.
    pub(super) fn take(&mut self, plan: LazyPlan, scale: f64) -> Spare {
        let Self { records, touched, core } = self;
        core.scale = scale;
        records.write(&plan.memory.block.positions, &plan.memory.rows, &plan.turn, &plan.shift);
        records.next = plan.next;
        records.owed = (records.owed + plan.owed).max(0.0);
        touched.clear();
        (core.gram, core.capacitance, core.bounds) = (plan.gram, plan.capacitance, plan.bounds);
        core.counts.projections += 1;
        core.counts.lifted += plan.lifted as u64;
        core.waiting.clear();
        self.renew_scale();
        plan.memory
    }
}

/// The next rows of the sweep without those of the block, and where the following sweep begins.
fn due(records: &Records, block: &Touched, count: usize) -> (Vec<u32>, usize) {
    let visited = &records.visited;
    let count = count.min(visited.len());
    let (before, from) = visited.split_at(records.next.min(visited.len()));
    let rows = from.iter().chain(before).take(count).copied().filter(|&i| block.local(i).is_none()).collect();
    let next = records.next + count;
    (rows, if next >= visited.len() { next - visited.len() } else { next })
}

/// `G_u`, `G_w` (lower triangles), and `Σ_T(ψ/ψ̃ − 1)`.
struct Untouched {
    others: Mat<f64>,
    with_block: Mat<f64>,
    credit: f64,
}

fn untouched(panel: &Panel, gram: MatRef<'_, f64>, p: usize, width: usize) -> Untouched {
    let (mut stale, mut credits) = (vec![0.0; p * width], vec![0.0; p * width]);
    let inverse: Vec<f64> = panel.numbers.iter().map(|at| 1.0 / at.stale).collect();
    let change: Vec<f64> = panel.numbers.iter().map(|at| 1.0 / at.psi - 1.0 / at.stale).collect();
    vectorised(
        #[inline(always)]
        || {
            add_outer(&mut stale, &inverse, &panel.w, &panel.w, width);
            add_outer(&mut credits, &change, &panel.w, &panel.w, width);
        },
    );
    let lower = |of: &dyn Fn(usize, usize) -> f64| Mat::from_fn(p, p, |i, j| if i >= j { of(i, j) } else { 0.0 });
    Untouched {
        others: lower(&|i, j| gram[(i, j)] - stale[i * width + j]),
        with_block: lower(&|i, j| gram[(i, j)] + credits[i * width + j]),
        credit: panel.numbers.iter().map(|at| at.psi / at.stale - 1.0).sum(),
    }
}

/// The rows of a matrix, padded: the first `p`, and the rest.
fn split(q: MatRef<'_, f64>, p: usize, width: usize) -> (Vec<f64>, Vec<f64>) {
    let padded = |rows: MatRef<'_, f64>| {
        let mut out = vec![0.0; rows.nrows() * width];
        for (out, row) in out.chunks_exact_mut(width).zip(rows.row_iter()) {
            out.iter_mut().zip(row.iter()).for_each(|(out, value)| *out = *value);
        }
        out
    };
    let (first, rest) = q.split_at_row(p);
    (padded(first), padded(rest))
}

/// `μ_T ← μ_T + Ψ_T⁻¹(Xs − W_T v)`.
fn move_means(block: &mut Touched, shift: &[f64], s: MatRef<'_, f64>) {
    let s: Vec<f64> = s.col(0).iter().copied().collect();
    vectorised(
        #[inline(always)]
        || {
            for l in 0..block.len() {
                let mut change = -product(block.panel.row(l), shift);
                block.entries_at(l, |row, value| change += value * s[row]);
                let at = &mut block.panel.numbers[l];
                at.mean += change / at.psi;
            }
        },
    );
}

/// Writes `W₁`, with `ψ₁`, `s₁` and `μ`, into `rows`; returns how many `ψ₁` rounding had put below `ψ`.
fn spectral_rows(block: &Touched, turn: &[f64], from_x: &[f64], h: &[f64], rows: &mut Panel) -> usize {
    let panel = &block.panel;
    let width = panel.width();
    let p = turn.len() / width;
    rows.reset(width);
    let mut lifted = 0;
    vectorised(
        #[inline(always)]
        || {
            for (l, &at) in panel.numbers.iter().enumerate() {
                let w = panel.row(l);
                let mut whole = product(w, w);
                let w1 = rows.push_row();
                add_times(w1, &w[..p], turn);
                block.entries_at(l, |row, value| {
                    add_scaled(w1, value, &from_x[row * width..(row + 1) * width]);
                    whole += h[row] * (value * value);
                });
                let left = whole - product(w1, w1);
                lifted += usize::from(left < 0.0);
                rows.numbers.push(Numbers { psi: at.psi + left.max(0.0), s: at.psi + whole, ..at });
            }
        },
    );
    lifted
}

/// The sums over all rows that an EM step needs: of those of the block, and of the others through `G_u`.
fn em_sums(block: &Touched, rows: &Panel, (others, turn): (&Mat<f64>, &[f64]), k: usize, p: usize) -> Sums {
    let panel = &block.panel;
    let width = panel.width();
    let inverse: Vec<f64> = rows.numbers.iter().map(|at| 1.0 / at.psi).collect();
    let squares: Vec<f64> =
        rows.numbers.iter().zip(&panel.numbers).map(|(at, old)| old.psi / (at.psi * at.psi)).collect();
    let (mut m, mut n, mut g) = (vec![0.0; p * width], vec![0.0; p * width], vec![0.0; (p + k) * width]);
    vectorised(
        #[inline(always)]
        || {
            add_outer(&mut m, &inverse, &rows.w, &rows.w, width);
            add_outer(&mut n, &squares, &rows.w, &rows.w, width);
            let (on_w, on_x) = g.split_at_mut(p * width);
            add_outer(on_w, &inverse, &panel.w, &rows.w, width);
            for (l, inverse) in inverse.iter().enumerate() {
                let w1 = rows.row(l);
                block.entries_at(l, |row, value| {
                    add_scaled(&mut on_x[row * width..(row + 1) * width], value * inverse, w1);
                });
            }
        },
    );
    let kept = congruent(others, turn, p);
    let turned = times_symmetric(others, turn, p);
    let lower = |own: &[f64]| Mat::from_fn(p, p, |i, j| if i >= j { own[i * width + j] + kept[(i, j)] } else { 0.0 });
    let g = Mat::from_fn(p + k, p, |i, j| g[i * width + j] + if i < p { turned[(i, j)] } else { 0.0 });
    Sums { g, m: lower(&m), n: lower(&n) }
}

/// Makes an EM step on the rows of the block; returns how many `ψ` were lifted to a floor.
fn em_rows(block: &Touched, rows: &mut Panel, maps: &Maps, p: usize, begun: f64) -> usize {
    let panel = &block.panel;
    let width = panel.width();
    let (from_w, from_x) = split(maps.from_f.as_ref(), p, width);
    let (from_current, _) = split(maps.from_current.as_ref(), p, width);
    let (to_factor, _) = split(maps.to_factor.as_ref(), p, width);
    let mut lifted = 0;
    vectorised(
        #[inline(always)]
        || {
            let (mut u, mut current) = (vec![0.0; width], vec![0.0; width]);
            let values = rows.w.chunks_exact_mut(width).zip(&mut rows.numbers);
            for (l, ((w1, at), old)) in values.zip(&panel.numbers).enumerate() {
                current.fill(0.0);
                add_times(&mut current, &w1[..p], &from_current);
                u.fill(0.0);
                add_times(&mut u, &panel.row(l)[..p], &from_w);
                add_scaled(&mut u, old.psi / at.psi, &current);
                block.entries_at(l, |row, value| add_scaled(&mut u, value, &from_x[row * width..(row + 1) * width]));
                let left = at.s - product(&u, &u);
                let bound = f64::max(1.0 / (1.0 / old.psi + 1.0 / at.psi), begun.min(HEYWOOD * at.s));
                lifted += usize::from(left < bound);
                at.psi = left.max(bound);
                w1.fill(0.0);
                add_times(w1, &u[..p], &to_factor);
            }
        },
    );
    lifted
}

/// `Q_a ← (G_w + Q_a)H⁻¹M₁`.
fn em_turn(turn: &[f64], maps: &Maps, p: usize) -> Vec<f64> {
    let width = turn.len() / p.max(1);
    let q = Mat::from_fn(p, p, |i, j| turn[i * width + j]);
    let next = (maps.from_f.subrows(0, p) + q * &maps.from_current) * &maps.to_factor;
    split(next.as_ref(), p, width).0
}

/// `G·Q` for a symmetric `G` (lower triangle).
fn times_symmetric(lower: &Mat<f64>, turn: &[f64], p: usize) -> Mat<f64> {
    let width = turn.len() / p.max(1);
    let whole = Mat::from_fn(p, p, |i, j| lower[(i.max(j), i.min(j))]);
    whole * Mat::from_fn(p, p, |i, j| turn[i * width + j])
}

/// `QᵀGQ`, whose two triangles are averaged.
fn congruent(lower: &Mat<f64>, turn: &[f64], p: usize) -> Mat<f64> {
    let width = turn.len() / p.max(1);
    let product = Mat::from_fn(p, p, |i, j| turn[j * width + i]) * times_symmetric(lower, turn, p);
    Mat::from_fn(p, p, |i, j| 0.5 * (product[(i, j)] + product[(j, i)]))
}

/// `G ← G + WᵀΨ⁻¹W`.
pub(super) fn add_gram(gram: &mut Mat<f64>, rows: &Panel, p: usize) {
    let width = rows.width();
    let inverse: Vec<f64> = rows.numbers.iter().map(|at| 1.0 / at.psi).collect();
    let mut sum = vec![0.0; p * width];
    vectorised(
        #[inline(always)]
        || add_outer(&mut sum, &inverse, &rows.w, &rows.w, width),
    );
    for j in 0..p {
        (j..p).for_each(|i| gram[(i, j)] += sum[i * width + j]);
    }
}
