//! Predict, then learn: every observation of a stream scored before it is used.

use vi_core::expectation::LogisticExpectation;
use vi_core::{Belief, GaussianExpectation, Projection, SiteRule, filter};
use vi_linalg::faer::MatRef;

use crate::ModelError;

/// The one-step-ahead predictions of a filter over a stream of `n` observations, and what they lost.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Prequential {
    /// How the belief saw row `t` before it learnt from it, `t = 0..n`.
    pub projections: Vec<Projection>,
    /// `−log p(y_t | x_t, earlier observations)`, in nats.
    pub log_losses: Vec<f64>,
}

impl Prequential {
    /// The prequential log evidence `Σ log p(y_t | earlier)`, in nats; for a linear model that of
    /// [`linear::fit`](crate::linear::fit).
    #[must_use]
    pub fn log_evidence(&self) -> f64 {
        -self.log_losses.iter().sum::<f64>()
    }

    /// The mean of the first `t+1` losses for `t = 0..n`, in nats per observation: the curve to plot.
    #[must_use]
    pub fn running_log_loss(&self) -> Vec<f64> {
        let mut sum = 0.0;
        self.log_losses
            .iter()
            .enumerate()
            .map(|(t, loss)| {
                sum += loss;
                sum / (t + 1) as f64
            })
            .collect()
    }

    /// The predictive probability of label 1 at each step, for a logistic model: `E s(t)` under `N(a, ν)`.
    #[must_use]
    pub fn probabilities<M: LogisticExpectation>(&self, method: &M) -> Vec<f64> {
        // The mixture's weights sum to 1 up to rounding.
        self.projections.iter().map(|seen| method.sigmoid(seen.mean, seen.variance).0.clamp(0.0, 1.0)).collect()
    }
}

/// Runs a filter over the rows of `x` (`n × d`) with labels `y`, in order, and scores each label by `likelihood` under the
/// belief that has not seen it yet.
///
/// Rule and likelihood are separate: all rules can be scored by the same exact predictive probability, whatever
/// approximation they learn with. Cost that of [`filter::run`] and one expectation per observation.
///
/// # Errors
/// Those of [`filter::run`], and `Row` with `Label` for a label outside `likelihood`'s support; `belief` is then as it was.
///
/// ```
/// use vi_core::{BernoulliLogit, DenseGaussian, Exact, Implicit, Mixture8};
/// use vi_linalg::faer::mat;
/// use vi_models::prequential;
///
/// let x = mat![[1.0, 2.0], [1.0, -1.0], [1.0, 1.5], [1.0, -2.0]];
/// let y = [1.0, 0.0, 1.0, 0.0];
/// let mut belief = DenseGaussian::isotropic(&[0.0, 0.0], 2.0)?;
/// let rule = Implicit(BernoulliLogit(Mixture8));
/// let record = prequential::run(&mut belief, &rule, &BernoulliLogit(Exact), x.as_ref(), &y)?;
/// assert!((record.log_losses[0] - f64::ln(2.0)).abs() < 1e-12); // nothing learnt yet
/// assert!(record.log_losses[3] < 0.5);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn run<B: Belief + Clone, R: SiteRule, L: GaussianExpectation>(
    belief: &mut B,
    rule: &R,
    likelihood: &L,
    x: MatRef<'_, f64>,
    y: &[f64],
) -> Result<Prequential, ModelError> {
    for (t, &label) in y.iter().enumerate() {
        likelihood.check_label(label).map_err(|error| error.at_row(t))?;
    }
    let mut record = Prequential { projections: Vec::with_capacity(y.len()), log_losses: Vec::with_capacity(y.len()) };
    filter::run(belief, rule, x, y, |t, _, info| {
        let seen = info.projection;
        record.projections.push(seen);
        record.log_losses.push(-likelihood.log_predictive(y[t], seen.mean, seen.variance));
    })?;
    Ok(record)
}

#[cfg(test)]
mod tests;
