//! Finding the components of variance, with the sites as they stand, and the nodes that stand for their posterior.

use vi_core::{Error, GroupedSolution};
use vi_linalg::eigen::eigen;
use vi_linalg::faer::{Mat, Par};

use super::engine::{Engine, Node};
use super::peak::{Peak, climb};
use crate::ModelError;
use crate::online::engine::ScalarFamily;

/// Below this standard deviation of all coordinates the peak answers alone: intervals would change by some hundredth.
pub(super) const NARROW: f64 = 0.1;

/// The tolerance of a search that is to end at the peak: two searches from different places agree to `10⁻¹⁰` of the standard deviations.
pub(super) const EXACT: f64 = 1e-20;

/// The largest log of a correction of a node's weight: the tails of the approximation are too thin.
const MOST_CORRECTION: f64 = 2.0;

/// The most common weights for which there are nodes.
const MOST_WEIGHTS: usize = 256;

/// The most groups for which the search looks far away from where it stands.
pub(super) const FEW: usize = 4096;

/// How far it looks, in units of the logarithms of all standard deviations.
const LOOKS: [f64; 4] = [-3.0, -1.5, 1.5, 3.0];

/// What [`gain`](Engine::gain) finds at some components.
#[derive(Debug, Clone)]
pub(super) struct Gained<S> {
    pub(super) value: f64,
    /// The slopes of the value, if they were asked for.
    pub(super) slopes: Vec<f64>,
    pub(super) state: S,
    pub(super) solution: GroupedSolution,
}

/// Nodes, and the log share of the peak.
type Placed<S> = (Vec<Node<S>>, f64);

impl<F: ScalarFamily> Engine<F> {
    /// How the log evidence and the state change from those at the current components to those at `phi`, the prior counted.
    pub(super) fn gain(&self, phi: &[f64], slopes: bool, from: (f64, f64)) -> Result<Gained<F::State>, Error> {
        let coordinates = self.coordinates();
        let root = coordinates.root(phi);
        let variances = self.belief.variances();
        let (solution, by_root) = if slopes {
            let (solution, by_root) = self.belief.solve_with_slopes(variances, root.as_ref(), self.par)?;
            (solution, Some(by_root))
        } else {
            (self.belief.solve(variances, root.as_ref(), self.par)?, None)
        };
        let moved = (solution.log_det - from.0, 2.0 * (from.1 - solution.quadratic));
        let (mut value, state) = self.family.rescale(&self.state, moved.0, moved.1);
        let mut along = by_root.map_or_else(Vec::new, |by_root| {
            // Of `−α·log rate` the slope by the quadratic part is the mean precision of the noise.
            let precision = 1.0 / self.family.noise_variance(&state);
            let q = root.nrows();
            let slope = Mat::from_fn(q, q, |i, j| by_root.log_det[(i, j)] + precision * by_root.quadratic[(i, j)]);
            coordinates.pull_back(phi, &slope)
        });
        if let Some(prior) = self.component_prior() {
            let (log_prior, by_phi) = coordinates.log_prior(prior, phi);
            value += log_prior;
            along.iter_mut().zip(by_phi).for_each(|(sum, slope)| *sum += slope);
        }
        Ok(Gained { value, slopes: along, state, solution })
    }

    /// Evidence parts at the current components.
    pub(super) fn standing(&self) -> Result<(f64, f64), Error> {
        let solution = self.belief.solve(self.belief.variances(), self.belief.root().as_ref(), self.par)?;
        Ok((solution.log_det, solution.quadratic))
    }

    /// Finds the peak of the posterior of the components to within `tolerance` nats, takes it, and places the nodes about it. On an error
    /// the model is unchanged.
    pub(super) fn place(&mut self, tolerance: f64) -> Result<(), ModelError> {
        let from = self.standing()?;
        let of = |phi: &[f64], slopes| self.gain(phi, slopes, from).map(|gained| (gained.value, gained.slopes));
        let mut start = self.phi.clone();
        if self.belief.groups() <= FEW {
            let mut highest = of(&start, false)?.0;
            for look in LOOKS {
                let mut phi = self.phi.clone();
                phi[..self.settings.effects.count()].iter_mut().for_each(|u| *u += look);
                match of(&phi, false) {
                    Ok((value, _)) if value > highest => (highest, start) = (value, phi),
                    _ => (),
                }
            }
        }
        let peak = climb(start, tolerance, |phi| of(phi, true))?;
        let nodes = self.nodes_about(&peak, from, NARROW)?;
        let Gained { value, state, .. } = self.gain(&peak.at, false, from)?;
        let prior =
            |phi: &[f64]| self.component_prior().map_or(0.0, |prior| self.coordinates().log_prior(prior, phi).0);
        let evidence = value - prior(&peak.at);
        let root = self.coordinates().root(&peak.at);
        let variances = self.belief.variances().to_vec();
        self.belief.rebuild(&variances, root.as_ref(), self.par)?;
        if !self.fixed {
            self.evidence += evidence;
        }
        (self.state, self.phi, self.curvature) = (state, peak.at, peak.curvature);
        (self.nodes, self.log_weight) = nodes;
        Ok(())
    }

    /// The nodes of the rule of degree three with `2r + 1` points, at distances `√(r + 1)` along the axes of the posterior's Laplace
    /// approximation, their weights corrected by the posterior itself; and the log share of the peak. There are none where all deviations are below `narrow`.
    pub(super) fn nodes_about(&self, peak: &Peak, from: (f64, f64), narrow: f64) -> Result<Placed<F::State>, Error> {
        let alone = Ok((Vec::new(), 0.0));
        if self.component_prior().is_none() || self.belief.dim() > MOST_WEIGHTS {
            return alone;
        }
        let (values, vectors) = eigen(peak.curvature.as_ref(), Par::Seq)?;
        let r = values.len() as f64;
        let least = (self.priors.components.spread * self.priors.components.spread).recip();
        let deviations: Vec<f64> = values.iter().map(|value| value.max(least).sqrt().recip()).collect();
        if deviations.iter().all(|deviation| *deviation < narrow) {
            return alone;
        }
        let distance = (r + 1.0).sqrt();
        let mut nodes = Vec::new();
        for (k, deviation) in deviations.iter().enumerate() {
            for sign in [1.0, -1.0] {
                let phi: Vec<f64> = peak
                    .at
                    .iter()
                    .enumerate()
                    .map(|(i, at)| at + sign * distance * deviation * vectors[(i, k)])
                    .collect();
                let Ok(Gained { value, state, solution, .. }) = self.gain(&phi, false, from) else { continue };
                let arrow = self.belief.arrow(&solution, self.coordinates().root(&phi).as_ref())?;
                let log_weight = (0.5 / (r + 1.0)).ln() + (value - peak.value + 0.5 * (r + 1.0)).min(MOST_CORRECTION);
                nodes.push(Node { phi, arrow, state, log_weight });
            }
        }
        Ok((nodes, -(r + 1.0).ln()))
    }

    /// What averaging over the components adds to the log evidence at their peak, by Laplace's approximation.
    pub(super) fn occam(&self) -> f64 {
        let Some(prior) = self.component_prior() else { return 0.0 };
        let least = (prior.spread * prior.spread).recip();
        let log_prior = self.coordinates().log_prior(prior, &self.phi).0;
        let values = vi_linalg::eigen::eigenvalues(self.curvature.as_ref(), Par::Seq).unwrap_or_default();
        let widths: f64 = values.iter().map(|value| -0.5 * value.max(least).ln()).sum();
        log_prior + widths + vi_core::special::HALF_LN_2PI * values.len() as f64
    }
}
