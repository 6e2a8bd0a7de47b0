//! Variational Gaussians against the optimum by exact expectations.

use vi_boost::gaussian::{GaussianSettings, fit};
use vi_boost::{Component, Family, GaussianMixture, LogDensity, Stop};
use vi_core::{BernoulliLogit, DenseGaussian, Exact, batch};
use vi_linalg::faer::{Mat, Par, mat};

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
        batch::optimum(&prior, &prior, x.as_ref(), &y, &likelihood, &batch::BatchSettings::default(), Par::Seq)
            .unwrap();
    let target = vi_boost::target::GlmTarget::new(&prior, x.as_ref(), &y, likelihood).unwrap();
    let start = Component::isotropic(&[0.0; 3], 3.0).unwrap();
    let (found, stopped) = fit(&target, &start, &GaussianSettings::default(), &mut rng(1)).unwrap();
    assert_eq!(stopped.stop, Stop::Converged);
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
        let settings = GaussianSettings { family, ..GaussianSettings::default() };
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
    let settings = GaussianSettings { family: Family::Diagonal, ..GaussianSettings::default() };
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
        let settings = GaussianSettings { family, points: 512, evaluations: 150, tolerance: 1e-6 };
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

/// A target made of a closure, without a gradient.
struct Of<F>(usize, F);

impl<F: Fn(&[f64]) -> f64> LogDensity for Of<F> {
    fn dim(&self) -> usize {
        self.0
    }

    fn log_density(&self, theta: &[f64]) -> f64 {
        (self.1)(theta)
    }
}

#[test]
fn a_search_that_says_converged_is() {
    // Standard deviations of 30 and 0.0075 with a correlation of −0.99999: a tiny step is no sign of an end.
    let (a, b) = (30.0, 0.0075);
    let covariance = mat![[a * a, -0.99999 * a * b], [-0.99999 * a * b, b * b]];
    let target = GaussianMixture::single(Component::full(&[-60.0, 0.0176], covariance.as_ref()).unwrap());
    let start = Component::isotropic(&[0.0, 0.0], 10.0).unwrap();
    let settings = GaussianSettings { points: 256, ..GaussianSettings::default() };
    for seed in 0..30 {
        let (_, info) = fit(&target, &start, &settings, &mut rng(seed)).unwrap();
        // The bound of a Gaussian target is exact on points with its moments; rounding is ε times values of up to 1e12 far away,
        // of order one at the end.
        assert!(info.stop == Stop::Converged && info.bound.abs() < 1e-6, "seed {seed}: {info:?}");
    }
}

#[test]
fn scales_of_any_ratio_take_few_evaluations() {
    // Variances from 1e-6 to 1 in ten dimensions, mean 1.
    let d = 10;
    let variances: Vec<f64> = (0..d).map(|j| 10.0_f64.powf(-6.0 * j as f64 / 9.0)).collect();
    let target = GaussianMixture::single(Component::diagonal(&vec![1.0; d], &variances).unwrap());
    let start = Component::isotropic(&vec![0.0; d], 3.0).unwrap();
    for family in [Family::Full, Family::Diagonal] {
        let settings = GaussianSettings { family, ..GaussianSettings::default() };
        let (_, info) = fit(&target, &start, &settings, &mut rng(1)).unwrap();
        assert!(info.stop == Stop::Converged && info.bound.abs() < 1e-8, "{family:?}: {info:?}");
        // One natural step from anywhere, a few where the first is too long.
        assert!(info.evaluations < 30, "{family:?}: {info:?}");
    }
}

#[test]
fn a_tolerance_that_no_search_can_meet_costs_little() {
    let target = crate::common::logistic();
    let start = Component::isotropic(&[0.0; 2], 3.0).unwrap();
    let settings = GaussianSettings { evaluations: 100_000, tolerance: 1e-300, ..GaussianSettings::default() };
    let (_, info) = fit(&target, &start, &settings, &mut rng(1)).unwrap();
    assert!(info.stop == Stop::Converged && info.evaluations < 200, "{info:?}");
}

#[test]
fn walls_too_steep_to_square_are_left() {
    // −x²/2 − x¹⁵⁰: at eight standard deviations of the start the gradient is 1e213.
    let target = Of(1, |theta: &[f64]| -0.5 * theta[0].powi(2) - theta[0].powi(150));
    let at = |sd: f64| {
        let start = Component::isotropic(&[0.0], sd).unwrap();
        let (_, info) = fit(&target, &start, &GaussianSettings::default(), &mut rng(1)).unwrap();
        assert_eq!(info.stop, Stop::Converged, "{info:?}");
        info.bound
    };
    let (far, near) = (at(8.0), at(0.1));
    // Both are the optimum on the same points, to the coarsest that they resolve.
    assert!((far - near).abs() < 2e-3, "{far} {near}");
}

#[test]
fn a_target_that_is_zero_far_out_is_fitted_from_a_narrower_start() {
    let target = Of(1, |theta: &[f64]| if theta[0].abs() < 8.0 { -0.5 * theta[0].powi(2) } else { f64::NEG_INFINITY });
    let start = Component::isotropic(&[0.0], 3.0).unwrap();
    let (q, info) = fit(&target, &start, &GaussianSettings::default(), &mut rng(1)).unwrap();
    assert!(info.narrowed > 0 && info.stop == Stop::Converged, "{info:?}");
    assert!(q.mean()[0].abs() < 1e-6 && (q.covariance()[(0, 0)] - 1.0).abs() < 1e-6);
    // And where its mean itself is outside.
    let target =
        Of(1, |theta: &[f64]| if theta[0] > 2.0 { -0.5 * (theta[0] - 9.0).powi(2) } else { f64::NEG_INFINITY });
    let (q, info) = fit(&target, &start, &GaussianSettings::default(), &mut rng(1)).unwrap();
    assert!(info.narrowed > 0 && (q.mean()[0] - 9.0).abs() < 1e-6, "{info:?}");
}

/// By how much a second fit, from the result of the first with other points, raises the bound on a third set of points.
fn gained<T: LogDensity>(target: &T, start: &Component, seed: u64) -> f64 {
    let settings = GaussianSettings::default();
    let (first, info) = fit(target, start, &settings, &mut rng(seed)).unwrap();
    assert_eq!(info.stop, Stop::Converged, "seed {seed}: {info:?}");
    let (second, _) = fit(target, &first, &settings, &mut rng(seed + 1_000_000)).unwrap();
    let loss = |q: Component| {
        vi_boost::divergence::quasi(&GaussianMixture::single(q), target, 4096, 2, 7).unwrap().effective.value
    };
    loss(first) - loss(second)
}

/// A random rotation of scales whose squares span `condition`, in `d` dimensions.
fn random_gaussian(d: usize, condition: f64, seed: u64) -> GaussianMixture {
    use rand::RngExt;
    let mut rng = rng(seed);
    let mut normal = || -> f64 { (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0 };
    // A product of Householder reflections.
    let mut rotation = Mat::<f64>::identity(d, d);
    for _ in 0..d {
        let v: Vec<f64> = (0..d).map(|_| normal()).collect();
        let square: f64 = v.iter().map(|v| v * v).sum();
        let reflection = Mat::from_fn(d, d, |i, j| f64::from(u8::from(i == j)) - 2.0 * v[i] * v[j] / square);
        rotation = reflection * rotation;
    }
    let scaled = Mat::from_fn(d, d, |i, j| {
        let share = if d == 1 { 0.0 } else { j as f64 / (d - 1) as f64 };
        rotation[(i, j)] * condition.powf(-0.5 * share)
    });
    let mean: Vec<f64> = (0..d).map(|_| 10.0 * normal()).collect();
    GaussianMixture::single(Component::full(&mean, (&scaled * scaled.transpose()).as_ref()).unwrap())
}

#[test]
fn nothing_is_gained_by_fitting_again() {
    let count = if crate::slow() { 100 } else { 12 };
    for seed in 0..count {
        let d = 1 + usize::try_from(seed % 7).unwrap();
        let condition = 10.0_f64.powf(8.0 * (seed % 11) as f64 / 10.0);
        let target = random_gaussian(d, condition, seed);
        let sd = [1.0, 3.0, 10.0][usize::try_from(seed % 3).unwrap()];
        let start = Component::isotropic(&vec![0.0; d], sd).unwrap();
        let more = gained(&target, &start, seed);
        assert!(more < 0.01, "seed {seed}, d = {d}, condition {condition:e}: {more}");
        // Logistic posteriors with few rows and rows of very different sizes: skew and ill-conditioned.
        let x = Mat::from_fn(3 * d, d, |i, j| {
            let size = 10.0_f64.powi(i32::try_from(j % 4).unwrap() - 1);
            size * ((i * (j + 3) + 1) as f64 + seed as f64).sin()
        });
        let y: Vec<f64> = (0..3 * d).map(|i| f64::from(u8::from((i as f64 * 1.3 + seed as f64).sin() > 0.0))).collect();
        let prior = DenseGaussian::isotropic(&vec![0.0; d], 2.0).unwrap();
        let target = vi_boost::target::GlmTarget::new(&prior, x.as_ref(), &y, BernoulliLogit(Exact)).unwrap();
        let more = gained(&target, &start, seed);
        assert!(more < 0.01, "logistic, seed {seed}, d = {d}: {more}");
    }
}

#[test]
fn a_better_mode_is_taken_and_told() {
    let part = |mean: f64| Component::isotropic(&[mean, 0.0], 0.5).unwrap();
    let target = GaussianMixture::new(vec![part(-4.0), part(4.0)], &[0.1, 0.9]).unwrap();
    let fitted = |mean: f64, sd: f64| {
        let start = Component::isotropic(&[mean, 0.0], sd).unwrap();
        fit(&target, &start, &GaussianSettings::default(), &mut rng(1)).unwrap()
    };
    // A start that leads to the left mode and sees the right one.
    let (q, info) = fitted(-4.0, 2.0);
    let gain = info.elsewhere.unwrap();
    assert!((q.mean()[0] - 4.0).abs() < 1e-6 && info.stop == Stop::Converged, "{:?} {info:?}", q.mean());
    // Both modes are Gaussian, sixteen deviations apart: each bound is the logarithm of its mode's weight, to what 4096 points resolve.
    assert!((gain - 9.0_f64.ln()).abs() < 1e-6 && (info.bound - 0.9_f64.ln()).abs() < 1e-6, "{gain} {info:?}");
    // A start too narrow to see it stays.
    let (q, info) = fitted(-4.0, 0.5);
    assert!((q.mean()[0] + 4.0).abs() < 1e-6 && info.elsewhere.is_none(), "{:?} {info:?}", q.mean());
    assert_eq!(fitted(4.0, 2.0).1.elsewhere, None);
    let start = Component::isotropic(&[0.0; 2], 3.0).unwrap();
    let (_, info) = fit(&crate::common::logistic(), &start, &GaussianSettings::default(), &mut rng(1)).unwrap();
    assert_eq!(info.elsewhere, None);
}
