//! The relative prior scales of blocks as members move with them.

use vi_core::Error;

use super::family::Family;
use super::place::{moves, no_covariance};
use super::{Engine, Member};
use crate::online::Memory;
use crate::online::blocks::{factors, freedom, log_prior, wider};
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
        let Some(best) = best(members).filter(|_| self.has_moving_blocks()) else { return Ok(None) };
        let weights = self.family.scaled_weights(self.design.columns(), self.design.inputs);
        let (belief, gain) = ((&best.belief, best.prior_scale), self.gain(best));
        let reach = if self.family.tells_near() { REACH } else { f64::INFINITY };
        let Some(factors) = factors(belief, weights, (&self.settings.blocks, &design.relative), reach, &gain)? else {
            return Ok(None);
        };
        self.with_factors(design, members, &factors).map(Some)
    }

    /// The factors of relative scales by which one block becomes much wider, where the evidence may have a second mode that the sites of the first
    /// hide; `None` where it has none.
    pub(super) fn wider_block(&self, design: &Design, members: &[Member<F::State>]) -> Result<Option<Vec<f64>>, Error> {
        let asked = self.has_moving_blocks() && self.family.is_joint() && !self.family.rescales_exactly();
        let Some(best) = best(members).filter(|_| asked && !self.family.tells_near()) else { return Ok(None) };
        let weights = self.family.scaled_weights(self.design.columns(), self.design.inputs);
        let blocks = (self.settings.blocks.as_slice(), design.relative.as_slice());
        wider((&best.belief, best.prior_scale), weights, blocks, &self.gain(best))
    }

    /// The nats that a change of the prior adds to a member's log evidence.
    fn gain(&self, member: &Member<F::State>) -> impl Fn(ScaleChange) -> f64 {
        |change| self.family.rescale(&member.state, change.log_det, change.quadratic).0
    }

    /// The log evidence of the best member, with the log prior of the scales.
    pub(super) fn log_posterior(&self, design: &Design, members: &[Member<F::State>]) -> f64 {
        let of = |member: &Member<F::State>| {
            member.evidence + self.family.scale_prior().log_density(member.prior_scale.ln())
        };
        members.iter().map(of).fold(f64::NEG_INFINITY, f64::max) + log_prior(&self.settings.blocks, &design.relative)
    }

    /// `design` and `members` with the relative scale of each input multiplied by its factor.
    pub(super) fn with_factors(
        &self,
        design: &Design,
        members: &[Member<F::State>],
        factors: &[f64],
    ) -> Result<Moved<F::State>, Error> {
        let relative = (0..design.inputs).map(|j| design.relative(j) * factors[j]).collect();
        Ok((Design { relative, ..design.clone() }, self.stretched(members, factors)?))
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

/// The member with the largest share of the answers.
fn best<S>(members: &[Member<S>]) -> Option<&Member<S>> {
    members.iter().max_by(|a, b| a.log_weight().total_cmp(&b.log_weight()))
}
