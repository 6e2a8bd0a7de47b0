//! Variational Gaussians against the optimum by exact expectations.

use vi_boost::gaussian::{GaussianSettings, GaussianStop, fit};
use vi_boost::{Component, Family, GaussianMixture};
use vi_core::{BernoulliLogit, DenseGaussian, Exact, batch};
use vi_linalg::faer::{Mat, Par};

use crate::common::rng;

/// Rows, labels and prior of a logistic regression in three dimensions.
fn problem() -> (Mat<f64>, Vec<f64>, DenseGaussian) {
    let x = Mat::from_fn(30, 3, |i, j| if j == 0 { 1.0 } else { ((3 * i + 7 * j * i) as f64).sin() });
    let y = (0..30).map(|i| if x[(i, 1)] + 0.5 * x[(i, 2)] > 0.1 { 1.0 } else { 0.0 }).collect();
    (x, y, DenseGaussian::isotropic(&[0.0; 3], 1.5).unwrap())
}

#[test]
fn the_full_gaussian_is_the_batch_optimum() {
    let (x, y, prior) = problem();
    let likelihood = BernoulliLogit(Exact);
    let (best, info) =
        batch::optimum(&prior, &prior, x.as_ref(), &y, &likelihood, batch::BatchSettings::default(), Par::Seq).unwrap();
    let target = vi_boost::target::GlmTarget::new(&prior, x.as_ref(), &y, likelihood).unwrap();
    let start = Component::isotropic(&[0.0; 3], 3.0).unwrap();
    let (found, stopped) = fit(&target, &start, &GaussianSettings::default(), &mut rng(1)).unwrap();
    assert_eq!(stopped.stop, GaussianStop::Converged);
    // The points' error in what is not quadratic of the bound, a few times 1/n for n = 4096.
    assert!((stopped.bound - info.bound()).abs() < 1e-3, "{} {}", stopped.bound, info.bound());
    // The bound is quadratic about its maximum, so this asks for a tenth of the root of what it may differ by.
    let kl = vi_core::divergence::gaussian_kl(&found.to_belief().unwrap(), &best).unwrap();
    assert!(kl < 1e-6, "{kl}");
}

#[test]
fn families_are_nested() {
    let (x, y, prior) = problem();
    let target = vi_boost::target::GlmTarget::new(&prior, x.as_ref(), &y, BernoulliLogit(Exact)).unwrap();
    let start = Component::isotropic(&[0.0; 3], 3.0).unwrap();
    let bound = |family| {
        let settings = GaussianSettings::default().family(family).unwrap();
        let (found, info) = fit(&target, &start, &settings, &mut rng(1)).unwrap();
        assert_eq!(found.family(), family);
        info.bound
    };
    let diagonal = bound(Family::Diagonal);
    let low_rank = bound(Family::LowRank { rank: 1 });
    let full = bound(Family::Full);
    // One shared direction is worth something here; the points' errors differ by less than 1e-3.
    assert!(diagonal < low_rank - 1e-3 && low_rank < full + 1e-3, "{diagonal} {low_rank} {full}");
}

#[test]
fn mean_field_of_a_gaussian_is_known() {
    // The best diagonal Gaussian for N(μ, Λ⁻¹) has precisions Λ_jj.
    let covariance = Mat::from_fn(2, 2, |i, j| if i == j { 1.0 + i as f64 } else { 0.9 });
    let target = GaussianMixture::single(Component::full(&[1.0, -2.0], covariance.as_ref()).unwrap());
    let start = Component::isotropic(&[0.0, 0.0], 5.0).unwrap();
    let settings = GaussianSettings::default().family(Family::Diagonal).unwrap();
    let (found, _) = fit(&target, &start, &settings, &mut rng(2)).unwrap();
    let determinant = 1.0 * 2.0 - 0.81;
    // The objective is exact; the search stops within 1e-9 nats, the root of which is the error in standard deviations.
    for (j, precision) in [2.0 / determinant, 1.0 / determinant].iter().enumerate() {
        assert!((found.covariance()[(j, j)] * precision - 1.0).abs() < 1e-3);
    }
    assert!((found.mean()[0] - 1.0).abs() < 1e-3 && (found.mean()[1] + 2.0).abs() < 1e-3);
}

#[test]
fn fifty_dimensions_take_any_family() {
    let d = 50;
    let covariance = Mat::from_fn(d, d, |i, j| 0.9_f64.powi(i32::try_from(i.abs_diff(j)).unwrap()));
    let mean: Vec<f64> = (0..d).map(|i| (i as f64).sin()).collect();
    let target = GaussianMixture::single(Component::full(&mean, covariance.as_ref()).unwrap());
    let start = Component::isotropic(&vec![0.0; d], 3.0).unwrap();
    for family in [Family::Full, Family::Diagonal, Family::LowRank { rank: 3 }] {
        let settings = GaussianSettings::new(family, 512, 150, 1e-6).unwrap();
        let (found, info) = fit(&target, &start, &settings, &mut rng(1)).unwrap();
        let away = found.mean().iter().zip(&mean).fold(0.0_f64, |a, (x, y)| a.max((x - y).abs()));
        assert!(away < 0.05 && info.bound < 1e-6, "{family:?}: {away} {info:?}");
        if family == Family::Full {
            // A Gaussian target is met exactly: the bound is log Z = 0.
            assert!(info.bound > -1e-3, "{info:?}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bits() {
    let (x, y, prior) = problem();
    let target = vi_boost::target::GlmTarget::new(&prior, x.as_ref(), &y, BernoulliLogit(Exact)).unwrap();
    let start = Component::isotropic(&[0.0; 3], 3.0).unwrap();
    let run = |seed| fit(&target, &start, &GaussianSettings::default(), &mut rng(seed)).unwrap().0.mean().to_vec();
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}
