//! Linear regression whose noise follows the inputs: one predictor of the label, one of the logarithm of its spread.

mod left_out;
mod log_scale;
mod of_spread;

use rand::Rng;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use vi_core::batch::{BatchInfo, BatchSettings};
use vi_core::refine::{RefineInfo, RefineSettings};
use vi_core::{Error, Projection};

use self::log_scale::{FARTHEST, LogScale};
use self::of_spread::{chosen, of_spread};
use super::engine::{Engine, EngineWire, Kept, Parts, check_offset};
use super::linear::NumberPredicted;
use super::observation::{Given, Observation, Size};
use super::robust::Robust;
use super::robust::noise::Noise;
use super::row::check_row;
use super::{Coefficient, Draw, OnlineInfo, OnlineSettings, Row, Rows};
use crate::{Marginal, ModelError, Transform};

/// The prior deviation of the intercept of the log spread: small, since the scale of the noise sets the level.
const LEVEL: f64 = 1e-3;
/// The distance of an input from its mean, in deviations of the first rows, beyond which the spread stays as it is there.
const REACH: f64 = 10.0;

/// Linear regression on a stream whose noise has heavy tails and a spread that follows the inputs.
///
/// ```text
/// y = η₁ + s·e^η₂·ε,   η₁ = intercept + xᵀw,   η₂ = (x − x̄)ᵀγ (xᵀγ of inputs that are not standardised),   ε ~ Student-t of k degrees of freedom
/// ```
///
/// Fisher's information between location and log spread is 0, so each has a belief of its own, and a row is one site for each: with the
/// predictors `N(a₁, ν₁)` and `N(a₂, ν₂)` before the row, `w` takes the label as [`OnlineRobust`](super::OnlineRobust) does with noise of scale
/// `s·e^a₂`, and `γ` the moments of `p(r | η₂)`, `r = y − a₁`, with `η₁` and `ε` integrated out. The prior scales of `γ` are always learned, one for each block of
/// inputs; where nothing varies, `γ` shrinks to 0 and the noise is that of `OnlineRobust`. Inputs more than 10 deviations of the first rows from `x̄` have the spread of the nearest that
/// are not; `|η₂|` is at most 8. With [`spread_inputs`](OnlineSettings::spread_inputs) `η₂` follows these alone. Predictions average over `η₂`. Cost: some twice that of
/// `OnlineRobust`. A full covariance is needed.
///
/// ```
/// use vi_models::online::OnlineVarying;
/// let mut model = OnlineVarying::new(1)?;
/// for t in 0..300 {
///     let x = f64::from(t % 10) / 9.0;
///     let sign = [1.0, -1.0, 0.3, -0.4, 0.7][t as usize % 5];
///     model.update(&[x], 2.0 * x + sign * (0.1 + x))?;
/// }
/// let [near, far] = [0.0, 1.0].map(|x| model.predict(&[x]).unwrap().standard_deviation());
/// assert!(far > 3.0 * near);
/// assert!(model.spread_coefficients()?[1].belief.mean() > 1.0);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone)]
pub struct OnlineVarying {
    engine: Engine<Robust>,
    /// Boxed, so that a `Model` is no larger for it.
    spread: Box<Engine<LogScale>>,
}

impl OnlineVarying {
    /// A model of `inputs` columns with default settings.
    ///
    /// # Errors
    /// As [`with_settings`](Self::with_settings).
    pub fn new(inputs: usize) -> Result<Self, ModelError> {
        Self::with_settings(inputs, OnlineSettings::default(), (0.0, 1.0))
    }

    /// A model of `inputs` columns. `unit` is a centre and a spread of the labels, which serve where the settings take no scales from the first
    /// rows. The log spread has the settings of the label, but an intercept of 0 and a learned prior scale.
    ///
    /// # Errors
    /// As [`OnlineRobust::with_settings`](super::OnlineRobust::with_settings).
    pub fn with_settings(inputs: usize, settings: OnlineSettings, unit: (f64, f64)) -> Result<Self, ModelError> {
        Self::of_transform(inputs, Transform::Identity, settings, unit)
    }

    /// A model of a transform of the label, whose predictions are of the label itself, as
    /// [`OnlineRobust::of_transform`](super::OnlineRobust::of_transform). `unit` is that of the transform.
    ///
    /// # Errors
    /// As [`with_settings`](Self::with_settings).
    pub fn of_transform(
        inputs: usize,
        transform: Transform,
        settings: OnlineSettings,
        unit: (f64, f64),
    ) -> Result<Self, ModelError> {
        let (family, own) = (Robust { unit, transform }, of_spread(&settings, inputs));
        settings.check(inputs)?;
        let followed = settings.spread_inputs.as_ref().map_or(inputs, Vec::len);
        let spread = Box::new(Engine::new(followed, LogScale { unit: unit.1 }, own)?);
        Ok(Self { engine: Engine::new(inputs, family, settings)?, spread })
    }

    /// The transform of the label that is learned.
    #[must_use]
    pub fn transform(&self) -> Transform {
        self.engine.family.transform
    }

    /// Centre and spread of the labels where no first rows tell them.
    #[must_use]
    pub fn unit(&self) -> (f64, f64) {
        self.engine.family.unit
    }

    /// The spread of the first labels or of their transform, in which the model learns.
    pub(super) fn prior_unit(&self) -> f64 {
        self.engine.design.target.scale
    }

    /// The noise where the log spread is 0: degrees of freedom and scale, as [`OnlineRobust::noise`](super::OnlineRobust::noise).
    #[must_use]
    pub fn noise(&self) -> (f64, f64) {
        super::robust::noise_of(&self.engine)
    }

    /// The posterior of each weight of the log spread, in the units of the inputs, as [`coefficients`](Self::coefficients) of the label: an input
    /// that is larger by 1 multiplies the spread by `e` to its weight. The intercept comes first.
    ///
    /// # Errors
    /// `Overflow`.
    pub fn spread_coefficients(&self) -> Result<Vec<Coefficient>, ModelError> {
        let unit = self.spread.design.target.scale;
        let plain = |own: Coefficient| Ok(Coefficient { belief: own.belief.in_units(0.0, unit.recip())?, ..own });
        self.spread.coefficients()?.into_iter().map(plain).collect()
    }

    /// The row as the spread sees it.
    ///
    /// # Errors
    /// Those of a row of other inputs.
    fn seen_by_spread<'a>(&self, row: Row<'a>, space: &'a mut [Vec<f64>; 2]) -> Result<Row<'a>, ModelError> {
        let [own, within] = space;
        let row = match &self.engine.settings.spread_inputs {
            None => row,
            Some(inputs) => {
                check_row(row, self.engine.design.inputs)?;
                chosen(row, inputs, own)
            }
        };
        Ok(if self.spread.fixed { self.spread.design.within(row, REACH, within) } else { row })
    }

    /// Mean and variance of the log spread at a row.
    fn log_spread(&self, row: Row<'_>) -> Result<Projection, ModelError> {
        let mut space = <[Vec<f64>; 2]>::default();
        Ok(of_log_spread(&self.spread.project(self.seen_by_spread(row, &mut space)?, 0.0)?))
    }

    fn predicted(
        &self,
        parts: &Parts<Noise>,
        spread: Projection,
        target: super::target::Target,
        offset: f64,
    ) -> Result<NumberPredicted, ModelError> {
        self.engine.family.number_with(parts, spread, target, offset)
    }

    /// The predictive distribution of the label at `row`.
    ///
    /// # Errors
    /// `Dimension`, `NonFinite`, `Entry` (a position); `Overflow` if the prediction is not finite.
    pub fn predict<'a>(&self, row: impl Into<Row<'a>>) -> Result<NumberPredicted, ModelError> {
        self.predict_at(row, 0.0)
    }

    /// As [`predict`](Self::predict), with a known part of the label, or of the transform of it that is learned, added.
    ///
    /// # Errors
    /// As [`predict`](Self::predict).
    pub fn predict_at<'a>(&self, row: impl Into<Row<'a>>, offset: f64) -> Result<NumberPredicted, ModelError> {
        check_offset(offset)?;
        let row = row.into();
        let parts = self.engine.parts(row, 0.0)?;
        self.predicted(&parts, self.log_spread(row)?, self.engine.design.target, offset)
    }

    /// Learns from one row; the label may be a number or an [`Observation`] with offset and weight. A label whose distance from its expectation
    /// the spread cannot take within floats is learned by the label's weights alone, and counted among the refused calls of
    /// [`info`](Self::info).
    ///
    /// # Errors
    /// As [`OnlineRobust::update`](super::OnlineRobust::update). On an error the model is unchanged, to the bit.
    pub fn update<'a>(&mut self, row: impl Into<Row<'a>>, label: impl Into<Observation>) -> Result<(), ModelError> {
        self.learn(row.into(), label.into()).map(drop)
    }

    /// Gives the first rows the factors that all of them have told, in place of those that were guessed before each.
    fn factors_anew(&mut self) -> Result<(), ModelError> {
        let mut rows = self.engine.rows.clone();
        for Kept { row, observed } in &mut rows {
            *observed = observed.given(Given::Factor(self.log_spread(row.as_row())?.mean.exp()));
        }
        self.engine.rows = rows;
        Ok(())
    }

    /// Fits the label's weights to the first rows as if their spreads were alike, and the spread to the distances from these weights.
    fn start_over(&mut self) -> Result<(), ModelError> {
        for Kept { observed, .. } in &mut self.engine.rows {
            *observed = observed.given(Given::Factor(1.0));
        }
        self.engine.catch_up()?;
        // A distance that belongs to a discarded fit.
        for own in &mut self.spread.rows {
            own.observed.label = f64::MAX;
        }
        self.fit_spread()
    }

    /// The parts of the prediction and the log spread before the row, which is then learned.
    ///
    /// Learned row by row along a slow input, label and spread can lead each other astray: a label that is missed widens the spread, and a wide
    /// spread teaches the label nothing. So both start over before they are learned anew from many rows.
    fn learn(&mut self, row: Row<'_>, observed: Observation) -> Result<Learned, ModelError> {
        if observed.is_range() {
            let what = "range of a label whose spread follows the inputs";
            return self.engine.counted(|_| Err(ModelError::Unsupported { what }));
        }
        if !self.engine.starts_anew_next() {
            return self.learn_both(row, observed, &[]);
        }
        let mut next = self.clone();
        if self.engine.fits_are_few() && next.start_over().is_err() {
            next.clone_from(self);
        }
        next.factors_anew()?;
        // The label's predictor drops its first rows where they end.
        let rows = next.engine.rows.clone();
        let learned = next.learn_both(row, observed, &rows);
        if let Err(error) = learned {
            self.engine.refused = next.engine.refused;
            return Err(error);
        }
        let before = (self.engine.parts(row, 0.0), self.log_spread(row)?);
        *self = next;
        Ok(before)
    }

    /// As [`learn`](Self::learn); `rows` are the first rows where the label's weights are learned anew from them and this one.
    fn learn_both(&mut self, row: Row<'_>, observed: Observation, rows: &[Kept]) -> Result<Learned, ModelError> {
        let (mut space, target) = (<[Vec<f64>; 2]>::default(), self.engine.design.target);
        let own = self
            .seen_by_spread(row, &mut space)
            .and_then(|own| Ok((own, of_log_spread(&self.spread.project_next(own)?))));
        let (own, spread, parts) = self.engine.counted(|engine| {
            let (own, spread) = own?;
            let with_factor = observed.given(Given::Factor(spread.mean.exp()));
            Ok((own, spread, engine.parts_and_update(row, 0.0, with_factor)?))
        })?;
        if let Ok(parts) = &parts {
            let seen = moments(parts.iter().map(|(share, seen, _)| (*share, *seen)));
            let r = target.transform.of(observed.label) - observed.offset - target.centre - target.scale * seen.mean;
            let variance = seen.variance * target.scale * target.scale;
            let told = Observation::new(r).weight(observed.weight).given(Given::Variance(variance));
            let anew = if self.spread.starts_anew_next() { self.distances_anew(rows).ok().flatten() } else { None };
            let counted = self.spread.counted(|spread| spread.update_seen(own, told));
            match (anew, counted) {
                (Some(_), Ok(())) => self.keep_level(rows),
                (Some(rows), Err(_)) => self.spread.rows = rows,
                (None, _) => {}
            }
        } else {
            self.spread.refused = self.spread.refused.saturating_add(1);
        }
        Ok((parts, spread))
    }

    /// Gives the noise of the label the units of a spread that has been fitted anew, so that the noise of `rows`, whose factors the label's weights
    /// have learned, stays the same in the geometric mean. Where a log spread is beyond floats nothing changes.
    fn keep_level(&mut self, rows: &[Kept]) {
        let moved = |Kept { row, observed }: &Kept| {
            let log_factor = observed.size(Size::Factor)?.ln();
            Ok::<_, ModelError>((observed.weight, log_factor - self.log_spread(row.as_row())?.mean))
        };
        let Ok(moved) = rows.iter().map(moved).collect::<Result<Vec<_>, _>>() else { return };
        let weight: f64 = moved.iter().map(|(weight, _)| weight).sum();
        if weight > 0.0 {
            let mean = moved.iter().map(|(own, moved)| own / weight * moved).sum();
            for member in &mut self.engine.members {
                member.state.in_units(mean);
            }
        }
    }

    /// The prediction at `row`, as [`predict_at`](Self::predict_at) gives it, and then [`update`](Self::update): the same bits, and one
    /// product with each covariance serves both. The prediction is an error of its own where it cannot be computed though the row was
    /// learned.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    pub fn predict_and_update<'a>(
        &mut self,
        row: impl Into<Row<'a>>,
        label: impl Into<Observation>,
    ) -> Result<Result<NumberPredicted, ModelError>, ModelError> {
        let (observed, target) = (label.into(), self.engine.design.target);
        let (parts, spread) = self.learn(row.into(), observed)?;
        Ok(parts.and_then(|parts| self.predicted(&parts, spread, target, observed.offset)))
    }

    /// Learns from many rows in their order, with the same result as one [`update`](Self::update) for each.
    ///
    /// # Errors
    /// `Empty` for no labels; those of [`update`](Self::update), naming the row. On an error the model is unchanged, to the bit.
    pub fn update_batch<'a, O: Copy + Into<Observation>>(
        &mut self,
        rows: impl Into<Rows<'a>>,
        labels: &[O],
    ) -> Result<(), ModelError> {
        let mut memory = Vec::new();
        let rows = self.engine.counted(|engine| engine.labelled(rows.into(), labels.len(), &mut memory))?;
        let before = self.clone();
        for (i, (row, label)) in rows.into_iter().zip(labels).enumerate() {
            if let Err(error) = self.learn(row, (*label).into()) {
                *self = before;
                self.engine.refused = self.engine.refused.saturating_add(1);
                return Err(match error {
                    ModelError::Core(error) => error.at_row(i).into(),
                    other => other,
                });
            }
        }
        Ok(())
    }

    /// Fits the first rows together, while they are still being gathered; see [`OnlineRobust::catch_up`](super::OnlineRobust::catch_up).
    ///
    /// # Errors
    /// Those of a fit, which leave the model unchanged.
    pub fn catch_up(&mut self) -> Result<(), ModelError> {
        if self.engine.fixed && self.spread.fixed {
            return self.engine.catch_up();
        }
        let mut next = self.clone();
        next.fit_label()?;
        next.fit_spread()?;
        if !next.engine.fixed {
            next.fit_label()?;
            next.fit_spread()?;
        }
        *self = next;
        Ok(())
    }

    /// Fits the label's weights to the first rows, with the spreads as they are.
    fn fit_label(&mut self) -> Result<(), ModelError> {
        if !self.engine.fixed {
            self.factors_anew()?;
        }
        self.engine.catch_up()
    }

    /// Fits the spread to the distances of the first rows from the label's fit as it is.
    fn fit_spread(&mut self) -> Result<(), ModelError> {
        let rows = std::mem::take(&mut self.engine.rows);
        let anew = self.distances_anew(&rows);
        let fitted = anew.and_then(|_| self.spread.catch_up());
        if fitted.is_ok() {
            self.keep_level(&rows);
        }
        self.engine.rows = rows;
        fitted
    }

    /// The log evidence of all rows so far, in nats, as [`OnlineRobust::evidence`](super::OnlineRobust::evidence): each label's noise has the
    /// spread that the rows before it gave.
    #[must_use]
    pub fn evidence(&self) -> f64 {
        self.engine.evidence()
    }

    /// The number of rows learned.
    #[must_use]
    pub fn observations(&self) -> u64 {
        self.engine.observations
    }

    /// Adds what other models learned from other rows, as [`OnlineRobust::merge`](super::OnlineRobust::merge).
    ///
    /// # Errors
    /// As there. On an error the model is unchanged.
    pub fn merge(&mut self, others: &[&Self]) -> Result<(), ModelError> {
        let mut spread = self.spread.clone();
        spread.merge(&others.iter().map(|other| other.spread.as_ref()).collect::<Vec<_>>())?;
        self.engine.merge(&others.iter().map(|other| &other.engine).collect::<Vec<_>>())?;
        self.spread = spread;
        Ok(())
    }

    /// The number of inputs.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.engine.design.inputs
    }

    /// The scale of each input, by which the model divides it: its standard deviation over the first rows, or half the distance of two values; none while
    /// these rows are gathered, and where inputs are used as they are.
    #[must_use]
    pub fn input_scales(&self) -> Option<&[f64]> {
        self.engine.design.input_scales()
    }

    /// The settings that the model was made with.
    #[must_use]
    pub fn settings(&self) -> &OnlineSettings {
        &self.engine.settings
    }

    /// The state of the model, for people to read: that of the label's weights, with the refused rows of both predictors.
    #[must_use]
    pub fn info(&self) -> OnlineInfo {
        let mut info = OnlineInfo::of(&self.engine);
        info.refused = info.refused.saturating_add(self.spread.refused);
        info
    }

    /// [`info`](Self::info) with the diagnosis of the label's weights at the spreads as they are; see
    /// [`OnlineRobust::diagnose`](super::OnlineRobust::diagnose).
    ///
    /// # Errors
    /// As there.
    pub fn diagnose<R: Rng + ?Sized>(&mut self, draws: usize, rng: &mut R) -> Result<OnlineInfo, ModelError> {
        self.engine.diagnosed(draws, rng)?;
        Ok(self.info())
    }

    /// Sweeps over all kept rows for the label's weights at the spreads that the rows had; see
    /// [`OnlineRobust::refine`](super::OnlineRobust::refine).
    ///
    /// # Errors
    /// As there. On an error the model is unchanged.
    pub fn refine(&mut self, settings: &RefineSettings) -> Result<RefineInfo, ModelError> {
        self.engine.refine(settings)
    }

    /// Passes over all rows until the posterior of the label's weights is the best Gaussian at the spreads as they are now; see
    /// [`OnlineRobust::refine_over`](super::OnlineRobust::refine_over).
    ///
    /// # Errors
    /// As there. On an error the model is unchanged.
    pub fn refine_over<E: From<ModelError>>(
        &mut self,
        settings: &BatchSettings,
        mut pass: impl FnMut(&mut (dyn FnMut(Row<'_>, Observation) -> Result<(), ModelError> + '_)) -> Result<(), E>,
    ) -> Result<BatchInfo, E> {
        let now = self.clone();
        self.engine.refine_over(settings, |take| {
            pass(&mut |row, observed| {
                let factor = now.log_spread(row)?.mean.exp();
                take(row, observed.given(Given::Factor(factor)))
            })
        })
    }
}

/// The parts of a prediction, and the log spread.
type Learned = (Result<Parts<Noise>, ModelError>, Projection);

/// The log spread that the members of its predictor see so.
fn of_log_spread(seen: &[(f64, Projection)]) -> Projection {
    let seen = moments(seen.iter().copied());
    Projection { mean: seen.mean.clamp(-FARTHEST, FARTHEST), ..seen }
}

/// Mean and variance of a mixture.
fn moments(parts: impl Iterator<Item = (f64, Projection)> + Clone) -> Projection {
    let (mean, variance) = super::predicted::moments(parts.map(|(share, seen)| (share, seen.mean, seen.variance)));
    Projection { mean, variance }
}

/// The stored form: the two predictors.
#[derive(Serialize, Deserialize)]
#[serde(bound = "", deny_unknown_fields)]
struct Wire {
    label: EngineWire<Robust>,
    spread: EngineWire<LogScale>,
}

impl Serialize for OnlineVarying {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let written = |error: Error| serde::ser::Error::custom(error);
        let label = self.engine.to_wire().map_err(written)?;
        Wire { label, spread: self.spread.to_wire().map_err(written)? }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for OnlineVarying {
    /// Reads a stored model. Everything is checked: a damaged or foreign document is an error.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Wire { label, spread } = Wire::deserialize(deserializer)?;
        let read = |error: ModelError| serde::de::Error::custom(error);
        let engine = Engine::from_wire(label).map_err(read)?;
        let spread: Box<Engine<LogScale>> = Box::new(Engine::from_wire(spread).map_err(read)?);
        let followed = engine.settings.spread_inputs.as_ref().map_or(engine.design.inputs, Vec::len);
        let alike = followed == spread.design.inputs
            && spread.settings == of_spread(&engine.settings, engine.design.inputs)
            && spread.family.unit == engine.family.unit.1
            && spread.observations <= engine.observations;
        if alike {
            Ok(Self { engine, spread })
        } else {
            Err(read(ModelError::Document { what: "spread of another model" }))
        }
    }
}

one_predictor!(OnlineVarying);
predicts_batches!(OnlineVarying, NumberPredicted);
