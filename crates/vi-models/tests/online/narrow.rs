//! One belief in place of several prior scales.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use serde::Serialize;
use vi_models::online::{OnlineLinear, OnlineLogistic, OnlineSettings, PriorScale, Standardise};

use crate::{bits, stream};

/// `n` rows of `weights.len()` inputs, of which the last never moves, and labels with unit noise.
fn rows(weights: &[f64], n: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let (d, mut rng) = (weights.len(), ChaCha8Rng::seed_from_u64(seed));
    let mut rows: Vec<f64> = (0..n * d).map(|_| rng.sample(StandardNormal)).collect();
    rows.chunks_mut(d).for_each(|x| x[d - 1] = 3.0);
    let label =
        |x: &[f64]| x.iter().zip(weights).map(|(x, w)| x * w).sum::<f64>() + rng.sample::<f64, _>(StandardNormal);
    let labels = rows.chunks(d).map(label).collect();
    (rows, labels)
}

/// Whether the model keeps one belief, as its document tells.
fn is_one(model: &impl Serialize) -> bool {
    serde_json::to_value(model).unwrap()["members"].as_array().unwrap().len() == 1
}

const WEIGHTS: [f64; 6] = [0.7, -0.4, 0.2, 0.0, -0.8, 0.0];

#[test]
fn one_belief_answers_as_the_average_over_all_scales() {
    let (x, y) = rows(&WEIGHTS, 1500, 1);
    let learned = |prior_scale: PriorScale| {
        let settings = OnlineSettings { prior_scale, ..OnlineLinear::default_settings() };
        let (shape, rate) = OnlineLinear::DEFAULT_NOISE;
        let mut model = OnlineLinear::with_settings(6, settings, shape, rate).unwrap();
        model.update_batch(&x, &y).unwrap();
        model
    };
    let model = learned(PriorScale::Learned);
    assert!(is_one(&model), "{:?}", model.info().prior_scales);
    // Every scale of a grid, weighed by its evidence and the prior of the scale.
    let scales: Vec<f64> = (0..60).map(|i| (-2.5 + 0.07 * f64::from(i)).exp()).collect();
    let given: Vec<OnlineLinear> = scales.iter().map(|scale| learned(PriorScale::Given(*scale))).collect();
    let log = |(scale, model): (&f64, &OnlineLinear)| model.evidence() - 0.5 * ((scale / 2.0).ln() / 2.0).powi(2);
    let logs: Vec<f64> = scales.iter().zip(&given).map(log).collect();
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = logs.iter().map(|log| (log - most).exp()).sum();
    let average = |of: &dyn Fn(&OnlineLinear) -> f64| {
        logs.iter().zip(&given).map(|(log, model)| (log - most).exp() / total * of(model)).sum::<f64>()
    };
    // The sum is that of the trapezoid rule; the prior's density includes its spread, 2.
    let evidence = most + (total * 0.07).ln() - (2.0 * (2.0 * std::f64::consts::PI).sqrt()).ln();
    // From the last move on rows are scored at one scale.
    assert!((model.evidence() - evidence).abs() < 0.1, "{} {evidence}", model.evidence());
    for row in x.chunks(6).take(20) {
        let told = model.predictor(row, 0.0).unwrap();
        let mean = average(&|model| model.predictor(row, 0.0).unwrap().mean());
        let square = |model: &OnlineLinear| {
            let own = model.predictor(row, 0.0).unwrap();
            own.variance() + (own.mean() - mean).powi(2)
        };
        let deviation = average(&square).sqrt();
        // Without corrections means are off by up to .02 deviations in the root mean square; what is left is of third order.
        assert!((told.mean() - mean).abs() < 8e-3 * deviation, "{} {mean} {deviation}", told.mean());
        assert!((told.standard_deviation() / deviation - 1.0).abs() < 4e-3, "{told:?} {deviation}");
    }
    // Of the input that never moved there is nothing but the prior: the average of the squared scale, by three nodes
    // of the density when the scales were last placed; a parabola about its mean misses a tenth.
    let (told, asked) = (model.weight(5).unwrap().variance(), average(&|model| model.weight(5).unwrap().variance()));
    assert!((told / asked - 1.0).abs() < 0.05, "{told} {asked}");
}

#[test]
fn draws_of_one_belief_have_its_mean_and_variance() {
    let (x, y) = rows(&WEIGHTS, 1500, 2);
    let mut model = OnlineLinear::new(6).unwrap();
    model.update_batch(&x, &y).unwrap();
    assert!(is_one(&model));
    // The second combination and the second row are nearly all of the input that never moved.
    let asked = [[1.0, 0.5, -1.0, 0.0, 2.0, 3.0], [0.1, 0.0, 0.0, 0.0, 0.0, 1.0]];
    let weights = model.weights().weights;
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let n = 20_000;
    for way in 0..2 {
        let mut sums = [(0.0, 0.0); 2];
        let told = asked.map(|c| if way == 0 { model.combination(&c) } else { model.predictor(&c, 0.0) }.unwrap());
        for _ in 0..n {
            let drawn = if way == 0 {
                let drawn = model.sample(&mut rng).unwrap().weights;
                asked.map(|c| c.iter().zip(&drawn).map(|(c, w)| c * w).sum::<f64>())
            } else {
                let drawn = model.sample_scores(&asked.concat(), &mut rng).unwrap();
                [drawn[0], drawn[1]]
            };
            for ((sum, told), drawn) in sums.iter_mut().zip(&told).zip(drawn) {
                let z = (drawn - told.mean()) / told.standard_deviation();
                *sum = (sum.0 + z, sum.1 + z * z);
            }
        }
        for (sum, told) in sums.iter().zip(&told) {
            // Six standard errors, of squares that have up to three times a Gaussian's kurtosis.
            assert!((sum.0 / f64::from(n)).abs() < 6.0 / f64::from(n).sqrt(), "{way}: {sum:?} {told:?}");
            assert!((sum.1 / f64::from(n) - 1.0).abs() < 6.0 * (4.0 / f64::from(n)).sqrt(), "{way}: {sum:?} {told:?}");
        }
    }
    for (j, weight) in weights.iter().enumerate() {
        let told = model.weight(j).unwrap();
        // What a product that is not made would add.
        assert!((weight - told.mean()).abs() < 1e-3 * told.standard_deviation(), "{j}");
    }
}

#[test]
fn a_posterior_of_the_scale_that_widens_gets_its_scales_back() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let mut model = OnlineLinear::new(12).unwrap();
    let (mut first, mut seen) = (None, Vec::new());
    for n in 1..20_000_usize {
        // Ten inputs wait until just before the scales are placed again.
        let late = first.is_some_and(|first| n > 2 * first - 20);
        let x: [f64; 12] = std::array::from_fn(|j| if j < 2 || late { rng.sample(StandardNormal) } else { 0.0 });
        let t: f64 = x.iter().enumerate().map(|(j, x)| if j % 2 == 0 { 0.3 * x } else { -0.3 * x }).sum();
        model.update(&x, t + rng.sample::<f64, _>(StandardNormal)).unwrap();
        let one = is_one(&model);
        if one && first.is_none() {
            first = Some(n);
        }
        if seen.last() != Some(&one) {
            seen.push(one);
        }
        if seen.len() == 4 {
            break;
        }
    }
    assert_eq!(seen, [false, true, false, true], "{first:?}");
}

#[test]
fn parts_with_one_belief_each_merge_to_the_whole() {
    let (x, y) = rows(&WEIGHTS[..4], 4000, 5);
    let make = || {
        let settings = OnlineSettings { standardise: Standardise::Never, ..OnlineLinear::default_settings() };
        OnlineLinear::with_settings(4, settings, 1.0, 1.0).unwrap()
    };
    let (mut whole, mut left, mut right) = (make(), make(), make());
    whole.update_batch(&x, &y).unwrap();
    left.update_batch(&x[..1800 * 4], &y[..1800]).unwrap();
    right.update_batch(&x[1800 * 4..], &y[1800..]).unwrap();
    assert!(is_one(&left) && is_one(&right) && left.info().prior_scale != right.info().prior_scale);
    left.merge(&[&right]).unwrap();
    assert!((left.evidence() - whole.evidence()).abs() < 0.05, "{} {}", left.evidence(), whole.evidence());
    for row in x.chunks(4).take(10) {
        let [a, b] = [&left, &whole].map(|model| model.predictor(row, 0.0).unwrap());
        assert!((a.mean() - b.mean()).abs() < 2e-3 * b.standard_deviation(), "{a:?} {b:?}");
        assert!((a.variance() / b.variance() - 1.0).abs() < 2e-3, "{a:?} {b:?}");
    }
}

#[test]
fn one_belief_is_stored_and_goes_on() {
    let (x, y) = stream(9000, 7);
    let mut model = OnlineLogistic::new(3).unwrap();
    model.update_batch(&x[..8000 * 3], &y[..8000]).unwrap();
    assert!(is_one(&model), "{:?}", model.info().prior_scales);
    let text = bits(&model);
    let mut again: OnlineLogistic = serde_json::from_str(&text).unwrap();
    assert_eq!(again.predict(&x[..3]).unwrap(), model.predict(&x[..3]).unwrap());
    for model in [&mut model, &mut again] {
        model.update_batch(&x[8000 * 3..], &y[8000..]).unwrap();
    }
    assert_eq!(bits(&model), bits(&again));
    let mut document: serde_json::Value = serde_json::from_str(&text).unwrap();
    document["seal"]["checksum"] = serde_json::Value::Null;
    let read = |document: &serde_json::Value| serde_json::from_value::<OnlineLogistic>(document.clone());
    assert!(read(&document).is_ok());
    for wrong in
        [[[-0.5, 0.5], [0.5, 0.4]], [[-0.5, 0.5], [0.4, 0.5]], [[-40.0, 0.5], [40.0, 0.5]], [[0.0, 2.0], [0.0, -1.0]]]
    {
        let mut damaged = document.clone();
        damaged["members"][0]["around"] = serde_json::json!(wrong);
        assert!(read(&damaged).is_err());
    }
    // Beside others a scale is one scale.
    let other = document["members"][0].clone();
    document["members"][0]["prior_scale"] = serde_json::json!(1e-2);
    document["members"].as_array_mut().unwrap().push(other);
    assert!(read(&document).unwrap_err().to_string().contains("one of several prior scales"));
}
