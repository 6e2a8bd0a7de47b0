//! What training refuses; the model is then as it was.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use vi_core::{Error, Stop};
use vi_linalg::faer::{Mat, mat};

use super::super::*;
use super::{small, toy};
use crate::RevrandError;
use crate::basis::{Basis, Linear, OnPart, Polynomial, RandomFourier};
use crate::likelihood::{Bernoulli, Binomial, Gaussian, GlmLikelihood, Poisson, Rate};
use crate::sgd::Permutations;
use crate::slm::SlmSettings;

fn rng() -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(1)
}

/// Both ways to train refuse the rows and change nothing.
fn refused<B: Basis + Clone + PartialEq, L: GlmLikelihood + PartialEq>(
    model: &Glm<B, L>,
    rows: Rows<'_>,
) -> RevrandError {
    let mut tried = model.clone();
    let error = tried.fit(rows, &mut rng()).unwrap_err();
    assert_eq!(&tried, model);
    let other = tried.step(rows, 100, &mut rng(), &mut GlmScratch::default()).unwrap_err();
    assert_eq!(&tried, model);
    assert_eq!(std::mem::discriminant(&other), std::mem::discriminant(&error), "{other} {error}");
    error
}

fn settings() -> GlmSettings {
    GlmSettings { batch: 2, ..GlmSettings::default() }
}

#[test]
fn rows_that_cannot_be_learned_from_are_named() {
    let x = mat![[0.1, 0.2], [0.3, -0.4], [0.5, 0.6]];
    let basis = Linear::new(2).unwrap();
    let model = Glm::new(basis, Bernoulli, settings(), &mut rng()).unwrap();
    let error = refused(&model, Rows::new(x.as_ref(), &[1.0, 0.0]));
    assert!(matches!(error, RevrandError::Core(Error::Dimension { argument: "y", expected: 3, found: 2 })), "{error}");
    let error = refused(&model, Rows::new(x.as_ref(), &[1.0, f64::NAN, 0.0]));
    assert!(matches!(error, RevrandError::Core(Error::NonFinite { argument: "y", index: 1, .. })), "{error}");
    let error = refused(&model, Rows::new(x.as_ref(), &[1.0, 0.0, 2.0]));
    assert!(matches!(error, RevrandError::Core(Error::Row { row: 2, .. })), "{error}");
    let error = refused(&model, Rows::new(Mat::zeros(0, 2).as_ref(), &[]));
    assert!(matches!(error, RevrandError::Core(Error::Empty { argument: "x" })), "{error}");
    let error = refused(&model, Rows::new(Mat::zeros(3, 1).as_ref(), &[1.0; 3]));
    assert!(matches!(error, RevrandError::Core(Error::Dimension { expected: 2, found: 1, .. })), "{error}");
    let error = refused(&model, Rows::new(mat![[0.1, 0.2], [f64::INFINITY, 0.0]].as_ref(), &[1.0, 0.0]));
    assert!(matches!(error, RevrandError::Core(Error::Row { row: 1, .. })), "{error}");
    let error = refused(&model, Rows::new(x.as_ref(), &[1.0; 3]).with_trials(&[1.0; 3]));
    assert!(matches!(error, RevrandError::Trials { given: true, .. }), "{error}");

    let model = Glm::new(basis, Binomial, settings(), &mut rng()).unwrap();
    let y = [1.0, 0.0, 2.0];
    let error = refused(&model, Rows::new(x.as_ref(), &y));
    assert!(matches!(error, RevrandError::Trials { given: false, .. }), "{error}");
    let error = refused(&model, Rows::new(x.as_ref(), &y).with_trials(&[3.0, 0.0, 3.0]));
    assert!(matches!(error, RevrandError::Core(Error::Entry { argument: "trials", index: 1, .. })), "{error}");
    let error = refused(&model, Rows::new(x.as_ref(), &y).with_trials(&[3.0; 2]));
    assert!(matches!(error, RevrandError::Core(Error::Dimension { argument: "trials", .. })), "{error}");
    let error = refused(&model, Rows::new(x.as_ref(), &y).with_trials(&[3.0, f64::NAN, 3.0]));
    assert!(matches!(error, RevrandError::Core(Error::NonFinite { argument: "trials", .. })), "{error}");

    let columns = Linear::new(1).unwrap().on_columns(&[2]).unwrap() + basis;
    let model = Glm::new(columns.clone(), Bernoulli, settings(), &mut rng()).unwrap();
    let error = refused(&model, Rows::new(x.as_ref(), &[1.0; 3]));
    assert_eq!(error.to_string(), "columns of x has no entry 2: its length is 2");
    let learned = crate::slm::learn(
        columns,
        x.as_ref(),
        &[1.0; 3],
        &SlmSettings::default(),
        &mut rng(),
        vi_linalg::faer::Par::Seq,
    );
    assert_eq!(learned.unwrap_err(), error);
}

#[test]
fn batches_larger_than_the_data_and_impossible_settings_are_named() {
    let x = mat![[0.1, 0.2], [0.3, -0.4], [0.5, 0.6]];
    let basis = Linear::new(2).unwrap();
    let rows = Rows::new(x.as_ref(), &[1.0, 0.0, 1.0]);
    let setting = |error: RevrandError, wanted: &str| {
        assert!(matches!(error, RevrandError::Core(Error::Setting { name, .. }) if name == wanted), "{error}");
    };
    let start = Glm::new(basis, Bernoulli, GlmSettings { batch: 4, ..settings() }, &mut rng()).unwrap();
    let mut model = start.clone();
    setting(model.fit(rows, &mut rng()).unwrap_err(), "batch");
    setting(model.step(rows, 2, &mut rng(), &mut GlmScratch::default()).unwrap_err(), "batch");
    assert_eq!(model, start);

    let most = usize::MAX;
    let new = |change: &dyn Fn(&mut GlmSettings)| {
        let mut settings = settings();
        change(&mut settings);
        Glm::new(basis, Bernoulli, settings, &mut rng()).unwrap_err()
    };
    for components in [0, most, most / 2] {
        setting(new(&|s| s.components = components), "components");
    }
    setting(new(&|s| s.batch = most), "batch");
    setting(new(&|s| s.steps = 0), "steps");
    for kept in [Kept::Fresh, Kept::Fixed] {
        for draws in [0, most, most / 4] {
            setting(new(&|s| s.expectation = Expectation::Weights { draws, kept }), "draws");
            setting(new(&|s| s.expectation = Expectation::Predictors { draws, kept }), "draws");
        }
    }
    // Any number of steps may be asked for: the run ends with the batches.
    let mut model = Glm::new(basis, Bernoulli, GlmSettings { steps: most, ..settings() }, &mut rng()).unwrap();
    let batch = Batch::new(x.clone(), vec![1.0, 0.0, 1.0]);
    let run = model.run((0..3).map(|_| Ok::<_, String>(batch.clone())), 9, &mut rng()).unwrap();
    assert_eq!((run.stop, run.trace.len()), (Stop::Cancelled, 3));
    setting(model.elbo(rows, most, &mut rng()).unwrap_err(), "draws");
    let predicted = model.predict(x.as_ref(), None, vi_linalg::faer::Par::Seq).unwrap();
    setting(predicted.draws(most, &mut rng()).unwrap_err(), "draws");
    setting(Permutations::new(most, 1).unwrap_err(), "rows");
    let scale = crate::basis::LengthScale::Shared(1.0);
    for inputs in [1, 3] {
        setting(RandomFourier::new(crate::Kernel::Rbf, inputs, most, scale.clone(), &mut rng()).unwrap_err(), "pairs");
        let orthogonal = RandomFourier::orthogonal(crate::Kernel::Rbf, inputs, most, scale.clone(), &mut rng());
        setting(orthogonal.unwrap_err(), "pairs");
    }
    setting(crate::basis::FastFood::new(crate::Kernel::Rbf, 3, most, scale, &mut rng()).unwrap_err(), "pairs");
    // As many starts as one likes, until one of them fails: the labels are checked first.
    let many = SlmSettings { starts: most, spread: 0.5, ..SlmSettings::default() };
    assert!(
        crate::slm::learn(basis, x.as_ref(), &[f64::NAN; 3], &many, &mut rng(), vi_linalg::faer::Par::Seq).is_err()
    );
}

#[test]
fn a_bad_batch_leaves_the_model_of_the_good_ones() {
    let (x, y) = toy(&mut rng(), 30, 2);
    let part = |i: usize| {
        let labels: Vec<f64> = (0..5).map(|n| y[5 * i + n]).collect();
        Batch::new(x.subrows(5 * i, 5).to_owned(), labels)
    };
    let start = small(&mut rng(), GlmSettings { batch: 5, ..GlmSettings::default() });
    let mut good = start.clone();
    good.run((0..4).map(|i| Ok::<_, String>(part(i))), 30, &mut rng()).unwrap();

    let mut model = start.clone();
    let broken = (0..6).map(|i| if i < 4 { Ok(part(i)) } else { Err("gone") });
    let error = model.run(broken, 30, &mut rng()).unwrap_err();
    assert_eq!(error, RevrandError::Source { batches: 4, message: "gone".to_owned() });
    assert_eq!(model, good);

    let mut model = start;
    let poisoned = (0..6).map(|i| {
        let mut batch = part(i);
        if i == 4 {
            batch.y[3] = f64::NAN;
        }
        Ok::<_, String>(batch)
    });
    let error = model.run(poisoned, 30, &mut rng()).unwrap_err();
    assert!(error.to_string().starts_with("batch 4: "), "{error}");
    assert!(matches!(error, RevrandError::Batch { batch: 4, .. }));
    assert_eq!(model, good);
}

#[test]
fn features_beyond_floats_are_no_divergence() {
    let x = Mat::from_fn(9, 1, |i, _| if i == 7 { 1e200 } else { 0.1 * i as f64 });
    let y = [1.0; 9];
    let rows = Rows::new(x.as_ref(), &y);
    let cubes = Polynomial::new(1, 3).unwrap();
    let noise = Gaussian::new(1.0).unwrap();
    let found = |error: RevrandError| {
        assert!(matches!(error, RevrandError::Feature { row: 7, feature, .. } if feature % 3 == 1), "{error}");
    };
    let model = Glm::new(cubes, noise, settings(), &mut rng()).unwrap();
    found(refused(&model, rows));
    // With a kernel to learn features are computed batch by batch.
    let waves = RandomFourier::new(crate::Kernel::Rbf, 1, 2, crate::basis::LengthScale::Shared(1.0), &mut rng());
    let basis = cubes + waves.unwrap();
    for expectation in [Expectation::SecondOrder, Expectation::Weights { draws: 3, kept: Kept::Fixed }] {
        let model = Glm::new(basis.clone(), noise, GlmSettings { expectation, ..settings() }, &mut rng()).unwrap();
        found(refused(&model, rows));
    }
}

#[test]
fn what_overflows_is_an_error() {
    let overflow = |error: RevrandError| {
        assert!(matches!(error, RevrandError::Core(Error::Overflow { .. })), "{error}");
    };
    let x = mat![[0.1], [0.3]];
    let noise = Gaussian::new(1.0).unwrap();
    let model = Glm::new(Linear::new(1).unwrap(), noise, settings(), &mut rng()).unwrap();
    overflow(model.elbo(Rows::new(x.as_ref(), &[1e200, 0.0]), 10, &mut rng()).unwrap_err());
    let q = Mixture::new(mat![[0.5]].as_ref(), mat![[0.3]].as_ref()).unwrap();
    assert!(matches!(q.log_density(&[f64::NAN]), Err(RevrandError::Core(Error::NonFinite { .. }))));
    overflow(q.log_density(&[1e200]).unwrap_err());
    let whole = 0..1;
    let prior = Prior { variances: &[1.5], parts: std::slice::from_ref(&whole) };
    let huge = mat![[1e200]];
    let far = Featured { features: huge.as_ref(), y: &[1.0], trials: None, magnification: 1.0 };
    let expectation = Expectation::Quadrature { nodes: 20 };
    overflow(objective(&q, prior, &Poisson(Rate::Softplus), far, expectation, &[]).unwrap_err());
    overflow(objective(&q, prior, &noise, far, Expectation::SecondOrder, &[]).unwrap_err());
    let wide = Linear::new(1).unwrap().with_variance(1e300).unwrap();
    let basis = crate::basis::Composed::from(wide);
    for (start_means, start_variances) in [(0.1, 1e20), (1e300, 0.1)] {
        let settings = GlmSettings { start_means, start_variances, ..settings() };
        overflow(Glm::new(basis.clone(), noise, settings, &mut rng()).unwrap_err());
    }
}
