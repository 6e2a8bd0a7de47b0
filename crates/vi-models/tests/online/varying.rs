//! Numbers whose spread follows the inputs.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal, StudentT};
use vi_models::online::{Kind, Memory, Model, Observation, OnlineRobust, OnlineSettings, OnlineVarying, Standardise};
use vi_models::{Interval, ModelError, Student};

const WEIGHTS: [f64; 3] = [1.0, -0.5, 0.25];
const SPREAD: [f64; 3] = [0.6, 0.0, -0.4];

fn dot(x: &[f64], weights: [f64; 3]) -> f64 {
    x.iter().zip(weights).map(|(x, w)| x * w).sum()
}

/// `n` rows of 3 inputs, and labels `2 + wᵀx + ½·exp(γᵀx)·ε`, `ε` Student-t of 5 degrees of freedom.
fn rows(n: usize, seed: u64, spread: [f64; 3]) -> (Vec<f64>, Vec<f64>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let rows: Vec<f64> = (0..3 * n).map(|_| rng.sample(StandardNormal)).collect();
    let noise = StudentT::new(5.0).unwrap();
    let label = |x: &[f64]| 2.0 + dot(x, WEIGHTS) + 0.5 * dot(x, spread).exp() * noise.sample(&mut rng);
    let labels = rows.chunks(3).map(label).collect();
    (rows, labels)
}

fn learned(rows: &[f64], labels: &[f64]) -> OnlineVarying {
    let mut model = OnlineVarying::new(3).unwrap();
    model.update_batch(rows, labels).unwrap();
    model
}

fn text(model: &OnlineVarying) -> String {
    serde_json::to_string(model).unwrap()
}

/// The log density that the labels' own distribution loses to the model's, in nats a row, and its standard error.
fn regret(rows: &[f64], labels: &[f64], spread: [f64; 3], predicted: impl Fn(&[f64], f64) -> f64) -> (f64, f64) {
    let lost = rows.chunks(3).zip(labels).map(|(x, y)| {
        let own = Student::new(2.0 + dot(x, WEIGHTS), 0.5 * dot(x, spread).exp(), 5.0).unwrap();
        own.log_density(*y) - predicted(x, *y)
    });
    let lost: Vec<f64> = lost.collect();
    let n = lost.len() as f64;
    let mean = lost.iter().sum::<f64>() / n;
    let variance = lost.iter().map(|own| (own - mean).powi(2)).sum::<f64>() / n;
    (mean, (variance / n).sqrt())
}

#[test]
fn a_spread_that_follows_the_inputs_is_found() {
    let ((x, y), (at, seen)) = (rows(1500, 1, SPREAD), rows(2000, 2, SPREAD));
    let model = learned(&x, &y);
    let found = model.spread_coefficients().unwrap();
    for (own, truth) in found[1..].iter().zip(SPREAD) {
        // Of three intervals one misses by chance in four runs; four deviations none in 5,000.
        let away = (own.belief.mean() - truth) / own.belief.standard_deviation();
        assert!(away.abs() < 4.0 && own.belief.standard_deviation() < 0.06, "{} {away}", own.name);
    }
    for (own, truth) in model.coefficients().unwrap()[1..].iter().zip(WEIGHTS) {
        assert!((own.belief.mean() - truth).abs() < 4.0 * own.belief.standard_deviation(), "{}", own.name);
    }
    let mut constant = OnlineRobust::new(3).unwrap();
    constant.update_batch(&x, &y).unwrap();
    let (own, error) = regret(&at, &seen, SPREAD, |x, y| model.predict(x).unwrap().log_density(y));
    let (other, _) = regret(&at, &seen, SPREAD, |x, y| constant.predict(x).unwrap().log_density(y));
    // Eight parameters of 1500 rows lose 8/(2·1500) nats in the mean.
    assert!(own < 8.0 / 3000.0 + 4.0 * error, "{own} ± {error}");
    assert!(other > 10.0 * own.max(0.01), "{other}");
    assert!(model.evidence() > constant.evidence() + 0.1 * 1500.0);
    // Spreads that follow an input are no runs of labels.
    assert!(!model.info().order.unwrap().is_in_runs());
    let held = at.chunks(3).zip(&seen).take(1000).filter(|(x, y)| {
        let Interval { lower, upper } = model.predict(*x).unwrap().interval(0.9).unwrap();
        (lower..=upper).contains(*y)
    });
    let share = held.count() as f64 / 1000.0;
    // Four standard errors of a frequency of 0.9.
    assert!((share - 0.9).abs() < 4.0 * (0.09_f64 / 1000.0).sqrt(), "{share}");
}

#[test]
fn a_constant_spread_costs_next_to_nothing() {
    let none = [0.0; 3];
    let ((x, y), (at, seen)) = (rows(600, 3, none), rows(1000, 4, none));
    let (model, mut constant) = (learned(&x, &y), OnlineRobust::new(3).unwrap());
    constant.update_batch(&x, &y).unwrap();
    let of = |density: &dyn Fn(&[f64], f64) -> f64| regret(&at, &seen, none, |x, y| density(x, y)).0;
    let own = of(&|x, y| model.predict(x).unwrap().log_density(y));
    let other = of(&|x, y| constant.predict(x).unwrap().log_density(y));
    // Three more parameters of 600 rows: half the 0.999 quantile of a chi-squared of three degrees of freedom, a row.
    assert!(own - other < 0.5 * 16.3 / 600.0, "{own} {other}");
}

#[test]
fn rows_at_once_in_parts_and_stored_are_the_same_model() {
    let (x, y) = rows(300, 5, SPREAD);
    let whole = learned(&x, &y);
    let mut parts = OnlineVarying::new(3).unwrap();
    for (i, (row, label)) in x.chunks(3).zip(&y).enumerate() {
        if i == 137 {
            parts = serde_json::from_str(&text(&parts)).unwrap();
        }
        let before = parts.predict(row).unwrap();
        assert_eq!(parts.predict_and_update(row, *label).unwrap().unwrap(), before);
    }
    assert_eq!(text(&parts), text(&whole));
    let damaged = text(&whole).replacen("\"observations\":300", "\"observations\":301", 1);
    assert!(serde_json::from_str::<OnlineVarying>(&damaged).is_err());
}

#[test]
fn a_bad_row_leaves_both_predictors_as_they_were() {
    let (x, y) = rows(150, 6, SPREAD);
    let mut model = learned(&x, &y);
    let before = text(&model);
    assert!(model.update(&[1.0, f64::NAN, 0.0], 1.0).is_err() && model.update(&[1.0; 3], f64::INFINITY).is_err());
    let mut spoiled = y.clone();
    spoiled[70] = f64::NAN;
    let error = model.update_batch(&x, &spoiled).unwrap_err();
    assert!(error.to_string().contains("70"), "{error}");
    assert_eq!(text(&model), before);
    assert!(model.update(&[1.0; 3], Observation::new(1.0).trials(2.0)).is_err());
}

#[test]
fn shards_are_merged_and_memories_fade() {
    let (x, y) = rows(1200, 7, SPREAD);
    let fixed = Standardise::Fixed { centres: vec![0.0; 3], scales: vec![1.0; 3] };
    let new = |memory| {
        let settings = OnlineSettings { standardise: fixed.clone(), memory, ..OnlineSettings::default() };
        OnlineVarying::with_settings(3, settings, (2.0, 1.0)).unwrap()
    };
    let shard = |part: std::ops::Range<usize>| {
        let mut model = new(Memory::Everything);
        model.update_batch(&x[3 * part.start..3 * part.end], &y[part]).unwrap();
        model
    };
    let (mut merged, whole) = (shard(0..600), shard(0..1200));
    merged.merge(&[&shard(600..1200)]).unwrap();
    for (own, other) in merged.spread_coefficients().unwrap().iter().zip(whole.spread_coefficients().unwrap()).skip(1) {
        // Sites of the second half were taken from the prior; half a deviation is a quarter of a variance in two hundred.
        let away = (own.belief.mean() - other.belief.mean()) / other.belief.standard_deviation();
        assert!(away.abs() < 0.5, "{} {away}", own.name);
    }
    assert!(matches!(merged.merge(&[&OnlineVarying::new(3).unwrap()]), Err(ModelError::Unlike { .. })));
    let mut fading = new(Memory::Fading(0.99));
    fading.update_batch(&x, &y).unwrap();
    let reversed: Vec<f64> = y
        .iter()
        .zip(x.chunks(3))
        .map(|(y, x)| 2.0 + dot(x, WEIGHTS) + (y - 2.0 - dot(x, WEIGHTS)) * dot(x, SPREAD).mul_add(-2.0, 0.0).exp())
        .collect();
    fading.update_batch(&x[..1800], &reversed[..600]).unwrap();
    // The spread now falls where it rose.
    assert!(fading.spread_coefficients().unwrap()[1].belief.mean() < -0.2);
}

/// A label far out among Gaussian ones pins neither the spread nor the tails, and parts still merge.
#[test]
fn a_label_far_out_does_not_pin_the_spread() {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let settings = || OnlineSettings {
        standardise: Standardise::Fixed { centres: vec![0.0; 3], scales: vec![1.0; 3] },
        ..OnlineSettings::default()
    };
    let mut parts = Vec::new();
    for _ in 0..2 {
        let rows: Vec<f64> = (0..900).map(|_| rng.sample(StandardNormal)).collect();
        let labels: Vec<f64> =
            rows.chunks(3).map(|x| 2.0 + dot(x, WEIGHTS) + 0.5 * rng.sample::<f64, _>(StandardNormal)).collect();
        let mut model = OnlineVarying::with_settings(3, settings(), (2.0, 1.0)).unwrap();
        model.update_batch(&rows, &labels).unwrap();
        let before = model.spread_coefficients().unwrap()[1].belief.standard_deviation();
        model.update(&[1.0, 0.0, 0.0], 2.0 + 1.0 + 0.5 * 40.0).unwrap();
        let after = model.spread_coefficients().unwrap()[1].belief.standard_deviation();
        // One row's information of a log spread is at most 2, of some 600 in all.
        assert!(after > 0.9 * before, "{before} {after}");
        assert_eq!(model.info().refused, 0);
        parts.push(model);
    }
    let other = parts.pop().unwrap();
    parts[0].merge(&[&other]).unwrap();
    assert!(parts[0].predict(&[0.0; 3]).unwrap().standard_deviation().is_finite());
}

#[test]
fn gross_outliers_move_no_weight_wherever_they_stand() {
    const D: usize = 8;
    const N: usize = 400;
    let truth = |j: usize| (j + 1) as f64 / 8.0;
    for seed in 0..4 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let x: Vec<f64> = (0..D * N).map(|_| rng.sample(StandardNormal)).collect();
        let label = |x: &[f64]| (0..D).map(|j| truth(j) * x[j]).sum::<f64>() + rng.sample::<f64, _>(StandardNormal);
        let y: Vec<f64> = x.chunks(D).map(label).collect();
        let signs: Vec<f64> = (0..N).map(|_| if rng.random() { 1.0 } else { -1.0 }).collect();
        // One row in twenty, or as many among the first forty.
        for is_out in [|i: usize| i % 20 == 2, |i: usize| i < 40 && i.is_multiple_of(2)] {
            let weights = |size: f64| {
                let off = |i: usize| if is_out(i) { signs[i] * size } else { 0.0 };
                let labels: Vec<f64> = y.iter().enumerate().map(|(i, y)| y + off(i)).collect();
                let mut model = OnlineVarying::new(D).unwrap();
                model.update_batch(&x, &labels).unwrap();
                let found = model.coefficients().unwrap();
                found[1..].iter().map(|own| (own.belief.mean(), own.belief.standard_deviation())).collect::<Vec<_>>()
            };
            let (near, far) = (weights(1e4), weights(1e6));
            let square = |(j, (mean, deviation)): (usize, &(f64, f64))| ((mean - truth(j)) / deviation).powi(2);
            for found in [&near, &far] {
                let off = (found.iter().enumerate().map(square).sum::<f64>() / D as f64).sqrt();
                // The root mean square of eight Gaussians exceeds 2 once in ten thousand.
                assert!(off < 2.0, "{seed}: {off} {found:?}");
            }
            for ((a, deviation), (b, _)) in near.iter().zip(&far) {
                // What rows told of the spread before a fit had found the outliers out differs by their size: .11 deviations here.
                assert!((a - b).abs() < 0.25 * deviation, "{seed}: {a} {b} {deviation}");
            }
        }
    }
}

#[test]
fn an_input_far_out_does_not_pin_either_predictor() {
    let ((mut x, y), (at, seen)) = (rows(1500, 21, SPREAD), rows(2000, 22, SPREAD));
    let clean = learned(&x, &y);
    x[3 * 900 + 2] = 1e6;
    let outlier = learned(&x, &y);
    let lost =
        |model: &OnlineVarying| regret(&at, &seen, SPREAD, |x, y| model.predict(x).unwrap().label.log_density(y));
    let ((before, _), (after, error)) = (lost(&clean), lost(&outlier));
    // The third weight is pinned to the outlier's label, which costs ½·ln(1 + w²σ²ₓ/σ²), some .1 nats; without a bound of the spread it is refused.
    let most = 0.5 * (WEIGHTS[2] / 0.5).powi(2).ln_1p();
    assert!(after - before < most + 3.0 * error, "{before} {after}");
    let [clean, outlier] = [clean, outlier].map(|model| model.spread_coefficients().unwrap()[3].belief.mean());
    assert!((clean - outlier).abs() < 0.06, "{clean} {outlier}");
    // Far out, in either form of a row, the spread is that of the bound.
    let model = learned(&x, &y);
    let far = [1e3, 1e9].map(|far| model.predict(&[0.0, 0.0, far]).unwrap().standard_deviation());
    assert!(far.iter().all(|deviation| deviation.is_finite()), "{far:?}");
}

#[test]
fn a_spread_follows_the_inputs_that_are_named() {
    let (x, y) = rows(600, 8, SPREAD);
    let names = || ["a", "b", "c"].map(str::to_owned).to_vec();
    let of = |spread_inputs: Option<Vec<usize>>| {
        let settings = OnlineSettings { spread_inputs, names: names(), ..OnlineSettings::default() };
        let mut model = OnlineVarying::with_settings(3, settings, (0.0, 1.0)).unwrap();
        model.update_batch(&x, &y).unwrap();
        model
    };
    let told = |model: &OnlineVarying| {
        let own = model.spread_coefficients().unwrap().into_iter().skip(1);
        own.map(|own| (own.name, own.belief.mean(), own.belief.standard_deviation())).collect::<Vec<_>>()
    };
    let (all, every, one) = (of(None), of(Some(vec![0, 1, 2])), of(Some(vec![2])));
    assert_eq!(told(&all), told(&every));
    assert_eq!(all.predict(&[0.3, 1.0, -2.0]).unwrap(), every.predict(&[0.3, 1.0, -2.0]).unwrap());
    let [(name, mean, sd)] = told(&one).try_into().unwrap();
    assert!(name == "c" && (mean - SPREAD[2]).abs() < 4.0 * sd, "{name} {mean} {sd}");
    // The first input changes the spread of `all` alone; what is not known of its weight changes both.
    let ratio = |model: &OnlineVarying| {
        let half = |a: f64| model.predict(&[a, 0.0, 0.0]).unwrap().interval(0.5).unwrap();
        let [wide, narrow] = [2.0, -2.0].map(|a| half(a).upper - half(a).lower);
        wide / narrow
    };
    assert!((ratio(&one) - 1.0).abs() < 0.05 && ratio(&all) > 5.0, "{} {}", ratio(&one), ratio(&all));
    let again: OnlineVarying = serde_json::from_str(&text(&one)).unwrap();
    assert_eq!(text(&again), text(&one));
    // Without any it is the spread of all rows.
    let none = of(Some(Vec::new()));
    let mut robust =
        OnlineRobust::with_settings(3, OnlineSettings { names: names(), ..OnlineSettings::default() }, (0.0, 1.0))
            .unwrap();
    robust.update_batch(&x, &y).unwrap();
    assert!(told(&none).is_empty() && (ratio(&none) - 1.0).abs() < 0.05);
    // The level of the log spread is known to 10⁻³ beforehand.
    assert!((none.noise().1 / robust.noise().1 - 1.0).abs() < 0.01, "{:?} {:?}", none.noise(), robust.noise());
}

/// Blocks, names, scales and features of the spread are those of its inputs.
#[test]
fn settings_of_a_spread_are_those_of_its_inputs() {
    let (x, y) = rows(300, 9, SPREAD);
    let fixed = Standardise::Fixed { centres: vec![0.0, 0.1, 0.2], scales: vec![1.0, 2.0, 3.0] };
    for standardise in [fixed, Standardise::FirstRows { rows: 50, centre: true }] {
        let blocks = vec![1, 2];
        let settings = OnlineSettings { blocks, as_they_are: 1, standardise, ..OnlineSettings::default() };
        let of = |spread_inputs: Option<Vec<usize>>| {
            let settings = OnlineSettings { spread_inputs, ..settings.clone() };
            let mut model = OnlineVarying::with_settings(3, settings, (0.0, 1.0)).unwrap();
            model.update_batch(&x, &y).unwrap();
            model
        };
        let (all, every) = (of(None), of(Some(vec![0, 1, 2])));
        let told = |model: &OnlineVarying| model.spread_coefficients().unwrap();
        assert_eq!(told(&all), told(&every));
        let part: OnlineVarying = serde_json::from_str(&text(&of(Some(vec![1, 2])))).unwrap();
        assert_eq!(told(&part).len(), 3);
        assert!((told(&part)[2].belief.mean() - SPREAD[2]).abs() < 0.2, "{:?}", told(&part)[2]);
    }
    for spread_inputs in [vec![3], vec![1, 0], vec![0, 0]] {
        let settings = OnlineSettings { spread_inputs: Some(spread_inputs), ..OnlineSettings::default() };
        let refused = OnlineVarying::with_settings(3, settings.clone(), (0.0, 1.0)).unwrap_err();
        assert!(refused.to_string().contains("spread_inputs"), "{refused}");
    }
    let settings = OnlineSettings { spread_inputs: Some(vec![0]), ..OnlineSettings::default() };
    let refused = Model::new(Kind::Count, 3, settings).unwrap_err();
    assert!(matches!(refused, ModelError::Unsupported { .. }), "{refused}");
    let mut model = OnlineVarying::with_settings(
        3,
        OnlineSettings { spread_inputs: Some(vec![1]), ..OnlineSettings::default() },
        (0.0, 1.0),
    )
    .unwrap();
    let before = text(&model);
    assert!(model.predict(&[1.0]).is_err() && model.predict(&[1.0, f64::NAN, 0.0]).is_err());
    assert_eq!(text(&model), before);
    assert!(model.update(&[1.0, 2.0], 0.3).is_err());
}
