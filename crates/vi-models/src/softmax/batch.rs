//! Sums over rows: the posterior of given sites, the bound, the batch optimum.

use vi_core::batch::{self, BatchInfo, BatchSettings, Statistics};
use vi_core::{DenseGaussian, Error};
use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, Mat, MatRef, Par};

use super::logits::{Moments, Pairs, expected_log_density, log_density};
use super::step::logits;
use super::{Softmax, SoftmaxRows, SoftmaxScratch};
use crate::ModelError;

/// The number of rows handled together.
const TILE: usize = 256;

/// Sums of `Hᵀ K H` over rows, tile by tile.
pub(super) struct Information {
    /// `D × D`, lower block triangle.
    pub(super) sum: Mat<f64>,
    waiting: Vec<Mat<f64>>,
    d: usize,
}

impl Information {
    pub(super) fn new(d: usize, m: usize) -> Self {
        Self { sum: Mat::zeros(d * m, d * m), waiting: Vec::with_capacity(TILE), d }
    }

    /// Adds row `t` of `x` with curvature `K` between its logits.
    pub(super) fn push(&mut self, x: MatRef<'_, f64>, t: usize, pairs: &Pairs, par: Par) {
        self.waiting.push(pairs.matrix());
        if self.waiting.len() == TILE {
            self.flush(x.subrows(t + 1 - TILE, TILE), par);
        }
    }

    /// Adds the buffered rows, which belong to `rows`.
    pub(super) fn flush(&mut self, rows: MatRef<'_, f64>, par: Par) {
        let (b, d) = (self.waiting.len(), self.d);
        let Some(first) = self.waiting.first() else { return };
        let m = first.nrows();
        let mut scaled = Mat::<f64>::zeros(b, d);
        for c in 0..m {
            for k in 0..=c {
                for j in 0..d {
                    for t in 0..b {
                        scaled[(t, j)] = self.waiting[t][(c, k)] * rows[(t, j)];
                    }
                }
                let block = self.sum.as_mut().submatrix_mut(c * d, k * d, d, d);
                matmul(block, Accum::Add, scaled.transpose(), rows, 1.0, par);
            }
        }
        self.waiting.clear();
    }

    /// Adds the last, incomplete tile of `x`.
    pub(super) fn finish(mut self, x: MatRef<'_, f64>, par: Par) -> Mat<f64> {
        let b = self.waiting.len();
        self.flush(x.subrows(x.nrows() - b, b), par);
        self.sum
    }
}

impl Softmax {
    /// The expected log-likelihood `Σ E log p(y|η)` of the rows under `q`, in nats.
    pub(super) fn expected_log_likelihood(&self, q: &DenseGaussian, rows: &SoftmaxRows<'_>) -> Result<f64, Error> {
        let mut scratch = SoftmaxScratch::new(self, rows.inputs().ncols());
        let mut sum = 0.0;
        for t in 0..rows.len() {
            scratch.load(rows, t);
            let logits = logits(q, &mut scratch, |i| rows.offset(t, i)).map_err(|error| error.at_row(t))?;
            sum += expected_log_density(&self.nodes, &logits, &rows.counts(self.classes, t));
        }
        Ok(sum)
    }

    /// The log joint density `log p(θ) + Σ log p(y|x, θ)`, in nats, for instance for
    /// [`gaussian_psis_of`](crate::metrics::gaussian_psis_of). `theta` has length `D`. Cost `nD + D³/3`.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Empty`, `Dimension`, `NonFinite`, `Row`, `NotPositiveDefinite`.
    pub fn log_joint(&self, prior: &DenseGaussian, rows: SoftmaxRows<'_>, theta: &[f64]) -> Result<f64, ModelError> {
        rows.check(self.classes, vi_core::Belief::dim(prior))?;
        let mut sum = prior.log_density(theta)?;
        let (x, d) = (rows.inputs(), rows.inputs().ncols());
        for t in 0..rows.len() {
            let eta = |i: usize| rows.offset(t, i) + (0..d).map(|j| theta[i * d + j] * x[(t, j)]).sum::<f64>();
            let mean = (0..self.classes - 1).map(eta).collect();
            sum += log_density(mean, &rows.counts(self.classes, t));
        }
        Ok(sum)
    }

    /// The bound on the log evidence of `rows` that `q` attains, `Σ E log p(y|η) − KL(q‖prior)`, in nats, to the accuracy of
    /// the nodes. Cost `2nD² + D³`.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Empty`, `Dimension`, `Row`, `NotPositiveDefinite`, `Overflow`.
    pub fn bound(&self, prior: &DenseGaussian, q: &DenseGaussian, rows: SoftmaxRows<'_>) -> Result<f64, ModelError> {
        rows.check(self.classes, vi_core::Belief::dim(q))?;
        Ok(self.bound_of_checked(prior, q, &rows)?)
    }

    pub(super) fn bound_of_checked(
        &self,
        prior: &DenseGaussian,
        q: &DenseGaussian,
        rows: &SoftmaxRows<'_>,
    ) -> Result<f64, Error> {
        Ok(self.expected_log_likelihood(q, rows)? - vi_core::divergence::gaussian_kl(q, prior)?)
    }

    /// The sums that one pass over `rows` takes at `q`.
    pub(crate) fn statistics(&self, q: &DenseGaussian, rows: &SoftmaxRows<'_>, par: Par) -> Result<Statistics, Error> {
        let (x, m) = (rows.inputs(), self.classes - 1);
        let d = x.ncols();
        let mut scratch = SoftmaxScratch::new(self, d);
        let mut information = Information::new(d, m);
        let mut sums = Statistics::zero(d * m);
        for t in 0..rows.len() {
            scratch.load(rows, t);
            let logits = logits(q, &mut scratch, |i| rows.offset(t, i)).map_err(|error| error.at_row(t))?;
            let counts = rows.counts(self.classes, t);
            let (moments, expected) = Moments::with_log_density(&self.nodes, &logits, &counts);
            sums.expected_log_likelihood += expected;
            for (c, slope) in moments.slope(&counts).into_iter().enumerate() {
                for j in 0..d {
                    sums.slope[c * d + j] += slope * scratch.row[j];
                }
            }
            information.push(x, t, &moments.curvature(&counts), par);
        }
        sums.rows = rows.len();
        sums.information = information.finish(x, par);
        Ok(sums)
    }

    /// The batch variational Gaussian optimum of `rows`, searched from `start` (the prior or, better, a filtered belief), by
    /// [`batch::optimum_of`]. With four and more classes the nodes' curvature is not quite the derivative of their bound, so that
    /// the search may end with [`Stop::Improvement`](crate::Stop::Improvement) a little before its tolerance; with three classes
    /// below some 1e-7.
    ///
    /// Each pass costs `3nD²` and about `3D³`.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Empty`, `Dimension`, `Row`, `NotPositiveDefinite`. Not converging is a [`Stop`](crate::Stop).
    pub fn optimum(
        &self,
        prior: &DenseGaussian,
        start: &DenseGaussian,
        rows: SoftmaxRows<'_>,
        settings: &BatchSettings,
        par: Par,
    ) -> Result<(DenseGaussian, BatchInfo), ModelError> {
        rows.check(self.classes, vi_core::Belief::dim(prior))?;
        Ok(batch::optimum_of(prior, start, settings, |q| self.statistics(&q.to_belief(), &rows, par))?)
    }
}
