//! A sample of whole groups, from which a model that is not exact finds its components of variance.
//!
//! The sites of rows that were learned once are those of the components of that time. Where groups have few rows they hold the components
//! there: with too wide a spread between groups the sites of single rows leave each group free, and confirm it. The groups of the sample have
//! all their rows kept and their sites made anew, so that their evidence is that of the components. A group is in the sample if its hash is
//! below a bound, which falls by a quarter when the rows are too many: so it is a sample of groups, in whatever order rows come. Of a large group the
//! first rows are taken. Where groups are large on average, sites hardly depend on the components, and the sums serve.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use vi_core::{Error, Grouped};

use super::engine::{Engine, Kept, Node};
use super::place::NARROW;
use crate::ModelError;
use crate::online::engine::ScalarFamily;

/// The most rows of a group in the sample, and the mean number from which on the sums serve.
const LARGE: u32 = 50;

/// The rows of the sampled groups.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Sample {
    /// The largest hash of a group in the sample.
    most: u64,
    pub(super) rows: Vec<Kept>,
    /// How many rows of each group there are.
    #[serde(skip)]
    counts: HashMap<u64, u32>,
}

impl Default for Sample {
    fn default() -> Self {
        Self { most: u64::MAX, rows: Vec::new(), counts: HashMap::new() }
    }
}

/// An even hash of a key, unlike that of the table of groups (MurmurHash3's finaliser).
fn hash(key: u64) -> u64 {
    let mut h = key ^ 0x2545_f491_4f6c_dd1d;
    h = (h ^ (h >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    h = (h ^ (h >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    h ^ (h >> 33)
}

impl Sample {
    /// The sample after these first rows.
    pub(super) fn of(rows: &[Kept], room: usize) -> Self {
        let mut sample = Self::default();
        for kept in rows {
            let count = sample.counts.entry(kept.group).or_default();
            if *count < LARGE {
                *count += 1;
                sample.rows.push(kept.clone());
            }
        }
        sample.make(room);
        sample
    }

    /// The sample as it was read.
    pub(super) fn counted(mut self) -> Self {
        self.counts.clear();
        for kept in &self.rows {
            *self.counts.entry(kept.group).or_default() += 1;
        }
        self
    }

    pub(super) fn takes(&self, group: u64) -> bool {
        hash(group) <= self.most && self.counts.get(&group).is_none_or(|count| *count < LARGE)
    }

    /// Takes a row; beyond `room` rows a quarter of the groups go.
    pub(super) fn push(&mut self, kept: Kept, room: usize) {
        *self.counts.entry(kept.group).or_default() += 1;
        self.rows.push(kept);
        self.make(room);
    }

    fn make(&mut self, room: usize) {
        while self.rows.len() > room.max(LARGE as usize) && self.most > 0 {
            self.most -= self.most.div_ceil(4);
            let most = self.most;
            self.rows.retain(|kept| hash(kept.group) <= most);
            self.counts.retain(|group, _| hash(*group) <= most);
        }
    }
}

impl<F: ScalarFamily> Engine<F> {
    /// Whether groups are so large that the sums serve for the components.
    pub(super) fn has_large_groups(&self) -> bool {
        self.observations >= u64::from(LARGE) * self.belief.groups() as u64
    }

    /// Finds the components from the sample, and takes them. On an error the model is unchanged.
    pub(super) fn place_by_sample(&mut self) -> Result<(), ModelError> {
        let prior = Grouped::new(self.belief.variances(), self.belief.root().as_ref())?;
        let standing = (self.phi.clone(), self.curvature.clone(), self.nodes.clone(), self.log_weight, self.evidence);
        let sample = self.sample.clone();
        let belief = std::mem::replace(&mut self.belief, prior);
        let rows = std::mem::replace(&mut self.rows, std::mem::take(&mut self.sample.rows));
        let found = self.find();
        self.sample.rows = std::mem::replace(&mut self.rows, rows);
        self.belief = belief;
        self.evidence = standing.4;
        let taken = found.and_then(|()| self.follow());
        if taken.is_err() {
            (self.phi, self.curvature, self.nodes, self.log_weight, self.evidence) = standing;
            self.sample = sample;
        }
        taken
    }

    /// Components and nodes of the rows that are kept, in a belief of their own.
    fn find(&mut self) -> Result<(), ModelError> {
        let rows = std::mem::take(&mut self.rows);
        let stood = self.stand(&rows);
        self.rows = rows;
        stood?;
        self.sweeps((2, 3), 3e-2, NARROW).map(drop)
    }

    /// Takes the components and nodes that were found elsewhere.
    fn follow(&mut self) -> Result<(), ModelError> {
        let coordinates = self.coordinates();
        let variances = self.belief.variances().to_vec();
        let mut nodes = Vec::with_capacity(self.nodes.len());
        for node in std::mem::take(&mut self.nodes) {
            let root = coordinates.root(&node.phi);
            let arrow = self.belief.arrow(&self.belief.solve(&variances, root.as_ref(), self.par)?, root.as_ref())?;
            nodes.push(Node { arrow, ..node });
        }
        self.belief.rebuild(&variances, coordinates.root(&self.phi).as_ref(), self.par)?;
        self.nodes = nodes.into_iter().map(|node| self.moved(node)).collect::<Result<_, Error>>()?;
        Ok(())
    }
}
