//! The mixture against dense twins.

use vi_boost::{BoostError, Component, GaussianMixture, LogDensity};
use vi_core::Error;
use vi_linalg::faer::{Mat, MatRef};

use crate::common::{kinds, mixture, rng};

/// `log N(θ | μ, Σ)` as it is written down.
fn plain_log_density(component: &Component, theta: &[f64]) -> f64 {
    let d = theta.len();
    let away = Mat::from_fn(d, 1, |i, _| theta[i] - component.mean()[i]);
    let sigma = component.covariance();
    let inverse = vi_linalg::Cholesky::new(sigma.as_ref()).unwrap().inverse();
    let square = (away.transpose() * &inverse * &away)[(0, 0)];
    -0.5 * (square + sigma.determinant().ln() + d as f64 * (2.0 * std::f64::consts::PI).ln())
}

#[test]
fn densities_are_those_of_the_covariances() {
    let q = mixture();
    for theta in [[0.0, 0.0, 0.0], [1.0, -2.0, 3.0], [30.0, -20.0, 10.0]] {
        let mut sum = 0.0;
        for (component, weight) in q.components().iter().zip(q.weights()) {
            let single = GaussianMixture::single(component.clone()).log_density(&theta).unwrap();
            let plain = plain_log_density(component, &theta);
            // Condition numbers of order ten, and squares of order 1e3.
            assert!((single - plain).abs() <= 1e-13 * plain.abs().max(1.0), "{single} {plain}");
            assert_eq!(single, GaussianMixture::single(component.clone()).log_density(&theta).unwrap());
            sum += weight * plain.exp();
        }
        let together = q.log_density(&theta).unwrap();
        if sum > 0.0 {
            assert!((together - sum.ln()).abs() <= 1e-12 * together.abs().max(1.0), "{together}");
        }
        assert!(together.is_finite());
    }
}

#[test]
fn far_tails_do_not_underflow() {
    let q = mixture();
    let far = q.log_density(&[1e6, 0.0, 0.0]).unwrap();
    assert!(far < -1e10 && far.is_finite());
}

#[test]
fn gradients_and_hessians_are_derivatives() {
    let q = mixture();
    let theta = [0.4, -0.3, 0.8];
    let (mut gradient, h) = ([0.0; 3], f64::EPSILON.cbrt());
    assert!(LogDensity::gradient(&q, &theta, &mut gradient));
    let hessian = q.hessian(&theta).unwrap();
    for j in 0..3 {
        let (mut up, mut down) = (theta, theta);
        up[j] += h;
        down[j] -= h;
        let first = (q.log_density(&up).unwrap() - q.log_density(&down).unwrap()) / (up[j] - down[j]);
        // Truncation and rounding of a central difference, both of order ε^⅔.
        assert!((gradient[j] - first).abs() < 100.0 * h * h);
        let (mut above, mut below) = ([0.0; 3], [0.0; 3]);
        LogDensity::gradient(&q, &up, &mut above);
        LogDensity::gradient(&q, &down, &mut below);
        for i in 0..3 {
            let second = (above[i] - below[i]) / (up[j] - down[j]);
            assert!((hessian[(i, j)] - second).abs() < 100.0 * h * h);
        }
    }
}

#[test]
fn many_points_are_evaluated_as_one_by_one() {
    // 600 points: three blocks, the last one short.
    let q = mixture();
    let points = q.draw(600, &mut rng(1));
    let (mut values, mut gradients) = (vec![0.0; 600], Mat::zeros(600, 3));
    q.log_densities_and_gradients(points.as_ref(), &mut values, gradients.as_mut()).unwrap();
    for i in (0..600).step_by(37) {
        let theta: Vec<f64> = (0..3).map(|j| points[(i, j)]).collect();
        let mut gradient = [0.0; 3];
        LogDensity::gradient(&q, &theta, &mut gradient);
        // The same sums; vector instructions may order them otherwise.
        let tolerance = 64.0 * f64::EPSILON;
        let value = q.log_density(&theta).unwrap();
        assert!((values[i] - value).abs() <= tolerance * value.abs().max(1.0));
        for j in 0..3 {
            assert!((gradients[(i, j)] - gradient[j]).abs() <= tolerance * gradient[j].abs().max(10.0));
        }
    }
}

#[test]
fn moments_are_those_of_the_draws() {
    let (q, n) = (mixture(), 40_000);
    let draws = q.draw(n, &mut rng(2));
    let (mean, covariance) = (q.mean(), q.covariance().unwrap());
    for j in 0..3 {
        let average = (0..n).map(|i| draws[(i, j)]).sum::<f64>() / n as f64;
        // 6σ/√N.
        assert!((average - mean[j]).abs() < 6.0 * (covariance[(j, j)] / n as f64).sqrt());
        for k in 0..=j {
            let product = |i: usize| (draws[(i, j)] - mean[j]) * (draws[(i, k)] - mean[k]);
            let average = (0..n).map(product).sum::<f64>() / n as f64;
            let size = (covariance[(j, j)] * covariance[(k, k)]).sqrt();
            // A product of two of these has a standard deviation of at most twice its size.
            assert!((average - covariance[(j, k)]).abs() < 6.0 * 2.0 * size / (n as f64).sqrt());
        }
    }
}

#[test]
fn a_joint_density_is_marginal_times_conditional() {
    let q = mixture();
    for known in [vec![1], vec![2, 0]] {
        let left: Vec<usize> = (0..3).filter(|j| !known.contains(j)).collect();
        let theta = [0.7, -0.4, 1.3];
        let pick = |of: &[usize]| of.iter().map(|&j| theta[j]).collect::<Vec<_>>();
        let marginal = q.marginal(&known).unwrap().log_density(&pick(&known)).unwrap();
        let conditional = q.conditional(&known, &pick(&known)).unwrap();
        assert_eq!(conditional.dim(), left.len());
        let rest = conditional.log_density(&pick(&left)).unwrap();
        let joint = q.log_density(&theta).unwrap();
        // A handful of factorisations of condition ten.
        assert!((marginal + rest - joint).abs() < 1e-13 * joint.abs().max(1.0), "{known:?}");
        // Kinds are kept.
        for (before, after) in q.components().iter().zip(conditional.components()) {
            assert_eq!(before.family(), after.family());
        }
    }
}

#[test]
fn a_marginal_has_the_moments_of_its_coordinates() {
    let q = mixture();
    let marginal = q.marginal(&[2, 0]).unwrap();
    let (mean, covariance) = (q.mean(), q.covariance().unwrap());
    let found = marginal.covariance().unwrap();
    for (a, &i) in [2, 0].iter().enumerate() {
        assert!((marginal.mean()[a] - mean[i]).abs() < 1e-15);
        for (b, &j) in [2, 0].iter().enumerate() {
            // Squares and a factorisation of numbers of order one.
            assert!((found[(a, b)] - covariance[(i, j)]).abs() < 1e-14);
        }
    }
}

#[test]
fn beliefs_become_components_and_back() {
    let belief = vi_core::DenseGaussian::isotropic(&[1.0, 2.0], 3.0).unwrap();
    let component = Component::of_belief(&belief).unwrap();
    assert_eq!(component.mean(), [1.0, 2.0]);
    let back = component.to_belief().unwrap();
    assert!((back.covariance()[(0, 0)] - 9.0).abs() < 1e-14);
    assert!((component.log_det() - 4.0 * 3.0_f64.ln()).abs() < 1e-14);
}

#[test]
fn bad_arguments_are_named() {
    let message = |error: BoostError| error.to_string();
    assert!(matches!(Component::full(&[], Mat::zeros(0, 0).as_ref()), Err(BoostError::Core(Error::Empty { .. }))));
    assert_eq!(
        message(Component::diagonal(&[0.0], &[0.0]).unwrap_err()),
        "variances[0] = 0 must be positive and finite"
    );
    assert!(message(Component::full(&[0.0, f64::NAN], Mat::zeros(2, 2).as_ref()).unwrap_err()).starts_with("mean[1]"));
    assert!(Component::full(&[0.0, 0.0], Mat::zeros(2, 2).as_ref()).is_err());
    assert!(Component::low_rank(&[0.0], &[1.0], Mat::zeros(1, 0).as_ref()).is_err());
    // A capacitance of 32 TB.
    assert!(Component::low_rank(&[0.0], &[1.0], Mat::zeros(1, 2_000_000).as_ref()).is_err());
    let kinds = kinds();
    let odd = vec![kinds[0].clone(), Component::diagonal(&[0.0], &[1.0]).unwrap()];
    assert!(matches!(GaussianMixture::new(odd, &[0.5, 0.5]), Err(BoostError::Core(Error::Dimension { .. }))));
    assert_eq!(
        message(GaussianMixture::new(kinds.clone(), &[0.5, 0.6, -0.1]).unwrap_err()),
        "weights[2] = -0.1 must be at least 0"
    );
    assert!(message(GaussianMixture::new(kinds, &[0.5, 0.2, 0.2]).unwrap_err()).starts_with("sum of the weights"));
    let q = mixture();
    assert!(matches!(q.marginal(&[3]), Err(BoostError::Core(Error::Index { index: 3, .. }))));
    assert!(q.marginal(&[1, 1]).is_err() && q.marginal(&[]).is_err());
    assert!(q.conditional(&[0, 1, 2], &[0.0; 3]).is_err());
    assert!(matches!(q.conditional(&[0], &[1e200]), Err(BoostError::Core(Error::Overflow { .. }))));
    assert!(q.log_density(&[0.0]).is_err());
    let points = MatRef::from_row_major_slice(&[0.0, f64::INFINITY, 0.0], 1, 3);
    assert!(q.log_densities(points, &mut [0.0]).is_err());
}

#[test]
fn a_covariance_beyond_the_floats_is_an_error() {
    let far = |at: f64| Component::diagonal(&[at, 0.0], &[1.0, 1.0]).unwrap();
    let q = GaussianMixture::new(vec![far(1e200), far(-1e200)], &[0.5, 0.5]).unwrap();
    let error = q.covariance().unwrap_err();
    assert!(matches!(error, BoostError::Core(Error::Overflow { .. })), "{error}");
    assert_eq!(q.mean(), [0.0, 0.0]);
}
