//! Logistic regression, one row at a time.

use rand::Rng;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use vi_core::refine::{RefineInfo, RefineSettings};

use super::engine::{Engine, EngineWire};
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

    /// The posterior of the model as one Gaussian. With a square-root belief it costs `p³` flops for `p` weights.
    ///
    /// # Errors
    /// [`ModelError::Unsupported`] for a model whose posterior is not one Gaussian in the units of the inputs: one whose prior
    /// scale is not given, or that standardises, forgets, or has no full covariance.
    pub fn gaussian(&self) -> Result<OneGaussian, ModelError> {
        self.engine.gaussian()
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

    /// A draw of the weights from the posterior, for Thompson sampling: act as if it were the truth. With a full covariance a
    /// draw costs `p³/3` flops for `p` weights, with another kind of belief as much as a row.
    ///
    /// # Errors
    /// `NotPositiveDefinite` if rounding has left the covariance indefinite; `Overflow` if a weight is not finite.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> Result<Draw, ModelError> {
        Draw::new(&self.engine.design, &self.engine.draw_member(rng).draw(1.0, rng)?).finite()
    }

    /// A draw of the label at `row`.
    ///
    /// # Errors
    /// As [`predict`](Self::predict).
    pub fn sample_label<'a, R: Rng + ?Sized>(&self, row: impl Into<Row<'a>>, rng: &mut R) -> Result<f64, ModelError> {
        self.sample_label_at(row, 0.0, rng)
    }

    /// As [`sample_label`](Self::sample_label), with a known part of the log odds added.
    ///
    /// # Errors
    /// As [`predict`](Self::predict), and `Setting` for an offset that is not finite.
    ///
    /// ```
    /// use rand::SeedableRng;
    /// use vi_models::online::OnlineLogistic;
    /// let model = OnlineLogistic::new(1)?;
    /// let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    /// assert_eq!(model.sample_label_at(&[0.5], 1e6, &mut rng)?, 1.0);
    /// assert!(model.sample_label_at(&[0.5], f64::NAN, &mut rng).is_err());
    /// # Ok::<(), vi_models::ModelError>(())
    /// ```
    pub fn sample_label_at<'a, R: Rng + ?Sized>(
        &self,
        row: impl Into<Row<'a>>,
        offset: f64,
        rng: &mut R,
    ) -> Result<f64, ModelError> {
        Ok(self.predict_at(row, offset)?.draw_label(rng))
    }
}

front_door!(OnlineLogistic, Logit);
one_predictor!(OnlineLogistic);
predicts_batches!(OnlineLogistic, ProbabilityPredicted);
approximate!(OnlineLogistic);
posterior!(OnlineLogistic);
