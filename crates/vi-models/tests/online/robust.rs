//! Numbers with heavy tails, and by their logarithm.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal, StudentT};
use vi_core::batch::BatchSettings;
use vi_core::refine::RefineSettings;
use vi_models::online::{
    BeliefKind, Memory, Observation, OnlineLinear, OnlineRobust, OnlineSettings, OnlineVarying, Row, Standardise,
};
use vi_models::{Marginal, ModelError, Transform};

const WEIGHTS: [f64; 3] = [1.0, -0.5, 0.25];

/// `n` rows of 3 inputs, and labels `2 + wᵀx + ½·noise`.
fn rows(n: usize, seed: u64, mut noise: impl FnMut(&mut ChaCha8Rng) -> f64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let rows: Vec<f64> = (0..3 * n).map(|_| rng.sample(StandardNormal)).collect();
    let label = |x: &[f64]| 2.0 + x.iter().zip(WEIGHTS).map(|(x, w)| x * w).sum::<f64>() + 0.5 * noise(&mut rng);
    let labels = rows.chunks(3).map(label).collect();
    (rows, labels)
}

fn gaussian(rng: &mut ChaCha8Rng) -> f64 {
    rng.sample(StandardNormal)
}

fn learned(rows: &[f64], labels: &[f64]) -> OnlineRobust {
    let mut model = OnlineRobust::new(3).unwrap();
    model.update_batch(rows, labels).unwrap();
    model
}

fn weights(model: &OnlineRobust) -> Vec<Marginal> {
    (0..3).map(|j| model.weight(j).unwrap()).collect()
}

/// Labels far out, however far and wherever they stand, leave the weights where they are without them.
#[test]
fn labels_far_out_do_not_move_the_weights() {
    let (n, seed) = (600, 3);
    let (rows, labels) = rows(n, seed, gaussian);
    let clean = weights(&learned(&rows, &labels));
    for first in [false, true] {
        let mut found = Vec::new();
        for size in [10.0, 1e3, 1e6] {
            let mut spoiled = labels.clone();
            for i in 0..n / 20 {
                // Every twentieth, or every tenth of the first 300, beginning with the first.
                spoiled[if first { 10 * i } else { 20 * i + 7 }] += if i % 3 == 0 { -size } else { size };
            }
            found.push(weights(&learned(&rows, &spoiled)));
        }
        for (j, clean) in clean.iter().enumerate() {
            let spread = clean.standard_deviation();
            let means: Vec<f64> = found.iter().map(|weights| weights[j].mean()).collect();
            // Three deviations: the rows that are lost, and what tails cost that the clean labels have not. The size of the error must not tell.
            assert!((means[0] - clean.mean()).abs() < 3.0 * spread, "{first} {j}: {means:?} {}", clean.mean());
            assert!((means[1] - means[2]).abs() < 0.05 * spread, "{first} {j}: {means:?} {spread}");
        }
    }
}

#[test]
fn tails_are_learned() {
    let dof = 3.0;
    let tails = StudentT::new(dof).unwrap();
    let (rows, labels) = rows(3000, 5, |rng| tails.sample(rng));
    let (learn, new) = (2000, 1000);
    let robust = learned(&rows[..3 * learn], &labels[..learn]);
    let mut linear = OnlineLinear::new(3).unwrap();
    linear.update_batch(&rows[..3 * learn], &labels[..learn]).unwrap();
    let loss = |density: &dyn Fn(&[f64], f64) -> f64| {
        -rows[3 * learn..].chunks(3).zip(&labels[learn..]).map(|(x, y)| density(x, *y)).sum::<f64>() / f64::from(new)
    };
    let own = loss(&|x, y| robust.predict(x).unwrap().log_density(y));
    let other = loss(&|x, y| linear.predict(x).unwrap().log_density(y));
    let truth = vi_models::Student::new(0.0, 0.5, dof).unwrap();
    let best = loss(&|x, y| truth.log_density(y - 2.0 - x.iter().zip(WEIGHTS).map(|(x, w)| x * w).sum::<f64>()));
    // Six parameters of 2000 rows cost 6/4000 nats a row in the mean.
    assert!(own < best + 0.01 && own < other - 0.05, "{own} {best} {other}");
    assert!(robust.evidence() > linear.evidence() + 50.0);
    let (found, scale) = robust.noise();
    assert!((2.4..4.0).contains(&found) && (0.45..0.55).contains(&scale), "{found} {scale}");
    let predicted = robust.predict(&[0.0; 3]).unwrap();
    let interval = predicted.interval(0.9).unwrap();
    // Two deviations of a t of 3 degrees and 1/√2000 of them.
    assert!((interval.upper - 2.0 - 0.5 * 2.353_363).abs() < 0.1, "{interval:?}");
    assert!((predicted.label.cdf(interval.upper) - 0.95).abs() < 1e-9);
}

#[test]
fn gaussian_labels_lose_little() {
    let (rows, labels) = rows(1000, 9, gaussian);
    let robust = learned(&rows, &labels);
    let mut linear = OnlineLinear::new(3).unwrap();
    linear.update_batch(&rows, &labels).unwrap();
    let at = [0.3, -1.0, 0.5];
    let [own, exact] = [robust.predict(&at).unwrap(), linear.predict(&at).unwrap()];
    let deviation = exact.expectation.standard_deviation();
    assert!((own.mean() - exact.mean()).abs() < 0.5 * deviation);
    assert!((own.expectation.standard_deviation() / deviation - 1.0).abs() < 0.1);
    assert!((robust.evidence() - linear.evidence()).abs() < 8.0, "{} {}", robust.evidence(), linear.evidence());
}

/// The evidence is that of the labels in their own unit, whichever family learns them.
#[test]
fn a_unit_of_the_label_changes_the_evidence_by_its_logarithm() {
    let (rows, labels) = rows(150, 11, gaussian);
    let labels: Vec<f64> = labels.iter().map(|y| y.exp()).collect();
    let thousands: Vec<f64> = labels.iter().map(|y| 1000.0 * y).collect();
    let (shape, rate) = OnlineLinear::DEFAULT_NOISE;
    let linear = |labels: &[f64]| {
        let mut model =
            OnlineLinear::of_transform(3, Transform::Log, OnlineLinear::default_settings(), shape, rate).unwrap();
        model.update_batch(&rows, labels).unwrap();
        (model.evidence(), model.predict(&[0.1, 0.2, 0.3]).unwrap())
    };
    let robust = |labels: &[f64]| {
        let mut model = OnlineRobust::of_transform(3, Transform::Log, OnlineSettings::default(), (0.0, 1.0)).unwrap();
        model.update_batch(&rows, labels).unwrap();
        (model.evidence(), model.predict(&[0.1, 0.2, 0.3]).unwrap())
    };
    for (own, scaled) in [(linear(&labels), linear(&thousands)), (robust(&labels), robust(&thousands))] {
        let expected = own.0 - labels.len() as f64 * 1000_f64.ln();
        // A prediction stands at the same place of its distribution; sums of 150 logarithms, and fits that end within 2e-2 nats of each other.
        assert!((scaled.0 - expected).abs() < 0.1, "{} {expected}", scaled.0);
        let [a, b] = [own.1.quantile(0.3).unwrap(), scaled.1.quantile(0.3).unwrap()];
        assert!((b / a / 1000.0 - 1.0).abs() < 1e-3, "{a} {b}");
        let y = 4.0;
        // d/dy of the distribution function by a central difference: h² times its third derivative.
        let h = 1e-4;
        let slope = (own.1.label.cdf(y + h) - own.1.label.cdf(y - h)) / (2.0 * h);
        assert!((own.1.log_density(y) - slope.ln()).abs() < 1e-4);
        assert!(own.1.mean() > own.1.quantile(0.5).unwrap() && own.1.log_density(-1.0) == f64::NEG_INFINITY);
    }
}

#[test]
fn labels_without_a_logarithm_are_refused_and_change_nothing() {
    let mut model = OnlineRobust::of_transform(1, Transform::Log, OnlineSettings::default(), (0.0, 1.0)).unwrap();
    for t in 0..80 {
        model.update(&[f64::from(t % 7)], f64::from(t % 5) + 1.0).unwrap();
    }
    let before = serde_json::to_string(&model).unwrap();
    for label in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(model.update(&[1.0], label), Err(ModelError::Core(_) | ModelError::Input { .. })), "{label}");
    }
    assert_eq!(serde_json::to_string(&model).unwrap(), before);
    let again: OnlineRobust = serde_json::from_str(&before).unwrap();
    assert_eq!(again.predict(&[2.0]).unwrap(), model.predict(&[2.0]).unwrap());
}

#[test]
fn beliefs_that_cannot_grow_wider_are_refused_by_name() {
    for belief in [BeliefKind::Diagonal, BeliefKind::LowRank { rank: 2 }, BeliefKind::SquareRoot] {
        let settings = OnlineSettings { belief, ..OnlineSettings::default() };
        let refused = OnlineRobust::with_settings(3, settings, (0.0, 1.0));
        assert!(matches!(refused, Err(ModelError::Unsupported { .. })), "{belief:?}");
    }
}

/// Parts that are learned apart and merged answer as the whole does.
#[test]
fn parts_merge() {
    let tails = StudentT::new(4.0).unwrap();
    let (rows, labels) = rows(1200, 13, |rng| tails.sample(rng));
    let settings = || OnlineSettings {
        standardise: Standardise::Fixed { centres: vec![0.0; 3], scales: vec![1.0; 3] },
        ..OnlineSettings::default()
    };
    let new = || OnlineRobust::with_settings(3, settings(), (2.0, 1.0)).unwrap();
    let of = |from: usize, to: usize| {
        let mut model = new();
        model.update_batch(&rows[3 * from..3 * to], &labels[from..to]).unwrap();
        model
    };
    let (mut first, second, whole) = (of(0, 600), of(600, 1200), of(0, 1200));
    first.merge(&[&second]).unwrap();
    let at = [0.3, 0.2, -0.7];
    let [merged, whole] = [first, whole].map(|model| model.predict(&at).unwrap());
    let deviation = whole.expectation.standard_deviation();
    assert!((merged.mean() - whole.mean()).abs() < 0.3 * deviation, "{} {}", merged.mean(), whole.mean());
    let width = |seen: &vi_models::online::NumberPredicted| {
        seen.interval(0.9).unwrap().upper - seen.interval(0.9).unwrap().lower
    };
    assert!((width(&merged) / width(&whole) - 1.0).abs() < 0.05);
}

/// With forgetting the scale follows the labels.
#[test]
fn a_fading_memory_follows_the_scale() {
    let settings = OnlineSettings { memory: Memory::Fading(0.98), ..OnlineSettings::default() };
    let mut model = OnlineRobust::with_settings(3, settings, (0.0, 1.0)).unwrap();
    let (rows, labels) = rows(1500, 17, gaussian);
    for (t, (x, y)) in rows.chunks(3).zip(&labels).enumerate() {
        model.update(x, if t < 700 { *y } else { 5.0 * y }).unwrap();
    }
    let (_, scale) = model.noise();
    assert!((1.5..4.0).contains(&scale), "{scale}");
}

/// Refinement leaves a model of labels in any unit where all its rows put it, and tells the evidence in the caller's unit.
#[test]
fn refinement_is_in_the_units_of_the_labels() {
    let tails = StudentT::new(3.0).unwrap();
    let (rows, labels) = rows(400, 5, |rng| tails.sample(rng));
    let settings = OnlineSettings { keep_rows: true, ..OnlineSettings::default() };
    let refined = |labels: &[f64], over: bool| {
        let mut model = OnlineRobust::with_settings(3, settings.clone(), (0.0, 1.0)).unwrap();
        model.update_batch(&rows, labels).unwrap();
        let before = model.clone();
        if over {
            let passed = model.refine_over::<ModelError>(&BatchSettings::default(), |take| {
                let mut both = rows.chunks(3).zip(labels);
                both.try_for_each(|(x, y)| take(Row::Dense(x), Observation::new(*y)))
            });
            passed.unwrap();
        } else {
            model.refine(&RefineSettings::default()).unwrap();
        }
        (before, model)
    };
    let far: Vec<f64> = labels.iter().map(|y| 1000.0 * y + 1e5).collect();
    for over in [false, true] {
        let (before, after) = refined(&far, over);
        for (before, after) in weights(&before).iter().zip(weights(&after)) {
            // The first rows were fitted together and the others learned one by one, which is a part of a deviation.
            let (moved, spread) = (after.mean() - before.mean(), before.standard_deviation());
            assert!(moved.abs() < 0.5 * spread, "{over}: {moved} {spread}");
            assert!((after.standard_deviation() / spread - 1.0).abs() < 0.2, "{over}: {}", after.standard_deviation());
        }
        // One pass and the best Gaussian differ by some nats at most; the bound leaves out what the noise may be.
        assert!(
            (after.evidence() - before.evidence()).abs() < 12.0,
            "{over}: {} {}",
            after.evidence(),
            before.evidence()
        );
        let (_, plain) = refined(&labels, over);
        let jacobian = 400.0 * 1000.0_f64.ln();
        // Sweeps end at a tolerance of 1e-6 deviations; roundings of labels of 1e5.
        assert!((plain.evidence() - after.evidence() - jacobian).abs() < 0.01, "{over}: {}", plain.evidence());
    }
    let mut varying = OnlineVarying::with_settings(3, settings, (0.0, 1.0)).unwrap();
    varying.update_batch(&rows, &far).unwrap();
    let before = varying.predict(&rows[..3]).unwrap();
    varying.refine(&RefineSettings::default()).unwrap();
    let after = varying.predict(&rows[..3]).unwrap();
    assert!((after.mean() - before.mean()).abs() < 0.2 * before.standard_deviation());
}

/// A model whose columns have given scales is stored with the unit of its labels.
#[test]
fn a_unit_of_the_labels_is_stored_beside_given_scales() {
    let standardise = Standardise::Fixed { centres: vec![0.1; 3], scales: vec![2.0; 3] };
    for standardise in [standardise, Standardise::Never] {
        let settings = OnlineSettings { standardise, ..OnlineSettings::default() };
        let mut model = OnlineRobust::with_settings(3, settings, (2.0, 5.0)).unwrap();
        let (rows, labels) = rows(60, 7, gaussian);
        model.update_batch(&rows, &labels).unwrap();
        let stored = serde_json::to_string(&model).unwrap();
        let again: OnlineRobust = serde_json::from_str(&stored).unwrap();
        assert_eq!(again.predict(&rows[..3]).unwrap().mean(), model.predict(&rows[..3]).unwrap().mean());
    }
}
