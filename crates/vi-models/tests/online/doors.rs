//! What is refused, and that nothing has changed then.

use rand_chacha::rand_core::SeedableRng;
use vi_core::Error;
use vi_models::ModelError;
use vi_models::online::family::{Counts, Probit, Trials};
use vi_models::online::{
    BeliefKind, Memory, Observation, OnlineGlm, OnlineLinear, OnlineLogistic, OnlineSettings, OnlineSoftmax,
    PriorScale, Row, Rows, Standardise, Start,
};

use crate::{KINDS, bits, numbers, settings, stream};

#[test]
fn errors_name_the_fact_and_change_nothing() {
    let (rows, labels) = stream(80, 5);
    for (kind, learned) in KINDS.into_iter().flat_map(|kind| [(kind, 20), (kind, 80)]) {
        let mut model = OnlineLogistic::with_settings(3, settings(kind)).unwrap();
        model.update_batch(&rows[..3 * learned], &labels[..learned]).unwrap();
        let before = bits(&model);
        assert!(matches!(
            model.update(&[0.0, f64::NAN, 1.0], 1.0),
            Err(ModelError::Core(vi_core::Error::NonFinite { argument: "row", index: 1, .. }))
        ));
        assert!(matches!(
            model.update(&[0.0, 1.0], 1.0),
            Err(ModelError::Core(vi_core::Error::Dimension { argument: "row", expected: 3, found: 2 }))
        ));
        assert!(matches!(
            model.update(&[0.0, 1.0, 2.0], 2.0),
            Err(ModelError::Core(vi_core::Error::Label { label: 2.0, .. }))
        ));
        assert!(model.update(&[0.0; 3], Observation::new(1.0).weight(-1.0)).is_err());
        assert!(model.update(&[0.0; 3], Observation::new(1.0).offset(f64::INFINITY)).is_err());
        assert!(model.update((&[2usize, 1], &[1.0, 1.0]), 1.0).is_err());
        // The 41st row is bad: the forty before it, which cross the end of the warm-up, are taken back.
        let mut bad = labels[..60].to_vec();
        bad[40] = 0.5;
        assert!(matches!(
            model.update_batch(&rows[..180], &bad),
            Err(ModelError::Core(vi_core::Error::Row { row: 40, .. }))
        ));
        assert!(matches!(
            model.update_batch(&rows[..0], &bad[..0]),
            Err(ModelError::Core(vi_core::Error::Empty { .. }))
        ));
        assert!(model.predict(&[1.0]).is_err());
        assert_eq!(before, bits(&model), "{kind:?} after {learned} rows");
    }
}

#[test]
fn impossible_settings_are_refused() {
    let ok = OnlineSettings::default();
    let bad = [
        OnlineSettings { prior_scale: PriorScale::Given(0.0), ..ok.clone() },
        OnlineSettings { prior_scale: PriorScale::Given(f64::NAN), ..ok.clone() },
        OnlineSettings { prior_scale: PriorScale::Among(vec![]), ..ok.clone() },
        OnlineSettings { intercept_scale: -1.0, ..ok.clone() },
        OnlineSettings { keep_rows: true, belief: BeliefKind::Diagonal, ..ok.clone() },
        OnlineSettings { keep_rows: true, memory: Memory::Fading(0.9), ..ok.clone() },
        OnlineSettings { memory: Memory::Fading(1.0), ..ok.clone() },
        OnlineSettings { standardise: Standardise::FirstRows { rows: 1, centre: true }, ..ok.clone() },
        OnlineSettings { as_they_are: 3, ..ok.clone() },
        OnlineSettings { standardise: Standardise::Fixed { centres: vec![0.0], scales: vec![1.0, 1.0] }, ..ok.clone() },
        OnlineSettings { standardise: Standardise::Fixed { centres: vec![0.0; 2], scales: vec![1.0, 0.0] }, ..ok },
    ];
    for settings in bad {
        assert!(OnlineLogistic::with_settings(2, settings.clone()).is_err(), "{settings:?}");
    }
}

/// The first input has its scale from the rows, whatever the unit; the last two are in the caller's.
#[test]
fn inputs_are_used_as_they_are() {
    let (rows, labels) = stream(200, 6);
    let fitted = |units: [f64; 3], as_they_are: usize| {
        let settings = OnlineSettings { as_they_are, ..OnlineSettings::default() };
        let mut model = OnlineLogistic::with_settings(3, settings).unwrap();
        for (row, label) in rows.chunks(3).zip(&labels) {
            model.update(&[row[0] * units[0], row[1] / 30.0 * units[1], 1e3 * row[2] * units[2]], *label).unwrap();
        }
        let read: OnlineLogistic = serde_json::from_str(&bits(&model)).unwrap();
        assert_eq!(bits(&read), bits(&model));
        model.predict(&[0.5 * units[0], 3.0 * units[1], 0.2 * units[2]]).unwrap().probability
    };
    let plain = fitted([1.0; 3], 2);
    // Powers of two change no digit of a standardised input.
    assert_eq!(fitted([4.0, 1.0, 1.0], 2), plain);
    assert_ne!(fitted([1.0, 4.0, 1.0], 2), plain);
    assert_eq!(fitted([4.0; 3], 0), fitted([1.0; 3], 0));
}

/// Among the first rows, which tell the scales, a row of weight 3 is the row three times, and one of weight 0 none, wherever it lies.
#[test]
fn weights_of_the_first_rows_are_repetitions() {
    let (rows, labels) = stream(15, 8);
    let given = OnlineSettings { prior_scale: PriorScale::Given(1.0), ..OnlineSettings::default() };
    let given = OnlineLinear::with_settings(3, given, 1.0, 1.0).unwrap();
    let learned = |model: &OnlineLinear, repeated: bool, first: usize| {
        let mut model = model.clone();
        for (i, (row, label)) in rows.chunks(3).zip(&labels).enumerate() {
            let weight = (i + first) % 4;
            let away = if weight == 0 { 100.0 } else { 1.0 };
            let (row, label) = ([row[0] * away, 5.0 * row[1], row[2] / 7.0], label * 20.0 * away + row[0]);
            let times = if repeated { weight } else { 1 };
            for _ in 0..times {
                let weight = if repeated { 1.0 } else { weight as f64 };
                model.update(&row, Observation::new(label).weight(weight)).unwrap();
            }
        }
        model.catch_up().unwrap();
        let seen = model.predict(&[0.3, 1.0, 0.1]).unwrap();
        [seen.mean(), seen.standard_deviation()]
    };
    // Sums in another order; the search for a scale ends within the second bound, which is that of scikit-learn's own check.
    for (model, firsts, bound) in [(given, 1, 1e-9), (OnlineLinear::new(3).unwrap(), 4, 1e-7)] {
        for first in 0..firsts {
            for (one, other) in learned(&model, false, first).into_iter().zip(learned(&model, true, first)) {
                assert!((one - other).abs() < bound * (1.0 + other.abs()), "{first}: {one} {other}");
            }
        }
    }
}

#[test]
fn a_model_without_inputs_learns_its_intercept() {
    let labels = [1.0, 1.0, 0.0, 1.0];
    let (mut looped, mut batched) = (OnlineLogistic::new(0).unwrap(), OnlineLogistic::new(0).unwrap());
    for &label in &labels {
        looped.update(&[], label).unwrap();
    }
    batched.update_batch(&[], &labels).unwrap();
    assert_eq!(bits(&looped), bits(&batched));
    assert_eq!(batched.info().observations, 4);
    assert!(batched.predict(&[]).unwrap().probability > 0.5);
    assert!(batched.update_batch(&[1.0], &labels).is_err());
}

/// What `vi-core` found wrong, which must not be told of a row.
fn core(error: ModelError) -> Error {
    match error {
        ModelError::Core(error) => error,
        other => panic!("{other}"),
    }
}

#[test]
fn an_offset_is_checked_where_it_is_predicted_at() {
    let (rows, labels) = numbers(60, 70);
    let classes: Vec<f64> = labels.iter().map(|&y| f64::from(y > 5.0)).collect();
    let mut logistic = OnlineLogistic::new(2).unwrap();
    logistic.update_batch(&rows, &classes).unwrap();
    let mut linear = OnlineLinear::new(2).unwrap();
    linear.update_batch(&rows, &labels).unwrap();
    let mut counts = OnlineGlm::new(2, Counts).unwrap();
    counts.update_batch(&rows, &classes).unwrap();
    for offset in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let errors = [
            logistic.predict_at(&rows[..2], offset).unwrap_err(),
            linear.predict_at(&rows[..2], offset).unwrap_err(),
            counts.predict(&rows[..2], Observation::new(0.0).offset(offset)).unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(core(error), Error::Setting { name: "offset", .. }));
        }
    }
    let (plain, shifted) = (linear.predict(&rows[..2]).unwrap(), linear.predict_at(&rows[..2], 2.5).unwrap());
    assert!((shifted.mean() - plain.mean() - 2.5).abs() < 16.0 * f64::EPSILON * (2.5 + plain.mean().abs()));
    let (plain, shifted) = (logistic.predict(&rows[..2]).unwrap(), logistic.predict_at(&rows[..2], 2.5).unwrap());
    // The average of three predictors, each moved.
    assert!((shifted.predictor.mean() - plain.predictor.mean() - 2.5).abs() < 16.0 * f64::EPSILON);
}

#[test]
fn a_predictor_is_that_of_the_prediction_and_known_where_its_label_is_not() {
    let (rows, labels) = numbers(60, 71);
    let classes: Vec<f64> = labels.iter().map(|&y| f64::from(y > 5.0)).collect();
    let mut linear = OnlineLinear::new(2).unwrap();
    linear.update_batch(&rows, &labels).unwrap();
    let mut logistic = OnlineLogistic::new(2).unwrap();
    logistic.update_batch(&rows, &classes).unwrap();
    let mut counts = OnlineGlm::new(2, Counts).unwrap();
    counts.update_batch(&rows, &classes).unwrap();
    let sparse = Row::Sparse { positions: &[1], values: &[-0.7] };
    for row in [Row::Dense(&rows[..2]), sparse] {
        for offset in [0.0, -1.5] {
            let number = linear.predict_at(row, offset).unwrap().expectation;
            assert_eq!(linear.predictor(row, offset).unwrap(), number);
            let (odds, own) =
                (logistic.predict_at(row, offset).unwrap().predictor, logistic.predictor(row, offset).unwrap());
            // The offset is added before or after the units of the label, which are 1.
            assert!((own.mean() - odds.mean()).abs() < 4.0 * f64::EPSILON * (1.0 + odds.mean().abs()));
            assert_eq!(own.variance(), odds.variance());
            let at = Observation::new(0.0).offset(offset).exposure(3.0);
            let (rate, own) = (counts.predict(row, at).unwrap().predictor, counts.predictor(row, offset).unwrap());
            assert!((own.mean() - rate.mean()).abs() < 4.0 * f64::EPSILON * (1.0 + rate.mean().abs()));
            assert_eq!(own.variance(), rate.variance());
        }
    }
    assert_eq!(counts.predictor(&[0.0; 2], 0.0).unwrap(), counts.intercept().unwrap());

    // Before any row a count's mean, e^(a + v/2), is beyond the floats; its predictor is not.
    let settings = OnlineSettings { prior_scale: PriorScale::Given(100.0), ..OnlineSettings::default() };
    let unseen = OnlineGlm::with_settings(1, Counts, settings).unwrap();
    let error = unseen.predict(&[1.0], Observation::new(0.0)).unwrap_err();
    assert!(matches!(core(error), Error::Overflow { .. }));
    let seen = unseen.predictor(&[1.0], 0.5).unwrap();
    let variance = 100.0 * 100.0 + OnlineSettings::default().intercept_scale.powi(2);
    assert!(seen.mean() == 0.5 && (seen.variance() / variance - 1.0).abs() < 4.0 * f64::EPSILON);

    let refused = [
        counts.predictor(&[1.0], 0.0).unwrap_err(),
        counts.predictor(&[1.0, f64::NAN], 0.0).unwrap_err(),
        counts.predictor(Row::Sparse { positions: &[2], values: &[1.0] }, 0.0).unwrap_err(),
        counts.predictor(&[1.0, 2.0], f64::INFINITY).unwrap_err(),
        linear.predictor(&[f64::MAX, f64::MAX], f64::MAX).unwrap_err(),
    ];
    let kinds = refused.map(core);
    assert!(matches!(kinds[0], Error::Dimension { .. }) && matches!(kinds[1], Error::NonFinite { index: 1, .. }));
    assert!(matches!(kinds[2], Error::Entry { .. } | Error::Index { .. }));
    assert!(matches!(kinds[3], Error::Setting { name: "offset", .. }) && matches!(kinds[4], Error::Overflow { .. }));
}

#[test]
fn options_that_a_family_does_not_take_are_refused() {
    let refused = |result: Result<(), ModelError>, option: &str| {
        let error = core(result.unwrap_err());
        assert!(matches!(error, Error::Setting { name, value: 7.0, .. } if name == option), "{error}");
    };
    for (option, observed) in
        [("trials", Observation::new(1.0).trials(7.0)), ("exposure", Observation::new(1.0).exposure(7.0))]
    {
        refused(OnlineLogistic::new(1).unwrap().update(&[1.0], observed), option);
        refused(OnlineLinear::new(1).unwrap().update(&[1.0], observed), option);
        refused(OnlineSoftmax::new(1, 3).unwrap().update(&[1.0], observed), option);
        refused(OnlineGlm::new(1, Probit).unwrap().update(&[1.0], observed), option);
    }
    refused(OnlineGlm::new(1, Counts).unwrap().update(&[1.0], Observation::new(1.0).trials(7.0)), "trials");
    refused(OnlineGlm::new(1, Trials).unwrap().update(&[1.0], Observation::new(1.0).exposure(7.0)), "exposure");
    assert!(OnlineGlm::new(1, Counts).unwrap().predict(&[1.0], Observation::new(1.0).trials(7.0)).is_err());
    OnlineGlm::new(1, Trials).unwrap().update(&[1.0], Observation::new(1.0).trials(7.0)).unwrap();
}

#[test]
fn sparse_starts_cover_all_entries() {
    let (positions, values) = ([0, 1, 2], [1.0, 2.0, 3.0]);
    for (starts, index) in [([1, 2, 3], 0), ([0, 1, 2], 2)] {
        let mut model = OnlineLogistic::new(3).unwrap();
        let rows = Rows::Sparse { starts: &starts, positions: &positions, values: &values };
        let error = core(model.update_batch(rows, &[1.0, 0.0]).unwrap_err());
        assert!(matches!(error, Error::Entry { argument: "starts", index: found, .. } if found == index), "{error}");
    }
}

#[test]
fn inputs_of_any_size_are_scaled_and_errors_blame_the_new_row() {
    let mut model = OnlineLinear::new(1).unwrap();
    for t in 0..10 {
        model.update(&[f64::from(t)], f64::from(t % 3)).unwrap();
    }
    model.clone().update(&[1e200], 0.0).unwrap();
    let before = serde_json::to_string(&model).unwrap();
    let found = core(model.update(&[1.0], f64::INFINITY).unwrap_err());
    assert!(!matches!(found, Error::Row { .. }), "{found}");
    let error = core(model.update_batch(&[1.0, 2.0], &[0.0, f64::NAN]).unwrap_err());
    assert!(matches!(error, Error::Row { row: 1, .. }), "{error}");
    assert_eq!(before, serde_json::to_string(&model).unwrap());

    let (rows, labels) = stream(80, 71);
    let mut plain = OnlineLogistic::new(3).unwrap();
    plain.update_batch(&rows, &labels).unwrap();
    for unit in [1e-300, 1e-170, 1e160, 1e300] {
        let other: Vec<f64> = rows.iter().map(|x| x * unit).collect();
        let mut scaled = OnlineLogistic::new(3).unwrap();
        scaled.update_batch(&other, &labels).unwrap();
        assert_eq!(scaled.info().constant_columns, Vec::<usize>::new());
        let (p, q) = (plain.predict(&rows[..3]).unwrap(), scaled.predict(&other[..3]).unwrap());
        // Rounding of each product by the unit and of 80 updates.
        assert!((p.probability - q.probability).abs() < 80.0 * 16.0 * f64::EPSILON, "{unit:e}");
    }
}

/// A column whose weight no float holds counts as constant; nothing that is read is infinite.
#[test]
fn a_column_of_the_smallest_floats_is_constant() {
    let (rows, labels) = stream(80, 71);
    let tiny: Vec<f64> = rows.chunks(3).flat_map(|x| [x[0], x[1] * 1e-310, x[2]]).collect();
    let numbers: Vec<f64> = rows.chunks(3).map(|x| 1e150 * (x[0] + x[2])).collect();
    let mut logistic = OnlineLogistic::new(3).unwrap();
    logistic.update_batch(&tiny, &labels).unwrap();
    let mut linear = OnlineLinear::new(3).unwrap();
    linear.update_batch(&tiny, &numbers).unwrap();
    let rng = &mut rand_chacha::ChaCha8Rng::seed_from_u64(3);
    let (drawn, seen) = (logistic.sample(rng).unwrap(), linear.sample(rng).unwrap());
    for draw in [logistic.weights(), drawn, linear.weights(), seen] {
        assert!(draw.weights.iter().chain([&draw.intercept]).all(|weight| weight.is_finite()), "{draw:?}");
        assert!(draw.score(&tiny[..3]).unwrap().is_finite(), "{draw:?}");
    }
    assert_eq!((logistic.info().constant_columns, linear.info().constant_columns), (vec![1], vec![1]));
    assert!(logistic.weight(1).unwrap().mean().is_finite());

    let scales = vec![1.0, 1e-310, 1.0];
    let given = Standardise::Fixed { centres: vec![0.0; 3], scales };
    let settings = OnlineSettings { standardise: given, ..OnlineSettings::default() };
    let error = core(OnlineLogistic::with_settings(3, settings).unwrap_err());
    assert!(matches!(error, Error::Entry { argument: "scales", index: 1, .. }), "{error}");
}

#[test]
fn sizes_that_no_memory_holds_are_errors() {
    for inputs in [usize::MAX, usize::MAX / 2, 1 << 60] {
        for kind in KINDS {
            let error = OnlineLogistic::with_settings(inputs, settings(kind)).unwrap_err();
            assert_eq!(error, ModelError::TooLarge { inputs, belief: kind });
        }
        assert!(OnlineSoftmax::new(inputs, 3).is_err());
    }
    let error = OnlineLogistic::new(1 << 20).unwrap_err();
    assert!(error.to_string().contains("BeliefKind::Diagonal or LowRank"), "{error}");
}

/// A warning comes while the model still works, and what was refused is counted.
#[test]
fn the_info_tells_of_digits_and_refusals() {
    let settings = OnlineSettings {
        standardise: Standardise::Never,
        prior_scale: PriorScale::Given(1e5),
        intercept: false,
        start: Start::OnePass,
        ..OnlineSettings::default()
    };
    let mut model = OnlineLogistic::with_settings(2, settings.clone()).unwrap();
    assert!(model.info().health.digits > 15.0 && model.info().refused == 0);
    // Two inputs that are one: their difference keeps the prior's variance, their sum loses it.
    for t in 0..200 {
        let x = f64::from(t % 7) - 3.0;
        model.update(&[x, x * (1.0 + 1e-7)], f64::from(u8::from(x > 0.5 || t % 11 == 0))).unwrap();
    }
    let told = model.info();
    assert!(told.health.condition > 1e8 && told.health.digits < 8.0, "{told:?}");
    assert!(model.update(&[f64::NAN, 0.0], 1.0).is_err() && model.update(&[1.0], 1.0).is_err());
    assert_eq!(model.info().refused, 2);
    let mut apart = OnlineLogistic::with_settings(2, settings).unwrap();
    for t in 0..200 {
        apart.update(&[f64::from(t % 7) - 3.0, f64::from(t % 5) - 2.0], f64::from(t % 2)).unwrap();
    }
    assert!(apart.info().health.digits > 14.0, "{:?}", apart.info());
}

#[test]
fn inputs_are_called_by_their_names() {
    let names = vec!["age".to_owned(), "dose".to_owned()];
    let settings = OnlineSettings { names: names.clone(), ..OnlineSettings::default() };
    let mut model = OnlineLogistic::with_settings(2, settings.clone()).unwrap();
    let (rows, labels) = crate::numbers(60, 5);
    let labels: Vec<f64> = labels.iter().map(|y| f64::from(u8::from(*y > 5.0))).collect();
    model.update_batch(&rows, &labels).unwrap();
    let found = model.coefficients().unwrap();
    let called: Vec<&str> = found.iter().map(|coefficient| coefficient.name.as_str()).collect();
    assert_eq!(called, ["intercept", "age", "dose"]);
    assert_eq!(found[0].belief, model.intercept().unwrap());
    assert_eq!(found[2].belief, model.weight(1).unwrap());
    // An error about an entry says whose it is, and what stores the model keeps the names.
    let error = model.update(&[1.0, f64::NAN], 1.0).unwrap_err();
    assert_eq!(error.to_string(), "row[1] is not finite: NaN (input \"dose\")");
    let error = model.predict(&[f64::INFINITY, 0.0]).unwrap_err();
    assert!(matches!(error, ModelError::Input { ref name, .. } if name == "age"), "{error}");
    let read: OnlineLogistic = serde_json::from_str(&serde_json::to_string(&model).unwrap()).unwrap();
    assert_eq!(read.settings().names, names);

    let plain = OnlineLogistic::new(1).unwrap().coefficients().unwrap();
    assert_eq!(plain[1].name, "x0");
    let twice = OnlineSettings { names: vec!["age".to_owned(); 2], ..settings.clone() };
    assert_eq!(
        OnlineLogistic::with_settings(2, twice).unwrap_err(),
        ModelError::Name { index: 1, name: "age".to_owned() }
    );
    assert!(OnlineLogistic::with_settings(3, settings).is_err());
}
