//! Classes that have an order, one row at a time.

use rand::Rng;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use vi_core::refine::{RefineInfo, RefineSettings};
use vi_core::{BernoulliLogit, Error, Mixture8};

use super::engine::{Engine, EngineWire, Levels, Pass, ScalarFamily, Stateful, row_likelihood};
use super::observation::Observation;
use super::predicted::average;
use super::{Coefficient, Draw, OnlineInfo, OnlineSettings, Row, Rows};
use crate::softmax::SoftmaxPrediction;
use crate::{Marginal, ModelError};

mod ladder;

/// The most classes.
const MOST: usize = 256;

/// Classes `0 < 1 < …`, told in steps: at each class in turn whether the label goes beyond it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ordered {
    classes: usize,
}

impl Stateful for Ordered {
    type State = ();

    fn initial(&self) {}
}

impl ScalarFamily for Ordered {
    type Likelihood = BernoulliLogit<Mixture8>;

    const PASS: Pass = Pass::MomentsOfUnitWeights;

    fn check(&self) -> Result<(), Error> {
        if (2..=MOST).contains(&self.classes) {
            return Ok(());
        }
        Err(Error::Setting { name: "classes", value: self.classes as f64, requirement: "from 2 to 256 in an order" })
    }

    fn ordered(&self) -> Option<usize> {
        Some(self.classes)
    }

    fn levels(&self) -> Option<Levels> {
        let names = (1..self.classes).map(|k| format!("{}|{k}", k - 1)).collect();
        Some(Levels { names, sign: -1.0, shift: 0.0 })
    }

    fn check_observed(&self, observed: &Observation) -> Result<(), Error> {
        row_likelihood(self, &(), observed)?;
        let label = observed.label;
        if label >= 0.0 && label.fract() == 0.0 && label < self.classes as f64 {
            Ok(())
        } else {
            Err(Error::Label { label, family: "sequential logit (classes 0 to C − 1)" })
        }
    }

    /// Whether the label is beyond class `k`, given that it is not below it.
    fn step(&self, observed: &Observation, k: usize) -> Option<Observation> {
        let (at, label) = (k as f64, observed.label);
        let is_asked = k + 1 < self.classes && label >= at;
        is_asked.then(|| observed.labelled(f64::from(u8::from(label > at))))
    }

    fn likelihood(&self, (): &(), _size: f64) -> Result<Self::Likelihood, Error> {
        Ok(BernoulliLogit(Mixture8))
    }
}

/// Regression for a stream of labels `0 < 1 < … < C−1` that are classes with an order: ratings, grades, stages.
///
/// One linear predictor serves all classes, by the sequential (continuation-ratio) model
///
/// ```text
/// P(y > k | y ≥ k, x) = s(xᵀw − c_k),   k = 0, …, C−2,
/// P(y = k | x) = s(c_k − xᵀw)·Π_{j<k} s(xᵀw − c_j),
/// ```
///
/// with cut points `c_k` that are learned; they need not increase. A row of class `k` is `min(k+1, C−1)` rows of a logistic regression, one after
/// another: whether the label went beyond class 0, beyond class 1, and so on. So everything is that of [`OnlineLogistic`](super::OnlineLogistic),
/// which it equals for two classes, over the weights of the inputs, an intercept `−c_0` and `c_0 − c_k`; these have the prior of the intercept,
/// not that of the weights. The likelihood is log-concave. The cumulative logit (proportional odds), where weights are shared too,
/// has an interval of one number for a label, whose ends must be in order: no Gaussian over them is.
///
/// Cost: a row of class `k` as `k + 1` rows of a logistic regression (`3p²` flops each with `p` weights and a full covariance) and a copy of the
/// belief; a prediction `C − 1` products with the belief and `C³` flops, for each prior scale. A softmax has `C − 1` times as many weights.
/// The weights of a row count in each of its steps, and its score is the sum of its steps'.
///
/// G. Tutz, Sequential models in categorical regression, Computational Statistics & Data Analysis 11 (1991); A. Agresti, Analysis of Ordinal
/// Categorical Data (2010), section 4.2.
///
/// ```
/// use vi_models::online::OnlineOrdered;
/// let mut stars = OnlineOrdered::new(1, 3)?;
/// for t in 0..90 {
///     let x = f64::from(t % 9) - 4.0;
///     stars.update(&[x], if x < -1.0 { 0.0 } else if x < 1.5 { 1.0 } else { 2.0 })?;
/// }
/// let seen = stars.predict(&[3.5])?;
/// assert!(seen.most_probable() == 2 && seen.probabilities[1] > seen.probabilities[0]);
/// assert!(stars.weight(0)?.interval(0.9)?.lower > 0.0);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone)]
pub struct OnlineOrdered {
    engine: Engine<Ordered>,
}

impl OnlineOrdered {
    /// A model of `inputs` columns and `classes = C` classes with default settings.
    ///
    /// # Errors
    /// As [`with_settings`](Self::with_settings).
    pub fn new(inputs: usize, classes: usize) -> Result<Self, ModelError> {
        Self::with_settings(inputs, classes, OnlineSettings::default())
    }

    /// A model of `inputs` columns and `classes = C` classes, at most 256. Without an intercept the first cut point is 0.
    ///
    /// # Errors
    /// `Setting`, `Empty` and `Dimension` for invalid settings.
    pub fn with_settings(inputs: usize, classes: usize, settings: OnlineSettings) -> Result<Self, ModelError> {
        Ok(Self { engine: Engine::new(inputs, Ordered { classes }, settings)? })
    }

    /// The number of classes.
    #[must_use]
    pub fn classes(&self) -> usize {
        self.engine.family.classes
    }

    /// The predictive probability of each class at `row`. Each step is predicted by the belief after the label has gone beyond all classes
    /// before, so that with a full covariance the score of a row of weight 1 before it is learned is the logarithm of its probability here.
    ///
    /// # Errors
    /// `Dimension`, `NonFinite`, `Entry` (a position).
    pub fn predict<'a>(&self, row: impl Into<Row<'a>>) -> Result<SoftmaxPrediction, ModelError> {
        self.predict_at(row, 0.0)
    }

    /// As [`predict`](Self::predict), with a known part of the linear predictor added.
    ///
    /// # Errors
    /// As [`predict`](Self::predict); `Setting` for an offset that is not finite.
    pub fn predict_at<'a>(&self, row: impl Into<Row<'a>>, offset: f64) -> Result<SoftmaxPrediction, ModelError> {
        let parts = self.engine.steps_at(row.into(), offset, self.classes() - 1)?.into_iter();
        let parts = parts.map(|(weight, steps)| Ok((weight, ladder::classes(&self.engine.family, &steps)?)));
        Ok(average(&parts.collect::<Result<Vec<_>, ModelError>>()?))
    }

    /// The posterior of each cut point `c_0, …, c_{C−2}` of the linear predictor `xᵀw`, in the units of the inputs. Each costs as much as a
    /// prediction of a logistic regression.
    ///
    /// # Errors
    /// `Overflow`.
    pub fn cuts(&self) -> Result<Vec<Marginal>, ModelError> {
        Ok(self.engine.levels()?.into_iter().map(|level| level.belief).collect())
    }
}

front_door!(OnlineOrdered, Ordered);
one_predictor!(OnlineOrdered);
predicts_batches!(OnlineOrdered, SoftmaxPrediction);
approximate!(OnlineOrdered);
