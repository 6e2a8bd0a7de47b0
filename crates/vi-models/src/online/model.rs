//! A front-door model whose kind is a value.

use rand::Rng;
use serde::{Deserialize, Serialize};
use vi_core::batch::{BatchInfo, BatchSettings};

use super::engine::Gains;
use super::family::{Counts, InflatedCounts, LearnedSpread, Probit, SpreadCounts, Trials};
use super::observation::Size;
use super::{
    Coefficient, Cuts, Draw, Effects, Observation, OneGaussian, OnlineGlm, OnlineGrouped, OnlineInfo, OnlineLinear,
    OnlineLogistic, OnlineOrdered, OnlineRobust, OnlineSettings, OnlineSoftmax, OnlineSurvival, OnlineVarying,
    Prediction, RefineInfo, RefineSettings, Row, Rows,
};
use crate::softmax::SoftmaxRefineSettings;
use crate::{Marginal, ModelError, Transform};

/// The labels that a [`Model`] learns, with the numbers that belong to it beside its settings.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Kind {
    /// Numbers, by [`OnlineLinear`].
    Number {
        /// Shape and rate of the prior of the noise, `1/σ² ~ Gamma(shape, rate)`.
        noise: (f64, f64),
        /// The transform of the label that is learned, see [`OnlineLinear::of_transform`].
        transform: Transform,
    },
    /// Poisson counts, by [`OnlineGlm`].
    Count,
    /// Labels 0 and 1, by [`OnlineLogistic`].
    Two,
    /// Classes `0, 1, …`, by [`OnlineSoftmax`].
    Classes {
        /// The number of classes.
        classes: usize,
        /// Whether there is one belief over all classes, or one for each; `None` chooses by the number of weights.
        joint: Option<bool>,
    },
    /// Classes `0 < 1 < …` that have an order, by [`OnlineOrdered`].
    Ordered {
        /// The number of classes.
        classes: usize,
    },
    /// Times of events, some of them censored, by [`OnlineSurvival`].
    Survival {
        /// The times at which the hazard changes.
        cuts: Cuts,
    },
    /// Labels 0 and 1 by a probit, by [`OnlineGlm`].
    Probit,
    /// Successes among trials, by [`OnlineGlm`].
    Trials,
    /// Counts that vary more than a Poisson's, by [`OnlineGlm`].
    Spread {
        /// The size, see [`SpreadCounts`].
        size: f64,
    },
    /// Counts that vary more than a Poisson's by an amount that is learned, by [`OnlineGlm`].
    LearnedSpread,
    /// Counts with excess zeros besides, whose share is learned, by [`OnlineGlm`].
    ZeroInflated,
    /// Numbers with heavy tails, by [`OnlineRobust`].
    Robust {
        /// Centre and spread of the labels or their transform, where no first rows tell them.
        unit: (f64, f64),
        /// The transform of the label that is learned.
        transform: Transform,
    },
    /// Numbers with heavy tails and a spread that follows the inputs, by [`OnlineVarying`].
    Varying {
        /// Centre and spread of the labels or their transform, where no first rows tell them.
        unit: (f64, f64),
        /// The transform of the label that is learned.
        transform: Transform,
    },
}

impl Kind {
    /// The settings that a model of this kind has by default.
    #[must_use]
    pub fn default_settings(self) -> OnlineSettings {
        match self {
            Self::Number { .. } => OnlineLinear::default_settings(),
            _ => OnlineSettings::default(),
        }
    }

    /// Whether labels of this kind are counts without a limit.
    ///
    /// ```
    /// use vi_models::online::Kind;
    /// assert!(Kind::Count.is_of_counts() && !Kind::Two.is_of_counts());
    /// ```
    #[must_use]
    pub fn is_of_counts(self) -> bool {
        matches!(self, Self::Count | Self::LearnedSpread | Self::ZeroInflated)
    }

    /// The transform of the label that is learned; the identity for labels that are no numbers.
    #[must_use]
    pub fn transform(self) -> Transform {
        match self {
            Self::Number { transform, .. } | Self::Robust { transform, .. } | Self::Varying { transform, .. } => {
                transform
            }
            _ => Transform::Identity,
        }
    }
}

/// A front-door model of any [`Kind`], for whoever holds one without knowing which: a file, a bandit, a binding. Each method is that
/// of the model within; it is stored as that model, under the name of its kind.
///
/// ```
/// use vi_models::online::{Kind, Model, Observation, OnlineSettings, Row};
/// let number = Kind::Number { noise: (1.0, 1.0), transform: vi_models::Transform::Identity };
/// for kind in [Kind::Two, Kind::Count, number, Kind::Classes { classes: 3, joint: None }] {
///     let mut model = Model::new(kind, 1, kind.default_settings())?;
///     for t in 0..40 {
///         model.update(Row::Dense(&[f64::from(t % 4)]), Observation::new(f64::from(t % 4 / 2)))?;
///     }
///     let seen = model.predict(Row::Dense(&[3.0]), Observation::new(0.0))?;
///     assert!(seen.log_density(1.0)? > seen.log_density(0.0)?);
///     let stored = serde_json::to_string(&model).unwrap();
///     assert!(stored.starts_with(&format!("{{\"{}\":", model.name())));
///     let again: Model = serde_json::from_str(&stored).unwrap();
///     assert_eq!(again.predict(Row::Dense(&[3.0]), Observation::new(0.0))?, seen);
/// }
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Model {
    /// Numbers, or a transform of them.
    Number(OnlineLinear),
    /// Poisson counts.
    Count(OnlineGlm<Counts>),
    /// Labels 0 and 1.
    Two(OnlineLogistic),
    /// Classes `0, 1, …`.
    Classes(OnlineSoftmax),
    /// Classes `0 < 1 < …` that have an order.
    Ordered(OnlineOrdered),
    /// Times of events, some of them censored.
    Survival(OnlineSurvival),
    /// Labels 0 and 1 by a probit.
    Probit(OnlineGlm<Probit>),
    /// Successes among trials.
    Trials(OnlineGlm<Trials>),
    /// Counts that vary more than a Poisson's.
    Spread(OnlineGlm<SpreadCounts>),
    /// Counts that vary more than a Poisson's by an amount that is learned.
    LearnedSpread(OnlineGlm<LearnedSpread>),
    /// Counts with excess zeros besides, whose share is learned.
    ZeroInflated(OnlineGlm<InflatedCounts>),
    /// Numbers with heavy tails, or a transform of them.
    Robust(OnlineRobust),
    /// The same with a spread that follows the inputs.
    Varying(OnlineVarying),
    /// Numbers, a transform of them, two classes or counts with effects for each group.
    Grouped(Box<OnlineGrouped>),
}

/// # Errors
/// `Unsupported`, always.
fn not_of_groups<T>(what: &'static str) -> Result<T, ModelError> {
    Err(ModelError::Unsupported { what })
}

/// `$body` with the model as `$own`, whatever its kind; or one body for a model of one predictor and one for that of several; or one
/// for each of a number, another model of one predictor, and classes; and one for a model of groups, where that is not the one of one predictor.
macro_rules! each {
    ($model:expr, $own:ident => $body:expr) => { each!($model, $own => $body, $own => $body) };
    ($model:expr, $own:ident => $one:expr, $softmax:ident => $classes:expr) => {
        each!($model, $own => $one, $own => $one, $softmax => $classes)
    };
    ($model:expr, $linear:ident => $number:expr, $own:ident => $one:expr, $softmax:ident => $classes:expr) => {
        each!($model, $linear => $number, $own => $one, $softmax => $classes, $own => $one)
    };
    ($model:expr, $linear:ident => $number:expr, $own:ident => $one:expr, $softmax:ident => $classes:expr, $grouped:ident => $groups:expr) => {
        match $model {
            Self::Number($linear) => $number,
            Self::Count($own) => $one,
            Self::Two($own) => $one,
            Self::Ordered($own) => $one,
            Self::Survival($own) => $one,
            Self::Probit($own) => $one,
            Self::Trials($own) => $one,
            Self::Spread($own) => $one,
            Self::LearnedSpread($own) => $one,
            Self::ZeroInflated($own) => $one,
            Self::Robust($own) => $one,
            Self::Varying($own) => $one,
            Self::Grouped($grouped) => $groups,
            Self::Classes($softmax) => $classes,
        }
    };
}

impl Model {
    /// A model of `inputs` columns with nothing learned.
    ///
    /// # Errors
    /// Those of the kind's own constructor; [`ModelError::Unsupported`] for inputs of a spread that the kind has not.
    pub fn new(kind: Kind, inputs: usize, settings: OnlineSettings) -> Result<Self, ModelError> {
        if settings.spread_inputs.is_some() && !matches!(kind, Kind::Varying { .. }) {
            return Err(ModelError::Unsupported { what: "spread that follows inputs in a model of this kind" });
        }
        Ok(match kind {
            Kind::Number { noise: (shape, rate), transform } => {
                Self::Number(OnlineLinear::of_transform(inputs, transform, settings, shape, rate)?)
            }
            Kind::Count => Self::Count(OnlineGlm::with_settings(inputs, Counts, settings)?),
            Kind::Two => Self::Two(OnlineLogistic::with_settings(inputs, settings)?),
            Kind::Classes { classes, joint } => Self::Classes(match joint {
                None => OnlineSoftmax::with_settings(inputs, classes, settings)?,
                Some(true) => OnlineSoftmax::joint(inputs, classes, settings)?,
                Some(false) => OnlineSoftmax::by_class(inputs, classes, settings)?,
            }),
            Kind::Ordered { classes } => Self::Ordered(OnlineOrdered::with_settings(inputs, classes, settings)?),
            Kind::Survival { cuts } => Self::Survival(OnlineSurvival::with_settings(inputs, cuts, settings)?),
            Kind::Probit => Self::Probit(OnlineGlm::with_settings(inputs, Probit, settings)?),
            Kind::Trials => Self::Trials(OnlineGlm::with_settings(inputs, Trials, settings)?),
            Kind::Spread { size } => Self::Spread(OnlineGlm::with_settings(inputs, SpreadCounts { size }, settings)?),
            Kind::LearnedSpread => Self::LearnedSpread(OnlineGlm::with_settings(inputs, LearnedSpread, settings)?),
            Kind::ZeroInflated => Self::ZeroInflated(OnlineGlm::with_settings(inputs, InflatedCounts, settings)?),
            Kind::Robust { unit, transform } => {
                Self::Robust(OnlineRobust::of_transform(inputs, transform, settings, unit)?)
            }
            Kind::Varying { unit, transform } => {
                Self::Varying(OnlineVarying::of_transform(inputs, transform, settings, unit)?)
            }
        })
    }

    /// A model of `inputs` columns with nothing learned, of numbers, a transform of them, two classes or counts, in which `effects` differ from
    /// group to group: the group of a row is that of its [`Observation`]. The common weights share one prior, all but flat unless it is given.
    ///
    /// # Errors
    /// [`ModelError::Unsupported`] for another kind, a memory that fades, another belief than the full covariance, several prior scales; those of
    /// the [settings](super::GroupedSettings).
    pub fn grouped(kind: Kind, inputs: usize, effects: Effects, settings: &OnlineSettings) -> Result<Self, ModelError> {
        let model = OnlineGrouped::new(kind, inputs, effects, settings)?;
        Ok(Self::Grouped(Box::new(model)))
    }

    /// A model of the same kind, inputs and settings with nothing learned.
    ///
    /// # Errors
    /// None for a model that was made by its constructor.
    pub fn emptied(&self) -> Result<Self, ModelError> {
        if let Self::Grouped(model) = self {
            return Ok(Self::Grouped(Box::new(model.emptied()?)));
        }
        Self::new(self.kind(), self.inputs(), self.settings().clone())
    }

    /// The kind, with its numbers.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Number(model) => Kind::Number { noise: model.noise_prior(), transform: model.transform() },
            Self::Count(_) => Kind::Count,
            Self::Two(_) => Kind::Two,
            Self::Classes(model) => Kind::Classes { classes: model.classes(), joint: Some(!model.is_by_class()) },
            Self::Ordered(model) => Kind::Ordered { classes: model.classes() },
            Self::Survival(model) => Kind::Survival { cuts: model.cuts() },
            Self::Probit(_) => Kind::Probit,
            Self::Trials(_) => Kind::Trials,
            Self::Spread(model) => Kind::Spread { size: model.family().size },
            Self::LearnedSpread(_) => Kind::LearnedSpread,
            Self::ZeroInflated(_) => Kind::ZeroInflated,
            Self::Robust(model) => Kind::Robust { unit: model.unit(), transform: model.transform() },
            Self::Varying(model) => Kind::Varying { unit: model.unit(), transform: model.transform() },
            Self::Grouped(model) => model.kind(),
        }
    }

    /// The name of the kind, under which the model is stored.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Number(_) => "Number",
            Self::Count(_) => "Count",
            Self::Two(_) => "Two",
            Self::Classes(_) => "Classes",
            Self::Ordered(_) => "Ordered",
            Self::Survival(_) => "Survival",
            Self::Probit(_) => "Probit",
            Self::Trials(_) => "Trials",
            Self::Spread(_) => "Spread",
            Self::LearnedSpread(_) => "LearnedSpread",
            Self::ZeroInflated(_) => "ZeroInflated",
            Self::Robust(_) => "Robust",
            Self::Varying(_) => "Varying",
            Self::Grouped(_) => "Grouped",
        }
    }

    /// The number of inputs.
    #[must_use]
    pub fn inputs(&self) -> usize {
        each!(self, model => model.inputs())
    }

    /// The scale of each input, by which the model divides it: its standard deviation over the first rows, or half the distance of two values; none while
    /// these rows are gathered, and where inputs are used as they are.
    #[must_use]
    pub fn input_scales(&self) -> Option<&[f64]> {
        each!(self, model => model.input_scales())
    }

    /// The settings that the model was made with.
    #[must_use]
    pub fn settings(&self) -> &OnlineSettings {
        each!(self, model => model.settings())
    }

    /// The unit of the prior scales on the scale of the linear predictor: of numbers the standard deviation of the noise, `√(rate/shape)`;
    /// of those with heavy tails the spread of the first labels; 1 of all others.
    #[must_use]
    pub fn prior_unit(&self) -> f64 {
        match self {
            Self::Number(model) => {
                let (shape, rate) = model.noise();
                (rate / shape).sqrt()
            }
            Self::Robust(model) => model.spread(),
            Self::Varying(model) => model.prior_unit(),
            Self::Grouped(model) => model.prior_unit(),
            _ => 1.0,
        }
    }

    /// Learns from one row.
    ///
    /// # Errors
    /// Those of the model. On an error the model is unchanged, to the bit.
    pub fn update(&mut self, row: Row<'_>, observed: Observation) -> Result<(), ModelError> {
        each!(self, model => model.update(row, observed))
    }

    /// Learns from many rows in their order, with the same result as one [`update`](Self::update) for each.
    ///
    /// # Errors
    /// Those of the model, naming the row. On an error the model is unchanged, to the bit.
    pub fn update_batch(&mut self, rows: Rows<'_>, observed: &[Observation]) -> Result<(), ModelError> {
        each!(self, model => model.update_batch(rows, observed))
    }

    /// The prediction at `row`. Of `at` only the offset and the trials or exposure are used, not the label or weight.
    ///
    /// # Errors
    /// Those of the model; `Setting` for trials or an exposure that the kind has not; [`ModelError::Unsupported`] for an offset of
    /// several classes.
    pub fn predict(&self, row: Row<'_>, at: Observation) -> Result<Prediction, ModelError> {
        match self {
            Self::Number(_)
            | Self::Robust(_)
            | Self::Varying(_)
            | Self::Two(_)
            | Self::Ordered(_)
            | Self::Classes(_)
            | Self::Survival(_) => _ = at.known().size(Size::None)?,
            _ => {}
        }
        Ok(match self {
            Self::Number(model) => Prediction::Number(model.predict_at(row, at.offset)?),
            Self::Count(model) => Prediction::Count(model.predict(row, at)?),
            Self::Two(model) => Prediction::Two(model.predict_at(row, at.offset)?),
            Self::Classes(_) if at.offset != 0.0 => {
                return Err(ModelError::Unsupported { what: "offset of several classes" });
            }
            Self::Classes(model) => Prediction::Classes(model.predict(row)?),
            Self::Ordered(model) => Prediction::Classes(model.predict_at(row, at.offset)?),
            Self::Survival(model) => Prediction::Survival(model.predict_at(row, at.offset)?),
            Self::Probit(model) => Prediction::Probit(model.predict(row, at)?),
            Self::Trials(model) => Prediction::Trials(model.predict(row, at)?),
            Self::Spread(model) => Prediction::Spread(model.predict(row, at)?),
            Self::LearnedSpread(model) => Prediction::Spread(model.predict(row, at)?),
            Self::ZeroInflated(model) => Prediction::Inflated(model.predict(row, at)?),
            Self::Robust(model) => Prediction::Number(model.predict_at(row, at.offset)?),
            Self::Varying(model) => Prediction::Number(model.predict_at(row, at.offset)?),
            Self::Grouped(model) => model.predict(row, at)?,
        })
    }

    /// The prediction at `row`, as [`predict`](Self::predict) gives it, and then [`update`](Self::update): the same bits, and in models
    /// of one predictor one product with the covariance serves both. The prediction is an error of its own where it cannot be computed
    /// though the row was learned.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    pub fn predict_and_update(
        &mut self,
        row: Row<'_>,
        observed: Observation,
    ) -> Result<Result<Prediction, ModelError>, ModelError> {
        Ok(match self {
            Self::Number(model) => model.predict_and_update(row, observed)?.map(Prediction::Number),
            Self::Count(model) => model.predict_and_update(row, observed)?.map(Prediction::Count),
            Self::Two(model) => model.predict_and_update(row, observed)?.map(Prediction::Two),
            Self::Probit(model) => model.predict_and_update(row, observed)?.map(Prediction::Probit),
            Self::Trials(model) => model.predict_and_update(row, observed)?.map(Prediction::Trials),
            Self::Spread(model) => model.predict_and_update(row, observed)?.map(Prediction::Spread),
            Self::LearnedSpread(model) => model.predict_and_update(row, observed)?.map(Prediction::Spread),
            Self::ZeroInflated(model) => model.predict_and_update(row, observed)?.map(Prediction::Inflated),
            Self::Robust(model) => model.predict_and_update(row, observed)?.map(Prediction::Number),
            Self::Varying(model) => model.predict_and_update(row, observed)?.map(Prediction::Number),
            Self::Ordered(_) | Self::Survival(_) | Self::Classes(_) | Self::Grouped(_) => {
                let predicted = self.predict(row, observed);
                self.update(row, observed)?;
                predicted
            }
        })
    }

    /// The posterior of each linear predictor at `row`: one, of classes that have an order the log odds that the label is beyond the first, of times the log hazard of the first interval; or of
    /// other classes one for each but the first, relative to that and without an offset. Of `at` only offset and group are used.
    ///
    /// # Errors
    /// Those of the model.
    pub fn predictors(&self, row: Row<'_>, at: Observation) -> Result<Vec<Marginal>, ModelError> {
        each!(self, model => Ok(vec![model.predictor(row, at.offset)?]), model => Ok(vec![model.predictor(row, at.offset)?]), model => {
            (1..model.classes()).map(|class| model.predictor(row, class)).collect()
        }, model => Ok(vec![model.predictor(row, at.without_group().0, at.offset)?]))
    }

    /// The posterior means of the weights of each linear predictor.
    #[must_use]
    pub fn weights(&self) -> Vec<Draw> {
        each!(self, model => vec![model.weights()], model => model.weights())
    }

    /// A draw of the weights of each linear predictor.
    ///
    /// # Errors
    /// Those of the model.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> Result<Vec<Draw>, ModelError> {
        each!(self, model => Ok(vec![model.sample(rng)?]), model => Ok(vec![model.sample(rng)?]), model => model.sample(rng), _model => {
            not_of_groups("draws of the weights of a model of groups")
        })
    }

    /// Joint draws of the linear predictors of many rows, `draws × candidates`: see
    /// [`OnlineLogistic::score_samples`].
    ///
    /// # Errors
    /// Those of the model; [`ModelError::Unsupported`] for several classes.
    pub fn score_samples<R: Rng + ?Sized>(
        &self,
        candidates: Rows<'_>,
        draws: usize,
        rng: &mut R,
    ) -> Result<Vec<f64>, ModelError> {
        let what = "one score of a row whose label is one of several classes";
        each!(self, model => model.score_samples(candidates, draws, rng), model => model.score_samples(candidates, draws, rng), _model => {
            Err(ModelError::Unsupported { what })
        }, _model => not_of_groups("draws of the predictors of a model of groups"))
    }

    /// The posterior of each weight of each linear predictor, the intercept first, or the cut points of classes that have an order, or the log hazards.
    ///
    /// # Errors
    /// Those of the model.
    pub fn coefficients(&self) -> Result<Vec<Vec<Coefficient>>, ModelError> {
        each!(self, model => Ok(vec![model.coefficients()?]), model => {
            (1..model.classes()).map(|class| model.coefficients(class)).collect()
        })
    }

    /// The posterior covariance of the weights of inputs `j` and `k`.
    ///
    /// # Errors
    /// Those of the model; [`ModelError::Unsupported`] for several classes.
    pub fn covariance(&self, j: usize, k: usize) -> Result<f64, ModelError> {
        let what = "one covariance of the weights of several classes";
        each!(self, model => model.covariance(j, k), model => model.covariance(j, k), _model => {
            Err(ModelError::Unsupported { what })
        }, _model => not_of_groups("covariance of the weights of a model of groups"))
    }

    /// The covariances of the weights with the predictor of a row.
    pub(super) fn gains(&self, row: Row<'_>) -> Result<Gains, ModelError> {
        if let Self::Ordered(_) | Self::Survival(_) = self {
            return Err(ModelError::Unsupported { what: "robust error of a weight of ordered classes or times" });
        }
        each!(self, model => model.gains(row), model => model.gains(row), _model => {
            Err(ModelError::Unsupported { what: "robust error of a weight of several classes" })
        }, _model => not_of_groups("robust error of a weight beside groups, only beside levels that are inputs"))
    }

    /// Fits the first rows together, while they are still being gathered ([`OnlineInfo::warming_up`]): those since the last fit were
    /// learned one by one, so that answers depend on their order. Numbers with groups find the components of variance for all rows. For the end of a file, of a copy that answers: rows that come after it
    /// find another start than without it. Cost: that of one fit; afterwards nothing.
    ///
    /// # Errors
    /// [`ModelError::Unsupported`] for a model that answers from a mixture; those of a fit, which leave the model unchanged.
    pub fn catch_up(&mut self) -> Result<(), ModelError> {
        each!(self, model => model.catch_up())
    }

    /// Whether [`catch_up`](Self::catch_up) could change an answer.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        if let Self::Grouped(model) = self { model.is_behind() } else { self.info().warming_up }
    }

    /// The posterior of `Σ c_j·w_j`, a combination of the weights in the units of the inputs.
    ///
    /// # Errors
    /// Those of the model; [`ModelError::Unsupported`] for several classes.
    pub fn combination(&self, c: Row<'_>) -> Result<Marginal, ModelError> {
        each!(self, model => model.combination(c), _model => {
            Err(ModelError::Unsupported { what: "one combination of the weights of several classes" })
        })
    }

    /// The log evidence of all rows so far, in nats.
    #[must_use]
    pub fn evidence(&self) -> f64 {
        each!(self, model => model.evidence())
    }

    /// The number of rows learned.
    #[must_use]
    pub fn observations(&self) -> u64 {
        each!(self, model => model.observations())
    }

    /// The state of the model, for people to read.
    #[must_use]
    pub fn info(&self) -> OnlineInfo {
        each!(self, model => model.info())
    }

    /// [`info`](Self::info) with the diagnosis of `draws` draws of the posterior; of numbers, whose posterior is exact, `info` alone.
    ///
    /// # Errors
    /// Those of the model.
    pub fn diagnose<R: Rng + ?Sized>(&mut self, draws: usize, rng: &mut R) -> Result<OnlineInfo, ModelError> {
        each!(self, model => Ok(model.info()), model => model.diagnose(draws, rng), model => model.diagnose(draws, rng), model => Ok(model.info()))
    }

    /// Sweeps over the kept rows; `None` for numbers, of which one pass is exact.
    ///
    /// # Errors
    /// Those of the model. On an error the model is unchanged.
    pub fn refine(&mut self, settings: &RefineSettings) -> Result<Option<RefineInfo>, ModelError> {
        let RefineSettings { tolerance, max_sweeps, .. } = *settings;
        each!(self, _model => Ok(None), model => model.refine(settings).map(Some), model => {
            model.refine(&SoftmaxRefineSettings { tolerance, max_sweeps }).map(Some)
        }, _model => not_of_groups("refinement of a model of groups by its rows; `GroupedGlm` has its own"))
    }

    /// Passes over all rows that the model has learned, wherever they are kept, until the posterior is the best Gaussian; `None` for
    /// numbers, of which one pass is exact.
    ///
    /// # Errors
    /// What `pass` returns; those of the model. On an error the model is unchanged.
    pub fn refine_over<E: From<ModelError>>(
        &mut self,
        settings: &BatchSettings,
        pass: impl FnMut(&mut (dyn FnMut(Row<'_>, Observation) -> Result<(), ModelError> + '_)) -> Result<(), E>,
    ) -> Result<Option<BatchInfo>, E> {
        each!(self, _model => Ok(None), model => model.refine_over(settings, pass).map(Some), model => {
            model.refine_over(settings, pass).map(Some)
        }, _model => Ok(not_of_groups("passes over the rows of a model of groups")?))
    }

    /// Adds what other models of the same kind learned from other rows.
    ///
    /// # Errors
    /// [`ModelError::Unlike`] for a model of another kind; those of the model. On an error the model is unchanged.
    pub fn merge(&mut self, others: &[&Self]) -> Result<(), ModelError> {
        macro_rules! merged {
            ($($kind:ident),*) => {
                match self {
                    $(Self::$kind(own) => {
                        let others = others.iter().enumerate().map(|(shard, other)| match other {
                            Self::$kind(model) => Ok(model),
                            _ => Err(ModelError::Unlike { shard, what: "the kind of model" }),
                        });
                        own.merge(&others.collect::<Result<Vec<_>, _>>()?)
                    })*
                    Self::Grouped(_) => not_of_groups("merging of models of groups"),
                }
            };
        }
        merged!(
            Number,
            Count,
            Two,
            Classes,
            Ordered,
            Survival,
            Probit,
            Trials,
            Spread,
            LearnedSpread,
            ZeroInflated,
            Robust,
            Varying
        )
    }

    /// What the model has learned, as one Gaussian.
    ///
    /// # Errors
    /// [`ModelError::Unsupported`] for a posterior that is not one Gaussian in the units of the inputs: of several classes, of a
    /// spread that is learned, of settings that lead to another.
    pub fn gaussian(&self) -> Result<OneGaussian, ModelError> {
        match self {
            Self::Number(model) => model.gaussian(),
            Self::Count(model) => model.gaussian(),
            Self::Two(model) => model.gaussian(),
            Self::Probit(model) => model.gaussian(),
            Self::Trials(model) => model.gaussian(),
            Self::Spread(model) => model.gaussian(),
            _ => {
                let what = "one Gaussian of several classes, of groups, or of a spread, excess zeros or tails that are learned";
                Err(ModelError::Unsupported { what })
            }
        }
    }
}
