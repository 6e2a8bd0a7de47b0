//! Many rows at once.
//!
//! The posterior of an exact model depends on its rows by their sums alone, and the log probability of many labels is the difference of two
//! evidences. Between two searches for the components the rows are added to the sums, and the beliefs are solved for after the last.

use std::ops::Range;

use vi_core::{Error, GroupedRow, GroupedSolution, Row, Rows};
use vi_linalg::faer::Par;

use super::engine::{Engine, Kept};
use crate::online::Observation;
use crate::online::engine::{ScalarFamily, Together};
use crate::online::row::split;
use crate::{ModelError, check};

/// Rows are taken together if they are at least this share of the groups, each of which costs a solution as much as a fraction of a row.
const SHARE: usize = 8;

impl<F: ScalarFamily> Engine<F> {
    /// Learns many rows. On an error the model is unchanged, but for the count of refused calls.
    pub(super) fn update_batch<O: Copy + Into<Observation>>(
        &mut self,
        rows: Rows<'_>,
        groups: &[u64],
        labels: &[O],
        par: Par,
    ) -> Result<(), ModelError> {
        let before = self.clone();
        self.par = par;
        let mut learned = self.learn_batch(rows, groups, labels, true);
        if let Ok(false) = learned {
            self.clone_from(&before);
            self.par = par;
            learned = self.learn_batch(rows, groups, labels, false);
        }
        self.par = Par::Seq;
        learned.map(drop).inspect_err(|_| *self = Self { refused: before.refused.saturating_add(1), ..before })
    }

    /// Whether all rows could be learned; with `together` they may be too precise for sums.
    fn learn_batch<O: Copy + Into<Observation>>(
        &mut self,
        rows: Rows<'_>,
        groups: &[u64],
        labels: &[O],
        together: bool,
    ) -> Result<bool, ModelError> {
        let mut memory = Vec::new();
        let rows = split(rows, labels.len(), self.columns.design.inputs, &mut memory)?;
        check::length("groups", rows.len(), groups.len())?;
        for (t, (row, label)) in rows.iter().zip(labels).enumerate() {
            self.check(*row, &(*label).into()).map_err(|error| error.at_row(t))?;
        }
        let is_plain = |label: &O| (*label).into().weight == 1.0;
        let mut t = 0;
        while t < rows.len() {
            let until = usize::try_from(self.next - self.observations).unwrap_or(usize::MAX);
            let most = until.min(rows.len() - t);
            let plain = if together && self.fixed {
                labels[t..t + most].iter().take_while(|label| is_plain(label)).count()
            } else {
                0
            };
            if Self::is_exact() && SHARE * plain >= self.belief.groups().max(1) {
                let taken = t..t + plain;
                if !self.take_together(&rows, groups, labels, taken.clone())? {
                    return Ok(false);
                }
                t = taken.end;
            } else {
                self.learn(rows[t], groups[t], labels[t].into()).map_err(|error| error.at_row(t))?;
                t += 1;
            }
        }
        Ok(true)
    }

    /// Learns rows of weight 1 of an exact model; `false` if their noise would be lost in the rounding of the sums, and the model is then
    /// neither as it was nor learned.
    fn take_together<O: Copy + Into<Observation>>(
        &mut self,
        rows: &[Row<'_>],
        groups: &[u64],
        labels: &[O],
        taken: Range<usize>,
    ) -> Result<bool, ModelError> {
        let from = self.standing()?;
        let mut node_from = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let solution = self.belief.solve(self.belief.variances(), node.arrow.root().as_ref(), self.par)?;
            node_from.push((solution.log_det, solution.quadratic));
        }
        let count = taken.len();
        let (mut squares, mut jacobian) = (0.0, 0.0);
        let Self { columns, belief, par, work, rows: kept, settings, .. } = self;
        let solution = belief.absorb_all(*par, |add| {
            for t in taken {
                let mut learn = |observed: Observation| {
                    columns.design.meet(rows[t]);
                    let scaled = columns.design.target.apply(&observed)?;
                    columns.write(rows[t], &mut work.space)?;
                    let y = scaled.label - scaled.offset;
                    squares += y * y;
                    jacobian += columns.design.target.log_jacobian(&observed);
                    add(GroupedRow { x: work.space.x(), z: &work.space.z, group: groups[t] }, 1.0, y)?;
                    if settings.keep_rows {
                        let mut dense = Vec::new();
                        let row = rows[t].written_out(columns.design.inputs, &mut dense).to_vec();
                        kept.push(Kept { row, group: groups[t], observed, site: (1.0, y) });
                    }
                    Ok(())
                };
                learn(labels[t].into()).map_err(|error: Error| error.at_row(t))?;
            }
            Ok::<(), Error>(())
        })?;
        let moved = |solution: &GroupedSolution, from: (f64, f64)| Together {
            rows: count,
            squares,
            log_det: solution.log_det - from.0,
            quadratic: solution.quadratic - from.1,
        };
        let Some((score, state)) = self.family.learn_together(&self.state, moved(&solution, from)) else {
            return Ok(false);
        };
        self.state = state;
        let mut scores = vec![score];
        for (node, from) in self.nodes.iter_mut().zip(node_from) {
            let root = node.arrow.root();
            let solution = self.belief.solve(self.belief.variances(), root.as_ref(), self.par)?;
            let Some((score, state)) = self.family.learn_together(&node.state, moved(&solution, from)) else {
                return Ok(false);
            };
            node.arrow = self.belief.arrow(&solution, root.as_ref())?;
            node.state = state;
            scores.push(score);
        }
        check::finite("evidence", &scores)?;
        self.score(&scores);
        self.evidence -= jacobian;
        self.observations = self.observations.saturating_add(count as u64);
        if self.observations >= self.next {
            self.grow();
        }
        Ok(true)
    }
}
