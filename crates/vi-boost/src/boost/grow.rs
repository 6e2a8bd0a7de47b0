//! Adding one component to a mixture.

use super::Boost;
use super::Refit;
use super::cloud::{Cloud, reference, rest_beside};
use super::info::Info;
use super::line::Line;
use super::pool::Pool;
use super::propose::{self, COARSE, Candidate, Proposals, Scene, Trial};
use super::refit::NEAR;
use super::weights;
use crate::BoostError;
use crate::block::{self, Block};
use crate::component::Component;
use crate::mixture::GaussianMixture;
use crate::objective::{Best, Greedy, Reference, Resting, Single};
use crate::optimise::Search;
use crate::target::LogDensity;

/// The number of evaluations for the first component, whose search starts further away than any other.
const FIRST_SEARCH: usize = 200;

/// A component's search ends when a step gains less than this, in nats, which is far below what a component is worth.
const SEARCH_TOLERANCE: f64 = 1e-8;

/// A search that is followed by others takes the points divided by `FEWER`; that of the first component also ends when `ROUGH`
/// nats are left.
const FEWER: usize = 4;
const ROUGH: f64 = 1e-2;

/// How often a first component's covariance is halved: to a quarter of its width.
const NARROWINGS: usize = 5;

/// Candidates that are optimised on the true objective.
const FINALISTS: usize = 2;

/// How often the points of a component are moved to its new place.
const GREEDY_ROUNDS: usize = 2;

impl<T: LogDensity + ?Sized> Boost<'_, T> {
    /// Finds the best single Gaussian.
    pub(super) fn first(&mut self, info: &mut Info) -> Result<(GaussianMixture, Vec<Cloud>), BoostError> {
        let (seed, u) = (self.seeds.next(), self.seeds.uniform());
        let coarse = self.coarse()?;
        let proposals = propose::first(&self.probe, &self.start, &self.settings, &coarse, u);
        note(info, &proposals);
        let latent = proposals.candidates.first().map(|candidate| candidate.component.latent_dim());
        let Some(latent) = latent else { return Err(BoostError::NoCandidate { tries: info.tries }) };
        let (z, fresh) = (block::quasi(self.points, latent, seed)?, self.seeds.next());
        let few = block::quasi((self.points / FEWER).max(4 * latent.div_ceil(2) * 2).min(self.points), latent, seed)?;
        let (single, rough) = (Single { probe: &self.probe, z: &z }, Single { probe: &self.probe, z: &few });
        let search = Search { evaluations: FIRST_SEARCH, tolerance: SEARCH_TOLERANCE };
        // Each finalist is searched on few points, then the best of them on all, or another if the target is zero at a point of
        // the best one.
        let mut finalists: Vec<(Component, f64, f64)> = Vec::new();
        for candidate in distinct(&proposals) {
            let search = Search { tolerance: ROUGH, ..search };
            let Some(found) = self.found(&rough, &candidate.component, search)? else { continue };
            finalists.push((found.component, found.value, candidate.least_eigenvalue));
        }
        finalists.sort_by(|a, b| a.1.total_cmp(&b.1));
        let mut best: Option<(Component, Cloud, f64)> = None;
        for (component, _, least_eigenvalue) in finalists {
            let Some(found) = self.found(&single, &component, search)? else { continue };
            if let Some((component, cloud)) = self.finite(found.component, fresh)? {
                best = Some((component, cloud, least_eigenvalue));
                break;
            }
            info.rejected += 1;
        }
        let Some((component, cloud, least_eigenvalue)) = best else {
            return Err(BoostError::NoCandidate { tries: info.tries });
        };
        info.alpha = 1.0;
        info.least_eigenvalue = least_eigenvalue;
        Ok((GaussianMixture::single(component), vec![cloud]))
    }

    /// The best Gaussian near a candidate, narrowed until the search can begin, since the target may be zero at points on which
    /// the candidate was not tried.
    fn found(&self, single: &Single<'_, T>, candidate: &Component, search: Search) -> Result<Option<Best>, BoostError> {
        let mut from = candidate.clone();
        for _ in 0..NARROWINGS {
            if let Some(found) = single.best(std::slice::from_ref(&self.start.source), &from, search)? {
                return Ok(Some(found));
            }
            from = from.widened(0.5)?;
        }
        Ok(None)
    }

    /// The component with fresh points, narrowed until the target is finite at all of them; a search's own points may all have
    /// missed a place without density.
    fn finite(&self, mut component: Component, seed: u64) -> Result<Option<(Component, Cloud)>, BoostError> {
        let mut cloud = Cloud::new(&self.probe, &component, self.points, seed)?;
        for _ in 0..NARROWINGS {
            if cloud.is_finite() {
                return Ok(Some((component, cloud)));
            }
            component = component.widened(0.5)?;
            cloud.move_to(&self.probe, &component);
        }
        Ok(None)
    }

    /// Returns the mixture with one component added, and the points of every component.
    pub(super) fn next(&mut self, info: &mut Info) -> Result<(GaussianMixture, Vec<Cloud>), BoostError> {
        let (seed, pool_seed, mut fresh) = (self.seeds.next(), self.seeds.next(), self.seeds.branch());
        let (u, coarse) = (self.seeds.uniform(), self.coarse()?);
        let (Some(q), Some(summary)) = (&self.q, &self.summary) else { return self.first(info) };
        let wide = Pool::of_widened(&self.probe, q, pool_seed)?;
        let fine = reference(q, &self.clouds, 2 * self.points);
        let few = reference(q, &self.clouds, 4 * COARSE);
        let scene = Scene {
            probe: &self.probe,
            q,
            pools: [&self.start, &wide],
            reference: &few,
            log_evidence: summary.log_evidence.value,
            settings: &self.settings,
            z: &coarse,
        };
        let proposals = scene.propose(u);
        note(info, &proposals);
        let mut chosen: Option<(Component, Cloud, f64, f64, f64)> = None;
        let mut trial = Trial { q, reference: &fine, line: Line::default() };
        for candidate in distinct(&proposals) {
            let component = self.improved(q, &fine, candidate, seed, summary.effective_share)?;
            // Fresh points, so that what fits only the search's own points does not count.
            let cloud = Cloud::new(&self.probe, &component, self.points, fresh.next())?;
            let Some(found) = trial.line_search(&component, &cloud) else {
                info.rejected += 1;
                continue;
            };
            if chosen.as_ref().is_none_or(|(_, _, _, gain, _)| found.gain > *gain) {
                chosen = Some((component, cloud, found.alpha, found.gain, candidate.least_eigenvalue));
            }
        }
        let Some((component, cloud, alpha, _, least_eigenvalue)) = chosen else {
            info.alpha = 0.0;
            return Ok((q.clone(), self.clouds.clone()));
        };
        info.least_eigenvalue = least_eigenvalue;
        info.alpha = alpha;
        let mut clouds = self.clouds.clone();
        clouds.push(cloud);
        let mut grown = q.with(component, alpha);
        grown = grown.reweighted(&weights::corrective(&grown, &clouds));
        if self.settings.refit == Refit::Each {
            grown = self.refitted(&grown, clouds, self.settings.refit_evaluations).0;
            clouds = self.clouds_of(&grown, self.points, &mut fresh)?;
        }
        let keep = grown.prune(self.settings.prune);
        info.pruned = keep.iter().filter(|keep| !**keep).count();
        let mut keep = keep.into_iter();
        clouds.retain(|_| keep.next().unwrap_or(true));
        Ok((grown, clouds))
    }

    /// The component near a candidate that lowers the true objective most, with its points.
    fn improved(
        &self,
        q: &GaussianMixture,
        reference: &Reference,
        candidate: &Candidate,
        seed: u64,
        effective_share: f64,
    ) -> Result<Component, BoostError> {
        let search = Search { evaluations: self.settings.evaluations, tolerance: SEARCH_TOLERANCE };
        let (mut component, mut alpha) = (candidate.component.clone(), candidate.alpha);
        let mut cloud = Cloud::new(&self.probe, &component, self.points, seed)?;
        if effective_share < NEAR {
            let few = cloud.z.len().div_ceil(FEWER);
            let greedy = Greedy { probe: &self.probe, q, reference, z: &cloud.z[..few] };
            if let Some((best, weight, _)) = greedy.minimise(&component, alpha, search) {
                (component, alpha) = (best, weight);
                cloud.move_to(&self.probe, &component);
            }
        }
        for _ in 0..GREEDY_ROUNDS {
            let points = rest_beside(q, reference, &component, &cloud);
            let found = Resting::new(&points).and_then(|resting| resting.minimise_one(&component, alpha, search));
            let Some((best, weight, _)) = found else { break };
            let mut moved = cloud.clone();
            moved.move_to(&self.probe, &best);
            if !moved.is_finite() {
                break;
            }
            (component, alpha, cloud) = (best, weight, moved);
        }
        Ok(component)
    }

    /// Points on which candidates are compared.
    fn coarse(&mut self) -> Result<Vec<Block>, BoostError> {
        let latent = self.settings.family.latent_dim(self.probe.dim());
        block::quasi(COARSE.max(4 * latent.div_ceil(2) * 2), latent, self.seeds.next())
    }
}

fn note(info: &mut Info, proposals: &Proposals) {
    info.tries = proposals.tries;
    info.fallbacks = proposals.fallbacks;
    info.rejected = proposals.rejected;
    info.gap = if proposals.candidates.is_empty() { f64::NAN } else { proposals.gap };
}

/// The best [`FINALISTS`] candidates of different places.
fn distinct(proposals: &Proposals) -> Vec<&Candidate> {
    let mut chosen: Vec<&Candidate> = Vec::new();
    for candidate in &proposals.candidates {
        if chosen.len() >= FINALISTS {
            break;
        }
        if chosen.iter().all(|other| other.component.mean() != candidate.component.mean()) {
            chosen.push(candidate);
        }
    }
    chosen
}
