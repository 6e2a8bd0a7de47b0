//! Sweeps over the kept rows.

use vi_core::refine::{self, RefineInfo, RefineSettings};
use vi_core::{Error, Implicit, PerRow};
use vi_linalg::faer::{Mat, Par};

use super::family::{Family, RowLikelihood, row_likelihood};
use super::learn::prior_variances;
use super::{Engine, Kept};
use crate::ModelError;
use crate::online::belief::AnyBelief;
use crate::online::design::RowSpace;
use crate::online::{BeliefKind, Memory, OnlineSettings};

impl<F: Family> Engine<F> {
    /// Sweeps over the kept rows, for every member from its prior. Returns what was done for the best.
    pub(in crate::online) fn refine(&mut self, settings: RefineSettings) -> Result<RefineInfo, ModelError> {
        let OnlineSettings { keep_rows, belief, memory, .. } = self.settings;
        if !keep_rows || belief != BeliefKind::Full || memory != Memory::Everything {
            return Err(ModelError::NotKept);
        }
        let (x, y, likelihoods) = self.kept()?;
        let rules: Vec<_> = likelihoods.iter().map(Implicit).collect();
        let mut members = self.members.clone();
        let best = self.best().prior_scale;
        let mut best_info = None;
        for member in &mut members {
            let variances = prior_variances(&self.settings, member.prior_scale, self.design.columns());
            let AnyBelief::Full(prior) = AnyBelief::prior(BeliefKind::Full, &variances)? else { continue };
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
        Ok(info)
    }

    /// The kept rows as the model's columns (`n × p`), the labels, and each row's likelihood.
    #[allow(clippy::type_complexity, reason = "three columns of one table")]
    pub(in crate::online) fn kept(&self) -> Result<(Mat<f64>, Vec<f64>, Vec<RowLikelihood<F>>), Error> {
        let mut x = Mat::zeros(self.rows.len(), self.design.columns());
        let (mut y, mut likelihoods) = (Vec::new(), Vec::new());
        let mut space = RowSpace::default();
        for (i, Kept { row, observed }) in self.rows.iter().enumerate() {
            self.design.write(row.as_row(), &mut space)?.for_each(|j, value| x[(i, j)] = value);
            y.push(observed.label);
            likelihoods.push(row_likelihood(&self.family, observed)?);
        }
        Ok((x, y, likelihoods))
    }
}
