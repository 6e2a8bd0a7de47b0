//! Optimising all weights with fixed components: the fully corrective step.

use vi_linalg::faer::Mat;
use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, Par};

use super::cloud::Cloud;
use crate::mixture::{GaussianMixture, Scratch};
use crate::simplex;

/// The divergence `F(w) = Σ_k w_k·Σ_i A_ik(log Σ_l w_l·B_il + loss_i)` on the points of all components.
///
/// With `m = Σ_k π_k·N_k` the density that the points come from, `B_ik = N_k(θ_i)/m(θ_i)`, `loss_i = log(m/f)` and `A_ik ∝
/// c_i·B_ik` with columns that sum to 1, so that every `w` integrates to 1. Convex in `w`.
struct Corrective {
    a: Mat<f64>,
    b: Mat<f64>,
    loss: Vec<f64>,
}

/// The most Newton steps.
const STEPS: usize = 40;

/// The steps end when one gains less than this, in nats.
const TOLERANCE: f64 = 1e-12;

/// The weights on the simplex that minimise the divergence on the clouds' points, or those of `q` if that gains nothing.
///
/// Newton's method with [`simplex::minimise`] for each step and a backtracking search along it. Cost `N·K·d²` for `N` points, and
/// `N·K²` a step.
pub(crate) fn corrective(q: &GaussianMixture, clouds: &[Cloud]) -> Vec<f64> {
    let old = q.weights();
    if q.len() == 1 {
        return old;
    }
    let problem = Corrective::new(q, clouds);
    let mut w = old.clone();
    let mut value = problem.value(&w);
    for _ in 0..STEPS {
        let Some((gradient, hessian)) = problem.derivatives(&w) else { break };
        // The model gᵀ(x−w) + ½(x−w)ᵀH(x−w) is ½xᵀHx − (Hw−g)ᵀx.
        let linear: Vec<f64> = (0..w.len())
            .map(|i| w.iter().enumerate().map(|(j, w)| hessian[(i.max(j), i.min(j))] * w).sum::<f64>() - gradient[i])
            .collect();
        let Ok(target) = simplex::minimise(hessian.as_ref(), &linear, &w) else { break };
        let mut step = 1.0;
        let next = loop {
            let next: Vec<f64> = w.iter().zip(&target).map(|(w, t)| w + step * (t - w)).collect();
            let at = problem.value(&next);
            if at < value {
                break Some((next, at));
            }
            step *= 0.5;
            if step < 1e-6 {
                break None;
            }
        };
        let Some((next, at)) = next else { break };
        let gained = value - at;
        (w, value) = (next, at);
        if gained < TOLERANCE {
            break;
        }
    }
    let total: f64 = w.iter().sum();
    if !(value.is_finite() && total > 0.0) {
        return old;
    }
    w.iter().map(|w| w / total).collect()
}

impl Corrective {
    fn new(q: &GaussianMixture, clouds: &[Cloud]) -> Self {
        let count = q.len();
        // A component of vanishing weight still has points.
        let pi: Vec<f64> = q.weights().iter().map(|w| 0.5 * (w + 1.0 / count as f64)).collect();
        let source = q.reweighted(&pi);
        let rows: usize = clouds.iter().map(Cloud::len).sum();
        let mut b = Mat::zeros(rows, count);
        let (mut c, mut loss) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        let mut scratch = Scratch::default();
        for (cloud, pi) in clouds.iter().zip(&pi) {
            for (x, log_f) in cloud.x.iter().zip(&cloud.log_f) {
                source.evaluate(x, &mut scratch, false);
                for k in 0..count {
                    for i in 0..x.rows() {
                        b[(c.len() + i, k)] = (scratch.log[k][i] - scratch.total[i]).exp();
                    }
                }
                loss.extend(scratch.total.iter().zip(log_f).map(|(m, f)| m - f));
                c.resize(c.len() + x.rows(), pi / cloud.len() as f64);
            }
        }
        let mut a = Mat::zeros(rows, count);
        for k in 0..count {
            let sum: f64 = (0..rows).map(|i| c[i] * b[(i, k)]).sum();
            for i in 0..rows {
                a[(i, k)] = c[i] * b[(i, k)] / sum;
            }
        }
        Self { a, b, loss }
    }

    fn mixed(&self, matrix: &Mat<f64>, w: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.loss.len()];
        for (k, w) in w.iter().enumerate() {
            if *w > 0.0 {
                vi_linalg::kernels::axpy(&mut out, *w, matrix.col_as_slice(k));
            }
        }
        out
    }

    fn value(&self, w: &[f64]) -> f64 {
        let (shares, density) = (self.mixed(&self.a, w), self.mixed(&self.b, w));
        let rows = shares.iter().zip(&density).zip(&self.loss);
        rows.filter(|((share, _), _)| **share > 0.0).map(|((share, density), loss)| share * (density.ln() + loss)).sum()
    }

    /// The gradient, and a positive semidefinite Hessian (exact except for the points' error).
    fn derivatives(&self, w: &[f64]) -> Option<(Vec<f64>, Mat<f64>)> {
        let (rows, count) = (self.loss.len(), w.len());
        let (shares, density) = (self.mixed(&self.a, w), self.mixed(&self.b, w));
        let mut gradient = vec![0.0; count];
        // √(share)/density·B: its Gram matrix is Σ share·B_kB_l/density².
        let mut root = Mat::zeros(rows, count);
        for k in 0..count {
            let (a, b) = (self.a.col_as_slice(k), self.b.col_as_slice(k));
            let root = root.col_as_slice_mut(k);
            for i in 0..rows {
                if density[i] > 0.0 {
                    if a[i] > 0.0 {
                        gradient[k] += a[i] * (density[i].ln() + self.loss[i]);
                    }
                    gradient[k] += shares[i] * b[i] / density[i];
                    root[i] = shares[i].sqrt() * b[i] / density[i];
                } else if a[i] > 0.0 {
                    // log 0: any weight is better than 0.
                    gradient[k] -= a[i] * 1e3;
                }
            }
        }
        let mut hessian = Mat::<f64>::zeros(count, count);
        matmul(hessian.as_mut(), Accum::Replace, root.transpose(), root.as_ref(), 1.0, Par::Seq);
        let size = (0..count).map(|k| hessian[(k, k)]).fold(0.0, f64::max);
        for k in 0..count {
            // Two equal components make the Hessian singular; this chooses a point between.
            hessian[(k, k)] += 1e-10 * size;
        }
        gradient.iter().all(|g| g.is_finite()).then_some((gradient, hessian))
    }
}
