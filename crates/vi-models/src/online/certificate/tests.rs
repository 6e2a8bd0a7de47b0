use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Poisson, StandardNormal};

use super::*;
use crate::Transform;
use crate::online::{Kind, Model, Observation, OnlineLinear};

const ROUNDING: f64 = 16.0 * f64::EPSILON;

fn at(z: f64) -> Place {
    Place::Number { low: z, high: z }
}

/// A model of one input and what it predicts of a row after `n` others.
fn model(kind: Kind, n: u32) -> Model {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut model = Model::new(kind, 1, kind.default_settings()).unwrap();
    for t in 0..n {
        let x = f64::from(t % 7) - 3.0;
        let label = match kind {
            Kind::Number { transform, .. } => {
                let (slope, noise) = if transform == Transform::Identity { (1.0, 1.0) } else { (0.3, 0.5) };
                transform.inverse(slope * x + noise * rng.sample::<f64, _>(StandardNormal))
            }
            Kind::ZeroInflated if t % 3 == 0 => 0.0,
            Kind::Count | Kind::LearnedSpread | Kind::ZeroInflated => {
                Poisson::new((0.5 + 0.3 * x).exp()).unwrap().sample(&mut rng)
            }
            _ => f64::from((t + t / 7) % 3),
        };
        model.update([x].as_slice().into(), Observation::new(label)).unwrap();
    }
    model
}

const NUMBERS: [Kind; 6] = [
    Kind::Number { transform: Transform::Identity, noise: OnlineLinear::DEFAULT_NOISE },
    Kind::Number { transform: Transform::Log, noise: OnlineLinear::DEFAULT_NOISE },
    Kind::Number { transform: Transform::Logit, noise: OnlineLinear::DEFAULT_NOISE },
    Kind::Count,
    Kind::LearnedSpread,
    Kind::ZeroInflated,
];

fn predicted(model: &Model, x: f64) -> Prediction {
    model.predict([x].as_slice().into(), Observation::new(0.0)).unwrap()
}

/// A record whose intervals have moved to the right and are twice as wide.
fn moved() -> Certificate {
    let of = NORMAL.map(|normal| straightened(2.0 * normal));
    let now = Reach { centre: 0.5, of };
    Certificate { rows: FEWEST, now, settled: now, ..Certificate::default() }
}

#[test]
fn without_labels_the_intervals_are_the_models_own() {
    for (level, normal) in LEVELS.into_iter().zip(NORMAL) {
        assert!((normal_quantile(0.5 + 0.5 * level) - normal).abs() < ROUNDING * normal);
    }
    let reach = Certificate::default().now;
    for level in [0.01, 0.3, 0.5, 0.7, 0.85, 0.9, 0.97, 0.99, 0.999] {
        let own = normal_quantile(0.5 + 0.5 * level);
        // The line between two levels rounds, and the exponential multiplies its error by the reach.
        assert!((reach.at(level) - own).abs() < 4.0 * ROUNDING * own.max(1.0), "{level}");
    }
    let start = Certificate { rows: FEWEST, ..Certificate::default() };
    let model = model(NUMBERS[0], 100);
    let (seen, plain) = (predicted(&model, 1.5), predicted(&model, 1.5).interval(0.9).unwrap().unwrap());
    let own = start.interval(&seen, 0.9).unwrap().unwrap();
    // Quantiles by two ways: each good to rounding of the probability, which the slope of the quantile at 95 %, about 10 deviations, enlarges.
    let tolerance = 40.0 * ROUNDING * (plain.upper - plain.lower);
    assert!((own.lower - plain.lower).abs() < tolerance && (own.upper - plain.upper).abs() < tolerance);
}

#[test]
fn a_miss_and_a_hit_move_the_reach_by_the_rule() {
    let mut reach = Certificate::default().now;
    let before = reach;
    reach.step(&at(1.5));
    for k in 0..5 {
        let missed = f64::from(u8::from(1.5 > NORMAL[k]));
        assert_eq!(reach.of[k], before.of[k] + STEP * (missed - (1.0 - LEVELS[k])));
    }
    assert_eq!(reach.centre, CENTRE_STEP * reach_of(before.of[2]) * 0.5);
    // A count that may be anywhere about the centre moves it by nothing, and is missed by none.
    let mut reach = before;
    reach.step(&Place::Number { low: -1.0, high: 1.0 });
    assert!(reach.centre.abs() < ROUNDING && (0..5).all(|k| reach.of[k] < before.of[k]));
}

/// Labels that are chosen against the intervals: the share of misses is what the sum of the steps says.
#[test]
fn the_share_holds_for_any_sequence() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let n = 4000;
    for world in 0..5 {
        let (mut certificate, mut free) = (Certificate::default(), [true; 5]);
        for t in 0..n {
            let Reach { centre, of } = certificate.now;
            let z = match world {
                0 => rng.sample(StandardNormal),
                1 => 30.0 * (f64::from(t) / 300.0).sin().powi(9),
                // Just beyond the reach of 90 %, whenever that is small.
                2 => centre + if of[2] < 3.0 { 1.001 * reach_of(of[2]) } else { 0.0 },
                3 => 1e280 * f64::from(u8::from(t > n / 2)),
                _ => 0.0,
            };
            let place = at(z);
            certificate.count(&place);
            certificate.now.step(&place);
            free.iter_mut().zip(certificate.now.of).for_each(|(free, r)| *free &= r > 0.0);
        }
        assert!(world > 0 || free[0]);
        for (k, level) in LEVELS.into_iter().enumerate() {
            let missed = f64::from(n) - certificate.held[k] as f64;
            let moved = (certificate.now.of[k] - straightened(NORMAL[k])) / STEP;
            let excess = missed - f64::from(n) * (1.0 - level);
            // n sums of numbers up to the largest reach.
            let rounding = f64::from(n) * ROUNDING * certificate.now.of[4].max(1.0) / STEP;
            assert!(excess <= moved + rounding, "world {world}, {level}: {excess} {moved}");
            // Where the reach was never held at 0 it is an equality.
            assert!(!free[k] || (excess - moved).abs() <= rounding, "world {world}, {level}: {excess} {moved}");
        }
    }
}

#[test]
fn a_label_is_counted_as_held_where_its_interval_holds_it() {
    let own = Certificate { rows: FEWEST, ..Certificate::default() };
    let narrow = Certificate { now: Reach { of: [0.05, 0.1, 0.2, 0.3, 0.4], ..own.now }, ..own.clone() };
    // Beyond the deviations at which distribution functions have digits.
    let wide = Certificate { now: Reach { centre: 1.0, of: [2.4, 2.6, 3.0, 3.5, 4.0] }, ..own.clone() };
    for kind in NUMBERS {
        let model = model(kind, 150);
        for certificate in [&own, &narrow, &moved(), &wide] {
            for x in [-3.0, 0.0, 3.0] {
                let seen = predicted(&model, x);
                for y in (-60..200).map(f64::from) {
                    let label = match kind {
                        Kind::Number { transform: Transform::Identity, .. } => 0.37 * y,
                        Kind::Number { transform, .. } => transform.inverse(0.05 * y),
                        _ => y.max(0.0),
                    };
                    let mut tested = certificate.clone();
                    tested.test(&seen, label, seen.below(label).unwrap()).unwrap();
                    for (k, level) in LEVELS.into_iter().enumerate() {
                        let held = tested.held[k] > certificate.held[k];
                        let interval = certificate.interval(&seen, level).unwrap().unwrap();
                        assert_eq!(held, interval.contains(label), "{kind:?} {x} {label} {level} {interval:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn wider_levels_hold_narrower_ones_and_sets_are_never_empty() {
    let crossed = Certificate {
        now: Reach { centre: -0.3, of: [1.2, 0.9, 1.4, 0.0, 1.3] },
        rows: FEWEST,
        ..Certificate::default()
    };
    let nothing = Certificate { now: Reach { centre: 0.0, of: [0.0; 5] }, ..crossed.clone() };
    let levels = [0.05, 0.3, 0.5, 0.6, 0.8, 0.85, 0.9, 0.93, 0.95, 0.98, 0.99, 0.999];
    let classes = model(Kind::Classes { classes: 3, joint: None }, 200);
    for certificate in [&crossed, &nothing] {
        for x in [-2.0, 1.0] {
            let (number, several) = (predicted(&model(NUMBERS[0], 100), x), predicted(&classes, x));
            let mut last: Option<(Interval, Vec<usize>)> = None;
            for level in levels {
                let interval = certificate.interval(&number, level).unwrap().unwrap();
                let set = certificate.classes(&several, level).unwrap().unwrap();
                assert!(interval.lower <= interval.upper && set.contains(&several.class().unwrap()));
                if let Some((inner, few)) = last {
                    // Quantiles of equal reaches differ by rounding.
                    let rounding = 64.0 * ROUNDING * (interval.upper - interval.lower + interval.lower.abs());
                    assert!(interval.lower <= inner.lower + rounding && inner.upper <= interval.upper + rounding);
                    assert!(few.iter().all(|class| set.contains(class)));
                }
                last = Some((interval, set));
            }
        }
    }
    assert_eq!(crossed.classes(&predicted(&model(NUMBERS[0], 9), 0.0), 0.9).unwrap(), None);
    assert_eq!(crossed.interval(&predicted(&classes, 0.0), 0.9).unwrap(), None);
}

#[test]
fn the_place_of_a_class_is_the_mass_before_it() {
    let seen = crate::softmax::SoftmaxPrediction { probabilities: vec![0.3, 0.55, 0.15], variances: vec![0.0; 3] };
    let seen = Prediction::Classes(seen);
    let places = place::classes(&seen).unwrap();
    // P(|N(0, 1)| < z) of .55 and .85, the probabilities of what is more probable.
    let expected = [0.55, 0.0, 0.85].map(|mass| normal_quantile(0.5 + 0.5 * mass));
    for (found, expected) in places.iter().zip(expected) {
        assert!((found - expected).abs() < 8.0 * ROUNDING, "{places:?}");
    }
    // So the model's own set of a level is the smallest that has that much probability.
    let own = Certificate { rows: FEWEST, ..Certificate::default() };
    assert_eq!(own.classes(&seen, 0.5).unwrap().unwrap(), [1]);
    assert_eq!(own.classes(&seen, 0.8).unwrap().unwrap(), [0, 1]);
    assert_eq!(own.classes(&seen, 0.9).unwrap().unwrap(), [0, 1, 2]);
    let mut own = own;
    own.add(&seen, 0.0).unwrap();
    let share = own.shares().nth(1).unwrap();
    assert_eq!((own.held, share.size), ([0, 1, 1, 1, 1], Some(2.0 / (FEWEST + 1) as f64)));
}

#[test]
fn a_stored_record_goes_on_to_the_bit_and_merging_does_not_depend_on_the_order() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut record = |n: u32| {
        let mut certificate = Certificate::default();
        let model = model(NUMBERS[0], 50);
        for t in 0..n {
            let x = f64::from(t % 5);
            certificate.add(&predicted(&model, x), x + 3.0 * rng.sample::<f64, _>(StandardNormal)).unwrap();
        }
        certificate
    };
    let (a, b) = (record(300), record(100));
    let read: Certificate = serde_json::from_str(&serde_json::to_string(&a).unwrap()).unwrap();
    assert_eq!(read, a);
    let (mut ab, mut ba) = (a.clone(), b.clone());
    ab.merge(&b);
    ba.merge(&a);
    assert_eq!((ab.rows, ab.held), (400, ba.held));
    let expected = 0.75 * a.now.of[2] + 0.25 * b.now.of[2];
    assert!((ab.now.of[2] - expected).abs() < ROUNDING * expected);
    assert!((ba.now.of[2] - expected).abs() < ROUNDING * expected);
    let mut alone = a.clone();
    alone.merge(&Certificate::default());
    assert_eq!(alone, a);
}

#[test]
fn refusals_are_typed_and_leave_the_record() {
    let fresh = Certificate::default();
    let seen = predicted(&model(NUMBERS[0], 100), 0.0);
    let error = fresh.interval(&seen, 0.9).unwrap_err();
    assert_eq!(error, ModelError::Uncertified { rows: 0, needed: FEWEST });
    assert!(error.to_string().contains("the record of 200 labels"), "{error}");
    for level in [0.0, 1.0, f64::NAN, -0.5] {
        assert!(matches!(moved().interval(&seen, level), Err(ModelError::Core(_))), "{level}");
    }
    let mut record = moved();
    let classes = predicted(&model(Kind::Classes { classes: 3, joint: None }, 30), 0.0);
    let error = record.add(&classes, 3.0).unwrap_err();
    assert!(matches!(error, ModelError::ClassLabel { value: 3.0, classes: 3, .. }), "{error:?}");
    assert_eq!(record, moved());
}
