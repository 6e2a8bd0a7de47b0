//! Nodes of the hyper-parameters, weighted by the density over all that they were drawn from.

use vi_core::psis;
use vi_linalg::faer::{Mat, MatRef};

use super::Latent;
use super::marginal::Marginal;
use super::nodes::{Drawn, Node, draw};
use crate::BoostError;
use crate::block::{self, Block};
use crate::component::Component;
use crate::mixture::{GaussianMixture, Scratch};
use crate::seeds::Seeds;

/// The least number of nodes of a component.
const LEAST_NODES: usize = 16;
/// Effective nodes for each dimension, and one more, below which a component stays as it is.
const LEAST_EFFECTIVE: usize = 2;
/// The weight and the width of the component that spans all others.
const SPANNING: (f64, f64) = (0.15, 4.0);

/// Nodes with what was found at each.
pub(super) struct Cloud {
    /// Free coordinates, `n × d`.
    points: Vec<f64>,
    /// The log-density at each node.
    log_f: Vec<f64>,
    pub(super) nodes: Vec<Node>,
    pub(super) drawn: Vec<Drawn>,
    /// All components that nodes were drawn from, with the number of nodes.
    sources: Vec<(Component, usize)>,
    refused: u64,
}

impl Cloud {
    pub(super) fn new() -> Self {
        Self {
            points: Vec::new(),
            log_f: Vec::new(),
            nodes: Vec::new(),
            drawn: Vec::new(),
            sources: Vec::new(),
            refused: 0,
        }
    }

    /// Adds about `count` quasi-random points of `q`, with `each` draws of the latent values at each.
    pub(super) fn extend<M: Latent>(
        &mut self,
        marginal: &Marginal<'_, M>,
        q: &GaussianMixture,
        (count, each): (f64, usize),
        seeds: &mut Seeds,
    ) -> Result<(), BoostError> {
        let refused = marginal.work().refused;
        for (component, weight) in q.components().iter().zip(q.weights()) {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a count")]
            let own = ((weight * count).round() as usize).next_multiple_of(2).max(LEAST_NODES);
            for z in block::quasi(own, component.latent_dim(), seeds.next())? {
                let (mut x, mut u) = (Block::default(), vec![0.0; q.dim()]);
                component.map(&z, &mut x);
                for i in 0..x.rows() {
                    x.row(i, &mut u);
                    let Some((solved, hyper, value)) = marginal.tried(&u) else { continue };
                    self.drawn.push(draw(marginal, &solved, &hyper, each, seeds)?);
                    let variances = (0..solved.mean.len()).map(|j| solved.covariance[(j, j)]).collect();
                    let (mean, log_evidence) = (solved.mean, solved.log_evidence);
                    self.nodes.push(Node { hyper, weight: 0.0, log_evidence, mean, variances });
                    self.points.extend_from_slice(&u);
                    self.log_f.push(value);
                }
            }
            self.sources.push((component.clone(), own));
        }
        self.refused += marginal.work().refused - refused;
        Ok(())
    }

    /// The share of the nodes at which the model failed.
    pub(super) fn refused(&self) -> f64 {
        self.refused as f64 / self.drawn_from()
    }

    fn drawn_from(&self) -> f64 {
        self.sources.iter().map(|(_, count)| *count as f64).sum()
    }

    fn matrix(&self) -> MatRef<'_, f64> {
        let d = self.sources.first().map_or(0, |(component, _)| component.dim());
        MatRef::from_row_major_slice(&self.points, self.log_f.len(), d)
    }

    /// Weights `f/q̄`, `q̄` being the mixture of all sources by their numbers of nodes (Cornuet, Marin, Mira and Robert 2012); returns
    /// the log evidence and `k̂`.
    ///
    /// # Errors
    /// `NonFinite` if the density is zero at every node.
    pub(super) fn weigh(&mut self) -> Result<(f64, f64), BoostError> {
        let total = self.drawn_from();
        let shares = self.sources.iter().map(|(_, count)| (*count as f64 / total).ln()).collect();
        let q = GaussianMixture::from_parts(self.sources.iter().map(|(c, _)| c.clone()).collect(), shares);
        let mut log_q = vec![0.0; self.log_f.len()];
        q.log_densities(self.matrix(), &mut log_q)?;
        let logs: Vec<f64> = self.log_f.iter().zip(&log_q).map(|(f, q)| f - q).collect();
        let k_hat = psis::psis(&logs)?.k_hat;
        let largest = logs.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
        let sum: f64 = logs.iter().map(|log| (log - largest).exp()).sum();
        for (node, log) in self.nodes.iter_mut().zip(&logs) {
            node.weight = (log - largest).exp() / sum;
        }
        Ok((largest + (sum / total).ln(), k_hat))
    }

    /// `1/Σw²`.
    pub(super) fn effective(&self) -> f64 {
        1.0 / self.nodes.iter().map(|node| node.weight * node.weight).sum::<f64>()
    }

    /// One step of EM for the mixture on the weighted nodes (Cappé, Douc, Guillin, Marin and Robert 2008), and a component that spans all.
    pub(super) fn adapted(&self, q: &GaussianMixture) -> Result<GaussianMixture, BoostError> {
        let n = self.nodes.len();
        let mut scratch = Scratch::default();
        q.evaluate(&Block::of_rows(self.matrix(), 0, n), &mut scratch, false);
        let (mut components, mut weights) = (Vec::new(), Vec::new());
        for (k, (component, weight)) in q.components().iter().zip(q.weights()).enumerate() {
            let share = |i: usize| self.nodes[i].weight * weight * (scratch.log[k][i] - scratch.total[i]).exp();
            let shares: Vec<f64> = (0..n).map(share).collect();
            let own = self.moments(&shares, LEAST_EFFECTIVE * q.dim() + 1);
            components.push(own.unwrap_or_else(|| component.clone()));
            weights.push((1.0 - SPANNING.0) * shares.iter().sum::<f64>());
        }
        let all: Vec<f64> = self.nodes.iter().map(|node| node.weight).collect();
        if let Some(spanning) = self.moments(&all, 0) {
            components.push(spanning.widened(SPANNING.1)?);
            weights.push(SPANNING.0);
        }
        let total: f64 = weights.iter().sum();
        GaussianMixture::new(components, &weights.iter().map(|w| w / total).collect::<Vec<_>>())
    }

    /// The Gaussian with the moments of the nodes under `shares`; `None` if fewer than `least` effective nodes tell them, or they have
    /// no width.
    fn moments(&self, shares: &[f64], least: usize) -> Option<Component> {
        let x = self.matrix();
        let (n, d) = x.shape();
        let (sum, squares) = shares.iter().fold((0.0, 0.0), |(a, b), c| (a + c, b + c * c));
        if sum * sum < least as f64 * squares {
            return None;
        }
        let mean: Vec<f64> = (0..d).map(|j| (0..n).map(|i| shares[i] * x[(i, j)]).sum::<f64>() / sum).collect();
        let covariance = Mat::from_fn(d, d, |j, k| {
            (0..n).map(|i| shares[i] * (x[(i, j)] - mean[j]) * (x[(i, k)] - mean[k])).sum::<f64>() / sum
        });
        Component::full(&mean, covariance.as_ref()).ok()
    }
}
