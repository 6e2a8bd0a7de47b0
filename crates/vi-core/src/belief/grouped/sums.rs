//! What the sites of all rows say, whatever the prior: sums over all rows and over those of each group.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::{GroupedRow, GroupedStep};
use crate::Error;
use crate::check;

/// Spreads keys over the table: the finaliser of SplitMix64, a bijection.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(self.0 ^ u64::from(byte));
        }
    }

    fn write_u64(&mut self, key: u64) {
        let mut h = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
        h = (h ^ (h >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        h = (h ^ (h >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.0 = h ^ (h >> 31);
    }
}

type Slots = HashMap<u64, u32, BuildHasherDefault<KeyHasher>>;

/// The sums of sites. The record of a group holds `G` (the lower triangle by rows), `C` (by rows) and `c`.
#[derive(Debug, Clone)]
pub(crate) struct Sums {
    pub(crate) p: usize,
    pub(crate) q: usize,
    /// The lower triangle of `A`, by rows.
    pub(crate) curvature: Vec<f64>,
    /// `a`.
    pub(crate) slope: Vec<f64>,
    pub(crate) keys: Vec<u64>,
    pub(crate) records: Vec<f64>,
    slots: Slots,
    /// The record of a group without rows.
    nothing: Vec<f64>,
}

impl Sums {
    pub(crate) fn new(p: usize, q: usize) -> Self {
        let nothing = vec![0.0; Self::length(p, q)];
        let curvature = vec![0.0; p * (p + 1) / 2];
        let (keys, records, slots) = (Vec::new(), Vec::new(), Slots::default());
        Self { p, q, curvature, slope: vec![0.0; p], keys, records, slots, nothing }
    }

    /// The numbers of a record.
    pub(crate) fn length(p: usize, q: usize) -> usize {
        q * (q + 1) / 2 + q * p + q
    }

    /// The sums with these parts.
    ///
    /// # Errors
    /// [`Error::Dimension`], [`Error::NonFinite`]; [`Error::Entry`] for a key that occurs twice.
    pub(crate) fn from_parts(
        (p, q): (usize, usize),
        (curvature, slope): (Vec<f64>, Vec<f64>),
        keys: Vec<u64>,
        records: Vec<f64>,
    ) -> Result<Self, Error> {
        let empty = Self::new(p, q);
        check::length("sums of curvatures", empty.curvature.len(), curvature.len())?;
        check::length("sums of slopes", p, slope.len())?;
        check::length("sums of the groups", empty.nothing.len().saturating_mul(keys.len()), records.len())?;
        [&curvature, &slope, &records].iter().try_for_each(|sums| check::finite("sums", sums))?;
        let mut slots = Slots::default();
        for (slot, &key) in keys.iter().enumerate() {
            if slots.insert(key, small(slot)).is_some() {
                return Err(Error::Entry { argument: "keys", index: slot, value: key as f64, requirement: "new" });
            }
        }
        Ok(Self { curvature, slope, keys, records, slots, ..empty })
    }

    pub(crate) fn slot(&self, group: u64) -> Option<usize> {
        self.slots.get(&group).map(|&slot| slot as usize)
    }

    /// The record of the group at `slot`.
    pub(crate) fn record(&self, slot: usize) -> &[f64] {
        let length = self.nothing.len();
        &self.records[slot * length..(slot + 1) * length]
    }

    /// The records of the groups in these slots.
    pub(super) fn records_of(&self, slots: std::ops::Range<usize>) -> &[f64] {
        let length = self.nothing.len();
        &self.records[slots.start * length..slots.end * length]
    }

    /// The record of a group, zeros if it has none.
    pub(crate) fn record_of(&self, group: u64) -> &[f64] {
        self.slot(group).map_or(&self.nothing, |slot| self.record(slot))
    }

    /// `C` of the group at `slot`, by rows.
    pub(crate) fn cross(&self, slot: usize) -> &[f64] {
        cross(self.record(slot), self.q, self.p)
    }

    /// Checks that the sums stay finite with the prepared row.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub(crate) fn check(&self, row: GroupedRow<'_>, step: &GroupedStep) -> Result<(), Error> {
        let (h, r) = (step.site.curvature, step.site.natural_slope(step.seen.mean));
        // The largest square bounds every product, and the sums of squares bound the other sums.
        let most = row.x.iter().chain(row.z).fold(0.0_f64, |most, value| most.max(value.abs()));
        let standing = (0..self.p).map(|i| self.curvature[i * (i + 3) / 2]).fold(0.0_f64, f64::max);
        check::result("sum of curvatures", standing + (h * most * most).abs())?;
        check::results("sum of slopes", self.slope.iter().map(|slope| slope.abs() + (r * most).abs()))
    }

    /// Adds the site `exp(r·t − ½h·t²)` of a row.
    pub(crate) fn add(&mut self, GroupedRow { x, z, group }: GroupedRow<'_>, h: f64, r: f64) {
        let (q, length) = (self.q, self.nothing.len());
        let slot = match self.slots.entry(group) {
            std::collections::hash_map::Entry::Occupied(slot) => *slot.get(),
            std::collections::hash_map::Entry::Vacant(free) => {
                self.keys.push(group);
                self.records.resize(self.records.len() + length, 0.0);
                *free.insert(small(self.keys.len() - 1))
            }
        } as usize;
        add_square(&mut self.curvature, x, h);
        self.slope.iter_mut().zip(x).for_each(|(sum, x)| *sum += r * x);
        let record = &mut self.records[slot * length..(slot + 1) * length];
        let (square, rest) = record.split_at_mut(q * (q + 1) / 2);
        add_square(square, z, h);
        let (cross, slope) = rest.split_at_mut(q * x.len());
        for (line, z) in cross.chunks_exact_mut(x.len()).zip(z) {
            line.iter_mut().zip(x).for_each(|(sum, x)| *sum += h * z * x);
        }
        slope.iter_mut().zip(z).for_each(|(sum, z)| *sum += r * z);
    }

    /// Adds `sign` times the sums of another belief.
    ///
    /// # Errors
    /// [`Error::Entry`] for a group that is to be subtracted and is not there; [`Error::Overflow`].
    pub(crate) fn combine(&mut self, other: &Self, sign: f64) -> Result<(), Error> {
        let add = |sums: &mut [f64], other: &[f64]| {
            sums.iter_mut().zip(other).for_each(|(sum, other)| *sum += sign * other);
            check::results("merged sum", sums.iter().copied())
        };
        add(&mut self.curvature, &other.curvature)?;
        add(&mut self.slope, &other.slope)?;
        let length = self.nothing.len();
        for (index, &key) in other.keys.iter().enumerate() {
            let slot = match self.slot(key) {
                Some(slot) => slot,
                None if sign < 0.0 => {
                    let requirement = "a group that has been learned";
                    return Err(Error::Entry { argument: "groups", index, value: key as f64, requirement });
                }
                None => {
                    self.slots.insert(key, small(self.keys.len()));
                    self.keys.push(key);
                    self.records.resize(self.records.len() + length, 0.0);
                    self.keys.len() - 1
                }
            };
            add(&mut self.records[slot * length..(slot + 1) * length], other.record(index))?;
        }
        Ok(())
    }
}

/// A slot as it is kept; memory ends before four thousand million groups do.
fn small(slot: usize) -> u32 {
    u32::try_from(slot).unwrap_or(u32::MAX)
}

/// `S += h·vvᵀ` on a lower triangle by rows.
fn add_square(lower: &mut [f64], v: &[f64], h: f64) {
    let mut rest = lower;
    for (i, &value) in v.iter().enumerate() {
        let (line, next) = rest.split_at_mut(i + 1);
        let scaled = h * value;
        line.iter_mut().zip(v).for_each(|(sum, v)| *sum += scaled * v);
        rest = next;
    }
}

/// `C` of a record.
pub(super) fn cross(record: &[f64], q: usize, p: usize) -> &[f64] {
    let start = q * (q + 1) / 2;
    &record[start..start + q * p]
}

/// `c` of a record.
pub(super) fn slope(record: &[f64], q: usize) -> &[f64] {
    &record[record.len() - q..]
}
