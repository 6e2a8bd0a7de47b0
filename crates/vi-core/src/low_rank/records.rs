//! State of the [lazy form](super::lazy): what was written of each row of `W`, when, and what later blocks did to all untouched
//! rows.
//!
//! ```text
//! record of row i   w̃ᵢ, ψ̃ᵢ, sᵢ, μ̃ᵢ and tᵢ, the block that wrote it
//! slot of block t   P, g: what the blocks after t did to the rows that it wrote            (ring.rs)
//! row i now         wᵢ = w̃ᵢP,   ψᵢ = max(ψ̃ᵢ, sᵢ − ‖wᵢ‖²),   μᵢ = μ̃ᵢ − w̃ᵢ·g/ψ̃ᵢ
//! ```
//!
//! A record is contiguous, two cache lines at `p = 10`, since rows are read in any order. A slot is kept as long as a row refers
//! to it; the sweep makes sure that no row does for long.
#![allow(clippy::cast_possible_truncation, reason = "positions are below 2³², as `Records::can_hold` has found")]

use super::anchor::LowRankAnchor;
use super::narrow::{LANES, padded, product};
use super::ring::Ring;
use super::touched::{Numbers, Panel};
use crate::vectors::vectorised;

/// The number of floats in a cache line.
const LINE: usize = 8;

/// The number of records that are copied together before they are used, so that their cache lines are fetched at the same time.
const TOGETHER: usize = 64;

/// The stamp of a row that no block has touched: its `w̃` is 0.
const NEVER: f64 = -1.0;

/// The layout of a record.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Layout {
    p: usize,
    width: usize,
    stride: usize,
}

impl Layout {
    fn new(p: usize) -> Self {
        let width = padded(p);
        Self { p, width, stride: (width + 4).next_multiple_of(LINE) }
    }
}

#[derive(Debug)]
pub(super) struct Records {
    layout: Layout,
    dim: usize,
    /// The records, starting at index `first`, where a cache line begins.
    values: Vec<f64>,
    first: usize,
    ring: Ring,
    /// The rows that some block has touched, in the order in which they were first touched.
    pub(super) visited: Vec<u32>,
    /// Where in that list the next sweep begins.
    pub(super) next: usize,
    /// `D`.
    pub(super) owed: f64,
    /// The prior with which the untouched rows were found to agree.
    rest: Option<LowRankAnchor>,
}

impl Clone for Records {
    fn clone(&self) -> Self {
        let (values, first) = aligned(self.numbers());
        Self { values, first, ring: self.ring.clone(), visited: self.visited.clone(), rest: self.rest.clone(), ..*self }
    }
}

/// Zeroed memory filled with `numbers`, and the index at which its first cache line begins.
fn aligned(numbers: &[f64]) -> (Vec<f64>, usize) {
    let (mut values, first) = room(numbers.len());
    values[first..first + numbers.len()].copy_from_slice(numbers);
    (values, first)
}

fn room(numbers: usize) -> (Vec<f64>, usize) {
    let values = vec![0.0; numbers + LINE];
    let first = values.as_ptr().align_offset(8 * LINE).min(LINE);
    (values, first)
}

/// The parts of one record.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Record<'a> {
    /// `w̃`, padded.
    pub(super) w: &'a [f64],
    /// `ψ̃`.
    pub(super) psi: f64,
    pub(super) s: f64,
    /// `μ̃`.
    pub(super) mean: f64,
    /// The block that wrote it, if one did.
    pub(super) stamp: Option<u64>,
}

impl Records {
    /// Fresh records of `W` (row after row), `ψ` and `μ`.
    pub(super) fn new(w: &[f64], psi: &[f64], mean: &[f64]) -> Self {
        let dim = psi.len();
        let layout = Layout::new(w.len() / dim.max(1));
        let (values, first) = room(dim * layout.stride);
        let ring = Ring::new(layout.p);
        let mut records =
            Self { layout, dim, values, first, ring, visited: Vec::new(), next: 0, owed: 0.0, rest: None };
        let Layout { p, width, stride } = layout;
        for (i, record) in records.values[first..].chunks_exact_mut(stride).take(dim).enumerate() {
            let w = &w[i * p..(i + 1) * p];
            record[..p].copy_from_slice(w);
            let visited = w.iter().any(|w| *w != 0.0);
            let s = psi[i] + w.iter().map(|w| w * w).sum::<f64>();
            record[width..width + 4].copy_from_slice(&[psi[i], s, mean[i], if visited { 0.0 } else { NEVER }]);
            if visited {
                records.ring.refer(0);
                records.visited.push(i as u32);
            }
        }
        records
    }

    /// Whether so many rows can be numbered.
    pub(super) fn can_hold(dim: usize) -> bool {
        u32::try_from(dim).is_ok()
    }

    pub(super) fn dim(&self) -> usize {
        self.dim
    }

    /// `p` with its padding.
    pub(super) fn width(&self) -> usize {
        self.layout.width
    }

    fn numbers(&self) -> &[f64] {
        &self.values[self.first..][..self.dim * self.layout.stride]
    }

    pub(super) fn record(&self, i: usize) -> Record<'_> {
        let Layout { width, stride, .. } = self.layout;
        let (w, rest) = self.numbers()[i * stride..(i + 1) * stride].split_at(width);
        Record { w, psi: rest[0], s: rest[1], mean: rest[2], stamp: number(rest[3]) }
    }

    /// Appends the current rows `positions` to those of the panel.
    pub(super) fn read(&self, positions: impl IntoIterator<Item = usize>, panel: &mut Panel) {
        let Layout { width, stride, .. } = self.layout;
        let (lines, each) = (self.numbers().as_chunks::<LINE>().0, stride / LINE);
        let mut copies = vec![[0.0; LINE]; TOGETHER * each];
        let mut positions = positions.into_iter();
        panel.reserve(positions.size_hint().0);
        let mut between = vec![0.0; width];
        loop {
            let mut count = 0;
            for (copy, i) in copies.chunks_exact_mut(each).zip(&mut positions) {
                // Copied line by line: copies of unknown length are function calls, which wait for each other.
                for (copy, line) in copy.iter_mut().zip(&lines[i * each..(i + 1) * each]) {
                    *copy = *line;
                }
                count += 1;
            }
            if count == 0 {
                return;
            }
            vectorised(
                #[inline(always)]
                || {
                    for record in copies[..count * each].as_flattened().chunks_exact(stride) {
                        let (w, rest) = record.split_at(width);
                        let (stale, s, mut mean) = (rest[0], rest[1], rest[2]);
                        let mut psi = stale;
                        let row = panel.push_row();
                        if let Some(stamp) = number(rest[3]) {
                            mean -= self.ring.carry(stamp, w, row, &mut between) / stale;
                            psi = psi.max(s - product(row, row));
                        }
                        panel.numbers.push(Numbers { psi, stale, s, mean });
                    }
                },
            );
        }
    }

    /// Writes the rows of `panel`, at `positions`, that a block touched, and records what it did to all others: `W ← W·turn` (`p`
    /// padded rows), `μ ← μ − Ψ⁻¹W·shift` on the old `W`.
    pub(super) fn write(&mut self, positions: &[u32], panel: &Panel, turn: &[f64], shift: &[f64]) {
        let Layout { width, stride, .. } = self.layout;
        let numbers = &mut self.values[self.first..][..self.dim * stride];
        let mut stamps = Vec::with_capacity(positions.len());
        for group in positions.chunks(TOGETHER) {
            // All old records of the group are read first, so that their lines are fetched at the same time.
            stamps.extend(group.iter().map(|&i| numbers[i as usize * stride + width + 3]));
        }
        for (&i, &before) in positions.iter().zip(&stamps) {
            match number(before) {
                Some(before) => self.ring.release(before),
                None => self.visited.push(i),
            }
        }
        let stamp = self.ring.turn(turn, shift);
        for (l, (&i, at)) in positions.iter().zip(&panel.numbers).enumerate() {
            self.ring.refer(stamp);
            self.put(i, panel.row(l), [at.psi, at.s, at.mean, stamp as f64]);
        }
    }

    #[inline(always)]
    fn put(&mut self, i: u32, row: &[f64], numbers: [f64; LANES]) {
        let Layout { width, stride, .. } = self.layout;
        let record = &mut self.values[self.first + i as usize * stride..][..stride];
        let (lanes, row) = (record.as_chunks_mut::<LANES>().0, row.as_chunks::<LANES>().0);
        lanes.iter_mut().zip(row).for_each(|(to, from)| *to = *from);
        lanes[width / LANES] = numbers;
    }

    /// Writes all rows that were ever touched, in their order, after which nothing is owed. Rows that agree with `prior` again,
    /// to within 10⁻¹², count as untouched.
    pub(super) fn rewrite(&mut self, rows: &Panel, prior: &LowRankAnchor) {
        const LEFT: f64 = 1e-12;
        let (psi0, mean0) = prior.diagonal();
        self.ring = Ring::new(self.layout.p);
        let nothing = vec![0.0; self.layout.width];
        let positions = std::mem::take(&mut self.visited);
        for (l, (&i, at)) in positions.iter().zip(&rows.numbers).enumerate() {
            let (psi, mean) = (psi0[i as usize], mean0[i as usize]);
            let same = (at.psi - psi).abs().max(at.s - at.psi) <= LEFT * psi;
            if same && (at.mean - mean).powi(2) * psi <= LEFT * LEFT {
                self.put(i, &nothing, [psi, psi, mean, NEVER]);
            } else {
                self.ring.refer(0);
                self.visited.push(i);
                self.put(i, rows.row(l), [at.psi, at.s, at.mean, 0.0]);
            }
        }
        (self.next, self.owed) = (0, 0.0);
    }

    /// Whether the untouched rows agree with `prior`, whose `W` is 0. Cost `d` for a prior other than the last one asked about.
    pub(super) fn rest_as(&mut self, prior: &LowRankAnchor) -> bool {
        if self.rest.as_ref().is_some_and(|known| known.is(prior)) {
            return true;
        }
        let (psi, mean) = prior.diagonal();
        let same = psi.len() == self.dim
            && (psi.iter().zip(mean).enumerate()).all(|(i, (psi, mean))| {
                let record = self.record(i);
                record.stamp.is_some() || (record.psi, record.mean) == (*psi, *mean)
            });
        self.rest = same.then(|| prior.clone());
        same
    }

    /// All current rows: `W` row after row, `ψ`, `μ`.
    pub(super) fn all(&self) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let p = self.layout.p;
        let mut w = Vec::with_capacity(self.dim * p);
        let (mut psi, mut mean) = (Vec::with_capacity(self.dim), Vec::with_capacity(self.dim));
        let mut panel = Panel::new(self.layout.width);
        for first in (0..self.dim).step_by(TOGETHER) {
            panel.clear();
            self.read(first..self.dim.min(first + TOGETHER), &mut panel);
            for (l, at) in panel.numbers.iter().enumerate() {
                w.extend_from_slice(&panel.row(l)[..p]);
                psi.push(at.psi);
                mean.push(at.mean);
            }
        }
        (w, psi, mean)
    }

    /// All rows as they were last written: `W̃` row after row, `ψ̃`, `μ̃`.
    pub(super) fn written(&self) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let records = || (0..self.dim).map(|i| self.record(i));
        let w = records().flat_map(|record| &record.w[..self.layout.p]).copied().collect();
        (w, records().map(|record| record.psi).collect(), records().map(|record| record.mean).collect())
    }

    /// `W ← √λ·W`, `ψ ← λψ`.
    pub(super) fn multiply(&mut self, lambda: f64) {
        let Layout { width, stride, .. } = self.layout;
        let root = lambda.sqrt();
        self.rest = None;
        for record in self.values[self.first..].chunks_exact_mut(stride).take(self.dim) {
            for w in &mut record[..width] {
                *w *= root;
            }
            record[width] *= lambda;
            record[width + 1] *= lambda;
        }
        self.ring.multiply(root);
    }

    /// See [`Ring::stored`].
    pub(super) fn stored_slots(&self) -> (u64, Vec<Vec<f64>>) {
        self.ring.stored()
    }

    /// Restores stored records in place of fresh ones with the same `w̃`, `ψ̃`, `μ̃`; they have been checked.
    pub(super) fn restore(&mut self, s: &[f64], stamps: &[i64], (oldest, slots): (u64, &[Vec<f64>])) {
        let Layout { p, width, stride } = self.layout;
        self.ring = Ring::restored(p, oldest, slots);
        let records = self.values[self.first..].chunks_exact_mut(stride);
        for (record, (s, &stamp)) in records.zip(s.iter().zip(stamps)) {
            record[width + 1] = *s;
            record[width + 3] = stamp as f64;
            if let Some(stamp) = number(stamp as f64) {
                self.ring.refer(stamp);
            }
        }
    }
}

/// The number of a stamp; floats count blocks exactly.
fn number(stamp: f64) -> Option<u64> {
    #[allow(clippy::cast_sign_loss, reason = "a count of blocks")]
    (stamp >= 0.0).then_some(stamp as u64)
}
