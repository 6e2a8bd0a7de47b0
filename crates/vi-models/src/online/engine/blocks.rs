//! The relative prior scales of blocks as members move with them.

use vi_core::Error;

use super::family::Family;
use super::place::{moves, no_covariance};
use super::{Engine, Member};
use crate::online::Memory;
use crate::online::blocks::{factors, freedom};
use crate::online::design::Design;
use crate::online::rescale::{ScaleChange, stretched};

/// By how much the logarithms of relative scales move at most at a time, where sites tell the evidence near their own scales only: a move too far is
/// not taken back.
const REACH: f64 = 0.7;

/// A design and the members in its columns.
type Moved<S> = (Design, Vec<Member<S>>);

impl<F: Family> Engine<F> {
    /// Whether there are blocks whose relative scales move.
    pub(super) fn has_moving_blocks(&self) -> bool {
        self.settings.blocks.len() > 1 && moves(&self.settings)
    }

    /// The effective number of weights of each block; empty where no full covariance is kept.
    pub(in crate::online) fn block_freedom(&self) -> Vec<f64> {
        let (blocks, best) = (&self.settings.blocks, self.best());
        let weights = self.family.scaled_weights(self.design.columns(), self.design.inputs);
        freedom((&best.belief, best.prior_scale), weights, blocks).ok().flatten().unwrap_or_default()
    }

    /// Moves the relative scales of the blocks. If that fails they stay, and the failure is counted.
    pub(super) fn place_blocks(&mut self) {
        match self.moved_blocks(&self.design, &self.members) {
            Ok(Some((design, members))) => {
                let before = self.evidence();
                (self.design, self.members) = (design, members);
                // What forgets has no evidence but that of its predictions.
                if self.settings.memory != Memory::Everything {
                    self.base += before - self.evidence();
                }
            }
            Ok(None) => (),
            Err(_) => self.fallbacks.places += 1,
        }
    }

    /// `design` and `members` with the relative scales of the blocks where the evidence of the best member puts them, within [`REACH`] where that
    /// binds; `None` where they stand there.
    pub(super) fn moved_blocks(
        &self,
        design: &Design,
        members: &[Member<F::State>],
    ) -> Result<Option<Moved<F::State>>, Error> {
        let best = members.iter().max_by(|a, b| a.log_weight().total_cmp(&b.log_weight()));
        let Some(best) = best.filter(|_| self.has_moving_blocks()) else { return Ok(None) };
        let weights = self.family.scaled_weights(design.columns(), design.inputs);
        let gain = |change: ScaleChange| self.family.rescale(&best.state, change.log_det, change.quadratic).0;
        let belief = (&best.belief, best.prior_scale);
        let reach = if self.family.tells_near() { REACH } else { f64::INFINITY };
        let Some(factors) = factors(belief, weights, (&self.settings.blocks, &design.relative), reach, gain)? else {
            return Ok(None);
        };
        let relative = (0..design.inputs).map(|j| design.relative(j) * factors[j]).collect();
        Ok(Some((Design { relative, ..design.clone() }, self.stretched(members, &factors)?)))
    }

    /// The members as they would be with the relative scales of `design`.
    pub(super) fn members_like(&self, design: &Design) -> Result<Vec<Member<F::State>>, Error> {
        if self.design.relative == design.relative {
            return Ok(self.members.clone());
        }
        let factors: Vec<f64> = (0..design.inputs).map(|j| design.relative(j) / self.design.relative(j)).collect();
        self.stretched(&self.members, &factors)
    }

    /// The members with the prior scale of each column multiplied by its factor, in units of that factor.
    fn stretched(&self, members: &[Member<F::State>], factors: &[f64]) -> Result<Vec<Member<F::State>>, Error> {
        let weights = self.family.scaled_weights(self.design.columns(), self.design.inputs);
        let stretch = |member: &Member<F::State>| {
            let (belief, change) =
                stretched(&member.belief, weights, member.prior_scale, factors)?.ok_or_else(no_covariance)?;
            let (gained, state) = self.family.rescale(&member.state, change.log_det, change.quadratic);
            Ok(Member { belief, state, evidence: member.evidence + gained, ..member.clone() })
        };
        members.iter().map(stretch).collect()
    }
}
