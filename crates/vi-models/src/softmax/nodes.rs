//! Fixed nodes for Gaussian expectations over a few logits, where there is no closed form.

use vi_core::Error;
use vi_core::special::normal_density;
use vi_linalg::Cholesky;
use vi_linalg::faer::Mat;

use vi_core::special::normal_quantile;

/// The least number of nodes, and of nodes for each logit: with fewer their covariance cannot be made exact.
const LEAST: usize = 16;
const LEAST_PER_LOGIT: usize = 4;
/// Where a grid ends, in standard deviations.
const GRID_END: f64 = 5.6;

/// Nodes `z_s` and weights for expectations under `N(0, I)` in `m` dimensions: `E f ≈ Σ w_s·f(z_s)`.
///
/// In one or two dimensions they are a grid (trapezoid rule); in more, a Kronecker sequence, `frac(½ + s·α)` with `α_j = φ^(−j)`,
/// `φ^(m+1) = φ + 1`, mapped by the normal quantile, each point with its mirror image. Either is then scaled so that its
/// covariance is the identity: cubics are integrated exactly. The nodes depend only on `m` and their number.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Nodes {
    /// `m` numbers for each node.
    points: Vec<f64>,
    weights: Vec<f64>,
    dim: usize,
    /// The nodes again, [`LANES`] side by side for each of the `m` numbers, then their weights; the unused rest of the last block
    /// has weight 0.
    blocks: Vec<[f64; LANES]>,
}

/// The number of nodes taken together in vectors.
pub(super) const LANES: usize = 8;

impl Nodes {
    /// At least `count` nodes in `dim` dimensions.
    pub(super) fn new(dim: usize, count: usize) -> Result<Self, Error> {
        let least = LEAST.max(LEAST_PER_LOGIT * dim);
        if count < least || count > 1 << 20 {
            let requirement = "at least 16, at least 4 for each logit, at most 2^20";
            return Err(Error::Setting { name: "nodes", value: count as f64, requirement });
        }
        let mut nodes = if dim <= 2 { grid(dim, count) } else { kronecker(dim, count.div_ceil(2)) }?;
        for first in (0..nodes.len()).step_by(LANES) {
            let lanes = |number: &dyn Fn(usize) -> f64| {
                std::array::from_fn(|k| if first + k < nodes.weights.len() { number(first + k) } else { 0.0 })
            };
            let mut block: Vec<[f64; LANES]> = (0..dim).map(|j| lanes(&|s| nodes.points[s * dim + j])).collect();
            block.push(lanes(&|s| nodes.weights[s]));
            nodes.blocks.extend(block);
        }
        Ok(nodes)
    }

    /// Blocks of nodes: `m` rows of coordinates and one of weights each.
    pub(super) fn blocks(&self) -> impl Iterator<Item = (&[[f64; LANES]], &[f64; LANES])> {
        self.blocks.chunks_exact(self.dim + 1).map(|block| (&block[..self.dim], &block[self.dim]))
    }

    pub(super) fn len(&self) -> usize {
        self.weights.len()
    }

    /// `(z_s, w_s)`.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[f64], f64)> {
        self.points.chunks_exact(self.dim).zip(self.weights.iter().copied())
    }

    /// Scales the points so that `Σ w_s·z_sz_sᵀ = I`.
    fn whitened(mut self) -> Result<Self, Error> {
        let m = self.dim;
        let mut covariance = Mat::<f64>::zeros(m, m);
        for (z, w) in self.iter() {
            for i in 0..m {
                for j in 0..=i {
                    covariance[(i, j)] += w * z[i] * z[j];
                }
            }
        }
        let cholesky = Cholesky::new(covariance.as_ref())?;
        for z in self.points.chunks_exact_mut(m) {
            let white = cholesky.whiten(vi_linalg::faer::MatRef::from_column_major_slice(z, m, 1))?;
            z.iter_mut().enumerate().for_each(|(i, z)| *z = white[(i, 0)]);
        }
        Ok(self)
    }
}

/// The trapezoid rule on a cube, its weights scaled to sum to 1.
fn grid(dim: usize, count: usize) -> Result<Nodes, Error> {
    let side = if dim == 1 { count } else { count.isqrt() };
    let axis: Vec<f64> = (0..side).map(|i| GRID_END * (2.0 * i as f64 / (side - 1) as f64 - 1.0)).collect();
    let mut nodes = Nodes { points: Vec::new(), weights: Vec::new(), dim, blocks: Vec::new() };
    for &first in &axis {
        if dim == 1 {
            nodes.points.push(first);
            nodes.weights.push(normal_density(first));
            continue;
        }
        for &second in &axis {
            nodes.points.extend([first, second]);
            nodes.weights.push(normal_density(first) * normal_density(second));
        }
    }
    let total: f64 = nodes.weights.iter().sum();
    nodes.weights.iter_mut().for_each(|weight| *weight /= total);
    nodes.whitened()
}

fn kronecker(dim: usize, half: usize) -> Result<Nodes, Error> {
    // The root of φ^(m+1) = φ + 1 above 1, by its contraction.
    let exponent = 1.0 / (dim as f64 + 1.0);
    let mut phi = 1.5_f64;
    for _ in 0..100 {
        phi = (1.0 + phi).powf(exponent);
    }
    let mut points = Vec::with_capacity(2 * half * dim);
    for s in 1..=half {
        let first = points.len();
        let mut alpha = 1.0;
        for _ in 0..dim {
            alpha /= phi;
            let u = (0.5 + s as f64 * alpha).fract();
            points.push(normal_quantile(u.clamp(1e-12, 1.0 - 1e-12)));
        }
        for i in first..first + dim {
            points.push(-points[i]);
        }
    }
    Nodes { points, weights: vec![0.5 / half as f64; 2 * half], dim, blocks: Vec::new() }.whitened()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_up_to_the_third_are_exact() {
        for (dim, count) in [(1, 33), (1, 256), (2, 256), (3, 256), (9, 256), (40, 256)] {
            let nodes = Nodes::new(dim, count).unwrap();
            assert!(nodes.len() <= count + 1 && nodes.len() * 5 >= count * 4, "{}", nodes.len());
            // Sums of a few hundred terms of size 10 or so.
            let tolerance = 1e3 * f64::EPSILON * nodes.len() as f64;
            let mean = |f: &dyn Fn(&[f64]) -> f64| nodes.iter().map(|(z, w)| w * f(z)).sum::<f64>();
            assert!((mean(&|_| 1.0) - 1.0).abs() < tolerance);
            for i in 0..dim {
                assert!(mean(&|z| z[i]).abs() < tolerance && mean(&|z| z[i] * z[i] * z[0]).abs() < tolerance);
                for j in 0..=i {
                    let expected = f64::from(u8::from(i == j));
                    assert!((mean(&|z| z[i] * z[j]) - expected).abs() < tolerance, "{dim}: {i}, {j}");
                }
            }
        }
        for (dim, count) in [(1, 15), (5, 19), (2, 0)] {
            assert!(matches!(Nodes::new(dim, count), Err(Error::Setting { name: "nodes", .. })));
        }
    }
}
