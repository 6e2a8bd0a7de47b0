//! The models, each learning rows as a user would with the defaults; `Memory::Learned` where the world drifts.

use rand::{Rng, RngExt};
use rand_distr::{Binomial, Distribution, Gamma, Poisson};
use vi_core::special::{normal_cdf, sigmoid};
use vi_models::ModelError;
use vi_models::online::family::{Counts, GlmFamily, Probit, SpreadCounts, Trials};
use vi_models::online::{
    Memory, Observation, OnlineGlm, OnlineInfo, OnlineLinear, OnlineLogistic, OnlineSettings, OnlineSoftmax,
};
use vi_models::vb::{VbLinear, VbLinearSettings, VbLogit, VbLogitSettings};

use super::Places;
use super::cells::{Cell, Truth};
use super::data::{Drawn, place};
use super::exact::Held;

/// Trials of a binomial label.
const TRIALS: u64 = 10;

/// The size of a negative-binomial label.
const SIZE: f64 = 3.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Model {
    Linear,
    Logit,
    Probit,
    Poisson,
    Binomial,
    NegativeBinomial,
    Softmax,
    /// Softmax with a belief for each class.
    ByClass,
    VbLinear {
        ard: bool,
    },
    VbLogit {
        ard: bool,
    },
}

impl Model {
    /// Those of the table of Gaussian inputs.
    pub(super) const ALL: [Self; 11] = [
        Self::Linear,
        Self::Logit,
        Self::Probit,
        Self::Poisson,
        Self::Binomial,
        Self::NegativeBinomial,
        Self::Softmax,
        Self::VbLinear { ard: false },
        Self::VbLinear { ard: true },
        Self::VbLogit { ard: false },
        Self::VbLogit { ard: true },
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Logit => "logit",
            Self::Probit => "probit",
            Self::Poisson => "poisson",
            Self::Binomial => "binomial",
            Self::NegativeBinomial => "negative_binomial",
            Self::Softmax => "softmax",
            Self::ByClass => "softmax_by_class",
            Self::VbLinear { ard: false } => "vb_linear",
            Self::VbLinear { ard: true } => "vb_linear_ard",
            Self::VbLogit { ard: false } => "vb_logit",
            Self::VbLogit { ard: true } => "vb_logit_ard",
        }
    }

    /// Whether labels grow exponentially with the predictor.
    pub(super) fn counts(self) -> bool {
        matches!(self, Self::Poisson | Self::NegativeBinomial)
    }

    /// Whether the truth can be asked of it: drift of models that forget, separable labels of those that have classes.
    pub(super) fn takes(self, truth: Truth) -> bool {
        let batch = matches!(self, Self::VbLinear { .. } | Self::VbLogit { .. });
        let classes = matches!(self, Self::Logit | Self::Probit | Self::Softmax | Self::ByClass | Self::VbLogit { .. });
        match truth {
            Truth::Drift => !batch,
            Truth::Separable => classes,
            _ => true,
        }
    }

    /// Whether a replication ends in about a second.
    pub(super) fn affords(self, inputs: usize, rows: usize) -> bool {
        match self {
            Self::Softmax | Self::ByClass => inputs <= 30 && inputs * rows <= 15_000,
            Self::Poisson | Self::Binomial | Self::NegativeBinomial => inputs <= 30,
            _ => true,
        }
    }

    pub(super) fn replicate<R: Rng>(self, cell: &Cell, rng: &mut R) -> Result<Places, ModelError> {
        let drawn = Drawn::new(cell, rng);
        match self {
            Self::Linear => linear(cell, &drawn, rng),
            Self::Logit => logit(cell, &drawn, rng),
            Self::Probit => glm(cell, &drawn, Probit, Observation::new, rng, |t, rng| Ok(coin(normal_cdf(t), rng))),
            Self::Poisson => glm(cell, &drawn, Counts, Observation::new, rng, |t, rng| poisson(t.exp(), rng)),
            Self::Binomial => {
                let observe = |y| Observation::new(y).trials(TRIALS as f64);
                glm(cell, &drawn, Trials, observe, rng, |t, rng| {
                    let counts = Binomial::new(TRIALS, sigmoid(t)).map_err(|_| undrawable(t))?;
                    Ok(counts.sample(rng) as f64)
                })
            }
            Self::NegativeBinomial => {
                glm(cell, &drawn, SpreadCounts { size: SIZE }, Observation::new, rng, |t, rng| {
                    let rates = Gamma::new(SIZE, t.exp() / SIZE).map_err(|_| undrawable(t))?;
                    poisson(rates.sample(rng), rng)
                })
            }
            Self::Softmax | Self::ByClass => softmax(cell, &drawn, rng),
            Self::VbLinear { ard } => vb_linear(cell, &drawn, ard, rng),
            Self::VbLogit { ard } => vb_logit(&drawn, ard, rng),
        }
    }
}

fn settings(cell: &Cell, defaults: OnlineSettings) -> OnlineSettings {
    let memory = if cell.truth == Truth::Drift { Memory::Learned } else { defaults.memory };
    OnlineSettings { memory, ..defaults }
}

fn coin<R: Rng>(p: f64, rng: &mut R) -> f64 {
    f64::from(rng.random::<f64>() < p)
}

fn poisson<R: Rng>(rate: f64, rng: &mut R) -> Result<f64, ModelError> {
    if rate < f64::MIN_POSITIVE {
        return Ok(0.0);
    }
    Ok(Poisson::new(rate).map_err(|_| undrawable(rate))?.sample(rng))
}

fn undrawable(value: f64) -> ModelError {
    vi_core::Error::Overflow { quantity: "mean of a count", value }.into()
}

/// Noise of standard deviation 1, or of heavy tails.
fn noisy<R: Rng>(cell: &Cell, predictors: &[f64], rng: &mut R) -> Vec<f64> {
    predictors.iter().map(|t| t + cell.world.noise(rng)).collect()
}

/// Whether the model says that its rows came in an order.
fn says_order(info: &OnlineInfo) -> bool {
    info.order.is_some_and(|order| order.is_in_runs())
}

fn coins<R: Rng>(predictors: &[f64], rng: &mut R) -> Vec<f64> {
    predictors.iter().map(|t| coin(sigmoid(*t), rng)).collect()
}

/// Where a label 0 or 1 lies that is drawn with `truth` and predicted with `predicted`.
fn coin_place<R: Rng>(truth: f64, predicted: f64, rng: &mut R) -> f64 {
    if coin(truth, rng) == 1.0 { place(1.0 - predicted, 1.0, rng) } else { place(0.0, 1.0 - predicted, rng) }
}

fn linear<R: Rng>(cell: &Cell, drawn: &Drawn, rng: &mut R) -> Result<Places, ModelError> {
    let settings = settings(cell, OnlineLinear::default_settings());
    let (shape, rate) = OnlineLinear::DEFAULT_NOISE;
    let mut model = OnlineLinear::with_settings(cell.inputs, settings, shape, rate)?;
    let labels = noisy(cell, &drawn.predictors, rng);
    let (rows, labels) = cell.world.ordered(&drawn.rows, &labels, rng);
    model.update_batch(&rows, &labels)?;
    let mut places = drawn.places(|j| model.weight(j), |x| Ok(model.predict(x)?.expectation))?;
    for ((x, _), y) in drawn.new_rows().zip(noisy(cell, &drawn.new_predictors, rng)) {
        places.labels.push(model.predict(x)?.label.cdf(y));
    }
    if cell.is_held() {
        let held = Held::new(cell, &[drawn], (&rows, labels), |t, rng| Ok(t[0] + cell.world.noise(rng)), rng)?;
        let told = (model.evidence(), says_order(&model.info()));
        places.held = Some(held.told(&model, told, |x, y| Ok(model.predict(x)?.log_density(y)))?);
    }
    Ok(places)
}

fn logit<R: Rng>(cell: &Cell, drawn: &Drawn, rng: &mut R) -> Result<Places, ModelError> {
    let mut model = OnlineLogistic::with_settings(cell.inputs, settings(cell, OnlineSettings::default()))?;
    let labels = coins(&drawn.predictors, rng);
    let (rows, labels) = cell.world.ordered(&drawn.rows, &labels, rng);
    model.update_batch(&rows, &labels)?;
    let mut places = drawn.places(|j| model.weight(j), |x| Ok(model.predict(x)?.predictor))?;
    for (x, truth) in drawn.new_rows() {
        places.labels.push(coin_place(sigmoid(truth), model.predict(x)?.probability, rng));
    }
    if cell.is_held() {
        let held = Held::new(cell, &[drawn], (&rows, labels), |t, rng| Ok(coin(sigmoid(t[0]), rng)), rng)?;
        let told = (model.evidence(), says_order(&model.info()));
        places.held = Some(held.told(&model, told, |x, y| model.predict(x)?.log_density(y))?);
    }
    Ok(places)
}

fn glm<F: GlmFamily, R: Rng>(
    cell: &Cell,
    drawn: &Drawn,
    family: F,
    observe: impl Fn(f64) -> Observation,
    rng: &mut R,
    label: impl Fn(f64, &mut R) -> Result<f64, ModelError>,
) -> Result<Places, ModelError> {
    let labels: Vec<f64> = drawn.predictors.iter().map(|t| label(*t, rng)).collect::<Result<_, ModelError>>()?;
    let mut model = OnlineGlm::with_settings(cell.inputs, family, settings(cell, OnlineSettings::default()))?;
    let (rows, labels) = cell.world.ordered(&drawn.rows, &labels, rng);
    model.update_batch(&rows, &labels.iter().copied().map(&observe).collect::<Vec<_>>())?;
    let at = |x: &[f64]| model.predict(x, observe(0.0));
    let mut places = drawn.places(|j| model.weight(j), |x| Ok(at(x)?.predictor))?;
    for (x, truth) in drawn.new_rows() {
        let (predicted, y) = (at(x)?, label(truth, rng)?);
        places.labels.push(place(predicted.cdf(y - 1.0)?, predicted.cdf(y)?, rng));
    }
    if cell.is_held() {
        let held = Held::new(cell, &[drawn], (&rows, labels), |t, rng| label(t[0], rng), rng)?;
        let told = (model.evidence(), says_order(&model.info()));
        places.held = Some(held.told(&model, told, |x, y| at(x)?.log_density(y))?);
    }
    Ok(places)
}

/// The weights of class 1 are those of the cell, and each other class has its own of the same make; class 0 too, so that what is
/// known is a difference.
fn softmax<R: Rng>(cell: &Cell, first: &Drawn, rng: &mut R) -> Result<Places, ModelError> {
    let base = first.again(cell, rng);
    // Truths that are the same for every class would differ by nothing.
    let base = if matches!(cell.truth, Truth::Opposing | Truth::Sparse) { base.without_weights() } else { base };
    let (inputs, count) = (cell.inputs, cell.world.classes());
    let others: Vec<Drawn> = (2..count).map(|_| first.again(cell, rng).relative_to(&base)).collect();
    let first = first.again(cell, rng).relative_to(&base);
    let classes: Vec<&Drawn> = std::iter::once(&first).chain(&others).collect();
    let mut draw = |of: fn(&Drawn) -> &[f64]| -> Vec<f64> {
        (0..of(&first).len())
            .map(|i| {
                let logits: Vec<f64> = std::iter::once(0.0).chain(classes.iter().map(|class| of(class)[i])).collect();
                class_of(&logits, rng)
            })
            .collect()
    };
    let labels = draw(|class| &class.predictors);
    let new = draw(|class| &class.new_predictors);
    let settings = settings(cell, OnlineSettings::default());
    let mut model = match cell.model {
        Model::ByClass => OnlineSoftmax::by_class(inputs, count, settings)?,
        _ => OnlineSoftmax::with_settings(inputs, count, settings)?,
    };
    let (rows, labels) = cell.world.ordered(&first.rows, &labels, rng);
    model.update_batch(&rows, &labels)?;
    let mut places = Places::default();
    for (class, c) in classes.iter().zip(1..) {
        let of = class.places(|j| model.weight(c, j), |x| model.predictor(x, c))?;
        places.weights.extend(of.weights);
        places.predictors.extend(of.predictors);
    }
    for ((x, _), y) in first.new_rows().zip(new) {
        let probabilities = model.predict(x)?.probabilities;
        let below: f64 = probabilities.iter().zip(0..).filter(|(_, c)| f64::from(*c) < y).map(|(p, _)| p).sum();
        let upto: f64 = probabilities.iter().zip(0..).filter(|(_, c)| f64::from(*c) <= y).map(|(p, _)| p).sum();
        places.labels.push(place(below, upto, rng));
    }
    if cell.is_held() {
        let label = |t: &[f64], rng: &mut R| Ok(class_of(&[&[0.0], t].concat(), rng));
        let held = Held::new(cell, &classes, (&rows, labels), label, rng)?;
        let told = (model.evidence(), says_order(&model.info()));
        places.held = Some(held.told(&model, told, |x, y| {
            let probabilities = model.predict(x)?.probabilities;
            Ok(probabilities.iter().zip(0..).find(|(_, c)| f64::from(*c) == y).map_or(f64::NAN, |(p, _)| p.ln()))
        })?);
    }
    Ok(places)
}

/// A class drawn from the softmax of its logits.
fn class_of<R: Rng>(logits: &[f64], rng: &mut R) -> f64 {
    let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let masses: Vec<f64> = logits.iter().map(|logit| (logit - top).exp()).collect();
    let mut left = rng.random::<f64>() * masses.iter().sum::<f64>();
    let chosen = masses.iter().position(|mass| {
        left -= mass;
        left < 0.0
    });
    chosen.unwrap_or(logits.len() - 1) as f64
}

/// Where the truth lies in a Gaussian belief of it.
fn gaussian(mean: f64, deviation: f64, truth: f64) -> f64 {
    normal_cdf((truth - mean) / deviation)
}

fn vb_linear<R: Rng>(cell: &Cell, drawn: &Drawn, ard: bool, rng: &mut R) -> Result<Places, ModelError> {
    let labels = noisy(cell, &drawn.predictors, rng);
    let settings = VbLinearSettings { ard, ..VbLinearSettings::default() };
    let model = VbLinear::fit(&drawn.rows, drawn.theta.len(), &labels, &settings)?;
    let coefficients = model.coefficients();
    let at_rows = model.predict(&drawn.new)?;
    let weights = drawn.theta.iter().enumerate();
    let predictors = drawn.new_predictors.iter().zip(&at_rows);
    let labels = noisy(cell, &drawn.new_predictors, rng).into_iter().zip(&at_rows);
    Ok(Places {
        weights: weights
            .map(|(j, truth)| gaussian(coefficients.weights[j], coefficients.standard_deviations[j], *truth))
            .collect(),
        predictors: predictors.map(|(truth, at)| gaussian(at.mean, at.weight_variance().sqrt(), *truth)).collect(),
        labels: labels.map(|(y, at)| Ok(at.distribution()?.cdf(y))).collect::<Result<_, ModelError>>()?,
        held: None,
    })
}

fn vb_logit<R: Rng>(drawn: &Drawn, ard: bool, rng: &mut R) -> Result<Places, ModelError> {
    let labels = coins(&drawn.predictors, rng);
    let settings = VbLogitSettings { ard, ..VbLogitSettings::default() };
    let model = VbLogit::fit(&drawn.rows, drawn.theta.len(), &labels, &settings)?;
    let coefficients = model.coefficients();
    let at_rows = model.predict(&drawn.new)?;
    let weights = drawn.theta.iter().enumerate();
    let predictors = drawn.new_predictors.iter().zip(&at_rows);
    let labels = drawn.new_predictors.iter().zip(&at_rows);
    Ok(Places {
        weights: weights
            .map(|(j, truth)| gaussian(coefficients.weights[j], coefficients.standard_deviations[j], *truth))
            .collect(),
        predictors: predictors
            .map(|(truth, at)| gaussian(at.projection.mean, at.projection.variance.sqrt(), *truth))
            .collect(),
        labels: labels.map(|(truth, at)| coin_place(sigmoid(*truth), at.probability, rng)).collect(),
        held: None,
    })
}
