//! Where the mass is: modes, the Gaussians about them, and a wide Gaussian that spans them all.

use crate::BoostError;
use crate::block::{self, Block};
use crate::component::Component;
use crate::mixture::GaussianMixture;
use crate::modes::{APART, distance, distinct, laplace};
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
    pub(super) modes: usize,
    pub(super) evaluations: u64,
}

/// Half the width of the cube that starting points are uniform on, as in Stan.
const HALF_WIDTH: f64 = 2.0;

/// How often the cube is halved for a starting point at which the target is not finite.
const HALVINGS: usize = 8;

/// The number of points, for each dimension and at least, on which the Gaussians of all modes are compared, and that for the best
/// one.
const COARSE: (usize, usize) = (16, 128);
const FINE: (usize, usize) = (32, 1024);

/// The limits of the searches for a Gaussian.
const ROUGH: Search = Search { evaluations: 100, tolerance: 1e-2 };
const BEST: Search = Search { evaluations: 200, tolerance: 1e-6 };

/// How often a Gaussian is narrowed to half its width until the target is finite at its points.
const NARROWINGS: usize = 12;

/// The number of nats by which a mode's Gaussian may be worse than the best; a mode that is worse has negligible mass.
const HOPELESS: f64 = 12.0;

/// The factor by which the spanning Gaussian is widened.
const WIDER: f64 = 2.0;

impl Region {
    /// Finds the modes and their Gaussians.
    ///
    /// # Errors
    /// `NoStart` if the target is finite nowhere, `Improper`.
    pub(super) fn find<T: LogDensity + ?Sized>(
        target: &T,
        starts: usize,
        seeds: &mut Seeds,
    ) -> Result<Self, BoostError> {
        let d = target.dim();
        if d == 0 {
            return Err(vi_core::Error::Empty { argument: "theta" }.into());
        }
        let probe = Probe::new(target, vec![1.0; d])?;
        let (mut tried, mut peaks): (Vec<f64>, Vec<Component>) = (Vec::new(), Vec::new());
        for k in 0..starts {
            let Some(from) = starting_point(&probe, k, seeds, &mut tried) else { continue };
            if let Some(peak) = laplace(&probe, &from) {
                peaks.push(peak);
            }
        }
        if peaks.is_empty() {
            let Faults { zero, nan, infinite } = Faults::of(&tried);
            return Err(BoostError::NoStart { points: tried.len(), zero, nan, infinite });
        }
        let (mut found, mut improper): (Vec<Best>, Option<BoostError>) = (Vec::new(), None);
        for peak in distinct(peaks) {
            match gaussian(&probe, &peak, COARSE, ROUGH, seeds.next()) {
                Ok(Some(best)) => found.push(best),
                Ok(None) => {}
                Err(error) => improper = Some(error),
            }
        }
        found.sort_by(|a, b| a.value.total_cmp(&b.value));
        let least = found.first().map_or(f64::NAN, |best| best.value);
        found.retain(|best| best.value <= least + HOPELESS);
        let mut kept: Vec<Component> = Vec::new();
        let mut first: Option<Component> = None;
        for best in found {
            if first.is_none() {
                // The best of them on more points, or the next if the target is zero at some of these.
                match gaussian(&probe, &best.component, FINE, BEST, seeds.next()) {
                    Ok(Some(best)) => {
                        kept.push(best.component.clone());
                        first = Some(best.component);
                    }
                    Ok(None) => {}
                    Err(error) => improper = Some(error),
                }
            } else if kept.iter().all(|other| distance(&best.component, other) > APART) {
                kept.push(best.component);
            }
        }
        let Some(gaussian) = first else {
            return Err(improper.unwrap_or(BoostError::NoCandidate { tries: starts }));
        };
        let share = vec![(1.0 / kept.len() as f64).ln(); kept.len()];
        let modes = kept.len();
        let wide = GaussianMixture::from_parts(kept, share).matched()?.widened(WIDER * WIDER)?;
        Ok(Self { gaussian, wide, modes, evaluations: probe.evaluations() })
    }

    /// Widens the region to include a mixture.
    pub(super) fn widen(&mut self, q: &GaussianMixture) -> Result<(), BoostError> {
        let both = [q.matched()?.widened(WIDER * WIDER)?, self.wide.clone()];
        self.wide = GaussianMixture::from_parts(both.to_vec(), vec![0.5_f64.ln(); 2]).matched()?;
        Ok(())
    }
}

/// The `k`-th starting point: 0 first, then points uniform on a cube, which is halved while the target is not finite there.
fn starting_point<T: LogDensity + ?Sized>(
    probe: &Probe<'_, T>,
    k: usize,
    seeds: &mut Seeds,
    tried: &mut Vec<f64>,
) -> Option<Vec<f64>> {
    let direction: Vec<f64> =
        (0..probe.dim()).map(|_| if k == 0 { 0.0 } else { HALF_WIDTH * (2.0 * seeds.uniform() - 1.0) }).collect();
    for halving in 0..HALVINGS {
        let size = 0.5_f64.powi(i32::try_from(halving).unwrap_or(0));
        let point: Vec<f64> = direction.iter().map(|x| size * x).collect();
        let mut value = [0.0];
        probe.values(&Block::point(&point), &mut value);
        tried.push(value[0]);
        if value[0].is_finite() {
            return Some(point);
        }
        if k == 0 {
            break;
        }
    }
    None
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
    let mut from = from.clone();
    for _ in 0..NARROWINGS {
        if let Some(best) = single.best(&from, &from, search)? {
            return Ok(Some(best));
        }
        from = from.widened(0.25)?;
    }
    Ok(None)
}
