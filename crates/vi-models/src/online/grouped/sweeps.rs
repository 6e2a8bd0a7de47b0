//! Sweeps of expectation propagation over the kept rows, and the components by the evidence that goes with them.
//!
//! At sites that agree with the tilted densities, the slope of the evidence by the components is that with the sites as they stand, but
//! its curvature is not: sites follow the components. Newton's steps take it from differences of slopes between which the sites are swept.

use vi_core::{Belief, Error, GroupedRow, GroupedStep, Projection, Site};
use vi_linalg::faer::Mat;

use super::columns::Space;
use super::engine::{Engine, Node};
use super::peak::{Peak, newton};
use crate::ModelError;
use crate::online::engine::{ScalarFamily, site_of};

/// The step of the differences, in units of logarithms of standard deviations: sites follow it smoothly.
const STEP: f64 = 0.1;

/// The sweeps after such a step.
const FOLLOWING: usize = 6;

/// The rounds that take the same curvature.
const SAME: usize = 2;

/// The longest step of a coordinate.
const LONGEST: f64 = 1.0;

impl<F: ScalarFamily> Engine<F> {
    /// Makes the kept rows' sites anew and finds the components, until a row moves by less than `tolerance` deviations of its predictor and
    /// the components by less than `tolerance`: at most `rounds` rounds of at most `sweeps` sweeps. The evidence is then that of the rows. Returns
    /// whether the components have come to rest. There are nodes unless all components are known to `narrow`.
    pub(super) fn sweeps(
        &mut self,
        (rounds, sweeps): (usize, usize),
        tolerance: f64,
        narrow: f64,
    ) -> Result<bool, ModelError> {
        self.settle(sweeps, tolerance)?;
        self.place(1e-6)?;
        let (mut value, mut curvature, mut rests) = (0.0, Mat::zeros(0, 0), false);
        for round in 0..rounds.max(1) {
            self.settle(sweeps, tolerance)?;
            let standing = self.standing()?;
            let here = self.gain(&self.phi, true, standing)?;
            value = here.value;
            if round % SAME == 0 {
                curvature = self.following_curvature(&here.slopes)?;
            }
            let (step, _) = newton(&curvature, &here.slopes)?;
            let step: Vec<f64> = step.iter().map(|step| step.clamp(-LONGEST, LONGEST)).collect();
            rests = step.iter().all(|step| step.abs() < tolerance);
            if rests || round + 1 == rounds {
                break;
            }
            self.phi.iter_mut().zip(&step).for_each(|(phi, step)| *phi += step);
            let root = self.coordinates().root(&self.phi);
            let variances = self.belief.variances().to_vec();
            self.belief.rebuild(&variances, root.as_ref(), self.par)?;
        }
        let from = self.standing()?;
        let peak = Peak { at: self.phi.clone(), value, curvature };
        let (nodes, log_weight) = self.nodes_about(&peak, from, narrow)?;
        let moved = nodes.into_iter().map(|node| self.moved(node)).collect::<Result<_, Error>>()?;
        (self.nodes, self.log_weight) = (moved, log_weight);
        self.curvature = peak.curvature;
        let (_, normalisers) = self.sweep(true)?;
        let (log_det, quadratic) = self.standing()?;
        self.evidence = log_det + quadratic + normalisers + self.occam();
        Ok(rests)
    }

    /// Sweeps until no row moves by more than `tolerance` deviations of its predictor.
    fn settle(&mut self, sweeps: usize, tolerance: f64) -> Result<(), ModelError> {
        for _ in 0..sweeps {
            if self.sweep(false)?.0 < tolerance {
                break;
            }
        }
        Ok(())
    }

    /// Minus the second derivatives of the log posterior of the components, the sites following them; `slopes` are those where they stand.
    fn following_curvature(&mut self, slopes: &[f64]) -> Result<Mat<f64>, ModelError> {
        let r = self.phi.len();
        let (belief, phi) = (self.belief.clone(), self.phi.clone());
        let sites: Vec<(f64, f64)> = self.rows.iter().map(|kept| kept.site).collect();
        let (mut columns, mut moves) = (Vec::with_capacity(r), Vec::with_capacity(r));
        for k in 0..r {
            self.phi[k] += STEP;
            let there = self.slopes_after_sweeps();
            let means = self.belief.common().mean().iter().zip(belief.common().mean());
            moves.push(means.map(|(there, here)| (there - here) / STEP).collect());
            self.phi.clone_from(&phi);
            self.belief.clone_from(&belief);
            self.rows.iter_mut().zip(&sites).for_each(|(kept, site)| kept.site = *site);
            columns.push(there?.iter().zip(slopes).map(|(there, here)| (here - there) / STEP).collect::<Vec<f64>>());
        }
        self.work.moves = moves;
        Ok(Mat::from_fn(r, r, |i, j| 0.5 * (columns[i][j] + columns[j][i])))
    }

    /// A node with the mean of the common columns where it would be if the sites had followed its components.
    pub(super) fn moved(&self, node: Node<F::State>) -> Result<Node<F::State>, Error> {
        let mut mean = self.belief.common().mean().to_vec();
        for ((along, there), here) in self.work.moves.iter().zip(&node.phi).zip(&self.phi) {
            mean.iter_mut().zip(along).for_each(|(mean, slope)| *mean += slope * (there - here));
        }
        Ok(Node { arrow: node.arrow.about(&mean)?, ..node })
    }

    fn slopes_after_sweeps(&mut self) -> Result<Vec<f64>, ModelError> {
        let root = self.coordinates().root(&self.phi);
        let variances = self.belief.variances().to_vec();
        self.belief.rebuild(&variances, root.as_ref(), self.par)?;
        for _ in 0..FOLLOWING {
            self.sweep(false)?;
        }
        let standing = self.standing()?;
        Ok(self.gain(&self.phi, true, standing)?.slopes)
    }

    /// One sweep over the kept rows. Returns by how many deviations of its predictor a row moved most, and the sum over the rows of
    /// `log E p(y|t) − log E exp(r·t − ½h·t²)` under their cavities. With `look` nothing is written.
    fn sweep(&mut self, look: bool) -> Result<(f64, f64), ModelError> {
        let (mut most, mut normalisers) = (0.0_f64, 0.0);
        self.work.sweeps += 1;
        let mut step = GroupedStep::default();
        let mut space = Space::default();
        for kept in &mut self.rows {
            self.columns.write(vi_core::Row::Dense(&kept.row), &mut space)?;
            let at = GroupedRow { x: space.x(), z: &space.z, group: kept.group };
            let seen = self.belief.project(at, &mut step)?;
            let ((h, r), left) = (kept.site, 1.0 - kept.site.0 * seen.variance);
            let cavity = Projection { mean: (seen.mean - r * seen.variance) / left, variance: seen.variance / left };
            let made = if left > 0.0 && cavity.mean.is_finite() && cavity.variance.is_finite() {
                site_of(&self.family, &self.state, &kept.observed, cavity)
            } else {
                Err(Error::ImproperSite { slope: r, curvature: h, variance: seen.variance })
            };
            let Ok((site, score)) = made else {
                self.fallbacks = self.fallbacks.saturating_add(1);
                continue;
            };
            if look {
                normalisers += score - log_factor(h, r, cavity);
                continue;
            }
            let (new_h, new_r) = (site.curvature, site.natural_slope(cavity.mean));
            let change = Site { slope: new_r - r - (new_h - h) * seen.mean, curvature: new_h - h };
            if self.belief.absorb(at, change, &mut step).is_ok() {
                kept.site = (new_h, new_r);
                most = most.max((change.gain(seen.variance) * seen.variance.sqrt()).abs());
            } else {
                self.fallbacks = self.fallbacks.saturating_add(1);
            }
        }
        Ok((most, normalisers))
    }
}

/// `log E exp(r·t − ½h·t²)` for `t ~ N(a, ν)`.
fn log_factor(h: f64, r: f64, Projection { mean: a, variance: nu }: Projection) -> f64 {
    let left = 1.0 + h * nu;
    (r * a + 0.5 * r * r * nu - 0.5 * h * a * a) / left - 0.5 * left.ln()
}
