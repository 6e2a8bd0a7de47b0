//! Several runs, of which the best is kept.

use std::ops::ControlFlow;

use rand::Rng;

use super::{Boost, BoostSettings, Info};
use crate::BoostError;
use crate::component::Component;
use crate::error::setting;
use crate::mixture::GaussianMixture;
use crate::target::LogDensity;

/// Makes up to `1 + restarts` runs with different seeds and keeps the one with the largest bound on the log evidence. It ends
/// early when that bound is within `tolerance` nats of the largest estimate of the log evidence seen, or when the observer
/// returns `Break`. Returns the mixture, the report of the last step of its run, and the number of runs.
///
/// # Errors
/// [`BoostError::Core`] with `Setting` unless `tolerance ≥ 0`; as [`Boost::new`] and [`Boost::run`], of the first run; a later run that fails is left out.
///
/// ```
/// use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
/// use vi_boost::{BoostSettings, Component, GaussianMixture, Refit, boost};
/// let parts = [-4.0, 0.0, 5.0].map(|mean| Component::diagonal(&[mean], &[1.0]));
/// let target = GaussianMixture::new(parts.into_iter().collect::<Result<_, _>>()?, &[0.3, 0.3, 0.4])?;
/// let start = Component::isotropic(&[0.0], 10.0)?;
/// let settings = BoostSettings { components: 3, points: Some(256), refit: Refit::Each, ..BoostSettings::default() };
/// let mut rng = ChaCha8Rng::seed_from_u64(1);
/// let (q, info, runs) = boost::best_of(&target, &start, &settings, 4, 1e-5, &mut rng, |_, _| {
///     std::ops::ControlFlow::Continue(())
/// })?;
/// assert!(info.kl() < 1e-4 && runs <= 5 && q.len() == 3);
/// # Ok::<(), vi_boost::BoostError>(())
/// ```
pub fn best_of<T: LogDensity + ?Sized, R: Rng + ?Sized>(
    target: &T,
    start: &Component,
    settings: &BoostSettings,
    restarts: usize,
    tolerance: f64,
    rng: &mut R,
    mut on_step: impl FnMut(&Info, &GaussianMixture) -> ControlFlow<()>,
) -> Result<(GaussianMixture, Info, usize), BoostError> {
    if tolerance.is_nan() || tolerance < 0.0 {
        return Err(setting("tolerance", tolerance, "not negative"));
    }
    let mut best: Option<(GaussianMixture, Info)> = None;
    let mut log_evidence = f64::NEG_INFINITY;
    let mut runs = 0;
    loop {
        runs += 1;
        let mut cancelled = false;
        let outcome = Boost::new(target, start, settings, rng).and_then(|mut run| {
            run.run(|info, q| {
                let answer = on_step(info, q);
                cancelled = answer.is_break();
                answer
            })?;
            Ok(run.q.zip(run.last))
        });
        match outcome {
            Ok(Some((q, info))) => {
                log_evidence = log_evidence.max(info.log_evidence.value);
                if best.as_ref().is_none_or(|(_, other)| info.objective.value < other.objective.value) {
                    best = Some((q, info));
                }
            }
            Err(error) if runs == 1 => return Err(error),
            _ => {}
        }
        if let Some((_, info)) = &best {
            let near = info.objective.value + log_evidence <= tolerance;
            if (near || cancelled || runs > restarts)
                && let Some((q, info)) = best
            {
                return Ok((q, info, runs));
            }
        } else if runs > restarts {
            // That every run succeeded without a result cannot happen.
            let points = 0;
            return Err(BoostError::NoStart { points, zero: 0, nan: 0, infinite: 0 });
        }
    }
}
