//! Records as models of the front door, and back.

use vi_core::Belief;
use vi_models::ModelError;
use vi_models::online::{
    BeliefKind, Kind, Memory, Model, Observation, OnlineLinear, OnlineSettings, PriorScale, Row, Standardise,
};
use vi_sums::{Family, GlmPrior, LinearPosterior, LinearPrior, LinearSums, OnePass, Posterior, Predictor, SumsError};

use crate::common::{columns, row};

fn linear(prior: LinearPrior, x: &[Vec<f64>], y: &[f64]) -> LinearPosterior {
    let mut own = LinearPosterior::new(x.len(), prior).unwrap();
    (0..y.len()).for_each(|t| own.sums_mut().update(&row(x, t), y[t]).unwrap());
    own
}

/// The prediction of a model: mean, and the ends of an interval.
fn predicted(model: &Model, x: &[f64]) -> [f64; 3] {
    let seen = model.predict(Row::Dense(x), Observation::new(0.0)).unwrap();
    let interval = seen.interval(0.9).unwrap().unwrap();
    [seen.mean().unwrap(), interval.lower, interval.upper]
}

fn learn(model: &mut Model, x: &[f64], y: f64) {
    model.update(Row::Dense(x), Observation::new(y)).unwrap();
}

fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{found:?} {expected:?}");
    }
}

/// In the scale of the columns.
fn assert_same_sums(found: &LinearSums, expected: &LinearSums, tolerance: f64) {
    assert_eq!(found.rows(), expected.rows());
    let k = expected.inputs() + 1;
    let spread: Vec<f64> = (0..k).map(|i| expected.scatter()[i * (i + 1) / 2 + i].sqrt()).collect();
    for i in 0..k {
        let deviation = spread[i] / (expected.rows() as f64).sqrt();
        assert!((found.mean()[i] - expected.mean()[i]).abs() < tolerance * deviation, "mean {i}");
        for j in 0..=i {
            let at = i * (i + 1) / 2 + j;
            let off = (found.scatter()[at] - expected.scatter()[at]).abs();
            assert!(off < tolerance * spread[i] * spread[j], "{i} {j}: {off}");
        }
    }
}

#[test]
fn a_linear_record_is_a_model_that_learns_on_and_goes_back() {
    let (mut x, y) = columns(200, 3, 61);
    // Away from zero, so that means and scatter are told apart.
    x[1].iter_mut().for_each(|value| *value += 30.0);
    let prior = LinearPrior { scale: 3.0, intercept: 50.0, shape: 2.0, rate: 0.5 };
    let (start, whole) = (linear(prior, &x, &y[..120]), linear(prior, &x, &y));
    let mut model = Posterior::from(start.clone()).to_model(Vec::new()).unwrap();
    let new = [0.3, 29.0, -1.0];
    let seen = Predictor::new(&Posterior::from(start.clone())).unwrap().predict(&new, 0.9).unwrap();
    assert_close(&predicted(&model, &new), &[seen.mean, seen.lower, seen.upper], 1e-10);
    assert!((model.evidence() - start.fit().unwrap().log_evidence()).abs() < 1e-9);
    (120..200).for_each(|t| learn(&mut model, &row(&x, t), y[t]));
    assert!((model.evidence() - whole.fit().unwrap().log_evidence()).abs() < 1e-6);
    let Posterior::Linear(back) = Posterior::of_model(&model).unwrap() else { panic!("another kind") };
    assert_eq!(back.prior(), &prior);
    // A column thirty deviations from zero: some four digits go where intercept and weight are told apart.
    assert_same_sums(back.sums(), whole.sums(), 1e-8);
    // What went there and back can be taken apart as what stayed.
    let mut left = Posterior::from(back);
    left.subtract(&Posterior::from(start)).unwrap();
    assert_eq!(left.rows(), 80);
}

#[test]
fn a_front_door_model_is_a_record_without_an_intercept_too() {
    let (x, y) = columns(60, 2, 62);
    for intercept in [0.0, 5.0] {
        let prior = LinearPrior { scale: 2.0, intercept, shape: 1.0, rate: 1.0 };
        let direct = linear(prior, &x, &y);
        let mut model = Posterior::from(LinearPosterior::new(2, prior).unwrap()).to_model(Vec::new()).unwrap();
        assert_eq!(Posterior::of_model(&model).unwrap().rows(), 0);
        (0..60).for_each(|t| learn(&mut model, &row(&x, t), y[t]));
        let record = Posterior::of_model(&model).unwrap();
        let again = Posterior::decode(&record.encode().unwrap()).unwrap();
        assert!((again.log_evidence().unwrap() - direct.fit().unwrap().log_evidence()).abs() < 1e-8);
        let (found, expected) = (Predictor::new(&again).unwrap(), Predictor::new(&Posterior::from(direct)).unwrap());
        for new in [[0.0, 0.0], [1.0, -2.0]] {
            let (a, b) = (found.predict(&new, 0.9).unwrap(), expected.predict(&new, 0.9).unwrap());
            assert_close(&[a.mean, a.variance, a.lower, a.upper], &[b.mean, b.variance, b.lower, b.upper], 1e-9);
        }
    }
}

#[test]
fn records_of_every_family_are_models_that_learn_on_and_go_back() {
    let (x, y) = columns(120, 2, 63);
    let y: Vec<f64> = y.into_iter().map(|y| f64::from(u8::from(y > 0.7))).collect();
    for family in [Family::Logistic, Family::Probit, Family::Poisson, Family::negative_binomial(2.0).unwrap()] {
        for intercept in [0.0, 4.0] {
            let prior = GlmPrior { scale: 2.0, intercept };
            let mut fold = OnePass::new(family, prior, 2).unwrap();
            (0..80).for_each(|t| fold.update(&row(&x, t), y[t]).unwrap());
            let record = Posterior::from(fold.posterior().unwrap());
            let mut model = record.to_model(Vec::new()).unwrap();
            let seen = Predictor::new(&record).unwrap().predict(&[0.4, -0.2], 0.9).unwrap();
            // The probit has a closed form there and an average over probits here.
            let tolerance = if family == Family::Probit { 1e-6 } else { 1e-9 };
            assert_close(&predicted(&model, &[0.4, -0.2])[..1], &[seen.mean], tolerance);
            for t in 80..120 {
                fold.update(&row(&x, t), y[t]).unwrap();
                learn(&mut model, &row(&x, t), y[t]);
            }
            let Posterior::Glm(back) = Posterior::of_model(&model).unwrap() else { panic!("another kind") };
            assert_eq!((back.family(), back.prior(), back.rows(), back.runs()), (family, &prior, 120, 1));
            let (found, expected) = (back.belief().unwrap(), fold.posterior().unwrap().belief().unwrap());
            assert_close(found.mean(), expected.mean(), 1e-7);
        }
    }
}

/// Models merge as their records do: the evidence is that of all rows, not the product of the parts'.
#[test]
fn merged_models_have_the_evidence_of_merged_records() {
    let (x, y) = columns(120, 2, 64);
    let classes: Vec<f64> = y.iter().map(|y| f64::from(u8::from(*y > 0.7))).collect();
    let linear_part = |rows: std::ops::Range<usize>| {
        let prior = LinearPrior { scale: 3.0, intercept: 50.0, shape: 2.0, rate: 0.5 };
        let mut own = LinearPosterior::new(2, prior).unwrap();
        rows.for_each(|t| own.sums_mut().update(&row(&x, t), y[t]).unwrap());
        Posterior::from(own)
    };
    let logistic_part = |rows: std::ops::Range<usize>| {
        let mut fold = OnePass::new(Family::Logistic, GlmPrior { scale: 2.0, intercept: 4.0 }, 2).unwrap();
        rows.for_each(|t| fold.update(&row(&x, t), classes[t]).unwrap());
        Posterior::from(fold.posterior().unwrap())
    };
    for part in [&linear_part as &dyn Fn(_) -> Posterior, &logistic_part] {
        let (mut first, second) = (part(0..70), part(70..120));
        let [mut model, other] = [&first, &second].map(|own| own.to_model(Vec::new()).unwrap());
        let sum = model.evidence() + other.evidence();
        model.merge(&[&other]).unwrap();
        first.merge(&second).unwrap();
        let expected = first.log_evidence().unwrap();
        // Determinants and quadratic forms of three weights, each to some digits of the records.
        assert!((model.evidence() - expected).abs() < 1e-9 * expected.abs(), "{} {expected}", model.evidence());
        assert!((sum - expected).abs() > 1.0, "{sum} {expected}");
    }
}

#[test]
fn what_holds_another_belief_is_refused_by_name() {
    let of_kind = |kind: Kind, change: fn(&mut OnlineSettings)| {
        let mut settings = OnlineSettings {
            prior_scale: PriorScale::Given(1.0),
            standardise: Standardise::Never,
            ..OnlineSettings::default()
        };
        change(&mut settings);
        Posterior::of_model(&Model::new(kind, 2, settings).unwrap())
    };
    let given = |change| of_kind(Kind::Two, change);
    assert_eq!(given(|_| {}).unwrap().rows(), 0);
    assert!(given(|settings| settings.belief = BeliefKind::SquareRoot).is_ok());
    let refused = |what: &str, found: Result<Posterior, SumsError>| match found {
        Err(SumsError::Model(ModelError::Unsupported { what: found })) => assert!(found.contains(what), "{found}"),
        other => panic!("{what}: {other:?}"),
    };
    refused("scale", given(|settings| settings.prior_scale = PriorScale::Learned));
    refused("standardised", given(|settings| settings.standardise = Standardise::default()));
    refused("covariance", given(|settings| settings.belief = BeliefKind::Diagonal));
    refused("forgotten", given(|settings| settings.memory = Memory::Fading(0.9)));
    for kind in [Kind::Trials, Kind::LearnedSpread, Kind::Classes { classes: 3, joint: None }] {
        refused("record", of_kind(kind, |_| {}));
    }
    let mut model =
        Posterior::from(LinearPosterior::new(1, LinearPrior::default()).unwrap()).to_model(Vec::new()).unwrap();
    model.update(Row::Dense(&[1.0]), Observation::new(2.0).weight(0.5)).unwrap();
    let named = |names: &[&str]| {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        Posterior::from(LinearPosterior::new(2, LinearPrior::default()).unwrap()).to_model(names)
    };
    assert!(named(&["a", "b"]).is_ok());
    assert!(matches!(named(&["a", "a"]), Err(SumsError::Model(ModelError::Name { index: 1, .. }))));
    assert!(matches!(named(&["a"]), Err(SumsError::Model(ModelError::Core(vi_core::Error::Dimension { .. })))));
    refused("weighted", Posterior::of_model(&model));
    refused("scale", Posterior::of_model(&Model::Number(OnlineLinear::new(2).unwrap())));
    // A prior whose square is beyond the floats for a model is one here.
    let tiny = LinearPrior { scale: 1e-160, ..LinearPrior::default() };
    assert!(
        LinearPosterior::new(1, tiny).is_err()
            || Posterior::from(LinearPosterior::new(1, tiny).unwrap()).to_model(Vec::new()).is_err()
    );
}
