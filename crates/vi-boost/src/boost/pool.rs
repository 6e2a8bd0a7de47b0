//! Where mass is missing: points of distributions wider than `q`, weighted by how much more mass the target has there than `q`.
//! not.

use crate::BoostError;
use crate::block::{self, Block};
use crate::component::Component;
use crate::mixture::{GaussianMixture, Scratch};
use crate::target::{Faults, LogDensity, Probe};

/// The number of points of the distribution that a run starts from; the widened `q` has half as many.
const POOL: usize = 512;

/// The width of the Gaussian of new starts, in widths of `q`; other starts come from the start distribution.
const DISPERSION: f64 = 1.7;

/// Points of one distribution with the target's values.
#[derive(Debug, Clone)]
pub(crate) struct Pool {
    pub(crate) source: Component,
    pub(crate) x: Vec<Block>,
    pub(crate) log_f: Vec<Vec<f64>>,
}

impl Pool {
    fn new<T: LogDensity + ?Sized>(
        probe: &Probe<'_, T>,
        source: Component,
        n: usize,
        seed: u64,
    ) -> Result<Self, BoostError> {
        let (mut x, mut log_f) = (Vec::new(), Vec::new());
        for z in block::quasi(n, source.latent_dim(), seed)? {
            let mut points = Block::default();
            source.map(&z, &mut points);
            let mut values = vec![0.0; points.rows()];
            probe.values(&points, &mut values);
            x.push(points);
            log_f.push(values);
        }
        Ok(Self { source, x, log_f })
    }

    /// The pool of the distribution that a run starts from.
    ///
    /// # Errors
    /// [`BoostError::NoStart`] if the target is positive and finite at none of its points.
    pub(crate) fn of_start<T: LogDensity + ?Sized>(
        probe: &Probe<'_, T>,
        start: &Component,
        seed: u64,
    ) -> Result<Self, BoostError> {
        let pool = Self::new(probe, start.clone(), POOL, seed)?;
        let Faults { zero, nan, infinite } = pool.faults();
        if zero + nan + infinite == pool.len() {
            return Err(BoostError::NoStart { points: pool.len(), zero, nan, infinite });
        }
        Ok(pool)
    }

    /// The pool of the Gaussian with the moments of `q` and [`DISPERSION`] times its width.
    pub(crate) fn of_widened<T: LogDensity + ?Sized>(
        probe: &Probe<'_, T>,
        q: &GaussianMixture,
        seed: u64,
    ) -> Result<Self, BoostError> {
        Self::new(probe, q.matched()?.widened(DISPERSION.powi(2))?, POOL / 2, seed)
    }

    /// The faults of the target's values here.
    fn faults(&self) -> Faults {
        self.log_f.iter().map(|values| Faults::of(values)).fold(Faults::default(), |a, b| Faults {
            zero: a.zero + b.zero,
            nan: a.nan + b.nan,
            infinite: a.infinite + b.infinite,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.x.iter().map(Block::rows).sum()
    }
}

/// A place and the mass that it represents.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) at: Vec<f64>,
    pub(crate) mass: f64,
}

/// Every pooled point with `(p̂−q)₊/π`, where `p̂ = f/Ẑ` and `π` is the density of all pools together; without `q`, with `p̂/π`.
///
/// `log_evidence` is an estimate of `log Z` from `q`'s own points; that from the pools is taken if it is larger, since a `q` that
/// misses a mode sees too little of the target.
pub(crate) fn missing(pools: &[&Pool], q: Option<&GaussianMixture>, log_evidence: f64) -> Vec<Place> {
    let total: usize = pools.iter().map(|pool| pool.len()).sum();
    let sources: Vec<Component> = pools.iter().map(|pool| pool.source.clone()).collect();
    let shares: Vec<f64> = pools.iter().map(|pool| (pool.len() as f64 / total as f64).ln()).collect();
    let source = GaussianMixture::from_parts(sources, shares);
    let (mut scratch, mut of_q) = (Scratch::default(), Scratch::default());
    // (point, log f − log π, log q − log π)
    let mut rows: Vec<(Vec<f64>, f64, f64)> = Vec::with_capacity(total);
    for pool in pools {
        for (x, log_f) in pool.x.iter().zip(&pool.log_f) {
            source.evaluate(x, &mut scratch, false);
            if let Some(q) = q {
                q.evaluate(x, &mut of_q, false);
            }
            for (i, log_f) in log_f.iter().enumerate() {
                if !log_f.is_finite() {
                    continue;
                }
                let mut at = vec![0.0; x.columns()];
                x.row(i, &mut at);
                let log_q = if q.is_some() { of_q.total[i] } else { f64::NEG_INFINITY };
                rows.push((at, log_f - scratch.total[i], log_q - scratch.total[i]));
            }
        }
    }
    let largest = rows.iter().fold(f64::NEG_INFINITY, |a, row| a.max(row.1));
    let own = largest + (rows.iter().map(|row| (row.1 - largest).exp()).sum::<f64>() / total as f64).ln();
    let log_z = if q.is_some() { own.max(log_evidence) } else { own };
    rows.into_iter()
        .map(|(at, f, q)| Place { at, mass: ((f - log_z).exp() - q.exp()).max(0.0) })
        .filter(|place| place.mass > 0.0 && place.mass.is_finite())
        .collect()
}

/// The `count` places of most mass, in falling order.
pub(crate) fn foremost(places: &[Place], count: usize) -> Vec<Vec<f64>> {
    let mut order: Vec<&Place> = places.iter().collect();
    order.sort_by(|a, b| b.mass.total_cmp(&a.mass));
    order.into_iter().take(count).map(|place| place.at.clone()).collect()
}

/// `count` different places: the one of most mass, then others by systematic resampling with offset `u ∈ [0, 1)`.
pub(crate) fn choose(places: &[Place], count: usize, u: f64) -> Vec<Vec<f64>> {
    let total: f64 = places.iter().map(|place| place.mass).sum();
    let Some(first) = (0..places.len()).max_by(|&a, &b| places[a].mass.total_cmp(&places[b].mass)) else {
        return Vec::new();
    };
    let mut chosen = vec![first];
    // More ticks than places are taken, since several may fall on one place.
    let ticks = 2 * count;
    let (mut sum, mut tick) = (0.0, 0);
    for (index, place) in places.iter().enumerate() {
        sum += place.mass / total;
        while tick < ticks && sum * ticks as f64 > tick as f64 + u {
            if !chosen.contains(&index) {
                chosen.push(index);
            }
            tick += 1;
        }
    }
    // Every second of the places, so that those kept are spread over all.
    let rest: Vec<usize> = chosen.drain(1..).collect();
    let stride = rest.len().div_ceil(count.saturating_sub(1).max(1)).max(1);
    chosen.extend(rest.into_iter().step_by(stride));
    chosen.truncate(count);
    chosen.into_iter().map(|index| places[index].at.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_foremost_places_are_those_of_most_mass() {
        let places: Vec<Place> =
            [0.2, 0.5, 0.0, 0.3].iter().map(|mass| Place { at: vec![10.0 * mass], mass: *mass }).collect();
        assert_eq!(foremost(&places, 2), [[5.0], [3.0]]);
        assert_eq!(foremost(&places, 9).len(), 4);
        assert!(foremost(&[], 3).is_empty());
    }
}
