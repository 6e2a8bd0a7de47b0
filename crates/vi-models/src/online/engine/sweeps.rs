//! Sweeps over the kept rows.

use vi_core::refine::{self, RefineInfo, RefineSettings};
use vi_core::{Error, Implicit, PerRow};
use vi_linalg::faer::{Mat, Par};

use super::family::Family;
use super::scalar::{RowLikelihood, ScalarFamily, row_likelihood};
use super::{Engine, Kept};
use crate::ModelError;
use crate::online::belief::AnyBelief;
use crate::online::design::RowSpace;
use crate::online::{BeliefKind, Memory, Observation, OnlineSettings};

impl<F: ScalarFamily> Engine<F> {
    /// Sweeps over the kept rows, for every member from its prior. Returns what was done for the best.
    pub(in crate::online) fn refine(&mut self, settings: RefineSettings) -> Result<RefineInfo, ModelError> {
        self.check_kept()?;
        let (x, observed) = self.design_matrix()?;
        let y: Vec<f64> = observed.iter().map(|observed| observed.label).collect();
        let likelihoods: Vec<RowLikelihood<F>> =
            observed.iter().map(|observed| row_likelihood(&self.family, observed)).collect::<Result<_, _>>()?;
        let rules: Vec<_> = likelihoods.iter().map(Implicit).collect();
        let mut members = self.members.clone();
        let best = self.best().prior_scale;
        let mut best_info = None;
        for member in &mut members {
            let prior = self.family.prior(&self.settings, member.prior_scale, self.design.columns())?;
            let AnyBelief::Full(prior) = prior else { continue };
            let mut refinement = refine::first_pass(&prior, &PerRow(&rules), x.as_ref(), &y, Par::Seq)?;
            let rows = PerRow(&likelihoods);
            let info = refine::refine(&prior, &mut refinement, x.as_ref(), &y, &rows, settings, Par::Seq)?;
            member.belief = AnyBelief::Full(refinement.belief);
            if member.prior_scale == best {
                best_info = Some(info);
            }
        }
        let info = best_info.ok_or(ModelError::NotKept)?;
        self.members = members;
        self.settle();
        Ok(info)
    }
}

impl<F: Family> Engine<F> {
    /// After a refinement: the rows so far are learned for good, with the scales that were taken from them.
    pub(in crate::online) fn settle(&mut self) {
        self.fixed = true;
        self.refined = self.observations;
        self.diagnosis = None;
    }

    /// Whether all rows are there and the posterior is a full Gaussian of them.
    ///
    /// # Errors
    /// [`ModelError::NotKept`].
    pub(in crate::online) fn check_kept(&self) -> Result<(), ModelError> {
        let OnlineSettings { keep_rows, belief, memory, .. } = self.settings;
        if keep_rows && belief == BeliefKind::Full && memory == Memory::Everything {
            Ok(())
        } else {
            Err(ModelError::NotKept)
        }
    }

    /// The kept rows as the model's columns (`n × p`), and what was observed at each.
    pub(in crate::online) fn design_matrix(&self) -> Result<(Mat<f64>, Vec<Observation>), Error> {
        let mut x = Mat::zeros(self.rows.len(), self.design.columns());
        let mut space = RowSpace::default();
        for (i, Kept { row, .. }) in self.rows.iter().enumerate() {
            self.design.write(row.as_row(), &mut space)?.for_each(|j, value| x[(i, j)] = value);
        }
        Ok((x, self.rows.iter().map(|kept| kept.observed).collect()))
    }
}
