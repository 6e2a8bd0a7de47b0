//! For each recent block, the product of what later blocks did to the rows that they did not touch.
//!
//! A block turns the other rows, `W ← WQ`, and shifts their means, `μ ← μ − Ψ⁻¹Wv`. The blocks after `t` together are one product `P` and
//! one sum `g`, the slot of `t`:
//!
//! ```text
//! w = w̃P,   μ = μ̃ − w̃·g/ψ̃          a block more:   g ← g + Pv,   P ← PQ
//! ```
//!
//! Every block would change all slots. So blocks are counted in groups: a slot holds the blocks of its own group, and the group
//! `R`, `r` those after it, `w = w̃P·R` and `μ = μ̃ − (w̃·g + w̃P·r)/ψ̃`. A block then changes the slots of the last group and
//! one product for each earlier group.
#![allow(clippy::cast_possible_truncation, reason = "slots are in memory")]

use std::collections::VecDeque;

use super::narrow::{add_times, padded, product, times_in_place};
use crate::vectors::vectorised;

/// The number of blocks in a group.
const GROUP: u64 = 64;

/// `P` (`p` rows, padded), then `g`; and how many rows refer to it.
#[derive(Debug, Clone)]
struct Slot {
    rows: u64,
    values: Vec<f64>,
}

#[derive(Debug, Clone)]
pub(super) struct Ring {
    p: usize,
    width: usize,
    /// One slot for each block that rows refer to, and for those between, in order.
    slots: VecDeque<Slot>,
    /// The number of the first slot.
    oldest: u64,
    /// One product for each group that the slots belong to. That of the last group is the identity.
    groups: VecDeque<Slot>,
}

impl Ring {
    /// A ring with one slot, number 0, to which no row refers.
    pub(super) fn new(p: usize) -> Self {
        let mut ring = Self { p, width: padded(p), slots: VecDeque::new(), oldest: 0, groups: VecDeque::new() };
        ring.push();
        ring
    }

    /// `P = I`, `g = 0`.
    fn identity(&self) -> Slot {
        let mut values = vec![0.0; (self.p + 1) * self.width];
        (0..self.p).for_each(|k| values[k * self.width + k] = 1.0);
        Slot { rows: 0, values }
    }

    /// Appends a slot and returns its number.
    fn push(&mut self) -> u64 {
        let number = self.end();
        if self.slots.is_empty() || number.is_multiple_of(GROUP) {
            self.groups.push_back(self.identity());
        }
        self.slots.push_back(self.identity());
        number
    }

    /// The number that the next slot will have.
    pub(super) fn end(&self) -> u64 {
        self.oldest + self.slots.len() as u64
    }

    fn slot(&self, number: u64) -> usize {
        (number - self.oldest) as usize
    }

    fn group(&self, number: u64) -> usize {
        (number / GROUP - self.oldest / GROUP) as usize
    }

    /// Counts one more row that refers to the slot.
    pub(super) fn refer(&mut self, number: u64) {
        let (slot, group) = (self.slot(number), self.group(number));
        self.slots[slot].rows += 1;
        self.groups[group].rows += 1;
    }

    /// Counts one row less that refers to the slot.
    pub(super) fn release(&mut self, number: u64) {
        let (slot, group) = (self.slot(number), self.group(number));
        self.slots[slot].rows -= 1;
        self.groups[group].rows -= 1;
    }

    /// Adds `w̃P·R` of the slot to `row`, and returns what the mean has lost, not yet divided by `ψ̃`; `between` is memory of the
    /// width of a row.
    #[inline(always)]
    pub(super) fn carry(&self, number: u64, w: &[f64], row: &mut [f64], between: &mut [f64]) -> f64 {
        let Self { p, width, .. } = *self;
        let (turn, shift) = self.slots[self.slot(number)].values.split_at(p * width);
        let group = self.group(number);
        if group + 1 == self.groups.len() {
            add_times(row, &w[..p], turn);
            return product(w, shift);
        }
        between.fill(0.0);
        add_times(between, &w[..p], turn);
        let moved = product(w, shift);
        let (turn, shift) = self.groups[group].values.split_at(p * width);
        add_times(row, &between[..p], turn);
        moved + product(between, shift)
    }

    /// Records a block that turned the rows which it did not write by `turn` (`p` padded rows) and shifted their means by
    /// `shift`. Returns the slot of the rows that it did write, to which nothing refers yet. Drops slots at the beginning to
    /// which nothing refers.
    pub(super) fn turn(&mut self, turn: &[f64], shift: &[f64]) -> u64 {
        let Self { p, width, .. } = *self;
        let next = self.end();
        while self.slots.front().is_some_and(|slot| slot.rows == 0) {
            self.slots.pop_front();
            self.oldest += 1;
            if self.oldest.is_multiple_of(GROUP) || self.slots.is_empty() {
                self.groups.pop_front();
            }
        }
        let open = (next - next % GROUP).clamp(self.oldest, next);
        let before = if open < next { self.group(open) } else { self.groups.len() };
        let slots = self.slots.range_mut((open - self.oldest) as usize..);
        vectorised(
            #[inline(always)]
            || {
                for slot in self.groups.range_mut(..before).chain(slots).filter(|slot| slot.rows > 0) {
                    let (rows, g) = slot.values.split_at_mut(p * width);
                    for (g, row) in g.iter_mut().zip(rows.chunks_exact_mut(width)) {
                        *g += product(row, shift);
                    }
                    times_in_place(rows, turn, width);
                }
            },
        );
        self.push()
    }

    /// Fades the slots: `W ← √λ·W`, `ψ ← λψ`, so shifts scale with the root.
    pub(super) fn multiply(&mut self, root: f64) {
        for slot in self.slots.iter_mut().chain(&mut self.groups) {
            for g in &mut slot.values[self.p * self.width..] {
                *g *= root;
            }
        }
    }

    /// The number of the first slot, and `P` and `g` of each without padding; the first slot of a group also has those of the
    /// group.
    pub(super) fn stored(&self) -> (u64, Vec<Vec<f64>>) {
        let plain = |slot: &Slot| -> Vec<f64> {
            slot.values.chunks_exact(self.width).flat_map(|row| row[..self.p].to_vec()).collect()
        };
        let mut slots: Vec<Vec<f64>> = self.slots.iter().map(plain).collect();
        for (number, slot) in (self.oldest..).zip(&mut slots) {
            if number == self.oldest || number.is_multiple_of(GROUP) {
                slot.extend(plain(&self.groups[self.group(number)]));
            }
        }
        (self.oldest, slots)
    }

    /// How many numbers a stored slot may have: with those of its group for the first of a group, unless the group is the
    /// identity.
    pub(super) fn stored_lengths(p: usize, number: u64, oldest: u64) -> (usize, usize) {
        let one = (p + 1) * p;
        (one, if number == oldest || number.is_multiple_of(GROUP) { 2 * one } else { one })
    }

    /// The ring from its [stored](Self::stored) numbers, whose lengths have been checked; no row refers to a slot yet.
    pub(super) fn restored(p: usize, oldest: u64, stored: &[Vec<f64>]) -> Self {
        let mut ring = Self { p, width: padded(p), slots: VecDeque::new(), oldest, groups: VecDeque::new() };
        let fill = |slot: &mut Slot, stored: &[f64]| {
            for (row, stored) in slot.values.chunks_exact_mut(padded(p)).zip(stored.chunks_exact(p.max(1))) {
                row[..p].copy_from_slice(stored);
            }
        };
        for stored in stored {
            ring.push();
            let (own, group) = stored.split_at(((p + 1) * p).min(stored.len()));
            if let Some(slot) = ring.slots.back_mut() {
                fill(slot, own);
            }
            if let Some(slot) = ring.groups.back_mut() {
                fill(slot, group);
            }
        }
        ring
    }
}
