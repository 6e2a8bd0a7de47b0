//! Optimising all components together.

use super::Boost;
use super::Info;
use super::cloud::{Cloud, paired_gain, rest, summarise};
use super::settings::{check_enough, check_points};
use crate::BoostError;
use crate::block::Block;
use crate::evaluations::Phase;
use crate::mixture::GaussianMixture;
use crate::objective::{Joint, Resting};
use crate::optimise::Search;
use crate::seeds::Seeds;
use crate::target::LogDensity;

/// The search ends when a step gains less than this share of the least gain of a step of the run.
const REFIT_SHARE: f64 = 1e-3;
const LEAST_TOLERANCE: f64 = 1e-10;

/// The effective share of importance weights above which `q` is near enough to the target for fixed points to suffice.
pub(super) const NEAR: f64 = 0.7;

/// The number of evaluations of the search on moving points that precedes the one on fixed points.
const APPROACH: usize = 80;

/// How often the points of all components are moved to their new places.
const ROUNDS: usize = 6;

/// The rounds end when one gains less than this share of the least gain of a step of the run.
const ROUND_SHARE: f64 = 0.1;
const LEAST_ROUND: f64 = 1e-8;

impl<T: LogDensity + ?Sized> Boost<'_, T> {
    /// Optimises all components and weights together on `points` points for each; the result is kept only if it lowers the
    /// divergence on fresh points. Returns the decrease.
    ///
    /// # Errors
    /// [`BoostError::Core`] with `Setting` for an invalid number of points; [`BoostError::Improper`] when a component diverges.
    pub(crate) fn refit(&mut self, points: usize, evaluations: usize) -> Result<f64, BoostError> {
        check_points("points", points)?;
        let Some(q) = self.q.clone() else { return Ok(0.0) };
        for component in q.components() {
            check_enough("points", points, component.latent_dim())?;
        }
        self.probe.enter(Phase::Refit);
        let mut seeds = self.seeds.branch();
        let clouds = self.clouds_of(&q, points, &mut seeds)?;
        let (mut refitted, promised) = self.refitted(&q, clouds, evaluations);
        self.promised = Some(promised);
        let pruned = refitted.prune(self.settings.prune).iter().filter(|keep| !**keep).count();
        refitted.check_reach(&self.start.source)?;
        // Fresh points for both mixtures, so that what fits only the search's own points does not count.
        let old = self.clouds_of(&q, points, &mut seeds)?;
        let clouds = self.clouds_of(&refitted, points, &mut seeds)?;
        let summary = summarise(&refitted, &clouds);
        let gained = paired_gain((&q, &old), (&refitted, &clouds));
        if gained > 0.0 {
            (self.q, self.clouds, self.summary) = (Some(refitted), clouds, Some(summary));
            let mut info = self.last.unwrap_or_else(|| Info::new(self.iteration));
            info.pruned = pruned;
            info.improvement = gained;
            self.report(&mut info);
        }
        Ok(gained.max(0.0))
    }

    pub(super) fn clouds_of(
        &self,
        q: &GaussianMixture,
        points: usize,
        seeds: &mut Seeds,
    ) -> Result<Vec<Cloud>, BoostError> {
        q.components().iter().map(|component| Cloud::new(&self.probe, component, points, seeds.next())).collect()
    }

    /// The joint optimum near `q`, searched on the points of `clouds`, and its objective on these points.
    pub(super) fn refitted(
        &self,
        q: &GaussianMixture,
        clouds: Vec<Cloud>,
        evaluations: usize,
    ) -> (GaussianMixture, f64) {
        let enough = self.settings.improvement;
        let search = Search { evaluations, tolerance: (REFIT_SHARE * enough).max(LEAST_TOLERANCE) };
        let (mut q, mut clouds) = (q.clone(), clouds);
        if summarise(&q, &clouds).effective_share < NEAR {
            // Half of the points and fewer evaluations suffice to come near enough for the fixed points.
            let z: Vec<&[Block]> = clouds.iter().map(|cloud| &cloud.z[..cloud.z.len().div_ceil(2)]).collect();
            let search = Search { evaluations: evaluations.min(APPROACH), ..search };
            if let Some((best, _)) = (Joint { probe: &self.probe, z }).minimise(&q, search) {
                q = best;
                self.move_clouds(&mut clouds, &q);
            }
        }
        for _ in 0..ROUNDS {
            let points = rest(&q, &clouds);
            let found = Resting::new(&points).and_then(|resting| resting.minimise(&q, search));
            let Some((best, _)) = found else { break };
            let mut moved = clouds.clone();
            self.move_clouds(&mut moved, &best);
            let gain = paired_gain((&q, &clouds), (&best, &moved));
            if gain <= 0.0 || gain.is_nan() {
                break;
            }
            (q, clouds) = (best, moved);
            if gain < (ROUND_SHARE * enough).max(LEAST_ROUND) {
                break;
            }
        }
        let promised = summarise(&q, &clouds).objective.value;
        (q, promised)
    }

    fn move_clouds(&self, clouds: &mut [Cloud], q: &GaussianMixture) {
        for (cloud, component) in clouds.iter_mut().zip(q.components()) {
            cloud.move_to(&self.probe, component);
        }
    }
}
