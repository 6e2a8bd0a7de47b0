use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use vi_core::Stop;
use vi_linalg::faer::{Mat, Par};

use super::super::*;
use super::{small, toy};
use crate::basis::{Linear, RandomFourier};
use crate::likelihood::{Gaussian, Poisson, Rate};
use crate::sgd::{EarlyStop, Updater};

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

#[test]
fn training_raises_the_bound_by_every_expectation_and_rule() {
    let rng = &mut ChaCha8Rng::seed_from_u64(12);
    let (x, y) = toy(rng, 60, 2);
    let expectations = [
        Expectation::SecondOrder,
        Expectation::Quadrature { nodes: 8 },
        Expectation::Predictors { draws: 5, kept: Kept::Fixed },
        Expectation::Weights { draws: 5, kept: Kept::Fresh },
        Expectation::Predictors { draws: 5, kept: Kept::Fresh },
        Expectation::Weights { draws: 5, kept: Kept::Fixed },
    ];
    let rules = [
        Updater::adam(0.01),
        Updater::plain(1e-4),
        Updater::ada_grad(0.1, 1e-6),
        Updater::momentum(1e-4, 0.5),
        Updater::ada_delta(0.9, 1e-4),
        Updater::adam(0.01),
    ];
    for (expectation, updater) in expectations.into_iter().zip(rules) {
        let settings =
            GlmSettings { components: 2, expectation, updater: updater.unwrap(), steps: 800, ..GlmSettings::default() };
        let mut model = small(rng, settings);
        let rows = Rows::new(x.as_ref(), &y);
        let before = model.elbo(rows, 20, rng).unwrap();
        let run = model.fit(rows, rng).unwrap();
        let after = model.elbo(rows, 20, rng).unwrap();
        assert_eq!((run.stop, run.trace.len()), (Stop::Iterations, 800));
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
        assert_eq!(trained(again, 5), trained(first.clone(), 5));
        // Without the checksum, on the other checks alone.
        let mut open = serde_json::to_value(&first).unwrap();
        open["seal"]["checksum"] = serde_json::Value::Null;
        let open = open.to_string();
        for (from, to) in [
            ("\"components\":2", "\"components\":3"),
            ("\"free\":[", "\"free\":[0.0,"),
            ("\"batch\":10", "\"batch\":0"),
        ] {
            assert!(open.contains(from));
            let error = serde_json::from_str::<Glm<RandomFourier, Gaussian>>(&text.replacen(from, to, 1)).unwrap_err();
            assert!(error.to_string().contains("checksum"), "{error}");
            assert!(serde_json::from_str::<Glm<RandomFourier, Gaussian>>(&open.replacen(from, to, 1)).is_err(), "{to}");
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
    anew.run(source.into_iter().map(Ok::<_, String>), 9, &mut ChaCha8Rng::seed_from_u64(3)).unwrap();
    // The widths of the products differ, and with them the order of a few sums.
    for (a, b) in kept.free.iter().zip(&anew.free) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }
}

#[test]
fn a_model_that_diverges_stands_at_the_last_good_point_and_goes_on() {
    let rng = &mut ChaCha8Rng::seed_from_u64(15);
    let x = Mat::from_fn(20, 1, |i, _| i as f64);
    let y = vec![3.0; 20];
    let rows = Rows::new(x.as_ref(), &y);
    let settings = GlmSettings { updater: Updater::plain(10.0).unwrap(), steps: 50, ..GlmSettings::default() };
    let mut model = Glm::new(Linear::new(1).unwrap(), Poisson(Rate::Exponential), settings, rng).unwrap();
    let start = model.clone();
    let run = model.fit(rows, &mut ChaCha8Rng::seed_from_u64(2)).unwrap();
    assert_eq!(run.stop, Stop::Diverged);
    assert!(!run.trace.is_empty() && run.trace.iter().all(|value| value.is_finite()));
    // As many steps as there are finite objectives but the last, which was stepped away from.
    let steps = run.trace.len() - 1;
    let mut expected = start;
    expected.settings.steps = steps.max(1);
    if steps > 0 {
        expected.fit(rows, &mut ChaCha8Rng::seed_from_u64(2)).unwrap();
    }
    assert_eq!((&model.free, model.posterior(), model.steps()), (&expected.free, expected.posterior(), steps as u64));
    assert!(model.predict(x.as_ref(), None, Par::Seq).is_ok());
    // Stored, read, and gone on with at a rate that does not diverge.
    let text = serde_json::to_string(&model).unwrap();
    let again: Glm<Linear, Poisson> = serde_json::from_str(&text).unwrap();
    assert_eq!(again, model);
    let careful = GlmSettings { updater: Updater::plain(1e-7).unwrap(), ..model.settings().clone() };
    let mut again = again.with_settings(careful).unwrap();
    assert_eq!(again.fit(rows, rng).unwrap().stop, Stop::Iterations);
    assert_ne!(again.free, model.free);
}

/// Inputs up to 255 under an exponential: the first gradient is finite, its square is not.
#[test]
fn a_gradient_whose_square_overflows_leaves_the_model_and_says_so() {
    let rng = &mut ChaCha8Rng::seed_from_u64(15);
    let x = Mat::from_fn(30, 1, |i, _| if i % 2 == 0 { 255.0 } else { 250.0 });
    let y = vec![3.0; 30];
    let settings = GlmSettings { start_means: 0.0, start_variances: 0.0625, steps: 20, ..GlmSettings::default() };
    let basis = Linear::new(1).unwrap();
    let mut model = Glm::new(basis, Poisson(Rate::Exponential), settings, rng).unwrap();
    let before = model.clone();
    let run = model.fit(Rows::new(x.as_ref(), &y), rng).unwrap();
    assert_eq!((run.stop, run.trace.len(), model.steps()), (Stop::Diverged, 1, 0), "{:?}", run.trace);
    assert_eq!(model.free, before.free);
    let text = serde_json::to_string(&model).unwrap();
    assert_eq!(serde_json::from_str::<Glm<Linear, Poisson>>(&text).unwrap(), model);
}

#[test]
fn a_parameter_pushed_to_its_bound_stays_inside_and_is_stored() {
    let rng = &mut ChaCha8Rng::seed_from_u64(18);
    let (x, y) = toy(rng, 20, 2);
    let y: Vec<f64> = y.iter().map(|y| 300.0 * y).collect();
    for (lower, upper, start) in [(1e-6, 1e-4, 1e-5), (0.0, 1e-4, 1e-5), (1e5, 1e7, 1e6)] {
        let noise = Gaussian::bounded(start, crate::Bound::positive_between(lower, upper).unwrap()).unwrap();
        let settings = GlmSettings { updater: Updater::adam(0.05).unwrap(), steps: 2000, ..GlmSettings::default() };
        let mut model = Glm::new(Linear::new(2).unwrap(), noise, settings, rng).unwrap();
        model.fit(Rows::new(x.as_ref(), &y), rng).unwrap();
        let learned = model.likelihood().noise_variance();
        assert!(lower < learned && learned < upper, "{learned}");
        let text = serde_json::to_string(&model).unwrap();
        assert_eq!(serde_json::from_str::<Glm<Linear, Gaussian>>(&text).unwrap(), model);
    }
}

#[test]
fn early_stop_ends_training_and_a_stored_model_takes_single_steps() {
    let rng = &mut ChaCha8Rng::seed_from_u64(19);
    let (x, y) = toy(rng, 40, 2);
    let rows = Rows::new(x.as_ref(), &y);
    let stop = Some(EarlyStop::new(50, 3, 1e-3).unwrap());
    let mut model = small(rng, GlmSettings { stop, steps: 100_000, ..GlmSettings::default() });
    let run = model.fit(rows, rng).unwrap();
    assert_eq!(run.stop, Stop::Improvement);
    assert_eq!(run.trace.len() % 50, 0);
    let mut again: Glm<RandomFourier, Gaussian> =
        serde_json::from_str(&serde_json::to_string(&model).unwrap()).unwrap();
    for seed in 0..30 {
        let step = |model: &mut Glm<RandomFourier, Gaussian>| {
            model.step(rows, 40, &mut ChaCha8Rng::seed_from_u64(seed), &mut GlmScratch::default()).unwrap()
        };
        assert_eq!(step(&mut again), step(&mut model));
    }
    assert_eq!(again, model);
}

#[test]
fn other_settings_keep_what_was_learned() {
    let rng = &mut ChaCha8Rng::seed_from_u64(20);
    let (x, y) = toy(rng, 30, 2);
    let rows = Rows::new(x.as_ref(), &y);
    let mut model = small(rng, GlmSettings { steps: 40, ..GlmSettings::default() });
    model.fit(rows, rng).unwrap();
    let at = |updater: Updater| {
        let settings = GlmSettings { updater, steps: 5, batch: 7, ..model.settings().clone() };
        model.clone().with_settings(settings).unwrap()
    };
    // The same rule goes on, another begins.
    let (finer, other) = (at(Updater::adam(1e-3).unwrap()), at(Updater::plain(1e-5).unwrap()));
    assert_eq!((&finer.free, finer.steps(), finer.settings().batch), (&model.free, 40, 7));
    assert_eq!((&other.free, other.steps()), (&model.free, 0));
    for mut changed in [finer, other] {
        assert_eq!(changed.fit(rows, rng).unwrap().trace.len(), 5);
        let text = serde_json::to_string(&changed).unwrap();
        assert_eq!(serde_json::from_str::<Glm<RandomFourier, Gaussian>>(&text).unwrap(), changed);
    }
    let wrong = |change: &dyn Fn(&mut GlmSettings)| {
        let mut settings = model.settings().clone();
        change(&mut settings);
        model.clone().with_settings(settings).unwrap_err()
    };
    for error in [wrong(&|s| s.components = 2), wrong(&|s| s.batch = 0), wrong(&|s| s.steps = 0)] {
        assert!(matches!(error, crate::RevrandError::Core(vi_core::Error::Setting { .. })), "{error}");
    }
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
