//! Where the mass is: modes, the Gaussians about them, and a wide Gaussian that spans them all.

use super::search::{HALF_WIDTH, Search as Modes};
use crate::BoostError;
use crate::block;
use crate::component::Component;
use crate::evaluations::{Evaluations, Phase};
use crate::mixture::GaussianMixture;
use crate::modes::{APART, distance};
use crate::objective::{Best, Single};
use crate::optimise::Search;
use crate::seeds::Seeds;
use crate::target::{Faults, LogDensity, Probe};

/// What was found from the starting points.
pub(super) struct Region {
    /// The best Gaussian.
    pub(super) gaussian: Component,
    /// A Gaussian that spans the best ones of all modes, twice as wide.
    pub(super) wide: Component,
    /// The Gaussians of all modes, weighted by the evidence of each alone.
    pub(super) all: GaussianMixture,
    /// The estimated probability that a further start leads to a mode not met.
    pub(super) unseen: f64,
    /// Whether a mode half as wide as those met would have been met.
    pub(super) thorough: bool,
    pub(super) evaluations: Evaluations,
}

/// The number of points, for each dimension and at least, on which the Gaussians of all modes are compared, and that for the best
/// one.
const COARSE: (usize, usize) = (16, 128);
const FINE: (usize, usize) = (32, 1024);

/// The limits of the searches for a Gaussian.
const ROUGH: Search = Search { evaluations: 100, tolerance: 1e-2 };
const BEST: Search = Search { evaluations: 16, tolerance: 1e-6 };

/// How often a Gaussian is narrowed to half its width until the target is finite at its points.
const NARROWINGS: usize = 12;

/// The number of nats by which a mode's Gaussian may be worse than the best; a mode that is worse has negligible mass.
const NEGLIGIBLE: f64 = 12.0;

/// The same by Laplace's method, which is off by several nats where a peak is far from Gaussian.
const HOPELESS: f64 = 2.0 * NEGLIGIBLE;

/// The search goes on until so many starts in a row lead to nothing new, every mode of mass was met twice, and one half as wide would
/// have been met; up to so many further starts and modes. After 60 without any, fewer than one start in twenty leads to a new mode, at 95 % confidence (the rule
/// of three).
const IDLE: usize = 60;
const MOST_STARTS: usize = 400;
const MOST_MODES: usize = 48;

/// The factor by which the spanning Gaussian is widened.
const WIDER: f64 = 2.0;

impl Region {
    /// Finds the modes and their Gaussians.
    ///
    /// # Errors
    /// `NoStart` if the target is finite nowhere, `Improper`.
    pub(super) fn find<T: LogDensity + ?Sized>(
        target: &T,
        (starts, limit): (usize, Option<u64>),
        seeds: &mut Seeds,
    ) -> Result<Self, BoostError> {
        let d = target.dim();
        if d == 0 {
            return Err(vi_core::Error::Empty { argument: "theta" }.into());
        }
        let probe = Probe::new(target, vec![1.0; d])?;
        let is_over = |probe: &Probe<'_, T>| limit.is_some_and(|limit| probe.evaluations() >= limit);
        let (mut search, mut improper) = (Modes::default(), None);
        for k in 0..starts + MOST_STARTS {
            let last = k >= starts && search.idle >= IDLE && search.unseen(NEGLIGIBLE) == 0.0 && search.is_thorough();
            if last || is_over(&probe) && !search.sightings.is_empty() || search.sightings.len() >= MOST_MODES {
                break;
            }
            probe.enter(Phase::Modes);
            let from = if k < starts { search.near(&probe, k, seeds) } else { search.far(&probe, seeds) };
            let Some(peak) = from.and_then(|from| search.climb(&probe, &from, HOPELESS)) else { continue };
            probe.enter(Phase::Components);
            match gaussian(&probe, &peak.0, COARSE, ROUGH, seeds.next()) {
                Ok(Some(best)) => search.meet(peak, best.component, best.value),
                Ok(None) => {}
                Err(error) => improper = Some(error),
            }
        }
        search.settle();
        let (unseen, thorough) = (search.unseen(NEGLIGIBLE), search.is_thorough());
        let mut found = search.sightings;
        if found.is_empty() {
            let Faults { zero, nan, infinite } = Faults::of(&search.tried);
            let nowhere = BoostError::NoStart { points: search.tried.len(), zero, nan, infinite };
            let none = if search.tried.iter().any(|f| f.is_finite()) {
                BoostError::NoCandidate { tries: starts }
            } else {
                nowhere
            };
            return Err(improper.unwrap_or(none));
        }
        found.sort_by(|a, b| a.value.total_cmp(&b.value));
        let least = found.first().map_or(f64::NAN, |best| best.value);
        found.retain(|best| best.value <= least + NEGLIGIBLE);
        let (mut kept, mut values): (Vec<Component>, Vec<f64>) = (Vec::new(), Vec::new());
        let mut first: Option<Component> = None;
        for best in found {
            // The best of them on more points, or the next if the target is zero at some of these.
            let own = if kept.is_empty() && is_over(&probe) {
                first = Some(best.gaussian.clone());
                Some((best.gaussian, best.value))
            } else if kept.is_empty() {
                match gaussian(&probe, &best.gaussian, FINE, BEST, seeds.next()) {
                    Ok(Some(finer)) => {
                        first = Some(finer.component.clone());
                        Some(if best.split { (best.gaussian, best.value) } else { (finer.component, finer.value) })
                    }
                    Ok(None) => None,
                    Err(error) => {
                        improper = Some(error);
                        None
                    }
                }
            } else {
                let apart = kept.iter().all(|other| distance(&best.gaussian, other) > APART);
                apart.then_some((best.gaussian, best.value))
            };
            if let Some((component, value)) = own {
                kept.push(component);
                values.push(value);
            }
        }
        let Some(gaussian) = first else {
            return Err(improper.unwrap_or(BoostError::NoCandidate { tries: starts }));
        };
        let share = vec![(1.0 / kept.len() as f64).ln(); kept.len()];
        let wide = GaussianMixture::from_parts(kept.clone(), share).matched()?.widened(WIDER * WIDER)?;
        let masses: Vec<f64> = values.iter().map(|value| (values[0] - value).exp()).collect();
        let total: f64 = masses.iter().sum();
        let shares = masses.iter().map(|mass| (mass / total).ln()).collect();
        Ok(Self {
            gaussian,
            all: GaussianMixture::from_parts(kept, shares),
            wide,
            unseen,
            thorough,
            evaluations: probe.spent(),
        })
    }

    /// Widens the region to include a mixture.
    pub(super) fn widen(&mut self, q: &GaussianMixture) -> Result<(), BoostError> {
        let both = [q.matched()?.widened(WIDER * WIDER)?, self.wide.clone()];
        self.wide = GaussianMixture::from_parts(both.to_vec(), vec![0.5_f64.ln(); 2]).matched()?;
        Ok(())
    }
}

/// The best Gaussian near `from`, on `(each, least)` points.
fn gaussian<T: LogDensity + ?Sized>(
    probe: &Probe<'_, T>,
    from: &Component,
    (each, least): (usize, usize),
    search: Search,
    seed: u64,
) -> Result<Option<Best>, BoostError> {
    let z = block::quasi((each * from.dim()).max(least).min(crate::points::MOST_POINTS), from.dim(), seed)?;
    let single = Single { probe, z: &z };
    // The scale at a peak may be far below that of the mass about it, as where a density is infinite: the search may then go as far
    // as one from the first starts.
    let cube = Component::isotropic(&vec![0.0; from.dim()], HALF_WIDTH)?;
    let mut from = from.clone();
    for _ in 0..NARROWINGS {
        if let Some(best) = single.best(&[from.clone(), cube.clone()], &from, search)? {
            return Ok(Some(best));
        }
        from = from.widened(0.25)?;
    }
    Ok(None)
}
