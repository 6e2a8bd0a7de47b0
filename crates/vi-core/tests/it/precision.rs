//! Dense beliefs made of a precision, and square roots made of a diagonal covariance.

use vi_core::{Belief, DenseGaussian, Error, GaussianBelief, SquareRootGaussian, filter};
use vi_linalg::faer::{Mat, mat};
use vi_linalg::{Cholesky, LinalgError};

use crate::common::{condition, prior, rng};

#[test]
fn a_belief_of_a_precision_is_that_of_its_inverse() {
    for d in [1, 2, 7, 70] {
        let start = prior(d, 3.0, &mut rng(d as u64));
        let factor = Cholesky::new(start.covariance().as_ref()).unwrap();
        // Λ is the inverse of the covariance, so Λ⁻¹ is the covariance again.
        let precision = Cholesky::new(factor.inverse().as_ref()).unwrap();
        let belief = DenseGaussian::from_precision_factor(start.mean(), &precision).unwrap();
        assert_eq!(belief.mean(), start.mean());
        let covariance = start.covariance();
        // Two inversions, each off by some d·ε·κ of the largest entry.
        let tolerance = 4.0 * d as f64 * f64::EPSILON * condition(&start) * covariance.norm_max();
        assert!((&belief.covariance() - &covariance).norm_max() <= tolerance, "d = {d}");
        // It learns like the other.
        let rule = vi_core::Explicit(vi_core::GaussianLikelihood::new(1.0).unwrap());
        let (mut one, mut other, mut scratch) = (belief, start, filter::Scratch::default());
        let x = vec![0.5; d];
        filter::step(&mut one, &rule, &x, 1.0, &mut scratch).unwrap();
        filter::step(&mut other, &rule, &x, 1.0, &mut scratch).unwrap();
        assert!((&one.covariance() - &other.covariance()).norm_max() <= 2.0 * tolerance, "d = {d}");
    }
}

#[test]
fn a_precision_of_other_shape_or_size_is_refused() -> Result<(), LinalgError> {
    let unit = Cholesky::new(mat![[1.0]].as_ref())?;
    let of = DenseGaussian::from_precision_factor;
    assert!(matches!(of(&[], &unit), Err(Error::Empty { argument: "mean" })));
    assert!(matches!(of(&[0.0, 0.0], &unit), Err(Error::Dimension { .. })));
    assert!(matches!(of(&[f64::NAN], &unit), Err(Error::NonFinite { argument: "mean", index: 0, .. })));
    let vague = Cholesky::from_factor(mat![[1e-160]])?;
    assert!(matches!(of(&[0.0], &vague), Err(Error::Overflow { quantity: "variance", .. })));
    Ok(())
}

#[test]
fn a_diagonal_covariance_has_the_root_that_rotations_would_find() {
    let variances = [4.0, 0.25, 1e-300, 1e300, 9.0];
    let of = |below: f64| {
        Mat::from_fn(5, 5, |i, j| {
            if i == j {
                variances[i]
            } else if i == 4 || j == 4 {
                below
            } else {
                0.0
            }
        })
    };
    let diagonal = SquareRootGaussian::new(&[0.0; 5], of(0.0).as_ref()).unwrap();
    for (j, variance) in variances.iter().enumerate() {
        assert_eq!(diagonal.root()[(j, j)], 1.0 / variance.sqrt(), "{j}");
    }
    // Coupled by less than rounding sees, it goes the other way.
    let coupled = SquareRootGaussian::new(&[0.0; 5], of(1e-320).as_ref()).unwrap();
    for j in 0..5 {
        // A square root, a division and a product of roundings.
        let (one, other) = (diagonal.root()[(j, j)], coupled.root()[(j, j)]);
        assert!((one - other).abs() <= 4.0 * f64::EPSILON * one, "{j}");
    }
    let log_det: f64 = variances.iter().map(|variance| variance.ln()).sum();
    assert!((diagonal.log_det().unwrap() - log_det).abs() <= 1e3 * f64::EPSILON);
    // The pivot counts from the last row.
    let none = SquareRootGaussian::new(&[0.0; 2], mat![[1.0, 0.0], [0.0, 0.0]].as_ref());
    assert!(matches!(none, Err(Error::NotPositiveDefinite { argument: "covariance", pivot: 0 })), "{none:?}");
}
