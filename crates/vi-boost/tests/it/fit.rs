//! One call.

use vi_boost::target::{Banana, Function};
use vi_boost::{BoostError, Component, Diagnosis, FitSettings, GaussianMixture, LogDensity, Verdict, divergence, fit};

use crate::common::{four, logistic, on_a_grid, rng};

fn found(target: &dyn LogDensity, seed: u64) -> vi_boost::Fit {
    fit(target, &FitSettings::default(), &mut rng(seed)).unwrap()
}

#[test]
fn a_gaussian_is_one_gaussian_wherever_it_is() {
    for (mean, sd) in [(0.0, 1.0), (300.0, 0.01), (-5.0, 1e3)] {
        let target = GaussianMixture::single(Component::isotropic(&[mean, 2.0 * mean, 0.0], sd).unwrap());
        let q = found(&target, 1);
        assert_eq!(q.diagnosis.verdict, Verdict::Good);
        // A Gaussian target is met exactly, and a mixture of nearly the same Gaussians too.
        assert!((q.gaussian.mean()[0] - mean).abs() < 1e-4 * sd, "{mean} {sd}: {:?}", q.gaussian.mean());
        assert!(q.diagnosis.kl.abs() < 1e-6 && q.diagnosis.log_evidence.abs() < 1e-6, "{:?}", q.diagnosis);
    }
}

#[test]
fn skew_and_bent_posteriors_are_good_and_known_to_be() {
    let target = logistic();
    let q = found(&target, 1);
    let (log_z, kl) = on_a_grid(|theta| target.log_density(theta), &q.mixture, 16.0);
    assert_eq!(q.diagnosis.verdict, Verdict::Good);
    assert!(kl < 0.03, "{kl}");
    // The diagnosis is from 4000 draws: six of its standard errors, and the evidence's of about the same.
    let error = 12.0 * q.diagnosis.standard_error + 1e-4;
    assert!(
        (q.diagnosis.kl - kl).abs() < error && (q.diagnosis.log_evidence - log_z).abs() < error,
        "{:?}",
        q.diagnosis
    );
    let banana = Banana::new(1.5, 0.5).unwrap();
    let q = found(&banana, 2);
    let kl = divergence::quasi(&q.mixture, &banana, 2048, 4, 9).unwrap().kl.value;
    assert!(kl < 0.05 && q.diagnosis.verdict == Verdict::Good, "{kl} {:?}", q.diagnosis);
}

#[test]
fn modes_that_lie_apart_are_found() {
    let target = four();
    let q = found(&target, 3);
    let kl = divergence::quasi(&q.mixture, &target, 2048, 4, 9).unwrap().effective.value;
    assert!(kl.abs() < 0.05, "{kl} {q:?}");
}

#[test]
fn a_diagnosis_tells_a_bad_approximation() {
    let target = GaussianMixture::single(Component::isotropic(&[0.0, 0.0], 1.0).unwrap());
    let of = |mean: f64, sd: f64| {
        let q = GaussianMixture::single(Component::isotropic(&[mean, 0.0], sd).unwrap());
        Diagnosis::of(&q, &target, 4000, f64::NAN, &mut rng(1)).unwrap()
    };
    let (good, fair, poor) = (of(0.0, 1.0), of(0.5, 1.0), of(3.0, 0.3));
    assert_eq!((good.verdict, fair.verdict, poor.verdict), (Verdict::Good, Verdict::Fair, Verdict::Poor));
    // KL(N(½, 1)‖N(0, 1)) = ⅛, within six standard errors of ratios whose logarithm has a deviation of ½.
    assert!((fair.kl - 0.125).abs() < 6.0 * 0.7 / 4000.0_f64.sqrt(), "{fair:?}");
    assert!(good.effective_share > 0.999 && poor.effective_share < 0.2);
}

#[test]
fn draws_resampled_by_importance_are_the_targets() {
    let target = logistic();
    let q = found(&target, 1);
    let (n, mut sum) = (4000, 0.0);
    let draws = q.resample(&target, n, &mut rng(5)).unwrap();
    for i in 0..n {
        sum += draws[(i, 1)];
    }
    let mean = q.mixture.mean()[1];
    let sd = q.mixture.covariance().unwrap()[(1, 1)].sqrt();
    // A mixture within 0.03 nats is within √(2·0.03) standard deviations of the target's mean; draws bring 1/√n each.
    assert!((sum / n as f64 - mean).abs() < sd * (0.06_f64.sqrt() + 6.0 / (n as f64).sqrt()));
    assert!(q.resample(&target, 24, &mut rng(5)).is_err());
}

#[test]
fn what_has_no_answer_is_an_error() {
    let nowhere = Function::new(2, |_: &[f64]| f64::NEG_INFINITY);
    assert!(matches!(
        fit(&nowhere, &FitSettings::default(), &mut rng(1)),
        Err(BoostError::NoStart { zero, .. }) if zero > 0
    ));
    let flat = Function::new(2, |_: &[f64]| 0.0);
    assert!(matches!(fit(&flat, &FitSettings::default(), &mut rng(1)), Err(BoostError::Improper { .. })));
    assert!(fit(&Function::new(0, |_: &[f64]| 0.0), &FitSettings::default(), &mut rng(1)).is_err());
    for (starts, draws) in [(0, 4000), (8, 99)] {
        let settings = FitSettings { starts, draws, ..FitSettings::default() };
        assert!(matches!(fit(&flat, &settings, &mut rng(1)), Err(BoostError::Core(_))));
    }
}

#[test]
fn the_same_seed_gives_the_same_bits() {
    let target = logistic();
    let once = |seed| found(&target, seed).mixture.mean();
    assert_eq!(once(1), once(1));
}
