//! The ready-made targets and derivatives by differences.

use vi_boost::LogDensity;
use vi_boost::target::{Banana, Cauchy, Funnel, GlmTarget, difference};
use vi_core::{BernoulliLogit, DenseGaussian, GaussianLikelihood, GlmPosterior, Mixture8};
use vi_linalg::faer::{Mat, MatMut, MatRef};

use crate::common::{logistic, mixture};

/// A target of which only values are known.
struct Blind<'a>(&'a dyn LogDensity);

impl LogDensity for Blind<'_> {
    fn dim(&self) -> usize {
        self.0.dim()
    }

    fn log_density(&self, theta: &[f64]) -> f64 {
        self.0.log_density(theta)
    }
}

/// The same with its gradient, but no Hessian.
struct OneEyed<'a>(&'a dyn LogDensity);

impl LogDensity for OneEyed<'_> {
    fn dim(&self) -> usize {
        self.0.dim()
    }

    fn log_density(&self, theta: &[f64]) -> f64 {
        self.0.log_density(theta)
    }

    fn gradient(&self, theta: &[f64], out: &mut [f64]) -> bool {
        self.0.gradient(theta, out)
    }
}

fn check(target: &dyn LogDensity, theta: &[f64]) {
    let d = theta.len();
    let scale = vec![1.0; d];
    let (mut exact, mut found) = (vec![0.0; d], vec![0.0; d]);
    assert!(target.gradient(theta, &mut exact));
    difference::gradient(&Blind(target), theta, &scale, &mut found).unwrap();
    for j in 0..d {
        // ε^⅔ for a function, its third derivatives included, of order one; ours reach a hundred.
        assert!((exact[j] - found[j]).abs() < 1e-8 * exact[j].abs().max(1.0), "{j}: {} {}", exact[j], found[j]);
    }
    let mut hessian = Mat::zeros(d, d);
    assert!(target.hessian(theta, hessian.as_mut()));
    let mut by_gradient = Mat::zeros(d, d);
    difference::hessian(&OneEyed(target), theta, &scale, by_gradient.as_mut()).unwrap();
    let mut by_value = Mat::zeros(d, d);
    difference::hessian(&Blind(target), theta, &scale, by_value.as_mut()).unwrap();
    let size = hessian.norm_max().max(1.0);
    for i in 0..d {
        for j in 0..d {
            assert!((hessian[(i, j)] - by_gradient[(i, j)]).abs() < 1e-8 * size);
            // Second differences of values: √ε.
            assert!((hessian[(i, j)] - by_value[(i, j)]).abs() < 1e-5 * size);
        }
    }
    // Many points at once are the same as one by one.
    let points = Mat::from_fn(5, d, |i, j| theta[j] + 0.1 * i as f64);
    let (mut values, mut gradients) = (vec![0.0; 5], Mat::zeros(5, d));
    assert!(target.log_densities_and_gradients(points.as_ref(), &mut values, gradients.as_mut()));
    for i in 0..5 {
        let point: Vec<f64> = (0..d).map(|j| points[(i, j)]).collect();
        target.gradient(&point, &mut exact);
        let value = target.log_density(&point);
        // The same terms in another order.
        assert!((values[i] - value).abs() <= 1e-13 * value.abs().max(1.0));
        for j in 0..d {
            assert!((gradients[(i, j)] - exact[j]).abs() <= 1e-13 * exact[j].abs().max(10.0));
        }
    }
}

#[test]
fn derivatives_are_derivatives() {
    check(&Cauchy::new(0.5, 2.0).unwrap(), &[1.7]);
    check(&Banana::new(2.0, 0.3).unwrap(), &[1.2, -0.7]);
    check(&Funnel::new(4, 1.5).unwrap(), &[-0.4, 0.3, -0.2, 0.9]);
    check(&mixture(), &[0.2, -0.6, 1.1]);
    check(&logistic(), &[0.3, -0.8]);
}

#[test]
fn lengths_of_differences_are_checked() {
    let target = Banana::new(2.0, 0.3).unwrap();
    let (mut out, mut hessian) = ([0.0; 2], Mat::zeros(2, 2));
    assert!(difference::gradient(&target, &[1.0], &[1.0; 2], &mut out).is_err());
    assert!(difference::gradient(&target, &[1.0; 2], &[1.0], &mut out).is_err());
    assert!(difference::gradient(&target, &[1.0; 2], &[1.0, 0.0], &mut out).is_err());
    assert!(difference::gradient(&target, &[1.0; 2], &[1.0; 2], &mut out[..1]).is_err());
    assert!(difference::hessian(&target, &[1.0; 2], &[1.0], hessian.as_mut()).is_err());
    assert!(difference::hessian(&target, &[1.0; 2], &[1.0; 2], Mat::zeros(1, 2).as_mut()).is_err());
    assert!(difference::hessian(&target, &[1.0; 2], &[1.0; 2], hessian.as_mut()).is_ok());
}

#[test]
fn normalisers_are_integrals() {
    // Trapezoid rule: exact to rounding for the Gaussian-tailed ones on a box that holds them.
    let integral = |target: &dyn LogDensity, box_x: (f64, f64), box_y: (f64, f64)| {
        let n = 600;
        let (h, k) = ((box_x.1 - box_x.0) / f64::from(n), (box_y.1 - box_y.0) / f64::from(n));
        let mut sum = 0.0;
        for i in 0..=n {
            for j in 0..=n {
                sum += target.log_density(&[box_x.0 + h * f64::from(i), box_y.0 + k * f64::from(j)]).exp();
            }
        }
        sum * h * k
    };
    assert!((integral(&Banana::new(1.5, 0.4).unwrap(), (-12.0, 12.0), (-12.0, 60.0)) - 1.0).abs() < 1e-6);
    assert!((integral(&Funnel::new(2, 1.0).unwrap(), (-6.5, 6.5), (-130.0, 130.0)) - 1.0).abs() < 1e-3);
}

#[test]
fn a_posterior_is_that_of_the_core() {
    let x = Mat::from_fn(7, 2, |i, j| if j == 0 { 1.0 } else { (i as f64).cos() });
    let y = [1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0];
    let covariance = Mat::from_fn(2, 2, |i, j| if i == j { 2.0 } else { 0.5 });
    let prior = DenseGaussian::new(&[0.3, -0.2], covariance.as_ref()).unwrap();
    let ours = GlmTarget::new(&prior, x.as_ref(), &y, BernoulliLogit(Mixture8)).unwrap();
    let theirs = GlmPosterior::new(&prior, x.as_ref(), &y, BernoulliLogit(Mixture8)).unwrap();
    for theta in [[0.0, 0.0], [1.5, -2.5]] {
        let (a, b) = (ours.log_density(&theta), theirs.log_joint(&theta).unwrap());
        // Two ways to the prior's quadratic form.
        assert!((a - b).abs() < 1e-14 * b.abs() * 4.0);
    }
    let linear = GlmTarget::new(&prior, x.as_ref(), &y, GaussianLikelihood::new(0.5).unwrap()).unwrap();
    check(&linear, &[0.4, 0.1]);
}

#[test]
fn bad_rows_are_named() {
    let prior = DenseGaussian::isotropic(&[0.0, 0.0], 1.0).unwrap();
    let x = MatRef::from_row_major_slice(&[1.0, 2.0, f64::NAN, 1.0], 2, 2);
    let make =
        |x, y: &[f64]| GlmTarget::new(&prior, x, y, BernoulliLogit(Mixture8)).map(|_| ()).unwrap_err().to_string();
    assert_eq!(make(x, &[0.0, 1.0]), "observation 1: x[0] is not finite: NaN");
    assert!(make(x, &[0.5, 1.0]).starts_with("observation 0: label 0.5"));
    assert!(make(x, &[]).contains("empty"));
    assert!(make(x, &[0.0]).contains("length"));
    assert!(Cauchy::new(0.0, 0.0).is_err() && Cauchy::new(f64::NAN, 1.0).is_err());
    assert!(Banana::new(-1.0, 0.0).is_err() && Funnel::new(1, 1.0).is_err() && Funnel::new(2, 0.0).is_err());
}

#[test]
fn a_target_may_be_borrowed_or_boxed() {
    let cauchy = Cauchy::new(0.0, 1.0).unwrap();
    let boxed: Box<dyn LogDensity> = Box::new(cauchy);
    let mut out = [0.0];
    assert!((*boxed).gradient(&[1.0], &mut out) && out[0] == -1.0);
    assert!((&&cauchy).hessian(&[0.0], MatMut::from_row_major_slice_mut(&mut out, 1, 1)) && out[0] == -2.0);
}
