//! The default algorithm.

use std::ops::ControlFlow;

use vi_boost::target::{Banana, Cauchy, Funnel};
use vi_boost::{Boost, BoostSettings, Component, Family, GaussianMixture, Info, LogDensity, Refit, Stop, divergence};

use crate::common::{four, go_on, logistic, on_a_grid, rng};
use crate::slow;

fn run<T: LogDensity>(target: &T, start: &Component, settings: &BoostSettings, seed: u64) -> (GaussianMixture, Info) {
    let mut boost = Boost::new(target, start, settings, &mut rng(seed)).unwrap();
    boost.run(go_on).unwrap();
    (boost.mixture().unwrap().clone(), *boost.last().unwrap())
}

fn settings(components: usize, points: usize, refit: Refit) -> BoostSettings {
    BoostSettings { components, points: Some(points), improvement: 1e-6, refit, ..BoostSettings::default() }
}

/// What a run says at its end is from points that nothing was chosen by, so the truth is within a few of its errors.
#[test]
fn the_last_estimates_hold_against_many_more_points() {
    let target = logistic();
    let start = Component::isotropic(&[0.0, 0.0], 4.0).unwrap();
    for seed in 1..=6 {
        let settings = BoostSettings { components: 5, points: Some(64), ..BoostSettings::default() };
        let mut boost = Boost::new(&target, &start, &settings, &mut rng(seed)).unwrap();
        let mut of_steps = f64::NAN;
        boost
            .run(|info, _| {
                of_steps = info.objective.value;
                ControlFlow::Continue(())
            })
            .unwrap();
        let info = boost.last().unwrap();
        assert_ne!(info.objective.value, of_steps);
        let exact = divergence::quasi(boost.mixture().unwrap(), &target, 4096, 8, 99).unwrap().effective;
        let error = info.objective.standard_error.hypot(exact.standard_error);
        // Student's t with three degrees of freedom: beyond 10 once in five hundred.
        assert!((info.objective.value - exact.value).abs() < 10.0 * error, "seed {seed}: {info:?} {exact:?}");
    }
}

#[test]
fn a_mixture_is_found_with_as_many_components_as_it_has() {
    let (target, start) = (four(), Component::isotropic(&[0.0], 10.0).unwrap());
    for seed in 1..=if slow() { 10 } else { 2 } {
        let (q, _) = run(&target, &start, &settings(4, 256, Refit::Each), seed);
        let kl = divergence::quasi(&q, &target, 1024, 4, 7).unwrap().effective;
        // Four components once found are found to rounding of the search: 1e-6 leaves room for its tolerance.
        assert!(kl.value.abs() < 1e-6 && q.len() == 4, "{seed}: {kl:?}");
    }
}

#[test]
fn without_a_refit_every_component_lowers_the_divergence() {
    let (target, start) = (four(), Component::isotropic(&[0.0], 10.0).unwrap());
    let mut boost = Boost::new(&target, &start, &settings(10, 256, Refit::Never), &mut rng(1)).unwrap();
    let mut objectives = Vec::new();
    boost
        .run(|info, q| {
            let known = divergence::quasi(q, &target, 512, 4, 9).unwrap().effective.value;
            objectives.push(known);
            assert!(info.components == q.len() && info.evaluations > 0 && info.tries > 0);
            assert!((q.weights().iter().sum::<f64>() - 1.0).abs() < 1e-12);
            ControlFlow::Continue(())
        })
        .unwrap();
    for pair in objectives.windows(2) {
        // On other points than the run's: a gain of nothing may look like a loss of their error.
        assert!(pair[1] < pair[0] + 1e-3, "{objectives:?}");
    }
    assert!(objectives.last().unwrap() < &0.02, "{objectives:?}");
}

#[test]
fn heavy_tails_get_wide_components() {
    let target = Cauchy::new(0.0, 2.0).unwrap();
    let start = Component::isotropic(&[0.0], 10.0).unwrap();
    let (q, info) = run(&target, &start, &settings(8, 512, Refit::Each), 1);
    let kl = info.objective.value + target.log_normaliser();
    assert!(kl < 0.002 + 2.0 * info.objective.standard_error, "{kl} {info:?}");
    let widest = q.components().iter().map(|c| c.covariance()[(0, 0)].sqrt()).fold(0.0, f64::max);
    assert!(widest > 50.0, "{widest}");
}

#[test]
fn a_skew_posterior_is_followed_and_its_evidence_known() {
    let target = logistic();
    let start = Component::isotropic(&[0.0, 0.0], 4.0).unwrap();
    let (one, _) = run(&target, &start, &settings(1, 1024, Refit::Never), 1);
    let (q, info) = run(&target, &start, &settings(3, 1024, Refit::Each), 1);
    let (log_z, best_one) = on_a_grid(|theta| target.log_density(theta), &one, 16.0);
    let (_, kl) = on_a_grid(|theta| target.log_density(theta), &q, 16.0);
    assert!(kl < 0.25 * best_one, "{kl} {best_one}");
    assert!((info.log_evidence.value - log_z).abs() < 6.0 * info.log_evidence.standard_error + 1e-3);
    assert!((info.objective.value + log_z - kl).abs() < 6.0 * info.objective.standard_error);
}

#[test]
fn bent_and_narrowing_targets() {
    let banana = Banana::new(2.0, 0.5).unwrap();
    let start = Component::isotropic(&[0.0, 0.0], 6.0).unwrap();
    let (one, _) = run(&banana, &start, &settings(1, 512, Refit::Never), 1);
    let (q, _) = run(&banana, &start, &settings(8, 512, Refit::Each), 1);
    let kl = |q: &GaussianMixture, target: &dyn LogDensity| {
        divergence::quasi(q, target, 1024, 4, 1).unwrap().effective.value
    };
    assert!(kl(&q, &banana) < 0.1 * kl(&one, &banana), "{} {}", kl(&q, &banana), kl(&one, &banana));
    let funnel = Funnel::new(3, 1.0).unwrap();
    let start = Component::isotropic(&[0.0; 3], 4.0).unwrap();
    let (one, _) = run(&funnel, &start, &settings(1, 512, Refit::Never), 1);
    let (q, _) = run(&funnel, &start, &settings(5, 512, Refit::Each), 1);
    assert!(kl(&q, &funnel) < 0.5 * kl(&one, &funnel), "{} {}", kl(&q, &funnel), kl(&one, &funnel));
}

#[test]
fn the_same_seed_gives_the_same_bits() {
    let (target, start) = (four(), Component::isotropic(&[0.0], 10.0).unwrap());
    let once = |seed| {
        let (q, info) = run(&target, &start, &settings(3, 64, Refit::Last), seed);
        (q.log_density(&[0.5]).unwrap().to_bits(), info.evaluations, info.objective.value.to_bits())
    };
    assert_eq!(once(3), once(3));
    assert_ne!(once(3).0, once(4).0);
}

#[test]
fn a_run_can_be_stopped_and_stepped_on() {
    let (target, start) = (four(), Component::isotropic(&[0.0], 10.0).unwrap());
    let mut boost = Boost::new(&target, &start, &settings(6, 128, Refit::Never), &mut rng(1)).unwrap();
    let mut seen = 0;
    let stop = boost
        .run(|_, _| {
            seen += 1;
            if seen == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
    assert_eq!((stop, seen), (Stop::Cancelled, 2));
    let q = boost.mixture().unwrap().clone();
    assert!(q.len() == 2 && q.log_density(&[0.0]).unwrap().is_finite());
    // A run that was stopped goes on where it was: the same bits as one that was not.
    boost.step().unwrap();
    let mut whole = Boost::new(&target, &start, &settings(6, 128, Refit::Never), &mut rng(1)).unwrap();
    for _ in 0..3 {
        whole.step().unwrap();
    }
    let at = |boost: &Boost<'_, GaussianMixture>| boost.mixture().unwrap().log_density(&[1.0]).unwrap().to_bits();
    assert_eq!(at(&boost), at(&whole));
}

#[test]
fn a_run_may_begin_with_a_mixture() {
    let target = logistic();
    let start = Component::isotropic(&[0.0, 0.0], 4.0).unwrap();
    let (one, info) = run(&target, &start, &settings(1, 1024, Refit::Never), 1);
    let mut boost = Boost::from_mixture(&target, one, &start, &settings(3, 1024, Refit::Never), &mut rng(2)).unwrap();
    boost.run(go_on).unwrap();
    assert_eq!(boost.mixture().unwrap().len(), 3);
    assert!(boost.last().unwrap().objective.value < info.objective.value);
}

#[test]
fn stops_are_told() {
    let target = GaussianMixture::single(Component::isotropic(&[1.0], 0.7).unwrap());
    let start = Component::isotropic(&[0.0], 10.0).unwrap();
    // One Gaussian is all there is: nothing more to gain.
    let mut boost = Boost::new(&target, &start, &settings(16, 128, Refit::Never), &mut rng(1)).unwrap();
    assert_eq!(boost.run(go_on).unwrap(), Stop::Improvement);
    assert!(boost.last().unwrap().kl() < 1e-6);
    let stops = BoostSettings { gap: Some(1e-3), ..settings(16, 128, Refit::Never) };
    let mut boost = Boost::new(&target, &start, &stops, &mut rng(1)).unwrap();
    assert_eq!(boost.run(go_on).unwrap(), Stop::Converged);
}

#[test]
fn diagonal_and_low_rank_components_boost_too() {
    let covariance = vi_linalg::faer::Mat::from_fn(4, 4, |i, j| if i == j { 1.0 } else { 0.6 });
    let part = |m: f64| Component::full(&[m; 4], covariance.as_ref()).unwrap();
    let target = GaussianMixture::new(vec![part(-3.0), part(3.0)], &[0.4, 0.6]).unwrap();
    let start = Component::isotropic(&[0.0; 4], 6.0).unwrap();
    let kl = |family| {
        let (q, _) = run(&target, &start, &BoostSettings { family, ..settings(2, 512, Refit::Each) }, 1);
        assert!(q.components().iter().all(|c| c.family() == family));
        divergence::quasi(&q, &target, 512, 4, 1).unwrap().effective.value
    };
    // The correlation is one direction beside a diagonal: rank one holds it, a diagonal does not.
    let (diagonal, low_rank) = (kl(Family::Diagonal), kl(Family::LowRank { rank: 1 }));
    assert!(low_rank < 1e-3 && diagonal > 0.1, "{low_rank} {diagonal}");
}

/// A box of half-width 0.1, in which the density has no curvature to tell its size.
struct Hole;

impl LogDensity for Hole {
    fn dim(&self) -> usize {
        1
    }

    fn log_density(&self, theta: &[f64]) -> f64 {
        if theta[0].abs() < 0.1 { 0.0 } else { f64::NEG_INFINITY }
    }
}

#[test]
fn a_target_far_smaller_than_the_start_has_candidates() {
    let start = Component::isotropic(&[0.0], 10.0).unwrap();
    for seed in 1..=8 {
        let (q, info) = run(&Hole, &start, &settings(1, 256, Refit::Never), seed);
        assert!(
            q.mean()[0].abs() < 0.1 && q.covariance().unwrap()[(0, 0)] < 0.01 && info.rejected > 0,
            "seed {seed}: {info:?}"
        );
    }
}

#[test]
fn too_few_points_are_told_or_doubled() {
    let target = Funnel::new(4, 1.5).unwrap();
    let start = Component::isotropic(&[0.0; 4], 3.0).unwrap();
    let settings = BoostSettings { components: 12, points: Some(16), ..BoostSettings::default() };
    for seed in 1..=if slow() { 8 } else { 4 } {
        let run = |settings: &BoostSettings| {
            let mut boost = Boost::new(&target, &start, settings, &mut rng(seed)).unwrap();
            let stop = boost.run(go_on).unwrap();
            (stop, divergence::quasi(boost.mixture().unwrap(), &target, 2048, 4, 7).unwrap().effective.value)
        };
        // Sixteen points cannot tell the use of twelve components: they stall, or promise what is not there.
        let (stop, few) = run(&settings);
        assert!(stop == Stop::Points && few > 0.02, "seed {seed}: {stop:?} {few}");
        // As many components, on points that are doubled when these are too few.
        let (stop, more) = run(&BoostSettings { most_points: Some(1024), ..settings.clone() });
        assert!(stop != Stop::Points && more < 0.5 * few, "seed {seed}: {stop:?} {few} {more}");
    }
}

#[test]
fn a_run_that_stalled_and_was_mended_by_its_refit_had_points_enough() {
    let target = Funnel::new(4, 1.5).unwrap();
    let start = Component::isotropic(&[0.0; 4], 3.0).unwrap();
    // Before the refit 0.03 nats are left and more components gain nothing; after it, 0.002.
    let settings = BoostSettings { components: 40, points: Some(512), ..BoostSettings::default() };
    let mut boost = Boost::new(&target, &start, &settings, &mut rng(3)).unwrap();
    let stop = boost.run(go_on).unwrap();
    assert!(boost.last().unwrap().kl() < 0.02 && stop != Stop::Points, "{stop:?} {:?}", boost.last());
}
