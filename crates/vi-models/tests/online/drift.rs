//! Models that forget.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use vi_models::ModelError;
use vi_models::online::family::Counts;
use vi_models::online::{
    BeliefKind, Memory, Observation, OnlineGlm, OnlineLinear, OnlineLogistic, OnlineSettings, OnlineSoftmax,
    PriorScale, Standardise, Start,
};

use crate::{KINDS, bits, numbers, stream};

/// One prior scale, columns as they are, every row learned when it comes.
fn plain(belief: BeliefKind, memory: Memory) -> OnlineSettings {
    OnlineSettings {
        belief,
        memory,
        prior_scale: PriorScale::Given(1.5),
        standardise: Standardise::Never,
        start: Start::OnePass,
        ..OnlineSettings::default()
    }
}

/// `λ = 0.99` returns every tenth row by `λ¹⁰`; a diagonal belief at every row by `λ`.
#[test]
fn one_weight_follows_the_recursion() {
    let y = numbers(200, 90).1;
    for kind in KINDS {
        let settings = OnlineSettings { intercept: false, ..plain(kind, Memory::Fading(0.99)) };
        let mut model = OnlineLinear::with_settings(1, settings, 2.0, 3.0).unwrap();
        let (rows, own): (usize, f64) = match kind {
            BeliefKind::Diagonal => (1, 0.99),
            BeliefKind::LowRank { .. } => (50, 0.99_f64.powi(50)),
            _ => (10, 0.99_f64.powi(10)),
        };
        let start = 1.0 / (1.5 * 1.5);
        let (mut precision, mut shift, mut shape, mut rate) = (start, 0.0, 2.0, 3.0);
        for (t, &y) in y.iter().enumerate() {
            let x = 1.0 + 0.5 * (t as f64).sin();
            model.update(&[x], y).unwrap();
            let error = y - x * shift / precision;
            shape += 0.5;
            rate += 0.5 * error * error / (1.0 + x * x / precision);
            precision += x * x;
            shift += x * y;
            if (t + 1) % rows == 0 {
                let before = shift / precision;
                precision = own * precision + (1.0 - own) * start;
                shift *= own;
                shape = own * shape + (1.0 - own) * 2.0;
                rate = own * rate + (1.0 - own) * 3.0;
                if matches!(kind, BeliefKind::Full | BeliefKind::SquareRoot) {
                    rate += 0.5 * (1.0 - own) * before * start * shift / precision;
                }
            }
        }
        let (found, weight) = (model.noise(), model.weight(0).unwrap());
        // 200 steps of a few roundings each, at a condition of at most 200; a projection of 50 rows rounds as often as a sum of them.
        let tolerance = 200.0 * 200.0 * 8.0 * f64::EPSILON;
        assert!((found.0 / shape - 1.0).abs() < tolerance && (found.1 / rate - 1.0).abs() < tolerance, "{kind:?}");
        assert!((weight.mean() * precision / shift - 1.0).abs() < tolerance, "{kind:?} {weight:?}");
        let variance = rate / (shape - 1.0) / precision;
        assert!((weight.variance() / variance - 1.0).abs() < tolerance, "{kind:?}");
    }
}

/// With weights and noise returned together, a model that forgets is one that forgets nothing, of rows that weigh the less the older they
/// are: `p(θ)·Π p(y_i|θ)^{λ^{m·k}}` after `k` returns since row `i`.
#[test]
fn a_fading_model_is_one_of_rows_that_fade() {
    let (n, lambda) = (46, 0.9);
    let (rows, labels) = numbers(n, 94);
    // Of three weights a memory of ten rows returns as many rows apart as there are weights.
    let returned_every = 3;
    for kind in [BeliefKind::Full, BeliefKind::SquareRoot] {
        let make = |memory| {
            OnlineLinear::with_settings(2, OnlineSettings { intercept_scale: 9.0, ..plain(kind, memory) }, 0.1, 1e-5)
        };
        let mut fading = make(Memory::Fading(lambda)).unwrap();
        for (x, &y) in rows.chunks(2).zip(&labels) {
            fading.update(x, y).unwrap();
        }
        let mut weighted = make(Memory::Everything).unwrap();
        for (i, (x, &y)) in rows.chunks(2).zip(&labels).enumerate() {
            let returns = n / returned_every - i / returned_every;
            let weight = lambda.powi(i32::try_from(returns * returned_every).unwrap());
            weighted.update(x, Observation::new(y).weight(weight)).unwrap();
        }
        // Rounding of n updates and returns, each at a condition of at most 81 times the squares of some ten rows.
        let tolerance = n as f64 * 81.0 * 100.0 * f64::EPSILON;
        let ((shape, rate), (a, b)) = (fading.noise(), weighted.noise());
        assert!((shape / a - 1.0).abs() < tolerance && (rate / b - 1.0).abs() < tolerance, "{kind:?} {rate} {b}");
        for x in rows.chunks(2).take(5) {
            let (found, expected) = (fading.predict(x).unwrap(), weighted.predict(x).unwrap());
            assert!((found.mean() - expected.mean()).abs() < tolerance, "{kind:?}");
            assert!((found.log_density(0.5) - expected.log_density(0.5)).abs() < tolerance, "{kind:?}");
        }
    }
}

/// Few rows in the memory of a model that averages over prior scales: each density of the next label stays near that of a spread of labels.
#[test]
fn a_short_memory_leaves_intervals_a_width() {
    for (lambda, inputs) in [(0.9, 2), (0.9, 5), (0.95, 5), (0.95, 20), (0.98, 20)] {
        let mut rng = ChaCha8Rng::seed_from_u64(95);
        let settings = OnlineSettings { memory: Memory::Fading(lambda), ..OnlineLinear::default_settings() };
        let (shape, rate) = OnlineLinear::DEFAULT_NOISE;
        let mut model = OnlineLinear::with_settings(inputs, settings, shape, rate).unwrap();
        for t in 0..200 {
            let x: Vec<f64> = (0..inputs).map(|_| rng.sample(StandardNormal)).collect();
            let noise: f64 = rng.sample(StandardNormal);
            let y = x[0] - x[1] + 0.5 * noise;
            if t > 2 {
                let density = model.predict(&x).unwrap().log_density(y);
                // Student's tails of few degrees of freedom: no label of normal noise is farther than some 20 nats.
                assert!(density > -20.0, "{lambda} {inputs} {t}: {density}");
            }
            model.update(&x, y).unwrap();
        }
    }
}

/// Rows whose inputs fall silent, and come again.
fn quiet_row(t: usize, rng: &mut ChaCha8Rng) -> [f64; 3] {
    let (first, common): (f64, f64) = (rng.sample(StandardNormal), rng.sample(StandardNormal));
    if (100..1900).contains(&t) { [first, 0.0, 0.0] } else { [first, common, common + 1e-3 * first] }
}

#[test]
fn no_variance_passes_the_prior_s_and_no_row_is_refused() {
    for kind in KINDS {
        for lambda in [0.5, 0.9, 0.99] {
            let mut rng = ChaCha8Rng::seed_from_u64(91);
            let mut model = OnlineLogistic::with_settings(3, plain(kind, Memory::Fading(lambda))).unwrap();
            for t in 0..2000 {
                let x = quiet_row(t, &mut rng);
                model.update(&x, f64::from(rng.random::<f64>() < 0.5)).unwrap();
                if t % 97 == 0 {
                    for j in 0..3 {
                        let variance = model.weight(j).unwrap().variance();
                        // Rounding of the returns; a projection to rank 2 keeps each variance to its own rounding.
                        assert!(
                            variance > 0.0 && variance <= 2.25 * (1.0 + 1e-9),
                            "{kind:?} {lambda} {t} {j} {variance}"
                        );
                    }
                }
            }
            let info = model.info();
            assert_eq!((info.refused, info.forgetting_held), (0, 0), "{kind:?} {lambda}");
            assert!(model.predict(&[0.3, 1.0, 1.0]).unwrap().predictor.mean().is_finite());
        }
    }
}

#[test]
fn a_batch_is_a_loop_and_a_pause_is_none() {
    let (rows, labels) = stream(700, 92);
    for kind in KINDS {
        for memory in [Memory::Fading(0.97), Memory::Learned] {
            for given in [true, false] {
                let prior_scale = if given { PriorScale::Given(1.0) } else { PriorScale::Learned };
                let settings = OnlineSettings { belief: kind, memory, prior_scale, ..OnlineSettings::default() };
                let mut looped = OnlineLogistic::with_settings(3, settings.clone()).unwrap();
                for (row, &label) in rows.chunks(3).zip(&labels) {
                    looped.update(row, label).unwrap();
                }
                let mut batched = OnlineLogistic::with_settings(3, settings).unwrap();
                for (rows, labels) in rows.chunks(3 * 137).zip(labels.chunks(137)) {
                    batched.update_batch(rows, labels).unwrap();
                    batched = serde_json::from_str(&bits(&batched)).unwrap();
                }
                assert_eq!(bits(&looped), bits(&batched), "{kind:?} {memory:?} {given}");
            }
        }
    }
}

#[test]
fn wide_batches_that_forget_are_loops_to_rounding() {
    let (d, n) = (60, 260);
    let mut rng = ChaCha8Rng::seed_from_u64(93);
    let rows: Vec<f64> = (0..n * d).map(|_| rng.sample(StandardNormal)).collect();
    let labels: Vec<f64> = rows.chunks(d).map(|x| f64::from(x[0] + x[1] > 0.3 * x[2])).collect();
    for kind in [BeliefKind::Full, BeliefKind::SquareRoot] {
        let make = || OnlineLogistic::with_settings(d, plain(kind, Memory::Fading(0.995))).unwrap();
        let (mut looped, mut batched) = (make(), make());
        for (row, &label) in rows.chunks(d).zip(&labels) {
            looped.update(row, label).unwrap();
        }
        // The second part begins between two returns.
        batched.update_batch(&rows[..30 * d], &labels[..30]).unwrap();
        batched.update_batch(&rows[30 * d..], &labels[30..]).unwrap();
        if kind == BeliefKind::Full {
            assert_eq!(bits(&looped), bits(&batched));
        }
        // Rounding of n updates of sums of d terms, at a condition of at most 25·n.
        let tolerance = (n * d) as f64 * 25.0 * n as f64 * f64::EPSILON;
        assert!((looped.evidence() / batched.evidence() - 1.0).abs() < tolerance, "{kind:?}");
        for x in rows.chunks(d).take(10) {
            let (a, b) = (looped.predict(x).unwrap().predictor, batched.predict(x).unwrap().predictor);
            assert!((a.mean() - b.mean()).abs() < tolerance * (1.0 + a.mean().abs()), "{kind:?}");
            assert!((a.variance() / b.variance() - 1.0).abs() < tolerance, "{kind:?}");
        }
    }
}

#[test]
fn the_evidence_is_that_of_the_predictions() {
    let (rows, labels) = stream(300, 94);
    let (inputs, y) = numbers(300, 94);
    for memory in [Memory::Fading(0.9), Memory::Learned] {
        let settings = OnlineSettings { memory, ..OnlineSettings::default() };
        let mut classes = OnlineLogistic::with_settings(3, settings.clone()).unwrap();
        classes.update_batch(&rows[..300], &labels[..100]).unwrap();
        for (row, &label) in rows.chunks(3).zip(&labels).skip(100) {
            let (before, told) = (classes.evidence(), classes.predict(row).unwrap().log_density(label).unwrap());
            classes.update(row, label).unwrap();
            // The evidence is a sum of hundreds of nats; probabilities are expectations by a rule of 8 terms both times, 2.1e-9 off, of which the
            // evidence takes the complement's where they are small.
            let small = if told < -f64::ln(2.0) { 2.0 * 2.1e-9 / told.exp() } else { 0.0 };
            assert!((classes.evidence() - before - told).abs() < 1e-11 + small, "{memory:?}");
        }
        let mut linear =
            OnlineLinear::with_settings(2, OnlineSettings { intercept_scale: 1e3, ..settings }, 0.01, 1e-4).unwrap();
        linear.update_batch(&inputs[..200], &y[..100]).unwrap();
        for (x, &y) in inputs.chunks(2).zip(&y).skip(100) {
            let (before, told) = (linear.evidence(), linear.predict(x).unwrap().log_density(y));
            linear.update(x, y).unwrap();
            assert!((linear.evidence() - before - told).abs() < 1e-10, "{memory:?}");
        }
    }
}

/// A stream whose weights jump at `jump` and walk by `walk` a row.
fn drifting(n: usize, jump: usize, walk: f64, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut weights, mut rows, mut y) = ([1.0, -1.0], Vec::new(), Vec::new());
    for t in 0..n {
        if t == jump {
            weights = [-1.0, 1.5];
        }
        let x: [f64; 2] = std::array::from_fn(|_| rng.sample(StandardNormal));
        let noise: f64 = rng.sample(StandardNormal);
        for weight in &mut weights {
            *weight += walk * rng.sample::<f64, _>(StandardNormal);
        }
        y.push(x[0] * weights[0] + x[1] * weights[1] + noise);
        rows.extend(x);
    }
    (rows, y)
}

fn learned(memory: Memory, (rows, y): &(Vec<f64>, Vec<f64>)) -> OnlineLinear {
    let settings = OnlineSettings { memory, ..OnlineLinear::default_settings() };
    let mut model = OnlineLinear::with_settings(2, settings, 0.01, 1e-4).unwrap();
    model.update_batch(rows, y).unwrap();
    model
}

#[test]
fn a_learned_memory_keeps_all_of_a_world_that_stands_still() {
    let still = drifting(3000, usize::MAX, 0.0, 95);
    let (model, everything) = (learned(Memory::Learned, &still), learned(Memory::Everything, &still));
    let info = model.info();
    assert_eq!(info.last_change, None);
    assert!(info.memories[..2].iter().map(|(_, share)| share).sum::<f64>() > 0.6, "{:?}", info.memories);
    // A share of 1/500 that is given away at each row costs that many nats a row at most, and a few for finding out.
    assert!(model.evidence() > everything.evidence() - 3000.0 / 500.0 - 10.0);
}

#[test]
fn a_learned_memory_follows_a_change_at_once() {
    let jump = drifting(3000, 2000, 0.0, 96);
    let model = learned(Memory::Learned, &jump);
    let info = model.info();
    assert!(info.last_change.is_some_and(|row| (2001..2060).contains(&row)), "{:?}", info.last_change);
    for lambda in [0.9995, 0.998, 0.99, 0.95] {
        let hand = learned(Memory::Fading(lambda), &jump);
        assert!(model.evidence() > hand.evidence() + 10.0, "{lambda}: {} {}", model.evidence(), hand.evidence());
    }
    // What stays is of the thousand rows since, 0.03 wide, and of shorter memories with small shares.
    let weight = model.weight(0).unwrap();
    assert!((weight.mean() + 1.0).abs() < 0.15 && weight.standard_deviation() < 0.08, "{weight:?}");
}

#[test]
fn a_learned_memory_finds_the_pace_of_a_walk() {
    let walk = drifting(3000, usize::MAX, 0.03, 97);
    let model = learned(Memory::Learned, &walk);
    let best = [1.0 - 1e-12, 0.9995, 0.998, 0.99, 0.95].map(|lambda| learned(Memory::Fading(lambda), &walk).evidence());
    let best = best.into_iter().fold(f64::NEG_INFINITY, f64::max);
    // Half a hundredth of a nat a row.
    assert!(model.evidence() > best - 15.0, "{} {best}", model.evidence());
    let slow: f64 = model.info().memories[..2].iter().map(|(_, share)| share).sum();
    assert!(slow < 0.25, "{:?}", model.info().memories);
}

#[test]
fn every_family_and_belief_averages_memories() {
    let (rows, labels) = stream(400, 98);
    for kind in KINDS {
        let settings = OnlineSettings { belief: kind, memory: Memory::Learned, ..OnlineSettings::default() };
        let mut counts = OnlineGlm::<Counts>::with_settings(3, Counts, settings.clone()).unwrap();
        counts.update_batch(&rows, &labels).unwrap();
        let info = counts.info();
        assert_eq!((info.memories.len(), info.prior_scales.len()), (5, 1), "{kind:?}");
        assert!((info.memories.iter().map(|(_, share)| share).sum::<f64>() - 1.0).abs() < 1e-12);
        let read: OnlineGlm<Counts> = serde_json::from_str(&serde_json::to_string(&counts).unwrap()).unwrap();
        assert_eq!(read.info(), info);
        if kind == BeliefKind::Full {
            let mut classes = OnlineSoftmax::with_settings(3, 3, settings).unwrap();
            let three: Vec<f64> = labels.iter().zip(rows.chunks(3)).map(|(y, x)| y + f64::from(x[0] > 1.0)).collect();
            classes.update_batch(&rows, &three).unwrap();
            assert_eq!(classes.info().memories.len(), 5);
        }
    }
}

#[test]
fn shards_that_forgot_are_not_merged() {
    for memory in [Memory::Fading(0.9), Memory::Learned] {
        let mut model = OnlineLogistic::with_settings(1, plain(BeliefKind::Full, memory)).unwrap();
        let other = model.clone();
        let error = model.merge(&[&other]).unwrap_err();
        assert!(matches!(error, ModelError::Unlike { what: "what it forgot, which cannot be merged", .. }), "{error}");
    }
}

#[test]
fn stored_memories_are_read_with_suspicion() {
    let (rows, labels) = stream(120, 99);
    let settings = OnlineSettings { memory: Memory::Learned, ..OnlineSettings::default() };
    let mut model = OnlineLogistic::with_settings(3, settings).unwrap();
    model.update_batch(&rows, &labels).unwrap();
    let text = bits(&model);
    for (path, value) in [
        ("/members/2/lambda", serde_json::json!(0.5)),
        ("/members/2/prior_scale", serde_json::json!(7.0)),
        ("/drift/behind/1", serde_json::json!(-1.0)),
        ("/drift/behind/1", serde_json::json!(10.5)),
        ("/drift/last_change", serde_json::json!(121)),
    ] {
        let mut damaged: serde_json::Value = serde_json::from_str(&text).unwrap();
        damaged["seal"]["checksum"] = serde_json::Value::Null;
        *damaged.pointer_mut(path).unwrap() = value;
        assert!(serde_json::from_value::<OnlineLogistic>(damaged).is_err(), "{path}");
    }
}

#[test]
fn a_row_that_is_refused_forgets_nothing() {
    let (rows, labels) = stream(205, 100);
    for memory in [Memory::Fading(0.95), Memory::Learned] {
        let settings = OnlineSettings { memory, ..OnlineSettings::default() };
        let mut model = OnlineLogistic::with_settings(3, settings).unwrap();
        model.update_batch(&rows, &labels).unwrap();
        let before = bits(&model);
        assert!(model.update(&rows[..3], 0.5).is_err());
        assert!(model.update(&[1e300, 1e308, 1e308], 1.0).is_err());
        let mut with_one_bad = labels[..50].to_vec();
        with_one_bad[49] = f64::NAN;
        assert!(model.update_batch(&rows[..150], &with_one_bad).is_err());
        assert_eq!(bits(&model), before, "{memory:?}");
    }
}
