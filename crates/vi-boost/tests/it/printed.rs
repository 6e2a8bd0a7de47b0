//! The paper's algorithms as printed, and how they fail.

use std::ops::ControlFlow;

use vi_boost::papers::{ComponentRule, Printed, PrintedSettings, WeightRule};
use vi_boost::target::Cauchy;
use vi_boost::{BoostError, Component, GaussianMixture, LogDensity, divergence};

use crate::common::{four, go_on, rng};

#[test]
fn on_a_gaussian_it_stays_where_its_first_component_is() {
    // Σ = H⁻¹/2: a lone component on a Gaussian target costs d·½(½ − 1 + log 2) = d·0.0966 nats.
    let d = 3;
    let target = GaussianMixture::single(Component::isotropic(&vec![1.0; d], 0.5).unwrap());
    let start = Component::isotropic(&vec![0.0; d], 10.0).unwrap();
    let mut run = Printed::new(&target, start, &PrintedSettings::default()).unwrap();
    run.run(5, &mut rng(1), go_on).unwrap();
    let kl = divergence::quasi(run.mixture(), &target, 512, 2, 1).unwrap().effective.value;
    let lone = d as f64 * 0.5 * (2.0_f64.ln() - 0.5);
    // The peak of log(f/q₁) is off f's by the start's pull, 1/400 of the way.
    assert!((kl - lone).abs() < 0.01 * lone, "{kl} {lone}");
}

#[test]
fn from_a_broad_start_it_falls_into_one_mode() {
    let target = four();
    let mut kls = Vec::new();
    for seed in 1..=4 {
        let start = Component::isotropic(&[0.0], 10.0).unwrap();
        let mut run = Printed::new(&target, start, &PrintedSettings::default()).unwrap();
        let mut alphas = Vec::new();
        run.run(10, &mut rng(seed), |info, _| {
            alphas.push(info.alpha);
            ControlFlow::Continue(())
        })
        .unwrap();
        assert!(alphas[0] > 0.99 && alphas[1..].iter().all(|a| *a < 0.01), "{alphas:?}");
        assert_eq!(run.mixture().len(), 11);
        kls.push(divergence::quasi(run.mixture(), &target, 512, 2, 1).unwrap().effective.value);
    }
    // −log w_k + 0.0966 for the mode it fell into.
    for kl in &kls {
        let near = [0.25_f64, 0.3, 0.2].iter().any(|w| (kl - 0.5 * (2.0_f64.ln() - 0.5) + w.ln()).abs() < 0.05);
        assert!(near, "{kls:?}");
    }
}

#[test]
fn the_inclusive_rule_reports_its_effective_sample_size() {
    let target = Cauchy::new(0.0, 2.0).unwrap();
    let start = Component::isotropic(&[0.0], 10.0).unwrap();
    let settings = PrintedSettings { samples: 2000, weight: WeightRule::Inclusive, ..PrintedSettings::default() };
    let mut run = Printed::new(&target, start, &settings).unwrap();
    let info = run.step(&mut rng(1)).unwrap();
    assert!(info.alpha > 0.3 && info.alpha < 0.8, "{info:?}");
    assert!(info.effective_sample_size > 100.0 && info.effective_sample_size < 2000.0, "{info:?}");
}

#[test]
fn the_greedy_step_beats_the_laplacian_one() {
    let target = Cauchy::new(0.0, 2.0).unwrap();
    let kl = |component| {
        let start = Component::isotropic(&[0.0], 10.0).unwrap();
        let settings = PrintedSettings { component, ..PrintedSettings::default() };
        let mut run = Printed::new(&target, start, &settings).unwrap();
        run.run(4, &mut rng(1), go_on).unwrap();
        divergence::quasi(run.mixture(), &target, 1024, 4, 1).unwrap().effective.value + target.log_normaliser()
    };
    let (laplacian, greedy) = (kl(ComponentRule::Laplacian), kl(ComponentRule::Greedy));
    assert!(greedy < 0.8 * laplacian, "{greedy} {laplacian}");
}

#[test]
fn the_objective_is_that_of_the_mixture() {
    let target = Cauchy::new(0.0, 2.0).unwrap();
    let start = Component::isotropic(&[0.0], 10.0).unwrap();
    let mut run = Printed::new(&target, start, &PrintedSettings::default()).unwrap();
    run.run(5, &mut rng(1), |info, q| {
        let exact = divergence::quasi(q, &target, 2048, 4, 1).unwrap().effective;
        let error = info.objective.standard_error.hypot(exact.standard_error);
        assert!((info.objective.value - exact.value).abs() < 5.0 * error, "{info:?} {exact:?}");
        assert!(info.effective_sample_size > 10.0 && info.log_evidence.value.is_finite());
        ControlFlow::Continue(())
    })
    .unwrap();
}

#[test]
fn the_greedy_step_has_no_inclusive_rule() {
    let target = Cauchy::new(0.0, 2.0).unwrap();
    let start = Component::isotropic(&[0.0], 10.0).unwrap();
    let settings = PrintedSettings {
        component: ComponentRule::Greedy,
        weight: WeightRule::Inclusive,
        ..PrintedSettings::default()
    };
    let outcome = Printed::new(&target, start, &settings).map(|_| ());
    assert!(matches!(outcome, Err(BoostError::Conflict { .. })), "{outcome:?}");
}

#[test]
fn a_zero_of_the_target_is_told() {
    struct Half;
    impl LogDensity for Half {
        fn dim(&self) -> usize {
            1
        }
        fn log_density(&self, theta: &[f64]) -> f64 {
            if theta[0] < 0.0 { f64::NEG_INFINITY } else { -0.5 * theta[0] * theta[0] + theta[0] }
        }
    }
    for component in [ComponentRule::Laplacian, ComponentRule::Greedy] {
        let settings = PrintedSettings { component, ..PrintedSettings::default() };
        let mut run = Printed::new(&Half, Component::isotropic(&[0.0], 2.0).unwrap(), &settings).unwrap();
        let outcome = run.run(5, &mut rng(1), go_on);
        assert!(matches!(outcome, Err(BoostError::Unsupported { .. })), "{outcome:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bits() {
    let once = |seed| {
        let target = four();
        let start = Component::isotropic(&[0.0], 10.0).unwrap();
        let mut run =
            Printed::new(&target, start, &PrintedSettings { samples: 200, step: 0.1, ..PrintedSettings::default() })
                .unwrap();
        run.run(5, &mut rng(seed), go_on).unwrap();
        run.mixture().log_density(&[0.0]).unwrap().to_bits()
    };
    assert_eq!(once(1), once(1));
    assert_ne!(once(1), once(2));
}
