//! Predictions and their scores.

use vi_models::metrics::{msll, smse};
use vi_models::predict::LinearPrediction;

use crate::error::{Doing as _, ReproError};

pub(super) use crate::report::median;

/// Predictive means and variances of labels, noise included.
#[derive(Clone, Debug, Default)]
pub(super) struct Predicted {
    pub(super) means: Vec<f64>,
    pub(super) variances: Vec<f64>,
}

impl Predicted {
    pub(super) fn push(&mut self, mean: f64, variance: f64) {
        self.means.push(mean);
        self.variances.push(variance);
    }

    /// The means with `count` standard deviations added.
    pub(super) fn edge(&self, count: f64) -> Vec<f64> {
        self.means.iter().zip(&self.variances).map(|(m, v)| m + count * v.sqrt()).collect()
    }

    pub(super) fn scores(&self, targets: &[f64], training: &[f64]) -> Result<Scores, ReproError> {
        Ok(Scores {
            smse: smse(&self.means, targets).context("scores")?,
            msll: msll(&self.means, &self.variances, targets, training).context("scores")?,
        })
    }
}

impl FromIterator<LinearPrediction> for Predicted {
    fn from_iter<I: IntoIterator<Item = LinearPrediction>>(predictions: I) -> Self {
        let mut all = Self::default();
        predictions.into_iter().for_each(|p| all.push(p.mean, p.predictive_variance));
        all
    }
}

/// Standardised squared error and standardised log loss; smaller is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scores {
    pub(super) smse: f64,
    pub(super) msll: f64,
}

/// A quantile of unsorted numbers, the nearest below.
pub(super) fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a small count")]
    let place = (share * sorted.len().saturating_sub(1) as f64).round() as usize;
    sorted.get(place).copied().unwrap_or(f64::NAN)
}
