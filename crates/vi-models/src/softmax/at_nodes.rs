//! Sums over the nodes of a row's logits, several nodes at a time with the processor's vector instructions.

use pulp::{Simd, WithSimd};
use vi_core::special::lanes;

use super::logits::Counts;
use super::nodes::{LANES, Nodes};

/// Adds `w·π_i` and `w·π_iπ_j` over all nodes; `root` has the rows of `L` up to the diagonal. With `counts`, returns
/// `Σ_s w_s·Σ_c y_c·log π_c` of the same nodes, else 0.
pub(super) struct AddNodes<'a> {
    pub(super) nodes: &'a Nodes,
    pub(super) mean: &'a [f64],
    pub(super) root: &'a [f64],
    pub(super) counts: Option<&'a Counts>,
    /// Memory for the probabilities at a block of nodes.
    pub(super) pi: &'a mut [[f64; LANES]],
    pub(super) first: &'a mut [[f64; LANES]],
    pub(super) second: &'a mut [[f64; LANES]],
}

impl WithSimd for AddNodes<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let Self { nodes, mean, root, counts, pi, first, second } = self;
        let mut logs = [0.0; LANES];
        for (z, weights) in nodes.blocks() {
            logits_at(mean, root, z, pi);
            let along = counts.map(|counts| along(counts, pi));
            let sum = exponentials(simd, pi);
            if let (Some(counts), Some(along)) = (counts, along) {
                add_logs(&mut logs, weights, counts, (along, sum));
            }
            let scale = sum.map(f64::recip);
            let mut pairs = second.iter_mut();
            for i in 0..pi.len() {
                let mut weighted = [0.0; LANES];
                for k in 0..LANES {
                    pi[i][k] *= scale[k];
                    weighted[k] = weights[k] * pi[i][k];
                    first[i][k] += weighted[k];
                }
                for (pi_j, pair) in pi[..i].iter().zip(&mut pairs) {
                    for k in 0..LANES {
                        pair[k] += weighted[k] * pi_j[k];
                    }
                }
            }
        }
        logs.iter().sum()
    }
}

/// `Σ_c y_c·η_c` at each of a block of nodes.
#[inline(always)]
fn along(counts: &Counts, eta: &[[f64; LANES]]) -> [f64; LANES] {
    let mut along = [0.0; LANES];
    for (y, eta) in counts.of.iter().zip(eta) {
        for k in 0..LANES {
            along[k] += y * eta[k];
        }
    }
    along
}

/// Adds `w·(Σ y_c·η_c − n·log Σ e^η)` of a block of nodes.
#[inline(always)]
fn add_logs(
    logs: &mut [f64; LANES],
    weights: &[f64; LANES],
    counts: &Counts,
    (along, sum): ([f64; LANES], [f64; LANES]),
) {
    for k in 0..LANES {
        logs[k] += weights[k] * (along[k] - counts.total * sum[k].ln());
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

/// Replaces `η` by `e^η` and returns their sum over the classes.
#[inline(always)]
fn exponentials<S: Simd>(simd: S, eta: &mut [[f64; LANES]]) -> [f64; LANES] {
    let mut sum = [0.0; LANES];
    for eta in eta {
        lanes::update(simd, [], eta, &lanes::Exp);
        for k in 0..LANES {
            sum[k] += eta[k];
        }
    }
    sum
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
        let mut logs = [0.0; LANES];
        for (z, weights) in nodes.blocks() {
            logits_at(mean, root, z, &mut eta);
            let along = along(counts, &eta);
            let sum = exponentials(simd, &mut eta);
            add_logs(&mut logs, weights, counts, (along, sum));
        }
        logs.iter().sum()
    }
}
