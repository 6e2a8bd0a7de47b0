use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_core::{Error, Explicit, GaussianExpectation, Kalman, filter};
use vi_linalg::faer::mat;

use super::*;

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// A prior with correlated weights, rows and labels.
fn problem(d: usize, n: usize) -> (DenseGaussian, Mat<f64>, Vec<f64>) {
    let rng = &mut ChaCha8Rng::seed_from_u64((1000 * d + n) as u64);
    let g = Mat::from_fn(d, d, |_, _| normal(rng));
    let mut covariance = Mat::<f64>::identity(d, d);
    symmetric_rank_r(covariance.as_mut(), 1.0 / d as f64, g.as_ref(), g.as_ref(), Par::Seq);
    mirror_lower(covariance.as_mut());
    let mean: Vec<f64> = (0..d).map(|_| normal(rng)).collect();
    let x = Mat::from_fn(n, d, |_, _| normal(rng));
    let y = (0..n).map(|_| 3.0 * normal(rng)).collect();
    (DenseGaussian::new(&mean, covariance.as_ref()).unwrap(), x, y)
}

fn max_difference(a: &DenseGaussian, b: &DenseGaussian) -> f64 {
    let mean = a.mean().iter().zip(b.mean()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    let covariance = a.covariance() - b.covariance();
    mean.max(covariance.norm_max())
}

#[test]
fn one_observation_by_hand() {
    // Prior N(1, 4), y = 2θ + N(0, 1): P⁻¹ = 1/4 + 4, μ = P(1/4 + 2·7), p(y) = N(7 | 2, 17).
    let prior = DenseGaussian::isotropic(&[1.0], 2.0).unwrap();
    let noise = GaussianLikelihood::new(1.0).unwrap();
    let fitted = fit(&prior, mat![[2.0]].as_ref(), &[7.0], noise).unwrap();
    let expected_evidence = -0.5 * (LN_2PI + f64::ln(17.0) + 25.0 / 17.0);
    assert!((fitted.belief.mean()[0] - 14.25 / 4.25).abs() < 8.0 * f64::EPSILON);
    assert!((fitted.belief.covariance()[(0, 0)] - 1.0 / 4.25).abs() < 8.0 * f64::EPSILON);
    assert!((fitted.log_evidence - expected_evidence).abs() < 8.0 * f64::EPSILON);
}

#[test]
fn equals_the_kalman_filter_and_its_predictive_densities() {
    let noise = GaussianLikelihood::new(0.3).unwrap();
    for (d, n) in [(1, 1), (1, 40), (5, 3), (5, 5), (20, 100), (40, 7), (17, 16)] {
        let (prior, x, y) = problem(d, n);
        let kalman: Kalman = Explicit(noise);
        let (mut belief, mut scores) = (prior.clone(), Vec::new());
        filter::run(&mut belief, &kalman, x.as_ref(), &y, |t, _, step| {
            scores.push(noise.log_predictive(y[t], step.projection.mean, step.projection.variance));
        })
        .unwrap();
        let fitted = fit(&prior, x.as_ref(), &y, noise).unwrap();
        // n steps, each rounding by ε times what it works on: prior variances up to 5, means up to ‖x‖‖y‖-ish,
        // and κ(P₀⁻¹ + XᵀX/σ²) up to about 3(n+d)/σ².
        let condition = 3.0 * (n + d) as f64 / 0.3;
        let tolerance = f64::EPSILON * condition * 10.0 * (n as f64).sqrt();
        assert!(max_difference(&fitted.belief, &belief) < tolerance, "d = {d}, n = {n}");
        let size = scores.iter().map(|score| score.abs()).sum::<f64>();
        assert!((fitted.log_evidence - scores.iter().sum::<f64>()).abs() < tolerance * size, "d = {d}, n = {n}");
    }
}

#[test]
fn both_spaces_agree() {
    for (d, n) in [(3, 2), (12, 12), (30, 8), (6, 25)] {
        let (prior, x, y) = problem(d, n);
        let model = Whitened::new(&prior, x.as_ref()).unwrap();
        let residuals: Vec<f64> = y.iter().zip(&model.offset).map(|(y, offset)| y - offset).collect();
        let by_parameter = in_parameter_space(&model, 0.3, &residuals).unwrap();
        let by_sample = in_sample_space(&prior, &model, 0.3, &residuals).unwrap();
        // κ of either matrix is at most 1 + ‖A‖²/σ², ‖A‖² about 5(√n+√d)².
        let tolerance = f64::EPSILON * 10.0 * 5.0 * ((n as f64).sqrt() + (d as f64).sqrt()).powi(2) / 0.3;
        assert!(max_difference(&by_parameter.belief, &by_sample.belief) < tolerance);
        let difference = by_parameter.log_evidence - by_sample.log_evidence;
        assert!(difference.abs() < tolerance * by_sample.log_evidence.abs(), "d = {d}, n = {n}");
    }
}

#[test]
fn golden_numbers() {
    // 40-digit arithmetic.
    let x = mat![[1.0, 0.5], [1.0, -1.25], [1.0, 2.0], [1.0, 0.25], [1.0, -0.75], [1.0, 3.0]];
    let y = [1.5, -2.0, 3.25, 0.5, -1.0, 5.0];
    let prior = DenseGaussian::new(&[0.5, -1.0], mat![[4.0, 1.0], [1.0, 2.25]].as_ref()).unwrap();
    let fitted = fit(&prior, x.as_ref(), &y, GaussianLikelihood::new(0.25).unwrap()).unwrap();
    // κ(B) is about 300.
    let tolerance = 300.0 * f64::EPSILON;
    let covariance = fitted.belief.covariance();
    for (found, expected) in [
        (fitted.belief.mean()[0], 0.23675000454129857),
        (fitted.belief.mean()[1], 1.5809774085533845),
        (covariance[(0, 0)], 0.04824675599905541),
        (covariance[(1, 0)], -0.011528843300979104),
        (covariance[(1, 1)], 0.01881914127071589),
        (fitted.log_evidence, -8.403657029667202),
    ] {
        assert!((found - expected).abs() < tolerance * expected.abs().max(1.0), "{found} {expected}");
    }
}

#[test]
fn bad_input_is_named() {
    let prior = DenseGaussian::isotropic(&[0.0, 0.0], 1.0).unwrap();
    let noise = GaussianLikelihood::new(1.0).unwrap();
    let empty = fit(&prior, Mat::zeros(0, 2).as_ref(), &[], noise).unwrap_err();
    assert_eq!(empty, ModelError::Core(Error::Empty { argument: "x" }));
    let columns = fit(&prior, Mat::zeros(3, 1).as_ref(), &[0.0; 3], noise).unwrap_err();
    assert_eq!(columns, Error::Dimension { argument: "columns of x", expected: 2, found: 1 }.into());
    let length = fit(&prior, Mat::zeros(3, 2).as_ref(), &[0.0; 2], noise).unwrap_err();
    assert_eq!(length, Error::Dimension { argument: "y", expected: 3, found: 2 }.into());
    let x = fit(&prior, mat![[0.0, 1.0], [0.0, f64::INFINITY]].as_ref(), &[0.0; 2], noise).unwrap_err();
    let source = Error::NonFinite { argument: "x", index: 1, value: f64::INFINITY };
    assert_eq!(x, source.at_row(1).into());
    let y = fit(&prior, Mat::zeros(2, 2).as_ref(), &[0.0, f64::NAN], noise).unwrap_err();
    assert!(matches!(y, ModelError::Core(Error::Row { row: 1, .. })));
}
