//! The front-door models behind one type.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use vi_models::online::family::{Counts, LearnedSpread, Logit, Probit, SpreadCounts, Trials};
use vi_models::online::{
    Observation, OnlineGlm, OnlineInfo, OnlineLinear, OnlineLogistic, OnlineSettings, OnlineSoftmax, RefineSettings,
    Row, Rows,
};
use vi_models::softmax::SoftmaxRefineSettings;
use vi_models::{Interval, ModelError};

/// A front-door model of any family.
#[derive(Debug, Clone)]
pub enum AnyModel {
    /// Two classes.
    Logistic(OnlineLogistic),
    /// Numbers.
    Linear(OnlineLinear),
    /// Two classes, by a generalised linear model.
    Logit(OnlineGlm<Logit>),
    /// Two classes, probit.
    Probit(OnlineGlm<Probit>),
    /// Successes among trials.
    Trials(OnlineGlm<Trials>),
    /// Poisson counts.
    Counts(OnlineGlm<Counts>),
    /// Counts of more spread.
    SpreadCounts(OnlineGlm<SpreadCounts>),
    /// Three classes.
    Softmax(OnlineSoftmax),
    /// Counts of more spread, which is learned.
    LearnedSpread(OnlineGlm<LearnedSpread>),
    /// Three classes, a belief for each.
    Heads(OnlineSoftmax),
}

/// What was read from a model: names and numbers.
pub type Numbers = Vec<(&'static str, f64)>;

/// Does the same with the model inside.
macro_rules! each {
    ($any:expr, $model:ident => $do:expr) => {
        match $any {
            AnyModel::Logistic($model) => $do,
            AnyModel::Linear($model) => $do,
            AnyModel::Logit($model) => $do,
            AnyModel::Probit($model) => $do,
            AnyModel::Trials($model) => $do,
            AnyModel::Counts($model) => $do,
            AnyModel::SpreadCounts($model) => $do,
            AnyModel::Softmax($model) | AnyModel::Heads($model) => $do,
            AnyModel::LearnedSpread($model) => $do,
        }
    };
}

/// What the prediction of a label can be asked.
macro_rules! label {
    ($seen:expr) => {{
        let seen = $seen;
        let Interval { lower, upper } = seen.interval(0.9)?;
        let numbers = vec![("mean", seen.mean), ("variance", seen.variance), ("lower", lower), ("upper", upper)];
        Ok(numbers.into_iter().chain([("cdf of the mean", seen.cdf(seen.mean)?)]).collect())
    }};
}

impl AnyModel {
    /// How many families there are.
    pub const FAMILIES: usize = 10;

    /// A model of family `family` below [`FAMILIES`](Self::FAMILIES).
    ///
    /// # Errors
    /// Those of the models.
    pub fn new(family: usize, inputs: usize, settings: OnlineSettings) -> Result<Self, ModelError> {
        Ok(match family {
            0 => Self::Logistic(OnlineLogistic::with_settings(inputs, settings)?),
            1 => Self::Linear(OnlineLinear::with_settings(inputs, settings, 1.0, 1.0)?),
            2 => Self::Logit(OnlineGlm::with_settings(inputs, Logit, settings)?),
            3 => Self::Probit(OnlineGlm::with_settings(inputs, Probit, settings)?),
            4 => Self::Trials(OnlineGlm::with_settings(inputs, Trials, settings)?),
            5 => Self::Counts(OnlineGlm::with_settings(inputs, Counts, settings)?),
            6 => Self::SpreadCounts(OnlineGlm::with_settings(inputs, SpreadCounts { size: 2.0 }, settings)?),
            7 => Self::Softmax(OnlineSoftmax::joint(inputs, 3, settings)?),
            8 => Self::LearnedSpread(OnlineGlm::with_settings(inputs, LearnedSpread, settings)?),
            _ => Self::Heads(OnlineSoftmax::by_class(inputs, 3, settings)?),
        })
    }

    /// The family's number.
    #[must_use]
    pub fn family(&self) -> usize {
        match self {
            Self::Logistic(_) => 0,
            Self::Linear(_) => 1,
            Self::Logit(_) => 2,
            Self::Probit(_) => 3,
            Self::Trials(_) => 4,
            Self::Counts(_) => 5,
            Self::SpreadCounts(_) => 6,
            Self::Softmax(_) => 7,
            Self::LearnedSpread(_) => 8,
            Self::Heads(_) => 9,
        }
    }

    /// A label of this family near `value`.
    #[must_use]
    pub fn label(&self, value: f64) -> f64 {
        match self {
            Self::Linear(_) => value,
            Self::Counts(_) | Self::SpreadCounts(_) | Self::LearnedSpread(_) => value.abs().round(),
            Self::Softmax(_) | Self::Heads(_) => value.abs().round().min(2.0),
            _ => f64::from(u8::from(value > 0.0)),
        }
    }

    /// Learns from one row.
    ///
    /// # Errors
    /// Those of the model.
    pub fn update(&mut self, row: Row<'_>, observed: Observation) -> Result<(), ModelError> {
        each!(self, model => model.update(row, observed))
    }

    /// Learns from many rows.
    ///
    /// # Errors
    /// Those of the model.
    pub fn update_batch(&mut self, rows: Rows<'_>, observed: &[Observation]) -> Result<(), ModelError> {
        each!(self, model => model.update_batch(rows, observed))
    }

    /// What the model predicts at a row; `at` is for the generalised linear models, `offset` for the others.
    ///
    /// # Errors
    /// Those of the model.
    pub fn predict(&self, row: Row<'_>, at: Observation, offset: f64) -> Result<Numbers, ModelError> {
        match self {
            Self::Logistic(model) => {
                let seen = model.predict_at(row, offset)?;
                let Interval { lower, upper } = seen.interval(0.9)?;
                let mut numbers = vec![("lower", lower), ("upper", upper), ("quantile", seen.quantile(0.3)?)];
                numbers.extend([
                    ("probability", seen.probability),
                    ("variance", seen.variance),
                    ("plug-in", seen.plug_in),
                ]);
                Ok(numbers)
            }
            Self::Linear(model) => {
                let seen = model.predict_at(row, offset)?;
                let interval = seen.interval(0.9)?;
                let mut numbers = vec![("mean", seen.mean()), ("lower", interval.lower), ("upper", interval.upper)];
                // A Student distribution of at most two degrees of freedom, 2a, has no finite variance.
                if model.noise().0 > 1.0 {
                    numbers.push(("sd", seen.standard_deviation()));
                }
                Ok(numbers)
            }
            Self::Logit(model) => label!(model.predict(row, at)?),
            Self::Probit(model) => label!(model.predict(row, at)?),
            Self::Trials(model) => label!(model.predict(row, at)?),
            Self::Counts(model) => label!(model.predict(row, at)?),
            Self::SpreadCounts(model) => label!(model.predict(row, at)?),
            Self::LearnedSpread(model) => label!(model.predict(row, at)?),
            Self::Softmax(model) | Self::Heads(model) => {
                let seen = model.predict(row)?;
                let sum: f64 = seen.probabilities.iter().sum();
                Ok(seen
                    .probabilities
                    .iter()
                    .map(|&p| ("probability", p))
                    .chain([("sum of probabilities", sum)])
                    .collect())
            }
        }
    }

    /// The numbers that the model tells of itself.
    #[must_use]
    pub fn told(&self) -> Numbers {
        let info: OnlineInfo = each!(self, model => model.info());
        let mut numbers = vec![("evidence", each!(self, model => model.evidence())), ("prior scale", info.prior_scale)];
        numbers.extend(info.prior_scales.iter().map(|&(_, share)| ("share of a scale", share)));
        let mut weights = |draw: &vi_models::online::Draw| {
            numbers.push(("intercept", draw.intercept));
            numbers.extend(draw.weights.iter().map(|&weight| ("weight", weight)));
        };
        match self {
            Self::Softmax(model) | Self::Heads(model) => model.weights().iter().for_each(&mut weights),
            Self::Logistic(model) => weights(&model.weights()),
            Self::Linear(model) => weights(&model.weights()),
            Self::Logit(model) => weights(&model.weights()),
            Self::Probit(model) => weights(&model.weights()),
            Self::Trials(model) => weights(&model.weights()),
            Self::Counts(model) => weights(&model.weights()),
            Self::SpreadCounts(model) => weights(&model.weights()),
            Self::LearnedSpread(model) => weights(&model.weights()),
        }
        if let Self::LearnedSpread(model) = self {
            let size = model.log_size();
            numbers.extend([("log size", size.mean()), ("sd of the log size", size.standard_deviation())]);
        }
        numbers
    }

    /// Rows that the model has learned from.
    #[must_use]
    pub fn observations(&self) -> u64 {
        each!(self, model => model.info().observations)
    }

    /// A draw of the weights.
    ///
    /// # Errors
    /// Those of the model.
    pub fn draw(&self, seed: u64) -> Result<Numbers, ModelError> {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let draws = match self {
            Self::Softmax(model) | Self::Heads(model) => model.sample(rng)?,
            Self::LearnedSpread(model) => vec![model.sample(rng)?],
            Self::Logistic(model) => vec![model.sample(rng)?],
            Self::Linear(model) => vec![model.sample(rng)?],
            Self::Logit(model) => vec![model.sample(rng)?],
            Self::Probit(model) => vec![model.sample(rng)?],
            Self::Trials(model) => vec![model.sample(rng)?],
            Self::Counts(model) => vec![model.sample(rng)?],
            Self::SpreadCounts(model) => vec![model.sample(rng)?],
        };
        Ok(draws
            .iter()
            .flat_map(|draw| draw.weights.iter().map(|&weight| ("drawn weight", weight)))
            .chain(draws.iter().map(|draw| ("drawn intercept", draw.intercept)))
            .collect())
    }

    /// Two sweeps over the kept rows.
    ///
    /// # Errors
    /// Those of the model.
    pub fn refine(&mut self) -> Result<(), ModelError> {
        let settings = &RefineSettings { tolerance: 1e-6, max_sweeps: 2, ..RefineSettings::default() };
        match self {
            Self::Logistic(model) => model.refine(settings).map(drop),
            Self::Logit(model) => model.refine(settings).map(drop),
            Self::Probit(model) => model.refine(settings).map(drop),
            Self::Trials(model) => model.refine(settings).map(drop),
            Self::Counts(model) => model.refine(settings).map(drop),
            Self::SpreadCounts(model) => model.refine(settings).map(drop),
            Self::LearnedSpread(model) => model.refine(settings).map(drop),
            Self::Softmax(model) | Self::Heads(model) => {
                model.refine(&SoftmaxRefineSettings { tolerance: 1e-6, max_sweeps: 2 }).map(drop)
            }
            Self::Linear(_) => Ok(()),
        }
    }

    /// Brings in another model of the same family.
    ///
    /// # Errors
    /// Those of the model.
    pub fn merge(&mut self, other: &Self) -> Result<(), ModelError> {
        match (self, other) {
            (Self::Logistic(model), Self::Logistic(other)) => model.merge(&[other]),
            (Self::Linear(model), Self::Linear(other)) => model.merge(&[other]),
            (Self::Logit(model), Self::Logit(other)) => model.merge(&[other]),
            (Self::Probit(model), Self::Probit(other)) => model.merge(&[other]),
            (Self::Trials(model), Self::Trials(other)) => model.merge(&[other]),
            (Self::Counts(model), Self::Counts(other)) => model.merge(&[other]),
            (Self::SpreadCounts(model), Self::SpreadCounts(other)) => model.merge(&[other]),
            (Self::LearnedSpread(model), Self::LearnedSpread(other)) => model.merge(&[other]),
            (Self::Softmax(model), Self::Softmax(other)) | (Self::Heads(model), Self::Heads(other)) => {
                model.merge(&[other])
            }
            _ => Ok(()),
        }
    }

    /// The model as a document.
    ///
    /// # Errors
    /// What `serde_json` says of a model that cannot be stored.
    pub fn text(&self) -> Result<String, serde_json::Error> {
        each!(self, model => serde_json::to_string(model))
    }

    /// The model of family `family` in a document.
    ///
    /// # Errors
    /// What `serde_json` says.
    pub fn read(family: usize, text: &str) -> Result<Self, serde_json::Error> {
        Ok(match family {
            0 => Self::Logistic(serde_json::from_str(text)?),
            1 => Self::Linear(serde_json::from_str(text)?),
            2 => Self::Logit(serde_json::from_str(text)?),
            3 => Self::Probit(serde_json::from_str(text)?),
            4 => Self::Trials(serde_json::from_str(text)?),
            5 => Self::Counts(serde_json::from_str(text)?),
            6 => Self::SpreadCounts(serde_json::from_str(text)?),
            7 => Self::Softmax(serde_json::from_str(text)?),
            8 => Self::LearnedSpread(serde_json::from_str(text)?),
            _ => Self::Heads(serde_json::from_str(text)?),
        })
    }
}
