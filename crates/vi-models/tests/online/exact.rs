//! Linear models: the conjugate posterior.

use vi_models::online::{BeliefKind, Observation, OnlineLinear, OnlineSettings, PriorScale, Standardise, Start};
use vi_models::{CoreError, ModelError};

use crate::numbers;

#[test]
fn a_linear_model_is_the_conjugate_posterior_of_all_rows() {
    let (n, scale) = (40, 2.0);
    let (rows, labels) = numbers(n, 30);
    let settings = OnlineSettings {
        prior_scale: PriorScale::Given(scale),
        intercept_scale: scale,
        standardise: Standardise::Never,
        ..OnlineLinear::default_settings()
    };
    for kind in [BeliefKind::Full, BeliefKind::SquareRoot] {
        let settings = OnlineSettings { belief: kind, ..settings.clone() };
        let mut model = OnlineLinear::with_settings(2, settings.clone(), 1.5, 0.7).unwrap();
        model.update_batch(&rows, &labels).unwrap();
        // Λ = I/s² + XᵀX, Λμ = Xᵀy; a = a₀ + n/2; b = b₀ + ½(yᵀy − μᵀΛμ), by elimination on three columns.
        let design: Vec<[f64; 3]> = rows.chunks(2).map(|x| [x[0], x[1], 1.0]).collect();
        let mut system = [[0.0; 4]; 3];
        for i in 0..3 {
            system[i][i] = 1.0 / (scale * scale);
            for (x, y) in design.iter().zip(&labels) {
                (0..3).for_each(|j| system[i][j] += x[i] * x[j]);
                system[i][3] += x[i] * y;
            }
        }
        let moments = [system[0][3], system[1][3], system[2][3]];
        let mut log_det = 0.0;
        for i in 0..3 {
            log_det += f64::ln(system[i][i]);
            for k in (0..3).filter(|&k| k != i) {
                let factor = system[k][i] / system[i][i];
                (0..4).for_each(|j| system[k][j] -= factor * system[i][j]);
            }
        }
        let mean: [f64; 3] = std::array::from_fn(|i| system[i][3] / system[i][i]);
        let (shape, rate) = model.noise();
        let explained: f64 = mean.iter().zip(&moments).map(|(m, v)| m * v).sum();
        let expected_rate = 0.7 + 0.5 * (labels.iter().map(|y| y * y).sum::<f64>() - explained);
        // Rounding of 40 updates at a condition of about 160; the rate cancels 25 to 1 or so beside it.
        let tolerance = 40.0 * 160.0 * 25.0 * f64::EPSILON;
        assert_eq!(shape, 1.5 + 0.5 * n as f64);
        assert!((rate / expected_rate - 1.0).abs() < tolerance, "{kind:?}: {rate} {expected_rate}");
        let weights = model.weights();
        assert!((weights.weights[0] - mean[0]).abs() < tolerance && (weights.intercept - mean[2]).abs() < tolerance);
        // The evidence of all rows at once: determinants and gammas.
        let ln_gamma = |a: f64| libm::lgamma(a);
        let half_n = 0.5 * n as f64;
        let evidence = -half_n * (2.0 * std::f64::consts::PI).ln() - 0.5 * (log_det + 3.0 * 2.0 * scale.ln())
            + 1.5 * f64::ln(0.7)
            - shape * expected_rate.ln()
            + ln_gamma(shape)
            - ln_gamma(1.5);
        assert!((model.evidence() - evidence).abs() < tolerance * evidence.abs(), "{} {evidence}", model.evidence());

        let mut shards: Vec<OnlineLinear> = Vec::new();
        for (rows, labels) in rows.chunks(2 * 13).zip(labels.chunks(13)) {
            let mut shard = OnlineLinear::with_settings(2, settings.clone(), 1.5, 0.7).unwrap();
            shard.update_batch(rows, labels).unwrap();
            shards.push(shard);
        }
        let (first, others) = shards.split_at_mut(1);
        first[0].merge(&others.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(first[0].noise().0, shape);
        assert!((first[0].noise().1 / rate - 1.0).abs() < 4.0 * tolerance);
        let merged = first[0].evidence();
        assert!((merged - evidence).abs() < 4.0 * tolerance * evidence.abs(), "{merged} {evidence}");
        let (a, b) = (first[0].predict(&[0.3, -1.0]).unwrap(), model.predict(&[0.3, -1.0]).unwrap());
        assert!(
            (a.mean() - b.mean()).abs() < tolerance
                && (a.standard_deviation() - b.standard_deviation()).abs() < tolerance
        );
    }
}

/// With a prior scale that rows tell, parts merge into the model of all rows whose nodes of the scale are placed anew, which the merge with a
/// model of no rows does.
#[test]
fn parts_that_learn_the_scale_merge_into_the_model_of_all_rows() {
    let (n, inputs) = (330, 2);
    let (rows, labels) = numbers(n, 31);
    for start in [Start::Fitted, Start::OnePass] {
        let settings = OnlineSettings { standardise: Standardise::Never, start, ..OnlineLinear::default_settings() };
        let unlearned = OnlineLinear::with_settings(inputs, settings, 0.1, 1e-5).unwrap();
        let of = |rows: &[f64], labels: &[f64]| {
            let mut model = unlearned.clone();
            model.update_batch(rows, labels).unwrap();
            model
        };
        let mut whole = of(&rows, &labels);
        whole.merge(&[&unlearned]).unwrap();
        for size in [30, 110, 200] {
            let parts: Vec<_> =
                rows.chunks(inputs * size).zip(labels.chunks(size)).map(|(rows, labels)| of(rows, labels)).collect();
            let (mut merged, others) = (parts[0].clone(), parts[1..].iter().collect::<Vec<_>>());
            merged.merge(&others).unwrap();
            // Each part undoes its prior, 10⁶ times as wide as the posterior of the intercept, by rounding of some n sums.
            let tolerance = 1e6 * n as f64 * f64::EPSILON;
            assert!((merged.evidence() - whole.evidence()).abs() < tolerance * n as f64, "{start:?} {size}");
            for x in rows.chunks(inputs).take(5) {
                let (found, expected) = (merged.predict(x).unwrap(), whole.predict(x).unwrap());
                assert!((found.mean() - expected.mean()).abs() < tolerance, "{start:?} {size}");
                assert!((found.log_density(0.5) - expected.log_density(0.5)).abs() < tolerance, "{start:?} {size}");
            }
            for j in 0..inputs {
                let (found, expected) = (merged.weight(j).unwrap(), whole.weight(j).unwrap());
                assert!((found.standard_deviation() / expected.standard_deviation() - 1.0).abs() < tolerance);
            }
        }
    }
}

/// Labels centred by their own mean leave one degree of freedom less: with a mean alone the prediction is the classical Student-t.
#[test]
fn a_mean_that_the_first_rows_tell_takes_a_degree_of_freedom() {
    let labels = [3.0, 7.0, 4.5, 6.0, 9.5, 4.0];
    let n = labels.len() as f64;
    let mean = labels.iter().sum::<f64>() / n;
    let squares: f64 = labels.iter().map(|y| (y - mean).powi(2)).sum();
    // A prior that weighs nothing.
    let mut model = OnlineLinear::with_settings(0, OnlineLinear::default_settings(), 1e-9, 1e-9).unwrap();
    for y in labels {
        model.update(&[], y).unwrap();
    }
    let predicted = model.predict(&[]).unwrap();
    let scale = (squares / (n - 1.0) * (1.0 + 1.0 / n)).sqrt();
    let classical = vi_models::Student::new(mean, scale, n - 1.0).unwrap();
    // The intercept's prior, of 1000 times the noise, and that of the noise are parts of a million.
    for y in [-3.0, 2.0, mean, 6.5, 20.0] {
        assert!((predicted.log_density(y) - classical.log_density(y)).abs() < 1e-5, "{y}");
    }
    assert!((model.noise().0 - 0.5 * (n - 1.0)).abs() < 1e-8);
    // In parts of a row, and forgotten, the mean takes as much.
    let mut halves = OnlineLinear::with_settings(0, OnlineLinear::default_settings(), 1e-9, 1e-9).unwrap();
    for &y in labels.iter().chain(&labels) {
        halves.update(&[], Observation::new(y).weight(0.5)).unwrap();
    }
    assert!((halves.noise().0 - model.noise().0).abs() < 1e-8);
}

#[test]
fn a_number_too_large_to_square_changes_nothing() {
    let given = PriorScale::Given(1.0);
    for prior_scale in [given, PriorScale::default()] {
        let settings =
            OnlineSettings { prior_scale, standardise: Standardise::Never, ..OnlineLinear::default_settings() };
        let mut model = OnlineLinear::with_settings(1, settings, 1.0, 1.0).unwrap();
        model.update(&[1.0], 2.0).unwrap();
        let before = serde_json::to_string(&model).unwrap();
        let error = model.update(&[1.0], 1e200).unwrap_err();
        assert!(matches!(error, ModelError::Core(vi_core::Error::Overflow { .. })), "{error}");
        assert_eq!(before, serde_json::to_string(&model).unwrap());
    }
}

/// Labels whose squares no float holds are refused, and the noise that is told is a float.
#[test]
fn the_noise_is_finite_whatever_was_taken() {
    let mut model = OnlineLinear::new(1).unwrap();
    for t in 0..60 {
        model.update(&[f64::from(t % 7)], 1e150 * f64::from(t % 5)).unwrap();
    }
    let before = serde_json::to_string(&model).unwrap();
    let error = model.update(&[1.0], 1e155).unwrap_err();
    assert!(matches!(error, ModelError::Core(vi_core::Error::Overflow { .. })), "{error}");
    assert_eq!(before, serde_json::to_string(&model).unwrap());
    let settings = OnlineLinear::default_settings();
    let mut flat = OnlineLinear::with_settings(1, settings, 1.0, 1e300).unwrap();
    for t in 0..60 {
        flat.update(&[f64::from(t % 7)], 1e100 * f64::from(t % 5)).unwrap();
    }
    assert!(model.noise().1.is_finite() && flat.noise().1.is_finite());
}

#[test]
fn unit_and_origin_of_the_label_do_not_move_a_linear_models_intervals() {
    let (rows, labels) = numbers(200, 34);
    let offset = |t: usize| if t.is_multiple_of(2) { 0.7 } else { -0.2 };
    let fit = |unit: f64, origin: f64| {
        let mut model = OnlineLinear::new(2).unwrap();
        for (t, (row, y)) in rows.chunks(2).zip(&labels).enumerate() {
            let observed = Observation::new(unit * y + origin + unit * offset(t)).offset(unit * offset(t));
            model.update(row, observed.weight(if t.is_multiple_of(5) { 2.0 } else { 1.0 })).unwrap();
        }
        model
    };
    let plain = fit(1.0, 0.0);
    let weight: f64 = (0..200_usize).map(|t| if t.is_multiple_of(5) { 2.0 } else { 1.0 }).sum();
    for (unit, origin) in [(1.0, 1e4), (1.0, 1e6), (1e-3, 0.0), (1e-6, 0.0), (1e9, -3e9), (1e-140, 0.0), (1e140, 0.0)] {
        let other = fit(unit, origin);
        // Origin and label share a float: ε·(origin/unit) standard deviations in each label, 200 updates, a prior flat by 10⁶.
        let tolerance = 200.0 * (1e6 + origin.abs() / unit) * 8.0 * f64::EPSILON;
        let shift = weight * unit.ln();
        assert!(
            (other.evidence() + shift - plain.evidence()).abs() < tolerance * (1.0 + shift.abs()),
            "{unit} {origin}"
        );
        assert!((other.noise().1 / unit / unit / plain.noise().1 - 1.0).abs() < tolerance, "{unit} {origin}");
        let (w, v) = (plain.weights(), other.weights());
        assert!((v.weights[1] / unit - w.weights[1]).abs() < tolerance, "{unit} {origin}");
        assert!(((v.intercept - origin) / unit - w.intercept).abs() < tolerance, "{unit} {origin}");
        for x in rows.chunks(2).take(20) {
            let (p, q) = (plain.predict(x).unwrap(), other.predict(x).unwrap());
            assert!(
                (q.standard_deviation() / unit / p.standard_deviation() - 1.0).abs() < tolerance,
                "{unit} {origin}"
            );
            assert!(((q.mean() - origin) / unit - p.mean()).abs() < tolerance, "{unit} {origin}");
        }
    }
    // The noise is 0.3.
    assert!((plain.predict(&rows[..2]).unwrap().standard_deviation() / 0.3 - 1.0).abs() < 0.2);
}

#[test]
fn units_of_the_inputs_do_not_move_a_linear_models_intervals() {
    let (rows, labels) = numbers(80, 31);
    let moved: Vec<f64> = rows.chunks(2).flat_map(|x| [1e-4 * x[0] + 3e-4, 50.0 * x[1] - 80.0]).collect();
    let (mut one, mut two) = (OnlineLinear::new(2).unwrap(), OnlineLinear::new(2).unwrap());
    one.update_batch(&rows, &labels).unwrap();
    two.update_batch(&moved, &labels).unwrap();
    for (x, z) in rows.chunks(2).zip(moved.chunks(2)) {
        let (p, q) = (one.predict(x).unwrap(), two.predict(z).unwrap());
        // A shift of 3 standard deviations costs 3ε in each input; 80 updates, a prior flat by 10⁶ in variance.
        let tolerance = 80.0 * 3.0 * 1e6 * f64::EPSILON;
        assert!((p.standard_deviation() / q.standard_deviation() - 1.0).abs() < tolerance);
        assert!((p.mean() - q.mean()).abs() < tolerance * p.mean().abs().max(1.0));
    }
}

#[test]
fn without_an_intercept_nothing_is_centred() {
    // y = 2x far from the origin: with x less its mean and no intercept the weight would be what the mean of y leaves, 1 of 290.
    let settings = OnlineSettings { intercept: false, ..OnlineLinear::default_settings() };
    let mut model = OnlineLinear::with_settings(1, settings, 1e-2, 1e-4).unwrap();
    for t in 0..100 {
        let x = 100.0 + f64::from(t);
        model.update(&[x], 2.0 * x).unwrap();
    }
    // A prior of scale s in noise units takes off a share of σ²/(s²Σx²), far below 1e-6 for labels without noise.
    assert!((model.weights().weights[0] - 2.0).abs() < 1e-6, "{:?}", model.weights());
    assert!(model.weight(0).unwrap().interval(0.95).unwrap().contains(2.0));
}

#[test]
fn what_is_believed_of_a_weight_is_in_the_callers_units() {
    let (rows, labels) = numbers(60, 36);
    let moved: Vec<f64> = rows.chunks(2).flat_map(|x| [1e-3 * x[0] + 4.0, 50.0 * x[1]]).collect();
    let (mut one, mut two) = (OnlineLinear::new(2).unwrap(), OnlineLinear::new(2).unwrap());
    one.update_batch(&rows, &labels).unwrap();
    two.update_batch(&moved, &labels).unwrap();
    // Rounding of 60 rows 4·10³ standard deviations from the origin.
    let tolerance = 60.0 * 4e3 * 1e3 * f64::EPSILON;
    for (j, unit) in [(0, 1e-3), (1, 50.0)] {
        let (a, b) = (one.weight(j).unwrap(), two.weight(j).unwrap());
        assert!((b.mean() * unit / a.mean() - 1.0).abs() < tolerance);
        assert!((b.standard_deviation() * unit / a.standard_deviation() - 1.0).abs() < tolerance);
        assert!((a.mean() - one.weights().weights[j]).abs() < 16.0 * f64::EPSILON);
    }
    let origin = two.intercept().unwrap();
    assert!((origin.mean() / two.weights().intercept - 1.0).abs() < tolerance);
    assert!(origin.standard_deviation() > one.intercept().unwrap().standard_deviation() * 1e3);
    assert!(one.weight(2).is_err());
}

#[test]
fn combinations_of_weights_have_the_conjugate_covariance() {
    let (rows, labels) = numbers(40, 37);
    let (scale, units) = (2.0, [0.5, 4.0]);
    let settings = OnlineSettings {
        prior_scale: PriorScale::Given(scale),
        intercept: false,
        standardise: Standardise::Fixed { centres: vec![0.0; 2], scales: units.to_vec() },
        ..OnlineLinear::default_settings()
    };
    let mut model = OnlineLinear::with_settings(2, settings, 1.5, 0.7).unwrap();
    model.update_batch(&rows, &labels).unwrap();
    // Λ = I/s² + ZᵀZ with z = x/unit; Cov(w) = E σ²·Λ⁻¹ with each weight divided by its unit.
    let mut precision = [1.0 / (scale * scale), 0.0, 1.0 / (scale * scale)];
    for x in rows.chunks(2) {
        let z = [x[0] / units[0], x[1] / units[1]];
        precision[0] += z[0] * z[0];
        precision[1] += z[0] * z[1];
        precision[2] += z[1] * z[1];
    }
    let determinant = precision[0] * precision[2] - precision[1] * precision[1];
    let (shape, rate) = model.noise();
    let noise = rate / (shape - 1.0);
    let expected = |j: usize, k: usize| {
        let inverse = match (j, k) {
            (0, 0) => precision[2],
            (1, 1) => precision[0],
            _ => -precision[1],
        };
        noise * inverse / determinant / (units[j] * units[k])
    };
    // Rounding of 40 updates at a condition of about 100; the covariance is a difference of sums of the variances.
    let tolerance = 40.0 * 100.0 * f64::EPSILON * (expected(0, 0) + expected(1, 1));
    for (j, k) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let found = model.covariance(j, k).unwrap();
        assert!((found - expected(j, k)).abs() < tolerance, "{j}, {k}: {found} {}", expected(j, k));
    }
    let both = model.combination(&[1.0, -3.0]).unwrap();
    let variance = expected(0, 0) - 6.0 * expected(0, 1) + 9.0 * expected(1, 1);
    assert!((both.variance() - variance).abs() < 10.0 * tolerance);
    let weights = model.weights().weights;
    assert!((both.mean() - (weights[0] - 3.0 * weights[1])).abs() < 16.0 * f64::EPSILON * (1.0 + both.mean().abs()));
    assert!(model.covariance(0, 2).is_err() && model.combination(&[1.0]).is_err());
}

/// `n` rows of `d` numbers without correlations, every weight 1, and a little noise.
fn ones(d: usize, n: usize) -> (Vec<f64>, Vec<f64>) {
    // Multiples of the roots of primes modulo 1.
    let primes = [2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0, 23.0];
    let number = |t: usize, j: usize| ((t as f64 + 1.0) * f64::sqrt(primes[j]) * 7.3).rem_euclid(1.0) * 3.4 - 1.7;
    let rows: Vec<f64> = (0..n).flat_map(|t| (0..d).map(move |j| number(t, j))).collect();
    let labels = rows.chunks(d).enumerate().map(|(t, x)| x.iter().sum::<f64>() + 0.1 * number(t, d)).collect();
    (rows, labels)
}

/// A hundred shards of three rows: the weights would stay where the prior has them. With a full covariance the same shards
/// are the whole.
#[test]
fn many_small_diagonal_shards_are_refused_and_full_ones_are_the_whole() {
    let (d, n, count) = (8, 3, 100);
    let (rows, labels) = ones(d, n * count);
    let made = |belief| {
        let settings = OnlineSettings {
            belief,
            prior_scale: PriorScale::Given(10.0),
            intercept: false,
            standardise: Standardise::Never,
            ..OnlineLinear::default_settings()
        };
        OnlineLinear::with_settings(d, settings, 1e-2, 1e-4).unwrap()
    };
    let learned = |belief, n: usize| -> Vec<OnlineLinear> {
        let each = rows.chunks(n * d).zip(labels.chunks(n));
        each.map(|(rows, labels)| {
            let mut model = made(belief);
            model.update_batch(rows, labels).unwrap();
            model
        })
        .collect()
    };
    let merged = |mut shards: Vec<OnlineLinear>| {
        let others = shards.split_off(1);
        let first = &mut shards[0];
        let before = serde_json::to_string(first).unwrap();
        let answer = first.merge(&others.iter().collect::<Vec<_>>());
        assert!(answer.is_ok() || serde_json::to_string(first).unwrap() == before);
        answer.map(|()| first.clone())
    };
    let refused = merged(learned(BeliefKind::Diagonal, n)).unwrap_err();
    let ModelError::Core(CoreError::ThinShards { deviations, share }) = refused else { panic!("{refused}") };
    assert!(deviations > 10.0 && (0.2..1.0).contains(&share), "{deviations} {share}");
    let text = refused.to_string();
    assert!(text.contains("more rows") && text.contains("full or square-root"), "{text}");

    // One after another is no way around it, and a document remembers.
    let shards = learned(BeliefKind::Diagonal, n);
    let mut model = made(BeliefKind::Diagonal);
    let stopped = shards.iter().position(|shard| {
        model = serde_json::from_str(&serde_json::to_string(&model).unwrap()).unwrap();
        model.merge(&[shard]).is_err()
    });
    assert!(stopped.is_some_and(|at| at < 20), "{stopped:?}");

    // Full shards are exact, and diagonal ones of enough rows near enough.
    let mut whole = made(BeliefKind::Full);
    whole.update_batch(&rows, &labels).unwrap();
    let full = merged(learned(BeliefKind::Full, n)).unwrap();
    for (a, b) in full.weights().weights.iter().zip(whole.weights().weights) {
        // 100 inversions of matrices of condition 1e5 at most.
        assert!((a - b).abs() < 100.0 * 1e5 * f64::EPSILON, "{a} {b}");
    }
    let long = learned(BeliefKind::Diagonal, n * count);
    assert!(merged(long).is_ok());
}
