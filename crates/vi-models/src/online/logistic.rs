//! Logistic regression, one row at a time.

use rand::Rng;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use vi_core::refine::{RefineInfo, RefineSettings};

use super::engine::{Engine, EngineWire, Parts};
use super::family::Logit;
use super::observation::Observation;
use super::posterior::Posterior;
use super::predicted::ProbabilityPredicted;
use super::{Coefficient, Draw, OneGaussian, OnlineInfo, OnlineSettings, Row, Rows};
use crate::{Marginal, ModelError};

/// Logistic regression on a stream of labels 0 and 1: it predicts probabilities with their uncertainty, and needs no tuning.
///
/// ```
/// use vi_models::online::OnlineLogistic;
/// let mut model = OnlineLogistic::new(2)?;
/// for (x, y) in [([0.2, 3.1], 1.0), ([1.3, -0.2], 0.0), ([0.4, 2.2], 1.0), ([1.1, 0.3], 0.0)] {
///     model.update(&x, y)?;
/// }
/// let seen = model.predict(&[0.3, 2.8])?;
/// assert!(seen.probability > 0.5 && seen.interval(0.9)?.lower < seen.probability);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone)]
pub struct OnlineLogistic {
    engine: Engine<Logit>,
}

impl OnlineLogistic {
    /// A model of `inputs` columns with default settings.
    ///
    /// # Errors
    /// As [`with_settings`](Self::with_settings).
    pub fn new(inputs: usize) -> Result<Self, ModelError> {
        Self::with_settings(inputs, OnlineSettings::default())
    }

    /// A model of `inputs` columns.
    ///
    /// # Errors
    /// `Setting`, `Empty` and `Dimension` for invalid settings.
    pub fn with_settings(inputs: usize, settings: OnlineSettings) -> Result<Self, ModelError> {
        Ok(Self { engine: Engine::new(inputs, Logit, settings)? })
    }

    /// A model that starts from the posterior `learned` of another and can learn further rows.
    ///
    /// # Errors
    /// As [`with_settings`](Self::with_settings); [`ModelError::Unsupported`] for settings whose posterior is not one Gaussian;
    /// `Dimension`.
    pub fn from_gaussian(settings: OnlineSettings, learned: &OneGaussian) -> Result<Self, ModelError> {
        let inputs = learned.inputs(&settings);
        Ok(Self { engine: Engine::new(inputs, Logit, settings)?.with_gaussian(learned, &())? })
    }

    /// The predictive probability of label 1 at `row`, with its uncertainty.
    ///
    /// # Errors
    /// `Dimension`, `NonFinite`, `Entry` (a position).
    pub fn predict<'a>(&self, row: impl Into<Row<'a>>) -> Result<ProbabilityPredicted, ModelError> {
        self.predict_at(row, 0.0)
    }

    /// As [`predict`](Self::predict), with a known part of the log odds added.
    ///
    /// # Errors
    /// As [`predict`](Self::predict).
    pub fn predict_at<'a>(&self, row: impl Into<Row<'a>>, offset: f64) -> Result<ProbabilityPredicted, ModelError> {
        Ok(ProbabilityPredicted::new(&self.engine.project(row.into(), offset)?))
    }

    /// The prediction at `row`, as [`predict_at`](Self::predict_at) gives it, and then [`update`](Self::update): the same bits, and one
    /// product with the covariance serves both. The prediction is an error of its own where it cannot be computed though the row was
    /// learned.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    pub fn predict_and_update<'a>(
        &mut self,
        row: impl Into<Row<'a>>,
        label: impl Into<Observation>,
    ) -> Result<Result<ProbabilityPredicted, ModelError>, ModelError> {
        let (row, observed) = (row.into(), label.into());
        let parts = self.engine.counted(|engine| engine.parts_and_update(row, observed.offset, observed))?;
        let seen = |parts: Parts<()>| parts.into_iter().map(|(share, seen, ())| (share, seen)).collect::<Vec<_>>();
        Ok(parts.map(|parts| ProbabilityPredicted::new(&seen(parts))))
    }
}

front_door!(OnlineLogistic, Logit);
one_predictor!(OnlineLogistic);
one_gaussian!(OnlineLogistic);
predicts_batches!(OnlineLogistic, ProbabilityPredicted);
approximate!(OnlineLogistic);
posterior!(OnlineLogistic);
