//! The evidence lower bound on all the data, from the objective and from draws.

use rand::Rng;
use vi_core::Estimate;
use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, Mat, MatRef, Par};

use super::expectation::Labels;
use super::objective::Workspace;
use super::{Expectation, Glm, Rows, Terms, kernels};
use crate::basis::{Basis, check_features};
use crate::likelihood::GlmLikelihood;
use crate::{RevrandError, check};

/// The number of rows whose features are held at a time.
const BLOCK: usize = 256;
/// The number of nodes for the expected log-likelihood.
const NODES: usize = 32;

/// The evidence lower bound of a model on data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Elbo {
    /// The objective (22), with the expected log-likelihood by quadrature. It is below the evidence lower bound by the error of
    /// Jensen's bound of the entropy.
    pub terms: Terms,
    /// The error of Jensen's bound for one component, [`Mixture::entropy_offset`](super::Mixture::entropy_offset).
    pub entropy_offset: f64,
    /// An unbiased estimate of `E_q[log p(y, w) − log q(w)]` from draws of the weights.
    pub monte_carlo: Estimate,
}

impl<B: Basis, L: GlmLikelihood> Glm<B, L> {
    /// The evidence lower bound on `rows`: from the objective, and estimated from `draws` draws of the weights of each component.
    /// Cost `n·D·K·draws`.
    ///
    /// ```
    /// use rand::SeedableRng;
    /// use vi_linalg::faer::mat;
    /// use vi_revrand::basis::Linear;
    /// use vi_revrand::glm::{Glm, GlmSettings, Rows};
    /// use vi_revrand::likelihood::Bernoulli;
    ///
    /// let rng = &mut rand_chacha::ChaCha8Rng::seed_from_u64(1);
    /// let (x, y) = (mat![[0.5], [-1.0], [2.0], [-0.3]], [1.0, 0.0, 1.0, 1.0]);
    /// let model = Glm::new(Linear::with_intercept(1)?, Bernoulli, GlmSettings::default(), rng)?;
    /// let elbo = model.elbo(Rows::new(x.as_ref(), &y), 1000, rng)?;
    /// // With one component what Jensen's bound loses is known, so both say the same.
    /// let gap = elbo.terms.value() + elbo.entropy_offset - elbo.monte_carlo.value;
    /// assert!(gap.abs() < 6.0 * elbo.monte_carlo.standard_error);
    /// # Ok::<(), vi_revrand::RevrandError>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`fit`](Self::fit) for the rows; [`RevrandError::Feature`]; `Overflow` if the bound is not finite; `Setting` for
    /// fewer than 2 draws, or more than memory holds.
    pub fn elbo<R: Rng + ?Sized>(&self, rows: Rows<'_>, draws: usize, rng: &mut R) -> Result<Elbo, RevrandError> {
        rows.check(&self.basis, &self.likelihood)?;
        check::not_empty("y", rows.len())?;
        if draws < 2 {
            return Err(
                vi_core::Error::Setting { name: "draws", value: draws as f64, requirement: "at least 2" }.into()
            );
        }
        let q = self.posterior();
        let (d, k) = (q.dimension(), q.components());
        check::room("draws", &[draws, k, d.max(BLOCK)])?;
        let weights: Vec<Vec<f64>> =
            (0..k).flat_map(|component| (0..draws).map(move |_| component)).map(|c| q.draw_component(c, rng)).collect();
        let weights = Mat::from_fn(d, k * draws, |i, j| weights[j][i]);

        let mut log_joint = Vec::with_capacity(k * draws);
        for w in weights.col_iter() {
            let w: Vec<f64> = w.iter().copied().collect();
            log_joint.push(self.log_prior(&w) - q.log_density(&w)?);
        }
        let sizes = (k, d, self.regularisers().len(), self.known.gamma.len());
        let mut work = Workspace::new(Expectation::Quadrature { nodes: NODES }, sizes);
        let ones = vec![1.0; BLOCK];
        let mut likelihood = 0.0;
        let mut terms = None;
        for first in (0..rows.len()).step_by(BLOCK) {
            let block = rows.block(first, BLOCK.min(rows.len() - first));
            let n = block.len();
            let mut features = Mat::zeros(n, d);
            self.basis.fill(&self.known.theta, block.x, features.as_mut(), Par::Seq);
            check_features(features.as_ref())?;
            let mut predictors = Mat::zeros(n, k * draws);
            matmul(predictors.as_mut(), Accum::Replace, features.as_ref(), weights.as_ref(), 1.0, Par::Seq);
            for (j, log_joint) in log_joint.iter_mut().enumerate() {
                for i in 0..n {
                    let trials = block.trials.map_or(1.0, |trials| trials[i]);
                    *log_joint += self.likelihood.log_density(block.y[i], trials, predictors[(i, j)]);
                }
            }
            work.resize(n, false);
            let labels = Labels { y: block.y, trials: block.trials.unwrap_or(&ones[..n]) };
            let phi = kernels::rows(features.as_ref());
            let of_block = work.evaluate((&phi, labels), q, self.prior(), &self.likelihood, 1.0, &[]);
            likelihood += of_block.likelihood;
            terms = Some(Terms { likelihood, ..of_block });
        }
        let terms = terms.ok_or(vi_core::Error::Empty { argument: "y" })?;
        let monte_carlo = stratified(&log_joint, draws);
        check::results("the bound", [terms.value(), monte_carlo.value, monte_carlo.standard_error].into_iter())?;
        Ok(Elbo { terms, entropy_offset: q.entropy_offset(), monte_carlo })
    }

    /// `log N(w | 0, Λ)`.
    fn log_prior(&self, w: &[f64]) -> f64 {
        let each = self.regularisers().iter().zip(&self.known.parts).map(|(variance, part)| {
            let squares: f64 = w[part.clone()].iter().map(|w| w * w).sum();
            part.len() as f64 * (2.0 * std::f64::consts::PI * variance).ln() + squares / variance
        });
        -0.5 * each.sum::<f64>()
    }
}

/// The average over components of the mean of each one's `draws` draws; its standard error is from the spread within components.
fn stratified(values: &[f64], draws: usize) -> Estimate {
    let components = values.len() / draws;
    let (mut value, mut variance) = (0.0, 0.0);
    for values in values.chunks_exact(draws) {
        let mean = values.iter().sum::<f64>() / draws as f64;
        let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
        value += mean / components as f64;
        variance += squares / ((draws - 1) * draws) as f64;
    }
    Estimate { value, standard_error: variance.sqrt() / components as f64 }
}

impl<'a> Rows<'a> {
    /// `count` rows from row `first`.
    fn block(&self, first: usize, count: usize) -> Rows<'a> {
        let x: MatRef<'a, f64> = self.x.subrows(first, count);
        let part = |values: &'a [f64]| &values[first..first + count];
        Rows { x, y: part(self.y), trials: self.trials.map(part) }
    }
}
