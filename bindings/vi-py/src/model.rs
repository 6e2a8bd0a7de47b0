//! The front door's models behind one type.

use serde::{Deserialize, Serialize};
use vi_core::{Row, Rows, Stop};
use vi_models::ModelError;
use vi_models::online::family::{Counts, LearnedSpread, Probit, SpreadCounts, Trials};
use vi_models::online::{
    Coefficient, Draw, Observation, OnlineGlm, OnlineInfo, OnlineLinear, OnlineLogistic, OnlineSettings, OnlineSoftmax,
    RefineSettings,
};
use vi_models::softmax::SoftmaxRefineSettings;

use crate::fault::Fault;

/// A model of `vi_models::online`. The first four are stored in the words of the command `rvi`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Model {
    Number(OnlineLinear),
    Count(OnlineGlm<Counts>),
    Two(OnlineLogistic),
    Classes(OnlineSoftmax),
    Probit(OnlineGlm<Probit>),
    Trials(OnlineGlm<Trials>),
    Spread(OnlineGlm<SpreadCounts>),
    LearnedSpread(OnlineGlm<LearnedSpread>),
}

/// What belongs to a kind of model beside its settings.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) enum Kind {
    /// Shape and rate of what is believed of the noise's precision at first.
    Number {
        shape: f64,
        rate: f64,
    },
    Count,
    Two,
    /// `joint`: one belief over all classes or one for each; none to let the number of weights decide.
    Classes {
        classes: usize,
        joint: Option<bool>,
    },
    Probit,
    Trials,
    Spread {
        size: f64,
    },
    LearnedSpread,
}

/// `$body` with the model, whatever its kind, as `$own`.
macro_rules! each {
    ($model:expr, $own:ident => $body:expr) => {
        match $model {
            Model::Number($own) => $body,
            Model::Count($own) => $body,
            Model::Two($own) => $body,
            Model::Classes($own) => $body,
            Model::Probit($own) => $body,
            Model::Trials($own) => $body,
            Model::Spread($own) => $body,
            Model::LearnedSpread($own) => $body,
        }
    };
}

/// `$body` with a model of one linear predictor; `$classes` with that of several.
macro_rules! one_or_classes {
    ($model:expr, $own:ident => $body:expr, $softmax:ident => $classes:expr) => {
        match $model {
            Model::Number($own) => $body,
            Model::Count($own) => $body,
            Model::Two($own) => $body,
            Model::Probit($own) => $body,
            Model::Trials($own) => $body,
            Model::Spread($own) => $body,
            Model::LearnedSpread($own) => $body,
            Model::Classes($softmax) => $classes,
        }
    };
}

pub(crate) use one_or_classes;

impl Model {
    pub(crate) fn new(kind: Kind, inputs: usize, settings: OnlineSettings) -> Result<Self, ModelError> {
        Ok(match kind {
            Kind::Number { shape, rate } => Self::Number(OnlineLinear::with_settings(inputs, settings, shape, rate)?),
            Kind::Count => Self::Count(OnlineGlm::with_settings(inputs, Counts, settings)?),
            Kind::Two => Self::Two(OnlineLogistic::with_settings(inputs, settings)?),
            Kind::Classes { classes, joint: None } => {
                Self::Classes(OnlineSoftmax::with_settings(inputs, classes, settings)?)
            }
            Kind::Classes { classes, joint: Some(true) } => {
                Self::Classes(OnlineSoftmax::joint(inputs, classes, settings)?)
            }
            Kind::Classes { classes, joint: Some(false) } => {
                Self::Classes(OnlineSoftmax::by_class(inputs, classes, settings)?)
            }
            Kind::Probit => Self::Probit(OnlineGlm::with_settings(inputs, Probit, settings)?),
            Kind::Trials => Self::Trials(OnlineGlm::with_settings(inputs, Trials, settings)?),
            Kind::Spread { size } => Self::Spread(OnlineGlm::with_settings(inputs, SpreadCounts { size }, settings)?),
            Kind::LearnedSpread => Self::LearnedSpread(OnlineGlm::with_settings(inputs, LearnedSpread, settings)?),
        })
    }

    /// The name under which it is stored.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Number(_) => "Number",
            Self::Count(_) => "Count",
            Self::Two(_) => "Two",
            Self::Classes(_) => "Classes",
            Self::Probit(_) => "Probit",
            Self::Trials(_) => "Trials",
            Self::Spread(_) => "Spread",
            Self::LearnedSpread(_) => "LearnedSpread",
        }
    }

    /// What an observation's `size` is called by this kind: trials or an exposure; nothing where it has none.
    pub(crate) fn observe(&self, label: f64, offset: f64, weight: f64, size: Option<f64>) -> Observation {
        let observed = Observation::new(label).offset(offset).weight(weight);
        match (self, size) {
            (_, None) => observed,
            (Self::Trials(_), Some(size)) => observed.trials(size),
            (_, Some(size)) => observed.exposure(size),
        }
    }

    pub(crate) fn inputs(&self) -> usize {
        match self {
            Self::Classes(model) => model.weights().first().map_or(0, |draw| draw.weights.len()),
            Self::Number(model) => model.weights().weights.len(),
            Self::Two(model) => model.weights().weights.len(),
            Self::Count(model) => model.weights().weights.len(),
            Self::Probit(model) => model.weights().weights.len(),
            Self::Trials(model) => model.weights().weights.len(),
            Self::Spread(model) => model.weights().weights.len(),
            Self::LearnedSpread(model) => model.weights().weights.len(),
        }
    }

    pub(crate) fn settings(&self) -> &OnlineSettings {
        each!(self, model => model.settings())
    }

    pub(crate) fn update(&mut self, row: Row<'_>, observed: Observation) -> Result<(), ModelError> {
        each!(self, model => model.update(row, observed))
    }

    pub(crate) fn update_batch(&mut self, rows: Rows<'_>, observed: &[Observation]) -> Result<(), ModelError> {
        each!(self, model => model.update_batch(rows, observed))
    }

    pub(crate) fn info(&self) -> OnlineInfo {
        each!(self, model => model.info())
    }

    pub(crate) fn evidence(&self) -> f64 {
        each!(self, model => model.evidence())
    }

    /// The weights of each linear predictor: one, or one for each class but the first.
    pub(crate) fn weights(&self) -> Vec<Draw> {
        one_or_classes!(self, model => vec![model.weights()], model => model.weights())
    }

    pub(crate) fn coefficients(&self) -> Result<Vec<Vec<Coefficient>>, ModelError> {
        one_or_classes!(self, model => Ok(vec![model.coefficients()?]), model => {
            (1..=model.weights().len()).map(|class| model.coefficients(class)).collect()
        })
    }

    pub(crate) fn sample<R: rand::Rng>(&self, rng: &mut R) -> Result<Vec<Draw>, ModelError> {
        one_or_classes!(self, model => Ok(vec![model.sample(rng)?]), model => model.sample(rng))
    }

    /// Sweeps over the kept rows: how many, the bound after each, and why they ended.
    ///
    /// # Errors
    /// `ValueError` for a linear model, which is exact; those of the models.
    pub(crate) fn refine(&mut self, tolerance: f64, max_sweeps: usize) -> Result<(usize, Vec<f64>, Stop), Fault> {
        let mut settings = RefineSettings::default();
        (settings.tolerance, settings.max_sweeps) = (tolerance, max_sweeps);
        macro_rules! refined {
            ($model:expr, $settings:expr) => {{
                let info = $model.refine(&$settings)?;
                Ok((info.sweeps, info.bounds, info.stop))
            }};
        }
        match self {
            Self::Number(_) => Err(Fault::Value("a linear model is exact: there is nothing to refine".to_owned())),
            Self::Count(model) => refined!(model, settings),
            Self::Two(model) => refined!(model, settings),
            Self::Probit(model) => refined!(model, settings),
            Self::Trials(model) => refined!(model, settings),
            Self::Spread(model) => refined!(model, settings),
            Self::LearnedSpread(model) => refined!(model, settings),
            Self::Classes(model) => {
                let mut settings = SoftmaxRefineSettings::default();
                (settings.tolerance, settings.max_sweeps) = (tolerance, max_sweeps);
                refined!(model, settings)
            }
        }
    }

    /// What the model says of itself after `draws` draws of the posterior.
    pub(crate) fn diagnose<R: rand::Rng>(&mut self, draws: usize, rng: &mut R) -> Result<OnlineInfo, ModelError> {
        match self {
            Self::Number(model) => Ok(model.info()),
            Self::Count(model) => model.diagnose(draws, rng),
            Self::Two(model) => model.diagnose(draws, rng),
            Self::Probit(model) => model.diagnose(draws, rng),
            Self::Trials(model) => model.diagnose(draws, rng),
            Self::Spread(model) => model.diagnose(draws, rng),
            Self::LearnedSpread(model) => model.diagnose(draws, rng),
            Self::Classes(model) => model.diagnose(draws, rng),
        }
    }

    /// Brings in what the `others` have learned.
    ///
    /// # Errors
    /// `TypeError` for a model of another kind; those of the models.
    pub(crate) fn merge(&mut self, others: &[Self]) -> Result<(), Fault> {
        macro_rules! merged {
            ($own:expr, $kind:path) => {{
                let all = others.iter().map(|other| match other {
                    $kind(model) => Ok(model),
                    other => Err(other.name()),
                });
                match all.collect::<Result<Vec<_>, _>>() {
                    Ok(others) => Ok($own.merge(&others)?),
                    Err(name) => Err(Fault::Type(format!("a model of the kind {name} cannot be merged into this one"))),
                }
            }};
        }
        match self {
            Self::Number(own) => merged!(own, Self::Number),
            Self::Count(own) => merged!(own, Self::Count),
            Self::Two(own) => merged!(own, Self::Two),
            Self::Classes(own) => merged!(own, Self::Classes),
            Self::Probit(own) => merged!(own, Self::Probit),
            Self::Trials(own) => merged!(own, Self::Trials),
            Self::Spread(own) => merged!(own, Self::Spread),
            Self::LearnedSpread(own) => merged!(own, Self::LearnedSpread),
        }
    }
}
