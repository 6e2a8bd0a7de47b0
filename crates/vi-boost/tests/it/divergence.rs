//! Estimates against quadrature and closed forms.

use vi_boost::{BoostError, Component, GaussianMixture, LogDensity, divergence};
use vi_core::divergence::gaussian_kl;
use vi_linalg::faer::Mat;

use crate::common::{logistic, on_a_grid, rng};

fn gaussian(mean: &[f64], a: f64, b: f64, c: f64) -> Component {
    let covariance = Mat::from_fn(2, 2, |i, j| {
        if i != j {
            b
        } else if i == 0 {
            a
        } else {
            c
        }
    });
    Component::full(mean, covariance.as_ref()).unwrap()
}

#[test]
fn between_gaussians_the_estimates_are_the_closed_form() {
    let (q, p) = (gaussian(&[0.0, 0.5], 1.0, 0.3, 0.8), gaussian(&[0.4, 0.0], 1.3, -0.2, 1.1));
    let exact = gaussian_kl(&q.to_belief().unwrap(), &p.to_belief().unwrap()).unwrap();
    let (q, p) = (GaussianMixture::single(q), GaussianMixture::single(p));
    // The loss is quadratic and the points' first two moments match: no error but rounding.
    let quasi = divergence::quasi(&q, &p, 256, 4, 3).unwrap();
    assert!((quasi.effective.value - exact).abs() < 1e-12, "{quasi:?}");
    assert!(quasi.log_evidence.value.abs() < 6.0 * quasi.log_evidence.standard_error + 1e-12);
    let random = divergence::random(&q, &p, 20_000, &mut rng(4)).unwrap();
    assert!((random.effective.value - exact).abs() < 6.0 * random.effective.standard_error);
    assert!((random.kl.value - exact).abs() < 6.0 * random.kl.standard_error);
    assert!(random.log_evidence.value.abs() < 6.0 * random.log_evidence.standard_error);
    let known = divergence::known_evidence(&q, &p, 0.0, 1024, 8, 5).unwrap();
    assert!((known.value - exact).abs() < 6.0 * known.standard_error, "{known:?} {exact}");
}

#[test]
fn quasi_random_errors_are_honest_and_small() {
    // Against the trapezoid rule, on a posterior that is no Gaussian.
    let target = logistic();
    let q = GaussianMixture::new(
        vec![gaussian(&[-0.5, 1.5], 0.5, 0.0, 1.0), gaussian(&[-1.0, 3.0], 1.0, 0.2, 2.0)],
        &[0.6, 0.4],
    )
    .unwrap();
    let (log_z, kl) = on_a_grid(|theta| target.log_density(theta), &q, 16.0);
    let quasi = divergence::quasi(&q, &target, 1024, 8, 1).unwrap();
    let random = divergence::random(&q, &target, 2 * 1024 * 8, &mut rng(2)).unwrap();
    for found in [&quasi, &random] {
        assert!((found.effective.value + log_z - kl).abs() < 6.0 * found.effective.standard_error, "{found:?} {kl}");
        assert!(
            (found.log_evidence.value - log_z).abs() < 6.0 * found.log_evidence.standard_error,
            "{found:?} {log_z}"
        );
    }
    assert!(quasi.effective.standard_error < 0.2 * random.effective.standard_error);
    assert!(quasi.effective_sample_size > 100.0 && quasi.effective_sample_size < quasi.points as f64);
    let known = divergence::known_evidence(&q, &target, log_z, 1024, 8, 1).unwrap();
    assert!((known.value - kl).abs() < 6.0 * known.standard_error);
}

#[test]
fn a_density_of_zero_is_an_infinite_divergence_and_nan_a_fault() {
    struct Half(f64);
    impl LogDensity for Half {
        fn dim(&self) -> usize {
            1
        }
        fn log_density(&self, theta: &[f64]) -> f64 {
            if theta[0] < 0.0 { self.0 } else { -theta[0] }
        }
    }
    let q = GaussianMixture::single(Component::isotropic(&[0.0], 1.0).unwrap());
    match divergence::quasi(&q, &Half(f64::NEG_INFINITY), 256, 2, 1) {
        Err(BoostError::Unsupported { share }) => assert!((share - 0.5).abs() < 1e-12),
        other => panic!("{other:?}"),
    }
    for value in [f64::NAN, f64::INFINITY] {
        let error = divergence::random(&q, &Half(value), 100, &mut rng(1)).unwrap_err();
        assert!(matches!(&error, BoostError::TargetValue { point, .. } if point[0] < 0.0), "{error}");
    }
    assert!(divergence::random(&q, &Half(0.0), 1, &mut rng(1)).is_err());
    assert!(divergence::quasi(&q, &Half(0.0), 256, 1, 1).is_err());
    assert!(divergence::known_evidence(&q, &Half(0.0), f64::NAN, 256, 2, 1).is_err());
}
