//! The front door as a caller meets it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use vi_core::refine::RefineSettings;
use vi_models::ModelError;
use vi_models::online::family::{Counts, Probit, SpreadCounts, Trials};
use vi_models::online::{
    Advice, BeliefKind, Memory, Observation, OnlineGlm, OnlineLinear, OnlineLogistic, OnlineSettings, OnlineSoftmax,
    PriorScale, Row, Rows, Standardise,
};
use vi_models::softmax::SoftmaxRefineSettings;

const KINDS: [BeliefKind; 4] =
    [BeliefKind::Full, BeliefKind::SquareRoot, BeliefKind::LowRank { rank: 2 }, BeliefKind::Diagonal];

/// `n` rows of 3 inputs of very different scales, and labels.
fn stream(n: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut rows, mut labels) = (Vec::new(), Vec::new());
    for _ in 0..n {
        let z: [f64; 3] = std::array::from_fn(|_| rng.sample(StandardNormal));
        rows.extend([z[0], 100.0 + 30.0 * z[1], 1e-3 * z[2]]);
        let p = 1.0 / (1.0 + (-(0.5 + 1.5 * z[0] - z[1])).exp());
        labels.push(if rng.random::<f64>() < p { 1.0 } else { 0.0 });
    }
    (rows, labels)
}

fn settings(belief: BeliefKind) -> OnlineSettings {
    OnlineSettings { belief, ..OnlineSettings::default() }
}

fn bits(model: &OnlineLogistic) -> String {
    serde_json::to_string(model).unwrap()
}

#[test]
fn batches_are_loops_to_the_bit_for_every_belief() {
    let (rows, labels) = stream(130, 1);
    for kind in KINDS {
        let mut looped = OnlineLogistic::with_settings(3, settings(kind)).unwrap();
        for (row, &label) in rows.chunks(3).zip(&labels) {
            looped.update(row, label).unwrap();
        }
        for cut in [1, 20, 50, 77, 130] {
            let mut batched = OnlineLogistic::with_settings(3, settings(kind)).unwrap();
            for (rows, labels) in rows.chunks(3 * cut).zip(labels.chunks(cut)) {
                batched.update_batch(rows, labels).unwrap();
            }
            assert_eq!(bits(&looped), bits(&batched), "{kind:?}, batches of {cut}");
        }
    }
}

#[test]
fn wide_batches_are_loops_to_rounding() {
    let (d, n) = (70, 150);
    let mut rng = ChaCha8Rng::seed_from_u64(20);
    let rows: Vec<f64> = (0..n * d).map(|_| rng.sample(StandardNormal)).collect();
    let labels: Vec<f64> = rows.chunks(d).map(|x| f64::from(x[0] + x[1] > 0.3 * x[2])).collect();
    for kind in KINDS {
        let settings = OnlineSettings { prior_scale: PriorScale::Given(1.0), ..settings(kind) };
        let mut looped = OnlineLogistic::with_settings(d, settings.clone()).unwrap();
        for (row, &label) in rows.chunks(d).zip(&labels) {
            looped.update(row, label).unwrap();
        }
        let mut batched = OnlineLogistic::with_settings(d, settings).unwrap();
        batched.update_batch(&rows, &labels).unwrap();
        // Rounding of n updates, each of sums of d terms, at a condition of at most 25·n for this prior.
        let tolerance = (n * d) as f64 * 25.0 * n as f64 * f64::EPSILON;
        assert!((looped.evidence() / batched.evidence() - 1.0).abs() < tolerance, "{kind:?}");
        for x in rows.chunks(d).take(20) {
            let (a, b) = (looped.predict(x).unwrap().projection, batched.predict(x).unwrap().projection);
            assert!((a.mean - b.mean).abs() < tolerance * (1.0 + a.mean.abs()), "{kind:?}");
            assert!((a.variance / b.variance - 1.0).abs() < tolerance, "{kind:?}");
        }
        let mut bad = labels.clone();
        bad[120] = 7.0;
        let before = bits(&batched);
        assert!(matches!(
            batched.update_batch(&rows, &bad),
            Err(ModelError::Core(vi_core::Error::Row { row: 120, .. }))
        ));
        assert_eq!(before, bits(&batched));
    }
}

#[test]
fn sweeps_over_kept_rows_find_the_best_gaussian() {
    let (rows, labels) = stream(500, 21);
    let settings = OnlineSettings { keep_rows: true, prior_scale: PriorScale::Given(2.5), ..OnlineSettings::default() };
    let mut model = OnlineLogistic::with_settings(3, settings.clone()).unwrap();
    model.update_batch(&rows, &labels).unwrap();
    let mut reversed = OnlineLogistic::with_settings(3, settings).unwrap();
    let mut fixed = model.settings().clone();
    assert_eq!(model.info().advice, Advice::Diagnose);
    let mut rng = ChaCha8Rng::seed_from_u64(23);
    assert_eq!(model.diagnose(10_000, &mut rng).unwrap().advice, Advice::Sweep);
    let info = model.refine(RefineSettings::default()).unwrap();
    assert!(info.bounds.last() > info.bounds.first());
    let good = model.diagnose(10_000, &mut rng).unwrap();
    assert!(good.advice == Advice::Good && good.effective_share.is_some_and(|share| share > 0.98), "{good:?}");
    // The order of the rows decides a one-pass posterior, not the best one.
    reversed.update_batch(&rows[..150], &labels[..50]).unwrap();
    for (row, &label) in rows[150..].chunks(3).zip(&labels[50..]).rev() {
        reversed.update(row, label).unwrap();
    }
    reversed.refine(RefineSettings::default()).unwrap();
    let (a, b) = (model.predict(&rows[..3]).unwrap(), reversed.predict(&rows[..3]).unwrap());
    // Both are within the sweeps' tolerance of the optimum, 1e-6 nats or better: √(2·1e-6) standard deviations.
    let sd = a.projection.variance.sqrt();
    assert!((a.projection.mean - b.projection.mean).abs() < 4e-3 * sd);
    // Two rows and a flat prior leave a posterior with one soft wall: no Gaussian.
    let wide = OnlineSettings { prior_scale: PriorScale::Given(50.0), intercept_scale: 50.0, ..fixed.clone() };
    let mut walled =
        OnlineLogistic::with_settings(1, OnlineSettings { standardise: Standardise::Never, ..wide }).unwrap();
    walled.update_batch(&[-1.0, 1.0], &[0.0, 1.0]).unwrap();
    walled.refine(RefineSettings::default()).unwrap();
    let diagnosis = walled.diagnose(10_000, &mut rng).unwrap();
    assert_eq!(diagnosis.advice, Advice::Boost, "{diagnosis:?}");
    assert_eq!(diagnosis.advice.to_string(), "the posterior is not Gaussian: boost");
    fixed.keep_rows = false;
    let mut forgetful = OnlineLogistic::with_settings(3, fixed).unwrap();
    assert_eq!(forgetful.refine(RefineSettings::default()), Err(ModelError::NotKept));
}

#[test]
fn offsets_and_weights_are_what_they_say() {
    let (rows, labels) = stream(60, 22);
    let settings = OnlineSettings { standardise: Standardise::Never, ..OnlineSettings::default() };
    let (mut offset, mut shifted) = (
        OnlineLogistic::with_settings(1, settings.clone()).unwrap(),
        OnlineLogistic::with_settings(1, settings.clone()).unwrap(),
    );
    let mut ignored = OnlineLogistic::with_settings(1, settings).unwrap();
    for (row, &label) in rows.chunks(3).zip(&labels) {
        offset.update(&row[..1], Observation::new(label).offset(3.0)).unwrap();
        shifted.update(&row[..1], label).unwrap();
        ignored.update(&row[..1], Observation::new(label).weight(0.0)).unwrap();
    }
    // The intercept makes up for the offset, but for what a prior of standard deviation 5 holds back.
    let gap = shifted.weights().intercept - offset.weights().intercept;
    assert!((gap - 3.0).abs() < 0.5, "{gap}");
    let (there, here) = (offset.predict_at(&[0.1], 3.0).unwrap(), shifted.predict(&[0.1]).unwrap());
    assert!((there.probability - here.probability).abs() < 0.05);
    // The mixture's weights sum to 1 to rounding.
    assert!((ignored.predict(&[1.0]).unwrap().probability - 0.5).abs() < 32.0 * f64::EPSILON);
    assert_eq!(ignored.evidence(), 0.0);
}

#[test]
fn reading_and_going_on_gives_the_bits_of_never_having_stopped() {
    let (rows, labels) = stream(90, 2);
    for kind in KINDS {
        for stop in [10, 50, 70] {
            let mut model = OnlineLogistic::with_settings(3, settings(kind)).unwrap();
            model.update_batch(&rows[..3 * stop], &labels[..stop]).unwrap();
            let mut again: OnlineLogistic = serde_json::from_str(&bits(&model)).unwrap();
            model.update_batch(&rows[3 * stop..], &labels[stop..]).unwrap();
            again.update_batch(&rows[3 * stop..], &labels[stop..]).unwrap();
            assert_eq!(bits(&model), bits(&again), "{kind:?}, stopped after {stop}");
        }
    }
}

#[test]
fn units_and_origin_of_a_column_do_not_matter() {
    let (rows, labels) = stream(200, 3);
    let moved: Vec<f64> = rows.chunks(3).flat_map(|x| [1e3 * x[0] - 7e3, 1e-4 * x[1], x[2] + 5e-3]).collect();
    let (mut one, mut two) = (OnlineLogistic::new(3).unwrap(), OnlineLogistic::new(3).unwrap());
    one.update_batch(&rows, &labels).unwrap();
    two.update_batch(&moved, &labels).unwrap();
    for (x, z) in rows.chunks(3).zip(moved.chunks(3)) {
        let (p, q) = (one.predict(x).unwrap(), two.predict(z).unwrap());
        // Shifting by 7 standard deviations costs about that many ε in each standardised input, 200 updates carry them on.
        let tolerance = 200.0 * 7.0 * 16.0 * f64::EPSILON;
        assert!((p.probability - q.probability).abs() < tolerance);
        assert!((p.projection.variance / q.projection.variance - 1.0).abs() < tolerance);
    }
}

#[test]
fn a_sparse_row_is_the_dense_row_with_its_zeros() {
    let (rows, labels) = stream(60, 4);
    for (kind, centre) in KINDS.into_iter().flat_map(|kind| [(kind, true), (kind, false)]) {
        let standardise = Standardise::FirstRows { rows: 20, centre };
        let settings = OnlineSettings { standardise, ..settings(kind) };
        let mut dense = OnlineLogistic::with_settings(5, settings.clone()).unwrap();
        let mut sparse = OnlineLogistic::with_settings(5, settings).unwrap();
        let positions: Vec<usize> = (0..60).flat_map(|i| if i % 2 == 0 { [0, 1, 2] } else { [1, 3, 4] }).collect();
        for ((row, at), &label) in rows.chunks(3).zip(positions.chunks(3)).zip(&labels) {
            let mut written = [0.0; 5];
            for (&j, &value) in at.iter().zip(row) {
                written[j] = value;
            }
            dense.update(&written, label).unwrap();
            sparse.update((at, row), label).unwrap();
        }
        let starts: Vec<usize> = (0..=60).map(|i| 3 * i).collect();
        let mut batched = OnlineLogistic::with_settings(5, dense.settings().clone()).unwrap();
        let all = Rows::Sparse { starts: &starts, positions: &positions, values: &rows };
        batched.update_batch(all, &labels).unwrap();
        assert_eq!(bits(&sparse), bits(&batched));
        let row = Row::Sparse { positions: &positions[..3], values: &rows[..3] };
        let (a, b) = (dense.predict(&[rows[0], rows[1], rows[2], 0.0, 0.0]).unwrap(), sparse.predict(row).unwrap());
        // The same sums in another order, over 60 rows.
        assert!((a.probability - b.probability).abs() < 60.0 * 64.0 * f64::EPSILON, "{kind:?}");
    }
}

#[test]
fn errors_name_the_fact_and_change_nothing() {
    let (rows, labels) = stream(80, 5);
    for (kind, learned) in KINDS.into_iter().flat_map(|kind| [(kind, 20), (kind, 80)]) {
        let mut model = OnlineLogistic::with_settings(3, settings(kind)).unwrap();
        model.update_batch(&rows[..3 * learned], &labels[..learned]).unwrap();
        let before = bits(&model);
        assert!(matches!(
            model.update(&[0.0, f64::NAN, 1.0], 1.0),
            Err(ModelError::Core(vi_core::Error::NonFinite { argument: "row", index: 1, .. }))
        ));
        assert!(matches!(
            model.update(&[0.0, 1.0], 1.0),
            Err(ModelError::Core(vi_core::Error::Dimension { argument: "row", expected: 3, found: 2 }))
        ));
        assert!(matches!(
            model.update(&[0.0, 1.0, 2.0], 2.0),
            Err(ModelError::Core(vi_core::Error::Label { label: 2.0, .. }))
        ));
        assert!(model.update(&[0.0; 3], Observation::new(1.0).weight(-1.0)).is_err());
        assert!(model.update(&[0.0; 3], Observation::new(1.0).offset(f64::INFINITY)).is_err());
        assert!(model.update((&[2usize, 1], &[1.0, 1.0]), 1.0).is_err());
        // The 41st row is bad: the forty before it, which cross the end of the warm-up, are taken back.
        let mut bad = labels[..60].to_vec();
        bad[40] = 0.5;
        assert!(matches!(
            model.update_batch(&rows[..180], &bad),
            Err(ModelError::Core(vi_core::Error::Row { row: 40, .. }))
        ));
        assert!(matches!(
            model.update_batch(&rows[..0], &bad[..0]),
            Err(ModelError::Core(vi_core::Error::Empty { .. }))
        ));
        assert!(model.predict(&[1.0]).is_err());
        assert_eq!(before, bits(&model), "{kind:?} after {learned} rows");
    }
}

#[test]
fn impossible_settings_are_refused() {
    let ok = OnlineSettings::default();
    let bad = [
        OnlineSettings { prior_scale: PriorScale::Given(0.0), ..ok.clone() },
        OnlineSettings { prior_scale: PriorScale::Given(f64::NAN), ..ok.clone() },
        OnlineSettings { prior_scale: PriorScale::Learned(vec![]), ..ok.clone() },
        OnlineSettings { intercept_scale: -1.0, ..ok.clone() },
        OnlineSettings { memory: Memory::Fading(1.0), ..ok.clone() },
        OnlineSettings { standardise: Standardise::FirstRows { rows: 1, centre: true }, ..ok.clone() },
        OnlineSettings { standardise: Standardise::Fixed { centres: vec![0.0], scales: vec![1.0, 1.0] }, ..ok.clone() },
        OnlineSettings { standardise: Standardise::Fixed { centres: vec![0.0; 2], scales: vec![1.0, 0.0] }, ..ok },
    ];
    for settings in bad {
        assert!(OnlineLogistic::with_settings(2, settings.clone()).is_err(), "{settings:?}");
    }
}

#[test]
fn damaged_documents_are_errors() {
    let (rows, labels) = stream(60, 6);
    let mut model = OnlineLogistic::new(3).unwrap();
    model.update_batch(&rows, &labels).unwrap();
    let text = bits(&model);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    for (path, replacement) in [
        ("/design/inputs", serde_json::json!(4)),
        ("/design/scales/1", serde_json::json!(-1.0)),
        ("/members", serde_json::json!([])),
        ("/settings/intercept_scale", serde_json::json!(0.0)),
        ("/members/0/0/Full/mean/2", serde_json::json!(null)),
    ] {
        let mut damaged = value.clone();
        *damaged.pointer_mut(path).unwrap() = replacement;
        assert!(serde_json::from_value::<OnlineLogistic>(damaged).is_err(), "{path}");
    }
    assert!(serde_json::from_str::<OnlineLogistic>(&text[..text.len() / 2]).is_err());
}

#[test]
fn constant_and_repeated_columns_work_and_are_reported() {
    let (rows, labels) = stream(100, 7);
    let wide: Vec<f64> = rows.chunks(3).flat_map(|x| [x[0], 4.2, x[0], 2.0 * x[1]]).collect();
    for kind in KINDS {
        let mut model = OnlineLogistic::with_settings(4, settings(kind)).unwrap();
        model.update_batch(&wide, &labels).unwrap();
        assert_eq!(model.info().constant_columns, [1]);
        assert!(model.predict(&wide[..4]).unwrap().probability.is_finite());
        let weights = model.weights().weights;
        // Two copies of a column share its weight equally.
        assert!((weights[0] - weights[2]).abs() < 1e-9 * weights[0].abs().max(1e-3), "{kind:?}: {weights:?}");
    }
}

#[test]
fn shards_merge_and_refuse_strangers() {
    let (rows, labels) = stream(120, 8);
    let fixed = Standardise::Fixed { centres: vec![0.0, 100.0, 0.0], scales: vec![1.0, 30.0, 1e-3] };
    for kind in KINDS {
        let given = PriorScale::Given(1.0);
        let settings = OnlineSettings { standardise: fixed.clone(), prior_scale: given, ..settings(kind) };
        let mut whole = OnlineLogistic::with_settings(3, settings.clone()).unwrap();
        whole.update_batch(&rows, &labels).unwrap();
        let mut shards: Vec<OnlineLogistic> = Vec::new();
        for (rows, labels) in rows.chunks(3 * 40).zip(labels.chunks(40)) {
            let mut shard = OnlineLogistic::with_settings(3, settings.clone()).unwrap();
            shard.update_batch(rows, labels).unwrap();
            shards.push(shard);
        }
        let (first, others) = shards.split_at_mut(1);
        first[0].merge(&[&others[0], &others[1]]).unwrap();
        let (a, b) = (whole.predict(&rows[..3]).unwrap(), first[0].predict(&rows[..3]).unwrap());
        assert!((a.probability - b.probability).abs() < 0.05, "{kind:?}: {a:?} {b:?}");
        assert!((a.projection.variance / b.projection.variance - 1.0).abs() < 0.2, "{kind:?}");
        assert_eq!(first[0].info().observations, 120);
        let stranger = OnlineLogistic::with_settings(3, OnlineSettings { intercept_scale: 2.0, ..settings }).unwrap();
        assert!(matches!(
            first[0].merge(&[&others[0], &stranger]),
            Err(ModelError::Unlike { shard: 1, what: "settings" })
        ));
    }
}

#[test]
fn draws_have_the_posterior_moments_along_a_row() {
    let (rows, labels) = stream(100, 9);
    let row = &rows[..3];
    for kind in KINDS {
        let mut model = OnlineLogistic::with_settings(3, settings(kind)).unwrap();
        model.update_batch(&rows, &labels).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(10);
        let draws = 4000;
        let scores: Vec<f64> = (0..draws).map(|_| model.sample(&mut rng).unwrap().score(row).unwrap()).collect();
        let seen = model.predict(row).unwrap().projection;
        let n = f64::from(draws);
        let mean = scores.iter().sum::<f64>() / n;
        let variance = scores.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / n;
        assert!((mean - seen.mean).abs() < 5.0 * (seen.variance / n).sqrt(), "{kind:?}");
        assert!((variance / seen.variance - 1.0).abs() < 5.0 * (2.0 / n).sqrt(), "{kind:?}");
    }
}

#[test]
fn a_drifting_world_is_followed() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let never = Standardise::Never;
    let memory = |memory| OnlineSettings { memory, standardise: never.clone(), ..OnlineSettings::default() };
    let make = |m| OnlineLogistic::with_settings(1, memory(m)).unwrap();
    let mut models = [make(Memory::Everything), make(Memory::Fading(0.98)), make(Memory::TowardsPrior(0.98))];
    for t in 0..1200 {
        let x = rng.sample::<f64, _>(StandardNormal);
        let slope = if t < 600 { 2.0 } else { -2.0 };
        let y = if rng.random::<f64>() < 1.0 / (1.0 + (-slope * x).exp()) { 1.0 } else { 0.0 };
        for model in &mut models {
            model.update(&[x], y).unwrap();
        }
    }
    assert!(models[0].weights().weights[0] > -1.0);
    assert!(models[1].weights().weights[0] < -1.2 && models[2].weights().weights[0] < -1.2);
    assert!(models[1].evidence() > models[0].evidence());
}

/// `n` rows of 2 inputs, and numbers.
fn numbers(n: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let rows: Vec<f64> = (0..2 * n).map(|_| rng.sample(StandardNormal)).collect();
    let noise = |rng: &mut ChaCha8Rng| 0.3 * rng.sample::<f64, _>(StandardNormal);
    let labels = rows.chunks(2).map(|x| 5.0 + x[0] - 2.0 * x[1] + noise(&mut rng)).collect();
    (rows, labels)
}

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
        let (a, b) = (first[0].predict(&[0.3, -1.0]).unwrap(), model.predict(&[0.3, -1.0]).unwrap());
        assert!(
            (a.mean() - b.mean()).abs() < tolerance
                && (a.standard_deviation() - b.standard_deviation()).abs() < tolerance
        );
    }
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
fn every_family_learns_and_names_labels_it_cannot_have() {
    let (rows, _) = numbers(200, 32);
    let mut rng = ChaCha8Rng::seed_from_u64(33);
    let settings = OnlineSettings { prior_scale: PriorScale::Given(1.0), ..OnlineSettings::default() };
    let mut counts = OnlineGlm::with_settings(2, Counts, settings.clone()).unwrap();
    let mut spread = OnlineGlm::with_settings(2, SpreadCounts { size: 4.0 }, settings.clone()).unwrap();
    let mut trials = OnlineGlm::with_settings(2, Trials, settings.clone()).unwrap();
    let mut probit = OnlineGlm::with_settings(2, Probit, settings.clone()).unwrap();
    for x in rows.chunks(2) {
        let rate: f64 = (0.5 + 0.6 * x[0]).exp();
        let y: f64 = rand_distr::Distribution::sample(&rand_distr::Poisson::new(2.0 * rate).unwrap(), &mut rng);
        counts.update(x, Observation::new(y).exposure(2.0)).unwrap();
        spread.update(x, Observation::new(y).exposure(2.0)).unwrap();
        trials.update(x, Observation::new(y.min(9.0)).trials(9.0)).unwrap();
        probit.update(x, f64::from(y > 3.0)).unwrap();
    }
    let at = Observation::new(0.0).exposure(2.0);
    let (low, high) = (counts.predict(&[-1.0, 0.0], at).unwrap(), counts.predict(&[1.0, 0.0], at).unwrap());
    // 2·e^(0.5 ± 0.6), within 4 standard errors of some 6 % for 200 rows.
    assert!((low.mean / 1.81 - 1.0).abs() < 0.25 && (high.mean / 6.01 - 1.0).abs() < 0.25, "{low:?} {high:?}");
    assert!(spread.predict(&[1.0, 0.0], at).unwrap().variance > high.variance);
    let nine = Observation::new(0.0).trials(9.0);
    assert!(trials.predict(&[1.0, 0.0], nine).unwrap().mean > trials.predict(&[-1.0, 0.0], nine).unwrap().mean);
    assert!(probit.predict(&[2.0, 0.0], Observation::new(0.0)).unwrap().mean > 0.9);
    assert!(counts.evidence() > spread.evidence());

    let text = serde_json::to_string(&counts).unwrap();
    let label = |error: ModelError| matches!(error, ModelError::Core(vi_core::Error::Label { .. }));
    assert!(label(counts.update(&[0.0, 0.0], -1.0).unwrap_err()));
    assert!(label(counts.update(&[0.0, 0.0], 1.5).unwrap_err()));
    assert!(label(trials.update(&[0.0, 0.0], Observation::new(4.0).trials(3.0)).unwrap_err()));
    assert!(counts.update(&[0.0, 0.0], Observation::new(1.0).exposure(0.0)).is_err());
    assert!(OnlineGlm::new(2, SpreadCounts { size: -1.0 }).is_err());
    assert_eq!(text, serde_json::to_string(&counts).unwrap());
    let again: OnlineGlm<Counts> = serde_json::from_str(&text).unwrap();
    assert_eq!(text, serde_json::to_string(&again).unwrap());
}

#[test]
fn separable_classes_and_fewer_rows_than_inputs_work() {
    let mut rng = ChaCha8Rng::seed_from_u64(40);
    for kind in KINDS {
        let mut separable = OnlineLogistic::with_settings(1, settings(kind)).unwrap();
        let mut wide = OnlineLinear::with_settings(
            30,
            OnlineSettings { belief: kind, ..OnlineLinear::default_settings() },
            1e-2,
            1e-4,
        )
        .unwrap();
        for t in 0..200 {
            let x = f64::from(t % 20) - 9.5;
            separable.update(&[x], f64::from(x > 0.0)).unwrap();
            if t < 10 {
                let row: Vec<f64> = (0..30).map(|_| rng.sample(StandardNormal)).collect();
                wide.update(&row, row[0]).unwrap();
            }
        }
        assert!(separable.predict(&[9.0]).unwrap().probability > 0.95, "{kind:?}");
        assert!(wide.predict(&[0.1; 30]).unwrap().standard_deviation().is_finite());
    }
}

#[test]
fn a_softmax_model_keeps_the_promises_of_the_others() {
    let (rows, _) = stream(120, 50);
    let mut rng = ChaCha8Rng::seed_from_u64(51);
    let labels: Vec<f64> = rows
        .chunks(3)
        .map(|x| {
            // Logits 0, 2z₀, −2z₀: class 2 to the left, 1 to the right, 0 between.
            let weights = [1.0, (2.0 * x[0]).exp(), (-2.0 * x[0]).exp()];
            let mut u = rng.random::<f64>() * weights.iter().sum::<f64>();
            let mut class = 0;
            while class < 2 && u > weights[class] {
                u -= weights[class];
                class += 1;
            }
            class as f64
        })
        .collect();
    let text = |model: &OnlineSoftmax| serde_json::to_string(model).unwrap();
    let settings = OnlineSettings { keep_rows: true, ..OnlineSettings::default() };
    let mut looped = OnlineSoftmax::with_settings(3, 3, settings.clone()).unwrap();
    for (row, &label) in rows.chunks(3).zip(&labels) {
        looped.update(row, label).unwrap();
    }
    let mut batched = OnlineSoftmax::with_settings(3, 3, settings.clone()).unwrap();
    batched.update_batch(&rows[..3 * 70], &labels[..70]).unwrap();
    let mut again: OnlineSoftmax = serde_json::from_str(&text(&batched)).unwrap();
    again.update_batch(&rows[3 * 70..], &labels[70..]).unwrap();
    assert_eq!(text(&looped), text(&again));

    let before = text(&looped);
    for label in [-1.0, 3.0, 0.5, f64::NAN] {
        assert!(looped.update(&rows[..3], label).is_err(), "{label}");
    }
    assert!(looped.update(&rows[..3], Observation::new(1.0).offset(0.3)).is_err());
    assert!(looped.update(&[f64::NAN, 0.0, 0.0], 1.0).is_err());
    assert_eq!(before, text(&looped));

    let (left, right) = (looped.predict(&[-1.5, 100.0, 0.0]).unwrap(), looped.predict(&[1.5, 100.0, 0.0]).unwrap());
    assert_eq!((left.most_probable(), right.most_probable()), (2, 1));
    let info = looped.refine(SoftmaxRefineSettings::default()).unwrap();
    assert!(info.bounds.last() > info.bounds.first());
    let diagnosis = looped.diagnose(5000, &mut rng).unwrap();
    assert!(diagnosis.k_hat.is_some() && diagnosis.advice == Advice::Good, "{diagnosis:?}");
    assert!(looped.weights()[0].weights[0] > 0.0 && looped.weights()[1].weights[0] < 0.0);
    assert_eq!(looped.sample(&mut rng).unwrap().len(), 2);

    let diagonal = OnlineSettings { belief: BeliefKind::Diagonal, ..settings };
    assert!(matches!(OnlineSoftmax::with_settings(3, 3, diagonal), Err(ModelError::Unsupported { .. })));
    assert!(OnlineSoftmax::new(3, 1).is_err());
}
