//! Runs of the printed algorithm and of ours, with their divergences.

use std::ops::ControlFlow;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use vi_boost::gaussian::{self, GaussianSettings};
use vi_boost::papers::{Printed, PrintedSettings};
use vi_boost::{Boost, BoostSettings, Component, Family, GaussianMixture, LogDensity, Refit};

use crate::error::{Doing as _, ReproError};

/// One run: `α_t` and `KL(q_t‖p)` against `t`, the number of components proposed.
pub(super) struct Trace {
    pub(super) t: Vec<f64>,
    pub(super) alpha: Vec<f64>,
    pub(super) kl: Vec<f64>,
    pub(super) q: GaussianMixture,
}

impl Trace {
    pub(super) fn last(&self) -> f64 {
        self.kl.last().copied().unwrap_or(f64::NAN)
    }
}

/// Samples of Algorithm 1, and its tolerance.
pub(super) const SAMPLES: usize = 1000;
pub(super) const EPSILON: f64 = 2e-4;

/// Initial steps `b` of Algorithm 1. The paper states none, and which of a large and a small one does better depends on the target.
pub(super) const STEPS: [f64; 2] = [1.0, 0.1];

/// Algorithms 1 and 2 as printed with the initial step `b`, `iterations` components proposed in all.
pub(super) fn printed<T: LogDensity>(
    target: &T,
    start: &Component,
    b: f64,
    iterations: usize,
    seed: u64,
    mut kl: impl FnMut(&GaussianMixture) -> Result<f64, ReproError>,
) -> Result<Trace, ReproError> {
    let settings = PrintedSettings { samples: SAMPLES, step: b, tolerance: EPSILON, ..PrintedSettings::default() };
    let mut run = Printed::new(target, start.clone(), &settings).context("the printed algorithm")?;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut t, mut alpha, mut kls) = (vec![1.0], vec![f64::NAN], vec![kl(run.mixture())?]);
    while t.len() < iterations {
        let info = run.step(&mut rng).context("the printed algorithm")?;
        t.push(info.iteration as f64);
        alpha.push(info.alpha);
        kls.push(kl(run.mixture())?);
    }
    Ok(Trace { t, alpha, kl: kls, q: run.mixture().clone() })
}

/// Points of each of our components.
pub(super) const POINTS: usize = 1024;

/// Ours with at most `components`; the start distribution is the paper's `q_1`.
pub(super) fn ours<T: LogDensity>(
    target: &T,
    start: &Component,
    components: usize,
    refit: Refit,
    seed: u64,
    mut kl: impl FnMut(&GaussianMixture) -> Result<f64, ReproError>,
) -> Result<Trace, ReproError> {
    let polish = if refit == Refit::Never { 0 } else { 4 * POINTS };
    let points = Some(POINTS);
    let settings = BoostSettings { components, points, polish, improvement: 1e-6, refit, ..BoostSettings::default() };
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut boost = Boost::new(target, start, &settings, &mut rng).context("boosting")?;
    let (mut t, mut alpha, mut kls) = (Vec::new(), Vec::new(), Vec::new());
    let mut failed = None;
    boost
        .run(|info, q| match kl(q) {
            Ok(value) => {
                t.push(info.iteration as f64);
                alpha.push(info.alpha);
                kls.push(value);
                ControlFlow::Continue(())
            }
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        })
        .context("boosting")?;
    if let Some(error) = failed {
        return Err(error);
    }
    let q = boost.mixture().cloned().context("boosting")?;
    // The last refit comes after the last step.
    if let Some(last) = kls.last_mut() {
        *last = kl(&q)?;
    }
    Ok(Trace { t, alpha, kl: kls, q })
}

/// The best variational Gaussian of `family` from `start`.
pub(super) fn single<T: LogDensity>(
    target: &T,
    start: &Component,
    family: Family,
    seed: u64,
) -> Result<GaussianMixture, ReproError> {
    let settings = GaussianSettings { family, ..GaussianSettings::default() };
    let (found, _) = gaussian::fit(target, start, &settings, &mut ChaCha8Rng::seed_from_u64(seed))
        .context("a variational Gaussian")?;
    Ok(GaussianMixture::single(found))
}
