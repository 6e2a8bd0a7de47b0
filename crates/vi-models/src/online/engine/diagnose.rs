//! How near the Gaussian posterior is to the true one.

use rand::Rng;
use vi_core::{Belief, GlmPosterior, PerRow};

use super::Engine;
use super::family::Family;
use super::scalar::{ScalarFamily, row_likelihoods};
use crate::ModelError;
use crate::metrics::{Psis, gaussian_psis};
use crate::online::belief::AnyBelief;
use crate::online::info::Diagnosis;

impl<F: ScalarFamily> Engine<F> {
    /// PSIS of the member with the largest share of the answers.
    pub(in crate::online) fn psis<R: Rng + ?Sized>(&self, draws: usize, rng: &mut R) -> Result<Psis, ModelError> {
        self.check_kept()?;
        let (x, observed) = self.design_matrix()?;
        let y: Vec<f64> = observed.iter().map(|observed| observed.label).collect();
        let best = self.best();
        let likelihoods = row_likelihoods(&self.family, &best.state, &observed)?;
        let prior = self.family.prior(&self.settings, best.prior_scale, x.ncols())?;
        let (AnyBelief::Full(prior), AnyBelief::Full(q)) = (prior, &best.belief) else {
            return Err(ModelError::NotKept);
        };
        let truth = GlmPosterior::new(&prior, x.as_ref(), &y, PerRow(&likelihoods))?;
        gaussian_psis(&truth, q, draws, rng)
    }

    /// Keeps the diagnosis of [`psis`](Self::psis).
    pub(in crate::online) fn diagnosed<R: Rng + ?Sized>(
        &mut self,
        draws: usize,
        rng: &mut R,
    ) -> Result<(), ModelError> {
        let psis = self.psis(draws, rng)?;
        self.diagnosis = Some(Diagnosis::of(&psis, self.best().belief.dim()));
        Ok(())
    }
}
