//! Sums over the nodes of a row's logits, several nodes at a time in the vectors that the processor has.

use pulp::{Simd, WithSimd};
use vi_core::special::lanes;

use super::logits::Counts;
use super::nodes::{LANES, Nodes};

/// Adds `w·π_i` and `w·π_iπ_j` over all nodes; `root` has the rows of `L` up to the diagonal.
pub(super) struct AddNodes<'a> {
    pub(super) nodes: &'a Nodes,
    pub(super) mean: &'a [f64],
    pub(super) root: &'a [f64],
    /// Memory for the probabilities at a block of nodes.
    pub(super) pi: &'a mut [[f64; LANES]],
    pub(super) first: &'a mut [[f64; LANES]],
    pub(super) second: &'a mut [[f64; LANES]],
}

impl WithSimd for AddNodes<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { nodes, mean, root, pi, first, second } = self;
        for (z, weights) in nodes.blocks() {
            softmax_at(simd, mean, root, z, pi);
            let mut pairs = second.iter_mut();
            for i in 0..pi.len() {
                let mut weighted = pi[i];
                for k in 0..LANES {
                    weighted[k] *= weights[k];
                    first[i][k] += weighted[k];
                }
                for (pi_j, pair) in pi[..i].iter().zip(&mut pairs) {
                    for k in 0..LANES {
                        pair[k] += weighted[k] * pi_j[k];
                    }
                }
            }
        }
    }
}

/// Writes the logits `(0, a + Lz)` of all classes at each of a block of nodes, less the largest of each node.
#[inline(always)]
fn logits_at(mean: &[f64], root: &[f64], z: &[[f64; LANES]], eta: &mut [[f64; LANES]]) {
    let mut largest = [0.0_f64; LANES];
    let mut rest = root;
    for (i, mean) in mean.iter().enumerate() {
        let (row, below) = rest.split_at(i + 1);
        rest = below;
        let mut next = [*mean; LANES];
        for (entry, z) in row.iter().zip(z) {
            for k in 0..LANES {
                next[k] += entry * z[k];
            }
        }
        for k in 0..LANES {
            largest[k] = if next[k] > largest[k] { next[k] } else { largest[k] };
        }
        eta[i + 1] = next;
    }
    eta[0] = [0.0; LANES];
    for eta in eta {
        for k in 0..LANES {
            eta[k] -= largest[k];
        }
    }
}

/// Writes `e^η` in the place of `η` and returns their sum over the classes.
#[inline(always)]
fn exponentials<S: Simd>(simd: S, eta: &mut [[f64; LANES]]) -> [f64; LANES] {
    let mut sum = [0.0; LANES];
    for eta in eta {
        lanes::map(simd, eta, |x| lanes::exp(simd, x));
        for k in 0..LANES {
            sum[k] += eta[k];
        }
    }
    sum
}

/// Writes the probabilities of all classes at each of a block of nodes.
#[inline(always)]
fn softmax_at<S: Simd>(simd: S, mean: &[f64], root: &[f64], z: &[[f64; LANES]], pi: &mut [[f64; LANES]]) {
    logits_at(mean, root, z, pi);
    let scale = exponentials(simd, pi).map(f64::recip);
    for pi in pi {
        for k in 0..LANES {
            pi[k] *= scale[k];
        }
    }
}

/// `Σ_s w_s·Σ_c y_c·log π_c` over all nodes; `root` has the rows of `L` up to the diagonal.
pub(super) struct SumLogs<'a> {
    pub(super) nodes: &'a Nodes,
    pub(super) mean: &'a [f64],
    pub(super) root: &'a [f64],
    pub(super) counts: &'a Counts,
}

impl WithSimd for SumLogs<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let Self { nodes, mean, root, counts } = self;
        let mut eta = vec![[0.0; LANES]; mean.len() + 1];
        let mut total = [0.0; LANES];
        for (z, weights) in nodes.blocks() {
            logits_at(mean, root, z, &mut eta);
            let mut log = [0.0; LANES];
            for (y, eta) in counts.of.iter().zip(&eta) {
                for k in 0..LANES {
                    log[k] += y * eta[k];
                }
            }
            let sum = exponentials(simd, &mut eta);
            for k in 0..LANES {
                total[k] += weights[k] * (log[k] - counts.total * sum[k].ln());
            }
        }
        total.iter().sum()
    }
}
