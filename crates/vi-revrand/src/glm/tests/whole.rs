//! The gradient that a step follows, in the unconstrained vector.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use vi_linalg::faer::Mat;

use super::super::*;
use super::{difference, toy};
use crate::Bound;
use crate::basis::{Composed, FastFoodMixture, Kernel, LengthScale, Linear, OnPart, RandomFourier};
use crate::likelihood::Gaussian;

fn check_whole(basis: &Composed, likelihood: Gaussian, expectation: Expectation, x: &Mat<f64>, y: &[f64]) {
    let rng = &mut ChaCha8Rng::seed_from_u64(21);
    let settings = GlmSettings { components: 2, expectation, start_means: 1.0, ..GlmSettings::default() };
    let start = Glm::new(basis.clone(), likelihood, settings, rng).unwrap();
    let evaluate = |mut model: Glm<Composed, Gaussian>| {
        let mut scratch = GlmScratch::default();
        let rows = Rows::new(x.as_ref(), y);
        let value = model.step(rows, 60, &mut ChaCha8Rng::seed_from_u64(1), &mut scratch).unwrap().0;
        (value, scratch.gradient)
    };
    let (_, gradient) = evaluate(start.clone());
    for (i, gradient) in gradient.iter().enumerate() {
        // What is minimised is minus the objective.
        let moved = |to: f64| {
            let mut model = start.clone();
            model.free[i] = to;
            model.read();
            -evaluate(model).0
        };
        let (found, off) = difference(moved, start.free[i], 1e-3, *gradient);
        assert!((gradient - found).abs() <= off, "{expectation:?} [{i}]: {gradient} {found} ± {off}");
    }
}

#[test]
fn the_whole_gradient_is_the_difference_of_the_objective() {
    let rng = &mut ChaCha8Rng::seed_from_u64(8);
    let (x, y) = toy(rng, 6, 3);
    for scales in [LengthScale::PerInput(vec![0.7, 1.9, 1.1]), LengthScale::Shared(0.8)] {
        let basis = Linear::with_intercept(3).unwrap() + RandomFourier::new(Kernel::Rbf, 3, 4, scales, rng).unwrap();
        for expectation in [
            Expectation::SecondOrder,
            Expectation::Weights { draws: 3, kept: Kept::Fixed },
            Expectation::Predictors { draws: 3, kept: Kept::Fresh },
            Expectation::Quadrature { nodes: 7 },
        ] {
            check_whole(&basis, Gaussian::new(0.3).unwrap(), expectation, &x, &y);
        }
    }
}

/// Free parameters, and bounds of every kind on all three groups.
#[test]
fn the_whole_gradient_goes_through_every_bound() {
    let rng = &mut ChaCha8Rng::seed_from_u64(9);
    let (x, y) = toy(rng, 6, 2);
    let mixture = FastFoodMixture::new(&[0.4, -0.3], LengthScale::PerInput(vec![0.9, 1.6]), 4, rng).unwrap();
    let waves = RandomFourier::new(Kernel::Matern52, 2, 3, LengthScale::PerInput(vec![0.8, 1.2]), rng).unwrap();
    let bounds = [
        Bound::between(0.1, 3.0).unwrap(),
        Bound::positive_between(0.1, 3.0).unwrap(),
        Bound::positive_between(0.0, 3.0).unwrap(),
        Bound::between(0.1, f64::INFINITY).unwrap(),
    ];
    for bound in bounds {
        let waves = waves.clone().with_length_scale_bound(bound).unwrap();
        let waves = waves.with_variance(0.8).unwrap().with_variance_bound(bound).unwrap();
        let basis = Composed::from(mixture.clone()) + waves;
        let noise = Gaussian::bounded(0.4, bound).unwrap();
        check_whole(&basis, noise, Expectation::SecondOrder, &x, &y);
    }
}
