//! Generalised linear mixed models: classes and counts with groups.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use vi_core::special::{normal_quantile, sigmoid};
use vi_core::{Health, Projection};
use vi_linalg::faer::Par;

use super::answers::{Component, GroupEffects};
use super::engine::{Engine, Priors};
use super::grouped_model;
use super::prior::ComponentPrior;
use super::settings::GroupedSettings;
use super::stored::EngineWire;
use crate::online::family::GlmFamily;
use crate::online::glm::predicted;
use crate::online::predicted::LabelPredicted;
use crate::online::{Coefficient, Draw, Observation, Row, Rows};
use crate::{Interval, Marginal, ModelError, check};

/// The deviation of components below which they are taken as known after a refinement.
const KNOWN: f64 = 0.01;

/// A generalised linear model with effects for each group that learns from a stream, of the family `F`.
///
/// The first rows, up to 5000 or 100,000 numbers, are fitted together with the components of variance; later rows are learned once each, and
/// the components are found from a sample of whole groups of six times as many rows. With `keep_rows` [`refine`](Self::refine) sweeps over all rows.
///
/// ```
/// use vi_models::online::{GroupedGlm, Observation, family::Trials};
/// // Herds of cattle: new cases among those at risk (three of lme4's cbpp).
/// let herds = [(1, 2.0, 14.0), (1, 3.0, 12.0), (1, 4.0, 9.0), (2, 3.0, 22.0), (2, 1.0, 18.0), (3, 8.0, 22.0), (3, 2.0, 16.0)];
/// let mut model = GroupedGlm::new(0, Trials)?;
/// for (herd, cases, size) in herds {
///     model.update(&[], herd, Observation::new(cases).trials(size))?;
/// }
/// let next = Observation::new(0.0).trials(20.0);
/// assert!(model.predict(&[], Some(1), next)?.mean > model.predict(&[], Some(2), next)?.mean);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone)]
pub struct GroupedGlm<F: GlmFamily<State = ()>> {
    engine: Engine<F>,
}

impl<F: GlmFamily<State = ()>> GroupedGlm<F> {
    /// A model of `inputs` columns with an intercept for each group.
    ///
    /// # Errors
    /// As [`with_settings`](Self::with_settings).
    pub fn new(inputs: usize, family: F) -> Result<Self, ModelError> {
        Self::with_settings(inputs, family, GroupedSettings::default())
    }

    /// A model of `inputs` columns.
    ///
    /// # Errors
    /// `Setting`, `Empty`, `Index`, `Entry`, `Dimension` and `Name` for invalid settings.
    pub fn with_settings(inputs: usize, family: F, settings: GroupedSettings) -> Result<Self, ModelError> {
        let priors = Self::priors(&settings);
        Ok(Self { engine: Engine::new(inputs, family, priors, settings)? })
    }

    /// On the scale of the predictor.
    fn priors(settings: &GroupedSettings) -> Priors {
        let components = ComponentPrior { centre: 0.5, spread: 1.5 };
        Priors { components, scale: settings.prior_scale.unwrap_or(5.0), intercept: 5.0 }
    }

    /// The family of the labels.
    #[must_use]
    pub fn family(&self) -> &F {
        &self.engine.family
    }

    /// The predictive distribution of the label at `row` in a group; `None` is a new group. Of `at` only the offset and the trials or exposure
    /// are used.
    ///
    /// # Errors
    /// `Dimension`, `NonFinite`, `Entry` (a position); `Setting` for trials, exposure or offset; `Overflow`.
    pub fn predict<'a>(
        &self,
        row: impl Into<Row<'a>>,
        group: impl Into<Option<u64>>,
        at: Observation,
    ) -> Result<LabelPredicted<F::Likelihood>, ModelError> {
        let size = at.size(F::SIZE)?;
        predicted(&self.engine.family, self.engine.parts(row.into(), group.into(), at.offset)?, size)
    }

    /// The projections of a row at the peak and at the nodes, with their shares.
    pub(super) fn seen(
        &self,
        row: Row<'_>,
        group: Option<u64>,
        offset: f64,
    ) -> Result<Vec<(f64, Projection)>, ModelError> {
        let parts = self.engine.parts(row, group, offset)?;
        Ok(parts.into_iter().map(|(share, seen, ())| (share, seen)).collect())
    }

    /// Fits the first rows together, while they are still being gathered.
    pub(super) fn catch_up(&mut self) {
        if !self.engine.fixed && !self.engine.rows.is_empty() {
            self.engine.grow();
        }
    }

    /// Sweeps over all kept rows, in turns with the components of variance, until neither moves: expectation propagation.
    ///
    /// # Errors
    /// [`ModelError::NotKept`] unless the rows are kept, by the settings or as first rows; `NotPositiveDefinite`, `Overflow`. The model is
    /// then as it was.
    pub fn refine(&mut self) -> Result<(), ModelError> {
        if self.engine.rows.len() as u64 != self.engine.observations {
            return Err(ModelError::NotKept);
        }
        self.sweeps((60, 30), 1e-5).map(drop)
    }

    /// Searches for the components and sweeps before each, no more than `most` of both. Returns whether the components rest; on an error the model is
    /// unchanged.
    fn sweeps(&mut self, most: (usize, usize), tolerance: f64) -> Result<bool, ModelError> {
        let before = self.engine.clone();
        let refined = self.engine.sweeps(most, tolerance, KNOWN);
        if refined.is_err() {
            self.engine = before;
        }
        refined
    }

    /// Refines by the rows, if all are kept, to a hundredth of their deviations, and then keeps them no longer. Returns the sweeps that it took,
    /// the nats of evidence that it gained, and whether it came to rest; none where it could not refine.
    pub(super) fn settle(&mut self) -> Option<(usize, f64, bool)> {
        let kept = self.engine.rows.len() as u64 == self.engine.observations && !self.engine.rows.is_empty();
        let (before, swept) = (self.engine.evidence, self.engine.work.sweeps);
        let rests = if kept { self.sweeps((20, 10), 1e-2).ok() } else { None };
        self.engine.settings.keep_rows = false;
        if self.engine.fixed {
            self.engine.rows = Vec::new();
        }
        rests.map(|rests| (self.engine.work.sweeps - swept, self.engine.evidence - before, rests))
    }

    /// The components of variance: standard deviations of the effects on the scale of the predictor for each unit of the inputs, and their
    /// correlations.
    ///
    /// # Errors
    /// `NotPositiveDefinite`, `Overflow`.
    pub fn components(&self) -> Result<Vec<Component>, ModelError> {
        self.engine.components(0.0)
    }

    /// The intraclass correlation on the scale of the predictor, for a label with the variance `within` about it there (`π²/3` for logits, 1
    /// for probits), and its interval of probability `level`. `None` for other effects than one intercept.
    ///
    /// # Errors
    /// `Setting` unless `within > 0` and `0 < level < 1`.
    pub fn intraclass_correlation(&self, within: f64, level: f64) -> Result<Option<(f64, Interval)>, ModelError> {
        check::positive("variance within a group", within)?;
        on_logit_scale(self.engine.intraclass(within), level)
    }
}

/// A share with the interval whose ends are as far away on the logit scale.
pub(super) fn on_logit_scale(found: Option<(f64, f64)>, level: f64) -> Result<Option<(f64, Interval)>, ModelError> {
    check::probability("level", level)?;
    let away = normal_quantile(0.5 + 0.5 * level);
    Ok(found.map(|(share, deviation)| {
        let at = |sign: f64| sigmoid((share / (1.0 - share)).ln() + sign * away * deviation);
        (share, Interval { lower: at(-1.0), upper: at(1.0) })
    }))
}

grouped_model!(GroupedGlm<F: GlmFamily<State = ()>>, F);
