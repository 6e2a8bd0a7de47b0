use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use vi_linalg::faer::{Mat, Par, mat};

use super::*;
use crate::basis::{Composed, Kernel, LengthScale, Linear, RandomFourier};
use crate::likelihood::{Bernoulli, Binomial, Gaussian, GlmLikelihood, Poisson, Rate};
use crate::sgd::{Status, Updater};

/// A central difference may be off by this, relative to the largest component: what every gradient is asked for.
const DIFFERENCE: f64 = 1e-6;

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
    let largest = gradient.iter().fold(0.0_f64, |largest, g| largest.max(g.abs()));
    assert_eq!(entries(point).len(), gradient.len());
    for i in 0..gradient.len() {
        let start = entries(point)[i];
        let h = 1e-5 * start.abs().max(0.1);
        entries(point)[i] = start + h;
        let above = value(point);
        entries(point)[i] = start - h;
        let below = value(point);
        entries(point)[i] = start;
        let difference = (above - below) / (2.0 * h);
        assert!((gradient[i] - difference).abs() <= DIFFERENCE * largest, "{what}[{i}]: {} {difference}", gradient[i]);
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
                let h = 1e-5 * parameter.start;
                let difference = (at(parameter.start + h) - at(parameter.start - h)) / (2.0 * h);
                assert!((gradient.likelihood[0] / difference - 1.0).abs() < DIFFERENCE, "{what}: γ");
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
    let estimate = (0..2000).map(|_| -near.log_density(&near.sample(rng)).unwrap()).sum::<f64>() / 2000.0;
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

/// The gradient that a step follows, in the unconstrained vector: length scales of several inputs, two parts, noise.
#[test]
fn the_whole_gradient_is_the_difference_of_the_objective() {
    let rng = &mut ChaCha8Rng::seed_from_u64(8);
    let (x, y) = toy(rng, 6, 3);
    for scales in [LengthScale::PerInput(vec![0.7, 1.9, 1.1]), LengthScale::Shared(0.8)] {
        let basis = Linear::with_intercept(3).unwrap() + RandomFourier::new(Kernel::Rbf, 3, 4, scales, rng).unwrap();
        for expectation in [
            Expectation::SecondOrder,
            Expectation::Weights { draws: 3, kept: Kept::Fixed },
            Expectation::Quadrature { nodes: 7 },
        ] {
            let settings = GlmSettings {
                components: 2,
                expectation,
                // A step so short that it shows the gradient and nothing moves: x − x′ = η·g.
                updater: Updater::plain(1e-9).unwrap(),
                start_means: 1.0,
                ..GlmSettings::default()
            };
            let start = Glm::new(basis.clone(), Gaussian::new(0.3).unwrap(), settings, rng).unwrap();
            let mut scratch = GlmScratch::default();
            let value = |model: &Glm<Composed, Gaussian>, shift: Option<(usize, f64)>| {
                let mut model = model.clone();
                if let Some((i, h)) = shift {
                    model.free[i] += h;
                    let free = model.free.clone();
                    model.known.read(&free);
                    model.likelihood.set_parameters(&model.known.gamma);
                }
                let rows = Rows::new(x.as_ref(), &y);
                model.partial_fit(rows, 60, &mut ChaCha8Rng::seed_from_u64(1), &mut GlmScratch::default()).unwrap().0
            };
            let mut stepped = start.clone();
            stepped
                .partial_fit(Rows::new(x.as_ref(), &y), 60, &mut ChaCha8Rng::seed_from_u64(1), &mut scratch)
                .unwrap();
            let gradient: Vec<f64> =
                stepped.free.iter().zip(&start.free).map(|(after, before)| (after - before) * 1e9).collect();
            let largest = gradient.iter().fold(0.0_f64, |largest, g| largest.max(g.abs()));
            for i in 0..gradient.len() {
                let h = 1e-5;
                let difference = (value(&start, Some((i, h))) - value(&start, Some((i, -h)))) / (2.0 * h);
                // The gradient read off the step is good to ε/1e-9.
                let off = DIFFERENCE * largest + 2.0 * f64::EPSILON * start.free[i].abs() / 1e-9;
                assert!((gradient[i] - difference).abs() <= off, "{expectation:?} [{i}]: {} {difference}", gradient[i]);
            }
        }
    }
}

#[test]
fn one_gaussian_component_on_orthogonal_features_finds_the_exact_posterior() {
    // Features that are orthogonal make the posterior diagonal, which is in the family.
    let rng = &mut ChaCha8Rng::seed_from_u64(9);
    let x = Mat::from_fn(8, 2, |i, j| if j == 0 || i % 2 == 0 { 1.0 } else { -1.0 });
    let y: Vec<f64> = (0..8).map(|i| 0.5 + if i % 2 == 0 { 0.7 } else { -0.7 } + 0.1 * f64::from(i)).collect();
    let settings = GlmSettings {
        expectation: Expectation::SecondOrder,
        batch: 8,
        steps: 4000,
        updater: Updater::plain(0.05).unwrap(),
        learn: Learn { regularisers: false, likelihood: false, basis: false },
        ..GlmSettings::default()
    };
    let mut model = Glm::new(Linear::new(2).unwrap(), Gaussian::new(0.5).unwrap(), settings, rng).unwrap();
    model.fit(Rows::new(x.as_ref(), &y), rng).unwrap();
    let precision = 1.0 / model.regularisers()[0] + 8.0 / 0.5;
    for j in 0..2 {
        let inner: f64 = (0..8).map(|i| x[(i, j)] * y[i]).sum();
        // Plain gradients of a deterministic objective: each step halves what is left, or better.
        assert!((model.posterior().mean(0)[j] - inner / 0.5 / precision).abs() < 1e-9);
        assert!((model.posterior().variance(0)[j] * precision - 1.0).abs() < 1e-9);
    }
    // The evidence by draws, and the bound with its offset: both are the evidence.
    let elbo = model.elbo(Rows::new(x.as_ref(), &y), 200, rng).unwrap();
    let bound = elbo.terms.value() + elbo.entropy_offset;
    assert!((elbo.monte_carlo.value - bound).abs() < 1e-3, "{} {bound}", elbo.monte_carlo.value);
    assert!(elbo.monte_carlo.standard_error < 1e-3);
}

fn small(rng: &mut ChaCha8Rng, settings: GlmSettings) -> Glm<RandomFourier, Gaussian> {
    let basis = RandomFourier::new(Kernel::Rbf, 2, 6, LengthScale::PerInput(vec![0.7, 1.4]), rng).unwrap();
    Glm::new(basis, Gaussian::new(0.2).unwrap(), settings, rng).unwrap()
}

#[test]
fn training_raises_the_bound_by_every_expectation_and_rule() {
    let rng = &mut ChaCha8Rng::seed_from_u64(12);
    let (x, y) = toy(rng, 60, 2);
    let expectations = [
        Expectation::SecondOrder,
        Expectation::Quadrature { nodes: 8 },
        Expectation::Predictors { draws: 5, kept: Kept::Fixed },
        Expectation::Weights { draws: 5, kept: Kept::Fresh },
    ];
    let rules = [Updater::adam(0.01), Updater::plain(1e-4), Updater::ada_grad(0.1, 1e-6), Updater::momentum(1e-4, 0.5)];
    for (expectation, updater) in expectations.into_iter().zip(rules) {
        let settings =
            GlmSettings { components: 2, expectation, updater: updater.unwrap(), steps: 800, ..GlmSettings::default() };
        let mut model = small(rng, settings);
        let rows = Rows::new(x.as_ref(), &y);
        let before = model.elbo(rows, 20, rng).unwrap();
        let run = model.fit(rows, rng).unwrap();
        let after = model.elbo(rows, 20, rng).unwrap();
        assert_eq!((run.status, run.trace.len()), (Status::MostSteps, 800));
        assert!(after.terms.value() > before.terms.value() + 20.0, "{expectation:?}");
        assert!(after.monte_carlo.value > before.monte_carlo.value + 20.0);
        // Jensen's bound of the entropy is below it.
        assert!(after.terms.value() < after.monte_carlo.value + 6.0 * after.monte_carlo.standard_error);
    }
}

#[test]
fn same_seed_same_bits_and_a_stored_model_goes_on() {
    for expectation in [Expectation::Quadrature { nodes: 6 }, Expectation::Weights { draws: 3, kept: Kept::Fixed }] {
        let rng = &mut ChaCha8Rng::seed_from_u64(13);
        let (x, y) = toy(rng, 40, 2);
        let settings = GlmSettings { components: 2, expectation, steps: 60, ..GlmSettings::default() };
        let model = small(rng, settings);
        let rows = Rows::new(x.as_ref(), &y);
        let trained = |mut model: Glm<RandomFourier, Gaussian>, seed| {
            let run = model.fit(rows, &mut ChaCha8Rng::seed_from_u64(seed)).unwrap();
            (model, run)
        };
        let (first, run) = trained(model.clone(), 1);
        assert_eq!(trained(model.clone(), 1), (first.clone(), run));
        assert_ne!(trained(model, 2).0, first);
        let text = serde_json::to_string(&first).unwrap();
        let again: Glm<RandomFourier, Gaussian> = serde_json::from_str(&text).unwrap();
        assert_eq!(again, first);
        assert_eq!(trained(again, 5), trained(first, 5));
        for (from, to) in [
            ("\"components\":2", "\"components\":3"),
            ("\"free\":[", "\"free\":[0.0,"),
            ("\"batch\":10", "\"batch\":0"),
        ] {
            assert!(text.contains(from));
            assert!(serde_json::from_str::<Glm<RandomFourier, Gaussian>>(&text.replacen(from, to, 1)).is_err(), "{to}");
        }
    }
}

#[test]
fn features_that_stay_are_those_computed_at_each_step() {
    // With nothing learned in the basis the features of all rows are kept; by batches they are computed anew.
    let rng = &mut ChaCha8Rng::seed_from_u64(14);
    let (x, y) = toy(rng, 9, 2);
    let learn = Learn { basis: false, ..Learn::default() };
    let settings = GlmSettings { learn, batch: 9, steps: 25, ..GlmSettings::default() };
    let mut kept = small(rng, settings);
    let mut anew = kept.clone();
    kept.fit(Rows::new(x.as_ref(), &y), &mut ChaCha8Rng::seed_from_u64(3)).unwrap();
    let batches = &mut ChaCha8Rng::seed_from_u64(3);
    let mut permutations = crate::sgd::Permutations::new(9, 9).unwrap();
    let source: Vec<Batch> = (0..25)
        .map(|_| {
            let chosen = permutations.next(batches).to_vec();
            Batch::new(Mat::from_fn(9, 2, |i, j| x[(chosen[i], j)]), chosen.iter().map(|&i| y[i]).collect())
        })
        .collect();
    anew.fit_batches(source.into_iter().map(Ok::<_, String>), 9, &mut ChaCha8Rng::seed_from_u64(3)).unwrap();
    // The widths of the products differ, and with them the order of a few sums.
    for (a, b) in kept.free.iter().zip(&anew.free) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }
}

#[test]
fn a_model_that_diverges_keeps_its_last_finite_parameters() {
    let rng = &mut ChaCha8Rng::seed_from_u64(15);
    let x = Mat::from_fn(20, 1, |i, _| i as f64);
    let y = vec![3.0; 20];
    let settings = GlmSettings { updater: Updater::plain(10.0).unwrap(), steps: 50, ..GlmSettings::default() };
    let mut model = Glm::new(Linear::new(1).unwrap(), Poisson(Rate::Exponential), settings, rng).unwrap();
    let run = model.fit(Rows::new(x.as_ref(), &y), rng).unwrap();
    assert_eq!(run.status, Status::Diverged);
    assert!(model.free.iter().all(|value| value.is_finite()));
    assert!(model.posterior().variance(0)[0].is_finite() && model.regularisers()[0].is_finite());
    assert!(run.trace.len() < 50 && model.predict(x.as_ref(), None, Par::Seq).is_ok());
}

#[test]
fn only_what_is_to_be_learned_moves() {
    let rng = &mut ChaCha8Rng::seed_from_u64(16);
    let (x, y) = toy(rng, 30, 2);
    for (regularisers, likelihood, basis) in [(true, false, false), (false, true, false), (false, false, true)] {
        let learn = Learn { regularisers, likelihood, basis };
        let start = small(rng, GlmSettings { learn, steps: 20, ..GlmSettings::default() });
        let mut model = start.clone();
        model.fit(Rows::new(x.as_ref(), &y), rng).unwrap();
        assert_eq!(model.regularisers() != start.regularisers(), regularisers);
        assert_eq!(model.likelihood() != start.likelihood(), likelihood);
        assert_eq!(model.basis_parameters() != start.basis_parameters(), basis);
        assert_ne!(model.posterior(), start.posterior());
    }
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
