//! The low-rank belief as state: bytes, shards, draws, sites of either sign, bad input.

use vi_core::{
    AdaptiveFading, Belief, Checkpoint, CheckpointError, DenseGaussian, Error, Explicit, Forget, Forgetting,
    GaussianBelief, GaussianLikelihood, LowRankGaussian, LowRankSettings, MeanMoves, PerRow, ShardPosterior, Site,
    filter, merge,
};
use vi_linalg::faer::{Mat, Par};

use crate::common::{IMPLICIT, Made, SparseTable, bytes, difference, fails_at, labels, rng, rows, view};

fn settings(rank: usize, block: usize) -> LowRankSettings {
    LowRankSettings::blocked(rank).unwrap().with_block(block).unwrap()
}

fn prior(d: usize, settings: LowRankSettings) -> LowRankGaussian {
    let variances: Vec<f64> = (0..d).map(|i| 1.0 / (1.0 + 0.2 * i as f64)).collect();
    LowRankGaussian::new(&vec![0.1; d], &variances, settings).unwrap()
}

fn dense(belief: &LowRankGaussian) -> DenseGaussian {
    belief.to_dense().unwrap()
}

/// A belief with rows that wait, of either kind, and data to go on with.
fn half_way(settings: LowRankSettings, sparse: bool) -> LowRankGaussian {
    let (d, n) = (9, 13);
    let mut rng = rng(1);
    let (x, y) = (rows(n, d, &mut rng), labels(n, &mut rng));
    let mut belief = prior(d, settings);
    for t in 0..n {
        if sparse {
            let indices = [t % 4, 4 + t % 5];
            belief.step(&IMPLICIT, (&indices, &x[2 * t..2 * t + 2]), y[t], Par::Seq).unwrap();
        } else {
            belief.step(&IMPLICIT, &x[d * t..d * (t + 1)], y[t], Par::Seq).unwrap();
        }
    }
    belief
}

#[test]
fn going_on_after_reading_is_never_having_stopped() {
    let forms = [
        settings(3, 5),
        settings(0, 4),
        settings(2, 64),
        LowRankSettings::one_loop(2).unwrap(),
        LowRankSettings::recursive(2, 2, MeanMoves::AfterProjection).unwrap(),
    ];
    for form in forms {
        for sparse in [false, true] {
            let mut belief = half_way(form, sparse);
            let written = bytes(&belief);
            let mut again = LowRankGaussian::read_from(&mut written.as_slice()).unwrap();
            assert_eq!(bytes(&again), written);
            assert_eq!(again.waiting(), belief.waiting());
            let mut rng = rng(2);
            let (x, y) = (rows(8, 9, &mut rng), labels(8, &mut rng));
            for both in [&mut belief, &mut again] {
                both.run(&IMPLICIT, view(&x, 9), &y, Par::Seq, |_, _, _| {}).unwrap();
                both.fade(0.9).unwrap();
            }
            assert_eq!(again.mean(), belief.mean());
            assert_eq!(bytes(&again), bytes(&belief), "{form:?}");
        }
    }
}

/// Exact for linear models where the rank holds all, whatever waits in each shard, with a factor in the prior and without.
#[test]
fn shards_of_a_linear_model_merge_to_the_single_run() {
    let (d, n) = (6, 24);
    let mut rng = rng(3);
    let (x, y) = (rows(n, d, &mut rng), rows(1, n, &mut rng));
    let x = view(&x, d);
    let rule = Explicit(GaussianLikelihood::new(0.5).unwrap());
    let w = Mat::from_fn(d, 8, |i, j| if j < 2 { ((i + 3 * j) as f64).cos() } else { 0.0 });
    let with_factor =
        LowRankGaussian::from_precision(&vec![0.2; d], w.as_ref(), &vec![0.7; d], settings(8, 5)).unwrap();
    for prior in [prior(d, settings(8, 5)), with_factor] {
        let mut whole = dense(&prior);
        filter::run(&mut whole, &rule, x, &y, |_, _, _| {}).unwrap();
        let mut shards = Vec::new();
        for first in [0, 8, 16] {
            let mut part = prior.clone();
            part.run(&rule, x.subrows(first, 8), &y[first..first + 8], Par::Seq, |_, _, _| {}).unwrap();
            assert_eq!(part.waiting(), 3);
            shards.push(ShardPosterior::new(part, &prior, "linear", &Forgetting::none()).unwrap());
        }
        let merged = merge::merge(&prior, &shards).unwrap().into_belief();
        assert_eq!(merged.waiting(), 0);
        // Some hundred roundings, condition below 1e3.
        assert!(difference(&dense(&merged), &whole) < 1e-11, "{:e}", difference(&dense(&merged), &whole));
    }
}

/// Means and covariances of draws, each entry within six standard errors.
#[test]
fn draws_have_the_beliefs_moments() {
    let belief = half_way(settings(2, 10), false);
    assert_eq!(belief.waiting(), 3);
    let n = 40_000;
    let draws = belief.draws(n, &mut rng(4), Par::Seq).unwrap();
    let exact = dense(&belief);
    let (covariance, d) = (exact.covariance(), exact.dim());
    let mean: Vec<f64> = (0..d).map(|i| draws.row(i).iter().sum::<f64>() / n as f64).collect();
    for i in 0..d {
        assert!((mean[i] - exact.mean()[i]).abs() < 6.0 * (covariance[(i, i)] / n as f64).sqrt());
        for j in 0..=i {
            let found: f64 =
                (0..n).map(|k| (draws[(i, k)] - exact.mean()[i]) * (draws[(j, k)] - exact.mean()[j])).sum::<f64>()
                    / n as f64;
            // Var of a product of two Gaussians: P_ii·P_jj + P_ij².
            let error = ((covariance[(i, i)] * covariance[(j, j)] + covariance[(i, j)].powi(2)) / n as f64).sqrt();
            assert!((found - covariance[(i, j)]).abs() < 6.0 * error, "({i}, {j})");
        }
    }
}

/// Curvatures of either sign, as moment matching and refinement make them.
const ALTERNATING: Made = Made(|a, nu, y| {
    let curvature = if y > 0.5 { 0.7 } else { -0.4 / (1.0 + nu) };
    Ok(Site { slope: y - 0.3 * a, curvature })
});

#[test]
fn negative_curvatures_are_projected_too() {
    let (d, n) = (8, 30);
    let mut rng = rng(5);
    let (x, y) = (rows(n, d, &mut rng), labels(n, &mut rng));
    let x = view(&x, d);
    let start = |settings| prior(d, settings);
    let mut exact = dense(&start(settings(8, 5)));
    filter::run(&mut exact, &ALTERNATING, x, &y, |_, _, _| {}).unwrap();
    for inner_loops in [0, 1, 2] {
        // A precision below Ψ has no exact form Ψ + WWᵀ without its diagonal: compare while rows wait, and the diagonal after.
        let mut belief = start(settings(3, 30).with_inner_loops(inner_loops).unwrap());
        belief.run(&ALTERNATING, x.subrows(0, 29), &y[..29], Par::Seq, |_, _, _| {}).unwrap();
        let before = belief.precision_lower(Par::Seq);
        let (mean, waiting) = (belief.mean().to_vec(), belief.waiting());
        assert_eq!(waiting, 29);
        belief.flush(Par::Seq).unwrap();
        for i in 0..d {
            assert!((belief.mean()[i] - mean[i]).abs() < 1e-12);
            assert!(belief.precision().psi()[i] > 0.0);
            if inner_loops == 0 {
                assert!((belief.precision().diagonal()[i] / before[(i, i)] - 1.0).abs() < 1e-12);
            }
        }
        let mut whole = start(settings(3, 64).with_inner_loops(inner_loops).unwrap());
        whole.run(&ALTERNATING, x, &y, Par::Seq, |_, _, _| {}).unwrap();
        assert!(difference(&dense(&whole), &exact) < 1e-11);
    }
    // Waiting rows of negative curvature have no square root: what needs one says so.
    let mut belief = start(settings(3, 30));
    let (row, zero) = (vec![0.3; d], 0.0);
    belief.step(&ALTERNATING, &row, zero, Par::Seq).unwrap();
    assert!(matches!(belief.draws(1, &mut rng, Par::Seq), Err(Error::ImproperSite { .. })));
    belief.flush(Par::Seq).unwrap();
    belief.draws(1, &mut rng, Par::Seq).unwrap();

    let mut one_loop = start(LowRankSettings::one_loop(3).unwrap());
    one_loop.run(&ALTERNATING, x, &y, Par::Seq, |_, _, _| {}).unwrap();
    assert!(one_loop.precision().psi().iter().all(|psi| *psi > 0.0));
}

/// A site that takes all but a little of the precision along `x`.
const VANISHING: Made = Made(|_, nu, y| Ok(Site { slope: 0.0, curvature: -y / nu }));

/// Runs `action` on a belief that has rows waiting, expects an error, and the bytes unchanged.
fn refused(
    form: LowRankSettings,
    action: impl FnOnce(&mut LowRankGaussian) -> Result<(), Error>,
    expected: impl FnOnce(&Error) -> bool,
) {
    let mut belief = half_way(form, false);
    let before = bytes(&belief);
    let mean = belief.mean().to_vec();
    let error = action(&mut belief).expect_err("bad input was accepted");
    assert!(expected(&error), "{error:?}");
    assert_eq!(bytes(&belief), before);
    assert_eq!(belief.mean(), mean);
}

#[test]
fn bad_rows_and_labels_are_refused() {
    let (good, short) = (vec![0.2; 9], vec![0.2; 8]);
    let mut holed = good.clone();
    holed[4] = f64::NAN;
    let huge = vec![1e200; 9];
    let large = vec![1e90; 9];
    let linear = Explicit(GaussianLikelihood::new(1.0).unwrap());
    // The next row is the last of its block in the first form.
    for form in [settings(2, 14), settings(2, 5), LowRankSettings::one_loop(2).unwrap()] {
        let step = |x: &[f64], y: f64| {
            let x = x.to_vec();
            move |b: &mut LowRankGaussian| b.step(&IMPLICIT, &x, y, Par::Seq).map(drop)
        };
        refused(form, step(&short, 1.0), |e| matches!(e, Error::Dimension { argument: "x", expected: 9, found: 8 }));
        refused(form, step(&holed, 1.0), |e| matches!(e, Error::NonFinite { argument: "x", index: 4, .. }));
        refused(form, step(&good, 2.0), |e| matches!(e, Error::Label { .. }));
        refused(form, step(&huge, 1.0), |e| matches!(e, Error::Overflow { .. }));
        let large = large.clone();
        refused(
            form,
            move |b| b.step(&linear, &large, 1.0, Par::Seq).map(drop),
            |e| matches!(e, Error::Overflow { .. }),
        );
        refused(
            form,
            |b| b.step(&VANISHING, &good, 2.0, Par::Seq).map(drop),
            |e| matches!(e, Error::ImproperSite { .. }),
        );
        let two = Mat::from_fn(2, 9, |t, i| if (t, i) == (1, 3) { f64::INFINITY } else { 0.1 });
        refused(
            form,
            |b| b.run(&IMPLICIT, two.as_ref(), &[1.0, 0.0], Par::Seq, |_, _, _| {}),
            |e| matches!(e, Error::Row { row: 1, source } if matches!(**source, Error::NonFinite { index: 3, .. })),
        );
        refused(
            form,
            |b| b.add_information(Mat::<f64>::zeros(0, 9).as_ref(), Par::Seq),
            |e| matches!(e, Error::Empty { argument: "x" }),
        );
        refused(
            form,
            |b| b.step(&IMPLICIT, (&[1, 9], &[1.0, 1.0]), 1.0, Par::Seq).map(drop),
            |e| matches!(e, Error::Entry { argument: "positions", index: 1, .. }),
        );
        refused(
            form,
            |b| b.step(&IMPLICIT, (&[3, 3], &[1.0, 1.0]), 1.0, Par::Seq).map(drop),
            |e| matches!(e, Error::Entry { argument: "positions", index: 1, .. }),
        );
        refused(form, |b| b.shift_mean(&holed), |e| matches!(e, Error::NonFinite { argument: "change", index: 4, .. }));
        refused(form, |b| b.diffuse(&good), |e| matches!(e, Error::Unsupported { .. }));
        refused(form, |b| b.fade(1e-310), |e| matches!(e, Error::NonFinite { argument: "variance", .. }));
    }
    // More rows than there is room for.
    let many = Mat::from_fn(6, 9, |_, _| 0.1);
    refused(
        settings(2, 14),
        |b| b.step_block(&IMPLICIT, many.as_ref(), &[1.0; 6], Par::Seq).map(drop),
        |e| matches!(e, Error::Dimension { argument: "rows of x", expected: 1, found: 6 }),
    );
}

/// One pass is the loop to the bit: rows of no, one and several entries, after rows that wait, with a rule for each row.
#[test]
fn a_sparse_pass_is_its_steps() {
    let n = 23;
    let mut rng = rng(8);
    let (values, y) = (rows(n, 3, &mut rng), labels(n, &mut rng));
    let indices: Vec<[usize; 3]> = (0..n).map(|t| [t % 3, 3 + t % 2, 5 + t % 4]).collect();
    let x: Vec<(&[usize], &[f64])> = (0..n).map(|t| (&indices[t][..t % 4], &values[3 * t..3 * t + t % 4])).collect();
    let table = SparseTable::new(x.iter().copied());
    let rules: Vec<_> = (0..n).map(|t| Explicit(GaussianLikelihood::new(0.5 + t as f64).unwrap())).collect();
    let forms = [
        settings(2, 5),
        settings(2, 1),
        settings(3, 64),
        settings(0, 4),
        LowRankSettings::one_loop(2).unwrap(),
        LowRankSettings::recursive(2, 2, MeanMoves::BeforeProjection).unwrap(),
    ];
    for form in forms {
        for sparse in [false, true] {
            let start = half_way(form, sparse);
            let [mut pass, mut loops] = [start.clone(), start.clone()];
            let mut seen = Vec::new();
            pass.run(&IMPLICIT, table.rows(), &y, Par::Seq, |t, b, steps| seen.push((t, b.waiting(), steps.to_vec())))
                .unwrap();
            for t in 0..n {
                let info = loops.step(&IMPLICIT, (x[t].0, x[t].1), y[t], Par::Seq).unwrap();
                assert_eq!(seen[t], (t, loops.waiting(), vec![info]));
            }
            assert_eq!(seen.len(), n);
            assert_eq!(bytes(&pass), bytes(&loops), "{form:?}");
            assert_eq!(pass.mean(), loops.mean());

            let [mut pass, mut loops] = [start.clone(), start];
            pass.run(&PerRow(&rules), table.rows(), &y, Par::Seq, |_, _, _| {}).unwrap();
            for t in 0..n {
                loops.step(&rules[t], (x[t].0, x[t].1), y[t], Par::Seq).unwrap();
            }
            assert_eq!(bytes(&pass), bytes(&loops), "{form:?}");
        }
    }
}

/// What is wrong in a late row is found before the first update, and what fails there leaves nothing of the rows before.
#[test]
fn a_sparse_pass_that_fails_leaves_the_belief_alone() {
    let good: (&[usize], &[f64]) = (&[2, 5], &[0.4, -1.0]);
    let beyond: (&[usize], &[f64]) = (&[2, 9], &[1.0, 1.0]);
    let holed: (&[usize], &[f64]) = (&[2], &[f64::NAN]);
    let pass = |x: &[(&'static [usize], &'static [f64])], y: Vec<f64>| {
        let table = SparseTable::new(x.iter().copied());
        move |b: &mut LowRankGaussian| {
            b.run(&IMPLICIT, table.rows(), &y, Par::Seq, |_, _, _| panic!("updated before checked"))
        }
    };
    for form in [settings(2, 64), settings(2, 15), settings(2, 2), LowRankSettings::one_loop(2).unwrap()] {
        refused(form, pass(&[], vec![]), |e| matches!(e, Error::Empty { argument: "x" }));
        refused(form, pass(&[good; 3], vec![1.0; 2]), |e| {
            matches!(e, Error::Dimension { argument: "y", expected: 3, found: 2 })
        });
        refused(form, pass(&[good, good, beyond], vec![1.0; 3]), |e| {
            matches!(e, Error::Row { row: 2, source }
                if matches!(**source, Error::Entry { argument: "positions", index: 1, value: 9.0, .. }))
        });
        refused(form, pass(&[good, holed, good], vec![1.0; 3]), |e| {
            matches!(e, Error::Row { row: 1, source }
                if matches!(**source, Error::NonFinite { argument: "values", index: 0, .. }))
        });
        refused(
            form,
            pass(&[good; 3], vec![1.0, 0.0, 0.5]),
            |e| matches!(e, Error::Row { row: 2, source } if matches!(**source, Error::Label { label: 0.5, .. })),
        );
        let rules = [IMPLICIT; 2];
        refused(
            form,
            |b| b.run(&PerRow(&rules), SparseTable::new([good; 3]).rows(), &[1.0; 3], Par::Seq, |_, _, _| {}),
            |e| matches!(e, Error::Dimension { argument: "rules", expected: 3, found: 2 }),
        );
        refused(
            form,
            |b| {
                let table = SparseTable::new([good; 4]);
                b.run(&fails_at(2), table.rows(), &[0.0; 4], Par::Seq, |_, _, _| {})
            },
            |e| matches!(e, Error::Row { row: 2, source } if matches!(**source, Error::ImproperSite { .. })),
        );
    }
}

#[test]
fn a_rule_that_fails_leaves_the_belief_alone() {
    let x = rows(4, 9, &mut rng(6));
    for form in [settings(2, 64), settings(2, 15), LowRankSettings::one_loop(2).unwrap()] {
        refused(
            form,
            |b| b.run(&fails_at(2), view(&x, 9), &[0.0; 4], Par::Seq, |_, _, _| {}),
            |e| matches!(e, Error::Row { row: 2, .. }),
        );
    }
    refused(
        settings(2, 64),
        |b| b.step_block(&fails_at(2), view(&x, 9), &[0.0; 4], Par::Seq).map(drop),
        |e| matches!(e, Error::Row { row: 2, .. }),
    );
}

/// The printed recursion subtracts: where that leaves nothing of `ψ` the error names the coordinate. The one-loop form, in which
/// `ψ` only grows, goes on.
#[test]
fn a_vanishing_psi_is_named_by_the_recursion_and_avoided_by_the_others() {
    let d = 3;
    let w = Mat::from_fn(d, 1, |i, _| if i == 1 { 1e9 } else { 0.0 });
    let start =
        |settings| LowRankGaussian::from_precision(&vec![0.0; d], w.as_ref(), &vec![1e-9; d], settings).unwrap();
    let x = [0.0, 1.0, 0.0];
    let rule = Explicit(GaussianLikelihood::new(1.0).unwrap());
    let mut printed = start(LowRankSettings::recursive(1, 3, MeanMoves::BeforeProjection).unwrap());
    let before = bytes(&printed);
    let error = printed.step(&rule, &x, 1.0, Par::Seq).unwrap_err();
    assert!(matches!(error, Error::NotPositiveDefinite { argument: "psi after the EM step", pivot: 1 }), "{error:?}");
    assert_eq!(bytes(&printed), before);
    for (settings, blocked) in [(LowRankSettings::one_loop(1).unwrap(), false), (settings(1, 1), true)] {
        let mut ours = start(settings);
        ours.step(&rule, &x, 1.0, Par::Seq).unwrap();
        assert!(ours.precision().psi().iter().all(|psi| *psi >= 0.5e-9));
        // What the rounding of 1e18 leaves of ψ is lifted, and said so.
        assert_eq!(ours.counts().lifted > 0, blocked);
    }
}

#[test]
fn settings_without_meaning_in_a_form_are_refused() {
    let one_loop = LowRankSettings::one_loop(2).unwrap();
    let printed = LowRankSettings::recursive(2, 3, MeanMoves::AfterProjection).unwrap();
    for form in [one_loop, printed] {
        assert!(matches!(form.with_block(5), Err(Error::Setting { name: "block", value: 5.0, .. })));
    }
    assert!(matches!(one_loop.with_inner_loops(2), Err(Error::Setting { name: "inner_loops", value: 2.0, .. })));
    assert!(matches!(printed.with_inner_loops(0), Err(Error::Setting { name: "inner_loops", value: 0.0, .. })));
    assert_eq!(
        printed.with_inner_loops(2).unwrap(),
        LowRankSettings::recursive(2, 2, MeanMoves::AfterProjection).unwrap()
    );
    // Rows that are not projected wait, whatever the form was.
    for form in [one_loop, printed] {
        let more = prior(4, form).with_information(Mat::<f64>::identity(4, 4).as_ref(), Par::Seq).unwrap();
        assert_eq!(more.waiting(), 4);
    }
}

#[test]
fn impossible_beliefs_and_settings_are_refused() {
    let form = settings(1, 4);
    let new = |mean: &[f64], variances: &[f64]| LowRankGaussian::new(mean, variances, form).map(drop).unwrap_err();
    assert!(matches!(new(&[], &[]), Error::Empty { argument: "mean" }));
    assert!(matches!(new(&[0.0], &[1.0, 1.0]), Error::Dimension { argument: "variances", .. }));
    assert!(matches!(new(&[0.0, 0.0], &[1.0, 0.0]), Error::NotPositiveDefinite { pivot: 1, .. }));
    assert!(matches!(new(&[0.0, 0.0], &[1.0, f64::NAN]), Error::NonFinite { index: 1, .. }));
    assert!(matches!(new(&[f64::INFINITY], &[1.0]), Error::NonFinite { argument: "mean", .. }));
    let from = |w: &Mat<f64>, psi: &[f64]| LowRankGaussian::from_precision(&[0.0; 2], w.as_ref(), psi, form).map(drop);
    let w = Mat::<f64>::zeros(2, 1);
    assert!(from(&w, &[1.0, 1.0]).is_ok());
    assert!(matches!(from(&Mat::zeros(2, 2), &[1.0; 2]), Err(Error::Dimension { argument: "columns of w", .. })));
    assert!(matches!(from(&Mat::zeros(3, 1), &[1.0; 2]), Err(Error::Linalg(_))));
    assert!(matches!(from(&w, &[1.0, 0.0]), Err(Error::Linalg(_))));
    let small = |epsilon| LowRankGaussian::with_small_factor(&[0.0], &[1.0], epsilon, form, &mut rng(1)).map(drop);
    assert!(matches!(small(1.0), Err(Error::Setting { name: "epsilon", .. })));
    assert!(matches!(LowRankSettings::blocked(20_000), Err(Error::Setting { name: "rank", .. })));
    assert!(matches!(form.with_block(0), Err(Error::Setting { name: "block", .. })));
    assert!(matches!(
        LowRankSettings::recursive(1, 0, MeanMoves::AfterProjection),
        Err(Error::Setting { name: "inner_loops", .. })
    ));
    assert!(matches!(AdaptiveFading::new(0.5, 1.0), Err(Error::Setting { name: "memory", .. })));
    assert!(matches!(AdaptiveFading::new(5.0, f64::NAN), Err(Error::Setting { name: "largest", .. })));
    let other: Result<LowRankGaussian, Error> = LowRankGaussian::read_from(&mut b"nothing".as_slice());
    assert!(matches!(other, Err(Error::Checkpoint(CheckpointError::Truncated { .. }))));
}

/// While predictions are as good as the belief says next to nothing fades, as seldom as chance has it; after a jump all that
/// may, and the belief follows sooner.
#[test]
fn adaptive_fading_follows_the_prediction_error() {
    let d = 5;
    let mut rng = rng(7);
    let rule = Explicit(GaussianLikelihood::new(0.01).unwrap());
    let n = 600;
    let x = rows(n, d, &mut rng);
    let noise = rows(1, n, &mut rng);
    let mut adaptive = LowRankGaussian::isotropic(&vec![0.0; d], 1.0, settings(2, 10)).unwrap();
    let mut constant = adaptive.clone();
    let mut fading = AdaptiveFading::new(30.0, 1.0).unwrap();
    let mut calm = 0;
    for t in 0..n {
        let row = &x[d * t..d * (t + 1)];
        let theta = if t < 300 { 0.5 } else { -0.5 };
        let y = theta * row.iter().sum::<f64>() + 0.1 * noise[t];
        fading.apply(&mut adaptive).unwrap();
        fading.observe(&adaptive.step(&rule, row, y, Par::Seq).unwrap());
        constant.step(&rule, row, y, Par::Seq).unwrap();
        if t > 100 && t < 300 {
            calm += usize::from(fading.eta() == 0.0);
        }
        if t == 310 {
            assert_eq!(fading.eta(), 1.0);
        }
    }
    // Two factors explain some coordinates of five whole.
    let (psi, diagonal) = (constant.precision().psi(), constant.precision().diagonal());
    assert!(psi.iter().zip(&diagonal).all(|(psi, whole)| *psi > 0.9e-6 * whole));
    let error = |belief: &LowRankGaussian| belief.mean().iter().map(|m| (m + 0.5).abs()).fold(0.0, f64::max);
    assert!(error(&adaptive) < 0.1 && error(&constant) > 0.3, "{} {}", error(&adaptive), error(&constant));
    assert!(calm > 150, "{calm} of 199");
    // λ and η say the same.
    assert!((fading.lambda() * (1.0 + fading.eta()) - 1.0).abs() < 1e-15);
}

/// Shards of eight rows that lie in `span` directions of `d`, merged, beside a dense run over all rows.
fn merged_and_whole(d: usize, span: usize, rank: usize, shards: usize) -> (DenseGaussian, DenseGaussian) {
    let mut rng = rng(5);
    let n = 8 * shards;
    let directions = rows(span, d, &mut rng);
    let inside = rows(n, span, &mut rng);
    let x: Vec<f64> = inside
        .chunks(span)
        .flat_map(|row| {
            let directions = &directions;
            (0..d).map(move |j| row.iter().enumerate().map(|(k, a)| a * directions[k * d + j]).sum::<f64>())
        })
        .collect();
    let (x, y) = (view(&x, d), rows(1, n, &mut rng));
    let rule = Explicit(GaussianLikelihood::new(0.5).unwrap());
    let prior = LowRankGaussian::isotropic(&vec![0.1; d], 1.0, settings(rank, 5)).unwrap();
    let parts: Vec<_> = (0..shards)
        .map(|k| {
            let mut part = prior.clone();
            part.run(&rule, x.subrows(8 * k, 8), &y[8 * k..8 * k + 8], Par::Seq, |_, _, _| {}).unwrap();
            ShardPosterior::new(part, &prior, "linear", &Forgetting::none()).unwrap()
        })
        .collect();
    let merged = merge::merge(&prior, &parts).unwrap().into_belief();
    assert_eq!(merged.waiting(), 0);
    let mut whole = dense(&prior);
    filter::run(&mut whole, &rule, x, &y, |_, _, _| {}).unwrap();
    (dense(&merged), whole)
}

/// More columns than dimensions are gathered as one matrix; in many dimensions they are projected group by group. Both are exact
/// where the rank holds all that the rows say.
#[test]
fn many_shards_merge_to_the_single_run() {
    for (d, span, rank, shards) in [(4, 4, 4, 300), (300, 3, 3, 60)] {
        let (merged, whole) = merged_and_whole(d, span, rank, shards);
        // Precisions grow to 8·shards·d/σ²; a projection rounds relative to them, and there is one for each 256 columns.
        let tolerance = 100.0 * f64::EPSILON * (16 * shards * d) as f64;
        assert!(difference(&merged, &whole) < tolerance, "{d}: {:e} {tolerance:e}", difference(&merged, &whole));
    }
}

/// The record of `belief` with another number at byte `place` of its payload, its checksum right.
fn tampered(belief: &LowRankGaussian, place: usize, value: u64) -> Result<LowRankGaussian, Error> {
    let mut framed = bytes(belief);
    let place = 8 + 4 + 24 + 8 + place;
    framed[place..place + 8].copy_from_slice(&value.to_le_bytes());
    let end = framed.len() - 8;
    let crc = crc::Crc::<u64>::new(&crc::CRC_64_XZ).checksum(&framed[..end]);
    framed[end..].copy_from_slice(&crc.to_le_bytes());
    LowRankGaussian::read_from(&mut framed.as_slice())
}

/// Numbers that would cost for ever, or overflow when the next thing is counted.
#[test]
fn counts_that_could_not_be_worked_with_are_refused() {
    let belief = half_way(settings(2, 5), false);
    let (d, p) = (9, 2);
    // The scheme is a tag of 4 bytes and two numbers; rank, mean, ψ, W and WᵀΨ⁻¹W follow, each with its length before it.
    let (inner_loops, projections) = (4 + 8, 4 + 16 + 8 + (8 + 8 * d) * 2 + (8 + 8 * d * p) + (8 + 4 * p * (p + 1)));
    assert_eq!(tampered(&belief, inner_loops, 7).unwrap().settings().inner_loops(), 7);
    assert_eq!(tampered(&belief, projections, 7).unwrap().counts().projections, 7);
    for (place, value, name) in [
        (inner_loops, 1 << 32, "inner_loops"),
        (inner_loops, 1001, "inner_loops"),
        (projections, u64::MAX, "projections"),
        (projections, 1 << 53, "projections"),
    ] {
        match tampered(&belief, place, value).unwrap_err() {
            Error::Checkpoint(CheckpointError::Contents(what)) => {
                assert!(matches!(*what, Error::Setting { name: found, .. } if found == name), "{what:?}");
            }
            other => panic!("{other:?}"),
        }
    }
}
