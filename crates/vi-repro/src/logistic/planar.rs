//! The posterior in two dimensions on a grid: normaliser, mass regions, contours.

use super::Posterior;
use crate::error::{Doing as _, ReproError};
use crate::plot::{Grid, linspace};

/// Nats below the mode at which the grid may end: e⁻⁴⁰ is below 1e-17.
const DEPTH: f64 = 40.0;
/// Doublings of the box after which the search for its size is given up.
const DOUBLINGS: usize = 12;

/// A two-dimensional posterior summed up on a grid.
pub(crate) struct Planar {
    /// `log Z` of the unnormalised posterior.
    pub(crate) log_z: f64,
    /// Change of `log Z` from a grid of half as many points on each side.
    pub(crate) refinement: f64,
    /// Mean of the posterior.
    pub(crate) mean: [f64; 2],
    /// Covariance of the posterior.
    pub(crate) cov: [[f64; 2]; 2],
    /// Densities `log p̃` above which 50, 90 and 99 % of the mass lie.
    pub(crate) levels: [f64; 3],
    /// Smallest box that holds the 99 % region.
    pub(crate) region: [(f64, f64); 2],
    /// Points of the coarse grid with their share of the mass, the negligible ones left out.
    pub(crate) cloud: Vec<([f64; 2], f64)>,
}

impl Planar {
    /// Sums the posterior by the trapezoid rule on `n × n` points of a box that follows its shape,
    /// starting from the mode `centre` and a rough covariance `cov`.
    pub(crate) fn new(
        posterior: &Posterior<'_>,
        centre: [f64; 2],
        cov: [[f64; 2]; 2],
        n: usize,
    ) -> Result<Self, ReproError> {
        // θ = centre + L·u whitens the rough covariance.
        let l11 = cov[0][0].max(f64::MIN_POSITIVE).sqrt();
        let l21 = cov[0][1] / l11;
        let l22 = (cov[1][1] - l21 * l21).max(f64::MIN_POSITIVE).sqrt();
        let theta = |u: f64, v: f64| [centre[0] + l11 * u, centre[1] + l21 * u + l22 * v];
        let mode = posterior.log_densities(&[centre])[0];
        let cells = Self::support(posterior, &theta, mode)?;

        let sum = |n: usize| -> Vec<([f64; 2], f64)> {
            let (us, vs) = (linspace(cells[0].0, cells[0].1, n), linspace(cells[1].0, cells[1].1, n));
            let points: Vec<[f64; 2]> = vs.iter().flat_map(|&v| us.iter().map(move |&u| theta(u, v))).collect();
            let values = posterior.log_densities(&points);
            points.into_iter().zip(values).collect()
        };
        let area = |n: usize| {
            let step = |(lo, hi): (f64, f64)| (hi - lo) / (n as f64 - 1.0);
            l11 * l22 * step(cells[0]) * step(cells[1])
        };
        let total = |points: &[([f64; 2], f64)]| points.iter().map(|(_, l)| (l - mode).exp()).sum::<f64>();
        let (fine, coarse) = (sum(n), sum(n / 2));
        let mass = total(&fine);
        let log_z = mode + (mass * area(n)).ln();
        let refinement = log_z - (mode + (total(&coarse) * area(n / 2)).ln());

        let mut mean = [0.0; 2];
        for (at, l) in &fine {
            let w = (l - mode).exp() / mass;
            mean[0] += w * at[0];
            mean[1] += w * at[1];
        }
        let mut cov = [[0.0; 2]; 2];
        for (at, l) in &fine {
            let w = (l - mode).exp() / mass;
            let d = [at[0] - mean[0], at[1] - mean[1]];
            for i in 0..2 {
                for j in 0..2 {
                    cov[i][j] += w * d[i] * d[j];
                }
            }
        }
        let levels = mass_levels(&fine, mode, mass);
        let mut region = [(f64::INFINITY, f64::NEG_INFINITY); 2];
        for (at, _) in fine.iter().filter(|(_, l)| *l >= levels[2]) {
            for i in 0..2 {
                region[i] = (region[i].0.min(at[i]), region[i].1.max(at[i]));
            }
        }
        let coarse_mass = total(&coarse);
        let cloud = coarse.iter().map(|(at, l)| (*at, (l - mode).exp() / coarse_mass)).filter(|(_, w)| *w > 1e-8);
        Ok(Self { log_z, refinement, mean, cov, levels, region, cloud: cloud.collect() })
    }

    /// The box in whitened coordinates outside which the density is negligible.
    fn support(
        posterior: &Posterior<'_>,
        theta: &impl Fn(f64, f64) -> [f64; 2],
        mode: f64,
    ) -> Result<[(f64, f64); 2], ReproError> {
        let mut reach = 8.0;
        for _ in 0..DOUBLINGS {
            let axis = linspace(-reach, reach, 81);
            let step = axis[1] - axis[0];
            let mut found = [(f64::INFINITY, f64::NEG_INFINITY); 2];
            let cells: Vec<[f64; 2]> = axis.iter().flat_map(|&v| axis.iter().map(move |&u| [u, v])).collect();
            let points: Vec<[f64; 2]> = cells.iter().map(|[u, v]| theta(*u, *v)).collect();
            for (cell, value) in cells.iter().zip(posterior.log_densities(&points)) {
                if value > mode - DEPTH {
                    for (found, at) in found.iter_mut().zip(cell) {
                        *found = (found.0.min(*at), found.1.max(*at));
                    }
                }
            }
            let inside = found.iter().all(|(lo, hi)| *lo > -reach && *hi < reach);
            if inside {
                return Ok(found.map(|(lo, hi)| (lo - step, hi + step)));
            }
            reach *= 2.0;
        }
        Err(format!("the posterior reaches beyond {reach} Laplace deviations")).context("grid normaliser")
    }

    /// The posterior's log density on a window, for contours at [`Planar::levels`].
    pub(crate) fn window(posterior: &Posterior<'_>, [x, y]: [(f64, f64); 2], n: usize) -> Result<Grid, ReproError> {
        let (xs, ys) = (linspace(x.0, x.1, n), linspace(y.0, y.1, n));
        let points: Vec<[f64; 2]> = ys.iter().flat_map(|&y| xs.iter().map(move |&x| [x, y])).collect();
        Ok(Grid::new(xs, ys, posterior.log_densities(&points))?)
    }
}

/// Log densities above which 50, 90 and 99 % of the mass of equal cells lie.
fn mass_levels(points: &[([f64; 2], f64)], mode: f64, mass: f64) -> [f64; 3] {
    let mut logs: Vec<f64> = points.iter().map(|(_, l)| *l).collect();
    logs.sort_by(|a, b| b.total_cmp(a));
    [0.5, 0.9, 0.99].map(|share| {
        let mut sum = 0.0;
        for l in &logs {
            sum += (l - mode).exp();
            if sum >= share * mass {
                return *l;
            }
        }
        f64::NEG_INFINITY
    })
}

/// `k` of the ellipse that holds a share `p` of a two-dimensional Gaussian's mass: `√(−2·ln(1−p))`.
pub(crate) fn deviations(p: f64) -> f64 {
    (-2.0 * (-p).ln_1p()).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use vi_core::DenseGaussian;
    use vi_data::Dataset;

    #[test]
    fn a_posterior_that_is_nearly_its_prior_has_the_priors_mass_and_regions() {
        // One row of zeros: the likelihood is ½ for every θ, so Z = ½ and the posterior is the prior.
        let data = Dataset::new(vec![0.0, 0.0], vec![1.0], None).unwrap();
        let c = 0.5_f64.sqrt();
        let prior = DenseGaussian::isotropic(&[c, c], 2.0).unwrap();
        let posterior = Posterior::new(&prior, &data).unwrap();
        let p = Planar::new(&posterior, [c, c], [[3.0, 0.5], [0.5, 4.0]], 120).unwrap();
        assert!((p.log_z - 0.5_f64.ln()).abs() < 1e-10, "{}", p.log_z);
        assert!(p.refinement.abs() < 1e-10);
        assert!((p.cov[0][0] - 4.0).abs() < 1e-8 && p.cov[0][1].abs() < 1e-8);
        // log p̃ at the edge of the region of mass p is log p̃(mode) + ln(1 − p), up to a cell.
        let mode = posterior.log_densities(&[[c, c]])[0];
        for (level, share) in p.levels.iter().zip([0.5, 0.9, 0.99]) {
            assert!((level - mode - (1.0_f64 - share).ln()).abs() < 0.05);
        }
    }

    #[test]
    fn deviations_of_ninety_per_cent() {
        assert!((deviations(0.9) - 2.145_966).abs() < 1e-6);
    }
}
