//! Batches, loops and sparse rows are one and the same.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use vi_models::online::family::Counts;
use vi_models::online::{
    BeliefKind, Kind, Model, Observation, OnlineGlm, OnlineLinear, OnlineLogistic, OnlineSettings, PriorScale, Row,
    Rows, Standardise, Start,
};
use vi_models::{CoreError, ModelError, Transform};

use crate::{KINDS, bits, numbers, settings, stream};

#[test]
fn batches_are_loops_to_the_bit_for_every_belief() {
    let (rows, labels) = stream(130, 1);
    for kind in KINDS {
        let mut looped = OnlineLogistic::with_settings(3, settings(kind)).unwrap();
        for (row, &label) in rows.chunks(3).zip(&labels) {
            looped.update(row, label).unwrap();
        }
        for cut in [1, 20, 50, 77, 130] {
            let mut batched = OnlineLogistic::with_settings(3, settings(kind)).unwrap();
            for (rows, labels) in rows.chunks(3 * cut).zip(labels.chunks(cut)) {
                batched.update_batch(rows, labels).unwrap();
            }
            assert_eq!(bits(&looped), bits(&batched), "{kind:?}, batches of {cut}");
        }
    }
}

#[test]
fn wide_batches_are_loops_to_rounding() {
    let (d, n) = (70, 150);
    let mut rng = ChaCha8Rng::seed_from_u64(20);
    let rows: Vec<f64> = (0..n * d).map(|_| rng.sample(StandardNormal)).collect();
    let labels: Vec<f64> = rows.chunks(d).map(|x| f64::from(x[0] + x[1] > 0.3 * x[2])).collect();
    for kind in KINDS {
        let settings = OnlineSettings { prior_scale: PriorScale::Given(1.0), ..settings(kind) };
        let mut looped = OnlineLogistic::with_settings(d, settings.clone()).unwrap();
        for (row, &label) in rows.chunks(d).zip(&labels) {
            looped.update(row, label).unwrap();
        }
        let mut batched = OnlineLogistic::with_settings(d, settings).unwrap();
        // A pause while changes of the covariance wait to be written.
        batched.update_batch(&rows[..120 * d], &labels[..120]).unwrap();
        batched = serde_json::from_str(&bits(&batched)).unwrap();
        batched.update_batch(&rows[120 * d..], &labels[120..]).unwrap();
        if kind == BeliefKind::Full {
            assert_eq!(bits(&looped), bits(&batched));
        }
        // Rounding of n updates, each of sums of d terms, at a condition of at most 25·n for this prior.
        let tolerance = (n * d) as f64 * 25.0 * n as f64 * f64::EPSILON;
        assert!((looped.evidence() / batched.evidence() - 1.0).abs() < tolerance, "{kind:?}");
        for x in rows.chunks(d).take(20) {
            let (a, b) = (looped.predict(x).unwrap().predictor, batched.predict(x).unwrap().predictor);
            assert!((a.mean() - b.mean()).abs() < tolerance * (1.0 + a.mean().abs()), "{kind:?}");
            assert!((a.variance() / b.variance() - 1.0).abs() < tolerance, "{kind:?}");
        }
        let mut bad = labels.clone();
        bad[120] = 7.0;
        let before = bits(&batched);
        assert!(matches!(
            batched.update_batch(&rows, &bad),
            Err(ModelError::Core(vi_core::Error::Row { row: 120, .. }))
        ));
        assert_eq!(before, bits(&batched));
    }
}

#[test]
fn a_sparse_row_is_the_dense_row_with_its_zeros() {
    let (rows, labels) = stream(60, 4);
    for (kind, centre) in KINDS.into_iter().flat_map(|kind| [(kind, true), (kind, false)]) {
        let standardise = Standardise::FirstRows { rows: 20, centre };
        let settings = OnlineSettings { standardise, ..settings(kind) };
        let mut dense = OnlineLogistic::with_settings(5, settings.clone()).unwrap();
        let mut sparse = OnlineLogistic::with_settings(5, settings).unwrap();
        let positions: Vec<usize> = (0..60).flat_map(|i| if i % 2 == 0 { [0, 1, 2] } else { [1, 3, 4] }).collect();
        for ((row, at), &label) in rows.chunks(3).zip(positions.chunks(3)).zip(&labels) {
            let mut written = [0.0; 5];
            for (&j, &value) in at.iter().zip(row) {
                written[j] = value;
            }
            dense.update(&written, label).unwrap();
            sparse.update((at, row), label).unwrap();
        }
        let starts: Vec<usize> = (0..=60).map(|i| 3 * i).collect();
        let mut batched = OnlineLogistic::with_settings(5, dense.settings().clone()).unwrap();
        let all = Rows::Sparse { starts: &starts, positions: &positions, values: &rows };
        batched.update_batch(all, &labels).unwrap();
        assert_eq!(bits(&sparse), bits(&batched));
        let row = Row::Sparse { positions: &positions[..3], values: &rows[..3] };
        let (a, b) = (dense.predict(&[rows[0], rows[1], rows[2], 0.0, 0.0]).unwrap(), sparse.predict(row).unwrap());
        // The same sums in another order, over 60 rows.
        assert!((a.probability - b.probability).abs() < 60.0 * 64.0 * f64::EPSILON, "{kind:?}");
    }
}

#[test]
fn linear_and_count_batches_are_loops_to_the_bit_and_survive_storage() {
    let (rows, labels) = numbers(90, 35);
    let counts: Vec<f64> = labels.iter().map(|y| y.abs().round()).collect();
    for kind in KINDS {
        let settings = OnlineSettings { belief: kind, ..OnlineLinear::default_settings() };
        let new = || OnlineLinear::with_settings(2, settings.clone(), 1e-2, 1e-4).unwrap();
        let text = |model: &OnlineLinear| serde_json::to_string(model).unwrap();
        let mut looped = new();
        rows.chunks(2).zip(&labels).for_each(|(row, &y)| looped.update(row, y).unwrap());
        for cut in [7, 50, 60] {
            let mut batched = new();
            batched.update_batch(&rows[..2 * cut], &labels[..cut]).unwrap();
            let mut read: OnlineLinear = serde_json::from_str(&text(&batched)).unwrap();
            read.update_batch(&rows[2 * cut..], &labels[cut..]).unwrap();
            assert_eq!(text(&looped), text(&read), "{kind:?}, stored after {cut}");
        }
        let new = || OnlineGlm::with_settings(2, Counts, OnlineSettings { belief: kind, ..OnlineSettings::default() });
        let (mut looped, mut batched) = (new().unwrap(), new().unwrap());
        rows.chunks(2).zip(&counts).for_each(|(row, &y)| looped.update(row, y).unwrap());
        for (rows, counts) in rows.chunks(2 * 33).zip(counts.chunks(33)) {
            batched.update_batch(rows, counts).unwrap();
        }
        assert_eq!(serde_json::to_string(&looped).unwrap(), serde_json::to_string(&batched).unwrap(), "{kind:?}");
    }
}

#[test]
fn predictions_of_many_rows_are_those_of_each() {
    let (rows, labels) = stream(40, 91);
    let mut model = OnlineLogistic::new(3).unwrap();
    model.update_batch(&rows, &labels).unwrap();
    let many = model.predict_batch(&rows).unwrap();
    assert_eq!(many.len(), 40);
    for (x, seen) in rows.chunks(3).zip(&many) {
        assert_eq!(*seen, model.predict(x).unwrap());
    }
    assert!(model.predict_batch(&[]).unwrap().is_empty());
    // 119 numbers are not rows of 3; a number that is none is told of its row.
    assert!(model.predict_batch(&rows[1..]).is_err());
    let mut spoiled = rows.clone();
    spoiled[5] = f64::NAN;
    let error = model.predict_batch(&spoiled).unwrap_err();
    assert!(matches!(error, ModelError::Core(CoreError::Row { row: 1, .. })), "{error}");
}

#[test]
fn predicting_and_learning_together_is_one_after_the_other_to_the_bit() {
    let (d, n) = (50, 420);
    let mut rng = ChaCha8Rng::seed_from_u64(21);
    let rows: Vec<f64> = (0..n * d).map(|_| rng.sample(StandardNormal)).collect();
    let sums: Vec<f64> = rows.chunks(d).map(|x| x[0] + 0.5 * x[1] - 0.3 * x[2]).collect();
    let models = [
        (
            Model::new(
                Kind::Number { transform: Transform::Identity, noise: (0.1, 1e-5) },
                d,
                OnlineLinear::default_settings(),
            ),
            sums.clone(),
        ),
        (
            Model::new(Kind::Two, d, OnlineSettings { start: Start::OnePass, ..OnlineSettings::default() }),
            sums.iter().map(|sum| f64::from(*sum > 0.0)).collect(),
        ),
        (
            Model::new(Kind::LearnedSpread, d, OnlineSettings { start: Start::OnePass, ..OnlineSettings::default() }),
            sums.iter().map(|sum| sum.abs().round()).collect(),
        ),
        (Model::new(Kind::Classes { classes: 3, joint: Some(false) }, d, OnlineSettings::default()), vec![1.0; n]),
    ];
    for (model, labels) in models {
        let mut together = model.unwrap();
        let mut apart = together.clone();
        for (row, &label) in rows.chunks(d).zip(&labels) {
            let (row, observed) = (Row::Dense(row), Observation::new(label).weight(0.5 + (label.abs() % 2.0)));
            let told = together.predict_and_update(row, observed).unwrap();
            assert_eq!(told, apart.predict(row, Observation::new(0.0)));
            apart.update(row, observed).unwrap();
        }
        let text = |model: &Model| serde_json::to_string(model).unwrap();
        assert_eq!(text(&together), text(&apart), "{}", together.name());
        let before = text(&together);
        assert!(together.predict_and_update(Row::Dense(&rows[..d]), Observation::new(f64::NAN)).is_err());
        assert_eq!(text(&together), before);
    }
}
