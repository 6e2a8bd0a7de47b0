//! Candidates for a new component, and the choice of those to be searched from.

use vi_linalg::faer::Mat;

use super::cloud::Cloud;
use super::line::{Found, Line};
use super::pool::{Pool, choose, foremost, missing};
use super::settings::BoostSettings;
use crate::block::Block;
use crate::component::{Component, Family};
use crate::local::{Ball, inverse, least_eigenvalue, peak};
use crate::mixture::{GaussianMixture, Scratch};
use crate::modes::{distinct, laplace};
use crate::objective::{Reference, Single};
use crate::optimise::Search;
use crate::target::{LogDensity, Probe};

/// A candidate and the gain from mixing it in.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) component: Component,
    pub(crate) alpha: f64,
    pub(crate) gain: f64,
    pub(crate) least_eigenvalue: f64,
}

/// The result of the search for candidates.
#[derive(Debug, Clone, Default)]
pub(crate) struct Proposals {
    /// The candidates, best first.
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) tries: usize,
    pub(crate) fallbacks: usize,
    pub(crate) rejected: usize,
    pub(crate) gap: f64,
}

/// The radius of a local search, in standard deviations of its shape.
const RADIUS: f64 = 3.0;

/// Multiples of the inverse Hessian that are tried as covariances.
const SCALES: [f64; 4] = [0.5, 1.0, 2.0, 4.0];

/// The limits of local searches. They are cheap beside averages, but cost `2d` values a step for a target without a gradient.
const LOCAL: Search = Search { evaluations: 40, tolerance: 1e-6 };

/// Factors by which the covariances of all first candidates are multiplied, one after another while every candidate is rejected:
/// down to 10⁻⁴ of their widths.
const NARROWER: [f64; 5] = [1.0, 1e-2, 1e-4, 1e-6, 1e-8];

/// The number of points on which candidates are compared.
pub(crate) const COARSE: usize = 128;

/// A covariance to try at a place, before scaling.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    at: Vec<f64>,
    covariance: Mat<f64>,
    pub(crate) least_eigenvalue: f64,
}

impl Shape {
    /// The Gaussian at the place with `scale` times the covariance.
    pub(crate) fn scaled(&self, scale: f64, family: Family) -> Option<Component> {
        let full = Component::full(&self.at, self.covariance.as_ref()).ok()?;
        full.widened(scale).ok()?.as_family(family).ok()
    }
}

/// Shapes at `count` places where mass is missing: the peak of the residual near each with its Hessian, and the place itself with
/// a fallback. These are Algorithm 2's candidates, with safeguards.
pub(crate) fn shapes<T: LogDensity + ?Sized>(
    probe: &Probe<'_, T>,
    q: Option<&GaussianMixture>,
    wide: &Component,
    places: &[Vec<f64>],
    proposals: &mut Proposals,
) -> Vec<Shape> {
    let mut shapes = Vec::new();
    let fallback = q.and_then(|q| q.covariance().ok()).unwrap_or_else(|| wide.covariance());
    for place in places {
        let Some(peak) = peak(probe, q, &Ball::new(place, wide, RADIUS), LOCAL) else {
            proposals.rejected += 1;
            continue;
        };
        let least = least_eigenvalue(peak.hessian.as_ref(), probe.scale());
        match inverse(peak.hessian.as_ref()).filter(|_| peak.inside) {
            Some(covariance) => shapes.push(Shape { at: peak.at, covariance, least_eigenvalue: least }),
            None => proposals.fallbacks += 1,
        }
        if let Some(q) = q {
            // The target's own curvature at the place or, if it is not positive definite, the covariance of q.
            let own = inverse(crate::local::residual_hessian(probe, None, place).as_ref());
            let covariance = own.unwrap_or_else(|| fallback.clone());
            shapes.push(Shape { at: place.clone(), covariance, least_eigenvalue: least });
            // The nearest component, moved there, is tried too.
            if let Some(near) = nearest(q, place) {
                shapes.push(Shape { at: place.clone(), covariance: near.covariance(), least_eigenvalue: least });
            }
        } else {
            shapes.push(Shape { at: place.clone(), covariance: fallback.clone(), least_eigenvalue: least });
        }
    }
    shapes
}

/// The component with the largest share of the density at `at`.
fn nearest<'a>(q: &'a GaussianMixture, at: &[f64]) -> Option<&'a Component> {
    let mut scratch = Scratch::default();
    q.evaluate(&Block::point(at), &mut scratch, false);
    let share = |k: usize| scratch.log[k][0] + q.log_weights()[k];
    (0..q.len()).max_by(|&a, &b| share(a).total_cmp(&share(b))).map(|k| &q.components()[k])
}

/// Candidates for the first component, compared by the divergence itself.
pub(crate) fn first<T: LogDensity + ?Sized>(
    probe: &Probe<'_, T>,
    pool: &Pool,
    settings: &BoostSettings,
    z: &[Block],
    u: f64,
) -> Proposals {
    let mut proposals = Proposals { gap: f64::NAN, ..Proposals::default() };
    let found = missing(&[pool], None, f64::NAN);
    let places = choose(&found, settings.starts, u);
    let mut shapes = shapes(probe, None, &pool.source, &places, &mut proposals);
    // Searches without a ball around their places reach modes that those within balls do not.
    let from = foremost(&found, 2 * settings.starts);
    for mode in distinct(from.iter().filter_map(|place| laplace(probe, place)).collect()) {
        shapes.push(Shape { at: mode.mean().to_vec(), covariance: mode.covariance(), least_eigenvalue: f64::NAN });
    }
    if let Some(at) = places.first() {
        shapes.push(Shape { at: at.clone(), covariance: pool.source.covariance(), least_eigenvalue: f64::NAN });
    }
    shapes.push(Shape {
        at: pool.source.mean().to_vec(),
        covariance: pool.source.covariance(),
        least_eigenvalue: f64::NAN,
    });
    let single = Single { probe, z };
    for narrower in NARROWER {
        for shape in &shapes {
            for scale in SCALES {
                let Some(component) = shape.scaled(narrower * scale, settings.family) else { continue };
                proposals.tries += 1;
                let value = single.value(&component);
                if value.is_finite() {
                    let least_eigenvalue = shape.least_eigenvalue;
                    proposals.candidates.push(Candidate { component, alpha: 1.0, gain: -value, least_eigenvalue });
                } else {
                    proposals.rejected += 1;
                }
            }
        }
        // The start is far broader than the region where the target is finite, so that every candidate reaches beyond it.
        if !proposals.candidates.is_empty() {
            break;
        }
    }
    sort(&mut proposals);
    proposals
}

/// What the search for a further component uses.
pub(crate) struct Scene<'a, T: ?Sized> {
    pub(crate) probe: &'a Probe<'a, T>,
    pub(crate) q: &'a GaussianMixture,
    /// The pools that places come from; the last is that of the widened `q`.
    pub(crate) pools: [&'a Pool; 2],
    pub(crate) reference: &'a Reference,
    /// `log Z`, estimated from `q`'s own points.
    pub(crate) log_evidence: f64,
    pub(crate) settings: &'a BoostSettings,
    /// The points on which candidates are compared.
    pub(crate) z: &'a [Block],
}

impl<T: LogDensity + ?Sized> Scene<'_, T> {
    /// Candidates, by the gain of the exact line search on common points; `u ∈ [0, 1)` shifts the choice of places.
    pub(crate) fn propose(&self, u: f64) -> Proposals {
        let q = self.q;
        let mut proposals = Proposals { gap: f64::NEG_INFINITY, ..Proposals::default() };
        let places = choose(&missing(&self.pools, Some(q), self.log_evidence), self.settings.starts, u);
        let mut shapes = shapes(self.probe, Some(q), &self.pools[1].source, &places, &mut proposals);
        // The heaviest component, so that its scales are tried at its place.
        let weights = q.weights();
        if let Some(k) = (0..q.len()).max_by(|&a, &b| weights[a].total_cmp(&weights[b])) {
            let component = &q.components()[k];
            let (at, covariance) = (component.mean().to_vec(), component.covariance());
            shapes.push(Shape { at, covariance, least_eigenvalue: f64::NAN });
        }
        let mut trial = Trial { q, reference: self.reference, line: Line::default() };
        let mut points = Cloud::resting(self.z.to_vec());
        for shape in shapes {
            for scale in SCALES {
                let Some(component) = shape.scaled(scale, self.settings.family) else { continue };
                proposals.tries += 1;
                points.move_to(self.probe, &component);
                let Some(found) = trial.line_search(&component, &points) else {
                    proposals.rejected += 1;
                    continue;
                };
                proposals.gap = proposals.gap.max(found.slope);
                let (alpha, gain, least_eigenvalue) = (found.alpha, found.gain, shape.least_eigenvalue);
                proposals.candidates.push(Candidate { component, alpha, gain, least_eigenvalue });
            }
        }
        sort(&mut proposals);
        proposals
    }
}

fn sort(proposals: &mut Proposals) {
    proposals.candidates.sort_by(|a, b| b.gain.total_cmp(&a.gain));
}

/// Line searches from one mixture.
pub(crate) struct Trial<'a> {
    pub(crate) q: &'a GaussianMixture,
    pub(crate) reference: &'a Reference,
    pub(crate) line: Line,
}

impl Trial<'_> {
    /// The exact line search for the weight of `h`, given its points; `None` if the target is zero, NaN or infinite at one of
    /// them.
    pub(crate) fn line_search(&mut self, h: &Component, points: &Cloud) -> Option<Found> {
        if !points.is_finite() {
            return None;
        }
        self.line.clear();
        let (mut log_h, mut s, mut scratch) = (Vec::new(), Block::default(), Scratch::default());
        let n = points.len() as f64;
        for (x, log_f) in points.x.iter().zip(&points.log_f) {
            log_h.resize(x.rows(), 0.0);
            h.evaluate(x, &mut log_h, &mut s, false);
            self.q.evaluate(x, &mut scratch, false);
            for i in 0..x.rows() {
                self.line.push(1.0 / n, scratch.total[i], log_h[i], log_f[i]);
            }
        }
        for (k, x) in self.reference.x.iter().enumerate() {
            log_h.resize(x.rows(), 0.0);
            h.evaluate(x, &mut log_h, &mut s, false);
            for i in 0..x.rows() {
                let (c, q) = (self.reference.weight[k][i], self.reference.log_q[k][i]);
                self.line.push(c, q, log_h[i], self.reference.log_f[k][i]);
            }
        }
        self.line.minimise()
    }
}
