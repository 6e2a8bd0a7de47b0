//! Divergences by the trapezoid rule, so that the curves carry no sampling error.

use vi_boost::{BoostError, GaussianMixture, LogDensity};
use vi_linalg::faer::Mat;

/// Nodes in one dimension, and on each side in two.
const NODES: [usize; 2] = [8001, 201];

/// Nodes with weights, and the target there.
pub(super) struct Nodes {
    points: Mat<f64>,
    weights: Vec<f64>,
    log_p: Vec<f64>,
}

impl Nodes {
    /// On `[−range, range]ᵈ`, `d` 1 or 2. A line is stretched, `x = sinh t`, so that both a peak and a heavy tail have nodes.
    pub(super) fn new<T: LogDensity>(target: &T, log_normaliser: f64, range: f64) -> Self {
        let d = target.dim();
        let (points, weights) = if d == 1 {
            let (n, end) = (NODES[0], range.asinh());
            let dt = 2.0 * end / (n - 1) as f64;
            let t: Vec<f64> = (0..n).map(|i| -end + dt * i as f64).collect();
            (Mat::from_fn(n, 1, |i, _| t[i].sinh()), t.iter().map(|t| t.cosh() * dt).collect())
        } else {
            let n = NODES[1];
            let h = 2.0 * range / (n - 1) as f64;
            let at = |i: usize| -range + h * i as f64;
            (Mat::from_fn(n * n, 2, |i, j| at(if j == 0 { i % n } else { i / n })), vec![h * h; n * n])
        };
        let mut log_p = vec![0.0; points.nrows()];
        target.log_densities(points.as_ref(), &mut log_p);
        for f in &mut log_p {
            *f -= log_normaliser;
        }
        Self { points, weights, log_p }
    }

    /// `KL(q‖p)`.
    pub(super) fn kl(&self, q: &GaussianMixture) -> Result<f64, BoostError> {
        let mut log_q = vec![0.0; self.weights.len()];
        q.log_densities(self.points.as_ref(), &mut log_q)?;
        let rows = log_q.iter().zip(&self.log_p).zip(&self.weights);
        Ok(rows.filter(|((q, _), _)| **q > -700.0).map(|((q, p), w)| q.exp() * (q - p) * w).sum())
    }

    /// `KL(p‖q)`.
    pub(super) fn reverse_kl(&self, q: &GaussianMixture) -> Result<f64, BoostError> {
        let mut log_q = vec![0.0; self.weights.len()];
        q.log_densities(self.points.as_ref(), &mut log_q)?;
        let rows = log_q.iter().zip(&self.log_p).zip(&self.weights);
        Ok(rows.filter(|((_, p), _)| **p > -700.0).map(|((q, p), w)| p.exp() * (p - q) * w).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::super::toys;
    use super::*;
    use vi_boost::Component;

    #[test]
    fn divergences_are_those_of_the_closed_form() {
        let gaussian = |mean: &[f64], sigma| GaussianMixture::single(Component::isotropic(mean, sigma).unwrap());
        for mean in [vec![0.5], vec![0.5, 0.5]] {
            let d = mean.len();
            let (p, q) = (gaussian(&vec![0.0; d], 1.5), gaussian(&mean, 1.0));
            let exact = d as f64 * 0.5 * (1.25 / 2.25 - 1.0 + 2.25_f64.ln());
            // The rule converges geometrically for densities that end inside the box.
            assert!((Nodes::new(&p, 0.0, 20.0).kl(&q).unwrap() - exact).abs() < 1e-9);
            // The other direction is the same with the densities' parts exchanged.
            assert!((Nodes::new(&q, 0.0, 20.0).reverse_kl(&p).unwrap() - exact).abs() < 1e-9);
        }
        let toy = toys::cauchy().unwrap();
        let nodes = Nodes::new(&toy.target, toy.log_normaliser, toy.range);
        // 0.5293 in the stored numbers, good to 1e-4.
        let start = nodes.kl(&GaussianMixture::single(toy.start)).unwrap();
        assert!((start - 0.5293).abs() < 2e-4);
    }
}
