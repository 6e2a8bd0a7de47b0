//! Generalised linear models for classes and counts, one row at a time.

use rand::Rng;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use vi_core::refine::{RefineInfo, RefineSettings};

use super::engine::{Engine, EngineWire, Parts, beside};
use super::family::{GlmFamily, InflatedCounts, LearnedSpread};
use super::observation::Observation;
use super::posterior::Posterior;
use super::predicted::LabelPredicted;
use super::{Coefficient, Draw, OneGaussian, OnlineInfo, OnlineSettings, Row, Rows};
use crate::{Marginal, ModelError, check};

/// A generalised linear model that learns from a stream, of the family `F`.
///
/// ```
/// use vi_models::online::{Observation, OnlineGlm, family::Counts};
/// let mut visits = OnlineGlm::new(1, Counts)?;
/// for (temperature, hours, count) in [(12.0, 8.0, 3.0), (25.0, 8.0, 30.0), (31.0, 4.0, 33.0), (18.0, 2.0, 2.0)] {
///     visits.update(&[temperature], Observation::new(count).exposure(hours))?;
/// }
/// let tomorrow = visits.predict(&[28.0], Observation::new(0.0).exposure(8.0))?;
/// assert!(tomorrow.mean > 10.0 && tomorrow.interval(0.9)?.lower >= 0.0);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone)]
pub struct OnlineGlm<F: GlmFamily> {
    engine: Engine<F>,
}

impl<F: GlmFamily> OnlineGlm<F> {
    /// A model of `inputs` columns with default settings.
    ///
    /// # Errors
    /// As [`with_settings`](Self::with_settings).
    pub fn new(inputs: usize, family: F) -> Result<Self, ModelError> {
        Self::with_settings(inputs, family, OnlineSettings::default())
    }

    /// A model of `inputs` columns.
    ///
    /// # Errors
    /// `Setting`, `Empty` and `Dimension` for invalid settings.
    pub fn with_settings(inputs: usize, family: F, settings: OnlineSettings) -> Result<Self, ModelError> {
        Ok(Self { engine: Engine::new(inputs, family, settings)? })
    }

    /// The family of the labels.
    #[must_use]
    pub fn family(&self) -> &F {
        &self.engine.family
    }

    /// The predictive distribution of the label at `row`. Of `at` only the offset and the trials or exposure are used, not the
    /// label or weight.
    ///
    /// # Errors
    /// `Dimension`, `NonFinite`, `Entry` (a position); `Setting` for trials, exposure or offset; `Overflow` if the mean or the
    /// variance of the label is not finite.
    pub fn predict<'a>(
        &self,
        row: impl Into<Row<'a>>,
        at: Observation,
    ) -> Result<LabelPredicted<F::Likelihood>, ModelError> {
        let size = at.size(F::SIZE)?;
        predicted(&self.engine.family, self.engine.parts(row.into(), at.offset)?, size)
    }

    /// The prediction at `row`, as [`predict`](Self::predict) gives it, and then [`update`](Self::update): the same bits, and one
    /// product with the covariance serves both. The prediction is an error of its own where it cannot be computed though the row was
    /// learned.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    pub fn predict_and_update<'a>(
        &mut self,
        row: impl Into<Row<'a>>,
        label: impl Into<Observation>,
    ) -> Result<Result<LabelPredicted<F::Likelihood>, ModelError>, ModelError> {
        let (row, observed) = (row.into(), label.into());
        let size = observed.size(F::SIZE)?;
        let parts = self.engine.counted(|engine| engine.parts_and_update(row, observed.offset, observed))?;
        Ok(parts.and_then(|parts| predicted(&self.engine.family, parts, size)))
    }

    /// [`predict`](Self::predict) at each of many rows, each with its own offset and trials or exposure.
    ///
    /// # Errors
    /// Those of `predict`, naming the row; `Dimension` if the number of `at` is not that of the rows.
    pub fn predict_batch<'a>(
        &self,
        rows: impl Into<Rows<'a>>,
        at: &[Observation],
    ) -> Result<Vec<LabelPredicted<F::Likelihood>>, ModelError> {
        let mut memory = Vec::new();
        let rows = self.engine.rows(rows.into(), &mut memory)?;
        check::length("observations", rows.len(), at.len())?;
        rows.into_iter().zip(at).map(|(row, at)| self.predict(row, *at)).collect()
    }
}

/// The label where the members saw a row so.
pub(super) fn predicted<F: GlmFamily>(
    family: &F,
    of: Parts<F::State>,
    size: f64,
) -> Result<LabelPredicted<F::Likelihood>, ModelError> {
    let (mut seen, mut parts) = (Vec::with_capacity(of.len()), Vec::with_capacity(of.len()));
    for (weight, projection, state) in of {
        let likelihoods = family.likelihoods(&state, size)?;
        seen.push((weight, beside(projection, family.level(&state))));
        parts.extend(likelihoods.into_iter().map(|(share, likelihood)| (weight * share, projection, likelihood)));
    }
    LabelPredicted::new(&seen, parts)
}

impl<F: GlmFamily<State = ()>> OnlineGlm<F> {
    /// A model that starts from the posterior `learned` of another and can learn further rows.
    ///
    /// # Errors
    /// As [`with_settings`](Self::with_settings); [`ModelError::Unsupported`] for settings whose posterior is not one Gaussian;
    /// `Dimension`.
    pub fn from_gaussian(family: F, settings: OnlineSettings, learned: &OneGaussian) -> Result<Self, ModelError> {
        let inputs = learned.inputs(&settings);
        Ok(Self { engine: Engine::new(inputs, family, settings)?.with_gaussian(learned, &())? })
    }
}

impl OnlineGlm<LearnedSpread> {
    /// The posterior of the logarithm of the size: labels have the variance `m + m²/size` about their mean `m`.
    #[must_use]
    pub fn log_size(&self) -> Marginal {
        let sizes = self.engine.weights().into_iter().zip(&self.engine.members);
        Marginal::of_gaussians(&sizes.map(|(weight, member)| (weight, member.state.projection())).collect::<Vec<_>>())
    }
}

impl OnlineGlm<InflatedCounts> {
    /// The posterior of the logarithm of the size: labels that are no excess zeros have the variance `m + m²/size` about their mean `m`.
    #[must_use]
    pub fn log_size(&self) -> Marginal {
        self.number(0)
    }

    /// The posterior of the log odds of an excess zero, `log π/(1−π)`.
    #[must_use]
    pub fn logit_share(&self) -> Marginal {
        self.number(1)
    }

    fn number(&self, i: usize) -> Marginal {
        let seen = self.engine.weights().into_iter().zip(&self.engine.members);
        Marginal::of_gaussians(&seen.map(|(weight, member)| (weight, member.state.number(i))).collect::<Vec<_>>())
    }
}

front_door!(OnlineGlm<F: GlmFamily>, F);
one_predictor!(OnlineGlm<F: GlmFamily>);
one_gaussian!(OnlineGlm<F: GlmFamily<State = ()>>);
approximate!(OnlineGlm<F: GlmFamily>);
posterior!(OnlineGlm<F: GlmFamily>);
