//! Expectations over draws of the weights themselves.

use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, MatMut, MatRef, Par};

use super::Labels;
use crate::likelihood::GlmLikelihood;

/// One component, and the gradients in it. `D` numbers each.
pub(in crate::glm) struct Component<'a> {
    /// `m`.
    pub(in crate::glm) mean: &'a [f64],
    /// `C`.
    pub(in crate::glm) variance: &'a [f64],
    /// The gradient in `m`, added to.
    pub(in crate::glm) by_mean: &'a mut [f64],
    /// The gradient in `C`, added to.
    pub(in crate::glm) by_variance: &'a mut [f64],
}

/// Buffers. `S` draws, `n` rows.
#[derive(Debug, Clone, Default)]
pub(in crate::glm) struct Draws {
    /// `√C` (`D`).
    roots: Vec<f64>,
    /// `w = m + √C∘ε` (`S × D`, row by row).
    weights: Vec<f64>,
    /// The gradient in `w`, likewise.
    gradients: Vec<f64>,
    /// `f = φᵀw` (`n × S`, row by row), and the likelihood's slopes.
    predictors: Vec<f64>,
    slopes: Vec<f64>,
    sums: Vec<f64>,
    parameters: Vec<[f64; 2]>,
}

impl Draws {
    /// `scale·Σₙ E log p(yₙ|φₙᵀw)` over draws `w` of the component; adds `scale` times the gradients to those of the component, of
    /// the features (if wanted) and to `by_parameters` (without `scale`).
    ///
    /// `phi` are the features (`n × D`, row by row), `normals` the `ε` (`S × D`, likewise).
    pub(in crate::glm) fn expect<L: GlmLikelihood>(
        &mut self,
        likelihood: &L,
        Labels { y, trials }: Labels<'_>,
        (phi, by_features): (&[f64], Option<&mut [f64]>),
        Component { mean, variance, by_mean, by_variance }: Component<'_>,
        normals: &[f64],
        scale: f64,
        by_parameters: &mut [f64],
    ) -> f64 {
        let (d, n) = (mean.len(), y.len());
        let draws = normals.len() / d;
        let share = scale / draws as f64;
        self.roots.clear();
        self.roots.extend(variance.iter().map(|c| c.sqrt()));
        self.weights.resize(draws * d, 0.0);
        self.gradients.resize(draws * d, 0.0);
        self.predictors.resize(n * draws, 0.0);
        self.slopes.resize(n * draws, 0.0);
        self.sums.resize(n, 0.0);
        for (w, e) in self.weights.chunks_exact_mut(d).zip(normals.chunks_exact(d)) {
            for i in 0..d {
                w[i] = mean[i] + self.roots[i] * e[i];
            }
        }
        let features = MatRef::from_row_major_slice(phi, n, d);
        let weights = MatRef::from_row_major_slice(&self.weights, draws, d);
        let predictors = MatMut::from_row_major_slice_mut(&mut self.predictors, n, draws);
        matmul(predictors, Accum::Replace, features, weights.transpose(), 1.0, Par::Seq);

        likelihood.sums_and_slopes(y, trials, &self.predictors, &mut self.sums, &mut self.slopes);
        if !by_parameters.is_empty() {
            self.parameters.resize(by_parameters.len(), [0.0; 2]);
            for (n, predictors) in self.predictors.chunks_exact(draws).enumerate() {
                for &f in predictors {
                    likelihood.parameter_derivatives(y[n], trials[n], f, &mut self.parameters);
                    for (sum, [value, _]) in by_parameters.iter_mut().zip(&self.parameters) {
                        *sum += value / draws as f64;
                    }
                }
            }
        }

        let slopes = MatRef::from_row_major_slice(&self.slopes, n, draws);
        let gradients = MatMut::from_row_major_slice_mut(&mut self.gradients, draws, d);
        matmul(gradients, Accum::Replace, slopes.transpose(), features, share, Par::Seq);
        // w = m + √C∘ε: dw/dm = 1 and dw/dC = ε/(2√C).
        for (g, e) in self.gradients.chunks_exact(d).zip(normals.chunks_exact(d)) {
            for i in 0..d {
                by_mean[i] += g[i];
                by_variance[i] += 0.5 * g[i] * e[i] / self.roots[i];
            }
        }
        if let Some(by_features) = by_features {
            let by_features = MatMut::from_row_major_slice_mut(by_features, n, d);
            matmul(by_features, Accum::Add, slopes, weights, share, Par::Seq);
        }
        share * self.sums.iter().sum::<f64>()
    }
}
