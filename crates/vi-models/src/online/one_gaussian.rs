//! The posterior of a model as one Gaussian, for other ways of storing it.

use vi_core::{Belief, DenseGaussian, GaussianBelief, SquareRootGaussian};

use super::belief::AnyBelief;
use super::engine::{Engine, Family};
use super::{BeliefKind, Memory, OnlineSettings, PriorScale, Standardise};
use crate::{ModelError, Transform, check};

/// All that a model has learned, for models whose posterior is one Gaussian and whose prior was given in the units of the inputs.
///
/// ```
/// use vi_models::online::{OnlineLogistic, OnlineSettings, PriorScale, Standardise};
/// let settings = OnlineSettings {
///     prior_scale: PriorScale::Given(2.5),
///     standardise: Standardise::Never,
///     ..OnlineSettings::default()
/// };
/// let mut model = OnlineLogistic::with_settings(1, settings.clone())?;
/// for (x, y) in [(-1.0, 0.0), (0.3, 1.0), (-0.4, 0.0), (1.5, 1.0)] {
///     model.update(&[x], y)?;
/// }
/// let again = OnlineLogistic::from_gaussian(settings, &model.gaussian()?)?;
/// assert_eq!(again.predict(&[0.7])?, model.predict(&[0.7])?);
/// // A model that averages over prior scales, as it does by default, is no one Gaussian.
/// assert!(OnlineLogistic::new(1)?.gaussian().is_err());
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone)]
pub struct OneGaussian {
    /// The posterior of the weights and, last, the intercept if there is one; that of [`OnlineLinear`](super::OnlineLinear) is in
    /// units of the noise.
    pub belief: DenseGaussian,
    /// The log evidence, in nats.
    pub evidence: f64,
    /// The number of rows learned.
    pub observations: u64,
    /// The number of separate runs from the prior that were merged; 1 if there was no merge.
    pub runs: u64,
}

impl OneGaussian {
    /// The number of inputs of a model with these settings and this belief.
    pub(super) fn inputs(&self, settings: &OnlineSettings) -> usize {
        self.belief.dim().saturating_sub(usize::from(settings.intercept))
    }
}

/// Checks that settings lead to one Gaussian.
///
/// # Errors
/// [`ModelError::Unsupported`].
fn check_settings(settings: &OnlineSettings) -> Result<(), ModelError> {
    let unsupported = |what| Err(ModelError::Unsupported { what });
    if !matches!(settings.belief, BeliefKind::Full | BeliefKind::SquareRoot) {
        return unsupported("one Gaussian but of a full covariance");
    }
    if !matches!(settings.prior_scale, PriorScale::Given(_)) {
        return unsupported("one Gaussian of several prior scales: it has to be given");
    }
    if settings.standardise != Standardise::Never {
        return unsupported("one Gaussian in the units of inputs that are standardised");
    }
    if settings.memory != Memory::Everything {
        return unsupported("one Gaussian of rows that are forgotten");
    }
    Ok(())
}

impl<F: Family> Engine<F> {
    /// The posterior of the model.
    pub(super) fn gaussian(&self) -> Result<OneGaussian, ModelError> {
        check_settings(&self.settings)?;
        self.check_learns()?;
        if self.design.target.transform != Transform::Identity {
            return Err(ModelError::Unsupported { what: "one Gaussian of a model of transformed labels" });
        }
        let belief = self.best().belief.to_dense()?;
        Ok(OneGaussian { belief, evidence: self.evidence(), observations: self.observations, runs: self.runs })
    }

    /// This model, which has learned nothing, with `learned` as its posterior.
    pub(super) fn with_gaussian(mut self, learned: &OneGaussian, state: &F::State) -> Result<Self, ModelError> {
        check_settings(&self.settings)?;
        if self.settings.keep_rows {
            return Err(ModelError::Unsupported { what: "model that keeps rows and is made without them" });
        }
        let OneGaussian { belief, evidence, observations, runs } = learned;
        vi_core::check::finite("evidence", &[*evidence])?;
        self.family.check_state(state)?;
        for member in &mut self.members {
            check::length("weights", member.belief.dim(), belief.dim())?;
            member.belief = match self.settings.belief {
                BeliefKind::SquareRoot => AnyBelief::SquareRoot(SquareRootGaussian::from_dense(belief)?),
                _ => AnyBelief::Full(belief.clone()),
            };
            (member.state, member.evidence) = (state.clone(), *evidence);
        }
        (self.observations, self.runs) = (*observations, (*runs).clamp(1, (*observations).max(1)));
        self.fixed = self.fixed || *observations > 0;
        Ok(self)
    }
}
