//! The linear mixed model: numbers with groups.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use vi_core::Health;
use vi_linalg::faer::Par;

use super::answers::{Component, GroupEffects};
use super::engine::{Engine, Priors};
use super::grouped_model;
use super::place::EXACT;
use super::prior::ComponentPrior;
use super::settings::{Components, GroupedSettings};
use super::stored::EngineWire;
use crate::gamma::trigamma;
use crate::linear::NoisePrecision;
use crate::online::engine::Stateful;
use crate::online::linear::Linear;
use crate::online::{Coefficient, Draw, NumberPredicted, Observation, OnlineLinear, Row, Rows};
use crate::{Interval, Marginal, ModelError, Transform};

/// Linear regression with effects for each group and unknown noise, on a stream: the posterior given the components of variance is exact.
///
/// ```text
/// y = intercept + xᵀw + zᵀu_g + N(0, σ²/weight),   u_g | σ² ~ N(0, σ²Σ),   1/σ² ~ Gamma(a₀, b₀)
/// ```
///
/// ```
/// use vi_models::online::{GroupedLinear, GroupedSettings};
/// // Yields of six batches (Dyestuff, Davies and Goldsmith 1972).
/// let yields = [
///     [1545.0, 1440.0, 1440.0, 1520.0, 1580.0], [1540.0, 1555.0, 1490.0, 1560.0, 1495.0], [1595.0, 1550.0, 1605.0, 1510.0, 1560.0],
///     [1445.0, 1440.0, 1595.0, 1465.0, 1545.0], [1595.0, 1630.0, 1515.0, 1635.0, 1625.0], [1520.0, 1455.0, 1450.0, 1480.0, 1445.0],
/// ];
/// let mut model = GroupedLinear::new(0)?;
/// for (batch, yields) in yields.iter().enumerate() {
///     for y in yields {
///         model.update(&[], batch as u64, *y)?;
///     }
/// }
/// let between = &model.components()?[0];
/// assert!(between.name == "sd(intercept)" && between.interval(0.9)?.contains(42.0));
/// let (known, new) = (model.predict(&[], Some(4))?, model.predict(&[], None)?);
/// assert!(known.mean() > 1560.0 && new.expectation.standard_deviation() > known.expectation.standard_deviation());
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone)]
pub struct GroupedLinear {
    pub(super) engine: Engine<Linear>,
}

impl GroupedLinear {
    /// A model of `inputs` columns with an intercept for each group.
    ///
    /// # Errors
    /// As [`with_settings`](Self::with_settings).
    pub fn new(inputs: usize) -> Result<Self, ModelError> {
        Self::with_settings(inputs, GroupedSettings::default())
    }

    /// A model of `inputs` columns.
    ///
    /// # Errors
    /// `Setting`, `Empty`, `Index`, `Entry`, `Dimension` and `Name` for invalid settings.
    pub fn with_settings(inputs: usize, settings: GroupedSettings) -> Result<Self, ModelError> {
        Self::of_transform(inputs, Transform::Identity, settings)
    }

    /// A model of a transform of the label, which answers for the label itself.
    ///
    /// # Errors
    /// As [`with_settings`](Self::with_settings).
    pub fn of_transform(inputs: usize, transform: Transform, settings: GroupedSettings) -> Result<Self, ModelError> {
        // The optimum is that of REML, which has no prior of the noise.
        let (shape, rate) = match settings.components {
            Components::Averaged => OnlineLinear::DEFAULT_NOISE,
            Components::Optimum => (1e-9, 1e-12),
        };
        let columns = inputs + usize::from(settings.intercept);
        let flat = if settings.prior_scale.is_none() { columns } else { usize::from(settings.intercept) };
        let (family, priors) = (Linear::flat(shape, rate, flat, transform), Self::priors(&settings));
        Ok(Self { engine: Engine::new(inputs, family, priors, settings)? })
    }

    /// The transform of the label that is learned.
    #[must_use]
    pub fn transform(&self) -> Transform {
        self.engine.columns.design.target.transform
    }

    /// In units of the noise.
    fn priors(settings: &GroupedSettings) -> Priors {
        let components = ComponentPrior { centre: 0.5, spread: 1.5 };
        Priors { components, scale: settings.prior_scale.unwrap_or(1e3), intercept: 1e3 }
    }

    /// The predictive distribution of the label at `row` in a group; `None` is a new group.
    ///
    /// # Errors
    /// `Dimension`, `NonFinite`, `Entry` (a position); `Overflow`.
    pub fn predict<'a>(
        &self,
        row: impl Into<Row<'a>>,
        group: impl Into<Option<u64>>,
    ) -> Result<NumberPredicted, ModelError> {
        self.predict_at(row, group, 0.0)
    }

    /// As [`predict`](Self::predict), with a known part of the label added.
    ///
    /// # Errors
    /// As [`predict`](Self::predict), and `Setting` for the offset.
    pub fn predict_at<'a>(
        &self,
        row: impl Into<Row<'a>>,
        group: impl Into<Option<u64>>,
        offset: f64,
    ) -> Result<NumberPredicted, ModelError> {
        crate::online::engine::check_offset(offset)?;
        let parts = self.engine.parts(row.into(), group.into(), 0.0)?;
        self.engine.family.number(&parts, self.engine.columns.design.target, offset)
    }

    /// Finds the components of variance for the rows so far, exactly, rather than at the next search.
    ///
    /// # Errors
    /// `NotPositiveDefinite`, `Overflow`; the model is then as it was.
    pub fn refine(&mut self) -> Result<(), ModelError> {
        self.engine.place(EXACT)
    }

    /// The components for all rows so far.
    ///
    /// # Errors
    /// Those of the search; the model is then as it was.
    pub(super) fn catch_up(&mut self) -> Result<(), ModelError> {
        if self.engine.observations > 0 { self.engine.place(1e-6) } else { Ok(()) }
    }

    /// The posterior of the noise, `1/σ² ~ Gamma(shape, rate)` in the units of the label, at the peak of that of the components.
    ///
    /// # Errors
    /// `Setting` for a rate that is not a positive float.
    pub fn noise(&self) -> Result<NoisePrecision, ModelError> {
        let (noise, unit) = (self.engine.state.precision(), self.engine.columns.design.target.scale);
        NoisePrecision::new(noise.shape(), noise.rate() * unit * unit)
    }

    /// The components of variance: standard deviations of the effects in the units of the label and the inputs, and their correlations.
    /// Cost that of a few searches' steps.
    ///
    /// # Errors
    /// `NotPositiveDefinite`, `Overflow`.
    pub fn components(&self) -> Result<Vec<Component>, ModelError> {
        // log σ = −½ log τ, and the variance of log τ is ψ′(a).
        self.engine.components(0.25 * trigamma(self.engine.state.precision().shape()))
    }

    /// The intraclass correlation: the correlation of two labels of one group at the same inputs, and its interval of probability `level`.
    /// `None` for other effects than one intercept.
    ///
    /// # Errors
    /// `Setting` unless `0 < level < 1`.
    pub fn intraclass_correlation(&self, level: f64) -> Result<Option<(f64, Interval)>, ModelError> {
        super::glm::on_logit_scale(self.engine.intraclass(1.0), level)
    }

    /// Twice the negative log of the restricted likelihood at the components as they stand, as lme4 reports it for rows of weight 1 (`p` weights
    /// of a prior that is all but flat, `n` rows).
    ///
    /// # Errors
    /// `NotPositiveDefinite` where the rows do not determine the weights.
    pub fn reml_criterion(&self) -> Result<f64, ModelError> {
        self.engine.reml()
    }
}

impl Engine<Linear> {
    /// `−2 log` of the restricted likelihood with the noise variance at its maximum:
    ///
    /// ```text
    /// Σ log|D_g| + log|S| + (n − p)·(1 + log(2π·RSS/(n − p)))
    /// ```
    ///
    /// in the label's units and the columns', `RSS` being twice the rate of the noise without its prior.
    pub(super) fn reml(&self) -> Result<f64, ModelError> {
        let flat = vec![f64::INFINITY; self.belief.dim()];
        let solution = self.belief.solve(&flat, self.belief.root().as_ref(), self.par)?;
        let standing = self.standing()?;
        let (_, state) = self.family.rescale(&self.state, 0.0, 2.0 * (standing.1 - solution.quadratic));
        let initial = self.family.initial();
        let left = self.observations as f64 - self.belief.dim() as f64;
        let rates = state.precision().rate() - initial.precision().rate();
        let squares = 2.0 * rates * self.unit() * self.unit();
        let scales: f64 = self.columns.design.scales.iter().map(|scale| scale.ln()).sum();
        let determinant = -2.0 * solution.log_det + 2.0 * scales;
        Ok(determinant + left * (1.0 + (2.0 * std::f64::consts::PI * squares / left).ln()))
    }
}

grouped_model!(GroupedLinear, Linear);
