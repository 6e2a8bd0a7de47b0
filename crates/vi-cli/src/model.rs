//! The model behind a target, and what it predicts.

use serde::{Deserialize, Serialize};
use vi_core::Row;
use vi_core::batch::{BatchInfo, BatchSettings};
use vi_models::online::family::Counts;
use vi_models::online::{
    BeliefKind, Coefficient, LabelPredicted, Memory, NumberPredicted, Observation, OnlineGlm, OnlineInfo, OnlineLinear,
    OnlineLogistic, OnlineSettings, OnlineSoftmax, PriorScale, ProbabilityPredicted, Standardise, Start,
};
use vi_models::softmax::SoftmaxPrediction;
use vi_models::{Interval, ModelError};

use crate::target::TargetKind;

/// Inputs beyond which a full covariance costs too much for a file of many rows: 1 ms a row and 8 MB at 1000.
const WIDE: usize = 400;
/// Columns of the factor that wide models keep.
pub(crate) const RANK: usize = 10;
/// Inputs beyond which even that costs too much: each then has a variance of its own.
const VERY_WIDE: usize = 20_000;

/// What a model is to be, beside its target and inputs.
#[derive(Debug, Clone)]
#[allow(clippy::struct_excessive_bools, reason = "switches, each by itself")]
pub(crate) struct Plan {
    pub(crate) memory: Memory,
    /// How the posterior is kept; by default as the number of inputs allows.
    pub(crate) belief: Option<BeliefKind>,
    /// Whether inputs are taken as they come, since most are seen in few rows.
    pub(crate) rare: bool,
    pub(crate) intercept: bool,
    /// Whether the first rows are fitted together, which is better and takes longer.
    pub(crate) start: Start,
    pub(crate) prior: PriorScale,
    /// Scales given once and for all, so that models of parts of the data can be merged.
    pub(crate) scales: Option<Scales>,
    /// Whether inputs are taken in their own units.
    pub(crate) unscaled: bool,
    /// Whether a sample of the rows is kept.
    pub(crate) keep_sample: bool,
}

/// Where inputs and a number lie, and how far they spread.
#[derive(Debug, Clone)]
pub(crate) struct Scales {
    pub(crate) centres: Vec<f64>,
    pub(crate) spreads: Vec<f64>,
    /// Mean and variance of the target, if it is a number.
    pub(crate) target: (f64, f64),
}

impl Plan {
    /// Shape and rate of what is believed of the precision of a number's noise at first.
    pub(crate) fn noise(&self) -> (f64, f64) {
        let (shape, rate) = OnlineLinear::DEFAULT_NOISE;
        (shape, rate * self.scales.as_ref().map_or(1.0, |scales| scales.target.1))
    }

    fn belief(&self, inputs: usize) -> BeliefKind {
        self.belief.unwrap_or(if inputs > VERY_WIDE {
            BeliefKind::Diagonal
        } else if inputs > WIDE {
            BeliefKind::LowRank { rank: RANK }
        } else {
            BeliefKind::Full
        })
    }
}

/// A model of `vi_models::online`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Model {
    Number(OnlineLinear),
    Count(OnlineGlm<Counts>),
    Two(OnlineLogistic),
    Classes(OnlineSoftmax),
}

/// `$body` with the model, whatever its kind, as `$own`.
macro_rules! each {
    ($model:expr, $own:ident => $body:expr) => {
        match $model {
            Model::Number($own) => $body,
            Model::Count($own) => $body,
            Model::Two($own) => $body,
            Model::Classes($own) => $body,
        }
    };
}

/// What takes the rows of a pass one by one.
pub(crate) type Take<'a> = dyn FnMut(Row<'_>, Observation) -> Result<(), ModelError> + 'a;

/// What is predicted at a row.
#[derive(Debug)]
pub(crate) enum Prediction {
    Number(NumberPredicted),
    Count(LabelPredicted<vi_models::likelihood::Poisson>),
    Two(ProbabilityPredicted),
    Classes(SoftmaxPrediction),
}

impl Model {
    /// A model with nothing learned, of inputs with these names.
    ///
    /// # Errors
    /// Settings that no model of this kind takes.
    pub(crate) fn new(target: &TargetKind, names: Vec<String>, plan: &Plan) -> Result<Self, ModelError> {
        let inputs = names.len();
        let belief = plan.belief(inputs);
        let mut settings = OnlineSettings {
            names,
            memory: plan.memory,
            belief,
            intercept: plan.intercept,
            start: plan.start,
            keep_sample: plan.keep_sample,
            prior_scale: plan.prior.clone(),
            standardise: Standardise::FirstRows { rows: Standardise::ROWS, centre: is_dense(belief) && plan.intercept },
            ..match target {
                TargetKind::Number => OnlineLinear::default_settings(),
                TargetKind::Count | TargetKind::Classes(_) => OnlineSettings::default(),
            }
        };
        // The scale of a number is taken from the first rows together with those of its inputs.
        if plan.unscaled || (plan.rare && !is_dense(belief) && !matches!(target, TargetKind::Number)) {
            settings.standardise = Standardise::Never;
        }
        if let Some(Scales { mut centres, spreads, target: (mean, variance) }) = plan.scales.clone() {
            if !is_dense(belief) || !plan.intercept {
                centres.fill(0.0);
            }
            settings.standardise = Standardise::Fixed { centres, scales: spreads };
            if matches!(target, TargetKind::Number) {
                // The prior scales are relative to the noise, which is no larger than the target's spread: the same prior as that of the
                // target in its own units, about its mean.
                settings.intercept_scale *= (1.0 + mean * mean / variance).sqrt();
            }
        }
        Self::with_settings(target, inputs, settings, plan.noise())
    }

    fn with_settings(
        target: &TargetKind,
        inputs: usize,
        settings: OnlineSettings,
        (shape, rate): (f64, f64),
    ) -> Result<Self, ModelError> {
        Ok(match target {
            TargetKind::Number => Self::Number(OnlineLinear::with_settings(inputs, settings, shape, rate)?),
            TargetKind::Count => Self::Count(OnlineGlm::with_settings(inputs, Counts, settings)?),
            TargetKind::Classes(classes) if classes.len() == 2 => {
                Self::Two(OnlineLogistic::with_settings(inputs, settings)?)
            }
            TargetKind::Classes(classes) if settings.belief == BeliefKind::Full => {
                Self::Classes(OnlineSoftmax::with_settings(inputs, classes.len(), settings)?)
            }
            TargetKind::Classes(classes) => Self::Classes(OnlineSoftmax::by_class(inputs, classes.len(), settings)?),
        })
    }

    /// A model of the same settings with nothing learned; none where the scales came from the rows.
    pub(crate) fn emptied(&self, target: &TargetKind, noise: (f64, f64)) -> Result<Option<Self>, ModelError> {
        if matches!(self.settings().standardise, Standardise::FirstRows { .. }) {
            return Ok(None);
        }
        self.anew(target, noise).map(Some)
    }

    /// A model of the same settings with nothing learned, which takes scales from its own first rows again.
    ///
    /// # Errors
    /// None for settings that were taken before.
    pub(crate) fn anew(&self, target: &TargetKind, noise: (f64, f64)) -> Result<Self, ModelError> {
        let settings = self.settings().clone();
        Self::with_settings(target, settings.names.len(), settings, noise)
    }

    /// The same as one whose posterior may be a record; none of more than two classes.
    pub(crate) fn to_sums(&self) -> Option<vi_sums::Model> {
        match self {
            Self::Number(model) => Some(vi_sums::Model::Linear(model.clone())),
            Self::Count(model) => Some(vi_sums::Model::Poisson(model.clone())),
            Self::Two(model) => Some(vi_sums::Model::Logistic(model.clone())),
            Self::Classes(_) => None,
        }
    }

    /// A model whose posterior was a record; none of labels that no file's target is.
    pub(crate) fn of_sums(model: vi_sums::Model) -> Option<Self> {
        match model {
            vi_sums::Model::Linear(model) => Some(Self::Number(model)),
            vi_sums::Model::Poisson(model) => Some(Self::Count(model)),
            vi_sums::Model::Logistic(model) => Some(Self::Two(model)),
            _ => None,
        }
    }

    pub(crate) fn merge(&mut self, others: &[&Self]) -> Result<(), ModelError> {
        macro_rules! merged {
            ($own:expr, $kind:path) => {{
                let others: Vec<_> = others
                    .iter()
                    .filter_map(|other| if let $kind(model) = *other { Some(model) } else { None })
                    .collect();
                $own.merge(&others)
            }};
        }
        match self {
            Self::Number(own) => merged!(own, Self::Number),
            Self::Count(own) => merged!(own, Self::Count),
            Self::Two(own) => merged!(own, Self::Two),
            Self::Classes(own) => merged!(own, Self::Classes),
        }
    }

    /// Whether it learns the label that `target` reads.
    pub(crate) fn is_of(&self, target: &TargetKind, inputs: usize) -> bool {
        let kind = match (self, target) {
            (Self::Number(_), TargetKind::Number) | (Self::Count(_), TargetKind::Count) => true,
            (Self::Two(_), TargetKind::Classes(classes)) => classes.len() == 2,
            (Self::Classes(_), TargetKind::Classes(classes)) => classes.len() > 2,
            _ => false,
        };
        kind && self.settings().names.len() == inputs
    }

    pub(crate) fn settings(&self) -> &OnlineSettings {
        each!(self, model => model.settings())
    }

    /// Whether each of several classes has a belief of its own, since they have too many coefficients for one.
    pub(crate) fn is_by_class(&self) -> bool {
        matches!(self, Self::Classes(model) if model.is_by_class())
    }

    /// Whether it forgets rows as others come.
    pub(crate) fn forgets(&self) -> bool {
        self.settings().memory != Memory::Everything
    }

    /// Whether rows are given by their entries.
    pub(crate) fn is_sparse(&self) -> bool {
        !is_dense(self.settings().belief)
    }

    /// Learns a row that counts `weight` times.
    pub(crate) fn update(&mut self, row: Row<'_>, label: f64, weight: f64) -> Result<(), ModelError> {
        let label = Observation::new(label).weight(weight);
        each!(self, model => model.update(row, label))
    }

    pub(crate) fn predict(&self, row: Row<'_>) -> Result<Prediction, ModelError> {
        Ok(match self {
            Self::Number(model) => Prediction::Number(model.predict(row)?),
            Self::Count(model) => Prediction::Count(model.predict(row, Observation::new(0.0))?),
            Self::Two(model) => Prediction::Two(model.predict(row)?),
            Self::Classes(model) => Prediction::Classes(model.predict(row)?),
        })
    }

    /// Passes over all rows that it has learned until its posterior is the best Gaussian; none of a number, of which one pass is exact.
    ///
    /// # Errors
    /// What `pass` returns; what the model refuses.
    pub(crate) fn refine_over<E: From<ModelError>>(
        &mut self,
        settings: &BatchSettings,
        pass: impl FnMut(&mut Take<'_>) -> Result<(), E>,
    ) -> Result<Option<BatchInfo>, E> {
        match self {
            Self::Count(model) => model.refine_over(settings, pass).map(Some),
            Self::Two(model) => model.refine_over(settings, pass).map(Some),
            Self::Classes(model) => model.refine_over(settings, pass).map(Some),
            Self::Number(_) => Ok(None),
        }
    }

    pub(crate) fn info(&self) -> OnlineInfo {
        each!(self, model => model.info())
    }

    /// The coefficients of each linear predictor: one, or one for each class but the first.
    pub(crate) fn coefficients(&self) -> Result<Vec<Vec<Coefficient>>, ModelError> {
        Ok(match self {
            Self::Number(model) => vec![model.coefficients()?],
            Self::Count(model) => vec![model.coefficients()?],
            Self::Two(model) => vec![model.coefficients()?],
            Self::Classes(model) => {
                let others = model.weights().len();
                (1..=others).map(|class| model.coefficients(class)).collect::<Result<_, _>>()?
            }
        })
    }
}

impl Prediction {
    /// `log p` of what happened, in nats.
    pub(crate) fn log_density(&self, label: f64) -> Result<f64, ModelError> {
        match self {
            Self::Number(predicted) => Ok(predicted.log_density(label)),
            Self::Count(predicted) => predicted.log_density(label),
            Self::Two(predicted) => predicted.log_density(label),
            Self::Classes(predicted) => Ok(probability(predicted, label).ln()),
        }
    }

    /// What is expected: a number, a count, the probability of the second of two classes; of more classes none.
    pub(crate) fn mean(&self) -> Option<f64> {
        match self {
            Self::Number(predicted) => Some(predicted.mean()),
            Self::Count(predicted) => Some(predicted.mean),
            Self::Two(predicted) => Some(predicted.probability),
            Self::Classes(_) => None,
        }
    }

    /// What is expected as one number: of a count the mean at the expectation of its logarithm, since the average over a wide prior of that has no
    /// square to speak of. None where it is beyond the range of floats.
    pub(crate) fn point(&self) -> Option<f64> {
        let point = match self {
            Self::Count(predicted) => Some(predicted.predictor.mean().exp()),
            _ => self.mean(),
        };
        point.filter(|point| point.is_finite())
    }

    /// The most probable class.
    pub(crate) fn class(&self) -> Option<usize> {
        match self {
            Self::Two(predicted) => Some(usize::from(predicted.probability > 0.5)),
            Self::Classes(predicted) => Some(predicted.most_probable()),
            Self::Number(_) | Self::Count(_) => None,
        }
    }

    /// The central interval of the label, of two classes that of the probability; of more classes none.
    pub(crate) fn interval(&self, level: f64) -> Result<Option<Interval>, ModelError> {
        Ok(match self {
            Self::Number(predicted) => Some(predicted.interval(level)?),
            Self::Count(predicted) => Some(predicted.interval(level)?),
            Self::Two(predicted) => Some(predicted.interval(level)?),
            Self::Classes(_) => None,
        })
    }

    /// The predictive probabilities of less than a number or count, and of no more than it; none for classes.
    pub(crate) fn below(&self, label: f64) -> Result<Option<(f64, f64)>, ModelError> {
        Ok(match self {
            Self::Number(predicted) => {
                let below = predicted.label.cdf(label);
                Some((below, below))
            }
            Self::Count(predicted) => Some((predicted.cdf(label - 1.0)?, predicted.cdf(label)?)),
            Self::Two(_) | Self::Classes(_) => None,
        })
    }

    /// The standard deviation of the label; of two classes that of the probability.
    pub(crate) fn standard_deviation(&self) -> Option<f64> {
        match self {
            Self::Number(predicted) => Some(predicted.standard_deviation()),
            Self::Count(predicted) => Some(predicted.variance.sqrt()),
            Self::Two(predicted) => Some(predicted.variance.sqrt()),
            Self::Classes(_) => None,
        }
    }
}

/// Whether a belief takes all entries of a row.
fn is_dense(belief: BeliefKind) -> bool {
    matches!(belief, BeliefKind::Full | BeliefKind::SquareRoot)
}

/// What a softmax gives to class `label`.
fn probability(predicted: &SoftmaxPrediction, label: f64) -> f64 {
    predicted.probabilities.iter().enumerate().find(|(class, _)| *class as f64 == label).map_or(0.0, |(_, p)| *p)
}
