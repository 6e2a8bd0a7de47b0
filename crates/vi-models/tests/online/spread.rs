//! Counts whose spread is learned.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Gamma, Poisson, StandardNormal};
use vi_core::refine::RefineSettings;
use vi_models::online::family::{LearnedSpread, SpreadCounts};
use vi_models::online::{BeliefKind, Memory, Observation, OnlineGlm, OnlineSettings, Standardise};

use crate::KINDS;

/// `n` rows of 2 inputs and counts of mean `exp(1 + ½x₀ − 0.3x₁)` and a size.
fn counts(n: usize, size: f64, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let rows: Vec<f64> = (0..2 * n).map(|_| rng.sample(StandardNormal)).collect();
    let mut draw = |x: &[f64]| {
        let mean = (1.0 + 0.5 * x[0] - 0.3 * x[1]).exp();
        let rate: f64 = Gamma::new(size, mean / size).unwrap().sample(&mut rng);
        if rate < f64::MIN_POSITIVE { 0.0 } else { Poisson::new(rate).unwrap().sample(&mut rng) }
    };
    let labels = rows.chunks(2).map(&mut draw).collect();
    (rows, labels)
}

fn log_loss<F: vi_models::online::family::GlmFamily>(model: &OnlineGlm<F>, rows: &[f64], labels: &[f64]) -> f64 {
    let at = Observation::new(0.0);
    let scores = rows.chunks(2).zip(labels).map(|(x, y)| -model.predict(x, at).unwrap().log_density(*y).unwrap());
    scores.sum::<f64>() / labels.len() as f64
}

/// Of 40 sizes drawn from the prior's middle, 90 % intervals hold as many as they promise.
#[test]
fn intervals_of_the_size_hold_the_truth() {
    for (n, first) in [(40, 0), (300, 100)] {
        let (replications, mut held) = (40, 0);
        for k in 0..replications {
            let truth: f64 = ChaCha8Rng::seed_from_u64(500 + first + k).sample::<f64, _>(StandardNormal) * 0.7;
            let (rows, labels) = counts(n, truth.exp(), first + k);
            let mut model = OnlineGlm::new(2, LearnedSpread).unwrap();
            model.update_batch(&rows, &labels).unwrap();
            held += u32::from(model.log_size().interval(0.9).unwrap().contains(truth));
        }
        // Three standard errors of 40 tries are 14 points.
        let share = f64::from(held) / replications as f64;
        assert!((share - 0.9).abs() < 3.0 * (0.09 / replications as f64).sqrt(), "{n}: {share}");
    }
}

#[test]
fn a_learned_size_predicts_as_the_true_one_does() {
    let (rows, labels) = counts(3000, 2.0, 7);
    let (learn, new) = (2000_usize, 1000_usize);
    let mut learned = OnlineGlm::new(2, LearnedSpread).unwrap();
    learned.update_batch(&rows[..2 * learn], &labels[..learn]).unwrap();
    let given = |size: f64| {
        let mut model = OnlineGlm::new(2, SpreadCounts { size }).unwrap();
        model.update_batch(&rows[..2 * learn], &labels[..learn]).unwrap();
        (log_loss(&model, &rows[2 * learn..], &labels[learn..]), model.evidence())
    };
    let (true_loss, true_evidence) = given(2.0);
    let loss = log_loss(&learned, &rows[2 * learn..], &labels[learn..]);
    // A parameter that is off by z standard deviations costs ½z²/n nats a row on the average; the new rows, whose slopes have the
    // Fisher information's size, scatter by z/√(n·new) about it. At z = 3.
    let tolerance = 4.5 / learn as f64 + 3.0 / ((learn * new) as f64).sqrt();
    assert!((loss - true_loss).abs() < tolerance, "{loss} {true_loss}");
    let cost = true_evidence - learned.evidence();
    assert!(cost > -2.0 && cost < 4.0 * 0.5 * (learn as f64).ln(), "{cost}");
    for wrong in [0.4, 20.0] {
        let (wrong_loss, wrong_evidence) = given(wrong);
        assert!(wrong_loss > loss + 0.02 && wrong_evidence < learned.evidence() - 20.0, "{wrong}");
    }
}

#[test]
fn batches_and_documents_keep_the_bits_for_every_belief() {
    let (rows, labels) = counts(90, 2.0, 9);
    for belief in KINDS {
        for memory in [Memory::Everything, Memory::Fading(0.99), Memory::Learned] {
            let settings = OnlineSettings { belief, memory, ..OnlineSettings::default() };
            let mut looped = OnlineGlm::with_settings(2, LearnedSpread, settings).unwrap();
            let mut batched = looped.clone();
            rows.chunks(2).zip(&labels).for_each(|(x, y)| looped.update(x, *y).unwrap());
            batched.update_batch(&rows[..120], &labels[..60]).unwrap();
            let text = serde_json::to_string(&batched).unwrap();
            let mut again: OnlineGlm<LearnedSpread> = serde_json::from_str(&text).unwrap();
            again.update_batch(&rows[120..], &labels[60..]).unwrap();
            let text = serde_json::to_string(&looped).unwrap();
            assert_eq!(text, serde_json::to_string(&again).unwrap(), "{belief:?} {memory:?}");
            assert!(serde_json::from_str::<OnlineGlm<SpreadCounts>>(&text).is_err());
        }
    }
}

#[test]
fn shards_learn_the_size_together() {
    let (rows, labels) = counts(1200, 2.0, 11);
    let standardise = Standardise::Fixed { centres: vec![0.0; 2], scales: vec![1.0; 2] };
    let settings = OnlineSettings { standardise, ..OnlineSettings::default() };
    let mut whole = OnlineGlm::with_settings(2, LearnedSpread, settings.clone()).unwrap();
    whole.update_batch(&rows, &labels).unwrap();
    let shard = |k: usize| {
        let mut model = OnlineGlm::with_settings(2, LearnedSpread, settings.clone()).unwrap();
        model.update_batch(&rows[800 * k..800 * (k + 1)], &labels[400 * k..400 * (k + 1)]).unwrap();
        model
    };
    let (mut merged, others) = (shard(0), [shard(1), shard(2)]);
    let alone = merged.log_size().standard_deviation();
    merged.merge(&[&others[0], &others[1]]).unwrap();
    let (a, b) = (merged.log_size(), whole.log_size());
    assert!((a.mean() - b.mean()).abs() < 0.5 * b.standard_deviation(), "{} {}", a.mean(), b.mean());
    assert!((a.standard_deviation() / b.standard_deviation() - 1.0).abs() < 0.1);
    assert!(a.standard_deviation() < 0.75 * alone);
}

#[test]
fn what_is_stored_of_a_size_is_checked() {
    let (rows, labels) = counts(60, 2.0, 12);
    let mut model = OnlineGlm::with_settings(2, LearnedSpread, OnlineSettings::default()).unwrap();
    model.update_batch(&rows, &labels).unwrap();
    let document = serde_json::to_value(&model).unwrap();
    for (path, value) in [
        ("/members/0/state/variance", serde_json::json!(-1.0)),
        ("/members/0/state/variance", serde_json::json!(0.0)),
        ("/members/0/state/variance", serde_json::json!(1e9)),
        ("/members/0/state/mean", serde_json::json!(null)),
    ] {
        let mut damaged = document.clone();
        damaged["seal"]["checksum"] = serde_json::Value::Null;
        *damaged.pointer_mut(path).unwrap() = value;
        assert!(serde_json::from_value::<OnlineGlm<LearnedSpread>>(damaged).is_err(), "{path}");
    }
    let before = serde_json::to_string(&model).unwrap();
    assert!(model.update(&[0.0, 0.0], -1.0).is_err() && model.update(&[0.0, 0.0], 0.5).is_err());
    assert!(model.update(&[0.0, 0.0], Observation::new(1.0).trials(2.0)).is_err());
    assert_eq!(before, serde_json::to_string(&model).unwrap());
    assert_eq!(model.settings().belief, BeliefKind::Full);
    // A count far beyond all others is learned and leaves numbers.
    model.update(&[0.0, 0.0], 1e9).unwrap();
    assert!(model.log_size().mean().is_finite() && model.predict(&[0.0, 0.0], 0.0.into()).unwrap().mean.is_finite());
}

/// One pass over sorted counts misses size and weights; refinement finds both from all rows.
#[test]
fn refinement_learns_the_size_anew() {
    let (n, settings) = (1500, OnlineSettings { keep_rows: true, ..OnlineSettings::default() });
    let (rows, labels) = counts(n, 2.0, 77);
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| labels[i].total_cmp(&labels[j]));
    let refined = |order: &[usize]| {
        let mut model = OnlineGlm::with_settings(2, LearnedSpread, settings.clone()).unwrap();
        for &i in order {
            model.update(&rows[2 * i..2 * i + 2], labels[i]).unwrap();
        }
        let before = model.log_size().mean();
        model.refine(&RefineSettings::default()).unwrap();
        (before, model)
    };
    let (before, sorted) = refined(&order);
    let (_, plain) = refined(&(0..n).collect::<Vec<_>>());
    let (found, expected) = (sorted.log_size(), plain.log_size());
    let spread = expected.standard_deviation();
    assert!(
        (before - expected.mean()).abs() > 2.0 * spread,
        "the order does not mislead: {before} {}",
        expected.mean()
    );
    // The prior scales of the two are placed on their own.
    assert!((found.mean() - expected.mean()).abs() < 0.1 * spread, "{} {}", found.mean(), expected.mean());
    assert!((sorted.evidence() - plain.evidence()).abs() < 0.5, "{} {}", sorted.evidence(), plain.evidence());
}
