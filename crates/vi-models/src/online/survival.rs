//! Times until an event, some of them known only to be longer than observed, one row at a time.

use rand::Rng;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use vi_core::Error;
use vi_core::refine::{RefineInfo, RefineSettings};

use super::engine::{Engine, EngineWire, Levels, ScalarFamily, Stateful, row_likelihood};
use super::observation::{Observation, Size};
use super::{Coefficient, Draw, OnlineInfo, OnlineSettings, Row, Rows};
use crate::{Marginal, ModelError};

mod cuts;
mod hazard;
mod predicted;

pub use cuts::Cuts;
use hazard::Hazard;
pub use predicted::SurvivalPredicted;

/// A multiple of the unit of time beyond which a time is a mistake: its hazard would be 0 whatever all other rows tell.
const FARTHEST: f64 = 1e9;

/// Checks a time.
///
/// # Errors
/// `Label` unless it is positive and at most `most`.
fn check_time(label: f64, most: f64) -> Result<(), Error> {
    if label > 0.0 && label <= most {
        Ok(())
    } else {
        Err(Error::Label { label, family: "times of events (positive, at most 10⁹ times the unit of the cuts)" })
    }
}

/// The prior standard deviation of the change of the log hazard over all intervals, each with the same part of its variance: the more there are, the
/// nearer are neighbours.
const DRIFT: f64 = 2.0;

/// Times of events with a hazard that is constant between cuts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Survival {
    cuts: Cuts,
}

impl Stateful for Survival {
    type State = ();

    fn initial(&self) {}
}

impl ScalarFamily for Survival {
    type Likelihood = Hazard;

    const SIZE: Size = Size::Exposure;

    fn cut_points(&self) -> usize {
        self.cuts.times().len()
    }

    fn cut_scale(&self) -> Option<f64> {
        Some(DRIFT / ((self.cut_points() + 1) as f64).sqrt())
    }

    fn is_in_steps(&self) -> bool {
        true
    }

    /// Whether the event comes in interval `k`, of which the row has seen so much.
    fn step(&self, observed: &Observation, k: usize) -> Option<Observation> {
        let (from, to) = self.cuts.interval(k)?;
        let time = observed.label;
        let events = f64::from(u8::from(time <= to && !observed.is_range()));
        let step = observed.known().labelled(events).exposure(time.min(to) - from);
        (time > from).then(|| step.offset(observed.offset - self.cuts.unit().ln()))
    }

    fn levels(&self) -> Option<Levels> {
        Some(Levels { names: self.cuts.names(), sign: 1.0, shift: -self.cuts.unit().ln() })
    }

    fn check_observed(&self, observed: &Observation) -> Result<(), Error> {
        observed.known().size(Size::None)?;
        if observed.is_range() && observed.reach() != f64::INFINITY {
            let requirement = "open above: a time at which no event had come";
            return Err(Error::Setting { name: "range of the label", value: observed.reach(), requirement });
        }
        check_time(observed.label, FARTHEST * self.cuts.unit())?;
        row_likelihood(self, &(), &observed.known()).map(drop)
    }

    fn likelihood(&self, (): &(), size: f64) -> Result<Self::Likelihood, Error> {
        Hazard::new(size)
    }
}

/// Regression for a stream of times until an event, of which some are only known to be longer than observed (right-censored): proportional hazards
///
/// ```text
/// h(t | x) = exp(a_k + xᵀw),   τ_k < t ≤ τ_{k+1},   k = 0, …, K − 1,
/// S(t | x) = exp(−∫₀ᵗ h),
/// ```
///
/// with [cuts](Cuts) `τ` that are fixed, `a_k` that are learned, and the last hazard going on for ever. A label is the time of the event, or with
/// [`Observation::censored`] a time at which it had not come. A row is told in steps: in each interval that it entered it counts 0 or 1 events at the
/// exposure `Δ_k` that it spent there, of density `h_kᵈ·e^(−Δ_k·h_k)`. The product of these is the exact likelihood, log-concave in the weights. So
/// everything is that of a regression of [`Counts`](super::family::Counts), over the weights of the inputs, an intercept `a_0` and the changes
/// `a_k − a_{k−1}`, which are `N(0, 4/K)` before any row (`a_0` has the prior of the intercept, of a hazard in the unit of the cuts), so that many
/// intervals need not many events. With many cuts the weights are close to those of Cox's model,
/// which sees the order of the times alone; here there are times to predict, too.
///
/// [`predictor`](Self::predictor), [`intercept`](Self::intercept) and a [`sample`](Self::sample) tell the log hazard of the first interval in the
/// unit of the cuts, [`log_hazards`](Self::log_hazards) and [`coefficients`](Self::coefficients) all `a_k` in that of the times.
/// Without an intercept `a_0` is one event for each unit.
///
/// Cost: a row that enters `k` intervals as `k` rows of a Poisson regression (`3p²` flops each with `p` weights and a full covariance) and a copy of
/// the belief; a prediction `K` products with the belief and `K` quadratures, for each prior scale. The weight of a row counts in each step.
///
/// M. Friedman, Piecewise exponential models for survival data with covariates, Annals of Statistics 10 (1982); N. Laird and D. Olivier,
/// Covariance analysis of censored survival data using log-linear analysis techniques, JASA 76 (1981).
///
/// ```
/// use vi_models::online::{Cuts, Observation, OnlineSurvival};
/// let mut relapses = OnlineSurvival::new(1, Cuts::new(&[4.0, 12.0], 10.0)?)?;
/// for t in 0..90 {
///     let dose = f64::from(t % 3);
///     let months = (1.0 + f64::from(t * 7 % 20)) * (1.0 + dose);
///     let seen = if months > 24.0 { Observation::new(24.0).censored() } else { Observation::new(months) };
///     relapses.update(&[dose], seen)?;
/// }
/// let (none, two) = (relapses.predict(&[0.0])?, relapses.predict(&[2.0])?);
/// assert!(two.survival(12.0)? > none.survival(12.0)? && two.median()? > none.median()?);
/// assert!(relapses.weight(0)?.interval(0.9)?.upper < 0.0);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone)]
pub struct OnlineSurvival {
    engine: Engine<Survival>,
}

impl OnlineSurvival {
    /// A model of `inputs` columns with default settings.
    ///
    /// # Errors
    /// As [`with_settings`](Self::with_settings).
    pub fn new(inputs: usize, cuts: Cuts) -> Result<Self, ModelError> {
        Self::with_settings(inputs, cuts, OnlineSettings::default())
    }

    /// A model of `inputs` columns whose hazard changes at `cuts`, for example those [of the first rows](Cuts::of).
    ///
    /// # Errors
    /// `Setting`, `Empty` and `Dimension` for invalid settings.
    pub fn with_settings(inputs: usize, cuts: Cuts, settings: OnlineSettings) -> Result<Self, ModelError> {
        Ok(Self { engine: Engine::new(inputs, Survival { cuts }, settings)? })
    }

    /// The times at which the hazard changes.
    #[must_use]
    pub fn cuts(&self) -> Cuts {
        self.engine.family.cuts
    }

    /// The predictive distribution of the time at `row`. The hazard of each interval is predicted by the belief after survival of all before, so that
    /// with a full covariance the score of a row of weight 1 before it is learned is its log density here.
    ///
    /// # Errors
    /// `Dimension`, `NonFinite`, `Entry` (a position); those of a hazard beyond floats.
    pub fn predict<'a>(&self, row: impl Into<Row<'a>>) -> Result<SurvivalPredicted, ModelError> {
        self.predict_at(row, 0.0)
    }

    /// As [`predict`](Self::predict), with a known part of the log hazard added.
    ///
    /// # Errors
    /// As [`predict`](Self::predict); `Setting` for an offset that is not finite.
    pub fn predict_at<'a>(&self, row: impl Into<Row<'a>>, offset: f64) -> Result<SurvivalPredicted, ModelError> {
        let (family, row) = (&self.engine.family, row.into());
        let seen = self.engine.steps_at(row, offset - family.cuts.unit().ln(), family.cuts.times().len() + 1)?;
        SurvivalPredicted::new(family, seen)
    }

    /// The posterior of each log hazard `a_0, …, a_{K−1}` at all inputs 0, per unit of the times. Each costs as much as a prediction of a Poisson
    /// regression.
    ///
    /// # Errors
    /// `Overflow`.
    pub fn log_hazards(&self) -> Result<Vec<Marginal>, ModelError> {
        Ok(self.engine.levels()?.into_iter().map(|level| level.belief).collect())
    }
}

front_door!(OnlineSurvival, Survival);
one_predictor!(OnlineSurvival);
predicts_batches!(OnlineSurvival, SurvivalPredicted);
approximate!(OnlineSurvival);
