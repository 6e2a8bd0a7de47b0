//! What is learned, and how well.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use vi_core::refine::RefineSettings;
use vi_models::ModelError;
use vi_models::online::{
    Advice, BeliefKind, Memory, Observation, OnlineLinear, OnlineLogistic, OnlineSettings, OnlineSoftmax, PriorScale,
    Standardise, Start,
};

use crate::{KINDS, settings, stream};

#[test]
fn sweeps_over_kept_rows_find_the_best_gaussian() {
    let (rows, labels) = stream(500, 21);
    let fitted = OnlineSettings { keep_rows: true, prior_scale: PriorScale::Given(2.5), ..OnlineSettings::default() };
    // From the best Gaussian of the first rows one pass goes on well; without it, it does not.
    let mut started = OnlineLogistic::with_settings(3, fitted.clone()).unwrap();
    started.update_batch(&rows, &labels).unwrap();
    let advice = started.diagnose(10_000, &mut ChaCha8Rng::seed_from_u64(22)).unwrap().advice;
    assert_eq!(advice, Advice::OnePassIsEnough { scales: true });
    let settings = OnlineSettings { start: Start::OnePass, ..fitted };
    let mut model = OnlineLogistic::with_settings(3, settings.clone()).unwrap();
    model.update_batch(&rows, &labels).unwrap();
    let mut reversed = OnlineLogistic::with_settings(3, settings).unwrap();
    let mut fixed = model.settings().clone();
    assert_eq!(model.info().advice, Advice::Diagnose);
    let mut rng = ChaCha8Rng::seed_from_u64(23);
    assert_eq!(model.diagnose(10_000, &mut rng).unwrap().advice, Advice::Sweep);
    let info = model.refine(&RefineSettings::default()).unwrap();
    assert_eq!((info.stop, info.bounds.len()), (vi_core::Stop::Converged, 1));
    assert_eq!(model.info().k_hat, None);
    let good = model.diagnose(10_000, &mut rng).unwrap();
    assert_eq!(model.info(), good);
    assert!(model.diagnose(3, &mut rng).is_err() && model.info() == good);
    let mut further = model.clone();
    assert!(further.update(&rows[..2], labels[0]).is_err());
    let mut told = further.info();
    assert_eq!(std::mem::take(&mut told.refused), 1);
    assert!(told == good);
    further.update(&rows[..3], labels[0]).unwrap();
    assert_eq!((further.info().k_hat, further.info().advice), (None, Advice::Diagnose));
    assert!(
        good.advice == Advice::Good { scales: true } && good.effective_share.is_some_and(|share| share > 0.98),
        "{good:?}"
    );
    // The order of the rows decides a one-pass posterior, not the best one.
    reversed.update_batch(&rows[..150], &labels[..50]).unwrap();
    for (row, &label) in rows[150..].chunks(3).zip(&labels[50..]).rev() {
        reversed.update(row, label).unwrap();
    }
    reversed.refine(&RefineSettings::default()).unwrap();
    let (a, b) = (model.predict(&rows[..3]).unwrap(), reversed.predict(&rows[..3]).unwrap());
    // Both are within the sweeps' tolerance of the optimum, 1e-6 nats or better: √(2·1e-6) standard deviations.
    let sd = a.predictor.standard_deviation();
    assert!((a.predictor.mean() - b.predictor.mean()).abs() < 4e-3 * sd);
    // Two rows and a flat prior leave a posterior with one soft wall: no Gaussian.
    let wide = OnlineSettings { prior_scale: PriorScale::Given(50.0), intercept_scale: 50.0, ..fixed.clone() };
    let mut walled =
        OnlineLogistic::with_settings(1, OnlineSettings { standardise: Standardise::Never, ..wide }).unwrap();
    walled.update_batch(&[-1.0, 1.0], &[0.0, 1.0]).unwrap();
    walled.refine(&RefineSettings::default()).unwrap();
    let diagnosis = walled.diagnose(10_000, &mut rng).unwrap();
    assert_eq!(diagnosis.advice, Advice::Boost, "{diagnosis:?}");
    assert_eq!(diagnosis.advice.to_string(), "the posterior is not Gaussian: boost");
    fixed.keep_rows = false;
    let mut forgetful = OnlineLogistic::with_settings(3, fixed).unwrap();
    assert_eq!(forgetful.refine(&RefineSettings::default()), Err(ModelError::NotKept));
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
    // The first rows are fitted to 1e-3 standard deviations, 1e-6 nats or so, which the evidence at other scales multiplies by up to 100.
    assert!(ignored.evidence().abs() < 100.0 * 1e-6, "{}", ignored.evidence());
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
        assert!((p.predictor.variance() / q.predictor.variance() - 1.0).abs() < tolerance);
    }
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
        let of_parts = first[0].evidence();
        first[0].merge(&[&others[0], &others[1]]).unwrap();
        let (a, b) = (whole.predict(&rows[..3]).unwrap(), first[0].predict(&rows[..3]).unwrap());
        assert!((a.probability - b.probability).abs() < 0.05, "{kind:?}: {a:?} {b:?}");
        assert!((a.predictor.variance() / b.predictor.variance() - 1.0).abs() < 0.2, "{kind:?}");
        assert_eq!(first[0].info().observations, 120);
        // The evidence of all rows, not the product of the parts'; a form that loses correlations merges less well.
        let parts = of_parts + others.iter().map(OnlineLogistic::evidence).sum::<f64>();
        let share = if matches!(kind, BeliefKind::Full | BeliefKind::SquareRoot) { 0.05 } else { 0.5 };
        let (one, merged) = (whole.evidence(), first[0].evidence());
        assert!((one - merged).abs() < share * (one - parts) && parts < one - 5.0, "{kind:?}: {one} {merged} {parts}");
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
        let seen = model.predict(row).unwrap().predictor;
        let n = f64::from(draws);
        let mean = scores.iter().sum::<f64>() / n;
        let variance = scores.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / n;
        assert!((mean - seen.mean()).abs() < 5.0 * (seen.variance() / n).sqrt(), "{kind:?}");
        assert!((variance / seen.variance() - 1.0).abs() < 5.0 * (2.0 / n).sqrt(), "{kind:?}");
    }
}

#[test]
fn a_drifting_world_is_followed() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let never = Standardise::Never;
    let memory = |memory| OnlineSettings { memory, standardise: never.clone(), ..OnlineSettings::default() };
    let make = |m| OnlineLogistic::with_settings(1, memory(m)).unwrap();
    let mut models = [make(Memory::Everything), make(Memory::Fading(0.98)), make(Memory::Learned)];
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
fn what_was_refined_in_the_warm_up_is_kept() {
    let (rows, labels) = stream(60, 72);
    let settings = OnlineSettings { keep_rows: true, prior_scale: PriorScale::Given(2.5), ..OnlineSettings::default() };
    let mut model = OnlineLogistic::with_settings(3, settings).unwrap();
    model.update_batch(&rows[..90], &labels[..30]).unwrap();
    model.refine(&RefineSettings::default()).unwrap();
    assert!(!model.info().warming_up);
    let refined = model.predict(&rows[..3]).unwrap().predictor;
    let read: OnlineLogistic = serde_json::from_str(&serde_json::to_string(&model).unwrap()).unwrap();
    // An observation of no weight is nothing to learn.
    model.update(&rows[90..93], Observation::new(labels[30]).weight(0.0)).unwrap();
    assert_eq!(model.predict(&rows[..3]).unwrap().predictor, refined);
    assert_eq!(read.predict(&rows[..3]).unwrap().predictor, refined);
    model.update_batch(&rows[93..], &labels[31..]).unwrap();
    assert_eq!(model.info().observations, 60);
}

#[test]
fn a_sparse_prediction_is_that_of_the_row_written_out() {
    let (rows, labels) = stream(60, 74);
    for kind in KINDS {
        let settings = OnlineSettings { standardise: Standardise::Never, ..settings(kind) };
        let mut model = OnlineLogistic::with_settings(3, settings).unwrap();
        let scaled: Vec<f64> = rows.chunks(3).flat_map(|x| [x[0], 0.01 * x[1], 1e3 * x[2]]).collect();
        model.update_batch(&scaled, &labels).unwrap();
        let dense = model.predict(&[0.0, 0.7, -1.3]).unwrap().predictor;
        let sparse = model.predict((&[1usize, 2], &[0.7, -1.3])).unwrap().predictor;
        // The same sums of three terms in another order.
        assert!((dense.mean() - sparse.mean()).abs() < 64.0 * f64::EPSILON * (1.0 + dense.mean().abs()), "{kind:?}");
        assert!((dense.variance() / sparse.variance() - 1.0).abs() < 256.0 * f64::EPSILON, "{kind:?}");
    }
}

#[test]
fn ordinary_rows_are_fitted_and_scales_moved_without_a_failure() {
    let (rows, labels) = stream(300, 77);
    let mut model = OnlineLogistic::new(3).unwrap();
    model.update_batch(&rows, &labels).unwrap();
    assert_eq!((model.info().failed_fits, model.info().failed_moves), (0, 0));
    // Separable rows under an all but flat prior leave less than the digits hold: a fit fails, which is told, and some rows are refused.
    let settings = OnlineSettings { prior_scale: PriorScale::Given(1e60), ..OnlineSettings::default() };
    let mut flat = OnlineLogistic::with_settings(3, settings).unwrap();
    let separable = rows.chunks(3).map(|x| f64::from(u8::from(x[0] > 0.0)));
    let refused = rows.chunks(3).zip(separable).filter(|(x, y)| flat.update(*x, *y).is_err()).count() as u64;
    let info = flat.info();
    assert!(info.failed_fits > 0, "{info:?}");
    assert_eq!((info.refused, info.observations), (refused, 300 - refused));
}

/// The learned prior scale is averaged over three scales; the average over many given ones, each weighed by its evidence and the prior of
/// `log s ~ N(log 0.7, 1.5²)`, is the oracle.
#[test]
fn the_scale_that_wide_weights_of_classes_tell_is_found() {
    let (d, classes, n) = (12, 3, 150);
    let mut rng = ChaCha8Rng::seed_from_u64(31);
    let mut normal = || rng.sample::<f64, _>(StandardNormal);
    let weights: Vec<f64> = (0..classes * d).map(|_| 4.0 * normal()).collect();
    let rows: Vec<f64> = (0..n * d).map(|_| normal()).collect();
    let mut labels = Vec::new();
    for x in rows.chunks(d) {
        let eta = weights.chunks(d).map(|w| w.iter().zip(x).map(|(w, x)| w * x).sum::<f64>());
        // The largest of logits with Gumbel noise has the probabilities of the softmax.
        let noisy: Vec<f64> = eta.map(|eta| eta - (-rng.random::<f64>().ln()).ln()).collect();
        let largest = (0..classes).max_by(|&a, &b| noisy[a].total_cmp(&noisy[b])).unwrap();
        labels.push(largest as f64);
    }
    let learned = |prior_scale: PriorScale| {
        let settings = OnlineSettings { prior_scale, ..OnlineSettings::default() };
        let mut model = OnlineSoftmax::with_settings(d, classes, settings).unwrap();
        model.update_batch(&rows, &labels).unwrap();
        model.info()
    };
    let grid: Vec<f64> = (0..15).map(|i| -1.2 + 0.3 * f64::from(i)).collect();
    let log_weights: Vec<f64> = grid
        .iter()
        .map(|u| learned(PriorScale::Given(u.exp())).evidence - 0.5 * ((u - 0.7_f64.ln()) / 1.5).powi(2))
        .collect();
    let most = log_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let average = |of: &dyn Fn(f64) -> f64| {
        let sums = grid.iter().zip(&log_weights).map(|(u, log)| ((log - most).exp(), of(*u)));
        let (total, sum) =
            sums.fold((0.0, 0.0), |(total, sum), (weight, value)| (total + weight, sum + weight * value));
        sum / total
    };
    let mean = average(&|u| u);
    let deviation = average(&|u| (u - mean).powi(2)).sqrt();
    let found = learned(PriorScale::Learned).prior_scales;
    let ours: f64 = found.iter().map(|(scale, share)| share * scale.ln()).sum();
    let spread = found.iter().map(|(scale, share)| share * (scale.ln() - ours).powi(2)).sum::<f64>().sqrt();
    // Between fits the curve is a cubic, and the rows after the last fit are taken one by one: a fifth of what is open.
    assert!((ours - mean).abs() < 0.2 * deviation, "{ours} for {mean} ± {deviation}");
    assert!((spread / deviation - 1.0).abs() < 0.2, "{spread} for {deviation}");
}

/// Rows of independent inputs whose weights are of scale `s`, and classes.
fn of_classes(d: usize, n: usize, s: f64) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let mut rng = ChaCha8Rng::seed_from_u64(31);
    let truth: Vec<f64> = (0..d).map(|_| s * rng.sample::<f64, _>(StandardNormal)).collect();
    let rows: Vec<f64> = (0..n * d).map(|_| rng.sample(StandardNormal)).collect();
    let label = |row: &[f64]| {
        let logit: f64 = row.iter().zip(&truth).map(|(x, w)| x * w).sum();
        f64::from(u8::from(rng.random::<f64>() < (1.0 + (-logit).exp()).recip()))
    };
    let labels = rows.chunks(d).map(label).collect();
    (truth, rows, labels)
}

#[test]
fn the_first_rows_of_some_hundred_weights_are_fitted_and_beyond_the_advice_says_that_intervals_are_narrow() {
    let (truth, rows, labels) = of_classes(260, 560, 0.1);
    let mut model = OnlineLogistic::new(260).unwrap();
    model.update_batch(&rows, &labels).unwrap();
    let held = (0..260).filter(|&j| model.weight(j).unwrap().interval(0.9).unwrap().contains(truth[j])).count() as f64;
    // Six standard errors of 260 independent intervals, since these share one posterior. One pass holds some 71 %.
    assert!(held / 260.0 > 0.9 - 6.0 * (0.9_f64 * 0.1 / 260.0).sqrt(), "{held} of 260");
    assert_eq!(model.info().advice, Advice::KeepRows);
    let (_, rows, labels) = of_classes(513, 60, 0.1);
    let mut model = OnlineLogistic::new(513).unwrap();
    assert_eq!(model.info().advice, Advice::KeepRows);
    model.update_batch(&rows, &labels).unwrap();
    assert_eq!(model.info().advice, Advice::NotFitted);
    // With many rows a weight, from one pass too, there is nothing to say.
    let settings = OnlineSettings { start: Start::OnePass, ..OnlineSettings::default() };
    let mut model = OnlineLogistic::with_settings(1, settings).unwrap();
    let (_, rows, labels) = of_classes(1, 60, 0.1);
    model.update_batch(&rows[..30], &labels[..30]).unwrap();
    assert_eq!(model.info().advice, Advice::NotFitted);
    model.update_batch(&rows[30..], &labels[30..]).unwrap();
    assert_eq!(model.info().advice, Advice::KeepRows);
}
