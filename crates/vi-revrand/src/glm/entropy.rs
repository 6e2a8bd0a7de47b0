//! Jensen's bound of the mixture's entropy, and its gradient.

use std::f64::consts::LN_2;
use vi_core::special::{LN_2PI, log_sum_exp};

use pulp::{Arch, Simd, WithSimd};

use super::Mixture;
use crate::lanes;

/// Memory of the bound: `log N(mₖ | mⱼ, Cₖ + Cⱼ)` and its weights (`K × K` each).
#[derive(Debug, Clone, Default)]
pub(super) struct Scratch {
    logs: Vec<f64>,
    weights: Vec<f64>,
}

/// The bound without its gradient.
pub(super) fn bound(q: &Mixture) -> f64 {
    let mut scratch = Scratch::default();
    scratch.fill(q);
    scratch.value(q.components())
}

/// The bound; adds its gradient in the means and in the variances (`D·K` each).
pub(super) fn bound_and_gradient(q: &Mixture, scratch: &mut Scratch, means: &mut [f64], variances: &mut [f64]) -> f64 {
    let (d, k_all) = (q.dimension(), q.components());
    scratch.fill(q);
    let value = scratch.value(k_all);
    scratch.weigh(k_all);
    for k in 0..k_all {
        // j = k: both variances are the same number, so the derivative of N(mₖ | mₖ, 2Cₖ) is −1/(2C) of itself.
        let own = scratch.weights[k * k_all + k] / (2.0 * k_all as f64);
        for (g, c) in variances[k * d..][..d].iter_mut().zip(q.variance(k)) {
            *g += own / c;
        }
        for j in 0..k {
            let rho = (scratch.weights[k * k_all + j] + scratch.weights[j * k_all + k]) / k_all as f64;
            if rho > 0.0 {
                let (means_j, means_k) = means.split_at_mut(k * d);
                let (variances_j, variances_k) = variances.split_at_mut(k * d);
                let gradients = [
                    &mut means_k[..d],
                    &mut means_j[j * d..][..d],
                    &mut variances_k[..d],
                    &mut variances_j[j * d..][..d],
                ];
                let pair = [q.mean(k), q.mean(j), q.variance(k), q.variance(j)];
                Arch::new().dispatch(PairGradient { rho, pair, gradients });
            }
        }
    }
    value
}

impl Scratch {
    /// All `log N(mₖ | mⱼ, Cₖ + Cⱼ)`.
    fn fill(&mut self, q: &Mixture) {
        let (k_all, constant) = (q.components(), q.dimension() as f64 * LN_2PI);
        self.logs.resize(k_all * k_all, 0.0);
        self.weights.resize(k_all * k_all, 0.0);
        for k in 0..k_all {
            for j in 0..k {
                let (log_determinant, distance) = lanes::overlap([q.mean(k), q.mean(j), q.variance(k), q.variance(j)]);
                let log = -0.5 * (constant + log_determinant + distance);
                self.logs[k * k_all + j] = log;
                self.logs[j * k_all + k] = log;
            }
            // Both variances are equal, and the distance is 0.
            let doubled = lanes::log_product(q.variance(k)) + q.dimension() as f64 * LN_2;
            self.logs[k * k_all + k] = -0.5 * (constant + doubled);
        }
    }

    /// `−1/K·Σₖ log Σⱼ N(mₖ | mⱼ, Cₖ + Cⱼ) + log K`.
    fn value(&self, k_all: usize) -> f64 {
        let rows: f64 = self.logs.chunks_exact(k_all).map(|logs| log_sum_exp(logs.iter().copied())).sum();
        -rows / k_all as f64 + (k_all as f64).ln()
    }

    /// `r_kj = N_kj/Σⱼ N_kj`.
    fn weigh(&mut self, k_all: usize) {
        for (logs, weights) in self.logs.chunks_exact(k_all).zip(self.weights.chunks_exact_mut(k_all)) {
            let sum = log_sum_exp(logs.iter().copied());
            for (weight, log) in weights.iter_mut().zip(logs) {
                *weight = (log - sum).exp();
            }
        }
    }
}

/// Adds `ρ` times the gradient of `−log N` of `[mₖ, mⱼ, Cₖ, Cⱼ]`: with `s = Cₖ + Cⱼ` and `Δ = mₖ − mⱼ`, `±Δ/s` and
/// `½(1/s − Δ²/s²)`.
struct PairGradient<'a> {
    rho: f64,
    pair: [&'a [f64]; 4],
    gradients: [&'a mut [f64]; 4],
}

impl WithSimd for PairGradient<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { rho, pair, gradients } = self;
        let d = pair[0].len();
        let [mk, mj, ck, cj] = pair.map(|x| &x[..d]);
        let [gmk, gmj, gck, gcj] = gradients.map(|x| &mut x[..d]);
        for i in 0..d {
            let inverse = 1.0 / (ck[i] + cj[i]);
            let step = (mk[i] - mj[i]) * inverse;
            let spread = 0.5 * rho * (inverse - step * step);
            gmk[i] += rho * step;
            gmj[i] -= rho * step;
            gck[i] += spread;
            gcj[i] += spread;
        }
    }
}
