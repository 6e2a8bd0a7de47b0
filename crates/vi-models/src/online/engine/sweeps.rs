//! Refinement of the members: sweeps over the kept rows, and what passes over rows elsewhere share with them.

use std::ops::RangeInclusive;

use vi_core::refine::{self, RefineInfo, RefineSettings, Refinement};
use vi_core::{DenseGaussian, Error, GaussianExpectation, MomentMatching, PerRow};
use vi_linalg::faer::{Mat, MatRef, Par};

use super::family::Family;
use super::place::{CLOSE, Spectra, fitted_where_likely, placed};
use super::scalar::{ScalarFamily, fitted_together};
use super::start::RowsToFit;
use super::{Engine, Member};
use crate::ModelError;
use crate::online::belief::AnyBelief;
use crate::online::{BeliefKind, Memory, Observation, OnlineSettings};

impl<F: ScalarFamily> Engine<F> {
    /// Sweeps over the kept rows, for every member from its prior. Returns the info of the member with the highest evidence.
    pub(in crate::online) fn refine(&mut self, settings: &RefineSettings) -> Result<RefineInfo, ModelError> {
        self.check_kept()?;
        self.caught_up(|engine| engine.swept(settings))
    }

    fn swept(&mut self, settings: &RefineSettings) -> Result<RefineInfo, ModelError> {
        let rows = self.rows_to_fit(&self.design)?;
        self.refine_members((0..=self.members.len() - 1, CLOSE), |engine, member| {
            let prior = engine.family.prior(&engine.settings, member.prior_scale, engine.design.columns())?;
            let AnyBelief::Full(prior) = prior else { return Err(ModelError::NotKept) };
            let (belief, state, mut info) =
                fitted_together(&engine.family, &prior, &member.state, (rows.x.as_ref(), &rows.observed), settings)?;
            info.bounds.iter_mut().for_each(|bound| *bound -= rows.log_jacobian);
            let belief = AnyBelief::Full(belief);
            Ok((Member { belief, state, evidence: info.bound(), ..member.clone() }, info))
        })
    }
}

/// One pass by moment matching.
pub(super) fn passed<L: GaussianExpectation>(
    prior: &DenseGaussian,
    x: MatRef<'_, f64>,
    y: &[f64],
    likelihoods: &[L],
) -> Result<Refinement, Error> {
    let rules: Vec<_> = likelihoods.iter().map(MomentMatching).collect();
    refine::first_pass(prior, &PerRow(&rules), x, y, Par::Seq)
}

impl<F: Family> Engine<F> {
    /// Refines the members of a range by `refine`, which returns one with the log evidence, or a bound on it, at its prior scale, and finds
    /// the posterior of the prior scale anew over its whole range; scales that are `close` to a refined one are taken from that. On an
    /// error the model is unchanged. The evidence is then theirs, averaged over the prior of the scale. Returns the info of the member
    /// with the highest evidence.
    pub(in crate::online) fn refine_members<I, E: From<ModelError>>(
        &mut self,
        (range, close): (RangeInclusive<usize>, f64),
        mut refine: impl FnMut(&Self, &Member<F::State>) -> Result<(Member<F::State>, I), E>,
    ) -> Result<I, E> {
        let mut best: Option<(f64, I)> = None;
        let mut refined = |member: &Member<F::State>| {
            let (member, info) = refine(self, member)?;
            if best.as_ref().is_none_or(|(highest, _)| *highest < member.evidence) {
                best = Some((member.evidence, info));
            }
            Ok::<_, E>(member)
        };
        let mut members = self.members[range].iter().map(&mut refined).collect::<Result<Vec<_>, _>>()?;
        if self.moves() {
            let refined = |member: &_| refined(member).map(Some);
            let mut known = Spectra::new();
            members = fitted_where_likely(&self.family, &self.design, members, close, &mut known, refined)?;
            let found = placed(&self.family, &members, &self.design, &mut known).map_err(ModelError::from)?;
            (self.members, self.base) = found.ok_or(ModelError::NotKept)?;
        } else {
            (self.base, self.members) = (self.averaged(&mut members).map_err(ModelError::from)?, members);
        }
        self.settle();
        best.map(|(_, info)| info).ok_or_else(|| ModelError::NotKept.into())
    }

    /// Refines a model whose first rows have been fitted together, so that scales and blocks are those of them all. On an error the model is
    /// unchanged.
    pub(in crate::online) fn caught_up<I, E: From<ModelError>>(
        &mut self,
        refine: impl FnOnce(&mut Self) -> Result<I, E>,
    ) -> Result<I, E> {
        if self.fixed {
            return refine(self);
        }
        let mut fitted = self.clone();
        fitted.catch_up()?;
        let info = refine(&mut fitted)?;
        *self = fitted;
        Ok(info)
    }

    /// Ends the first rows after a refinement: the scales taken from them are fixed.
    pub(in crate::online) fn settle(&mut self) {
        if !self.fixed {
            self.order = self.order_of_rows();
            self.fixed = true;
            self.next_place = Self::first_place(&self.design, self.observations);
        }
        if !self.settings.keep_rows {
            self.rows = Vec::new();
        }
        self.refined = self.observations;
        self.diagnosis = None;
    }

    /// Checks that all rows are kept and the posterior is a full Gaussian of them.
    ///
    /// # Errors
    /// [`ModelError::NotKept`]; [`ModelError::Unsupported`] for a model that answers from a mixture.
    pub(in crate::online) fn check_kept(&self) -> Result<(), ModelError> {
        self.check_learns()?;
        let OnlineSettings { keep_rows, belief, memory, .. } = self.settings;
        if keep_rows && belief == BeliefKind::Full && memory == Memory::Everything {
            Ok(())
        } else {
            Err(ModelError::NotKept)
        }
    }

    /// The kept rows of the likelihood as the model's columns (`n × p`), and what was observed at each in the model's units.
    pub(in crate::online) fn design_matrix(&self) -> Result<(Mat<f64>, Vec<Observation>), Error> {
        let RowsToFit { x, observed, .. } = self.rows_to_fit(&self.design)?;
        Ok((x, observed))
    }
}
