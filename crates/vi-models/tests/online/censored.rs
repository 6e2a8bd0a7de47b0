//! Numbers of which only a range is known: below a limit of detection, above the end of a scale, between two readings.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use vi_core::refine::RefineSettings;
use vi_core::special::normal_quantile;
use vi_models::online::{
    Model, Observation, OnlineLinear, OnlineRobust, OnlineSettings, OnlineSurvival, OnlineVarying, Row,
};
use vi_models::{ModelError, Transform};

const INFINITY: f64 = f64::INFINITY;

/// `n` rows of one input, and labels `1 + 2x + 0.7ε` of which those below ½ and above 3 are only known to be so, and of every fifth two whole numbers.
fn readings(n: u32) -> Vec<(f64, Observation)> {
    let row = |i: u32| {
        let x = (1.3 * f64::from(i)).sin();
        let y = 1.0 + 2.0 * x + 0.7 * normal_quantile((f64::from(i) * 0.618_033_988_749_894_8).fract());
        let seen = if y < 0.5 {
            Observation::between(-INFINITY, 0.5)
        } else if y > 3.0 {
            Observation::between(3.0, INFINITY)
        } else if i.is_multiple_of(5) {
            Observation::between(y.floor(), y.ceil())
        } else {
            Observation::new(y)
        };
        (x, seen)
    };
    (1..=n).map(row).collect()
}

fn learned(rows: &[(f64, Observation)]) -> OnlineRobust {
    let mut model = OnlineRobust::new(1).unwrap();
    for (x, seen) in rows {
        model.update(&[*x], *seen).unwrap();
    }
    model
}

/// Means and deviations of slope and intercept.
fn line(model: &OnlineRobust) -> [(f64, f64); 2] {
    [model.weight(0).unwrap(), model.intercept().unwrap()].map(|own| (own.mean(), own.standard_deviation()))
}

/// The posterior of slope and intercept by importance sampling: 20,000 points for each number of degrees of freedom, drawn by SciPy about the mode, with the same
/// prior of the noise and flat ones of the line, on the rows of [`readings`], 249 of them ranges.
const EXACT: [(f64, f64); 2] = [(2.0432, 0.0883), (0.9725, 0.0545)];

#[test]
fn ranges_tell_what_an_exact_posterior_says_that_they_tell() {
    let rows = readings(400);
    assert_eq!(rows.iter().filter(|(_, seen)| seen.is_range()).count(), 249);
    let settings = OnlineSettings { keep_rows: true, ..OnlineSettings::default() };
    let mut model = OnlineRobust::with_settings(1, settings, (0.0, 1.0)).unwrap();
    for (x, seen) in &rows {
        model.update(&[*x], *seen).unwrap();
    }
    for refined in [false, true] {
        for ((mean, deviation), (exact, spread)) in line(&model).into_iter().zip(EXACT) {
            println!("refined {refined}: {mean:.4} for {exact}, deviation {deviation:.4} for {spread}");
            // Noise and line depend on each other where labels are ranges, which the belief leaves out.
            assert!((mean - exact).abs() < 0.3 * spread, "{refined}: {mean} {exact} {spread}");
            assert!((deviation / spread - 1.0).abs() < 0.1, "{refined}: {deviation} {spread}");
        }
        model.refine(&RefineSettings::default()).unwrap();
    }
    // Numbers in place of their limits and middles put the slope at 1.39.
    let middle = |seen: &Observation| match seen.ends() {
        (low, high) if low.is_finite() && high.is_finite() => 0.5 * (low + high),
        (low, high) => {
            if low.is_finite() {
                low
            } else {
                high
            }
        }
    };
    let plain: Vec<_> = rows.iter().map(|(x, seen)| (*x, Observation::new(middle(seen)))).collect();
    assert!(line(&learned(&plain))[0].0 < 1.5);
}

/// How often intervals of 90 % hold the weights where labels below a limit are only known to be there.
#[test]
fn intervals_hold_beside_a_limit_of_detection() {
    let sets = if crate::slow() { 80 } else { 20 };
    for (n, limit) in [(100, 0.0), (300, 0.5)] {
        let mut held = 0;
        for seed in 0..sets {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let mut model = OnlineRobust::new(2).unwrap();
            for _ in 0..n {
                let x: [f64; 2] = [rng.sample(StandardNormal), rng.sample(StandardNormal)];
                let y = 0.5 + x[0] - 0.5 * x[1] + 0.5 * rng.sample::<f64, _>(StandardNormal);
                let below = Observation::between(-INFINITY, limit);
                model.update(&x, if y < limit { below } else { Observation::new(y) }).unwrap();
            }
            for (j, truth) in [1.0, -0.5].into_iter().enumerate() {
                let interval = model.weight(j).unwrap().interval(0.9).unwrap();
                held += u32::from(interval.lower < truth && truth < interval.upper);
            }
        }
        let n_intervals = 2.0 * sets as f64;
        let share = f64::from(held) / n_intervals;
        println!("{n} rows, limit {limit}: {share:.3}");
        // Three binomial deviations, and what a belief of the noise apart from the weights may cost.
        assert!((share - 0.9).abs() < 3.0 * (0.09 / n_intervals).sqrt() + 0.02, "{n}: {share}");
    }
}

#[test]
fn a_narrow_range_is_the_number_and_units_change_nothing() {
    let rows = readings(150);
    let own = learned(&rows);
    // Numbers as ranges of a millionth: the density of the middle, and the width of each.
    let width = 1e-6;
    let narrow: Vec<(f64, Observation)> = rows
        .iter()
        .map(|(x, seen)| {
            let label = seen.ends().0;
            (*x, if seen.is_range() { *seen } else { Observation::between(label - 0.5 * width, label + 0.5 * width) })
        })
        .collect();
    let other = learned(&narrow);
    let numbers = rows.iter().filter(|(_, seen)| !seen.is_range()).count() as f64;
    for ((a, da), (b, db)) in line(&own).into_iter().zip(line(&other)) {
        // The noise is learned from other points, where rows are fitted together; scales of the labels come from an end.
        assert!((a - b).abs() < 0.02 * da && (da / db - 1.0).abs() < 0.02, "{a} {b} {da} {db}");
    }
    assert!((other.evidence() - own.evidence() - numbers * width.ln()).abs() < 0.1);
    let scaled: Vec<(f64, Observation)> = rows
        .iter()
        .map(|(x, seen)| {
            let (low, high) = seen.ends();
            (*x, Observation::between(1024.0 * low, 1024.0 * high))
        })
        .collect();
    let scaled = learned(&scaled);
    for ((a, da), (b, _)) in line(&own).into_iter().zip(line(&scaled)) {
        assert!((1024.0 * a - b).abs() < 1e-9 * 1024.0 * da, "{a} {b}");
    }
    // A probability has no unit.
    assert!((own.evidence() - scaled.evidence() - numbers * 1024_f64.ln()).abs() < 1e-8);
}

#[test]
fn a_weight_repeats_a_range() {
    let rows = readings(120);
    let (mut weighted, mut repeated) = (OnlineRobust::new(1).unwrap(), OnlineRobust::new(1).unwrap());
    for (i, (x, seen)) in rows.iter().enumerate() {
        let times = [1, 2, 0, 3][i % 4];
        weighted.update(&[*x], seen.weight(f64::from(times))).unwrap();
        for _ in 0..times {
            repeated.update(&[*x], *seen).unwrap();
        }
    }
    weighted.catch_up().unwrap();
    repeated.catch_up().unwrap();
    for ((a, da), (b, db)) in line(&weighted).into_iter().zip(line(&repeated)) {
        // A rule of twenty points, and sweeps that end at other places.
        assert!((a - b).abs() < 0.02 * da && (da / db - 1.0).abs() < 0.01, "{a} {b} {da} {db}");
    }
}

#[test]
fn a_row_adds_to_the_evidence_what_its_prediction_says() {
    let rows = readings(300);
    let mut model = learned(&rows[..200]);
    for (x, seen) in &rows[200..] {
        let (before, predicted) = (model.evidence(), model.predict(&[*x]).unwrap());
        let told = if seen.is_range() {
            let (low, high) = seen.ends();
            let label = &predicted.label;
            let exact = label.cdf(high) - label.cdf(low);
            // The steps of the tails.
            assert!((label.log_probability(low, high) - exact.ln()).abs() < 2e-5 / exact, "{low} {high}");
            label.log_probability(low, high)
        } else {
            predicted.log_density(seen.ends().0)
        };
        model.update(&[*x], *seen).unwrap();
        // Tails of a share below a thousandth are left out of predictions.
        assert!((model.evidence() - before - told).abs() < 2e-3 * (1.0 + told.abs()), "{told}");
    }
}

#[test]
fn first_rows_are_stored_with_their_ranges_and_batches_are_rows() {
    let rows = readings(40);
    let (x, seen): (Vec<f64>, Vec<Observation>) = rows.iter().copied().unzip();
    let whole = learned(&rows);
    let mut resumed = OnlineRobust::new(1).unwrap();
    for (i, (x, seen)) in rows.iter().enumerate() {
        if i % 7 == 3 {
            resumed = serde_json::from_str(&serde_json::to_string(&resumed).unwrap()).unwrap();
        }
        resumed.update(&[*x], *seen).unwrap();
    }
    let mut batch = OnlineRobust::new(1).unwrap();
    batch.update_batch(&x, &seen).unwrap();
    let [whole, resumed, batch] = [whole, resumed, batch].map(|model| serde_json::to_string(&model).unwrap());
    assert!(whole == resumed && whole == batch);
}

#[test]
fn a_logarithm_takes_a_limit_of_detection_with_or_without_its_zero() {
    let of_log = || OnlineRobust::of_transform(1, Transform::Log, OnlineSettings::default(), (0.0, 1.0)).unwrap();
    let (mut open, mut from_zero) = (of_log(), of_log());
    for i in 0..200 {
        let x = (1.3 * f64::from(i)).sin();
        let y = (0.3 * x - 0.5 + 0.4 * normal_quantile((0.618_034 * f64::from(i + 1)).fract())).exp();
        let is_below = y < 0.5;
        let seen = |low: f64| if is_below { Observation::between(low, 0.5) } else { Observation::new(y) };
        open.update(&[x], seen(-INFINITY)).unwrap();
        from_zero.update(&[x], seen(0.0)).unwrap();
    }
    assert_eq!(line(&open), line(&from_zero));
    let [(slope, spread), _] = line(&open);
    assert!((slope - 0.3).abs() < 2.5 * spread && spread < 0.1, "{slope} {spread}");
    assert!(open.update(&[0.0], Observation::between(-INFINITY, 0.0)).is_err());
    assert!(open.update(&[0.0], Observation::between(-2.0, 0.5)).is_ok());
}

#[test]
fn what_is_no_range_and_models_without_ranges_refuse_by_name() {
    let mut model = learned(&readings(60));
    let state = |model: &OnlineRobust| {
        let mut state = serde_json::to_value(model).unwrap();
        state.as_object_mut().unwrap().remove("refused");
        state["seal"].take();
        state
    };
    let before = state(&model);
    for (low, high) in [
        (2.0, 1.0),
        (f64::NAN, 1.0),
        (1.0, f64::NAN),
        (-INFINITY, INFINITY),
        (INFINITY, INFINITY),
        (1.0, -INFINITY),
        (INFINITY, 1.0),
    ] {
        let error = model.update(&[0.0], Observation::between(low, high)).unwrap_err().to_string();
        assert!(error.contains("label"), "{low} {high}: {error}");
    }
    assert_eq!(model.info().refused, 7);
    assert!(state(&model) == before);
    assert_eq!(Observation::between(1.5, 1.5), Observation::new(1.5));
    let above = Observation::between(3.0, INFINITY);
    assert_eq!(above, Observation::new(3.0).censored());
    let linear = OnlineLinear::new(1).unwrap().update(&[0.0], above).unwrap_err().to_string();
    assert!(linear.contains("range of a censored label"), "{linear}");
    let varying = OnlineVarying::new(1).unwrap().update(&[0.0], above);
    assert!(matches!(varying, Err(ModelError::Unsupported { .. })));
    let mut times = OnlineSurvival::new(1, vi_models::online::Cuts::new(&[4.0], 1.0).unwrap()).unwrap();
    assert!(times.update(&[0.0], above).is_ok());
    let within = times.update(&[0.0], Observation::between(1.0, 2.0)).unwrap_err().to_string();
    assert!(within.contains("open above"), "{within}");
    // Far beyond all other labels a range is no harder than a number.
    for (low, high) in [(1e9, INFINITY), (-INFINITY, -1e12), (1e200, INFINITY)] {
        let predicted = Model::Robust(model.clone()).predict(Row::Dense(&[0.0]), Observation::new(0.0)).unwrap();
        assert!(predicted.log_density_of(Observation::between(low, high)).unwrap().is_finite());
    }
    for label in [1e9, 1e12, 1e100] {
        model.update(&[0.3], Observation::between(label, INFINITY)).unwrap();
        assert!((line(&model)[0].0 - 2.0).abs() < 1.0, "{label}: {:?}", line(&model));
    }
}
