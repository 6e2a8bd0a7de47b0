//! The prediction of a model whose kind is a value.

use rand::Rng;
use vi_core::Mixture8;

use super::{LabelPredicted, NumberPredicted, Observation, ProbabilityPredicted, SurvivalPredicted};
use crate::likelihood::{BernoulliProbit, Binomial, NegativeBinomial, Poisson, ZeroInflated};
use crate::softmax::SoftmaxPrediction;
use crate::{Interval, ModelError};

/// The prediction of a [`Model`](super::Model) at a row: that of the model within.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Prediction {
    /// Of a number.
    Number(NumberPredicted),
    /// Of a Poisson count.
    Count(LabelPredicted<Poisson>),
    /// Of a label 0 or 1.
    Two(ProbabilityPredicted),
    /// Of one of several classes.
    Classes(SoftmaxPrediction),
    /// Of a label 0 or 1 by a probit.
    Probit(LabelPredicted<BernoulliProbit>),
    /// Of successes among trials.
    Trials(LabelPredicted<Binomial<Mixture8>>),
    /// Of a count that varies more than a Poisson's.
    Spread(LabelPredicted<NegativeBinomial<Mixture8>>),
    /// Of a count with excess zeros.
    Inflated(LabelPredicted<ZeroInflated>),
    /// Of the time of an event.
    Survival(SurvivalPredicted),
}

/// A body for the prediction of a number, a probability, a label of another family, classes, and a time.
macro_rules! each {
    ($seen:expr, $n:ident => $number:expr, $p:ident => $two:expr, $l:ident => $label:expr, $c:ident => $classes:expr, $t:ident => $time:expr) => {
        match $seen {
            Self::Number($n) => $number,
            Self::Two($p) => $two,
            Self::Count($l) => $label,
            Self::Probit($l) => $label,
            Self::Trials($l) => $label,
            Self::Spread($l) => $label,
            Self::Inflated($l) => $label,
            Self::Classes($c) => $classes,
            Self::Survival($t) => $time,
        }
    };
}

impl Prediction {
    /// The expected label, of labels 0 and 1 the probability of 1; `None` for several classes, and for a time whose mean is beyond floats.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        each!(self, seen => Some(seen.mean()), seen => Some(seen.probability), seen => Some(seen.mean), _seen => None, seen => seen.mean().ok())
    }

    /// The standard deviation of the label, of [`Two`](Self::Two) that of the probability; `None` for several classes and times.
    #[must_use]
    pub fn standard_deviation(&self) -> Option<f64> {
        let root = |variance: f64| Some(variance.max(0.0).sqrt());
        each!(self, seen => Some(seen.standard_deviation()), seen => root(seen.variance), seen => root(seen.variance), _seen => None, _seen => None)
    }

    /// The central interval of the label, of [`Two`](Self::Two) that of the probability; `None` for several classes.
    ///
    /// # Errors
    /// Those of the prediction within.
    pub fn interval(&self, level: f64) -> Result<Option<Interval>, ModelError> {
        each!(self, seen => seen.interval(level).map(Some), seen => seen.interval(level).map(Some), seen => {
            seen.interval(level).map(Some)
        }, _seen => Ok(None), seen => seen.interval(level).map(Some))
    }

    /// The smallest label that is not exceeded with probability `p`, of [`Two`](Self::Two) the quantile of the probability; `None` for several
    /// classes.
    ///
    /// # Errors
    /// Those of the prediction within.
    pub fn quantile(&self, p: f64) -> Result<Option<f64>, ModelError> {
        each!(self, seen => seen.quantile(p).map(Some), seen => seen.quantile(p).map(Some), seen => seen.quantile(p).map(Some), _seen => Ok(None), seen => seen.quantile(p).map(Some))
    }

    /// The continuous ranked probability score of a label, in its units, lower is better; `None` for [`Two`](Self::Two), several classes and times.
    ///
    /// # Errors
    /// Those of the prediction within.
    pub fn crps(&self, y: f64) -> Result<Option<f64>, ModelError> {
        each!(self, seen => Ok(Some(seen.label.crps(y))), _seen => Ok(None), seen => seen.crps(y).map(Some), _seen => Ok(None), _seen => Ok(None))
    }

    /// `P(Y < y)` and `P(Y ≤ y)`; `None` for [`Two`](Self::Two) and several classes, which have no order.
    ///
    /// # Errors
    /// Those of the prediction within.
    pub fn below(&self, y: f64) -> Result<Option<(f64, f64)>, ModelError> {
        each!(self, seen => {
            let below = seen.label.cdf(y);
            Ok(Some((below, below)))
        }, _seen => Ok(None), seen => Ok(Some((seen.cdf(y - 1.0)?, seen.cdf(y)?))), _seen => Ok(None), seen => {
            let below = seen.cdf(y)?;
            Ok(Some((below, below)))
        })
    }

    /// `log p(y)` of a label, in nats.
    ///
    /// # Errors
    /// Those of the prediction within; [`ModelError::ClassLabel`].
    pub fn log_density(&self, y: f64) -> Result<f64, ModelError> {
        each!(self, seen => Ok(seen.log_density(y)), seen => seen.log_density(y), seen => seen.log_density(y), seen => {
            let probabilities = &seen.probabilities;
            let own = probabilities.iter().enumerate().find(|(class, _)| *class as f64 == y);
            let unknown = ModelError::ClassLabel { index: 0, value: y, classes: probabilities.len() };
            own.map(|(_, p)| p.ln()).ok_or(unknown)
        }, seen => seen.log_density(y))
    }

    /// `log p` of what was observed, in nats: of the label, of the [range](Observation::between) of a number, or that no event came up to a time that is
    /// [censored](Observation::censored).
    ///
    /// # Errors
    /// As [`log_density`](Self::log_density); [`ModelError::Unsupported`] for a range of another label.
    pub fn log_density_of(&self, observed: Observation) -> Result<f64, ModelError> {
        match self {
            Self::Survival(seen) => seen.log_density_of(observed),
            Self::Number(seen) if observed.is_range() => {
                let (low, high) = observed.ends();
                Ok(seen.label.log_probability(low, high))
            }
            _ if observed.is_range() => Err(ModelError::Unsupported { what: "range of a label that is no number" }),
            _ => self.log_density(observed.label),
        }
    }

    /// `P(Y < y)` and `P(Y ≤ y)` as [`below`](Self::below); of a range both up to a number in it that has this `share` of the range's probability below it:
    /// uniform, if the share is and the prediction is right.
    ///
    /// # Errors
    /// Those of the prediction within.
    pub fn below_of(&self, observed: Observation, share: f64) -> Result<Option<(f64, f64)>, ModelError> {
        match self {
            Self::Number(seen) if observed.is_range() => {
                let (low, high) = observed.ends();
                let below = seen.label.cdf(low);
                Ok(Some([below + share * (seen.label.cdf(high) - below); 2].into()))
            }
            _ => self.below(observed.label),
        }
    }

    /// The most probable class; `None` for labels that are no classes.
    #[must_use]
    pub fn class(&self) -> Option<usize> {
        match self {
            Self::Two(seen) => Some(usize::from(seen.probability > 0.5)),
            Self::Probit(seen) => Some(usize::from(seen.mean > 0.5)),
            Self::Classes(seen) => Some(seen.most_probable()),
            Self::Survival(_)
            | Self::Number(_)
            | Self::Count(_)
            | Self::Trials(_)
            | Self::Spread(_)
            | Self::Inflated(_) => None,
        }
    }

    /// A draw of the label.
    ///
    /// # Errors
    /// Those of the prediction within.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> Result<f64, ModelError> {
        each!(self, seen => seen.label.draw(rng), seen => Ok(seen.draw_label(rng)), seen => seen.draw(rng), seen => {
            Ok(seen.draw(rng) as f64)
        }, seen => seen.draw(rng))
    }
}
