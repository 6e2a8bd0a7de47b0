//! Mass far outside a mixture.

use std::f64::consts::{LN_2, TAU};

use crate::BoostError;
use crate::block::{self, Block};
use crate::mixture::GaussianMixture;
use crate::target::LogDensity;

/// The number of points.
pub(super) const POINTS: usize = 64;

/// The distances of the nearest and the farthest point from the mean, in deviations of a Gaussian's typical draw.
const NEAR: f64 = 10.0;
const FAR: f64 = 1000.0;

/// The target's mass at distances of 10 to 1000 deviations of all of `q`, as a multiple of its mass within, `exp(log_evidence)`.
///
/// Importance sampling with directions uniform in units of the covariance and logarithms of distances even over their range: in
/// units of the covariance `x = μ + L·ru` has the density `1/(S·rᵈ·ln(FAR/NEAR))`, with `S` the area of the unit sphere. A floor
/// beneath a density, which the draws of `q` hardly see, grows by `rᵈ`. A value that is NaN counts as zero.
///
/// # Errors
/// Those of moments and of quasi-random points.
pub(super) fn mass_beyond<T: LogDensity + ?Sized>(
    q: &GaussianMixture,
    target: &T,
    log_evidence: f64,
    seed: u64,
) -> Result<f64, BoostError> {
    let (all, d) = (q.matched()?, q.dim());
    let (mut z, mut points) = (block::quasi(POINTS, d, seed)?.swap_remove(0), Block::default());
    let range = (FAR / NEAR).ln();
    let log_r = |i: usize| (NEAR * (d as f64).sqrt()).ln() + range * (i as f64 + 0.5) / POINTS as f64;
    for i in 0..POINTS {
        let norm = (0..d).map(|j| z.col(j)[i].powi(2)).sum::<f64>().sqrt();
        (0..d).for_each(|j| z.col_mut(j)[i] *= log_r(i).exp() / norm);
    }
    all.map(&z, &mut points);
    let mut log_f = vec![0.0; POINTS];
    target.log_densities(points.as_ref(), &mut log_f);
    let log_scale = log_area(d) + range.ln() + 0.5 * all.log_det() - log_evidence - (POINTS as f64).ln();
    let mass = |(i, log_f): (usize, &f64)| (log_f + d as f64 * log_r(i) + log_scale).exp();
    Ok(log_f.iter().enumerate().map(mass).filter(|mass| !mass.is_nan()).sum())
}

/// The logarithm of the area of the unit sphere in `d` dimensions, by `S₁ = 2`, `S₂ = 2π`, `S_{k+2} = S_k·2π/k`.
fn log_area(d: usize) -> f64 {
    let first = if d.is_multiple_of(2) { TAU.ln() } else { LN_2 };
    let from = if d.is_multiple_of(2) { 2 } else { 1 };
    first + (from..d).step_by(2).map(|k| (TAU / k as f64).ln()).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::component::Component;
    use crate::target::Function;

    #[test]
    fn areas_are_those_of_circle_and_spheres() {
        for (d, area) in [(1, 2.0), (2, TAU), (3, 2.0 * TAU), (4, TAU * TAU / 2.0), (5, TAU * TAU * 2.0 / 3.0)] {
            assert!((log_area(d).exp() - area).abs() < 1e-12, "{d}");
        }
    }

    #[test]
    fn mass_is_counted_in_any_units() {
        // 1/r³ between 100 and 1000 deviations of 7: 4π·ln 10 in units of 7³.
        let q = GaussianMixture::single(Component::isotropic(&[1.0, -2.0, 3.0], 7.0).unwrap());
        let target = Function::new(3, |x: &[f64]| {
            let r = ((x[0] - 1.0).powi(2) + (x[1] + 2.0).powi(2) + (x[2] - 3.0).powi(2)).sqrt() / 7.0;
            if (1e2..1e3).contains(&r) { -3.0 * r.ln() } else { f64::NEG_INFINITY }
        });
        let exact = 2.0 * TAU * 10_f64.ln() * 343.0;
        // The logarithms of the distances lie on a grid, of which an end may hold one point more or less.
        let found = mass_beyond(&q, &target, 0.0, 1).unwrap();
        assert!((found / exact - 1.0).abs() < 0.04, "{found} {exact}");
        let normal = Function::new(3, |x: &[f64]| -0.5 * x.iter().map(|x| x * x).sum::<f64>() / 49.0);
        assert!(mass_beyond(&q, &normal, 0.0, 1).unwrap() < 1e-9);
    }
}
