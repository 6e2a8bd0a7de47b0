//! Kinds compared by the first rows.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Gamma, Poisson, StandardNormal, StudentT};
use vi_models::Transform;
use vi_models::online::{Kind, Model, Observation, OnlineLinear, Row, Trial};

const NUMBERS: [Kind; 6] = [
    Kind::Number { transform: Transform::Identity, noise: OnlineLinear::DEFAULT_NOISE },
    Kind::Robust { transform: Transform::Identity, unit: (0.0, 1.0) },
    Kind::Number { transform: Transform::Log, noise: OnlineLinear::DEFAULT_NOISE },
    Kind::Robust { transform: Transform::Log, unit: (0.0, 1.0) },
    Kind::Number { transform: Transform::Logit, noise: OnlineLinear::DEFAULT_NOISE },
    Kind::Robust { transform: Transform::Logit, unit: (0.0, 1.0) },
];

fn chosen(kinds: &[Kind], n: usize, mut label: impl FnMut(f64, &mut ChaCha8Rng) -> f64) -> Trial {
    let new = |kind: &Kind| Model::new(*kind, 1, kind.default_settings()).unwrap();
    let mut trial = Trial::new(new(&kinds[0]), kinds[1..].iter().map(new).collect());
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    for _ in 0..n {
        let x: f64 = rng.sample(StandardNormal);
        let y = label(x, &mut rng);
        trial.learn(Row::Dense(&[x]), Observation::new(y)).unwrap();
    }
    trial
}

#[test]
fn the_family_that_made_the_labels_is_chosen() {
    let normal = |rng: &mut ChaCha8Rng| rng.sample::<f64, _>(StandardNormal);
    let tails = StudentT::new(2.5).unwrap();
    assert_eq!(chosen(&NUMBERS, 300, |x, rng| 9.0 + x + 0.5 * normal(rng)).chosen(), NUMBERS[0]);
    assert_eq!(chosen(&NUMBERS, 300, |x, rng| x + 0.5 * tails.sample(rng)).chosen(), NUMBERS[1]);
    assert_eq!(chosen(&NUMBERS, 300, |x, rng| (x + normal(rng)).exp()).chosen(), NUMBERS[2]);
    assert_eq!(chosen(&NUMBERS, 300, |x, rng| (x + tails.sample(rng)).exp()).chosen(), NUMBERS[3]);
    let fraction = |t: f64| Transform::Logit.inverse(t);
    assert_eq!(chosen(&NUMBERS, 300, |x, rng| fraction(0.5 + x + normal(rng))).chosen(), NUMBERS[4]);
    assert_eq!(chosen(&NUMBERS, 300, |x, rng| fraction(0.5 + x + 0.5 * tails.sample(rng))).chosen(), NUMBERS[5]);
    let counts = [Kind::Count, Kind::LearnedSpread, Kind::ZeroInflated];
    let count = |mean: f64, rng: &mut ChaCha8Rng| Poisson::new(mean.max(1e-300)).unwrap().sample(rng);
    assert_eq!(chosen(&counts, 300, |x, rng| count((1.0 + 0.3 * x).exp(), rng)).chosen(), counts[0]);
    let spread = Gamma::new(1.0, 1.0).unwrap();
    let trial = chosen(&counts, 300, |x, rng| count((1.0 + 0.3 * x).exp() * spread.sample(rng), rng));
    assert_eq!(trial.chosen(), counts[1]);
    assert!(trial.behind()[0].1 > 10.0 && trial.behind()[1] == (counts[1], 0.0));
    let excess = |rng: &mut ChaCha8Rng| f64::from(u8::from(rng.random::<f64>() > 0.4));
    let trial = chosen(&counts, 300, |x, rng| excess(rng) * count((1.0 + 0.3 * x).exp(), rng));
    assert_eq!(trial.chosen(), counts[2]);
    assert!(trial.behind()[1].1 > 3.0);
}

#[test]
fn what_cannot_learn_a_row_is_out() {
    let trial = chosen(&NUMBERS, 100, |x, rng| (x + 0.1 * rng.sample::<f64, _>(StandardNormal)).exp() - 0.3);
    assert!(matches!(trial.chosen(), Kind::Number { .. } | Kind::Robust { .. }));
    assert_eq!(trial.behind()[2].1, f64::INFINITY);
    assert!(trial.rows() <= 100);
}

#[test]
fn a_row_that_nobody_learns_is_an_error_and_no_candidate_is_out() {
    let mut trial = chosen(&NUMBERS[..4], 30, |x, _| x.exp());
    assert!(trial.learn(Row::Dense(&[0.0]), Observation::new(f64::NAN)).is_err());
    assert_eq!(trial.rows(), 30);
    assert!(trial.behind().iter().all(|(_, nats)| nats.is_finite()));
    assert!(!trial.is_over());
}

#[test]
fn few_rows_of_gaussian_noise_are_taken_for_such() {
    for n in [20, 40] {
        let robust = (0..40).filter(|seed| {
            let new = |kind: &Kind| Model::new(*kind, 1, kind.default_settings()).unwrap();
            let mut trial = Trial::new(new(&NUMBERS[0]), vec![new(&NUMBERS[1])]);
            let mut rng = ChaCha8Rng::seed_from_u64(*seed);
            for _ in 0..n {
                let x: f64 = rng.sample(StandardNormal);
                let y = 100.0 * (x + rng.sample::<f64, _>(StandardNormal));
                trial.learn(Row::Dense(&[x]), Observation::new(y)).unwrap();
            }
            trial.chosen() == NUMBERS[1]
        });
        // With the start of the priors counted it is more than half.
        assert!(robust.count() <= 4, "{n}");
    }
}
