//! The square root so far, `ḡ = Σ_k λ_k·√N_k`.

use super::overlap::Overlap;
use crate::block::Block;
use crate::component::Component;
use crate::mixture::{log_sum_exp, responsibilities};

/// `ḡ` of norm 1.
#[derive(Debug, Clone, Default)]
pub(crate) struct Root {
    pub(crate) components: Vec<Component>,
    pub(crate) lambda: Vec<f64>,
}

/// The results of an evaluation, for one block of points.
#[derive(Debug, Clone, Default)]
pub(crate) struct RootScratch {
    half: Vec<Vec<f64>>,
    solved: Vec<Block>,
    /// `log ḡ`.
    pub(crate) total: Vec<f64>,
}

impl Root {
    fn log_lambda(&self) -> Vec<f64> {
        self.lambda.iter().map(|lambda| lambda.ln()).collect()
    }

    /// Evaluates `log ḡ` at every point, −∞ if there is no component; `solve` keeps what the gradient needs.
    pub(crate) fn evaluate(&self, x: &Block, scratch: &mut RootScratch, solve: bool) {
        scratch.half.resize_with(self.components.len(), Vec::new);
        scratch.solved.resize_with(self.components.len(), Block::default);
        for ((component, half), s) in self.components.iter().zip(&mut scratch.half).zip(&mut scratch.solved) {
            half.resize(x.rows(), 0.0);
            component.evaluate(x, half, s, solve);
            for log in half.iter_mut() {
                *log *= 0.5;
            }
        }
        log_sum_exp(&scratch.half, &self.log_lambda(), x.rows(), &mut scratch.total);
    }

    /// Adds `c_i·∇log ḡ(θ_i)` to `out`, from the results of [`evaluate`](Self::evaluate).
    pub(crate) fn add_gradient(&self, scratch: &RootScratch, c: &[f64], out: &mut Block) {
        let mut share = vec![0.0; c.len()];
        for (k, log_lambda) in self.log_lambda().into_iter().enumerate() {
            responsibilities(&scratch.half[k], log_lambda, &scratch.total, &mut share);
            share.iter_mut().zip(c).for_each(|(share, c)| *share *= 0.5 * c);
            for j in 0..out.columns() {
                // ∇½log N_k = −½s_k
                let rows = out.col_mut(j).iter_mut().zip(scratch.solved[k].col(j)).zip(&share);
                rows.for_each(|((out, s), share)| *out -= share * s);
            }
        }
    }

    /// `⟨ḡ, √N⟩`; NaN if rounding has destroyed a covariance.
    pub(crate) fn overlap(&self, h: &Component) -> f64 {
        let terms = self.components.iter().zip(&self.lambda);
        terms.map(|(g, lambda)| Overlap::of(g, h).map_or(f64::NAN, |with| lambda * with.log_z.exp())).sum()
    }
}
