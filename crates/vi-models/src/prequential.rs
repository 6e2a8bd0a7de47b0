//! Prequential scoring: every observation of a stream is predicted and scored before it is learned.

use vi_core::expectation::LogisticExpectation;
use vi_core::{Error, Forget, GaussianExpectation, Learner, Likelihoods, Projection, Rows, SiteRules};

use crate::ModelError;

/// The one-step-ahead predictions of a model over a stream, and their losses.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Evaluation<P> {
    /// The prediction of each item, made before the model learned it.
    pub predictions: Vec<P>,
    /// The log losses `−log p(y_t | earlier)`, in nats.
    pub log_losses: Vec<f64>,
}

impl<P> Evaluation<P> {
    /// The prequential log evidence `Σ log p(y_t | earlier)`, in nats; for a linear model it equals that of
    /// [`linear::fit`](crate::linear::fit).
    #[must_use]
    pub fn log_evidence(&self) -> f64 {
        -self.log_losses.iter().sum::<f64>()
    }

    /// The running log loss, to be plotted: the mean of the first `t+1` losses for `t = 0..n`, in nats per observation.
    #[must_use]
    pub fn running_log_loss(&self) -> Vec<f64> {
        let mut sum = 0.0;
        let next = |(t, loss): (usize, &f64)| {
            sum += loss;
            sum / (t + 1) as f64
        };
        self.log_losses.iter().enumerate().map(next).collect()
    }
}

impl Evaluation<Projection> {
    /// The predictive probability of label 1 at each step, for a logistic model: `E s(t)` under `N(a, ν)`.
    #[must_use]
    pub fn probabilities<M: LogisticExpectation>(&self, method: &M) -> Vec<f64> {
        // The mixture's weights sum to 1 up to rounding.
        self.predictions.iter().map(|seen| method.sigmoid(seen.mean, seen.variance).0.clamp(0.0, 1.0)).collect()
    }
}

/// Makes a learner learn the rows `x` (`n` of length `d`) with labels `y`, in order, and returns for each row its [`Projection`]
/// and its loss before it was learned.
///
/// Rule and likelihood of a learner are separate: all rules can be scored by the same exact predictive probability, whatever
/// approximation they learn with. Cost that of [`Learner::run`].
///
/// # Errors
/// Those of [`Learner::run`]; the learner is then as it was.
///
/// ```
/// use vi_core::{BernoulliLogit, DenseGaussian, Exact, Implicit, Learner, Mixture8};
/// use vi_linalg::faer::mat;
/// use vi_models::prequential;
///
/// let x = mat![[1.0, 2.0], [1.0, -1.0], [1.0, 1.5], [1.0, -2.0]];
/// let y = [1.0, 0.0, 1.0, 0.0];
/// let prior = DenseGaussian::isotropic(&[0.0, 0.0], 2.0)?;
/// let mut learner = Learner::new(prior, Implicit(BernoulliLogit(Mixture8)), BernoulliLogit(Exact));
/// let record = prequential::run(&mut learner, &x, &y)?;
/// assert!((record.log_losses[0] - f64::ln(2.0)).abs() < 1e-12); // nothing learnt yet
/// assert!(record.log_losses[3] < 0.5);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn run<'a, B: Forget + Clone, R: SiteRules, L: Likelihoods<Row: GaussianExpectation>>(
    learner: &mut Learner<B, R, L>,
    x: impl Into<Rows<'a>>,
    y: &[f64],
) -> Result<Evaluation<Projection>, ModelError> {
    let mut record = Evaluation { predictions: Vec::with_capacity(y.len()), log_losses: Vec::with_capacity(y.len()) };
    learner.run(x, y, |_, _, scored| {
        record.predictions.push(scored.step.projection);
        record.log_losses.push(-scored.log_density);
    })?;
    Ok(record)
}

/// Makes any model learn a stream: each item is predicted, scored, and only then learned.
///
/// `predict(model, item)` returns a prediction, to be kept, and the log density or probability of what happened, in nats;
/// `learn(model, item)` updates the model. The predictions can then be scored by every [metric](crate::metrics): intervals by
/// coverage, probabilities by calibration, means by the RMSE.
///
/// # Errors
/// The first error of `predict` or `learn`, naming the row if it is one of `vi-core`'s; `NonFinite` for a score that is NaN or
/// `+∞`. The model is then as the last successful call left it.
///
/// ```
/// use vi_models::online::OnlineLinear;
/// use vi_models::{metrics, prequential};
///
/// let stream = [([0.0], 0.9), ([1.0], 3.1), ([2.0], 5.0), ([3.0], 7.2)];
/// let mut model = OnlineLinear::with_settings(1, OnlineLinear::default_settings(), 1.0, 1.0)?;
/// let record = prequential::evaluate(
///     &mut model,
///     stream,
///     |model, (x, y)| {
///         let predicted = model.predict(x)?;
///         let score = predicted.log_density(*y);
///         Ok((predicted, score))
///     },
///     |model, (x, y)| model.update(x, *y),
/// )?;
/// let targets = stream.map(|(_, y)| y);
/// let intervals = record.predictions.iter().map(|predicted| predicted.interval(0.9)).collect::<Result<Vec<_>, _>>()?;
/// assert_eq!(metrics::coverage(&intervals, &targets)?, 1.0);
/// assert!(record.running_log_loss()[3] < record.log_losses[0]);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn evaluate<M, T, P>(
    model: &mut M,
    stream: impl IntoIterator<Item = T>,
    mut predict: impl FnMut(&M, &T) -> Result<(P, f64), ModelError>,
    mut learn: impl FnMut(&mut M, &T) -> Result<(), ModelError>,
) -> Result<Evaluation<P>, ModelError> {
    let mut record = Evaluation { predictions: Vec::new(), log_losses: Vec::new() };
    for (t, item) in stream.into_iter().enumerate() {
        let (prediction, score) = predict(model, &item).map_err(|error| error.at_row(t))?;
        if score.is_nan() || score == f64::INFINITY {
            let error = Error::NonFinite { argument: "score", index: 0, value: score };
            return Err(error.at_row(t).into());
        }
        record.predictions.push(prediction);
        record.log_losses.push(-score);
        learn(model, &item).map_err(|error| error.at_row(t))?;
    }
    Ok(record)
}

#[cfg(test)]
mod tests;
