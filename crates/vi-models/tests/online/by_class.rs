//! Classes with a belief of their own each.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use vi_core::Stop;
use vi_core::batch::BatchSettings;
use vi_models::ModelError;
use vi_models::online::{
    BeliefKind, Memory, Observation, OnlineSettings, OnlineSoftmax, PriorScale, Row, Standardise, Start,
};
use vi_models::softmax::SoftmaxRefineSettings;

use crate::KINDS;

const D: usize = 3;

/// `n` rows and classes of a softmax of `classes`, the weights of each class drawn from `N(0, 1.5²)`.
fn classified(n: usize, classes: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    drawn(n, (D, classes), 1.5, seed)
}

/// The same of any width, the weights drawn from `N(0, scale²)`.
fn drawn(n: usize, (d, classes): (usize, usize), scale: f64, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let weights: Vec<f64> = (0..classes * d).map(|_| scale * rng.sample::<f64, _>(StandardNormal)).collect();
    let rows: Vec<f64> = (0..n * d).map(|_| rng.sample(StandardNormal)).collect();
    let mut draw = |x: &[f64]| {
        let mut best = (f64::NEG_INFINITY, 0);
        for (c, w) in weights.chunks(d).enumerate() {
            let gumbel = -(-rng.random::<f64>().ln()).ln();
            let value = w.iter().zip(x).map(|(w, x)| w * x).sum::<f64>() + gumbel;
            best = if value > best.0 { (value, c) } else { best };
        }
        best.1 as f64
    };
    let labels = rows.chunks(d).map(&mut draw).collect();
    (rows, labels)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a class")]
fn log_loss(model: &OnlineSoftmax, rows: &[f64], labels: &[f64]) -> f64 {
    let scores = rows
        .chunks(rows.len() / labels.len())
        .zip(labels)
        .map(|(x, y)| -model.predict(x).unwrap().probabilities[*y as usize].ln());
    scores.sum::<f64>() / labels.len() as f64
}

#[test]
fn independent_classes_predict_all_but_as_well_as_one_belief_over_all() {
    let (learn, new) = (400, 400);
    let (mut joint_loss, mut apart_loss) = (0.0, 0.0);
    for seed in 0..4 {
        let (rows, labels) = classified(learn + new, 5, seed);
        let loss = |mut model: OnlineSoftmax| {
            model.update_batch(&rows[..D * learn], &labels[..learn]).unwrap();
            log_loss(&model, &rows[D * learn..], &labels[learn..])
        };
        joint_loss += loss(OnlineSoftmax::joint(D, 5, OnlineSettings::default()).unwrap()) / 4.0;
        apart_loss += loss(OnlineSoftmax::by_class(D, 5, OnlineSettings::default()).unwrap()) / 4.0;
    }
    // Five classes guessed at are 1.6 nats; a hundredth of that.
    assert!(apart_loss < joint_loss + 0.016, "{apart_loss} {joint_loss}");
    assert!(joint_loss < 1.0);
}

#[test]
fn batches_and_documents_keep_the_bits_for_every_belief_and_memory() {
    let (rows, labels) = classified(90, 4, 21);
    for belief in KINDS {
        for memory in [Memory::Everything, Memory::Fading(0.99), Memory::Learned] {
            let settings = OnlineSettings { belief, memory, ..OnlineSettings::default() };
            let mut looped = OnlineSoftmax::by_class(D, 4, settings).unwrap();
            let mut batched = looped.clone();
            rows.chunks(D).zip(&labels).for_each(|(x, y)| looped.update(x, *y).unwrap());
            batched.update_batch(&rows[..D * 60], &labels[..60]).unwrap();
            let text = serde_json::to_string(&batched).unwrap();
            let mut again: OnlineSoftmax = serde_json::from_str(&text).unwrap();
            again.update_batch(&rows[D * 60..], &labels[60..]).unwrap();
            let text = serde_json::to_string(&looped).unwrap();
            assert_eq!(text, serde_json::to_string(&again).unwrap(), "{belief:?} {memory:?}");
            let before = text;
            assert!(looped.update(&rows[..D], 4.0).is_err() && looped.update(&[f64::NAN; D], 1.0).is_err());
            assert_eq!(before, serde_json::to_string(&looped).unwrap());
        }
    }
}

#[test]
fn weights_are_told_relative_to_the_first_class() {
    let (rows, labels) = classified(200, 4, 22);
    let mut model = OnlineSoftmax::by_class(D, 4, OnlineSettings::default()).unwrap();
    model.update_batch(&rows, &labels).unwrap();
    let (x, weights) = (&rows[..D], model.weights());
    assert_eq!(weights.len(), 3);
    for (class, draw) in (1..4).zip(&weights) {
        let seen = model.predictor(x, class).unwrap();
        // Rounding of a few products.
        assert!((seen.mean() - draw.score(x).unwrap()).abs() < 64.0 * f64::EPSILON * (1.0 + seen.mean().abs()));
        assert!((model.weight(class, 1).unwrap().mean() - draw.weights[1]).abs() < 64.0 * f64::EPSILON * 10.0);
    }
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    let n = 4000;
    let draws: Vec<f64> = (0..n).map(|_| model.sample(rng).unwrap()[1].score(x).unwrap()).collect();
    let seen = model.predictor(x, 2).unwrap();
    let mean = draws.iter().sum::<f64>() / f64::from(n);
    let variance = draws.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / f64::from(n);
    // Five standard errors, of the variance 5·√(2/n) of it.
    assert!((mean - seen.mean()).abs() < 5.0 * seen.standard_deviation() / f64::from(n).sqrt());
    assert!((variance / seen.variance() - 1.0).abs() < 5.0 * (2.0 / f64::from(n)).sqrt());
}

#[test]
fn shards_of_independent_classes_merge() {
    let (rows, labels) = classified(600, 3, 23);
    let standardise = Standardise::Fixed { centres: vec![0.0; D], scales: vec![1.0; D] };
    let settings = OnlineSettings { standardise, ..OnlineSettings::default() };
    let learned = |from: usize, to: usize| {
        let mut model = OnlineSoftmax::by_class(D, 3, settings.clone()).unwrap();
        model.update_batch(&rows[D * from..D * to], &labels[from..to]).unwrap();
        model
    };
    let (mut merged, other, whole) = (learned(0, 300), learned(300, 600), learned(0, 600));
    merged.merge(&[&other]).unwrap();
    let (a, b) = (merged.predictor(&rows[..D], 1).unwrap(), whole.predictor(&rows[..D], 1).unwrap());
    // One pass in two halves or in one: within a standard deviation, and as sure to a tenth.
    assert!((a.mean() - b.mean()).abs() < b.standard_deviation());
    assert!((a.standard_deviation() / b.standard_deviation() - 1.0).abs() < 0.1);
}

/// A world that one pass from a wide prior gets wrong: labels of 10 classes are noisy, and the prior's scale is eight times too large.
#[test]
fn sweeps_over_the_first_rows_mend_a_wide_prior() {
    let (rows, labels) = classified(800, 10, 31);
    let loss = |start: Start| {
        let settings = OnlineSettings { prior_scale: PriorScale::Given(12.0), start, ..OnlineSettings::default() };
        let mut model = OnlineSoftmax::by_class(D, 10, settings).unwrap();
        model.update_batch(&rows[..D * 400], &labels[..400]).unwrap();
        log_loss(&model, &rows[D * 400..], &labels[400..])
    };
    let (swept, one_pass) = (loss(Start::Fitted), loss(Start::OnePass));
    assert!(swept < one_pass - 0.02, "{swept} {one_pass}");
}

/// The scale of the weights is 1.5: of the ladder's rungs 1.6 is nearest, and those far from it are given up.
#[test]
fn the_evidence_finds_the_prior_scale() {
    let (rows, labels) = classified(1000, 6, 32);
    let mut model = OnlineSoftmax::by_class(D, 6, OnlineSettings::default()).unwrap();
    model.update_batch(&rows, &labels).unwrap();
    let info = model.info();
    assert!((info.prior_scale / 1.5).ln().abs() < 2.0_f64.ln(), "{:?}", info.prior_scales);
    assert!(info.prior_scales.len() < 7, "{:?}", info.prior_scales);
}

#[test]
fn sweeps_over_kept_rows_end_and_rows_elsewhere_do_the_same() {
    let (rows, labels) = classified(700, 5, 33);
    let (learn, kept) = (300, OnlineSettings { keep_rows: true, ..OnlineSettings::default() });
    let mut swept = OnlineSoftmax::by_class(D, 5, kept).unwrap();
    let mut passed = OnlineSoftmax::by_class(D, 5, OnlineSettings::default()).unwrap();
    for model in [&mut swept, &mut passed] {
        model.update_batch(&rows[..D * learn], &labels[..learn]).unwrap();
    }
    let before = log_loss(&swept, &rows[D * learn..], &labels[learn..]);
    let info = swept.refine(&SoftmaxRefineSettings::default()).unwrap();
    assert_eq!((info.stop, info.skipped), (Stop::Converged, 0));
    // The sampling of 400 losses leaves some hundredths.
    let after = log_loss(&swept, &rows[D * learn..], &labels[learn..]);
    assert!(after < before + 0.02, "{after} {before}");
    let settings = BatchSettings { tolerance: SoftmaxRefineSettings::default().tolerance, max_passes: 50 };
    let pass = |take: &mut dyn FnMut(Row<'_>, Observation) -> Result<(), ModelError>| {
        rows[..D * learn].chunks(D).zip(&labels).try_for_each(|(x, y)| take(Row::Dense(x), Observation::new(*y)))
    };
    let told = passed.refine_over::<ModelError>(&settings, |take| pass(take)).unwrap();
    assert_eq!((told.passes, told.stop), (info.sweeps, Stop::Converged));
    for x in rows.chunks(D).take(10) {
        assert_eq!(swept.predict(x).unwrap(), passed.predict(x).unwrap());
    }
    let short = |take: &mut dyn FnMut(Row<'_>, Observation) -> Result<(), ModelError>| {
        take(Row::Dense(&rows[..D]), Observation::new(0.0))
    };
    assert!(passed.refine_over::<ModelError>(&settings, |take| short(take)).is_err());
    // The density of the posterior is that of one belief over all weights, whichever belief learned it.
    let rng = &mut ChaCha8Rng::seed_from_u64(5);
    assert!(swept.diagnose(100, rng).unwrap().k_hat.is_some());
    assert_eq!(swept.posterior().unwrap().names().len(), 4 * (D + 1));
}

/// With few rows for each of 202 weights the fit of the first rows has all of them, as a refinement has; one pass loses.
#[test]
fn classes_apart_are_fitted_to_many_first_rows() {
    const WIDE: usize = 100;
    let (learn, new) = (1500, 1000);
    let (rows, labels) = drawn(learn + new, (WIDE, 3), 0.3, 7);
    let loss = |model: &OnlineSoftmax| log_loss(model, &rows[WIDE * learn..], &labels[learn..]);
    let learned = |start: Start| {
        let settings = OnlineSettings { start, keep_rows: true, ..OnlineSettings::default() };
        let mut model = OnlineSoftmax::by_class(WIDE, 3, settings).unwrap();
        model.update_batch(&rows[..WIDE * learn], &labels[..learn]).unwrap();
        model.catch_up().unwrap();
        model
    };
    let (mut fitted, one_pass) = (learned(Start::Fitted), loss(&learned(Start::OnePass)));
    let loss_of_fit = loss(&fitted);
    fitted.refine(&SoftmaxRefineSettings::default()).unwrap();
    let refined = loss(&fitted);
    assert!(loss_of_fit < refined + 0.01 && one_pass > refined + 0.01, "{loss_of_fit} {one_pass} {refined}");
}

#[test]
fn what_classes_apart_cannot_do_is_refused() {
    assert!(OnlineSoftmax::by_class(2, 1, OnlineSettings::default()).is_err());
    assert!(OnlineSoftmax::by_class(1 << 20, 1000, OnlineSettings::default()).is_err());
    let diagonal = OnlineSettings { belief: BeliefKind::Diagonal, ..OnlineSettings::default() };
    assert!(OnlineSoftmax::with_settings(2, 3, diagonal.clone()).unwrap().is_by_class());
    assert!(matches!(OnlineSoftmax::joint(2, 3, diagonal.clone()), Err(ModelError::Unsupported { .. })));
    let mut model = OnlineSoftmax::by_class(2, 3, diagonal).unwrap();
    model.update(&[1.0, 2.0], 2.0).unwrap();
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    assert!(matches!(model.diagnose(100, rng), Err(ModelError::NotKept)));
    let document = serde_json::to_value(&model).unwrap();
    for (path, value) in [
        ("/members/0/belief/Apart", serde_json::json!([])),
        ("/family/classes", serde_json::json!(4)),
        ("/family/apart", serde_json::json!(false)),
    ] {
        let mut damaged = document.clone();
        damaged["seal"]["checksum"] = serde_json::Value::Null;
        *damaged.pointer_mut(path).unwrap() = value;
        assert!(serde_json::from_value::<OnlineSoftmax>(damaged).is_err(), "{path}");
    }
}

#[test]
fn more_than_three_classes_and_many_weights_are_believed_by_class() {
    let apart = |model: Result<OnlineSoftmax, ModelError>| {
        serde_json::to_value(model.unwrap()).unwrap()["family"]["apart"].as_bool().unwrap()
    };
    let kept = OnlineSettings { keep_rows: true, ..OnlineSettings::default() };
    // 64 · 2 = 128 weights, 65 · 2, and few.
    assert!(!apart(OnlineSoftmax::new(63, 3)) && apart(OnlineSoftmax::new(64, 3)) && !apart(OnlineSoftmax::new(3, 3)));
    assert!(apart(OnlineSoftmax::new(3, 4)) && apart(OnlineSoftmax::with_settings(64, 3, kept)));
    assert!(!apart(OnlineSoftmax::joint(64, 3, OnlineSettings::default())));
    assert!(apart(OnlineSoftmax::by_class(3, 3, OnlineSettings::default())));
}

#[test]
fn sweeps_over_no_rows_are_refused() {
    let settings = OnlineSettings { keep_rows: true, ..OnlineSettings::default() };
    let mut model = OnlineSoftmax::by_class(D, 4, settings).unwrap();
    let before = serde_json::to_string(&model).unwrap();
    let swept = model.refine(&SoftmaxRefineSettings::default());
    assert!(matches!(swept, Err(ModelError::Core(vi_core::Error::Empty { .. }))), "{swept:?}");
    let passed = model.refine_over(&vi_core::batch::BatchSettings::default(), |_| Ok::<_, ModelError>(()));
    assert!(matches!(passed, Err(ModelError::Core(vi_core::Error::Empty { .. }))), "{passed:?}");
    assert_eq!(serde_json::to_string(&model).unwrap(), before);
}
