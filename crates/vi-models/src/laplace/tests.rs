use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_core::special::{sigmoid, sigmoid_derivative};
use vi_core::{BernoulliLogit, Error, GaussianLikelihood, Mixture8, Stop};
use vi_linalg::faer::{Mat, mat};

use super::*;
use crate::linear;

const LOGIT: BernoulliLogit<Mixture8> = BernoulliLogit(Mixture8);

fn isotropic(d: usize, sigma0: f64) -> DenseGaussian {
    DenseGaussian::isotropic(&vec![0.0; d], sigma0).unwrap()
}

/// Rows from N(0, I), labels of a logistic model (`scale` finite) or of a hyperplane.
fn classes(d: usize, n: usize, scale: f64) -> (Mat<f64>, Vec<f64>) {
    let rng = &mut ChaCha8Rng::seed_from_u64((d + n) as u64);
    let x = Mat::from_fn(n, d, |_, _| StandardNormal.sample(rng));
    let y = (0..n)
        .map(|i| {
            let noise: f64 = StandardNormal.sample(rng);
            f64::from(u8::from(x[(i, 0)] + x[(i, d - 1)] + scale * noise > 0.0))
        })
        .collect();
    (x, y)
}

fn assert_belief(belief: &DenseGaussian, mean: [f64; 2], covariance: [f64; 3], tolerance: f64) {
    for (found, expected) in belief.mean().iter().zip(mean) {
        assert!((found - expected).abs() < tolerance * expected.abs(), "{found} {expected}");
    }
    let found = belief.covariance();
    let size = covariance[0].max(covariance[2]);
    for (found, expected) in [found[(0, 0)], found[(1, 0)], found[(1, 1)]].iter().zip(covariance) {
        assert!((found - expected).abs() < tolerance * size, "{found} {expected}");
    }
}

#[test]
fn is_exact_for_a_gaussian_likelihood() {
    let noise = GaussianLikelihood::new(0.4).unwrap();
    for (d, n) in [(1, 1), (6, 30), (12, 5)] {
        let (x, y) = classes(d, n, 1.0);
        let exact = linear::fit(&isotropic(d, 2.0), x.as_ref(), &y, noise).unwrap();
        let laplace = fit(&isotropic(d, 2.0), x.as_ref(), &y, &noise, &LaplaceSettings::default()).unwrap();
        // One step, and one that only rounding asks for.
        assert_eq!(laplace.info.stop, Stop::Converged);
        assert!(laplace.info.iterations <= 2);
        // κ(B) ≤ 1 + σ₀²‖X‖²/σ².
        let tolerance = 10.0 * f64::EPSILON * (1.0 + 4.0 * ((n as f64).sqrt() + (d as f64).sqrt()).powi(2) / 0.4);
        let covariance = exact.belief.covariance() - laplace.belief.covariance();
        assert!(covariance.norm_max() < tolerance);
        assert!((exact.log_evidence - laplace.log_evidence).abs() < tolerance * exact.log_evidence.abs());
        for (exact, laplace) in exact.belief.mean().iter().zip(laplace.belief.mean()) {
            assert!((exact - laplace).abs() < tolerance);
        }
    }
}

#[test]
fn golden_numbers() {
    // 40-digit arithmetic, another parametrisation.
    let x = mat![[1.0, 0.5], [1.0, -1.25], [1.0, 2.0], [1.0, 0.25], [1.0, -0.75], [1.0, 3.0]];
    let prior = DenseGaussian::new(&[0.5, -1.0], mat![[4.0, 1.0], [1.0, 2.25]].as_ref()).unwrap();
    let settings = LaplaceSettings::default();
    let fitted = fit(&prior, x.as_ref(), &[1.0, 0.0, 1.0, 0.0, 1.0, 1.0], &LOGIT, &settings).unwrap();
    // The last step ends at rounding; κ(B) is below 10⁴ for either prior.
    let tolerance = 1e4 * f64::EPSILON;
    let covariance = [0.7106336941106297, -0.007674850476481953, 0.43219770326901984];
    assert_belief(&fitted.belief, [0.6050651245924765, 0.578890618543692], covariance, tolerance);
    assert!((fitted.log_evidence + 5.210682793486669).abs() < tolerance);

    let separable = fit(&isotropic(2, 100.0), x.as_ref(), &[1.0, 0.0, 1.0, 1.0, 0.0, 1.0], &LOGIT, &settings).unwrap();
    let covariance = [389.3295999242022, 225.4072197918042, 1244.7411579609184];
    assert_belief(&separable.belief, [3.2037658536481086, 13.21014330518478], covariance, tolerance);
    assert!((separable.log_evidence + 2.732177373555848).abs() < tolerance);
}

#[test]
fn the_mean_is_stationary_and_the_covariance_inverts_the_hessian() {
    let (x, y) = classes(5, 60, 1.5);
    let prior = isotropic(5, 3.0);
    let fitted = fit(&prior, x.as_ref(), &y, &LOGIT, &LaplaceSettings::default()).unwrap();
    let theta = fitted.belief.mean();
    let mut hessian = Mat::from_fn(5, 5, |i, j| if i == j { 1.0 / 9.0 } else { 0.0 });
    let mut gradient: Vec<f64> = theta.iter().map(|theta| -theta / 9.0).collect();
    for (i, &y) in y.iter().enumerate() {
        let t: f64 = (0..5).map(|j| x[(i, j)] * theta[j]).sum();
        for j in 0..5 {
            gradient[j] += (y - sigmoid(t)) * x[(i, j)];
            for k in 0..5 {
                hessian[(j, k)] += sigmoid_derivative(t) * x[(i, j)] * x[(i, k)];
            }
        }
    }
    let norm = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
    // 60 terms of size ‖x‖ ≈ √5, rounded, here and there.
    let rounding = 4.0 * f64::EPSILON * 60.0 * f64::sqrt(5.0);
    assert!(norm < rounding, "{norm}");
    assert!(fitted.info.gradient_norm < rounding);
    let product = &hessian * fitted.belief.covariance();
    let identity = Mat::<f64>::identity(5, 5);
    // κ(H) is below 1 + 9·‖X‖²/4, about 300.
    assert!((product - identity).norm_max() < 300.0 * 10.0 * f64::EPSILON);
}

#[test]
fn separable_classes_and_flat_priors_converge_to_rounding() {
    for (d, n, sigma0, scale) in
        [(100, 500, 100.0, 0.0), (100, 500, 100.0, 1.0), (30, 20, 1e4, 0.0), (2, 100, 1e6, 0.0)]
    {
        let (x, y) = classes(d, n, scale);
        let fitted = fit(&isotropic(d, sigma0), x.as_ref(), &y, &LOGIT, &LaplaceSettings::default()).unwrap();
        assert_eq!(fitted.info.stop, Stop::Converged, "d = {d}, n = {n}: {:?}", fitted.info);
        assert!(fitted.info.iterations < 60, "{:?}", fitted.info);
        // The gradient is a sum of n terms of size at most ‖x‖ ≈ √d.
        let rounding = 4.0 * f64::EPSILON * n as f64 * (d as f64).sqrt();
        assert!(fitted.info.gradient_norm < rounding, "{:?}", fitted.info);
    }
}

#[test]
fn a_mistaken_prior_mean_is_left_behind() {
    // Every label contradicts the prior mean by hundreds of its standard deviations of t.
    let (x, y) = classes(3, 200, 0.5);
    for size in [10.0, 1e3, 1e5] {
        let prior = DenseGaussian::isotropic(&[-size, 0.0, -size], 0.1 * size).unwrap();
        let fitted = fit(&prior, x.as_ref(), &y, &LOGIT, &LaplaceSettings::default()).unwrap();
        assert_eq!(fitted.info.stop, Stop::Converged, "{:?}", fitted.info);
    }
}

#[test]
fn swapping_the_classes_mirrors_the_mean() {
    let (x, y) = classes(4, 50, 1.0);
    let mirrored: Vec<f64> = y.iter().map(|y| 1.0 - y).collect();
    let settings = LaplaceSettings::default();
    let prior = |sign: f64| DenseGaussian::isotropic(&[0.5 * sign, -0.25 * sign, 0.0, sign], 2.0).unwrap();
    let one = fit(&prior(1.0), x.as_ref(), &y, &LOGIT, &settings).unwrap();
    let other = fit(&prior(-1.0), x.as_ref(), &mirrored, &LOGIT, &settings).unwrap();
    for (one, other) in one.belief.mean().iter().zip(other.belief.mean()) {
        assert_eq!(*one, -other);
    }
    assert_eq!(one.belief.covariance(), other.belief.covariance());
    assert_eq!(one.log_evidence, other.log_evidence);
    assert_eq!(one.info, other.info);
}

#[test]
fn not_converging_is_a_status() {
    let (x, y) = classes(5, 60, 1.0);
    let run = |settings: LaplaceSettings| fit(&isotropic(5, 10.0), x.as_ref(), &y, &LOGIT, &settings).unwrap().info;
    let one = run(LaplaceSettings { tolerance: 1e-10, max_iterations: 1 });
    assert_eq!((one.stop, one.iterations), (Stop::Iterations, 1));
    assert!(one.decrement > 1e-10);
    let impossible = run(LaplaceSettings { tolerance: 1e-300, max_iterations: 1000 });
    assert_eq!(impossible.stop, Stop::Improvement);
    assert!(impossible.decrement < 1e-12 && impossible.iterations < 30, "{impossible:?}");
}

#[test]
fn bad_input_is_named() {
    let prior = isotropic(2, 1.0);
    let run = |x: &Mat<f64>, y: &[f64]| fit(&prior, x.as_ref(), y, &LOGIT, &LaplaceSettings::default()).unwrap_err();
    assert_eq!(run(&Mat::zeros(0, 2), &[]), Error::Empty { argument: "x" }.into());
    let columns = Error::Dimension { argument: "columns of x", expected: 2, found: 3 };
    assert_eq!(run(&Mat::zeros(1, 3), &[0.0]), columns.into());
    assert_eq!(run(&Mat::zeros(2, 2), &[0.0]), Error::Dimension { argument: "y", expected: 2, found: 1 }.into());
    assert!(matches!(
        run(&mat![[0.0, 0.0], [f64::NAN, 0.0]], &[0.0, 0.0]),
        ModelError::Core(Error::Row { row: 1, .. })
    ));
    let label = Error::Label { label: 2.0, family: LOGIT.family() };
    assert_eq!(run(&Mat::zeros(2, 2), &[1.0, 2.0]), label.at_row(1).into());
    let overflow = run(&mat![[1e200, 0.0]], &[1.0]);
    assert!(matches!(overflow, ModelError::Core(_)), "{overflow}");
    assert!(matches!(
        LaplaceSettings { tolerance: f64::NAN, max_iterations: 1 }.check(),
        Err(ModelError::Core(Error::Setting { name: "tolerance", .. }))
    ));
    assert!(matches!(
        LaplaceSettings { tolerance: 1e-6, max_iterations: 0 }.check(),
        Err(ModelError::Core(Error::Setting { name: "max_iterations", .. }))
    ));
}
