//! The objective of all components and weights together: the refit.

use crate::LogDensity;
use crate::block::Block;
use crate::chart::Chart;
use crate::component::Raw;
use crate::mixture::{GaussianMixture, Scratch, responsibilities};
use crate::objective::charts::{minimise_from, mixture, pull};
use crate::optimise::{Minimum, Search};
use crate::target::Probe;

/// `F = Σ_k w_k·E_{N_k}[log(q/f)]` as a function of every `(μ_k, Σ_k)` and of `w = softmax(a)`.
pub(crate) struct Joint<'a, T: ?Sized> {
    pub(crate) probe: &'a Probe<'a, T>,
    /// Standard normal points of each component.
    pub(crate) z: Vec<&'a [Block]>,
}

/// Responsibilities below this are ignored.
const NEGLIGIBLE: f64 = 1e-14;

impl<T: LogDensity + ?Sized> Joint<'_, T> {
    /// The value at `u`, the coordinates of all charts followed by `a`, and its gradient.
    pub(crate) fn at(&self, charts: &[Chart], u: &[f64], gradient: &mut [f64]) -> f64 {
        let Some((q, _)) = mixture(charts, u, 0) else { return f64::INFINITY };
        let weights = q.weights();
        let count = q.len();
        let mut raw: Vec<Raw> = q.components().iter().map(Raw::zeros).collect();
        // ∂F/∂a_k = w_k(ℓ̄_k − F) + Σ_i c_i(r_ik − w_k)
        let (mut mean_loss, mut by_logit) = (vec![0.0; count], vec![0.0; count]);
        let (mut x, mut by_f, mut by_x, mut log_f) = (Block::default(), Block::default(), Block::default(), Vec::new());
        let (mut scratch, mut rho) = (Scratch::default(), Vec::new());
        for (k, z) in self.z.iter().enumerate() {
            let n = z.iter().map(Block::rows).sum::<usize>() as f64;
            let c = weights[k] / n;
            for z in *z {
                q.components()[k].map(z, &mut x);
                log_f.resize(x.rows(), 0.0);
                rho.resize(x.rows(), 0.0);
                self.probe.values_and_gradients(&x, &mut log_f, &mut by_f);
                q.evaluate(&x, &mut scratch, true);
                mean_loss[k] += scratch.total.iter().zip(&log_f).map(|(q, f)| q - f).sum::<f64>() / n;
                by_x.reshape(x.rows(), x.columns());
                for j in 0..x.columns() {
                    by_x.col_mut(j).iter_mut().zip(by_f.col(j)).for_each(|(g, f)| *g = -c * f);
                }
                for l in 0..count {
                    responsibilities(&scratch.log[l], q.log_weights()[l], &scratch.total, &mut rho);
                    by_logit[l] -= c * x.rows() as f64 * weights[l];
                    if rho.iter().all(|r| *r < NEGLIGIBLE) {
                        continue;
                    }
                    for r in &mut rho {
                        *r *= c;
                    }
                    by_logit[l] += rho.iter().sum::<f64>();
                    let s = &scratch.solved[l];
                    for j in 0..x.columns() {
                        by_x.col_mut(j).iter_mut().zip(s.col(j)).zip(&rho).for_each(|((g, s), rho)| *g -= rho * s);
                    }
                    raw[l].add_density(&q.components()[l], s, &rho);
                }
                raw[k].add_sample(&q.components()[k], z, &by_x);
            }
        }
        let value: f64 = weights.iter().zip(&mean_loss).map(|(w, loss)| w * loss).sum();
        let first = pull(charts, &q, u, &raw, gradient);
        for k in 0..count {
            gradient[first + k] = by_logit[k] + weights[k] * (mean_loss[k] - value);
        }
        value
    }

    /// The best mixture near `start`.
    pub(crate) fn minimise(&self, start: &GaussianMixture, search: Search) -> Option<(GaussianMixture, Minimum)> {
        minimise_from(start, search, |charts, u, gradient| self.at(charts, u, gradient))
    }
}
