//! Boosting that does not get stuck: the default algorithm.
//!
//! What the paper's Algorithm 2 does is kept, what made it stop is replaced:
//!
//! | step | as printed | here |
//! |---|---|---|
//! | start of the local search | a draw of `q_{t−1}` | places where mass is missing, from a start distribution kept apart and from a widened `q` |
//! | local search | unbounded | in a ball, with a fallback where the Hessian is not positive definite |
//! | covariance | `H⁻¹/2` | several scales of `H⁻¹`, compared by what they gain |
//! | `α` | stochastic Newton | exact line search on common quasi-random points |
//! | component | as proposed | `(μ, Σ, α)` optimised together on the true objective, the greedy step (2) |
//! | weights | frozen | all re-optimised; optionally all components too |

pub(crate) mod cloud;
mod info;
mod line;
pub(crate) mod pool;
pub(crate) mod propose;
mod restart;
mod settings;
mod weights;

pub use info::{Info, Stop};
pub use restart::best_of;
pub use settings::{BoostSettings, Refit};

pub(crate) use settings::checked_points;

use std::ops::ControlFlow;

use rand::{Rng, RngExt};

use self::cloud::{Cloud, Summary, paired_gain, reference, rest, rest_beside, summarise};
use self::line::Line;
use self::pool::Pool;
use self::propose::{COARSE, Proposals, Scene, Trial};
use crate::BoostError;
use crate::block::{self, Block};
use crate::component::Component;
use crate::error::check_len;
use crate::gaussian::IMPROPER;
use crate::mixture::GaussianMixture;
use crate::objective::{Greedy, Joint, Reference, Resting, Single};
use crate::optimise::Search;
use crate::seeds::Seeds;
use crate::target::{Faults, LogDensity, Probe};

/// A mixture being grown towards a target.
///
/// ```
/// use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
/// use vi_boost::{Boost, BoostSettings, Component, Refit, target::Cauchy};
///
/// let target = Cauchy::new(0.0, 2.0)?;
/// let start = Component::isotropic(&[0.0], 10.0)?;
/// let settings = BoostSettings::default().components(3)?.points(256)?.refit(Refit::Each);
/// let mut boost = Boost::new(&target, &start, settings, &mut ChaCha8Rng::seed_from_u64(1))?;
/// let stop = boost.run(|info, _| {
///     assert!(info.components <= 3);
///     std::ops::ControlFlow::Continue(())
/// })?;
/// assert_eq!(stop, vi_boost::Stop::Components);
/// // KL = E_q[log(q/f)] + log Z.
/// let kl = boost.last().map_or(f64::NAN, |info| info.objective.value) + target.log_normaliser();
/// assert!(kl < 0.05, "{kl}");
/// # Ok::<(), vi_boost::BoostError>(())
/// ```
pub struct Boost<'a, T: ?Sized> {
    probe: Probe<'a, T>,
    settings: BoostSettings,
    seeds: Seeds,
    start: Pool,
    q: Option<GaussianMixture>,
    clouds: Vec<Cloud>,
    summary: Option<Summary>,
    iteration: usize,
    idle: usize,
    last: Option<Info>,
}

/// Points of the start distribution, and of the widened `q` in each step.
const POOL: usize = 512;

/// Evaluations for the first component: it is searched from further away than any other.
const FIRST_SEARCH: usize = 200;

impl<'a, T: LogDensity + ?Sized> Boost<'a, T> {
    /// A run from the over-dispersed distribution `start`, from which places for components are drawn; it is no part of the mixture.
    /// The generator gives one seed: the same seed, the same bits.
    ///
    /// # Errors
    /// [`BoostError::Core`] with `Dimension`; [`BoostError::NoStart`] if the target is positive and finite at none of 512 points
    /// of `start`.
    pub fn new<R: Rng + ?Sized>(
        target: &'a T,
        start: &Component,
        settings: BoostSettings,
        rng: &mut R,
    ) -> Result<Self, BoostError> {
        check_len("dimension of the start", target.dim(), start.dim())?;
        let mut seeds = Seeds::new(rng.random());
        let covariance = start.covariance();
        let probe = Probe::new(target, (0..start.dim()).map(|j| covariance[(j, j)].sqrt()).collect())?;
        let start = Pool::new(&probe, start.clone(), POOL, seeds.next())?;
        let faults = start.faults();
        let Faults { zero, nan, infinite } = faults;
        if zero + nan + infinite == start.len() {
            return Err(BoostError::NoStart { points: start.len(), zero, nan, infinite });
        }
        Ok(Self {
            probe,
            settings,
            seeds,
            start,
            q: None,
            clouds: Vec::new(),
            summary: None,
            iteration: 0,
            idle: 0,
            last: None,
        })
    }

    /// A run that goes on from the mixture `q` (a single Gaussian, say the refined posterior of a filter), with the start
    /// distribution as for [`new`](Self::new).
    ///
    /// # Errors
    /// As [`new`](Self::new); [`BoostError::TargetValue`] if the target is NaN or +∞ at a point of `q`, [`BoostError::Unsupported`] if it is zero at one.
    pub fn from_mixture<R: Rng + ?Sized>(
        target: &'a T,
        q: GaussianMixture,
        start: &Component,
        settings: BoostSettings,
        rng: &mut R,
    ) -> Result<Self, BoostError> {
        check_len("dimension of the mixture", target.dim(), q.dim())?;
        let mut boost = Self::new(target, start, settings, rng)?;
        for component in q.components() {
            let seed = boost.seeds.next();
            boost.clouds.push(Cloud::new(&boost.probe, component, boost.settings.points, seed)?);
        }
        for cloud in &boost.clouds {
            for (x, log_f) in cloud.x.iter().zip(&cloud.log_f) {
                if let Some(error) = crate::target::fault(log_f, x) {
                    return Err(error);
                }
            }
        }
        let summary = summarise(&q, &boost.clouds);
        if summary.zero > 0.0 {
            return Err(BoostError::Unsupported { share: summary.zero });
        }
        boost.iteration = q.len();
        boost.q = Some(q);
        boost.summary = Some(summary);
        Ok(boost)
    }

    /// The mixture so far; `None` before the first step.
    #[must_use]
    pub fn mixture(&self) -> Option<&GaussianMixture> {
        self.q.as_ref()
    }

    /// What the last step did.
    #[must_use]
    pub fn last(&self) -> Option<&Info> {
        self.last.as_ref()
    }

    /// Adds one component and re-optimises what the settings say. After an error the mixture is as it was.
    ///
    /// # Errors
    /// [`BoostError::NoStart`] when no candidate for the first component has a finite divergence, [`BoostError::Improper`] when the
    /// first component runs away; [`BoostError::Core`].
    pub fn step(&mut self) -> Result<Info, BoostError> {
        let mut info = Info::new(self.iteration + 1);
        let (q, clouds) = match &self.q {
            None => self.first(&mut info)?,
            Some(_) => self.next(&mut info)?,
        };
        let summary = summarise(&q, &clouds);
        if let Some(old) = &self.q {
            info.improvement = paired_gain((old, &self.clouds), (&q, &clouds));
        }
        if self.q.is_some() && (info.improvement <= 0.0 || info.improvement.is_nan()) {
            // No component helps: the mixture stays.
            info.improvement = 0.0;
            info.alpha = 0.0;
        } else {
            (self.q, self.clouds, self.summary) = (Some(q), clouds, Some(summary));
        }
        self.iteration += 1;
        self.idle = if info.improvement < self.settings.improvement { self.idle + 1 } else { 0 };
        self.report(&mut info);
        Ok(info)
    }

    fn report(&mut self, info: &mut Info) {
        if let (Some(q), Some(summary)) = (&self.q, &self.summary) {
            info.components = q.len();
            info.objective = summary.objective;
            info.log_evidence = summary.log_evidence;
            info.effective_sample_size = summary.effective_share * summary.points as f64;
        }
        info.evaluations = self.probe.evaluations();
        self.last = Some(*info);
    }

    /// Steps until a setting or the observer stops it, then the last refit. The observer sees every step with the mixture as it then
    /// is; after `Break` that mixture stays in [`mixture`](Self::mixture).
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn run(
        &mut self,
        mut observe: impl FnMut(&Info, &GaussianMixture) -> ControlFlow<()>,
    ) -> Result<Stop, BoostError> {
        let stop = loop {
            if self.q.as_ref().is_some_and(|q| q.len() >= self.settings.components) {
                break Stop::Components;
            }
            let info = self.step()?;
            if let Some(q) = &self.q
                && observe(&info, q).is_break()
            {
                return Ok(Stop::Cancelled);
            }
            if self.idle >= self.settings.patience {
                break Stop::Improvement;
            }
            if self.settings.gap.is_some_and(|gap| info.gap <= gap) {
                break Stop::Gap;
            }
        };
        if self.settings.refit == Refit::Last {
            self.refit(self.settings.points, self.settings.refit_search)?;
        }
        if self.settings.refit != Refit::Never && self.settings.polish > 0 {
            self.refit(self.settings.polish, self.settings.refit_search)?;
        }
        Ok(stop)
    }

    /// Optimises all components and weights together on `points` points for each; kept only if it lowers the divergence on
    /// fresh points. Returns by how much it did.
    ///
    /// # Errors
    /// [`BoostError::Core`] with `Setting` for a number of points that cannot be had.
    pub fn refit(&mut self, points: usize, evaluations: usize) -> Result<f64, BoostError> {
        let points = checked_points("points", points)?;
        let Some(q) = self.q.clone() else { return Ok(0.0) };
        let mut seeds = self.seeds.branch();
        let clouds = self.clouds_of(&q, points, &mut seeds)?;
        let mut refitted = self.refitted(&q, clouds, evaluations);
        let pruned = refitted.prune(self.settings.prune);
        // Fresh points on both sides: what was good for the search's own is not counted.
        let old = self.clouds_of(&q, points, &mut seeds)?;
        let clouds = self.clouds_of(&refitted, points, &mut seeds)?;
        let summary = summarise(&refitted, &clouds);
        let gained = paired_gain((&q, &old), (&refitted, &clouds));
        if gained > 0.0 {
            (self.q, self.clouds, self.summary) = (Some(refitted), clouds, Some(summary));
            if let Some(mut info) = self.last {
                info.pruned = pruned;
                info.improvement = gained;
                self.report(&mut info);
            }
        }
        Ok(gained.max(0.0))
    }

    fn clouds_of(&self, q: &GaussianMixture, points: usize, seeds: &mut Seeds) -> Result<Vec<Cloud>, BoostError> {
        q.components().iter().map(|component| Cloud::new(&self.probe, component, points, seeds.next())).collect()
    }

    /// The joint optimum near `q`, searched on the points of `clouds`.
    fn refitted(&self, q: &GaussianMixture, clouds: Vec<Cloud>, evaluations: usize) -> GaussianMixture {
        let search = Search { evaluations, tolerance: REFIT_TOLERANCE };
        let (mut q, mut clouds) = (q.clone(), clouds);
        if summarise(&q, &clouds).effective_share < NEAR {
            let z: Vec<&[Block]> = clouds.iter().map(|cloud| cloud.z.as_slice()).collect();
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
            if gain < ROUND_TOLERANCE {
                break;
            }
        }
        q
    }

    fn move_clouds(&self, clouds: &mut [Cloud], q: &GaussianMixture) {
        for (cloud, component) in clouds.iter_mut().zip(q.components()) {
            cloud.move_to(&self.probe, component);
        }
    }

    /// The best single Gaussian.
    fn first(&mut self, info: &mut Info) -> Result<(GaussianMixture, Vec<Cloud>), BoostError> {
        let (seed, u) = (self.seeds.next(), self.seeds.uniform());
        let coarse = self.coarse()?;
        let proposals = propose::first(&self.probe, &self.start, &self.settings, &coarse, u);
        note(info, &proposals);
        let latent = proposals.candidates.first().map(|candidate| candidate.component.latent_dim());
        let Some(latent) = latent else {
            let Faults { zero, nan, infinite } = self.start.faults();
            return Err(BoostError::NoStart { points: self.start.len(), zero, nan, infinite });
        };
        let z = block::quasi(self.settings.points, latent, seed)?;
        let single = Single { probe: &self.probe, z: &z };
        let search = Search { evaluations: FIRST_SEARCH, tolerance: SEARCH_TOLERANCE };
        let mut best: Option<(Component, f64, f64)> = None;
        for candidate in distinct(&proposals, self.settings.finalists.max(1)) {
            let (component, value) = if self.settings.finalists == 0 {
                (candidate.component.clone(), single.value(&candidate.component))
            } else {
                let Some((component, found, factor)) = single.minimise(&candidate.component, search) else { continue };
                if !found.converged && factor > IMPROPER {
                    return Err(BoostError::Improper { factor });
                }
                (component, found.value)
            };
            if best.as_ref().is_none_or(|(_, least, _)| value < *least) {
                best = Some((component, value, candidate.least_eigenvalue));
            }
        }
        let Some((component, _, least_eigenvalue)) = best else {
            let Faults { zero, nan, infinite } = self.start.faults();
            return Err(BoostError::NoStart { points: self.start.len(), zero, nan, infinite });
        };
        info.alpha = 1.0;
        info.least_eigenvalue = least_eigenvalue;
        let fresh = self.seeds.next();
        let cloud = Cloud::new(&self.probe, &component, self.settings.points, fresh)?;
        Ok((GaussianMixture::single(component), vec![cloud]))
    }

    /// One component more.
    fn next(&mut self, info: &mut Info) -> Result<(GaussianMixture, Vec<Cloud>), BoostError> {
        let (seed, pool_seed, mut fresh) = (self.seeds.next(), self.seeds.next(), self.seeds.branch());
        let (u, coarse) = (self.seeds.uniform(), self.coarse()?);
        let (Some(q), Some(summary)) = (&self.q, &self.summary) else { return self.first(info) };
        let wide = Component::full(&q.mean(), q.covariance().as_ref())?.widened(self.settings.dispersion.powi(2))?;
        let wide = Pool::new(&self.probe, wide, POOL / 2, pool_seed)?;
        let fine = reference(q, &self.clouds, 2 * self.settings.points);
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
        let Some(best) = proposals.candidates.first() else {
            info.alpha = 0.0;
            return Ok((q.clone(), self.clouds.clone()));
        };
        let mut chosen: Option<(Component, Cloud, f64, f64, f64)> = None;
        let best = std::slice::from_ref(best);
        let finalists = distinct(&proposals, self.settings.finalists);
        let finalists = if finalists.is_empty() { best.iter().collect() } else { finalists };
        let mut trial = Trial { q, reference: &fine, line: Line::default() };
        for candidate in finalists {
            let component = self.improved(q, &fine, candidate, seed, summary.effective_share)?;
            // Fresh points: what was good for the search's own is not counted.
            let cloud = Cloud::new(&self.probe, &component, self.settings.points, fresh.next())?;
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
            grown = self.refitted(&grown, clouds, self.settings.refit_search);
            clouds = self.clouds_of(&grown, self.settings.points, &mut fresh)?;
        }
        let kept = grown.weights();
        info.pruned = grown.prune(self.settings.prune);
        if info.pruned > 0 {
            let mut weights = kept.iter();
            let largest = kept.iter().fold(0.0_f64, |a, b| a.max(*b));
            let least = self.settings.prune.min(largest);
            clouds.retain(|_| weights.next().is_some_and(|w| *w >= least));
        }
        Ok((grown, clouds))
    }

    /// The component near a candidate that lowers the true objective most, with its points.
    fn improved(
        &self,
        q: &GaussianMixture,
        reference: &Reference,
        candidate: &propose::Candidate,
        seed: u64,
        effective_share: f64,
    ) -> Result<Component, BoostError> {
        let search = Search { evaluations: self.settings.search, tolerance: SEARCH_TOLERANCE };
        let (mut component, mut alpha) = (candidate.component.clone(), candidate.alpha);
        let mut cloud = Cloud::new(&self.probe, &component, self.settings.points, seed)?;
        if self.settings.finalists == 0 {
            return Ok(component);
        }
        if effective_share < NEAR {
            let greedy = Greedy { probe: &self.probe, q, reference, z: &cloud.z };
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
            if moved.log_f.iter().flatten().any(|f| !f.is_finite()) {
                break;
            }
            (component, alpha, cloud) = (best, weight, moved);
        }
        Ok(component)
    }

    /// Points on which candidates are compared.
    fn coarse(&mut self) -> Result<Vec<Block>, BoostError> {
        let d = self.probe.dim();
        let latent = match self.settings.family {
            crate::Family::LowRank { rank } => d + rank,
            _ => d,
        };
        block::quasi(COARSE.max(4 * latent.div_ceil(2) * 2), latent, self.seeds.next())
    }
}

/// A step of a component's search that gains less, in nats, is its last: far below what a component is worth.
const SEARCH_TOLERANCE: f64 = 1e-8;

/// The same for a refit.
const REFIT_TOLERANCE: f64 = 1e-10;

/// The effective share of importance weights above which `q` is near enough to the target that points at rest show all
/// there is.
const NEAR: f64 = 0.7;

/// Times the points of a component are moved to where it went, and those of all components.
const GREEDY_ROUNDS: usize = 2;
const ROUNDS: usize = 6;

/// A round that gains less, in nats, is the last.
const ROUND_TOLERANCE: f64 = 1e-8;

fn note(info: &mut Info, proposals: &Proposals) {
    info.tries = proposals.tries;
    info.fallbacks = proposals.fallbacks;
    info.rejected = proposals.rejected;
    info.gap = if proposals.candidates.is_empty() { f64::NAN } else { proposals.gap };
}

/// The best `count` candidates of different places.
fn distinct(proposals: &Proposals, count: usize) -> Vec<&propose::Candidate> {
    let mut chosen: Vec<&propose::Candidate> = Vec::new();
    for candidate in &proposals.candidates {
        if chosen.len() >= count {
            break;
        }
        if chosen.iter().all(|other| other.component.mean() != candidate.component.mean()) {
            chosen.push(candidate);
        }
    }
    chosen
}
