//! The divergence on fixed points: no evaluations of the target, and no noise where `q` already fits.

use crate::block::Block;
use crate::chart::Chart;
use crate::component::{Component, Raw};
use crate::mixture::{GaussianMixture, Scratch, responsibilities};
use crate::objective::charts::{minimise_from, mixture, pull};
use crate::optimise::{Minimum, Search, minimise};

/// Fixed points with the density `m` they come from: rows of weight `ω_i` (which sum to 1), `log m`, `log f`, and `log q₀` of a
/// part of the mixture that does not change.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rest {
    pub(crate) x: Vec<Block>,
    pub(crate) weight: Vec<Vec<f64>>,
    pub(crate) log_m: Vec<Vec<f64>>,
    pub(crate) log_f: Vec<Vec<f64>>,
    /// One vector for each block; empty if everything may change.
    pub(crate) fixed: Vec<Vec<f64>>,
}

/// `B = Σ_i (ω_i/m_i)·[q·log(q/p̃) − q + p̃]_i` with `p̃ = f/Z̃`, `Z̃ = Σ_i ω_i·f_i/m_i`: the divergence of unnormalised
/// densities, on points that do not move.
///
/// Each term is at least 0 and is 0 where `q = p̃`, so the gradient's error is in proportion to `log(q/p)` and vanishes with the
/// divergence. (On points that move with `q`, the density's change brings an error of the size of the score, however well `q`
/// fits; in six dimensions a search then overfits its thousand points.) In exchange a component must stay where points are: mass
/// that leaves them counts as lost.
pub(crate) struct Resting<'a> {
    rest: &'a Rest,
    /// `log Z̃`.
    log_z: f64,
}

/// Terms below this share of the density are ignored.
const NEGLIGIBLE: f64 = 1e-14;

/// The largest ratio of a density to that of the points, in nats, that they can judge.
const MOST_RATIO: f64 = 300.0;

impl<'a> Resting<'a> {
    /// Prepares the points; `None` if the target has no finite, positive mass on them.
    pub(crate) fn new(rest: &'a Rest) -> Option<Self> {
        let rows = || rest.weight.iter().flatten().zip(rest.log_f.iter().flatten()).zip(rest.log_m.iter().flatten());
        let largest = rows().fold(f64::NEG_INFINITY, |a, ((_, f), m)| a.max(f - m));
        let sum: f64 = rows().map(|((w, f), m)| w * (f - m - largest).exp()).sum();
        let log_z = largest + sum.ln();
        log_z.is_finite().then_some(Self { rest, log_z })
    }

    /// The value at `u`, the coordinates of all charts followed by the logits of the weights: that of the fixed part, if there is
    /// one, then those of the charts' components.
    pub(crate) fn at(&self, charts: &[Chart], u: &[f64], gradient: &mut [f64]) -> f64 {
        let fixed = usize::from(!self.rest.fixed.is_empty());
        let Some((q, log_fixed)) = mixture(charts, u, fixed) else { return f64::INFINITY };
        let weights = q.weights();
        let mut raw: Vec<Raw> = q.components().iter().map(Raw::zeros).collect();
        let mut by_logit = vec![0.0; fixed + q.len()];
        // B = Σ A(ℓ + log Z̃ − 1) + 1, ∂B = Σ A(ℓ + log Z̃)·∂log q, A = ωq/m
        let (mut value, mut total) = (1.0, 0.0);
        let (mut scratch, mut a, mut rho) = (Scratch::default(), Vec::new(), Vec::new());
        for (b, x) in self.rest.x.iter().enumerate() {
            q.evaluate(x, &mut scratch, true);
            if fixed == 1 {
                for (log_q, log_0) in scratch.total.iter_mut().zip(&self.rest.fixed[b]) {
                    *log_q = log_add(*log_q, log_0 + log_fixed);
                }
            }
            a.resize(x.rows(), 0.0);
            rho.resize(x.rows(), 0.0);
            for i in 0..x.rows() {
                let ratio = scratch.total[i] - self.rest.log_m[b][i];
                if ratio > MOST_RATIO {
                    return f64::INFINITY;
                }
                let share = self.rest.weight[b][i] * ratio.exp();
                if share == 0.0 {
                    a[i] = 0.0;
                    continue;
                }
                let excess = scratch.total[i] - self.rest.log_f[b][i] + self.log_z;
                value += share * (excess - 1.0);
                a[i] = share * excess;
                total += a[i];
            }
            if fixed == 1 {
                responsibilities(&self.rest.fixed[b], log_fixed, &scratch.total, &mut rho);
                by_logit[0] += rho.iter().zip(&a).map(|(r, a)| r * a).sum::<f64>();
            }
            for k in 0..q.len() {
                responsibilities(&scratch.log[k], q.log_weights()[k], &scratch.total, &mut rho);
                if rho.iter().all(|r| *r < NEGLIGIBLE) {
                    continue;
                }
                rho.iter_mut().zip(&a).for_each(|(r, a)| *r *= a);
                by_logit[fixed + k] += rho.iter().sum::<f64>();
                raw[k].add_density(&q.components()[k], &scratch.solved[k], &rho);
            }
        }
        let first = pull(charts, &q, u, &raw, gradient);
        let all = (fixed == 1).then(|| log_fixed.exp()).into_iter().chain(weights);
        for ((out, by_logit), weight) in gradient[first..].iter_mut().zip(&by_logit).zip(all) {
            *out = by_logit - weight * total;
        }
        value
    }

    /// The best mixture near `start`, every component free.
    pub(crate) fn minimise(&self, start: &GaussianMixture, search: Search) -> Option<(GaussianMixture, Minimum)> {
        minimise_from(start, search, |charts, u, gradient| self.at(charts, u, gradient))
    }

    /// The best component and weight near `start` and `alpha`, the fixed part unchanged.
    pub(crate) fn minimise_one(
        &self,
        start: &Component,
        alpha: f64,
        search: Search,
    ) -> Option<(Component, f64, Minimum)> {
        let charts = [Chart::new(start.clone())];
        let alpha = alpha.clamp(LEAST_ALPHA, 1.0 - LEAST_ALPHA);
        let mut u = vec![0.0; charts[0].len()];
        u.extend([(-alpha).ln_1p(), alpha.ln()]);
        let found = minimise(&u, search, |u, g| self.at(&charts, u, g))?;
        let (q, log_fixed) = mixture(&charts, &found.x, 1)?;
        Some((q.components().first()?.clone(), -log_fixed.exp_m1(), found))
    }
}

/// The least distance of a weight from 0 and 1; nearer, a search has no slope to follow.
const LEAST_ALPHA: f64 = 1e-4;

/// `log(e^a + e^b)`.
fn log_add(a: f64, b: f64) -> f64 {
    let largest = a.max(b);
    if largest == f64::NEG_INFINITY { largest } else { largest + (-(a - b).abs()).exp().ln_1p() }
}
