//! Jensen's bound of the mixture's entropy, and its gradient.

use pulp::Arch;

use super::Mixture;
use super::mixture::log_sum_exp;
use crate::lanes::{LANES, LogProduct, padded};

/// `log(2π)`.
const LN_2PI: f64 = 1.837_877_066_409_345_5;

/// What the bound needs besides its arguments: `log N(mₖ | mⱼ, Cₖ + Cⱼ)` and its weights (`K × K` each).
#[derive(Debug, Clone, Default)]
pub(super) struct Scratch {
    logs: Vec<f64>,
    weights: Vec<f64>,
}

/// The bound alone.
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
        // j = k: both variances are the same number, so N(mₖ | mₖ, 2Cₖ) falls by 1/(2C) of itself.
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
                pair_gradient(rho, [q.mean(k), q.mean(j), q.variance(k), q.variance(j)], gradients);
            }
        }
    }
    value
}

impl Scratch {
    /// All `log N(mₖ | mⱼ, Cₖ + Cⱼ)`.
    fn fill(&mut self, q: &Mixture) {
        let k_all = q.components();
        self.logs.resize(k_all * k_all, 0.0);
        self.weights.resize(k_all * k_all, 0.0);
        for k in 0..k_all {
            for j in 0..=k {
                let log = log_overlap([q.mean(k), q.mean(j), q.variance(k), q.variance(j)]);
                self.logs[k * k_all + j] = log;
                self.logs[j * k_all + k] = log;
            }
        }
    }

    /// `−1/K·Σₖ log Σⱼ N(mₖ | mⱼ, Cₖ + Cⱼ) + log K`.
    fn value(&self, k_all: usize) -> f64 {
        let rows: f64 = self.logs.chunks_exact(k_all).map(log_sum_exp).sum();
        -rows / k_all as f64 + (k_all as f64).ln()
    }

    /// `r_kj = N_kj/Σⱼ N_kj`.
    fn weigh(&mut self, k_all: usize) {
        for (logs, weights) in self.logs.chunks_exact(k_all).zip(self.weights.chunks_exact_mut(k_all)) {
            let sum = log_sum_exp(logs);
            for (weight, log) in weights.iter_mut().zip(logs) {
                *weight = (log - sum).exp();
            }
        }
    }
}

/// `log N(mₖ | mⱼ, Cₖ + Cⱼ)` of `[mₖ, mⱼ, Cₖ, Cⱼ]`.
fn log_overlap(pair: [&[f64]; 4]) -> f64 {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            let d = pair[0].len();
            let [(mk, mk_tail), (mj, mj_tail), (ck, ck_tail), (cj, cj_tail)] =
                pair.map(|x| x[..d].as_chunks::<LANES>());
            let mut product = LogProduct::new();
            let mut distance = [0.0; LANES];
            let mut add = |mk: &[f64; LANES], mj: &[f64; LANES], ck: &[f64; LANES], cj: &[f64; LANES]| {
                let mut s = [0.0; LANES];
                for i in 0..LANES {
                    s[i] = ck[i] + cj[i];
                    distance[i] += (mk[i] - mj[i]) * (mk[i] - mj[i]) / s[i];
                }
                product.multiply(s);
            };
            for i in 0..mk.len() {
                add(&mk[i], &mj[i], &ck[i], &cj[i]);
            }
            // Variances of 1 in total and no distance add nothing.
            add(&padded(mk_tail, 0.0), &padded(mj_tail, 0.0), &padded(ck_tail, 0.5), &padded(cj_tail, 0.5));
            -0.5 * (d as f64 * LN_2PI + product.ln() + distance.iter().sum::<f64>())
        },
    )
}

/// Adds `ρ` times the gradient of `−log N` of `[mₖ, mⱼ, Cₖ, Cⱼ]`: with `s = Cₖ + Cⱼ` and `Δ = mₖ − mⱼ`, `±Δ/s` and
/// `½(1/s − Δ²/s²)`.
fn pair_gradient(rho: f64, pair: [&[f64]; 4], gradients: [&mut [f64]; 4]) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
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
        },
    );
}
