//! Divergences in one and two dimensions by the trapezoid rule.

use vi_boost::{GaussianMixture, LogDensity};
use vi_linalg::faer::Mat;

use crate::CaseError;

/// Nodes in one dimension, and on each side in two.
const NODES: [usize; 2] = [20_001, 241];

/// Half-widths of a stretched line that its evenly spaced middle has.
const STRETCH: f64 = 1e-2;

/// Nodes with their weights, and the target's values there.
#[derive(Debug, Clone)]
pub struct Quadrature {
    points: Mat<f64>,
    weights: Vec<f64>,
    log_f: Vec<f64>,
}

impl Quadrature {
    /// On the box from `lower` to `upper`, for a target in one or two dimensions; `None` in more. A line longer than a thousand is
    /// stretched, `x ∝ sinh t`, so that a heavy tail and a peak both have nodes.
    #[must_use]
    pub fn new<T: LogDensity>(target: &T, lower: &[f64], upper: &[f64]) -> Option<Self> {
        let line = |lower: f64, upper: f64, n: usize| -> Vec<(f64, f64)> {
            let (centre, half) = (0.5 * (lower + upper), 0.5 * (upper - lower));
            let t = |i: usize| 2.0 * i as f64 / (n - 1) as f64 - 1.0;
            let dt = 2.0 / (n - 1) as f64;
            if half <= 500.0 {
                return (0..n).map(|i| (centre + half * t(i), half * dt)).collect();
            }
            let width = (1.0 / (STRETCH * 1e-3 * half)).max(1.0).recip().max(0.5);
            let end = (half / width).asinh();
            (0..n).map(|i| (centre + width * (end * t(i)).sinh(), width * end * (end * t(i)).cosh() * dt)).collect()
        };
        let nodes: Vec<(Vec<f64>, f64)> = match (lower, upper) {
            ([a], [b]) => line(*a, *b, NODES[0]).into_iter().map(|(x, w)| (vec![x], w)).collect(),
            ([a, c], [b, d]) => {
                let (xs, ys) = (line(*a, *b, NODES[1]), line(*c, *d, NODES[1]));
                xs.iter().flat_map(|x| ys.iter().map(move |y| (vec![x.0, y.0], x.1 * y.1))).collect()
            }
            _ => return None,
        };
        let points = Mat::from_fn(nodes.len(), lower.len(), |i, j| nodes[i].0[j]);
        let mut log_f = vec![0.0; nodes.len()];
        target.log_densities(points.as_ref(), &mut log_f);
        Some(Self { points, weights: nodes.into_iter().map(|(_, w)| w).collect(), log_f })
    }

    /// `log ∫f` over the box.
    #[must_use]
    pub fn log_normaliser(&self) -> f64 {
        self.log_f.iter().zip(&self.weights).map(|(f, w)| f.exp() * w).sum::<f64>().ln()
    }

    /// `E_q[log(q/f)] + log_normaliser` over the box.
    ///
    /// # Errors
    /// [`CaseError::Boost`].
    pub fn kl(&self, q: &GaussianMixture, log_normaliser: f64) -> Result<f64, CaseError> {
        let mut log_q = vec![0.0; self.weights.len()];
        q.log_densities(self.points.as_ref(), &mut log_q)?;
        let rows = log_q.iter().zip(&self.log_f).zip(&self.weights);
        Ok(rows.filter(|((q, _), _)| **q > -700.0).map(|((q, f), w)| q.exp() * (q - f + log_normaliser) * w).sum())
    }
}

#[cfg(test)]
mod tests {
    use vi_boost::Component;
    use vi_boost::target::Cauchy;

    use super::*;

    #[test]
    fn a_stretched_line_holds_peak_and_tails() {
        let target = Cauchy::new(0.0, 2.0).unwrap();
        let line = Quadrature::new(&target, &[-1e5], &[1e5]).unwrap();
        // The tails beyond ±1e5 have a mass of 4/(π·1e5).
        assert!((line.log_normaliser() - target.log_normaliser()).abs() < 2e-5);
    }

    #[test]
    fn divergences_of_gaussians_are_the_closed_form() {
        for (lower, upper) in [(vec![-30.0], vec![30.0]), (vec![-12.0, -12.0], vec![12.0, 12.0])] {
            let d = lower.len();
            let p = GaussianMixture::single(Component::isotropic(&vec![0.0; d], 1.5).unwrap());
            let q = GaussianMixture::single(Component::isotropic(&vec![0.5; d], 1.0).unwrap());
            let exact = d as f64 * 0.5 * ((1.0 + 0.25) / 2.25 - 1.0 + 2.25_f64.ln());
            let found = Quadrature::new(&p, &lower, &upper).unwrap();
            // The rule converges geometrically; both densities end inside the box.
            assert!((found.kl(&q, 0.0).unwrap() - exact).abs() < 1e-10);
            assert!(found.log_normaliser().abs() < 1e-10);
        }
    }
}
