//! A model that answers from a mixture found for its posterior by another method.

use vi_core::DenseGaussian;

use super::family::Family;
use super::narrow::Around;
use super::{Engine, Member};
use crate::ModelError;
use crate::online::belief::AnyBelief;
use crate::online::posterior::Posterior;

impl<F: Family> Engine<F> {
    /// A copy of the model that answers from `parts`, weights and Gaussians over its columns' weights, in place of its own
    /// posterior; the copy keeps no rows.
    ///
    /// # Errors
    /// See [`Posterior::check_mixture`].
    pub(in crate::online) fn answering(
        &self,
        posterior: &Posterior,
        parts: &[(f64, DenseGaussian)],
    ) -> Result<Self, ModelError> {
        posterior.check_mixture(self, parts)?;
        let prior_scale = self.best().prior_scale;
        let member = |(weight, belief): &(f64, DenseGaussian)| Member {
            prior_scale,
            around: Around::default(),
            lambda: 1.0,
            belief: AnyBelief::Full(belief.clone()),
            state: self.best().state.clone(),
            evidence: 0.0,
            log_mass: weight.ln(),
        };
        Ok(Self {
            members: parts.iter().map(member).collect(),
            base: self.evidence(),
            rows: Vec::new(),
            diagnosis: None,
            fixed: true,
            mixed: true,
            family: self.family.whole(),
            ..self.clone()
        })
    }

    /// Checks that the model can learn rows.
    ///
    /// # Errors
    /// [`ModelError::Unsupported`] for a model that answers from a mixture.
    pub(in crate::online) fn check_learns(&self) -> Result<(), ModelError> {
        if self.mixed {
            let what = "learning, refinement or diagnosis of a model that answers from a mixture: the model it came from learns on";
            return Err(ModelError::Unsupported { what });
        }
        Ok(())
    }
}
