//! Hashed features: many more weights than a row touches.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use vi_models::online::family::Counts;
use vi_models::online::{
    BeliefKind, OnlineGlm, OnlineLinear, OnlineLogistic, OnlineSettings, PriorScale, Rows, Standardise,
};

use crate::{bits, stream};

/// A million hashed weights of low rank: rows rewrite what they touch, whatever the family; the stored model goes on to the same bits, and
/// the bank of prior scales is compared by its evidence.
#[test]
fn hashed_rows_of_low_rank_touch_few_weights() {
    const PLACES: usize = 1 << 17;
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let settings = OnlineSettings {
        belief: BeliefKind::LowRank { rank: 3 },
        prior_scale: PriorScale::Among(vec![0.1, 1.0]),
        standardise: Standardise::Never,
        ..OnlineSettings::default()
    };
    let mut logistic = OnlineLogistic::with_settings(PLACES, settings.clone()).unwrap();
    let mut linear = OnlineLinear::with_settings(PLACES, settings.clone(), 1.0, 1.0).unwrap();
    let mut counts = OnlineGlm::with_settings(PLACES, Counts, settings).unwrap();
    let values = [1.0, -0.5, 2.0];
    let row = |rng: &mut ChaCha8Rng| {
        let group = rng.random_range(0..4_usize);
        [group * 7, 1000 + group * 11 + rng.random_range(0..2_usize), 50_000 + rng.random_range(0..40_usize)]
    };
    let mut stored = String::new();
    for t in 0..200 {
        if t == 150 {
            stored = serde_json::to_string(&logistic).unwrap();
        }
        let x = row(&mut rng);
        let label = f64::from(u8::from(x[0] > 10));
        logistic.update((&x, &values), label).unwrap();
        linear.update((&x, &values), label).unwrap();
        counts.update((&x, &values), label).unwrap();
    }
    for (scales, owed) in [
        (logistic.info().prior_scales, logistic.info().owed),
        (linear.info().prior_scales, linear.info().owed),
        (counts.info().prior_scales, counts.info().owed),
    ] {
        assert!(scales.len() == 2 && scales[0].1 != scales[1].1, "the evidence tells scales apart: {scales:?}");
        // The sweep of each block takes all of the few weights that were ever touched.
        assert!((0.0..1e-9).contains(&owed), "{owed}");
    }
    assert!(logistic.predict((&[21, 1033, 50_001], &values)).unwrap().probability > 0.8);

    let mut again: OnlineLogistic = serde_json::from_str(&stored).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    for t in 0..200 {
        let x = row(&mut rng);
        if t >= 150 {
            again.update((&x, &values), f64::from(u8::from(x[0] > 10))).unwrap();
        }
    }
    assert!(bits(&again) == bits(&logistic), "the same bits after a stop");

    // Draws of scores have the means of the predictions, and candidates that are the same the same score.
    let candidates = Rows::Sparse {
        starts: &[0, 3, 6, 9],
        positions: &[0, 1000, 50_003, 21, 1033, 50_001, 21, 1033, 50_001],
        values: &[1.0, -0.5, 2.0, 1.0, -0.5, 2.0, 1.0, -0.5, 2.0],
    };
    let n = 2000;
    let mut sums = [0.0; 3];
    for _ in 0..n {
        let drawn = linear.sample_scores(candidates, &mut rng).unwrap();
        assert!((drawn[1] - drawn[2]).abs() < 1e-6);
        sums.iter_mut().zip(&drawn).for_each(|(sum, drawn)| *sum += drawn / f64::from(n));
    }
    let expected = linear.predict((&[21, 1033, 50_001], &values)).unwrap();
    assert!((sums[1] - expected.mean()).abs() < 0.05, "{} {}", sums[1], expected.mean());
    assert!(
        linear.sample_scores(Rows::Sparse { starts: &[0, 1], positions: &[PLACES], values: &[1.0] }, &mut rng).is_err()
    );
}

/// Shorter blocks project at other rows, to a posterior within a quarter of a standard deviation; they are stored, and are checked before memory is asked for.
#[test]
fn rows_gather_in_blocks_of_the_length_that_is_set() {
    const PLACES: usize = 1 << 14;
    let learned = |belief| {
        let settings = OnlineSettings {
            belief,
            prior_scale: PriorScale::Given(0.5),
            standardise: Standardise::Never,
            ..OnlineSettings::default()
        };
        let mut model = OnlineLogistic::with_settings(PLACES, settings).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(8);
        for _ in 0..402 {
            let (group, word) = (rng.random_range(0..4_usize), rng.random_range(0..300_usize));
            let x = [group, 100 + 10 * group + word % 3, 1000 + word];
            model.update((&x, &[1.0, 1.0, 1.0]), f64::from(u8::from(group > 1))).unwrap();
        }
        model
    };
    let (long, short) =
        (learned(BeliefKind::LowRank { rank: 4 }), learned(BeliefKind::LowRankInBlocks { rank: 4, block: 4 }));
    for word in 0..40 {
        let row = [word % 4, 100 + 10 * (word % 4), 1000 + word];
        let [long, short] = [&long, &short].map(|model| model.predictor((&row, &[1.0, 1.0, 1.0]), 0.0).unwrap());
        let apart = (long.mean() - short.mean()).abs() / long.variance().sqrt();
        assert!(apart > 0.0 && apart < 0.25, "{apart} standard deviations");
        assert!((long.variance() / short.variance()).ln().abs() < 0.25, "{} {}", long.variance(), short.variance());
    }
    let again: OnlineLogistic = serde_json::from_str(&bits(&short)).unwrap();
    assert_eq!(bits(&again), bits(&short));
    let other = bits(&short).replace("\"block\":4", "\"block\":5");
    assert!(serde_json::from_str::<OnlineLogistic>(&other).is_err());
    for block in [0, 1 << 20] {
        let belief = BeliefKind::LowRankInBlocks { rank: 4, block };
        let refused = OnlineLogistic::with_settings(9, OnlineSettings { belief, ..OnlineSettings::default() });
        assert!(refused.unwrap_err().to_string().contains("block"));
    }
}

/// A row of `d` inputs with these entries, written out.
fn written(d: usize, at: &[usize], values: &[f64]) -> Vec<f64> {
    let mut row = vec![0.0; d];
    at.iter().zip(values).for_each(|(&j, value)| row[j] = *value);
    row
}

/// The default takes many mostly empty inputs as they come, however their rows are given, and centres and scales all others.
#[test]
fn many_inputs_of_which_few_are_not_zero_stay_as_they_are() {
    let (rows, labels) = stream(80, 14);
    // The first is in every row: its mean and deviation are not 0 and 1.
    let at = |d: usize, t: usize| [0, 1 + t % 7, d / 2 + 31 * t % (d / 2)];
    let values = |t: usize| [4.0 + rows[3 * t], rows[3 * t + 1], rows[3 * t + 2]];
    let model = |d: usize, standardise: Standardise, dense: bool| {
        let settings = OnlineSettings { belief: BeliefKind::Diagonal, standardise, ..OnlineSettings::default() };
        let mut model = OnlineLogistic::with_settings(d, settings).unwrap();
        for (t, &label) in labels.iter().enumerate() {
            let (at, values) = (at(d, t), values(t));
            if dense {
                model.update(&written(d, &at, &values), label).unwrap();
            } else {
                model.update((&at, &values), label).unwrap();
            }
        }
        let text = serde_json::to_string(&model).unwrap();
        let read: OnlineLogistic = serde_json::from_str(&text).unwrap();
        assert_eq!(text, serde_json::to_string(&read).unwrap());
        read.predict((&at(d, 3), &values(3))).unwrap().predictor.mean() + 1e-3 * read.evidence()
    };
    let first = || Standardise::FirstRows { rows: Standardise::ROWS, centre: true };
    // The same arithmetic in the same order; an entry that is 0 adds nothing.
    let kept = model(5000, Standardise::Never, false);
    assert_eq!(kept.to_bits(), model(5000, Standardise::Chosen, false).to_bits());
    assert!((kept / model(5000, Standardise::Chosen, true) - 1.0).abs() < 1e-12);
    assert!((kept - model(5000, first(), false)).abs() > 1e-3);
    for d in [20, 4096] {
        assert_eq!(model(d, Standardise::Chosen, false).to_bits(), model(d, first(), false).to_bits(), "{d}");
    }
}

#[test]
fn many_inputs_of_which_most_are_not_zero_are_centred() {
    let d = 4200;
    let settings = OnlineSettings { belief: BeliefKind::Diagonal, ..OnlineSettings::default() };
    let mut model = OnlineLogistic::with_settings(d, settings.clone()).unwrap();
    let standardise = Standardise::FirstRows { rows: Standardise::ROWS, centre: true };
    let mut same = OnlineLogistic::with_settings(d, OnlineSettings { standardise, ..settings }).unwrap();
    let row = |t: usize| (0..d).map(|j| 100.0 + ((t * 31 + j * 17) % 23) as f64).collect::<Vec<f64>>();
    for t in 0..52 {
        model.update(&row(t), (t % 2) as f64).unwrap();
        same.update(&row(t), (t % 2) as f64).unwrap();
    }
    let (a, b) = (model.predict(&row(7)).unwrap().probability, same.predict(&row(7)).unwrap().probability);
    assert_eq!(a.to_bits(), b.to_bits());
}
