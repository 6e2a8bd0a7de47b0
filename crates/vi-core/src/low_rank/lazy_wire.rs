//! The stored form of [records](super::records): the numbers besides `w̃`, `ψ̃`, `μ̃`.

use serde::{Deserialize, Serialize};
use vi_linalg::LowRank;

use super::range::Bounds;
use super::records::Records;
use super::ring::Ring;
use super::touched::Touched;
use super::waiting::WaitingRows;
use crate::check;
use crate::{Error, Row};

/// The number of blocks up to which a float counts exactly.
const BLOCKS: u64 = 1 << 52;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct LazyWire {
    s: Vec<f64>,
    /// The block that wrote each row, −1 for none.
    stamps: Vec<i64>,
    /// The number of the first slot, and `P` and `g` of each; see [`Ring::stored`].
    oldest: u64,
    slots: Vec<Vec<f64>>,
    visited: Vec<u32>,
    next: u64,
    owed: f64,
    least: f64,
    largest: f64,
}

impl LazyWire {
    pub(super) fn of(records: &Records, bounds: Bounds) -> Self {
        let (oldest, slots) = records.stored_slots();
        let rows = || (0..records.dim()).map(|i| records.record(i));
        Self {
            s: rows().map(|record| record.s).collect(),
            stamps: rows()
                .map(|record| record.stamp.and_then(|stamp| i64::try_from(stamp).ok()).unwrap_or(-1))
                .collect(),
            oldest,
            slots,
            visited: records.visited.clone(),
            next: records.next as u64,
            owed: records.owed,
            least: bounds.least,
            largest: bounds.largest,
        }
    }

    /// The records with these `w̃`, `ψ̃` and `μ̃`, the rows that the buffered ones touch, and the bounds of `ψ`.
    ///
    /// # Errors
    /// The first fault found.
    pub(super) fn read(
        self,
        written: &LowRank,
        mean: &[f64],
        rows: &WaitingRows,
        k: usize,
    ) -> Result<(Records, Touched, Bounds), Error> {
        let (d, p) = (written.dim(), written.rank());
        self.check(d, p)?;
        let mut records = Records::new(written.w_row_major(), written.psi(), mean);
        records.restore(&self.s, &self.stamps, (self.oldest, &self.slots));
        let places = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        (records.visited, records.next, records.owed) = (self.visited, places(self.next), self.owed);
        let mut touched = Touched::new(p);
        match rows {
            WaitingRows::Sparse(sparse) => {
                for j in 0..k {
                    let (positions, values) = sparse.rows().pieces(j);
                    let (found, values) = touched.find(Row::Sparse { positions, values }, &records);
                    touched.add(&found, &values);
                }
            }
            WaitingRows::Dense(_) => check::length("dense rows that wait in the lazy form", 0, k)?,
        }
        Ok((records, touched, Bounds { least: self.least, largest: self.largest }))
    }

    fn check(&self, d: usize, p: usize) -> Result<(), Error> {
        check::length("s", d, self.s.len())?;
        check::finite("s", &self.s)?;
        check::length("stamps", d, self.stamps.len())?;
        check::positive("smallest psi of the records", self.least)?;
        check::positive("largest psi of the records", self.largest)?;
        if !(self.owed >= 0.0 && self.owed.is_finite()) {
            return Err(Error::Setting { name: "owed", value: self.owed, requirement: "finite and at least 0" });
        }
        let end = self.oldest.saturating_add(self.slots.len() as u64);
        if end > BLOCKS {
            return Err(Error::Setting { name: "blocks", value: end as f64, requirement: "at most 2⁵²" });
        }
        for (number, slot) in (self.oldest..).zip(&self.slots) {
            let (own, with_group) = Ring::stored_lengths(p, number, self.oldest);
            if slot.len() != with_group {
                check::length("numbers of a slot", own, slot.len())?;
            }
            check::finite("slot", slot)?;
        }
        let stamp = |index: usize, requirement| {
            let value = self.stamps[index] as f64;
            Err(Error::Entry { argument: "stamps", index, value, requirement })
        };
        for (index, &at) in self.stamps.iter().enumerate() {
            if at != -1 && !u64::try_from(at).is_ok_and(|at| (self.oldest..end).contains(&at)) {
                return stamp(index, "-1, or the number of a slot");
            }
        }
        let mut listed = vec![false; d];
        for (index, &i) in self.visited.iter().enumerate() {
            match listed.get_mut(i as usize) {
                Some(seen) if !*seen && self.stamps[i as usize] >= 0 => *seen = true,
                _ => {
                    let requirement = "a row that a block has touched, once";
                    return Err(Error::Entry { argument: "visited", index, value: f64::from(i), requirement });
                }
            }
        }
        if let Some(index) = (0..d).find(|&i| self.stamps[i] >= 0 && !listed[i]) {
            return stamp(index, "-1 for a row that is not listed");
        }
        check::length("next of the sweep", 0, usize::from(self.next > self.visited.len() as u64))
    }
}
