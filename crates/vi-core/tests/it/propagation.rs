//! Expectation propagation: exact where it must be, near the posterior where nothing Gaussian is exact.

use vi_core::refine::{RefineInfo, RefineSettings, Refinement, expectation_propagation, first_pass, refine};
use vi_core::{
    Belief, BernoulliLogit, DenseGaussian, Error, Exact, Explicit, GaussianExpectation, GaussianLikelihood, Implicit,
    Likelihood, MomentMatching, Stop, filter,
};
use vi_linalg::faer::{MatRef, Par, mat};

use crate::common::{condition, difference, labels, prior, rng, rows, view};

const LOGIT: BernoulliLogit<Exact> = BernoulliLogit(Exact);

/// Sweeps until normalisers move by 1e-11 nats in sum.
fn tight() -> RefineSettings {
    RefineSettings { tolerance: 1e-11, max_sweeps: 200, block: None }
}

fn propagated<L: GaussianExpectation + Copy>(
    start: &DenseGaussian,
    x: MatRef<'_, f64>,
    y: &[f64],
    likelihood: L,
) -> (Refinement, RefineInfo) {
    let mut found = first_pass(start, &MomentMatching(likelihood), x, y, Par::Seq).unwrap();
    let info = expectation_propagation(start, &mut found, x, y, &likelihood, &tight(), Par::Seq).unwrap();
    assert_eq!((info.stop, info.bounds.len(), info.skipped), (Stop::Converged, 1, 0));
    (found, info)
}

#[test]
fn linear_models_are_exact() {
    let (d, n) = (4, 30);
    let mut rng = rng(171);
    let (start, inputs) = (prior(d, 1.0, &mut rng), rows(n, d, &mut rng));
    let y: Vec<f64> = labels(n, &mut rng).iter().zip(&inputs).map(|(label, x)| label + 0.3 * x).collect();
    let linear = GaussianLikelihood::new(0.4).unwrap();
    let mut exact = start.clone();
    let mut log_evidence = 0.0;
    filter::run(&mut exact, &Explicit(linear), view(&inputs, d), &y, |i, _, step| {
        log_evidence += linear.log_predictive(y[i], step.projection.mean, step.projection.variance);
    })
    .unwrap();
    let (found, info) = propagated(&start, view(&inputs, d), &y, linear);
    assert_eq!(info.sweeps, 2);
    let rounding = 1e3 * f64::EPSILON * condition(&start) * condition(&exact);
    assert!(difference(&found.belief, &exact) < rounding);
    assert!((info.bounds[0] - log_evidence).abs() < n as f64 * rounding * (1.0 + log_evidence.abs()));
}

#[test]
fn rows_that_share_nothing_are_exact() {
    let start = DenseGaussian::new(&[0.4, -1.0], mat![[9.0, 0.0], [0.0, 25.0]].as_ref()).unwrap();
    let (x, y) = ([1.0, 0.0, 0.0, -2.0], [1.0, 0.0]);
    let (found, info) = propagated(&start, view(&x, 2), &y, LOGIT);
    let first = LOGIT.tilted(1.0, 0.4, 9.0).unwrap();
    let second = LOGIT.tilted(0.0, 2.0, 100.0).unwrap();
    // Sums of a few numbers, and the quadrature's 1e-12.
    let tolerance = 1e-11;
    let (mean, covariance) = (found.belief.mean(), found.belief.covariance());
    assert!((mean[0] - (0.4 + 9.0 * first.slope)).abs() < tolerance * 9.0);
    assert!((mean[1] - (-1.0 - 50.0 * second.slope)).abs() < tolerance * 50.0);
    assert!((covariance[(0, 0)] - first.variance).abs() < tolerance * 9.0);
    assert!((covariance[(1, 1)] - second.variance / 4.0).abs() < tolerance * 25.0);
    assert!(covariance[(0, 1)].abs() < tolerance);
    assert!((info.bounds[0] - first.log_normaliser - second.log_normaliser).abs() < tolerance);
}

/// Log integral, mean and variances of a density on a plane, by a trapezoid sum.
fn on_a_plane(log_density: impl Fn([f64; 2]) -> f64, end: f64) -> (f64, [f64; 2], [f64; 2]) {
    let steps = 600;
    let width = 2.0 * end / f64::from(steps);
    let mut sums = [0.0; 5];
    for i in 0..=steps {
        for j in 0..=steps {
            let [a, b] = [i, j].map(|k| width * f64::from(k) - end);
            let mass = width * width * log_density([a, b]).exp();
            sums.iter_mut().zip([1.0, a, b, a * a, b * b]).for_each(|(sum, term)| *sum += mass * term);
        }
    }
    let [z, a, b, aa, bb] = sums;
    (z.ln(), [a / z, b / z], [aa / z - (a / z).powi(2), bb / z - (b / z).powi(2)])
}

/// Separable rows under a wide prior leave a posterior with soft walls. The Gaussian with its moments is what intervals need; the nearest in
/// `KL(q‖p)` keeps away from the walls, and its bound misses nats.
#[test]
fn behind_soft_walls_it_is_nearer_to_the_posterior_than_the_best_gaussian() {
    let x = [-1.0, 0.3, 0.8, 1.2, 1.1, -0.4];
    let (y, sigma) = ([0.0, 1.0, 1.0], 10.0_f64);
    let start = DenseGaussian::isotropic(&[0.0; 2], sigma).unwrap();
    let log_joint = |[a, b]: [f64; 2]| {
        let prior = -0.5 * (a * a + b * b) / (sigma * sigma) - (std::f64::consts::TAU * sigma * sigma).ln();
        prior + x.chunks(2).zip(y).map(|(x, y)| LOGIT.log_density(y, x[0] * a + x[1] * b)).sum::<f64>()
    };
    let (log_evidence, mean, spread) = on_a_plane(log_joint, 70.0);
    let (found, info) = propagated(&start, view(&x, 2), &y, LOGIT);
    let mut best = first_pass(&start, &Implicit(LOGIT), view(&x, 2), &y, Par::Seq).unwrap();
    let settings = RefineSettings { tolerance: 1e-9, max_sweeps: 200, block: None };
    let bound = refine(&start, &mut best, view(&x, 2), &y, &LOGIT, &settings, Par::Seq).unwrap();
    let off = |belief: &DenseGaussian, log: f64| {
        let of = |j: usize| {
            let share = belief.covariance()[(j, j)] / spread[j] - 1.0;
            ((belief.mean()[j] - mean[j]).abs() / spread[j].sqrt()).max(share.abs())
        };
        (of(0).max(of(1)), (log - log_evidence).abs())
    };
    let (moments, log) = off(&found.belief, info.bounds[0]);
    let (narrow, missed) = off(&best.belief, bound.bounds[bound.bounds.len() - 1]);
    let context = format!("{moments} {log} {narrow} {missed}");
    assert!(moments < 0.2 && log < 0.1 && narrow > 0.4 && missed > 0.25, "{context}");
}

/// At a fixed point `∂ log Z/∂ log s` under the prior `N(0, s²I)` is that with the sites as they are: `−d + (tr P + ‖μ‖²)/s²`.
#[test]
fn the_log_evidence_does_not_move_with_the_sites() {
    let (d, n) = (3, 40);
    let mut rng = rng(172);
    let (inputs, y) = (rows(n, d, &mut rng), labels(n, &mut rng));
    for s in [0.3_f64, 4.0, 30.0] {
        let at = |s: f64| {
            let start = DenseGaussian::isotropic(&[0.0; 3], s).unwrap();
            propagated(&start, view(&inputs, d), &y, LOGIT)
        };
        let step = 1e-3_f64;
        let slope = (at(s * step.exp()).1.bounds[0] - at(s * (-step).exp()).1.bounds[0]) / (2.0 * step);
        let belief = at(s).0.belief;
        let trace: f64 = (0..d).map(|j| belief.covariance()[(j, j)]).sum();
        let square: f64 = belief.mean().iter().map(|mean| mean * mean).sum();
        let expected = -(d as f64) + (trace + square) / (s * s);
        // A central difference: a third derivative of order d times step².
        assert!((slope - expected).abs() < 10.0 * d as f64 * step * step, "{s}: {slope} {expected}");
    }
}

#[test]
fn neither_start_nor_order_of_the_rows_decides() {
    let (d, n) = (4, 50);
    let mut rng = rng(173);
    let (start, inputs, y) = (prior(d, 5.0, &mut rng), rows(n, d, &mut rng), labels(n, &mut rng));
    let (found, info) = propagated(&start, view(&inputs, d), &y, LOGIT);
    let mut other = first_pass(&start, &Implicit(LOGIT), view(&inputs, d), &y, Par::Seq).unwrap();
    let again = expectation_propagation(&start, &mut other, view(&inputs, d), &y, &LOGIT, &tight(), Par::Seq).unwrap();
    let backwards: Vec<f64> = inputs.chunks(d).rev().flatten().copied().collect();
    let labels: Vec<f64> = y.iter().rev().copied().collect();
    let (reversed, told) = propagated(&start, view(&backwards, d), &labels, LOGIT);
    // A sweep leaves a share of what it moved: 1e-11 nats are about its root in standard deviations at worst.
    for (belief, log_evidence) in [(&other.belief, again.bounds[0]), (&reversed.belief, told.bounds[0])] {
        assert!(difference(belief, &found.belief) < 1e-5);
        assert!((log_evidence - info.bounds[0]).abs() < 1e-9);
    }
}

#[test]
fn what_cannot_be_is_refused_and_too_few_sweeps_are_told() {
    let mut rng = rng(174);
    let (start, inputs, y) = (prior(2, 3.0, &mut rng), rows(6, 2, &mut rng), labels(6, &mut rng));
    let x = view(&inputs, 2);
    let fitted = first_pass(&start, &MomentMatching(LOGIT), x, &y, Par::Seq).unwrap();
    let run = |found: &mut Refinement, y: &[f64], settings: &RefineSettings| {
        expectation_propagation(&start, found, x, y, &LOGIT, settings, Par::Seq)
    };
    let mut found = fitted.clone();
    let one = RefineSettings { max_sweeps: 1, ..tight() };
    for error in [
        run(&mut found, &y[1..], &one),
        run(&mut found, &[0.0, 1.0, 0.5, 0.0, 0.0, 0.0], &one),
        run(&mut found, &y, &RefineSettings { max_sweeps: 0, ..one }),
        run(&mut found, &y, &RefineSettings { tolerance: f64::NAN, ..one }),
    ] {
        assert!(error.is_err());
    }
    found.sites = first_pass(&start, &MomentMatching(LOGIT), view(&inputs[2..], 2), &y[1..], Par::Seq).unwrap().sites;
    assert!(matches!(run(&mut found, &y, &one), Err(Error::Dimension { argument: "sites", .. })));
    found.sites = fitted.sites.clone();
    assert_eq!((found.belief.mean(), &found.sites), (fitted.belief.mean(), &fitted.sites));
    assert_eq!(run(&mut found, &y, &one).unwrap().stop, Stop::Iterations);
}
