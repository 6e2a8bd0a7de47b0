//! Expectations over draws of the weights themselves.

use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, MatMut, MatRef, Par};
use vi_linalg::kernels::{axpy, dot};

use super::Labels;
use crate::lanes;
use crate::likelihood::GlmLikelihood;

/// One component and the gradients in its mean and variances, `D` numbers each.
pub(in crate::glm) struct Component<'a> {
    /// `m`.
    pub(in crate::glm) mean: &'a [f64],
    /// `C`.
    pub(in crate::glm) variance: &'a [f64],
    /// The gradient in `m`, to which is added.
    pub(in crate::glm) by_mean: &'a mut [f64],
    /// The gradient in `C`, to which is added.
    pub(in crate::glm) by_variance: &'a mut [f64],
}

/// Buffers. `S` draws, `n` rows.
#[derive(Debug, Clone, Default)]
pub(in crate::glm) struct Draws {
    /// `√C` (`D`), and the gradient in it.
    roots: Vec<f64>,
    by_roots: Vec<f64>,
    /// `φₙ∘√C` (`n × D`, row by row), and `Σₛ ∂/∂f_ns·εₛ` (likewise).
    scaled: Vec<f64>,
    weighted: Vec<f64>,
    /// `f = φᵀm + (φ∘√C)ᵀε` (`n × S`, row by row), and the likelihood's slopes there.
    predictors: Vec<f64>,
    slopes: Vec<f64>,
    /// Sums over draws (`n`): of log densities, and of slopes.
    sums: Vec<f64>,
    slope_sums: Vec<f64>,
    parameters: Vec<[f64; 2]>,
}

impl Draws {
    /// Computes `scale·Σₙ E log p(yₙ|φₙᵀw)` over draws `w = m + √C∘ε` of the component; adds `scale` times the gradients to those
    /// of the component and, if wanted, of the features, and the gradient, without `scale`, to `by_parameters`.
    ///
    /// `phi` are the features (`n × D`, row by row), `normals` the `ε` (`S × D`, likewise). No `w` is ever formed: the draws
    /// enter only through two products of a batch with all `ε`.
    pub(in crate::glm) fn expect<L: GlmLikelihood>(
        &mut self,
        likelihood: &L,
        Labels { y, trials }: Labels<'_>,
        (phi, by_features): (&[f64], &mut [f64]),
        Component { mean, variance, by_mean, by_variance }: Component<'_>,
        (normals, scale): (&[f64], f64),
        by_parameters: &mut [f64],
    ) -> f64 {
        let (d, n) = (mean.len(), y.len());
        let draws = normals.len() / d;
        let share = scale / draws as f64;
        self.resize(n, d, draws);
        for i in 0..d {
            self.roots[i] = variance[i].sqrt();
        }
        for ((scaled, phi), f) in
            self.scaled.chunks_exact_mut(d).zip(phi.chunks_exact(d)).zip(self.predictors.chunks_exact_mut(draws))
        {
            for i in 0..d {
                scaled[i] = phi[i] * self.roots[i];
            }
            f.fill(dot(phi, mean));
        }
        let normals = MatRef::from_row_major_slice(normals, draws, d);
        let scaled = MatRef::from_row_major_slice(&self.scaled, n, d);
        let predictors = MatMut::from_row_major_slice_mut(&mut self.predictors, n, draws);
        matmul(predictors, Accum::Add, scaled, normals.transpose(), 1.0, Par::Seq);

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
        let weighted = MatMut::from_row_major_slice_mut(&mut self.weighted, n, d);
        matmul(weighted, Accum::Replace, slopes, normals, share, Par::Seq);
        for (sum, slopes) in self.slope_sums.iter_mut().zip(self.slopes.chunks_exact(draws)) {
            *sum = share * lanes::sum(slopes);
        }
        // ∂f/∂m = φ, ∂f/∂√C = φ∘ε, ∂f/∂φ = m + √C∘ε.
        self.by_roots.fill(0.0);
        for ((phi, weighted), &slope) in phi.chunks_exact(d).zip(self.weighted.chunks_exact(d)).zip(&self.slope_sums) {
            axpy(by_mean, slope, phi);
            for i in 0..d {
                self.by_roots[i] += phi[i] * weighted[i];
            }
        }
        for i in 0..d {
            by_variance[i] += 0.5 * self.by_roots[i] / self.roots[i];
        }
        for ((by_phi, weighted), &slope) in
            by_features.chunks_exact_mut(d).zip(self.weighted.chunks_exact(d)).zip(&self.slope_sums)
        {
            for i in 0..d {
                by_phi[i] += slope * mean[i] + self.roots[i] * weighted[i];
            }
        }
        share * self.sums.iter().sum::<f64>()
    }

    fn resize(&mut self, n: usize, d: usize, draws: usize) {
        for buffer in [&mut self.roots, &mut self.by_roots] {
            buffer.resize(d, 0.0);
        }
        for buffer in [&mut self.scaled, &mut self.weighted] {
            buffer.resize(n * d, 0.0);
        }
        for buffer in [&mut self.predictors, &mut self.slopes] {
            buffer.resize(n * draws, 0.0);
        }
        for buffer in [&mut self.sums, &mut self.slope_sums] {
            buffer.resize(n, 0.0);
        }
    }
}
