//! Predictions of a softmax regression.

use rand::{Rng, RngExt};
use vi_core::DenseGaussian;
use vi_linalg::faer::MatRef;

use super::logits::probabilities;
use super::step::logits;
use super::{Softmax, SoftmaxScratch};
use crate::{ModelError, check};

/// The prediction of the class at one row.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SoftmaxPrediction {
    /// `E π`, the predictive probability of each class, length `C`.
    pub probabilities: Vec<f64>,
    /// `Var π`, the uncertainty of each probability that comes from the weights, length `C`.
    pub variances: Vec<f64>,
}

impl SoftmaxPrediction {
    /// The class of highest probability, the first of equals.
    #[must_use]
    pub fn most_probable(&self) -> usize {
        let mut best = 0;
        for (c, p) in self.probabilities.iter().enumerate() {
            if *p > self.probabilities[best] {
                best = c;
            }
        }
        best
    }

    /// The prediction set: the smallest set of classes that holds the label with probability `level` or more, the most probable
    /// first.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` unless `0 < level < 1`.
    pub fn set(&self, level: f64) -> Result<Vec<usize>, ModelError> {
        check::probability("level", level)?;
        let mut order: Vec<usize> = (0..self.probabilities.len()).collect();
        order.sort_by(|&a, &b| self.probabilities[b].total_cmp(&self.probabilities[a]));
        let mut held = 0.0;
        let enough = order.iter().position(|&c| {
            held += self.probabilities[c];
            held >= level
        });
        order.truncate(enough.map_or(self.probabilities.len(), |last| last + 1));
        Ok(order)
    }

    /// One draw of the class.
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> usize {
        let mut left: f64 = rng.random::<f64>() * self.probabilities.iter().sum::<f64>();
        for (c, p) in self.probabilities.iter().enumerate() {
            left -= p;
            if left < 0.0 {
                return c;
            }
        }
        self.most_probable()
    }
}

impl Softmax {
    /// The prediction at the row `x` (length `d`). Cost `2D²` and one pass over the nodes.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Dimension`, `NonFinite`, `NegativeVariance`, `Overflow`.
    pub fn predict(&self, belief: &DenseGaussian, x: &[f64]) -> Result<SoftmaxPrediction, ModelError> {
        let mut scratch = SoftmaxScratch::new(self, x.len());
        self.check_scratch(belief, x, &scratch)?;
        scratch.row.copy_from_slice(x);
        self.predicted(belief, &mut scratch, |_| 0.0)
    }

    fn predicted(
        &self,
        belief: &DenseGaussian,
        scratch: &mut SoftmaxScratch,
        offset: impl Fn(usize) -> f64,
    ) -> Result<SoftmaxPrediction, ModelError> {
        let logits = logits(belief, scratch, offset)?;
        let (probabilities, variances) = probabilities(&self.nodes, &logits);
        Ok(SoftmaxPrediction { probabilities, variances })
    }

    /// The predictions at the rows of `x` (`n × d`), with known parts of the logits if `offsets` (`n × (C−1)`) are given.
    ///
    /// # Errors
    /// As [`predict`](Self::predict), naming the row; `Empty`.
    pub fn predict_rows(
        &self,
        belief: &DenseGaussian,
        x: MatRef<'_, f64>,
        offsets: Option<MatRef<'_, f64>>,
    ) -> Result<Vec<SoftmaxPrediction>, ModelError> {
        let labels = vec![0.0; x.nrows()];
        let mut rows = super::SoftmaxRows::new(x, &labels);
        if let Some(offsets) = offsets {
            rows = rows.with_offsets(offsets);
        }
        rows.check(self.classes, vi_core::Belief::dim(belief))?;
        let mut scratch = SoftmaxScratch::new(self, x.ncols());
        (0..x.nrows())
            .map(|t| {
                scratch.load(&rows, t);
                self.predicted(belief, &mut scratch, |i| rows.offset(t, i)).map_err(|error| error.at_row(t))
            })
            .collect()
    }
}
