//! The rows of `W` that the buffered rows of a block touch, as they were when the block began.
#![allow(clippy::cast_possible_truncation, reason = "positions are below 2³², as `Records::can_hold` has found")]

use super::narrow::{add_scaled, padded};
use super::records::Records;
use crate::Row;
use crate::vectors::vectorised;

/// Marks that there is no local row, or no entry.
const NONE: u32 = u32::MAX;

/// The numbers beside `w` in a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Numbers {
    pub(super) psi: f64,
    /// `ψ̃`, with which the Gram matrix was computed.
    pub(super) stale: f64,
    pub(super) s: f64,
    pub(super) mean: f64,
}

/// Some rows of `W`, one after another, with their numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct Panel {
    width: usize,
    pub(super) w: Vec<f64>,
    pub(super) numbers: Vec<Numbers>,
}

impl Panel {
    pub(super) fn new(width: usize) -> Self {
        Self { width, w: Vec::new(), numbers: Vec::new() }
    }

    /// Empties the panel, for rows of `width` numbers, and keeps its memory.
    pub(super) fn reset(&mut self, width: usize) {
        self.width = width;
        self.clear();
    }

    /// Copies the rows of `other` into this memory.
    fn copy_from(&mut self, other: &Self) {
        self.width = other.width;
        self.w.clone_from(&other.w);
        self.numbers.clone_from(&other.numbers);
    }

    /// Numbers of a row, padding included.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn clear(&mut self) {
        self.w.clear();
        self.numbers.clear();
    }

    pub(super) fn row(&self, l: usize) -> &[f64] {
        &self.w[l * self.width..(l + 1) * self.width]
    }

    /// Reserves memory for so many more rows.
    pub(super) fn reserve(&mut self, rows: usize) {
        self.w.reserve(rows * self.width);
        self.numbers.reserve(rows);
    }

    /// Appends a row of zeros; the caller has to push its numbers.
    #[inline(always)]
    pub(super) fn push_row(&mut self) -> &mut [f64] {
        let at = self.w.len();
        self.w.resize(at + self.width, 0.0);
        &mut self.w[at..]
    }

    fn append(&mut self, other: &Self) {
        self.w.extend_from_slice(&other.w);
        self.numbers.extend_from_slice(&other.numbers);
    }
}

/// One entry of a buffered row.
#[derive(Debug, Clone, Copy)]
struct Entry {
    value: f64,
    row: u32,
    /// The previous entry at the same position.
    before: u32,
}

/// A row found among those that are touched.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    /// The local row of each entry; numbers beyond the table's own are rows of `fresh`.
    locals: Vec<u32>,
    positions: Vec<u32>,
    fresh: Panel,
}

/// Inner products of a row, entry by entry.
#[derive(Debug)]
pub(super) struct Products {
    /// `WᵀΨ⁻¹x`, padded.
    pub(super) wx: Vec<f64>,
    /// `x_jᵀΨ⁻¹x` for the buffered rows and the row itself.
    pub(super) xx: Vec<f64>,
    pub(super) mean: f64,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Touched {
    /// Local rows by a hash of their positions; a power of two, at least twice as many as there are rows.
    table: Vec<u32>,
    pub(super) positions: Vec<u32>,
    pub(super) panel: Panel,
    /// The last entry at each position.
    last: Vec<u32>,
    entries: Vec<Entry>,
    /// The number of buffered rows.
    rows: u32,
}

impl Touched {
    pub(super) fn new(p: usize) -> Self {
        Self { panel: Panel::new(padded(p)), ..Self::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.positions.len()
    }

    pub(super) fn clear(&mut self) {
        self.table.fill(NONE);
        self.positions.clear();
        self.panel.clear();
        self.last.clear();
        self.entries.clear();
        self.rows = 0;
    }

    /// Copies `other` into this memory.
    pub(super) fn copy_from(&mut self, other: &Self) {
        self.table.clone_from(&other.table);
        self.positions.clone_from(&other.positions);
        self.panel.copy_from(&other.panel);
        self.last.clone_from(&other.last);
        self.entries.clone_from(&other.entries);
        self.rows = other.rows;
    }

    /// The place of a position in the table, or the free place where it belongs.
    fn place(&self, position: u32) -> usize {
        let mask = self.table.len() - 1;
        let mut at = (u64::from(position).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        while self.table[at] != NONE && self.positions[self.table[at] as usize] != position {
            at = (at + 1) & mask;
        }
        at
    }

    pub(super) fn local(&self, position: u32) -> Option<usize> {
        if self.table.is_empty() {
            return None;
        }
        Some(self.table[self.place(position)]).filter(|local| *local != NONE).map(|local| local as usize)
    }

    /// Finds the local rows of a checked row, and reads those that are not touched yet.
    pub(super) fn find(&self, x: Row<'_>, records: &Records) -> (Found, Vec<f64>) {
        let most = match x {
            Row::Sparse { positions, .. } => positions.len(),
            Row::Dense(values) => values.len(),
        };
        let (locals, positions) = (Vec::with_capacity(most), Vec::with_capacity(most));
        let mut found = Found { locals, positions, fresh: Panel::new(records.width()) };
        let mut values = Vec::with_capacity(most);
        x.for_each(|i, value| {
            if value == 0.0 {
                return;
            }
            let position = i as u32;
            let local = self.local(position).unwrap_or_else(|| {
                found.positions.push(position);
                self.len() + found.positions.len() - 1
            });
            found.locals.push(local as u32);
            values.push(value);
        });
        records.read(found.positions.iter().map(|&i| i as usize), &mut found.fresh);
        (found, values)
    }

    /// Inner products of a row whose local rows were found and whose entries are `values`.
    pub(super) fn products(&self, found: &Found, values: &[f64]) -> Products {
        let n = self.len();
        let mut wx = vec![0.0; found.fresh.width];
        let mut xx = vec![0.0; self.rows as usize + 1];
        let (mut own, mut mean) = (0.0, 0.0);
        vectorised(
            #[inline(always)]
            || {
                for (&local, &x) in found.locals.iter().zip(values) {
                    let local = local as usize;
                    let known = local < n;
                    let (panel, l) = if known { (&self.panel, local) } else { (&found.fresh, local - n) };
                    let at = &panel.numbers[l];
                    let y = x / at.psi;
                    add_scaled(&mut wx, y, panel.row(l));
                    own += x * y;
                    mean += x * at.mean;
                    let mut entry = if known { self.last[local] } else { NONE };
                    while let Some(e) = self.entries.get(entry as usize) {
                        xx[e.row as usize] += e.value * y;
                        entry = e.before;
                    }
                }
            },
        );
        xx[self.rows as usize] = own;
        Products { wx, xx, mean }
    }

    /// Buffers the row.
    pub(super) fn add(&mut self, found: &Found, values: &[f64]) {
        self.append(&found.positions, &found.fresh);
        for (&local, &value) in found.locals.iter().zip(values) {
            let before = std::mem::replace(&mut self.last[local as usize], self.entries.len() as u32);
            self.entries.push(Entry { value, row: self.rows, before });
        }
        self.rows += 1;
    }

    /// Appends rows without entries, which [`local`](Self::local) will not find.
    pub(super) fn append_unlisted(&mut self, positions: &[u32], fresh: &Panel) {
        self.panel.append(fresh);
        self.positions.extend_from_slice(positions);
        self.last.resize(self.positions.len(), NONE);
    }

    /// Appends rows that are not in it yet.
    fn append(&mut self, positions: &[u32], fresh: &Panel) {
        self.panel.append(fresh);
        for &position in positions {
            if 2 * (self.len() + 1) > self.table.len() {
                self.table = vec![NONE; (4 * (self.len() + 1)).next_power_of_two()];
                for local in 0..self.len() {
                    let at = self.place(self.positions[local]);
                    self.table[at] = local as u32;
                }
            }
            let at = self.place(position);
            self.table[at] = self.len() as u32;
            self.positions.push(position);
            self.last.push(NONE);
        }
    }

    /// `xᵀΨ⁻¹x` of a buffered row.
    pub(super) fn own_product(&self, positions: &[usize], values: &[f64]) -> f64 {
        let entries = positions.iter().zip(values);
        entries.filter_map(|(&i, x)| self.local(i as u32).map(|l| x * (x / self.panel.numbers[l].psi))).sum()
    }

    /// Calls `visit(row, value)` for each entry at a local row.
    #[inline(always)]
    pub(super) fn entries_at(&self, local: usize, mut visit: impl FnMut(usize, f64)) {
        let mut entry = self.last[local];
        while let Some(e) = self.entries.get(entry as usize) {
            visit(e.row as usize, e.value);
            entry = e.before;
        }
    }
}
