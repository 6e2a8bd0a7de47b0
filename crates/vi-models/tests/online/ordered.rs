//! Classes that have an order, by one predictor and cut points.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use vi_core::batch::BatchSettings;
use vi_models::ModelError;
use vi_models::online::{
    BeliefKind, Memory, Observation, OnlineLogistic, OnlineOrdered, OnlineSettings, OnlineSoftmax, PriorScale,
    RefineSettings, Row, Standardise, Start,
};

use crate::{KINDS, settings};

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a class")]
fn log_probability(probabilities: &[f64], label: f64) -> f64 {
    probabilities[label as usize].ln()
}

const WEIGHTS: [f64; 2] = [1.0, -0.6];
const CUTS: [f64; 3] = [-1.0, 0.0, 0.3];

/// `n` rows of 2 inputs, and labels of a sequential model with these cut points.
fn stream(n: usize, cuts: &[f64], seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let rows: Vec<f64> = (0..2 * n).map(|_| rng.sample(StandardNormal)).collect();
    let label = |x: &[f64]| {
        let eta = WEIGHTS[0] * x[0] + WEIGHTS[1] * x[1];
        let goes_on = |cut: &&f64| rng.random::<f64>() < 1.0 / (1.0 + (*cut - eta).exp());
        cuts.iter().take_while(goes_on).count() as f64
    };
    let labels = rows.chunks(2).map(label).collect();
    (rows, labels)
}

/// A model whose rows are learned one by one from a given prior, in the units of the inputs.
pub(crate) fn plain(belief: BeliefKind) -> OnlineSettings {
    OnlineSettings {
        prior_scale: PriorScale::Given(1.0),
        standardise: Standardise::Never,
        start: Start::OnePass,
        belief,
        ..OnlineSettings::default()
    }
}

pub(crate) fn near(a: f64, b: f64, tolerance: f64, what: &str) {
    assert!((a - b).abs() <= tolerance, "{what}: {a} {b}");
}

/// With two classes it is a logistic regression.
#[test]
fn two_classes_are_those_of_a_logistic_regression() {
    let (rows, labels) = stream(300, &[0.4], 1);
    for belief in KINDS {
        let mut own = OnlineOrdered::with_settings(2, 2, settings(belief)).unwrap();
        let mut logistic = OnlineLogistic::with_settings(2, settings(belief)).unwrap();
        for (t, (x, y)) in rows.chunks(2).zip(&labels).enumerate() {
            let (seen, one) = (own.predict(x).unwrap(), logistic.predict(x).unwrap());
            near(seen.probabilities[1], one.probability, 1e-15, "probability");
            // The variance is a difference of moments, each off by some 1e-8.
            near(seen.variances[1], one.variance, 1e-7, "variance");
            assert_eq!(own.predictor(x, 0.5).unwrap(), logistic.predictor(x, 0.5).unwrap(), "{t}");
            own.update(x, *y).unwrap();
            logistic.update(x, *y).unwrap();
        }
        assert_eq!(own.evidence().to_bits(), logistic.evidence().to_bits());
        assert_eq!(own.weight(0).unwrap(), logistic.weight(0).unwrap());
        near(own.cuts().unwrap()[0].mean(), -logistic.intercept().unwrap().mean(), 1e-15, "cut point");
    }
}

/// A row of class `k` is `k + 1` rows of a logistic regression over the inputs and an indicator for each step.
#[test]
fn a_row_is_its_steps() {
    let (rows, labels) = stream(120, &CUTS, 2);
    for belief in [BeliefKind::Full, BeliefKind::SquareRoot] {
        let mut own = OnlineOrdered::with_settings(2, 4, plain(belief)).unwrap();
        let mut steps = OnlineLogistic::with_settings(4, plain(belief)).unwrap();
        // An indicator of 5 whose weight has the prior N(0, 1) is one whose weight has that of the intercept.
        let step = |x: &[f64], k: usize| {
            let of = |of: usize| if of == k { 5.0 } else { 0.0 };
            [x[0], x[1], of(1), of(2)]
        };
        for (x, &y) in rows.chunks(2).zip(&labels) {
            let seen = own.predict(x).unwrap();
            near(seen.probabilities.iter().sum(), 1.0, 1e-14, "sum");
            let (before, steps_before) = (own.evidence(), steps.evidence());
            own.update(x, y).unwrap();
            for k in 0..3 {
                if y >= k as f64 {
                    steps.update(&step(x, k), f64::from(u8::from(y > k as f64))).unwrap();
                }
            }
            let score = own.evidence() - before;
            near(score, steps.evidence() - steps_before, 1e-10, "score");
            // Predictions have errors of 2e-9, scores of 4e-7 nats.
            near(score, log_probability(&seen.probabilities, y), 1e-6, "density");
        }
        for j in 0..2 {
            let (found, same) = (own.weight(j).unwrap(), steps.weight(j).unwrap());
            near(found.mean(), same.mean(), 1e-10, "mean");
            near(found.variance(), same.variance(), 1e-10, "variance");
        }
        let third = steps.predictor(&step(&[0.0, 0.0], 2), 0.0).unwrap();
        let cut = &own.cuts().unwrap()[2];
        near(cut.mean(), -third.mean(), 1e-10, "cut point");
        near(cut.variance(), third.variance(), 1e-10, "its variance");
    }
}

/// What a model with a full covariance predicts before it learns a row is what the row adds to its evidence, whatever it averages over.
#[test]
fn the_score_of_a_row_is_the_density_that_was_told() {
    let (rows, labels) = stream(400, &CUTS, 3);
    for belief in [BeliefKind::Full, BeliefKind::SquareRoot] {
        for prior_scale in [PriorScale::Given(0.7), PriorScale::Among(vec![0.2, 2.0])] {
            let settings = OnlineSettings { prior_scale, start: Start::OnePass, ..settings(belief) };
            let mut model = OnlineOrdered::with_settings(2, 4, settings).unwrap();
            for (t, (x, &y)) in rows.chunks(2).zip(&labels).enumerate() {
                let observed = Observation::new(y).offset(0.3);
                let (told, before) = (model.predict_at(x, 0.3).unwrap(), model.evidence());
                near(told.probabilities.iter().sum(), 1.0, 1e-14, "sum");
                model.update(x, observed).unwrap();
                // The first rows set the scales of the columns, by which all of them are scored anew.
                if t > 50 {
                    near(
                        model.evidence() - before,
                        log_probability(&told.probabilities, y),
                        2e-6,
                        &format!("{belief:?} {t}"),
                    );
                }
            }
        }
    }
}

/// Sparse rows are the same as those written out.
#[test]
fn sparse_rows_are_rows() {
    let (rows, labels) = stream(60, &CUTS, 4);
    for belief in KINDS {
        let settings = OnlineSettings { standardise: Standardise::Never, ..settings(belief) };
        let mut dense = OnlineOrdered::with_settings(2, 4, settings.clone()).unwrap();
        let mut sparse = OnlineOrdered::with_settings(2, 4, settings).unwrap();
        for (x, &y) in rows.chunks(2).zip(&labels) {
            dense.update(x, y).unwrap();
            sparse.update((&[0, 1], x), y).unwrap();
        }
        let row = Row::Sparse { positions: &[1], values: &[2.0] };
        let (a, b) = (dense.predict(&[0.0, 2.0]).unwrap(), sparse.predict(row).unwrap());
        a.probabilities.iter().zip(&b.probabilities).for_each(|(a, b)| near(*a, *b, 1e-9, &format!("{belief:?}")));
    }
}

#[test]
fn it_goes_on_with_the_same_bits() {
    let (rows, labels) = stream(500, &CUTS, 5);
    for (belief, memory) in
        KINDS.into_iter().zip([Memory::Everything, Memory::Fading(0.99), Memory::Learned, Memory::Everything])
    {
        let settings = OnlineSettings { memory, ..settings(belief) };
        let mut model = OnlineOrdered::with_settings(2, 4, settings.clone()).unwrap();
        let mut again = OnlineOrdered::with_settings(2, 4, settings).unwrap();
        for (t, (x, &y)) in rows.chunks(2).zip(&labels).enumerate() {
            model.update(x, y).unwrap();
            if t % 97 == 0 {
                again = serde_json::from_str(&serde_json::to_string(&again).unwrap()).unwrap();
            }
            if t % 50 == 0 {
                again.update_batch(&rows[2 * t..2 * (t + 50)], &labels[t..t + 50]).unwrap();
            }
        }
        assert_eq!(serde_json::to_string(&model).unwrap(), serde_json::to_string(&again).unwrap(), "{belief:?}");
    }
    let stored = serde_json::to_string(&OnlineOrdered::new(2, 4).unwrap()).unwrap();
    for (from, to) in [("\"classes\":4", "\"classes\":5"), ("\"cuts\":2", "\"cuts\":3")] {
        assert!(stored.contains(from) && serde_json::from_str::<OnlineOrdered>(&stored.replace(from, to)).is_err());
    }
    assert!(serde_json::from_str::<OnlineSoftmax>(&stored).is_err());
}

/// Rows learned in a batch are looked at together where a row alone is one of the likelihood.
#[test]
fn wide_rows_in_batches_have_the_same_bits() {
    let (rows, labels) = stream(80 * 30, &CUTS, 9);
    let (d, labels) = (60, &labels[..80]);
    for belief in [BeliefKind::Full, BeliefKind::SquareRoot] {
        let mut one = OnlineOrdered::with_settings(d, 4, plain(belief)).unwrap();
        let mut all = one.clone();
        rows.chunks(d).zip(labels).for_each(|(x, y)| one.update(x, *y).unwrap());
        all.update_batch(&rows, labels).unwrap();
        assert_eq!(serde_json::to_string(&one).unwrap(), serde_json::to_string(&all).unwrap(), "{belief:?}");
    }
}

#[test]
fn parts_of_the_rows_merge() {
    let (rows, labels) = stream(1200, &CUTS, 6);
    let settings = OnlineSettings { standardise: Standardise::Never, ..OnlineSettings::default() };
    let learned = |from: usize, to: usize| {
        let mut model = OnlineOrdered::with_settings(2, 4, settings.clone()).unwrap();
        model.update_batch(&rows[2 * from..2 * to], &labels[from..to]).unwrap();
        model
    };
    let (whole, mut parts) = (learned(0, 1200), learned(0, 400));
    parts.merge(&[&learned(400, 800), &learned(800, 1200)]).unwrap();
    assert_eq!(parts.observations(), 1200);
    for (one, other) in whole.coefficients().unwrap().iter().zip(parts.coefficients().unwrap()) {
        let sd = one.belief.standard_deviation();
        near(one.belief.mean(), other.belief.mean(), 0.2 * sd, &one.name);
        near(sd, other.belief.standard_deviation(), 0.05 * sd, &one.name);
    }
    let five = OnlineOrdered::with_settings(2, 5, settings.clone()).unwrap();
    assert!(matches!(parts.merge(&[&five]), Err(ModelError::Unlike { .. })));
}

/// Kept rows can be refined and diagnosed, and passes over rows elsewhere find nearly the same.
#[test]
fn refinement_is_that_of_the_steps() {
    let (rows, labels) = stream(150, &CUTS, 7);
    let settings = OnlineSettings { keep_rows: true, ..OnlineSettings::default() };
    let mut model = OnlineOrdered::with_settings(2, 4, settings).unwrap();
    model.update_batch(&rows, &labels).unwrap();
    let mut over = model.clone();
    assert!(model.refine(&RefineSettings::default()).unwrap().sweeps > 0);
    let k_hat = model.diagnose(4000, &mut ChaCha8Rng::seed_from_u64(1)).unwrap().k_hat.unwrap();
    assert!(k_hat < 0.7, "{k_hat}");
    over.refine_over(&BatchSettings::default(), |take| {
        rows.chunks(2).zip(&labels).try_for_each(|(x, y)| take(Row::Dense(x), Observation::new(*y)))
    })
    .unwrap_or_else(|error: ModelError| panic!("{error}"));
    for (one, other) in model.coefficients().unwrap().iter().zip(over.coefficients().unwrap()) {
        near(one.belief.mean(), other.belief.mean(), 0.1 * one.belief.standard_deviation(), &one.name);
    }
    assert_eq!(
        model.coefficients().unwrap().iter().map(|c| c.name.as_str()).collect::<Vec<_>>(),
        ["0|1", "1|2", "2|3", "x0", "x1"]
    );
}

#[test]
fn wrong_labels_leave_the_model_unchanged() {
    let (rows, labels) = stream(80, &CUTS, 8);
    for belief in KINDS {
        let mut model = OnlineOrdered::with_settings(2, 4, settings(belief)).unwrap();
        model.update_batch(&rows, &labels).unwrap();
        let before = serde_json::to_string(&model).unwrap();
        for label in [-1.0, 4.0, 0.5, f64::NAN] {
            assert!(matches!(model.update(&[0.1, 0.2], label), Err(ModelError::Core(vi_core::Error::Label { .. }))));
        }
        assert!(model.update(&[0.1, 0.2], Observation::new(1.0).trials(2.0)).is_err());
        assert!(model.update(&[0.1, 0.2], Observation::new(3.0).weight(-1.0)).is_err());
        assert!(model.update(&[f64::NAN, 0.0], 3.0).is_err());
        assert!(model.update(&[0.1], 3.0).is_err());
        assert_eq!(serde_json::to_string(&model).unwrap(), before);
        assert!(model.predict_at(&[0.1, 0.2], f64::INFINITY).is_err());
    }
    for classes in [0, 1, 257] {
        assert!(OnlineOrdered::new(2, classes).is_err());
    }
}

/// Of 200 data sets, 90 % intervals of weights and cut points hold as many as they promise, and so do those of few rows.
#[test]
fn intervals_hold_the_truth() {
    let replications = 200_u32;
    for n in [60, 300] {
        let mut held = [0_u32; 5];
        for seed in 0..replications {
            let (rows, labels) = stream(n, &CUTS, 1000 + u64::from(seed));
            let mut model = OnlineOrdered::new(2, 4).unwrap();
            model.update_batch(&rows, &labels).unwrap();
            let truth = CUTS.iter().chain(&WEIGHTS);
            for ((held, found), truth) in held.iter_mut().zip(model.coefficients().unwrap()).zip(truth) {
                *held += u32::from(found.belief.interval(0.9).unwrap().contains(*truth));
            }
        }
        // Three standard errors of so many tries.
        let shares = held.map(|held| f64::from(held) / f64::from(replications));
        let off = 3.0 * (0.09 / f64::from(replications)).sqrt();
        assert!(shares.iter().all(|share| (share - 0.9).abs() < off), "{n}: {shares:?}");
    }
}

/// One predictor needs fewer rows than one for each class.
#[test]
fn it_beats_a_softmax_by_few_rows() {
    let cuts = [-1.2, -0.4, 0.2, 0.6];
    let (mut gain, mut squares, replications) = (0.0, 0.0, 40);
    for seed in 0..replications {
        let (rows, labels) = stream(60 + 500, &cuts, 2000 + seed);
        let mut ordered = OnlineOrdered::new(2, 5).unwrap();
        let mut softmax = OnlineSoftmax::new(2, 5).unwrap();
        ordered.update_batch(&rows[..120], &labels[..60]).unwrap();
        softmax.update_batch(&rows[..120], &labels[..60]).unwrap();
        let score = |of: &dyn Fn(&[f64]) -> Vec<f64>| {
            let held_out = rows[120..].chunks(2).zip(&labels[60..]);
            held_out.map(|(x, y)| log_probability(&of(x), *y)).sum::<f64>() / 500.0
        };
        let own = score(&|x| ordered.predict(x).unwrap().probabilities);
        let gained = own - score(&|x| softmax.predict(x).unwrap().probabilities);
        gain += gained / replications as f64;
        squares += gained * gained / replications as f64;
    }
    let error = ((squares - gain * gain) / replications as f64).sqrt();
    assert!(gain > 5.0 * error && gain > 0.02, "{gain} {error}");
}
