//! The batch variational optimum: exact where it can be, stationary and unique everywhere.

use vi_core::batch::{BatchSettings, Statistics, optimum, optimum_of};
use vi_core::{
    Belief, BernoulliLogit, DenseGaussian, Error, Exact, Explicit, GaussianExpectation, GaussianLikelihood,
    GlmPosterior, Implicit, Linearised, ProbitApproximation, QuadraticBound, Stop, filter,
};
use vi_linalg::faer::{MatRef, Par};

use crate::common::{LOGIT, condition, difference, prior, problem, rng, rows, view};

#[test]
fn linear_optimum_is_the_exact_posterior_and_its_bound_the_evidence() {
    let (d, n) = (4, 30);
    let mut rng = rng(61);
    let start = prior(d, 1.0, &mut rng);
    let (inputs, y) = (rows(n, d, &mut rng), rows(n, 1, &mut rng));
    let linear = GaussianLikelihood::new(0.5).unwrap();
    let (best, info) =
        optimum(&start, &start, view(&inputs, d), &y, &linear, &BatchSettings::default(), Par::Seq).unwrap();
    let mut kalman = start.clone();
    let mut evidence = 0.0;
    filter::run(&mut kalman, &Explicit(linear), view(&inputs, d), &y, |t, _, step| {
        evidence += linear.log_predictive(y[t], step.projection.mean, step.projection.variance);
    })
    .unwrap();
    let tolerance = 8.0 * n as f64 * f64::EPSILON * condition(&start) * condition(&kalman);
    assert!(difference(&best, &kalman) < tolerance);
    assert!((info.bound() - evidence).abs() < tolerance * evidence.abs());
    assert_eq!((info.stop, info.halvings), (Stop::Converged, 0));
}

#[test]
fn optimum_is_stationary_monotone_and_independent_of_the_start() {
    let d = 5;
    let (start, inputs, y) = problem(60, d, 5.0, 62);
    let x = view(&inputs, d);
    let tight = BatchSettings { tolerance: 1e-11, max_passes: 300 };
    let (best, info) = optimum(&start, &start, x, &y, &LOGIT, &tight, Par::Seq).unwrap();
    assert_eq!(info.stop, Stop::Converged);
    for pair in info.bounds.windows(2) {
        assert!(pair[1] >= pair[0] - 1e-12 * pair[0].abs(), "{pair:?}");
    }
    // Λ = Λ₀ + XᵀHX and Λ₀(μ−μ₀) = Xᵀg, entry by entry.
    let (l0, l) = (start.cholesky().unwrap().inverse(), best.cholesky().unwrap().inverse());
    let sites: Vec<(f64, f64)> = inputs
        .chunks(d)
        .zip(&y)
        .map(|(row, label)| {
            let seen = best.predict(row).unwrap();
            LOGIT.expected_slope_curvature(*label, seen.mean, seen.variance)
        })
        .collect();
    for i in 0..d {
        let pull: f64 = (0..d).map(|j| l0[(i, j)] * (best.mean()[j] - start.mean()[j])).sum();
        let push: f64 = sites.iter().zip(inputs.chunks(d)).map(|(s, row)| s.0 * row[i]).sum();
        assert!((pull - push).abs() < 1e-9 * (1.0 + pull.abs()));
        for j in 0..d {
            let h: f64 = sites.iter().zip(inputs.chunks(d)).map(|(s, row)| s.1 * row[i] * row[j]).sum();
            let scale = (l[(i, i)] * l[(j, j)]).sqrt();
            assert!((l[(i, j)] - l0[(i, j)] - h).abs() < 1e-9 * scale);
        }
    }
    let elsewhere = DenseGaussian::isotropic(&[3.0, -2.0, 1.0, 0.0, 4.0], 0.1).unwrap();
    let (other, _) = optimum(&start, &elsewhere, x, &y, &LOGIT, &tight, Par::Seq).unwrap();
    assert!(difference(&other, &best) < 1e-8);
}

#[test]
fn no_filter_and_no_neighbour_is_nearer_to_the_posterior() {
    let d = 3;
    let (start, inputs, y) = problem(40, d, 4.0, 63);
    let x = view(&inputs, d);
    let (best, info) = optimum(&start, &start, x, &y, &LOGIT, &BatchSettings::default(), Par::Seq).unwrap();
    let posterior = GlmPosterior::new(&start, x, &y, LOGIT).unwrap();
    let least = posterior.kl(&best, Par::Seq).unwrap();
    assert!((least + info.bound()).abs() < 1e-10 * least.abs(), "the bound is minus the KL at Z = 1");
    let rules: [Box<dyn vi_core::SiteRule>; 4] = [
        Box::new(Implicit(BernoulliLogit(ProbitApproximation))),
        Box::new(Explicit(LOGIT)),
        Box::new(Linearised::extended_kalman(LOGIT)),
        Box::new(QuadraticBound::Optimal),
    ];
    for rule in rules {
        let mut belief = start.clone();
        filter::run(&mut belief, &rule.as_ref(), x, &y, |_, _, _| {}).unwrap();
        assert!(posterior.kl(&belief, Par::Seq).unwrap() > least);
    }
    for i in 0..d {
        for nudge in [-1e-3, 1e-3] {
            let mut mean = best.mean().to_vec();
            mean[i] += nudge;
            let moved = DenseGaussian::new(&mean, best.covariance().as_ref()).unwrap();
            assert!(posterior.kl(&moved, Par::Seq).unwrap() > least);
        }
    }
}

#[test]
fn shards_reach_the_same_optimum() {
    let d = 6;
    let (start, inputs, y) = problem(70, d, 3.0, 64);
    let settings = BatchSettings::default();
    let (whole, _) = optimum(&start, &start, view(&inputs, d), &y, &LOGIT, &settings, Par::Seq).unwrap();
    for shards in [1, 2, 7] {
        let size = y.len().div_ceil(shards);
        let (merged, info) = optimum_of(&start, &start, &settings, |q| {
            let mut sum = Statistics::zero(d);
            for (rows, labels) in inputs.chunks(size * d).zip(y.chunks(size)) {
                sum.add(&Statistics::at(q, view(rows, d), labels, &LOGIT, Par::Seq)?)?;
            }
            assert_eq!(sum.rows, y.len());
            Ok(sum)
        })
        .unwrap();
        assert_eq!(info.stop, Stop::Converged);
        assert!(difference(&merged, &whole) < 1e-9, "{shards} shards");
    }
}

#[test]
fn the_bound_is_below_the_evidence() {
    // One dimension: the evidence by a fine trapezoid rule.
    let start = DenseGaussian::isotropic(&[0.3], 2.0).unwrap();
    let x = [1.0, -0.5, 2.0, 0.7];
    let y = [1.0, 0.0, 1.0, 0.0];
    let exact = BernoulliLogit(Exact);
    let view = MatRef::from_row_major_slice(&x, 4, 1);
    let (_, info) = optimum(&start, &start, view, &y, &exact, &BatchSettings::default(), Par::Seq).unwrap();
    let posterior = GlmPosterior::new(&start, view, &y, exact).unwrap();
    let step = 0.01;
    let evidence: f64 =
        (-4000..=4000).map(|i| step * posterior.log_joint(&[0.3 + step * f64::from(i)]).unwrap().exp()).sum();
    let gap = evidence.ln() - info.bound();
    assert!(gap > 0.0 && gap < 0.05, "{gap}");
}

#[test]
fn statistics_of_another_dimension_are_refused() {
    let (start, _, _) = problem(5, 3, 1.0, 66);
    let answer = optimum_of(&start, &start, &BatchSettings::default(), |_| Ok(Statistics::zero(2)));
    assert!(matches!(answer, Err(Error::Dimension { expected: 3, found: 2, .. })));
    let mut torn = Statistics::zero(3);
    torn.information = vi_linalg::faer::Mat::zeros(1, 1);
    assert!(matches!(Statistics::zero(3).add(&torn), Err(Error::Dimension { .. })));
}

#[test]
fn bad_input_and_exhaustion_are_told() {
    let d = 3;
    let (start, inputs, y) = problem(20, d, 3.0, 65);
    let go = |x: MatRef<'_, f64>, y: &[f64], settings: &BatchSettings| {
        optimum(&start, &start, x, y, &LOGIT, settings, Par::Seq)
    };
    let settings = &BatchSettings::default();
    let mut bad = inputs.clone();
    bad[7] = f64::NAN;
    assert!(matches!(go(view(&bad, d), &y, settings), Err(Error::Row { row: 2, .. })));
    assert!(matches!(go(view(&inputs, d), &y[1..], settings), Err(Error::Dimension { argument: "y", .. })));
    assert!(matches!(go(MatRef::from_row_major_slice(&[], 0, d), &[], settings), Err(Error::Empty { .. })));
    let mut wrong = y.clone();
    wrong[5] = 0.5;
    assert!(matches!(go(view(&inputs, d), &wrong, settings), Err(Error::Row { row: 5, .. })));
    let (_, info) = go(view(&inputs, d), &y, &BatchSettings { tolerance: 1e-9, max_passes: 2 }).unwrap();
    assert_eq!((info.stop, info.passes), (Stop::Iterations, 2));
    assert!(matches!(BatchSettings { tolerance: -1.0, max_passes: 3 }.check(), Err(Error::Setting { .. })));
    assert!(matches!(BatchSettings { tolerance: 1e-3, max_passes: 0 }.check(), Err(Error::Setting { .. })));
}
