//! The front door of the batch fits: invariances, storage, bad input.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_core::special::sigmoid;
use vi_core::{Error, Stop};
use vi_models::ModelError;
use vi_models::vb::{FitInfo, LogitBound, VbLinear, VbLinearSettings, VbLogit, VbLogitSettings, VbSettings};

fn rows(seed: u64, n: usize, d: usize) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..n * d).map(|_| StandardNormal.sample(&mut rng)).collect()
}

fn numbers(x: &[f64], d: usize) -> Vec<f64> {
    let noise = rows(99, x.len() / d, 1);
    x.chunks(d).zip(noise).map(|(row, noise)| 3.0 + row[0] - 2.0 * row[d - 1] + 0.3 * noise).collect()
}

fn classes(x: &[f64], d: usize) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(98);
    x.chunks(d).map(|row| f64::from(rng.random::<f64>() < sigmoid(0.5 + row[0] - 2.0 * row[d - 1]))).collect()
}

/// Every combination of relevance determination and forms.
fn linear_settings() -> [VbLinearSettings; 2] {
    [false, true].map(|ard| {
        let stop = VbSettings { tolerance: Some(1e-11), max_iterations: 20_000 };
        VbLinearSettings { ard, stop, ..VbLinearSettings::default() }
    })
}

fn logit_settings() -> [VbLogitSettings; 4] {
    [
        (false, LogitBound::JaakkolaJordan),
        (false, LogitBound::Softplus),
        (true, LogitBound::JaakkolaJordan),
        (true, LogitBound::Softplus),
    ]
    .map(|(ard, bound)| {
        let stop = VbSettings { tolerance: Some(1e-11), max_iterations: 20_000 };
        VbLogitSettings { ard, bound, stop, ..VbLogitSettings::default() }
    })
}

/// Fits that agree to what is left of the iterations: a change of 1e-11 that contracts by 0.99 at worst, and to rounding.
const SAME: f64 = 1e-7;

#[test]
fn predictive_deviations_do_not_depend_on_shifts_and_units() {
    for (n, d) in [(40, 3), (12, 15)] {
        let (x, at) = (rows(1, n, d), rows(2, 5, d));
        let units: Vec<f64> = (0..d).map(|j| 10.0_f64.powf((j % 7) as f64 - 3.0)).collect();
        let change = |x: &[f64]| -> Vec<f64> {
            x.iter().enumerate().map(|(i, x)| units[i % d] * (x + 5.0 * (i % d) as f64)).collect()
        };
        let y = numbers(&x, d);
        let other_y: Vec<f64> = y.iter().map(|y| 1e3 * (y - 40.0)).collect();
        for settings in linear_settings() {
            let here = VbLinear::fit(&x, d, &y, &settings).unwrap();
            let there = VbLinear::fit(&change(&x), d, &other_y, &settings).unwrap();
            let pairs = here.predict(&at).unwrap().into_iter().zip(there.predict(&change(&at)).unwrap());
            for (one, other) in pairs {
                let deviation = other.variance().sqrt() / 1e3;
                assert!((deviation / one.variance().sqrt() - 1.0).abs() < SAME, "{n} {d}");
                assert!((other.mean / 1e3 + 40.0 - one.mean).abs() < SAME * (1.0 + one.mean.abs()), "{n} {d}");
                assert!((other.weight_variance() / one.weight_variance() / 1e6 - 1.0).abs() < SAME);
            }
        }
        let labels = classes(&x, d);
        for settings in logit_settings() {
            let here = VbLogit::fit(&x, d, &labels, &settings).unwrap();
            let there = VbLogit::fit(&change(&x), d, &labels, &settings).unwrap();
            let pairs = here.predict(&at).unwrap().into_iter().zip(there.predict(&change(&at)).unwrap());
            for (one, other) in pairs {
                assert!(
                    (other.projection.variance / one.projection.variance - 1.0).abs() < SAME,
                    "{n} {d} {settings:?}"
                );
                assert!((other.probability - one.probability).abs() < SAME, "{n} {d} {settings:?}");
            }
        }
    }
}

#[test]
fn an_intercept_is_exact_where_it_is_integrated_out() {
    // One row further from the centre, the same deviation as by hand: (1 + 1/n + x̃²V)·b/(a−1).
    let x = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
    let y = [1.0, 2.9, 5.1, 7.0, 9.2, 10.8];
    let settings = VbLinearSettings { standardise: false, ..VbLinearSettings::default() };
    let model = VbLinear::fit(&x, 1, &y, &settings).unwrap();
    let fit = model.scaled_fit();
    assert!((fit.noise().shape - (0.01 + 2.5)).abs() < 1e-12); // five observations' worth
    let predicted = model.predict(&[7.0]).unwrap()[0];
    let nu = 1.0 + 1.0 / 6.0 + 4.5 * 4.5 * fit.weights().variances()[0];
    let variance = nu * fit.noise().rate / (fit.noise().shape - 1.0);
    assert!((predicted.variance() / variance - 1.0).abs() < 1e-12);
    let coefficients = model.coefficients();
    assert!((coefficients.intercept + 7.0 * coefficients.weights[0] - predicted.mean).abs() < 1e-12);
}

#[test]
fn saved_and_read_models_predict_the_same_bits() {
    for (n, d) in [(30, 4), (6, 9)] {
        let (x, at) = (rows(3, n, d), rows(4, 7, d));
        for settings in linear_settings() {
            let model = VbLinear::fit(&x, d, &numbers(&x, d), &settings).unwrap();
            let read: VbLinear = serde_json::from_str(&serde_json::to_string(&model).unwrap()).unwrap();
            assert_eq!(read, model);
            assert_eq!(read.predict(&at).unwrap(), model.predict(&at).unwrap());
        }
        for settings in logit_settings() {
            let model = VbLogit::fit(&x, d, &classes(&x, d), &settings).unwrap();
            let read: VbLogit = serde_json::from_str(&serde_json::to_string(&model).unwrap()).unwrap();
            assert_eq!(read, model);
            assert_eq!(read.predict(&at).unwrap(), model.predict(&at).unwrap());
        }
    }
}

#[test]
fn a_damaged_store_is_an_error() {
    let x = rows(5, 10, 2);
    let model = VbLinear::fit(&x, 2, &numbers(&x, 2), &VbLinearSettings::default()).unwrap();
    let mut stored: serde_json::Value = serde_json::to_value(&model).unwrap();
    *stored.pointer_mut("/fit/weights/mean/0").unwrap() = serde_json::json!(1.0);
    let error = serde_json::from_value::<VbLinear>(stored.clone()).unwrap_err().to_string();
    assert!(error.contains("checksum"), "{error}");
    stored["seal"]["format"] = serde_json::json!(2);
    let error = serde_json::from_value::<VbLinear>(stored.clone()).unwrap_err().to_string();
    assert!(error.contains("version 2"), "{error}");
    // The other checks alone.
    stored["seal"] = serde_json::json!({ "format": 1, "checksum": null });
    let damage = |path: &str, value: serde_json::Value| {
        let mut damaged = stored.clone();
        *damaged.pointer_mut(path).unwrap() = value;
        serde_json::from_value::<VbLinear>(damaged)
    };
    assert!(damage("/fit/weights/form/Primal/factor", serde_json::json!([1.0])).is_err());
    assert!(damage("/fit/weights/form/Primal/factor/0", serde_json::json!(-1.0)).is_err());
    assert!(damage("/fit/weights/mean", serde_json::json!([])).is_err());
    assert!(damage("/fit/prior/0", serde_json::json!(0.0)).is_err());
    assert!(damage("/settings/stop/max_iterations", serde_json::json!(0)).is_err());
    assert!(damage("/fit/weights/mean/0", serde_json::json!(1.0)).is_ok());
    let empty = serde_json::json!([]);
    for path in ["/scaling/centres", "/scaling/scales", "/target/centres", "/target/scales", "/fit/shrinkage"] {
        assert!(damage(path, empty.clone()).is_err(), "{path}");
    }
    assert!(damage("/scaling/centres", serde_json::json!([1.0])).is_err());
    assert!(damage("/scaling/scales/1", serde_json::json!(0.0)).is_err());
    assert!(damage("/fit/noise/rate", serde_json::json!(-1.0)).is_err());
    assert!(damage("/settings/ard", serde_json::json!(true)).is_err());
    assert!(damage("/rows", serde_json::json!(0)).is_err());

    let model = VbLogit::fit(&x, 2, &classes(&x, 2), &VbLogitSettings::default()).unwrap();
    let mut stored = serde_json::to_value(&model).unwrap();
    stored["seal"]["checksum"] = serde_json::Value::Null;
    for (path, value) in [
        ("/scaling/centres", empty.clone()),
        ("/scaling/scales/0", serde_json::json!(-2.0)),
        ("/fit/shrinkage", empty),
        ("/settings/intercept", serde_json::json!(false)),
        ("/settings/ard", serde_json::json!(true)),
    ] {
        let mut damaged = stored.clone();
        *damaged.pointer_mut(path).unwrap() = value;
        assert!(serde_json::from_value::<VbLogit>(damaged).is_err(), "{path}");
    }
}

fn core(error: ModelError) -> Error {
    match error {
        ModelError::Core(error) => error,
        other => panic!("{other}"),
    }
}

#[test]
fn bad_input_is_named() {
    let (x, y) = ([1.0, 2.0, 3.0, 4.0], [0.0, 1.0]);
    let linear = |x: &[f64], d, y: &[f64]| core(VbLinear::fit(x, d, y, &VbLinearSettings::default()).unwrap_err());
    let logit = |x: &[f64], d, y: &[f64]| core(VbLogit::fit(x, d, y, &VbLogitSettings::default()).unwrap_err());
    for fit in [&linear as &dyn Fn(&[f64], usize, &[f64]) -> Error, &logit] {
        assert!(matches!(fit(&x, 0, &y), Error::Setting { name: "columns", .. }));
        assert!(matches!(fit(&[], 2, &[]), Error::Empty { argument: "x" }));
        assert!(matches!(fit(&x[..3], 2, &y), Error::Dimension { argument: "x", .. }));
        assert!(matches!(fit(&x, 2, &y[..1]), Error::Dimension { argument: "y", expected: 2, found: 1 }));
        assert!(matches!(fit(&[1.0, 2.0, f64::NAN, 4.0], 2, &y), Error::Row { row: 1, .. }));
        assert!(matches!(fit(&x, 2, &[0.0, f64::INFINITY]), Error::Row { row: 1, .. }));
    }
    let Error::Row { row: 1, source } = logit(&x, 2, &[0.0, 2.0]) else { panic!() };
    assert_eq!(*source, Error::Label { label: 2.0, family: "Bernoulli (labels 0 and 1)" });
    let model = VbLinear::fit(&x, 2, &y, &VbLinearSettings::default()).unwrap();
    let before = model.clone();
    assert!(model.predict(&[1.0]).is_err() && model.predict(&[1.0, f64::NAN]).is_err() && model.predict(&[]).is_err());
    assert_eq!(model, before);
    for (tolerance, max_iterations) in [(0.0, 5), (f64::NAN, 5), (0.1, 0)] {
        let stop = VbSettings { tolerance: Some(tolerance), max_iterations };
        let settings = VbLinearSettings { stop, ..VbLinearSettings::default() };
        assert!(settings.check().is_err() && VbLinear::fit(&x, 2, &y, &settings).is_err(), "{stop:?}");
    }
}

#[test]
fn degenerate_data_fit() {
    // A constant column, equal columns, one row, a constant label, separable classes, more columns than rows.
    let one = |x: &[f64], d: usize, y: &[f64], labels: &[f64]| {
        for settings in linear_settings() {
            let model = VbLinear::fit(x, d, y, &settings).unwrap();
            let predicted = model.predict(x).unwrap();
            assert!(predicted.iter().all(|p| p.mean.is_finite() && p.squared_scale > 0.0));
        }
        for settings in logit_settings() {
            let model = VbLogit::fit(x, d, labels, &settings).unwrap();
            let predicted = model.predict(x).unwrap();
            assert!(predicted.iter().all(|p| (0.0..=1.0).contains(&p.probability)));
            assert!(!model.info().advice.is_empty());
        }
    };
    one(&[1.0, 7.0, 2.0, 7.0, 4.0, 7.0], 2, &[1.0, 2.0, 4.0], &[0.0, 0.0, 1.0]);
    one(&[1.0, 1.0, 2.0, 2.0, 4.0, 4.0], 2, &[1.0, 2.0, 4.0], &[0.0, 1.0, 1.0]);
    one(&[3.0, -1.0], 2, &[5.0], &[1.0]);
    one(&[1.0, 2.0, 3.0], 1, &[2.0, 2.0, 2.0], &[1.0, 1.0, 1.0]);
    one(&[0.0, 0.0, 0.0], 1, &[0.0, 0.0, 0.0], &[0.0, 0.0, 0.0]);
    one(&rows(6, 3, 8), 8, &[1.0, -1.0, 0.5], &[1.0, 0.0, 1.0]);
    one(&[1e-8, 2e-8, 3e8, -1e8], 1, &[1e-6, 1.0, 3e5, -1e5], &[0.0, 0.0, 1.0, 0.0]);
}

#[test]
fn any_unit_gives_the_same_fit_or_an_error() {
    let (n, d) = (30, 2);
    let (x, at) = (rows(11, n, d), rows(12, 4, d));
    let (y, labels) = (numbers(&x, d), classes(&x, d));
    let times = |values: &[f64], unit: f64| -> Vec<f64> { values.iter().map(|value| value * unit).collect() };
    for unit in [1e-300, 1e-170, 1e-155, 1e155, 1e170, 1e300] {
        let (there, at_there) = (times(&x, unit), times(&at, unit));
        for settings in linear_settings() {
            let one = VbLinear::fit(&x, d, &y, &settings).unwrap();
            let other = VbLinear::fit(&there, d, &y, &settings).unwrap();
            for (p, q) in one.predict(&at).unwrap().iter().zip(other.predict(&at_there).unwrap()) {
                assert!((q.squared_scale / p.squared_scale - 1.0).abs() < SAME, "{unit:e}");
                assert!((q.mean - p.mean).abs() < SAME * (1.0 + p.mean.abs()), "{unit:e}");
            }
            // The square of such a y, its variance, is no float.
            let error = core(VbLinear::fit(&x, d, &times(&y, unit), &settings).unwrap_err());
            assert!(matches!(error, Error::Overflow { quantity: "the variance of y", .. }), "{unit:e}: {error}");
        }
        for settings in logit_settings() {
            let one = VbLogit::fit(&x, d, &labels, &settings).unwrap();
            let other = VbLogit::fit(&there, d, &labels, &settings).unwrap();
            for (p, q) in one.predict(&at).unwrap().iter().zip(other.predict(&at_there).unwrap()) {
                assert!((q.probability - p.probability).abs() < SAME, "{unit:e}");
            }
        }
    }
    for (settings, logit) in linear_settings().into_iter().zip(logit_settings()) {
        let huge: Vec<f64> = x.iter().map(|x| 1.7e308 * x.signum()).collect();
        let plain = VbLinearSettings { standardise: false, ..settings };
        for unit in [1e155, 1e300] {
            assert!(VbLinear::fit(&times(&x, unit), d, &y, &plain).is_err(), "{unit:e}");
            assert!(VbLinear::fit(&x, d, &times(&y, unit), &plain).is_err(), "{unit:e}");
        }
        let model = VbLinear::fit(&times(&x, 1e-3), d, &y, &settings).unwrap();
        assert!(matches!(core(model.predict(&[1.7e308; 2]).unwrap_err()), Error::Row { row: 0, .. }));
        // A unit near the end of the floats: the same fit, or an error, but no weights of zero.
        if let Ok(model) = VbLogit::fit(&huge, d, &labels, &logit) {
            assert!(model.coefficients().standard_deviations.iter().all(|sd| *sd > 0.0));
        }
    }
}

#[test]
fn constant_columns_are_named() {
    let x = [1.0, 7.0, 2.0, 7.0, 4.0, 7.0, -1.0, 7.0];
    let linear = VbLinear::fit(&x, 2, &[1.0, 2.0, 4.0, 0.0], &VbLinearSettings::default()).unwrap();
    assert_eq!(linear.info().constant_columns, [1]);
    let logit = VbLogit::fit(&x, 2, &[0.0, 1.0, 1.0, 0.0], &VbLogitSettings::default()).unwrap();
    assert_eq!(logit.info().constant_columns, [1]);
}

#[test]
fn advice_says_what_is_wrong() {
    let x = rows(7, 30, 2);
    let stop = VbSettings { tolerance: Some(1e-12), max_iterations: 2 };
    let settings = VbLinearSettings { stop, ..VbLinearSettings::default() };
    let hasty = VbLinear::fit(&x, 2, &numbers(&x, 2), &settings).unwrap();
    assert_eq!(hasty.info().iterations.stop, Stop::Iterations);
    assert!(hasty.info().advice.contains("allow more"), "{}", hasty.info().advice);
    let settings = VbLogitSettings { bound: LogitBound::JaakkolaJordan, ..VbLogitSettings::default() };
    let certain = VbLogit::fit(&x, 2, &classes(&x, 2), &settings).unwrap();
    assert!(certain.info().advice.contains("Softplus"), "{}", certain.info().advice);
    let few = rows(8, 4, 9);
    let wide = VbLinear::fit(&few, 9, &[1.0, 2.0, 0.0, -1.0], &VbLinearSettings::default()).unwrap();
    assert!(wide.info().advice.contains("HorseshoeLinear"), "{}", wide.info().advice);
}

/// Mean and standard deviation of numbers.
fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n).sqrt())
}

#[test]
fn draws_have_the_moments_that_the_fit_reports() {
    const DRAWS: usize = 20_000;
    // The deviation of a sample's deviation is σ·√((kurtosis − 1)/4N), below σ/√N for a kurtosis below 5.
    let near = |values: &[f64], mean: f64, deviation: f64, what: &str| {
        let (found_mean, found_deviation) = moments(values);
        let tolerance = 6.0 * deviation / (DRAWS as f64).sqrt();
        assert!((found_mean - mean).abs() < tolerance, "{what}: mean {found_mean} for {mean} ± {deviation}");
        assert!((found_deviation - deviation).abs() < tolerance, "{what}: deviation {found_deviation} for {deviation}");
    };
    let mut rng = ChaCha8Rng::seed_from_u64(31);
    for (n, d) in [(40, 3), (14, 17)] {
        // Columns of different units, away from 0.
        let x: Vec<f64> =
            rows(1, n, d).iter().enumerate().map(|(i, x)| (2.0 + x) * 10.0_f64.powf((i % d % 3) as f64)).collect();
        let at: Vec<f64> = x[..d].iter().map(|x| 1.5 * x - 0.5).collect();
        for (intercept, standardise) in [(true, true), (true, false), (false, true)] {
            for mut settings in linear_settings() {
                (settings.intercept, settings.standardise) = (intercept, standardise);
                let model = VbLinear::fit(&x, d, &numbers(&x, d), &settings).unwrap();
                let told = model.coefficients();
                let draws = model.samples(DRAWS, &mut rng).unwrap();
                for j in 0..d {
                    let column: Vec<f64> = draws.iter().map(|draw| draw.weights[j]).collect();
                    near(&column, told.weights[j], told.standard_deviations[j], "linear");
                }
                let seen: Vec<f64> = draws.iter().map(|draw| draw.score(&at).unwrap()).collect();
                let predicted = model.predict(&at).unwrap()[0];
                near(&seen, predicted.mean, predicted.weight_variance().sqrt(), "linear, a row");
                assert!(intercept || draws.iter().all(|draw| draw.intercept == 0.0));
            }
            for mut settings in logit_settings() {
                (settings.intercept, settings.standardise) = (intercept, standardise);
                let model = VbLogit::fit(&x, d, &classes(&rows(1, n, d), d), &settings).unwrap();
                let told = model.coefficients();
                let draws = model.samples(DRAWS, &mut rng).unwrap();
                for j in 0..d {
                    let column: Vec<f64> = draws.iter().map(|draw| draw.weights[j]).collect();
                    near(&column, told.weights[j], told.standard_deviations[j], "logit");
                }
                let seen: Vec<f64> = draws.iter().map(|draw| draw.score(&at).unwrap()).collect();
                let predicted = model.predict(&at).unwrap()[0].projection;
                near(&seen, predicted.mean, predicted.variance.sqrt(), "logit, a row");
                assert!(intercept || draws.iter().all(|draw| draw.intercept == 0.0));
            }
        }
    }
}

#[test]
fn one_draw_is_the_first_of_many() {
    let (n, d) = (20, 3);
    let x = rows(5, n, d);
    let linear = VbLinear::fit(&x, d, &numbers(&x, d), &VbLinearSettings::default()).unwrap();
    let logit = VbLogit::fit(&x, d, &classes(&x, d), &VbLogitSettings::default()).unwrap();
    let rng = || ChaCha8Rng::seed_from_u64(7);
    assert_eq!(linear.samples(1, &mut rng()).unwrap(), [linear.sample(&mut rng()).unwrap()]);
    assert_eq!(logit.samples(1, &mut rng()).unwrap(), [logit.sample(&mut rng()).unwrap()]);
    assert!(linear.samples(0, &mut rng()).unwrap().is_empty() && logit.samples(0, &mut rng()).unwrap().is_empty());
}

#[test]
fn collinear_columns_are_named() {
    let base = rows(41, 30, 3);
    let labels = classes(&base, 3);
    let y = numbers(&base, 3);
    let both = |x: &[f64], d: usize| {
        let mut infos = Vec::new();
        for settings in linear_settings() {
            infos.push(VbLinear::fit(x, d, &y[..x.len() / d], &settings).unwrap().info().clone());
        }
        for settings in logit_settings() {
            infos.push(VbLogit::fit(x, d, &labels[..x.len() / d], &settings).unwrap().info().clone());
        }
        infos
    };
    let columns = |make: &dyn Fn(&[f64]) -> Vec<f64>| -> Vec<f64> { base.chunks(3).flat_map(make).collect() };

    for info in both(&columns(&|r| vec![r[0], r[0], 2.0 * r[0]]), 3) {
        assert!(info.design_condition > 1e14 && info.collinear_columns == [0, 1, 2], "{info:?}");
        assert!(info.advice.contains("Columns 0, 1, 2 are collinear"), "{}", info.advice);
    }
    // A sum of two, among others, one of them constant.
    for info in both(&columns(&|r| vec![r[2], r[0], 7.0, r[1], 1e6 * (r[0] + r[1]) - 3.0]), 5) {
        assert!(info.design_condition > 1e14 && info.collinear_columns == [1, 3, 4], "{info:?}");
        assert!(info.advice.contains("Columns 1, 3, 4"), "{}", info.advice);
    }
    for info in both(&columns(&|r| vec![7.0, 1e5 * r[0], r[1] + 4.0, 1e-5 * r[2], 7.0]), 5) {
        assert!((1.0..10.0).contains(&info.design_condition) && info.collinear_columns.is_empty(), "{info:?}");
    }
    // Correlation ρ has the eigenvalues 1 ± ρ.
    let signs = [1.0, 1.0, 1.0, -1.0, -1.0, 1.0, -1.0, -1.0];
    let x: Vec<f64> = signs.chunks(2).flat_map(|s| [s[0], 0.6 * s[0] + 0.8 * s[1]]).collect();
    for info in both(&x, 2) {
        assert!((info.design_condition - 4.0).abs() < 1e-12, "{info:?}");
    }
    for info in both(&rows(8, 4, 9), 9) {
        assert!(info.design_condition == f64::INFINITY && info.collinear_columns.is_empty(), "{info:?}");
        let read: FitInfo = serde_json::from_str(&serde_json::to_string(&info).unwrap()).unwrap();
        assert_eq!(read, info);
    }
}
