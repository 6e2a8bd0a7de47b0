//! The default boosting algorithm, which does not get stuck as the printed ones do.
//!
//! The steps of the paper's Algorithm 2 are kept, and what made it get stuck is replaced:
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
mod grow;
mod info;
mod line;
mod pool;
mod propose;
mod refit;
mod settings;
mod weights;

pub use info::Info;
pub use settings::{BoostSettings, Refit};

pub(crate) use settings::{MOST_COMPONENTS, check_enough, check_points};

use std::ops::ControlFlow;
use vi_core::{Stop, check};

use rand::{Rng, RngExt};

use self::cloud::{Cloud, Summary, paired_gain, summarise};
use self::pool::Pool;
use crate::BoostError;
use crate::component::Component;
use crate::evaluations::{Evaluations, Phase};
use crate::mixture::GaussianMixture;
use crate::seeds::Seeds;
use crate::target::{LogDensity, Probe};

/// A run that grows a mixture towards a target.
///
/// ```
/// use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
/// use vi_boost::{Boost, BoostSettings, Component, Refit, target::Cauchy};
///
/// let target = Cauchy::new(0.0, 2.0)?;
/// let start = Component::isotropic(&[0.0], 10.0)?;
/// let settings = BoostSettings { components: 3, points: Some(256), refit: Refit::Each, ..BoostSettings::default() };
/// let mut boost = Boost::new(&target, &start, &settings, &mut ChaCha8Rng::seed_from_u64(1))?;
/// let stop = boost.run(|info, _| {
///     assert!(info.components <= 3);
///     std::ops::ControlFlow::Continue(())
/// })?;
/// assert_eq!(stop, vi_boost::Stop::Iterations);
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
    /// The current number of points of each component.
    points: usize,
    q: Option<GaussianMixture>,
    clouds: Vec<Cloud>,
    summary: Option<Summary>,
    /// The objective that the last search reached on its own points.
    promised: Option<f64>,
    iteration: usize,
    idle: usize,
    last: Option<Info>,
}

/// The most steps of a run for each component asked for: without a limit, replacing components by slightly better ones may never
/// end.
pub const STEPS_EACH: usize = 4;

/// The number of independent scramblings for a run's last estimates, and the number of points of a component in each: with fewer,
/// the effect of whitening on the tails shows.
const SCRAMBLINGS: usize = 4;
const LEAST_POINTS: usize = 256;

/// The divergence, in nats, above which a run that stalls needs more points than it has.
const STALLED: f64 = 0.02;

/// The number of standard errors beyond which a difference counts as real.
const NOISE: f64 = 3.0;

impl<'a, T: LogDensity + ?Sized> Boost<'a, T> {
    /// A run from the over-dispersed distribution `start`, from which places for components are drawn; it is not part of the
    /// mixture. The generator gives one seed: the same seed gives the same bits.
    ///
    /// # Errors
    /// Those of [`BoostSettings::check`]; [`BoostError::Core`] with `Dimension`, or with `Setting` for fewer points than 4 for each dimension of a component; [`BoostError::NoStart`] if the target is positive and finite at none of 512 points
    /// of `start`.
    pub fn new<R: Rng + ?Sized>(
        target: &'a T,
        start: &Component,
        settings: &BoostSettings,
        rng: &mut R,
    ) -> Result<Self, BoostError> {
        settings.check()?;
        let probe = Probe::about(target, start)?;
        let d = start.dim();
        settings.check_enough(d, settings.family.latent_dim(d))?;
        let mut seeds = Seeds::new(rng.random());
        let start = Pool::of_start(&probe, start, seeds.next())?;
        Ok(Self {
            probe,
            points: settings.points_in(d),
            settings: settings.clone(),
            seeds,
            start,
            q: None,
            clouds: Vec::new(),
            summary: None,
            promised: None,
            iteration: 0,
            idle: 0,
            last: None,
        })
    }

    /// A run that continues from the mixture `q` (for example a single Gaussian, such as the refined posterior of a filter), with
    /// the start distribution as for [`new`](Self::new).
    ///
    /// # Errors
    /// As [`new`](Self::new); [`BoostError::TargetValue`] if the target is NaN or +∞ at a point of `q`, [`BoostError::Unsupported`] if it is zero at one.
    pub fn from_mixture<R: Rng + ?Sized>(
        target: &'a T,
        q: GaussianMixture,
        start: &Component,
        settings: &BoostSettings,
        rng: &mut R,
    ) -> Result<Self, BoostError> {
        check::length("dimension of the mixture", target.dim(), q.dim())?;
        let mut boost = Self::new(target, start, settings, rng)?;
        for component in q.components() {
            boost.settings.check_enough(q.dim(), component.latent_dim())?;
            let seed = boost.seeds.next();
            boost.clouds.push(Cloud::new(&boost.probe, component, boost.points, seed)?);
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

    /// The report of the last step.
    #[must_use]
    pub fn last(&self) -> Option<&Info> {
        self.last.as_ref()
    }

    /// The evaluations of the target so far, by phase.
    #[must_use]
    pub fn evaluations(&self) -> Evaluations {
        self.probe.spent()
    }

    /// Optimises the weights on the points that the components have, at no evaluation.
    pub(crate) fn reweigh(&mut self) {
        let Some(q) = &self.q else { return };
        let q = q.reweighted(&weights::corrective(q, &self.clouds));
        self.summary = Some(summarise(&q, &self.clouds));
        self.q = Some(q);
    }

    /// Adds one component and re-optimises what the settings say. After an error the mixture is unchanged.
    ///
    /// # Errors
    /// [`BoostError::NoCandidate`] when no candidate for the first component has a finite divergence, [`BoostError::Improper`] when a
    /// component diverges; [`BoostError::Core`].
    pub fn step(&mut self) -> Result<Info, BoostError> {
        self.probe.enter(Phase::Components);
        let mut info = Info::new(self.iteration + 1);
        let (q, clouds) = match &self.q {
            None => self.first(&mut info)?,
            Some(_) => self.next(&mut info)?,
        };
        q.check_reach(&self.start.source)?;
        let summary = summarise(&q, &clouds);
        if let Some(old) = &self.q {
            info.improvement = paired_gain((old, &self.clouds), (&q, &clouds));
        }
        if self.q.is_some() && (info.improvement <= 0.0 || info.improvement.is_nan()) {
            // No component lowers the divergence: the mixture stays.
            info.improvement = 0.0;
            info.alpha = 0.0;
        } else {
            (self.q, self.clouds, self.summary) = (Some(q), clouds, Some(summary));
        }
        self.iteration += 1;
        self.idle = if info.improvement <= self.settings.improvement { self.idle + 1 } else { 0 };
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

    /// Takes steps until a setting or `on_step` stops it, then makes the last refit and, for [`last`](Self::last), estimates on
    /// fresh points; takes more steps if the refit moved to a better mode and left half of the components behind. `on_step` is
    /// called after every step with the mixture at that time; after `Break` that mixture stays in [`mixture`](Self::mixture).
    ///
    /// [`Stop::Iterations`]: there are as many components as asked for, or [`STEPS_EACH`] times as many steps were taken, new
    /// components having replaced old ones. [`Stop::Converged`]: the duality gap is small enough. [`Stop::Improvement`]: several
    /// steps in a row gained too little. [`Stop::Points`]: several steps in a row gained too little although more than 0.02 nats
    /// are left at the end, or the value that the search reached on its own points is better by more than that than the value on
    /// fresh ones, with as many points as the settings allow. [`Stop::Cancelled`]: `on_step` returned `Break`.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn run(
        &mut self,
        mut on_step: impl FnMut(&Info, &GaussianMixture) -> ControlFlow<()>,
    ) -> Result<Stop, BoostError> {
        let mut left = self.settings.components.saturating_mul(STEPS_EACH);
        let stop = loop {
            let stop = self.grow(&mut left, &mut on_step)?;
            if stop == Stop::Cancelled {
                return Ok(stop);
            }
            self.finish()?;
            if stop != Stop::Iterations || left == 0 || !self.is_depleted() {
                break stop;
            }
        };
        // If the search's gain on its own points does not show on fresh ones, more points are worth it, within the number that
        // the caller has named.
        let may = self.settings.most_points.is_some() && self.settings.refit != Refit::Never;
        while may && self.is_unkept() && self.double_points()? {
            self.finish()?;
        }
        Ok(self.told(stop))
    }

    /// Takes at most `left` steps, until a setting or `on_step` stops them.
    fn grow(
        &mut self,
        left: &mut usize,
        mut on_step: impl FnMut(&Info, &GaussianMixture) -> ControlFlow<()>,
    ) -> Result<Stop, BoostError> {
        let d = self.probe.dim();
        loop {
            if self.q.as_ref().is_some_and(|q| q.len() >= self.settings.components) || *left == 0 {
                return Ok(Stop::Iterations);
            }
            let info = self.step()?;
            if let Some(q) = &self.q
                && on_step(&info, q).is_break()
            {
                return Ok(Stop::Cancelled);
            }
            if self.idle >= self.settings.patience {
                if info.kl() <= STALLED {
                    return Ok(Stop::Improvement);
                }
                if !self.double_points()? {
                    let all = self.points >= self.settings.points_up_to(d);
                    return Ok(if all { Stop::Points } else { Stop::Improvement });
                }
            }
            if self.settings.gap.is_some_and(|gap| info.gap <= gap) {
                return Ok(Stop::Converged);
            }
            *left -= 1;
        }
    }

    /// Whether the last refit dropped at least half of the components with much left to gain: it then moved the mixture to a
    /// better mode, where components grown elsewhere have no weight.
    fn is_depleted(&self) -> bool {
        let few = self.q.as_ref().is_some_and(|q| 2 * q.len() <= self.settings.components);
        few && self.last.as_ref().is_some_and(|info| info.kl() > STALLED)
    }

    /// Makes the last refits, and estimates on fresh points.
    fn finish(&mut self) -> Result<(), BoostError> {
        self.promised = self.summary.as_ref().map(|summary| summary.objective.value);
        if self.settings.refit != Refit::Never {
            if self.settings.refit == Refit::Last {
                self.refit(self.points, self.settings.refit_evaluations)?;
            }
            if self.settings.polish > 0 {
                self.refit(self.settings.polish, self.settings.refit_evaluations)?;
            }
        }
        self.assess()
    }

    /// Whether the divergence is lower on the last search's own points than on fresh ones, by more than the tolerance and more
    /// than noise explains.
    fn is_unkept(&self) -> bool {
        let (Some(promised), Some(info)) = (self.promised, &self.last) else { return false };
        info.objective.value - promised > STALLED + NOISE * info.objective.standard_error
    }

    /// Why the run stopped, given the estimates on fresh points at its end.
    fn told(&self, stop: Stop) -> Stop {
        let is_good = self.last.as_ref().is_some_and(|info| info.kl() <= STALLED);
        match stop {
            Stop::Points if is_good => Stop::Improvement,
            Stop::Iterations | Stop::Improvement if self.is_unkept() => Stop::Points,
            stop => stop,
        }
    }

    /// Doubles the points of every component, if the settings allow it and the target is finite at them; returns whether it did.
    fn double_points(&mut self) -> Result<bool, BoostError> {
        let points = 2 * self.points;
        let Some(q) = &self.q else { return Ok(false) };
        if points > self.settings.points_up_to(q.dim()) {
            return Ok(false);
        }
        let mut seeds = self.seeds.branch();
        let clouds = self.clouds_of(q, points, &mut seeds)?;
        if !clouds.iter().all(Cloud::is_finite) {
            return Ok(false);
        }
        self.summary = Some(summarise(q, &clouds));
        (self.points, self.clouds, self.idle) = (points, clouds, 0);
        Ok(true)
    }

    /// Replaces objective, evidence and effective sample size of [`last`](Self::last) by estimates on points that no search has
    /// used, in several scramblings whose scatter is the standard error.
    fn assess(&mut self) -> Result<(), BoostError> {
        let seed = self.seeds.next();
        self.probe.enter(Phase::Diagnosis);
        let (Some(q), Some(info)) = (&self.q, &mut self.last) else { return Ok(()) };
        let points = (2 * self.points / q.len() / 2 * 2).min(self.points).max(LEAST_POINTS);
        match self.probe.divergence(q, points, SCRAMBLINGS, seed) {
            Ok(found) => {
                info.objective = found.effective;
                info.log_evidence = found.log_evidence;
                info.effective_sample_size = found.effective_sample_size;
                info.evaluations = self.probe.evaluations();
                Ok(())
            }
            // The fresh points found a place without density that the run's own points had missed: the old estimates stay.
            Err(BoostError::TargetValue { .. } | BoostError::Unsupported { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
