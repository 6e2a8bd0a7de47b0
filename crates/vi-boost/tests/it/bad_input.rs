//! Targets that misbehave: a typed error or a reported skip, never a hang or a panic.

use std::ops::ControlFlow;

use vi_boost::gaussian::{self, GaussianSettings};
use vi_boost::papers::{Printed, PrintedSettings};
use vi_boost::{
    Boost, BoostError, BoostSettings, Component, Family, FitSettings, GaussianMixture, Info, LogDensity, Refit, Stop,
    Verdict, fit,
};
use vi_core::Error;
use vi_linalg::faer::Mat;

use crate::common::{go_on, rng};

/// A target made of a closure.
struct Of<F>(usize, F);

impl<F: Fn(&[f64]) -> f64> LogDensity for Of<F> {
    fn dim(&self) -> usize {
        self.0
    }

    fn log_density(&self, theta: &[f64]) -> f64 {
        (self.1)(theta)
    }
}

fn small() -> BoostSettings {
    BoostSettings { components: 3, points: Some(64), ..BoostSettings::default() }
}

fn boosted(target: &dyn LogDensity, settings: &BoostSettings) -> Result<(GaussianMixture, Info), BoostError> {
    let start = Component::isotropic(&vec![0.0; target.dim()], 3.0)?;
    let mut boost = Boost::new(target, &start, settings, &mut rng(1))?;
    boost.run(go_on)?;
    Ok((boost.mixture().unwrap().clone(), *boost.last().unwrap()))
}

/// Every algorithm on `target`; none may panic.
fn all(target: &dyn LogDensity) -> Vec<Result<(), BoostError>> {
    let start = Component::isotropic(&vec![0.0; target.dim()], 3.0).unwrap();
    let printed = || {
        let settings = PrintedSettings { samples: 100, ..PrintedSettings::default() };
        Printed::new(target, start.clone(), &settings)?.run(3, &mut rng(1), go_on)
    };
    let settings = GaussianSettings { points: 64, evaluations: 100, tolerance: 1e-6, ..GaussianSettings::default() };
    vec![
        boosted(target, &small()).map(|_| ()),
        boosted(target, &BoostSettings { refit: Refit::Each, ..small() }).map(|_| ()),
        printed(),
        gaussian::fit(target, &start, &settings, &mut rng(1)).map(|_| ()),
    ]
}

#[test]
fn nan_in_places_is_gone_round() {
    // A standard normal with a hole far out, where few points fall.
    let target = Of(1, |theta: &[f64]| if theta[0] > 2.5 { f64::NAN } else { -0.5 * theta[0] * theta[0] });
    let start = Component::isotropic(&[0.0], 3.0).unwrap();
    for seed in 1..=16 {
        let mut boost = Boost::new(&target, &start, &small(), &mut rng(seed)).unwrap();
        boost.run(go_on).unwrap();
        let (q, info) = (boost.mixture().unwrap(), boost.last().unwrap());
        assert!(q.mean()[0].abs() < 1.0, "seed {seed}: {}", q.mean()[0]);
        assert!(info.objective.value.is_finite() && info.objective.standard_error.is_finite(), "seed {seed}: {info:?}");
    }
    all(&target);
}

#[test]
fn a_target_that_is_nowhere_finite_is_no_start() {
    for (value, count) in [(f64::NAN, "NaN"), (f64::NEG_INFINITY, "−∞"), (f64::INFINITY, "+∞")] {
        let target = Of(2, move |_: &[f64]| value);
        match boosted(&target, &small()) {
            Err(BoostError::NoStart { points, zero, nan, infinite }) => {
                assert_eq!((points, zero + nan + infinite), (512, 512), "{count}");
            }
            other => panic!("{count}: {other:?}"),
        }
        let outcomes = all(&target);
        // The printed algorithm reports starts drawn again and adds nothing.
        let tried = outcomes.iter().enumerate().filter(|(i, _)| *i != 2);
        assert!(tried.map(|(_, outcome)| outcome).all(Result::is_err), "{count}");
    }
}

#[test]
fn a_start_where_the_density_is_zero_is_named() {
    // Only far away is anything.
    let target = Of(1, |theta: &[f64]| if theta[0] > 1e4 { -theta[0] } else { f64::NEG_INFINITY });
    assert!(matches!(boosted(&target, &small()), Err(BoostError::NoStart { zero: 512, .. })));
}

#[test]
fn a_density_on_half_a_line_has_an_answer_inside_or_an_error() {
    // An exponential: every Gaussian reaches over the edge, so every divergence is infinite, though points may not show it.
    let target = Of(1, |theta: &[f64]| if theta[0] < 0.0 { f64::NEG_INFINITY } else { -theta[0] });
    match boosted(&target, &small()) {
        Ok((q, info)) => assert!(q.mean()[0] > 0.0 && info.objective.value.is_finite()),
        // Half of the start's points have a finite density: it is the candidates that have not.
        Err(error) => assert!(matches!(error, BoostError::NoCandidate { .. }), "{error}"),
    }
    all(&target);
}

#[test]
fn a_run_that_gains_nothing_ends_whatever_the_threshold() {
    // One Gaussian is all there is: every step after the first leaves the mixture as it is.
    let target = GaussianMixture::single(Component::isotropic(&[1.0], 0.5).unwrap());
    let start = Component::isotropic(&[0.0], 3.0).unwrap();
    let patience = 3;
    let settings = BoostSettings { components: 50, improvement: 0.0, patience, ..small() };
    let mut boost = Boost::new(&target, &start, &settings, &mut rng(1)).unwrap();
    let mut steps = 0;
    let stop = boost
        .run(|_, _| {
            steps += 1;
            if steps < 4 * 50 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
        .unwrap();
    assert_eq!(stop, Stop::Improvement);
    assert!(steps < 4 * 50, "{steps}");
}

#[test]
fn steps_are_bounded_even_where_each_one_gains() {
    // Every component but the heaviest is dropped, so the number asked for is never reached.
    let target = vi_boost::target::Cauchy::new(0.0, 1.0).unwrap();
    let start = Component::isotropic(&[0.0], 3.0).unwrap();
    let settings = BoostSettings { components: 5, prune: 0.9, improvement: 0.0, patience: 1000, ..small() };
    let mut boost = Boost::new(&target, &start, &settings, &mut rng(1)).unwrap();
    assert_eq!(boost.run(go_on).unwrap(), Stop::Iterations);
    assert_eq!(boost.last().unwrap().iteration, 5 * vi_boost::boost::STEPS_EACH);
}

#[test]
fn a_flat_target_is_improper() {
    for d in [1, 3] {
        let target = Of(d, |_: &[f64]| 0.0);
        assert!(matches!(boosted(&target, &small()), Err(BoostError::Improper { .. })), "d = {d}");
        all(&target);
    }
}

#[test]
fn a_slope_without_end_is_improper() {
    let target = Of(2, |theta: &[f64]| theta[0] - 0.5 * theta[1] * theta[1]);
    assert!(matches!(boosted(&target, &small()), Err(BoostError::Improper { .. })));
    all(&target);
}

/// Separable rows and no prior: the likelihood has its largest value at infinity.
fn separable(theta: &[f64]) -> f64 {
    let row = |x: f64| {
        let margin = theta[0] * x.signum() + theta[1] * x.abs();
        margin.min(0.0) - (-margin.abs()).exp().ln_1p()
    };
    [-2.0, -1.0, -0.5, 0.7, 1.0, 1.5].into_iter().map(row).sum()
}

#[test]
fn mass_without_end_is_improper_however_slowly_it_is_found() {
    let ridge = |theta: &[f64]| -0.5 * (theta[0] + theta[1]).powi(2);
    let targets: [(&str, &dyn LogDensity); 2] = [("ridge", &Of(2, ridge)), ("separable", &Of(2, separable))];
    let start = Component::isotropic(&[0.0; 2], 3.0).unwrap();
    for (name, target) in targets {
        for seed in 1..=6 {
            let outcome = Boost::new(target, &start, &small(), &mut rng(seed)).unwrap().run(go_on);
            assert!(matches!(outcome, Err(BoostError::Improper { .. })), "{name}, seed {seed}: {outcome:?}");
            let settings =
                GaussianSettings { points: 64, evaluations: 100, tolerance: 1e-6, ..GaussianSettings::default() };
            let fitted = gaussian::fit(target, &start, &settings, &mut rng(seed)).map(|(_, info)| info);
            assert!(matches!(fitted, Err(BoostError::Improper { .. })), "{name}, seed {seed}: {fitted:?}");
        }
        // One call starts at modes, which may themselves be anywhere along mass without end.
        match fit(target, &FitSettings::default(), &mut rng(1)) {
            Ok(found) => assert_eq!(found.diagnosis.verdict, Verdict::Poor, "{name}"),
            Err(error) => assert!(matches!(error, BoostError::Improper { .. }), "{name}: {error}"),
        }
    }
}

#[test]
fn tails_that_just_fail_to_be_integrable_are_told_where_components_reach_them() {
    // 1/√(1+x²): its bound has an end, so that a Gaussian alone is nothing out of the ordinary.
    let target = Of(1, |theta: &[f64]| -0.5 * (theta[0] * theta[0]).ln_1p());
    let start = Component::isotropic(&[0.0], 3.0).unwrap();
    let mut told = 0;
    for seed in 1..=6 {
        let mut boost = Boost::new(&target, &start, &small(), &mut rng(seed)).unwrap();
        match boost.run(go_on) {
            Err(BoostError::Improper { .. }) => told += 1,
            outcome => assert!(outcome.is_ok() && boost.last().unwrap().objective.value.is_finite(), "{outcome:?}"),
        }
    }
    assert!(told > 0);
}

#[test]
fn a_spike_to_infinity_is_survived() {
    // log f → +∞ at 0, integrable; and +∞ itself on an interval.
    let spike = Of(1, |theta: &[f64]| -0.5 * theta[0].abs().ln() - 0.5 * theta[0] * theta[0]);
    let (q, _) = boosted(&spike, &small()).unwrap();
    assert!(q.covariance().unwrap()[(0, 0)].is_finite());
    all(&spike);
    let plateau = Of(1, |theta: &[f64]| if theta[0].abs() < 0.1 { f64::INFINITY } else { -0.5 * theta[0] * theta[0] });
    for outcome in all(&plateau) {
        if let Err(error) = outcome {
            assert!(matches!(error, BoostError::NoCandidate { .. } | BoostError::TargetValue { .. }), "{error}");
        }
    }
}

#[test]
fn values_of_any_size_are_taken() {
    for size in [1e-300_f64, 1e300] {
        let shift = Of(1, move |theta: &[f64]| size.ln() - 0.5 * theta[0] * theta[0]);
        let (_, info) = boosted(&shift, &small()).unwrap();
        // log Z = log(size·√(2π))
        assert!((info.log_evidence.value - size.ln() - 0.918_938_5).abs() < 1e-3);
    }
    // A density as narrow as 1e-6 of the start.
    let narrow = Of(1, |theta: &[f64]| -0.5 * (theta[0] * 1e6).powi(2));
    match boosted(&narrow, &small()) {
        Ok((q, _)) => assert!((q.covariance().unwrap()[(0, 0)].sqrt() * 1e6 - 1.0).abs() < 1e-2),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn one_and_fifty_dimensions() {
    for d in [1, 50] {
        let target = Of(d, |theta: &[f64]| -0.5 * theta.iter().map(|x| (x - 1.0) * (x - 1.0)).sum::<f64>());
        let settings = BoostSettings { points: Some(256), family: Family::Diagonal, components: 2, ..small() };
        let (q, _) = boosted(&target, &settings).unwrap();
        let mean = q.mean();
        assert!(mean.iter().all(|m| (m - 1.0).abs() < 0.05), "d = {d}: {:?}", &mean[..1]);
    }
}

#[test]
fn fewer_points_than_a_component_needs_are_refused() {
    let d = 20;
    let target = Of(d, |theta: &[f64]| -0.5 * theta.iter().map(|x| x * x).sum::<f64>());
    let start = Component::isotropic(&vec![0.0; d], 2.0).unwrap();
    let refused = |outcome: Result<(), BoostError>, points: usize, name: &str| match outcome {
        Err(BoostError::Core(Error::Setting { name: found, value, .. })) => {
            assert_eq!((found, value), (name, points as f64));
        }
        other => panic!("{other:?}"),
    };
    let boost = |settings: BoostSettings| Boost::new(&target, &start, &settings, &mut rng(1)).map(|_| ());
    let with = |points, polish| BoostSettings { points: Some(points), polish, ..small() };
    let low_rank = |points| BoostSettings { family: Family::LowRank { rank: 3 }, ..with(points, 0) };
    refused(boost(with(78, 0)), 78, "points");
    refused(boost(low_rank(90)), 90, "points");
    refused(boost(with(80, 78)), 78, "polish");
    boost(with(80, 0)).unwrap();
    boost(low_rank(92)).unwrap();
    let q =
        GaussianMixture::single(Component::low_rank(&vec![0.0; d], &vec![1.0; d], Mat::zeros(d, 3).as_ref()).unwrap());
    let from = Boost::from_mixture(&target, q, &start, &with(90, 0), &mut rng(1)).map(|_| ());
    refused(from, 90, "points");
    let fit = |points| {
        let settings = GaussianSettings { points, evaluations: 5, tolerance: 1e-3, ..GaussianSettings::default() };
        gaussian::fit(&target, &start, &settings, &mut rng(1)).map(|_| ())
    };
    refused(fit(78), 78, "points");
    fit(80).unwrap();
}

#[test]
fn dimensions_and_settings_are_checked() {
    let target = Of(2, |theta: &[f64]| -0.5 * theta.iter().map(|x| x * x).sum::<f64>());
    let wrong = Component::isotropic(&[0.0], 1.0).unwrap();
    assert!(matches!(
        Boost::new(&target, &wrong, &small(), &mut rng(1)),
        Err(BoostError::Core(Error::Dimension { .. }))
    ));
    assert!(Printed::new(&target, wrong.clone(), &PrintedSettings::default()).is_err());
    assert!(gaussian::fit(&target, &wrong, &GaussianSettings::default(), &mut rng(1)).is_err());
    let good = BoostSettings::default;
    for bad in [
        BoostSettings { components: 0, ..good() },
        BoostSettings { points: Some(15), ..good() },
        BoostSettings { most_points: Some(17), ..good() },
        BoostSettings { starts: 0, ..good() },
        BoostSettings { family: Family::LowRank { rank: 0 }, ..good() },
        BoostSettings { evaluations: 0, ..good() },
        BoostSettings { refit_evaluations: 0, ..good() },
        BoostSettings { polish: 3, ..good() },
        BoostSettings { prune: 1.0, ..good() },
        BoostSettings { improvement: f64::NAN, ..good() },
        BoostSettings { patience: 0, ..good() },
        BoostSettings { gap: Some(-1.0), ..good() },
    ] {
        let start = Component::isotropic(&[0.0; 2], 1.0).unwrap();
        assert!(bad.check().is_err() && Boost::new(&target, &start, &bad, &mut rng(1)).is_err(), "{bad:?}");
    }
    assert!(PrintedSettings { samples: 1, ..PrintedSettings::default() }.check().is_err());
    assert!(PrintedSettings { step: 0.0, ..PrintedSettings::default() }.check().is_err());
    assert!(GaussianSettings { evaluations: 0, ..GaussianSettings::default() }.check().is_err());
}

#[test]
fn an_error_leaves_the_run_as_it_was() {
    use std::cell::Cell;
    // A target that turns to NaN after the first step.
    let broken = Cell::new(false);
    let target = Of(1, |theta: &[f64]| if broken.get() { f64::NAN } else { -0.5 * theta[0] * theta[0] });
    let start = Component::isotropic(&[0.0], 3.0).unwrap();
    let mut boost = Boost::new(&target, &start, &small(), &mut rng(1)).unwrap();
    boost.step().unwrap();
    let before = boost.mixture().unwrap().log_density(&[0.3]).unwrap().to_bits();
    broken.set(true);
    // No candidate has a finite gain: a step that changes nothing, or an error.
    if let Ok(info) = boost.step() {
        assert!(info.alpha == 0.0 && info.components == 1);
    }
    assert_eq!(boost.mixture().unwrap().log_density(&[0.3]).unwrap().to_bits(), before);
    let mut printed =
        Printed::new(&target, start, &PrintedSettings { samples: 100, ..PrintedSettings::default() }).unwrap();
    let before = printed.mixture().log_density(&[0.3]).unwrap().to_bits();
    let _ = printed.step(&mut rng(1));
    assert_eq!(printed.mixture().log_density(&[0.3]).unwrap().to_bits(), before);
}
