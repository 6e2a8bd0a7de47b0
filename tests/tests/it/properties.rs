//! What must hold for every rule on every stream.

use crate::common::{bits, condition, distance, linear_rules, logistic_rules, stream};
use proptest::prelude::*;
use vi_core::{
    Belief, BernoulliLogit, DenseGaussian, GaussianLikelihood, MirrorProxPrinted, Mixture8, SiteRule, SkipCovariance,
    filter, papers::kalman,
};
use vi_linalg::faer::{Mat, MatRef, Par};
use vi_linalg::kernels::quadratic_form;
use vi_models::{laplace, linear};

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: if vi_tests::slow() { 1000 } else { 200 },
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Both kinds of rule, each with the labels it takes.
fn all_rules(stream: &crate::common::Stream) -> Vec<(&'static str, crate::common::Rule, &[f64])> {
    let logistic = logistic_rules().into_iter().map(|(name, rule)| (name, rule, stream.labels.as_slice()));
    let linear = linear_rules(0.3).into_iter().map(|(name, rule)| (name, rule, stream.targets.as_slice()));
    logistic.chain(linear).collect()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn covariances_stay_symmetric_and_positive_definite(stream in stream()) {
        for (name, rule, y) in all_rules(&stream) {
            let belief = stream.filtered(&rule, y);
            let covariance = belief.covariance();
            for j in 0..stream.d {
                for i in 0..j {
                    prop_assert_eq!(covariance[(i, j)].to_bits(), covariance[(j, i)].to_bits());
                }
            }
            prop_assert!(belief.cholesky().is_ok(), "{}", name);
            prop_assert!(belief.mean().iter().all(|m| m.is_finite()), "{}", name);
            // A belief made of its parts is accepted as such.
            prop_assert!(DenseGaussian::new(belief.mean(), covariance.as_ref()).is_ok(), "{}", name);
        }
    }

    #[test]
    fn information_never_decreases(stream in stream(), direction in prop::collection::vec(-1.0..1.0_f64, 8)) {
        let direction = &direction[..stream.d];
        for (name, rule, y) in all_rules(&stream) {
            let mut belief = stream.prior();
            let largest = belief.covariance().norm_l2();
            let length: f64 = direction.iter().map(|v| v * v).sum();
            // A quadratic form of d² terms, each rounded, none larger than the prior's.
            let rounding = 4.0 * stream.d as f64 * f64::EPSILON * largest * length;
            let mut variance = quadratic_form(Mat::as_ref(&belief.covariance_lower()), direction);
            let mut log_det = belief.cholesky().unwrap().log_det();
            let mut scratch = filter::Scratch::default();
            for (t, &label) in y.iter().enumerate() {
                let info = filter::step(&mut belief, &rule, stream.row(t), label, &mut scratch).unwrap();
                prop_assert!(info.site.curvature >= 0.0, "{}", name);
                let now = quadratic_form(Mat::as_ref(&belief.covariance_lower()), direction);
                prop_assert!(now <= variance + rounding, "{} at {}: {} after {}", name, t, now, variance);
                variance = now;
                // |P| shrinks by exactly 1 + hν.
                let volume = belief.cholesky().unwrap().log_det();
                let shrunk = (info.site.curvature * info.projection.variance).ln_1p();
                let error = (log_det - volume - shrunk).abs();
                let slack = 64.0 * stream.d as f64 * f64::EPSILON * condition(&stream.prior(), &belief);
                prop_assert!(error <= slack, "{} at {}: {} beyond {}", name, t, error, slack);
                log_det = volume;
            }
        }
    }

    #[test]
    fn linear_posteriors_do_not_depend_on_the_order(stream in stream(), seed in any::<u64>()) {
        let n = stream.len();
        let order = permutation(n, seed);
        let rows: Vec<f64> = order.iter().flat_map(|&t| stream.row(t).to_vec()).collect();
        let targets: Vec<f64> = order.iter().map(|&t| stream.targets[t]).collect();
        let shuffled = crate::common::Stream { rows, ..stream.clone() };
        for (name, rule) in linear_rules(0.3) {
            let (a, b) = (stream.filtered(&rule, &stream.targets), shuffled.filtered(&rule, &targets));
            let error = distance(&a, &b);
            let tolerance = 8.0 * n as f64 * f64::EPSILON * condition(&stream.prior(), &a);
            prop_assert!(error <= tolerance, "{}: {:e} beyond {:e}", name, error, tolerance);
        }
    }

    #[test]
    fn a_gaussian_likelihood_makes_every_rule_the_kalman_filter(stream in stream(), noise in 0.05..5.0_f64) {
        let likelihood = GaussianLikelihood::new(noise).unwrap();
        let mut vectors = stream.prior();
        let mut log_evidence = 0.0;
        let r = Mat::from_fn(1, 1, |_, _| noise);
        for t in 0..stream.len() {
            let h = MatRef::from_row_major_slice(stream.row(t), 1, stream.d);
            log_evidence += kalman::step(&mut vectors, h, &stream.targets[t..=t], r.as_ref(), Par::Seq).unwrap().log_predictive;
        }
        let batch = linear::fit(&stream.prior(), stream.x(), &stream.targets, likelihood).unwrap();
        let settings = laplace::LaplaceSettings::default();
        let mode = laplace::fit(&stream.prior(), stream.x(), &stream.targets, &likelihood, &settings).unwrap();
        let rounding = stream.len() as f64 * f64::EPSILON * condition(&stream.prior(), &batch.belief);
        let tolerance = 8.0 * rounding;
        for (name, rule) in linear_rules(noise) {
            let belief = stream.filtered(&rule, &stream.targets);
            for (other, twin) in [("vector", &vectors), ("batch", &batch.belief), ("Laplace", &mode.belief)] {
                let error = distance(&belief, twin);
                prop_assert!(error <= tolerance, "{} and {}: {:e} beyond {:e}", name, other, error, tolerance);
            }
        }
        // The evidence is a sum of n terms, each as large as its squared residual.
        let size: f64 = log_evidence.abs() + stream.targets.iter().map(|y| y * y / noise).sum::<f64>();
        prop_assert!((log_evidence - batch.log_evidence).abs() <= tolerance * size);
        prop_assert!((log_evidence - mode.log_evidence).abs() <= tolerance * size);
    }

    #[test]
    fn mirrored_rows_with_the_other_label_say_the_same_to_the_bit(stream in stream()) {
        let mirrored = crate::common::Stream { rows: stream.rows.iter().map(|x| -x).collect(), ..stream.clone() };
        let other: Vec<f64> = stream.labels.iter().map(|y| 1.0 - y).collect();
        for (name, rule) in logistic_rules() {
            let (a, b) = (stream.filtered(&rule, &stream.labels), mirrored.filtered(&rule, &other));
            prop_assert_eq!(bits(&a), bits(&b), "{}", name);
        }
        let other: Vec<f64> = stream.targets.iter().map(|y| -y).collect();
        for (name, rule) in linear_rules(0.3) {
            let (a, b) = (stream.filtered(&rule, &stream.targets), mirrored.filtered(&rule, &other));
            prop_assert_eq!(bits(&a), bits(&b), "{}", name);
        }
    }

    #[test]
    fn mirroring_the_whole_space_mirrors_the_mean(stream in stream()) {
        let prior_mean = stream.prior_mean.iter().map(|m| -m).collect();
        let rows = stream.rows.iter().map(|x| -x).collect();
        let both = crate::common::Stream { rows, prior_mean, ..stream.clone() };
        for (name, rule, y) in all_rules(&stream) {
            let (a, b) = (stream.filtered(&rule, y), both.filtered(&rule, y));
            let mirrored: Vec<f64> = b.mean().iter().map(|m| -m).collect();
            prop_assert_eq!(a.mean(), mirrored.as_slice(), "{}", name);
            prop_assert_eq!(a.covariance(), b.covariance(), "{}", name);
        }
    }

    #[test]
    fn a_row_of_zeros_says_nothing(stream in stream()) {
        let zeros = vec![0.0; stream.d];
        for (name, rule, y) in all_rules(&stream) {
            let belief = stream.filtered(&rule, y);
            for label in [0.0, 1.0] {
                let mut after = belief.clone();
                filter::step(&mut after, &rule, &zeros, label, &mut filter::Scratch::default()).unwrap();
                prop_assert_eq!(bits(&after), bits(&belief), "{} with {}", name, label);
            }
        }
    }

    #[test]
    fn a_label_draws_the_mean_to_its_side(stream in stream()) {
        for (name, rule) in logistic_rules() {
            let mut belief = stream.prior();
            let mut scratch = filter::Scratch::default();
            for t in 0..stream.len() {
                let old: f64 = stream.row(t).iter().zip(belief.mean()).map(|(x, m)| x * m).sum();
                filter::step(&mut belief, &rule, stream.row(t), stream.labels[t], &mut scratch).unwrap();
                let new: f64 = stream.row(t).iter().zip(belief.mean()).map(|(x, m)| x * m).sum();
                let size: f64 = stream.row(t).iter().zip(belief.mean()).map(|(x, m)| (x * m).abs()).sum();
                let rounding = 8.0 * stream.d as f64 * f64::EPSILON * (size + old.abs());
                let toward = if stream.labels[t] == 1.0 { new - old } else { old - new };
                // The bound's parabola has its top at ±2 to ±∞: it may pull back a mean that is beyond.
                let bound = name.starts_with("quadratic") && (stream.labels[t] - 0.5) * old > 0.0;
                prop_assert!(toward >= -rounding || bound, "{} at {}: {} to {}", name, t, old, new);
            }
        }
    }
}

/// A permutation of `0..n`: Fisher and Yates with a linear congruential generator.
fn permutation(n: usize, seed: u64) -> Vec<usize> {
    let mut state = seed;
    let mut order: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        order.swap(i, usize::try_from((state >> 33) % (i as u64 + 1)).unwrap());
    }
    order
}

/// The other side of the Kalman equivalence: these two rules are not it, so the test above can tell.
#[test]
fn the_two_wrong_rules_are_not_the_kalman_filter() {
    let likelihood = GaussianLikelihood::new(0.5).unwrap();
    let kalman = vi_core::Explicit(likelihood);
    let wrong: [Box<dyn SiteRule>; 2] = [Box::new(MirrorProxPrinted(likelihood)), Box::new(SkipCovariance(likelihood))];
    for rule in wrong {
        let run = |rule: &dyn SiteRule| {
            let mut belief = DenseGaussian::isotropic(&[0.0, 0.0], 1.0).unwrap();
            filter::step(&mut belief, &rule, &[1.0, 0.5], 2.0, &mut filter::Scratch::default()).unwrap();
            belief
        };
        let (a, b) = (run(&kalman), run(&*rule));
        assert!((a.mean()[0] - b.mean()[0]).abs() > 0.1);
    }
}

/// What a row says, it says along `Px`: across it the mean stays where it was.
#[test]
fn the_mean_moves_along_the_row_alone_under_an_isotropic_prior() {
    let rule = vi_core::Implicit(BernoulliLogit(Mixture8));
    let mut belief = DenseGaussian::isotropic(&[0.0, 0.0], 1.0).unwrap();
    let mut scratch = filter::Scratch::default();
    for label in [1.0, 0.0] {
        filter::step(&mut belief, &rule, &[2.0, -1.0], label, &mut scratch).unwrap();
    }
    let across = belief.mean()[0] + 2.0 * belief.mean()[1];
    assert!(across.abs() <= 4.0 * f64::EPSILON);
}
