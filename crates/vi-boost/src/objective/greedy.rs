//! The objective of adding a component, as a function of component and weight: the greedy step (2).

use crate::LogDensity;
use crate::block::Block;
use crate::chart::Chart;
use crate::component::{Component, Raw};
use crate::mixture::{GaussianMixture, Scratch};
use crate::optimise::{Minimum, Search, minimise};
use crate::target::Probe;

/// Points of the current mixture, with what does not change while a component is sought. The weights of all rows sum to 1.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reference {
    pub(crate) x: Vec<Block>,
    pub(crate) weight: Vec<Vec<f64>>,
    pub(crate) log_q: Vec<Vec<f64>>,
    pub(crate) log_f: Vec<Vec<f64>>,
}

/// `F(α, μ, Σ) = (1−α)·E_q[log(q_α/f)] + α·E_h[log(q_α/f)]` with `h = N(μ,Σ)` and `q_α = (1−α)q + αh`; `q` is fixed.
pub(crate) struct Greedy<'a, T: ?Sized> {
    pub(crate) probe: &'a Probe<'a, T>,
    pub(crate) q: &'a GaussianMixture,
    pub(crate) reference: &'a Reference,
    pub(crate) z: &'a [Block],
}

/// `(log((1−α)e^a + αe^b), αe^b/(…))`.
fn mixed(log_rest: f64, a: f64, log_alpha: f64, b: f64) -> (f64, f64) {
    let (a, b) = (a + log_rest, b + log_alpha);
    let below = (a - b).abs();
    if below > 700.0 {
        return if a > b { (a, 0.0) } else { (b, 1.0) };
    }
    let e = (-below).exp();
    let value = a.max(b) + e.ln_1p();
    (value, if a > b { e / (1.0 + e) } else { 1.0 / (1.0 + e) })
}

impl<T: LogDensity + ?Sized> Greedy<'_, T> {
    /// The value at `u`, the coordinates of `chart` followed by `log(α/(1−α))`, and its gradient.
    pub(crate) fn at(&self, chart: &Chart, u: &[f64], gradient: &mut [f64]) -> f64 {
        let Some((logit, place)) = u.split_last() else { return f64::NAN };
        let Some(h) = chart.component(place) else { return f64::INFINITY };
        let alpha = 1.0 / (1.0 + (-logit).exp());
        // log α and log(1−α) without cancellation.
        let (log_alpha, log_rest) = (-(-logit).exp().ln_1p(), -logit.exp().ln_1p());
        if !(log_alpha.is_finite() && log_rest.is_finite()) {
            return f64::INFINITY;
        }
        let mut raw = Raw::zeros(&h);
        // A = E_q ℓ, B = E_h ℓ, and Σ_i c_i(r_i − α) with r = αh/q_α: the density's contribution to ∂F/∂logit.
        let (mut a, mut b, mut by_logit) = (0.0, 0.0, 0.0);
        let (mut log_h, mut s, mut rho) = (Vec::new(), Block::default(), Vec::new());
        let reference = self.reference;
        for (k, x) in reference.x.iter().enumerate() {
            log_h.resize(x.rows(), 0.0);
            rho.resize(x.rows(), 0.0);
            h.evaluate(x, &mut log_h, &mut s, true);
            let mut any = false;
            for i in 0..x.rows() {
                let (log_total, r) = mixed(log_rest, reference.log_q[k][i], log_alpha, log_h[i]);
                let v = reference.weight[k][i];
                a += v * (log_total - reference.log_f[k][i]);
                let c = (1.0 - alpha) * v;
                by_logit += c * (r - alpha);
                rho[i] = c * r;
                any |= r > NEGLIGIBLE;
            }
            if any {
                raw.add_density(&h, &s, &rho);
            }
        }
        let n = self.z.iter().map(Block::rows).sum::<usize>() as f64;
        let (mut x, mut slope, mut log_f) = (Block::default(), Block::default(), Vec::new());
        let mut scratch = Scratch::default();
        for z in self.z {
            h.map(z, &mut x);
            log_f.resize(x.rows(), 0.0);
            log_h.resize(x.rows(), 0.0);
            rho.resize(x.rows(), 0.0);
            self.probe.values_and_gradients(&x, &mut log_f, &mut slope);
            h.evaluate(&x, &mut log_h, &mut s, true);
            self.q.evaluate(&x, &mut scratch, true);
            // slope ← ∇log q − …: first −∇log f/(1−r), so that one scaling by 1−r serves both.
            for i in 0..x.rows() {
                let (log_total, r) = mixed(log_rest, scratch.total[i], log_alpha, log_h[i]);
                b += (log_total - log_f[i]) / n;
                let c = alpha / n;
                by_logit += c * (r - alpha);
                rho[i] = c * r;
            }
            let mut by_x = Block::zeros(x.rows(), x.columns());
            self.q.add_gradient(&scratch, 1.0, &mut by_x);
            for j in 0..x.columns() {
                let columns = by_x.col_mut(j).iter_mut().zip(s.col(j)).zip(slope.col(j)).zip(&rho);
                for (((g, s), by_f), rho) in columns {
                    // c·(∇log q_α − ∇log f), ∇log q_α = (1−r)∇log q − r·s
                    *g = (alpha / n - rho) * *g - rho * s - alpha / n * by_f;
                }
            }
            raw.add_sample(&h, z, &by_x);
            raw.add_density(&h, &s, &rho);
        }
        let last = gradient.len() - 1;
        chart.pull(&h, place, &raw, &mut gradient[..last]);
        gradient[last] = alpha * (1.0 - alpha) * (b - a) + by_logit;
        (1.0 - alpha) * a + alpha * b
    }

    /// The best component and weight near `start` and `alpha`.
    pub(crate) fn minimise(&self, start: &Component, alpha: f64, search: Search) -> Option<(Component, f64, Minimum)> {
        let chart = Chart::new(start.clone());
        let alpha = alpha.clamp(LEAST_ALPHA, 1.0 - LEAST_ALPHA);
        let mut u = vec![0.0; chart.len() + 1];
        u[chart.len()] = (alpha / (1.0 - alpha)).ln();
        let found = minimise(&u, search, |u, g| self.at(&chart, u, g))?;
        let (logit, place) = found.x.split_last()?;
        let component = chart.component(place)?;
        Some((component, 1.0 / (1.0 + (-logit).exp()), found))
    }
}

/// The least distance of a weight from 0 and 1; nearer, a search has no slope to follow.
const LEAST_ALPHA: f64 = 1e-4;

/// Responsibilities below this are ignored.
const NEGLIGIBLE: f64 = 1e-14;
