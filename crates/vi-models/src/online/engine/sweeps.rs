//! Sweeps over the kept rows.

use vi_core::refine::{self, RefineInfo, RefineSettings, Refinement};
use vi_core::{DenseGaussian, Error, GaussianExpectation, MomentMatching, PerRow};
use vi_linalg::faer::{Mat, MatRef, Par};

use super::family::Family;
use super::place::normalise;
use super::scalar::{RowLikelihood, ScalarFamily, row_likelihoods};
use super::start::columns_of;
use super::{Engine, Member};
use crate::ModelError;
use crate::online::belief::AnyBelief;
use crate::online::{BeliefKind, Memory, Observation, OnlineSettings};

impl<F: ScalarFamily> Engine<F> {
    /// Sweeps over the kept rows, for every member from its prior. Returns the info of the member with the largest share.
    pub(in crate::online) fn refine(&mut self, settings: &RefineSettings) -> Result<RefineInfo, ModelError> {
        self.check_kept()?;
        let (x, observed) = self.design_matrix()?;
        let y: Vec<f64> = observed.iter().map(|observed| observed.label).collect();
        let best = self.best().prior_scale;
        let mut best_info = None;
        self.refine_members(|engine, member| {
            let prior = engine.family.prior(&engine.settings, member.prior_scale, engine.design.columns())?;
            let AnyBelief::Full(prior) = prior else { return Err(ModelError::NotKept) };
            let likelihoods: Vec<RowLikelihood<F>> = row_likelihoods(&engine.family, &member.state, &observed)?;
            let (belief, info) = propagated(&prior, x.as_ref(), &y, &likelihoods, settings)?;
            member.belief = AnyBelief::Full(belief.belief);
            let log_evidence = info.bound();
            if member.prior_scale == best {
                best_info = Some(info);
            }
            Ok(log_evidence)
        })?;
        best_info.ok_or(ModelError::NotKept)
    }
}

/// One pass by moment matching, followed by [`refine::expectation_propagation`].
pub(super) fn propagated<L: GaussianExpectation>(
    prior: &DenseGaussian,
    x: MatRef<'_, f64>,
    y: &[f64],
    likelihoods: &[L],
    settings: &RefineSettings,
) -> Result<(Refinement, RefineInfo), Error> {
    let rules: Vec<_> = likelihoods.iter().map(MomentMatching).collect();
    let mut refinement = refine::first_pass(prior, &PerRow(&rules), x, y, Par::Seq)?;
    let rows = PerRow(likelihoods);
    let info = refine::expectation_propagation(prior, &mut refinement, x, y, &rows, settings, Par::Seq)?;
    Ok((refinement, info))
}

impl<F: Family> Engine<F> {
    /// Refines every member by `refine`, which returns its log evidence, or a bound on it. On an error the model is unchanged.
    ///
    /// From then on the members are weighted by these; the model's evidence remains that of the predictions as they were made.
    pub(in crate::online) fn refine_members(
        &mut self,
        mut refine: impl FnMut(&Self, &mut Member<F::State>) -> Result<f64, ModelError>,
    ) -> Result<(), ModelError> {
        let mut members = self.members.clone();
        let evidence = self.evidence();
        let mut gained = Vec::with_capacity(members.len());
        for member in &mut members {
            gained.push(refine(self, member)? - member.evidence);
        }
        members.iter_mut().zip(&gained).for_each(|(member, gained)| member.evidence += gained);
        if normalise(&mut members).is_some() {
            self.base = evidence;
        }
        self.members = members;
        self.settle();
        Ok(())
    }

    /// Ends the first rows after a refinement: the scales taken from them are fixed.
    pub(in crate::online) fn settle(&mut self) {
        if !self.fixed {
            self.order = self.order_of_rows();
            self.fixed = true;
            self.next_place = Self::first_place(&self.design, self.observations);
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
        if keep_rows && belief == BeliefKind::Full && memory == Memory::Everything && self.family.is_joint() {
            Ok(())
        } else {
            Err(ModelError::NotKept)
        }
    }

    /// The kept rows as the model's columns (`n × p`), and what was observed at each.
    pub(in crate::online) fn design_matrix(&self) -> Result<(Mat<f64>, Vec<Observation>), Error> {
        columns_of(&self.design, &self.rows)
    }
}
