//! Fractions by their log odds.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use vi_models::online::{Kind, Model, Observation, OnlineLinear, Prediction, Row};
use vi_models::{ModelError, Transform};

const N: usize = 300;

fn kinds(transform: Transform) -> [Kind; 3] {
    let unit = (0.0, 1.0);
    [
        Kind::Number { noise: OnlineLinear::DEFAULT_NOISE, transform },
        Kind::Robust { unit, transform },
        Kind::Varying { unit, transform },
    ]
}

/// Rows, and log odds along a line.
fn rows() -> Vec<([f64; 2], f64)> {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut row = || {
        let x = [rng.sample(StandardNormal), rng.random()];
        (x, 0.8 * x[0] - 1.0 + 0.5 * rng.sample::<f64, _>(StandardNormal))
    };
    (0..N).map(|_| row()).collect()
}

fn learned(kind: Kind, label: impl Fn(f64) -> f64) -> Model {
    let mut model = Model::new(kind, 2, kind.default_settings()).unwrap();
    for (x, odds) in rows() {
        model.update(Row::Dense(&x), Observation::new(label(odds))).unwrap();
    }
    model
}

fn seen(model: &Model) -> vi_models::Marginal {
    match model.predict(Row::Dense(&[0.7, 0.2]), Observation::new(0.0)).unwrap() {
        Prediction::Number(seen) => seen.label,
        other => panic!("{other:?}"),
    }
}

/// What a model of the log odds says of them, in the units of the fractions.
#[test]
fn a_model_of_fractions_is_that_of_their_log_odds() {
    let jacobian: f64 = rows().iter().map(|(_, odds)| odds - 2.0 * odds.exp().ln_1p()).sum();
    for (own, plain) in kinds(Transform::Logit).into_iter().zip(kinds(Transform::Identity)) {
        let fractions = learned(own, |odds| Transform::Logit.inverse(odds));
        let plain = learned(plain, |odds| odds);
        assert_eq!(fractions.kind(), own);
        // Log odds of fractions are rounded, which fits of first rows carry on.
        assert!((fractions.evidence() - (plain.evidence() - jacobian)).abs() < 1e-5 * N as f64, "{own:?}");
        let (of_fractions, of_odds) = (seen(&fractions), seen(&plain));
        for p in [0.05, 0.5, 0.9] {
            let (own, odds) = (of_fractions.quantile(p).unwrap(), of_odds.quantile(p).unwrap());
            assert!((own - Transform::Logit.inverse(odds)).abs() < 1e-6, "{own}");
            assert!((of_fractions.cdf(own) - p).abs() < 1e-6);
            let density = of_odds.log_density(odds) - (own * (1.0 - own)).ln();
            assert!((of_fractions.log_density(own) - density).abs() < 1e-5);
        }
        let (low, high) = (of_fractions.cdf(0.0), of_fractions.cdf(1.0));
        assert_eq!((low, high, of_fractions.log_density(1.0)), (0.0, 1.0, f64::NEG_INFINITY));
    }
}

#[test]
fn draws_have_the_mean_the_deviation_and_the_score() {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    for kind in kinds(Transform::Logit) {
        let marginal = seen(&learned(kind, |odds| Transform::Logit.inverse(odds)));
        let (n, y) = (20_000, 0.3);
        let draws: Vec<f64> = (0..n).map(|_| marginal.draw(&mut rng).unwrap()).collect();
        let of = |f: &dyn Fn(usize) -> f64| (0..draws.len()).map(f).sum::<f64>() / f64::from(n);
        let mean = of(&|i| draws[i]);
        let sd = of(&|i| (draws[i] - mean).powi(2)).sqrt();
        let crps = of(&|i| (draws[i] - y).abs() - 0.5 * (draws[i] - draws[(i + 1) % draws.len()]).abs());
        // 5 standard errors; those of a deviation and of a score are below that of the mean.
        let bound = 5.0 * sd / f64::from(n).sqrt();
        assert!((marginal.mean() - mean).abs() < bound, "{kind:?}");
        assert!((marginal.standard_deviation() - sd).abs() < bound, "{kind:?}");
        assert!((marginal.crps(y) - crps).abs() < bound, "{kind:?}");
    }
}

#[test]
fn labels_that_are_no_fractions_are_refused_and_change_nothing() {
    for kind in kinds(Transform::Logit) {
        let mut model = learned(kind, |odds| Transform::Logit.inverse(odds));
        let before = serde_json::to_string(&model).unwrap();
        for label in [0.0, 1.0, -0.2, 1.5, f64::NAN] {
            let refused = model.update(Row::Dense(&[1.0, 0.5]), Observation::new(label)).unwrap_err();
            assert!(matches!(refused, ModelError::Core(_) | ModelError::Input { .. }), "{label}: {refused}");
        }
        let refused = model.update(Row::Dense(&[1.0, 0.5]), Observation::new(1.0)).unwrap_err();
        assert!(refused.to_string().contains("log odds of a fraction"), "{refused}");
        let again: Model = serde_json::from_str(&before).unwrap();
        // What was refused is counted.
        assert_eq!(serde_json::to_string(&again).unwrap(), before);
        assert_eq!(seen(&again), seen(&model));
    }
}
