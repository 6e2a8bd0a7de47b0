mod input;
mod training;
mod whole;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use vi_linalg::faer::{Mat, mat};

use super::*;
use crate::basis::{Kernel, LengthScale, RandomFourier};
use crate::likelihood::{Bernoulli, Binomial, Gaussian, GlmLikelihood, Poisson, Rate};

/// What every entry of every gradient is asked for, relative to itself.
const DIFFERENCE: f64 = 1e-6;

/// The derivative of `value` at `at` by a difference of fourth order with step `h`, and what it may be off by for a function that is
/// `gradient` steep: `h⁴` of the fifth derivative is far below [`DIFFERENCE`], `ε/h` of the value is its rounding.
fn difference(value: impl Fn(f64) -> f64, at: f64, h: f64, gradient: f64) -> (f64, f64) {
    let [a, b, c, d] = [-2.0, -1.0, 1.0, 2.0].map(|step| value(at + step * h));
    let size = [a, b, c, d].iter().fold(1.0_f64, |size, v| size.max(v.abs()));
    ((a - d + 8.0 * (c - b)) / (12.0 * h), DIFFERENCE * gradient.abs() + 16.0 * f64::EPSILON * size / h)
}

fn normals(rng: &mut ChaCha8Rng, n: usize) -> Vec<f64> {
    (0..n).map(|_| rng.sample(StandardNormal)).collect()
}

/// A generic point: `D = 5` weights in parts of 2 and 3, `M = 7` rows, unequal scales everywhere.
struct Point {
    means: Vec<f64>,
    variances: Vec<f64>,
    regularisers: Vec<f64>,
    phi: Vec<f64>,
    components: usize,
}

const D: usize = 5;
const ROWS: usize = 7;

impl Point {
    fn new(components: usize, rng: &mut ChaCha8Rng) -> Self {
        let spread = |rng: &mut ChaCha8Rng, n| normals(rng, n).into_iter().map(|z| 0.4 * z).collect::<Vec<f64>>();
        Self {
            means: spread(rng, D * components),
            variances: (0..D * components).map(|_| 0.02 + 0.6 * rng.random::<f64>()).collect(),
            regularisers: vec![0.7, 2.3],
            phi: normals(rng, ROWS * D),
            components,
        }
    }

    fn mixture(&self) -> Mixture {
        Mixture::from_parts(self.components, self.means.clone(), self.variances.clone())
    }

    fn evaluate<L: GlmLikelihood>(&self, likelihood: &L, expectation: Expectation, draws: &[f64]) -> (Terms, Gradient) {
        let trials: Vec<f64> = (0..ROWS).map(|n| 2.0 + n as f64).collect();
        let labels = [1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0];
        let phi = Mat::from_fn(ROWS, D, |i, j| self.phi[i * D + j]);
        let batch = Featured {
            features: phi.as_ref(),
            y: &labels,
            trials: Some(trials.as_slice()).filter(|_| likelihood.counts_trials()),
            magnification: 3.5,
        };
        let prior = Prior { variances: &self.regularisers, parts: &[0..2, 2..5] };
        objective(&self.mixture(), prior, likelihood, batch, expectation, draws).unwrap()
    }
}

/// Differences of `value` in every entry of what `entries` selects, against `gradient`.
fn check_differences(
    what: &str,
    point: &mut Point,
    entries: impl Fn(&mut Point) -> &mut [f64],
    gradient: &[f64],
    value: impl Fn(&Point) -> f64,
) {
    assert_eq!(entries(point).len(), gradient.len());
    for (i, gradient) in gradient.iter().enumerate() {
        let start = entries(point)[i];
        let at = std::cell::RefCell::new(&mut *point);
        let moved = |to: f64| {
            entries(&mut at.borrow_mut())[i] = to;
            value(&at.borrow())
        };
        // A twentieth of the smallest variance of a point.
        let (found, off) = difference(moved, start, 1e-3 * start.abs().max(0.1), *gradient);
        entries(point)[i] = start;
        assert!((gradient - found).abs() <= off, "{what}[{i}]: {gradient} {found} ± {off}");
    }
}

fn check_all_gradients<L: GlmLikelihood>(likelihood: &L, with_parameter: impl Fn(f64) -> L) {
    let rng = &mut ChaCha8Rng::seed_from_u64(11);
    let expectations = [
        Expectation::SecondOrder,
        Expectation::Quadrature { nodes: 9 },
        Expectation::Predictors { draws: 6, kept: Kept::Fresh },
        Expectation::Predictors { draws: 6, kept: Kept::Fixed },
        Expectation::Weights { draws: 4, kept: Kept::Fixed },
    ];
    for expectation in expectations {
        for components in 1..=3 {
            let mut point = Point::new(components, rng);
            let draws = normals(rng, components * expectation.normals(ROWS, D));
            let (_, gradient) = point.evaluate(likelihood, expectation, &draws);
            let columns =
                |a: &Mat<f64>| a.col_iter().flat_map(|c| c.iter().copied().collect::<Vec<_>>()).collect::<Vec<f64>>();
            let what = format!("{} {expectation:?} K = {components}", likelihood.family());
            let value = |point: &Point| point.evaluate(likelihood, expectation, &draws).0.value();
            check_differences(&format!("{what} means"), &mut point, |p| &mut p.means, &columns(&gradient.means), value);
            check_differences(
                &format!("{what} variances"),
                &mut point,
                |p| &mut p.variances,
                &columns(&gradient.variances),
                value,
            );
            check_differences(
                &format!("{what} prior"),
                &mut point,
                |p| &mut p.regularisers,
                &gradient.regularisers,
                value,
            );
            let by_phi = columns(&gradient.features.transpose().to_owned());
            check_differences(&format!("{what} features"), &mut point, |p| &mut p.phi, &by_phi, value);
            if let [parameter] = likelihood.parameters().as_slice() {
                let at = |value| point.evaluate(&with_parameter(value), expectation, &draws).0.value();
                let (found, off) = difference(at, parameter.start, 1e-3 * parameter.start, gradient.likelihood[0]);
                assert!((gradient.likelihood[0] - found).abs() <= off, "{what}: γ");
            }
        }
    }
}

#[test]
fn gradients_are_differences_gaussian() {
    check_all_gradients(&Gaussian::new(0.3).unwrap(), |variance| Gaussian::new(variance).unwrap());
}

#[test]
fn gradients_are_differences_bernoulli_and_binomial() {
    check_all_gradients(&Bernoulli, |_| Bernoulli);
    check_all_gradients(&Binomial, |_| Binomial);
}

#[test]
fn gradients_are_differences_poisson() {
    for rate in [Rate::Exponential, Rate::Softplus] {
        check_all_gradients(&Poisson(rate), |_| Poisson(rate));
    }
}

#[test]
fn equal_components_are_one_component() {
    let rng = &mut ChaCha8Rng::seed_from_u64(2);
    let one = Point::new(1, rng);
    for k in [2, 3, 7] {
        let many = Point {
            means: one.means.repeat(k),
            variances: one.variances.repeat(k),
            components: k,
            phi: one.phi.clone(),
            regularisers: one.regularisers.clone(),
        };
        for expectation in [Expectation::SecondOrder, Expectation::Quadrature { nodes: 12 }] {
            let (single, single_gradient) = one.evaluate(&Bernoulli, expectation, &[]);
            let (terms, gradient) = many.evaluate(&Bernoulli, expectation, &[]);
            // Sums of k equal terms.
            assert!((terms.value() - single.value()).abs() < 1e-13 * single.value().abs());
            for i in 0..D {
                for j in 0..k {
                    let share = single_gradient.means[(i, 0)] / k as f64;
                    assert!((gradient.means[(i, j)] - share).abs() < 1e-12);
                }
            }
        }
    }
}

#[test]
fn the_entropy_bound_is_below_the_entropy_by_the_offset_for_far_components() {
    let d = 3;
    let variances = mat![[0.5, 0.2], [1.5, 0.9], [0.1, 3.0]];
    let apart = Mixture::new(mat![[-50.0, 60.0], [0.0, 9.0], [0.0, 1.0]].as_ref(), variances.as_ref()).unwrap();
    // Of disjoint components: the mean of their entropies, and log K.
    let log_volume = |k: usize| variances.col(k).iter().map(|c| c.ln()).sum::<f64>();
    let entropy = 2.0_f64.ln()
        + 0.5 * f64::from(d) * (1.0 + (2.0 * std::f64::consts::PI).ln())
        + 0.25 * (log_volume(0) + log_volume(1));
    assert!((apart.entropy_bound() + apart.entropy_offset() - entropy).abs() < 1e-13);
    // In between the bound stays a bound: an estimate of the entropy by draws is above it.
    let near = Mixture::new(mat![[-0.5, 0.6], [0.0, 0.9], [0.0, 0.1]].as_ref(), variances.as_ref()).unwrap();
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    let estimate = (0..2000).map(|_| -near.log_density(&near.draw(rng)).unwrap()).sum::<f64>() / 2000.0;
    assert!(estimate > near.entropy_bound() + 0.3);
}

#[test]
fn batches_average_to_the_whole() {
    let rng = &mut ChaCha8Rng::seed_from_u64(4);
    let point = Point::new(2, rng);
    let (q, phi) = (point.mixture(), Mat::from_fn(ROWS, D, |i, j| point.phi[i * D + j]));
    let y: Vec<f64> = normals(rng, ROWS);
    let noise = Gaussian::new(0.4).unwrap();
    let prior = Prior { variances: &point.regularisers, parts: &[0..2, 2..5] };
    let of = |first: usize, rows: usize| {
        let batch = Featured {
            features: phi.as_ref().subrows(first, rows),
            y: &y[first..first + rows],
            trials: None,
            magnification: ROWS as f64 / rows as f64,
        };
        objective(&q, prior, &noise, batch, Expectation::SecondOrder, &[]).unwrap()
    };
    let (whole, gradient) = of(0, ROWS);
    let parts: Vec<(Terms, Gradient)> = (0..ROWS).map(|n| of(n, 1)).collect();
    let mean = |of: &dyn Fn(&(Terms, Gradient)) -> f64| parts.iter().map(of).sum::<f64>() / ROWS as f64;
    // Seven sums of a few terms each.
    assert!((mean(&|part| part.0.value()) / whole.value() - 1.0).abs() < 1e-13);
    // N/M is in the gradients of the likelihood's parameter and of the features as well.
    assert!((mean(&|part| part.1.likelihood[0]) / gradient.likelihood[0] - 1.0).abs() < 1e-12);
    assert!((parts[3].1.features[(0, 2)] / ROWS as f64 / gradient.features[(3, 2)] - 1.0).abs() < 1e-12);
}

#[test]
fn all_expectations_agree() {
    let rng = &mut ChaCha8Rng::seed_from_u64(6);
    let mut point = Point::new(2, rng);
    let of = |point: &Point, expectation: Expectation, rng: &mut ChaCha8Rng| {
        let draws = normals(rng, 2 * expectation.normals(ROWS, D));
        point.evaluate(&Bernoulli, expectation, &draws).0.likelihood
    };
    let exact = of(&point, Expectation::Quadrature { nodes: 40 }, rng);
    assert!((of(&point, Expectation::Quadrature { nodes: 16 }, rng) - exact).abs() < 1e-4);
    for expectation in [
        Expectation::Weights { draws: 20_000, kept: Kept::Fresh },
        Expectation::Predictors { draws: 20_000, kept: Kept::Fresh },
        Expectation::Predictors { draws: 20_000, kept: Kept::Fixed },
    ] {
        // 7 rows, magnified 3.5 times, each log density with a standard deviation below 2: 6 standard errors.
        let error = of(&point, expectation, rng) - exact;
        assert!(error.abs() < 6.0 * 3.5 * 7.0 * 2.0 / 20_000_f64.sqrt(), "{expectation:?}: {error}");
    }
    // The Taylor series is right to second order in the variances.
    point.variances.iter_mut().for_each(|c| *c *= 1e-3);
    let exact = of(&point, Expectation::Quadrature { nodes: 40 }, rng);
    assert!((of(&point, Expectation::SecondOrder, rng) / exact - 1.0).abs() < 1e-5);
}

fn toy(rng: &mut ChaCha8Rng, n: usize, inputs: usize) -> (Mat<f64>, Vec<f64>) {
    let x = Mat::from_fn(n, inputs, |_, _| rng.sample::<f64, _>(StandardNormal));
    let y = (0..n).map(|i| (1.3 * x[(i, 0)]).sin() + 0.2 * rng.sample::<f64, _>(StandardNormal)).collect();
    (x, y)
}

fn small(rng: &mut ChaCha8Rng, settings: GlmSettings) -> Glm<RandomFourier, Gaussian> {
    let basis = RandomFourier::new(Kernel::Rbf, 2, 6, LengthScale::PerInput(vec![0.7, 1.4]), rng).unwrap();
    Glm::new(basis, Gaussian::new(0.2).unwrap(), settings, rng).unwrap()
}

#[test]
fn gradients_of_predictor_draws_spread_less_than_those_of_weights() {
    let rng = &mut ChaCha8Rng::seed_from_u64(17);
    let point = Point::new(1, rng);
    let spread = |expectation: Expectation, rng: &mut ChaCha8Rng| {
        let gradients: Vec<f64> = (0..400)
            .map(|_| {
                let draws = normals(rng, expectation.normals(ROWS, D));
                point.evaluate(&Bernoulli, expectation, &draws).1.variances[(1, 0)]
            })
            .collect();
        let mean = gradients.iter().sum::<f64>() / 400.0;
        gradients.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / 400.0
    };
    let (predictors, weights) = (
        spread(Expectation::Predictors { draws: 5, kept: Kept::Fresh }, rng),
        spread(Expectation::Weights { draws: 5, kept: Kept::Fresh }, rng),
    );
    assert!(predictors < weights, "{predictors} {weights}");
}
