//! A grouped model whose kind of labels is a value.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use vi_core::{Error, Row, Rows};
use vi_linalg::faer::Par;

use super::answers::{Component, GroupEffects};
use super::settings::{Components, Effects, GroupedSettings};
use super::{GroupedGlm, GroupedLinear};
use crate::online::family::{Counts, Logit};
use crate::online::observation::Size;
use crate::online::predicted::ProbabilityPredicted;
use crate::online::{
    Advice, BeliefKind, Coefficient, Draw, Kind, Memory, Observation, OnlineInfo, OnlineLinear, OnlineSettings,
    Prediction, PriorScale,
};
use crate::{Interval, Marginal, ModelError};

/// The log odds of a label behind which the logistic distribution lies, by their variance `π²/3`.
const OF_LOGIT: f64 = std::f64::consts::PI * std::f64::consts::PI / 3.0;

/// A model with effects for each group, of numbers, their transforms, two classes or counts: [`GroupedLinear`] or [`GroupedGlm`] for whoever
/// holds one without knowing which. The group of a row is that of its [`Observation`].
///
/// ```
/// use vi_models::online::{Effects, Kind, Model, Observation, Row};
/// let kind = Kind::Count;
/// let mut model = Model::grouped(kind, 0, Effects::default(), &kind.default_settings())?;
/// for t in 0..60 {
///     model.update(Row::Dense(&[]), Observation::new(f64::from(t % 3) + f64::from(t % 2)).group(t as u64 % 3))?;
/// }
/// let seen = |group| model.predict(Row::Dense(&[]), Observation::new(0.0).group(group));
/// assert!(seen(2)?.mean() > seen(0)?.mean());
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone)]
pub struct OnlineGrouped {
    settings: OnlineSettings,
    labels: Labels,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
enum Labels {
    Number(GroupedLinear),
    Two(GroupedGlm<Logit>),
    Count(GroupedGlm<Counts>),
}

/// `$body` with the model as `$own`, whatever its labels; or one body for numbers and one for the others.
macro_rules! each {
    ($labels:expr, $own:ident => $body:expr) => { each!($labels, $own => $body, $own => $body) };
    ($labels:expr, $linear:ident => $number:expr, $own:ident => $one:expr) => {
        match $labels {
            Labels::Number($linear) => $number,
            Labels::Two($own) => $one,
            Labels::Count($own) => $one,
        }
    };
}

/// # Errors
/// `Unsupported`, always.
fn refused<T>(what: &'static str) -> Result<T, ModelError> {
    Err(ModelError::Unsupported { what })
}

/// # Errors
/// `Empty` without a group.
fn with_group(observed: Observation) -> Result<(u64, Observation), Error> {
    let (group, observed) = observed.without_group();
    Ok((group.ok_or(Error::Empty { argument: "group" })?, observed))
}

impl OnlineGrouped {
    /// A model with nothing learned; see [`Model::grouped`](crate::online::Model::grouped).
    pub(in crate::online) fn new(
        kind: Kind,
        inputs: usize,
        effects: Effects,
        settings: &OnlineSettings,
    ) -> Result<Self, ModelError> {
        let prior_scale = match settings.prior_scale {
            PriorScale::Learned => None,
            PriorScale::Given(scale) => Some(scale),
            PriorScale::Among(_) => return refused("several prior scales of a model of groups"),
        };
        if settings.memory != Memory::Everything {
            return refused("memory that fades of a model of groups");
        }
        if settings.belief != BeliefKind::Full {
            return refused("belief of a model of groups other than the full covariance");
        }
        let own = GroupedSettings {
            effects,
            components: Components::default(),
            intercept: settings.intercept,
            prior_scale,
            standardise: settings.standardise.clone(),
            keep_rows: settings.keep_rows,
            names: settings.names.clone(),
        };
        Ok(Self::of(match kind {
            Kind::Number { transform, .. } => Labels::Number(GroupedLinear::of_transform(inputs, transform, own)?),
            Kind::Two => Labels::Two(GroupedGlm::with_settings(inputs, Logit, own)?),
            Kind::Count => Labels::Count(GroupedGlm::with_settings(inputs, Counts, own)?),
            _ => {
                return refused(
                    "model of groups of this family: gaussian, log-normal, logit-normal, poisson and two classes are",
                );
            }
        }))
    }

    fn of(labels: Labels) -> Self {
        let own = each!(&labels, own => own.settings());
        let settings = OnlineSettings {
            intercept: own.intercept,
            prior_scale: own.prior_scale.map_or(PriorScale::Learned, PriorScale::Given),
            standardise: own.standardise.clone(),
            keep_rows: own.keep_rows,
            names: own.names.clone(),
            ..OnlineSettings::default()
        };
        Self { settings, labels }
    }

    pub(in crate::online) fn emptied(&self) -> Result<Self, ModelError> {
        Self::new(self.kind(), self.inputs(), self.effect_settings().clone(), &self.settings)
    }

    /// The kind of the labels.
    #[must_use]
    pub fn kind(&self) -> Kind {
        let noise = OnlineLinear::DEFAULT_NOISE;
        match &self.labels {
            Labels::Number(model) => Kind::Number { noise, transform: model.transform() },
            Labels::Two(_) => Kind::Two,
            Labels::Count(_) => Kind::Count,
        }
    }

    /// Which weights differ from group to group.
    pub(crate) fn effect_settings(&self) -> &Effects {
        each!(&self.labels, own => &own.settings().effects)
    }

    /// The names of the inputs whose weights each group has for itself.
    pub fn slope_names(&self) -> impl Iterator<Item = String> {
        let name = |j: &usize| self.settings.names.get(*j).cloned().unwrap_or_else(|| format!("x{j}"));
        self.effect_settings().slopes.iter().map(name)
    }

    /// The keys of the groups, in the order of their first rows.
    #[must_use]
    pub fn groups(&self) -> &[u64] {
        each!(&self.labels, own => own.groups())
    }

    /// The effects of a group; those of the prior for a new one.
    ///
    /// # Errors
    /// `Overflow`.
    pub fn effects(&self, group: u64) -> Result<GroupEffects, ModelError> {
        each!(&self.labels, own => own.effects(group))
    }

    /// The posterior of `Σ c_j·w_j`, with the contribution of a group's effects at a row if these are given: see
    /// [`GroupedLinear::contribution`].
    ///
    /// # Errors
    /// `Dimension`, `NonFinite`, `Entry` (a position); `Overflow`.
    pub fn contribution(&self, c: Row<'_>, of: Option<(Row<'_>, u64)>) -> Result<Marginal, ModelError> {
        each!(&self.labels, own => own.contribution(c, of))
    }

    /// The components of variance: standard deviations of the effects, and their correlations.
    ///
    /// # Errors
    /// `NotPositiveDefinite`, `Overflow`.
    pub fn components(&self) -> Result<Vec<Component>, ModelError> {
        each!(&self.labels, own => own.components())
    }

    /// The intraclass correlation and its interval of probability `level`, of two classes that of the log odds; `None` for counts, and for other
    /// effects than one intercept.
    ///
    /// # Errors
    /// `Setting` unless `0 < level < 1`.
    pub fn intraclass_correlation(&self, level: f64) -> Result<Option<(f64, Interval)>, ModelError> {
        match &self.labels {
            Labels::Number(model) => model.intraclass_correlation(level),
            Labels::Two(model) => model.intraclass_correlation(OF_LOGIT, level),
            Labels::Count(_) => Ok(None),
        }
    }

    /// The standard deviation of the noise of numbers, or of their transform, within a group.
    #[must_use]
    pub fn noise_deviation(&self) -> Option<f64> {
        matches!(self.labels, Labels::Number(_)).then(|| self.prior_unit())
    }

    pub(in crate::online) fn inputs(&self) -> usize {
        each!(&self.labels, own => own.inputs())
    }

    pub(in crate::online) fn input_scales(&self) -> Option<&[f64]> {
        each!(&self.labels, own => own.input_scales())
    }

    pub(in crate::online) fn settings(&self) -> &OnlineSettings {
        &self.settings
    }

    pub(in crate::online) fn prior_unit(&self) -> f64 {
        each!(&self.labels, own => own.noise().map_or(1.0, |noise| (noise.rate() / noise.shape()).sqrt()), _own => 1.0)
    }

    pub(in crate::online) fn update(&mut self, row: Row<'_>, observed: Observation) -> Result<(), ModelError> {
        let (group, observed) = with_group(observed)?;
        each!(&mut self.labels, own => own.update(row, group, observed))
    }

    pub(in crate::online) fn update_batch(
        &mut self,
        rows: Rows<'_>,
        observed: &[Observation],
    ) -> Result<(), ModelError> {
        let split = observed.iter().enumerate().map(|(i, own)| with_group(*own).map_err(|error| error.at_row(i)));
        let (groups, observed): (Vec<u64>, Vec<Observation>) =
            split.collect::<Result<Vec<_>, Error>>()?.into_iter().unzip();
        each!(&mut self.labels, own => own.update_batch(rows, &groups, &observed, Par::Seq))
    }

    pub(in crate::online) fn predict(&self, row: Row<'_>, at: Observation) -> Result<Prediction, ModelError> {
        let (group, at) = at.without_group();
        if !matches!(self.labels, Labels::Count(_)) {
            at.size(Size::None)?;
        }
        Ok(match &self.labels {
            Labels::Number(model) => Prediction::Number(model.predict_at(row, group, at.offset)?),
            Labels::Two(model) => Prediction::Two(ProbabilityPredicted::new(&model.seen(row, group, at.offset)?)),
            Labels::Count(model) => Prediction::Count(model.predict(row, group, at)?),
        })
    }

    pub(in crate::online) fn predictor(
        &self,
        row: Row<'_>,
        group: Option<u64>,
        offset: f64,
    ) -> Result<Marginal, ModelError> {
        each!(&self.labels, own => own.predictor(row, group, offset))
    }

    pub(in crate::online) fn weights(&self) -> Draw {
        each!(&self.labels, own => own.weights())
    }

    pub(in crate::online) fn coefficients(&self) -> Result<Vec<Coefficient>, ModelError> {
        each!(&self.labels, own => own.coefficients())
    }

    pub(in crate::online) fn combination(&self, c: Row<'_>) -> Result<Marginal, ModelError> {
        self.contribution(c, None)
    }

    pub(in crate::online) fn evidence(&self) -> f64 {
        each!(&self.labels, own => own.evidence())
    }

    pub(in crate::online) fn observations(&self) -> u64 {
        each!(&self.labels, own => own.observations())
    }

    pub(in crate::online) fn info(&self) -> OnlineInfo {
        let scale = each!(&self.labels, own => own.common_scale());
        let health = each!(&self.labels, own => own.health());
        OnlineInfo {
            observations: self.observations(),
            evidence: self.evidence(),
            prior_scales: vec![(scale, 1.0)],
            prior_scale: scale,
            block_scales: Vec::new(),
            block_freedom: Vec::new(),
            memories: vec![(1.0, 1.0)],
            last_change: None,
            forgetting_held: 0,
            failed_fits: 0,
            failed_moves: each!(&self.labels, own => own.fallbacks()),
            constant_columns: each!(&self.labels, own => own.constant_columns()).to_vec(),
            warming_up: each!(&self.labels, own => own.is_warming_up()),
            k_hat: None,
            effective_share: None,
            health,
            owed: 0.0,
            likelier_scale: None,
            refused: each!(&self.labels, own => own.refused()),
            order: None,
            advice: match &self.labels {
                _ if !health.is_good() => Advice::FewDigits,
                Labels::Number(_) => Advice::Exact,
                _ => Advice::KeepRows,
            },
        }
    }

    /// Whether [`catch_up`](Self::catch_up) could change an answer.
    pub(in crate::online) fn is_behind(&self) -> bool {
        each!(&self.labels, own => own.observations() > 0, own => own.is_warming_up())
    }

    /// Fits first rows together; of numbers the components of variance to all rows.
    pub(in crate::online) fn catch_up(&mut self) -> Result<(), ModelError> {
        match &mut self.labels {
            Labels::Number(model) => model.catch_up()?,
            Labels::Two(model) => model.catch_up(),
            Labels::Count(model) => model.catch_up(),
        }
        Ok(())
    }

    /// A model of the same settings with nothing learned, that keeps its rows until it is [settled](Self::settle).
    ///
    /// # Errors
    /// None for a model that was made by its constructor.
    pub fn keeping_rows(&self) -> Result<Self, ModelError> {
        let settings = OnlineSettings { keep_rows: true, ..self.settings.clone() };
        Self::new(self.kind(), self.inputs(), self.effect_settings().clone(), &settings)
    }

    /// Refines a model of classes or counts by its rows, if it keeps them, and then keeps them no longer. Returns the sweeps over the rows, the nats
    /// of evidence gained, and whether the components came to rest; none for numbers, which are exact, and where no refinement was possible, and the model is then what one pass has made.
    pub fn settle(&mut self) -> Option<(usize, f64, bool)> {
        self.settings.keep_rows = false;
        match &mut self.labels {
            Labels::Number(_) => None,
            Labels::Two(model) => model.settle(),
            Labels::Count(model) => model.settle(),
        }
    }
}

impl Serialize for OnlineGrouped {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.labels.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for OnlineGrouped {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Labels::deserialize(deserializer).map(Self::of)
    }
}
