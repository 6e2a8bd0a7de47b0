//! Refinement: linear models need none, logistic ones reach the batch optimum.

use vi_core::batch::{BatchSettings, optimum};
use vi_core::block::BlockSettings;
use vi_core::implicit::ImplicitRoot;
use vi_core::refine::{RefineSettings, first_pass, leave_one_out, refine};
use vi_core::{
    Error, Expected, Explicit, GaussianExpectation, GaussianLikelihood, Implicit, Likelihood, Linearised, Sites, Stop,
    filter,
};
use vi_linalg::faer::Par;

use crate::common::{LOGIT, condition, difference, problem, view};

#[test]
fn linear_models_are_done_after_one_pass() {
    let d = 4;
    let (start, inputs, y) = problem(25, d, 1.0, 71);
    let linear = GaussianLikelihood::new(0.4).unwrap();
    let mut refined = first_pass(&start, &Explicit(linear), view(&inputs, d), &y, Par::Seq).unwrap();
    let before = refined.belief.clone();
    let info =
        refine(&start, &mut refined, view(&inputs, d), &y, &linear, &RefineSettings::default(), Par::Seq).unwrap();
    assert_eq!((info.stop, info.sweeps), (Stop::Converged, 1));
    assert!(difference(&refined.belief, &before) < 1e3 * f64::EPSILON * condition(&start) * condition(&before));
    for (r, label) in refined.sites.slopes().iter().zip(&y) {
        assert!((r - label / 0.4).abs() < 1e-11);
    }
}

#[test]
fn sweeps_reach_the_batch_optimum_from_any_first_pass() {
    let d = 5;
    let (start, inputs, y) = problem(80, d, 6.0, 72);
    let x = view(&inputs, d);
    let (best, batch) = optimum(&start, &start, x, &y, &LOGIT, &BatchSettings::default(), Par::Seq).unwrap();
    let passes = [
        first_pass(&start, &Implicit(LOGIT), x, &y, Par::Seq).unwrap(),
        first_pass(&start, &Linearised::extended_kalman(LOGIT), x, &y, Par::Seq).unwrap(),
    ];
    for mut refined in passes {
        let settings =
            RefineSettings { tolerance: 1e-11, max_sweeps: 100, block: Some(BlockSettings::new(7).unwrap()) };
        let info = refine(&start, &mut refined, x, &y, &LOGIT, &settings, Par::Seq).unwrap();
        assert_eq!(info.stop, Stop::Converged);
        for pair in info.bounds.windows(2) {
            assert!(pair[1] >= pair[0] - 1e-12 * pair[0].abs());
        }
        let gap = batch.bound() - info.bounds[info.bounds.len() - 1];
        assert!(gap.abs() < 1e-9, "{gap:e}");
        // A gap of g nats is a distance of √(2g) standard deviations.
        assert!(difference(&refined.belief, &best) < 1e-4);
    }
}

#[test]
fn the_block_size_does_not_move_the_fixed_point() {
    let d = 3;
    let (start, inputs, y) = problem(30, d, 3.0, 73);
    let x = view(&inputs, d);
    let settle = |b: usize| {
        let mut refined = first_pass(&start, &Implicit(LOGIT), x, &y, Par::Seq).unwrap();
        let settings =
            RefineSettings { tolerance: 1e-13, max_sweeps: 100, block: Some(BlockSettings::new(b).unwrap()) };
        refine(&start, &mut refined, x, &y, &LOGIT, &settings, Par::Seq).unwrap();
        refined.belief
    };
    assert!(difference(&settle(1), &settle(30)) < 1e-6);
}

#[test]
fn leave_one_out_is_the_posterior_without_the_row() {
    let d = 3;
    let (start, inputs, y) = problem(20, d, 1.0, 74);
    let linear = GaussianLikelihood::new(0.4).unwrap();
    let without = |row: usize| {
        let mut xs = inputs.clone();
        let mut ys = y.clone();
        xs.drain(row * d..(row + 1) * d);
        ys.remove(row);
        (xs, ys)
    };
    // Exact for a linear model.
    let refined = first_pass(&start, &Explicit(linear), view(&inputs, d), &y, Par::Seq).unwrap();
    let left = leave_one_out(&refined, view(&inputs, d), &y, &linear).unwrap();
    for row in 0..y.len() {
        let (xs, ys) = without(row);
        let mut belief = start.clone();
        filter::run(&mut belief, &Explicit(linear), view(&xs, d), &ys, |_, _, _| {}).unwrap();
        let seen = filter::step(
            &mut belief,
            &Explicit(linear),
            &inputs[row * d..(row + 1) * d],
            y[row],
            &mut filter::Scratch::default(),
        )
        .unwrap()
        .projection;
        let truth = linear.log_predictive(y[row], seen.mean, seen.variance);
        assert!((left[row].unwrap() - truth).abs() < 1e-10, "row {row}");
    }
    // Close for a logistic one: the other sites do not know that the row is gone.
    let mut refined = first_pass(&start, &Implicit(LOGIT), view(&inputs, d), &y, Par::Seq).unwrap();
    refine(&start, &mut refined, view(&inputs, d), &y, &LOGIT, &RefineSettings::default(), Par::Seq).unwrap();
    let left = leave_one_out(&refined, view(&inputs, d), &y, &LOGIT).unwrap();
    for row in [0, 7, 19] {
        let (xs, ys) = without(row);
        let (belief, _) =
            optimum(&start, &start, view(&xs, d), &ys, &LOGIT, &BatchSettings::default(), Par::Seq).unwrap();
        let mut belief = belief;
        let seen = filter::step(
            &mut belief,
            &Implicit(LOGIT),
            &inputs[row * d..(row + 1) * d],
            y[row],
            &mut filter::Scratch::default(),
        )
        .unwrap()
        .projection;
        let truth = LOGIT.log_predictive(y[row], seen.mean, seen.variance);
        assert!((left[row].unwrap() - truth).abs() < 0.05, "row {row}");
    }
}

/// A logit whose implicit step overshoots wildly, so that sweeps lose the bound.
#[derive(Clone)]
struct Overshooting;

impl Likelihood for Overshooting {
    fn family(&self) -> &'static str {
        "overshooting"
    }
    fn supports(&self, label: f64) -> bool {
        LOGIT.supports(label)
    }
    fn log_density(&self, y: f64, t: f64) -> f64 {
        LOGIT.log_density(y, t)
    }
    fn slope(&self, y: f64, t: f64) -> f64 {
        LOGIT.slope(y, t)
    }
    fn curvature(&self, y: f64, t: f64) -> f64 {
        LOGIT.curvature(y, t)
    }
    fn fisher_information(&self, t: f64) -> f64 {
        LOGIT.fisher_information(t)
    }
}

impl GaussianExpectation for Overshooting {
    fn expected(&self, y: f64, a: f64, nu: f64) -> Expected {
        LOGIT.expected(y, a, nu)
    }
    fn log_predictive(&self, y: f64, a: f64, nu: f64) -> f64 {
        LOGIT.log_predictive(y, a, nu)
    }
    fn implicit_root(&self, y: f64, a: f64, nu: f64) -> Result<ImplicitRoot, Error> {
        let root = LOGIT.implicit_root(y, a, nu)?;
        Ok(ImplicitRoot { curvature: 40.0 * root.curvature, gain: -3.0 * root.gain, ..root })
    }
}

#[test]
fn sweeps_that_lose_the_bound_are_undone_and_the_batch_optimiser_finishes() {
    let d = 3;
    let (start, inputs, y) = problem(30, d, 2.0, 75);
    let x = view(&inputs, d);
    let mut refined = first_pass(&start, &Implicit(LOGIT), x, &y, Par::Seq).unwrap();
    let info = refine(&start, &mut refined, x, &y, &Overshooting, &RefineSettings::default(), Par::Seq).unwrap();
    assert!(info.stop == Stop::Converged && info.batch_passes > 0, "{info:?}");
    assert!(info.undone >= 3);
    let (best, batch) = optimum(&start, &start, x, &y, &LOGIT, &BatchSettings::default(), Par::Seq).unwrap();
    assert!((batch.bound() - info.bounds[info.bounds.len() - 1]).abs() < 1e-9);
    assert!(difference(&refined.belief, &best) < 1e-6);
    // The sites it leaves make the belief again: another refinement has nothing to do.
    let again = refine(&start, &mut refined, x, &y, &LOGIT, &RefineSettings::default(), Par::Seq).unwrap();
    assert_eq!((again.stop, again.sweeps), (Stop::Converged, 1));
}

#[test]
fn sites_without_a_cavity_are_skipped_and_counted() {
    let d = 2;
    let (start, inputs, y) = problem(10, d, 1.0, 76);
    let x = view(&inputs, d);
    let mut refined = first_pass(&start, &Implicit(LOGIT), x, &y, Par::Seq).unwrap();
    let mut curvatures = refined.sites.curvatures().to_vec();
    curvatures[4] = 1e6; // more than the whole posterior's precision along x
    refined.sites = Sites::new(refined.sites.slopes().to_vec(), curvatures).unwrap();
    let info = refine(
        &start,
        &mut refined,
        x,
        &y,
        &LOGIT,
        &RefineSettings { tolerance: 1e-9, max_sweeps: 1, ..RefineSettings::default() },
        Par::Seq,
    )
    .unwrap();
    assert!(info.skipped > 0);
    assert!(leave_one_out(&refined, x, &y, &LOGIT).unwrap().len() == 10);
}

#[test]
fn mismatched_parts_are_refused_and_nothing_changes() {
    let d = 3;
    let (start, inputs, y) = problem(12, d, 1.0, 77);
    let x = view(&inputs, d);
    let mut refined = first_pass(&start, &Implicit(LOGIT), x, &y, Par::Seq).unwrap();
    let before = refined.clone();
    let settings = RefineSettings::default();
    let fewer = refine(&start, &mut refined, view(&inputs[d..], d), &y[1..], &LOGIT, &settings, Par::Seq);
    assert!(matches!(fewer, Err(Error::Dimension { argument: "sites", expected: 11, found: 12 })));
    let mut wrong = y.clone();
    wrong[3] = 9.0;
    let mislabelled = refine(&start, &mut refined, x, &wrong, &LOGIT, &settings, Par::Seq);
    assert!(matches!(mislabelled, Err(Error::Row { row: 3, .. })));
    assert_eq!(refined.sites, before.sites);
    assert_eq!(refined.belief.covariance(), before.belief.covariance());
    assert!(matches!(Sites::new(vec![0.0], vec![]), Err(Error::Dimension { .. })));
    assert!(matches!(Sites::new(vec![f64::NAN], vec![0.0]), Err(Error::NonFinite { argument: "slopes", .. })));
    assert!(matches!(
        RefineSettings { tolerance: 0.0, max_sweeps: 1, ..RefineSettings::default() }.check(),
        Err(Error::Setting { .. })
    ));
}
