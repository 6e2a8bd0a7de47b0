//! Softmax regression: against the logistic at two classes, three ways on simulated data, at the edges.

use rand::RngExt;
use vi_core::batch::BatchSettings;
use vi_core::{
    Belief, BernoulliLogit, DenseGaussian, Error, Exact, MirrorProx, MomentMatching, SiteRule, Stop, Weighted, filter,
};
use vi_linalg::faer::{Mat, Par, mat};
use vi_models::ModelError;
use vi_models::metrics::gaussian_psis_of;
use vi_models::softmax::{Softmax, SoftmaxRefineSettings, SoftmaxRows, SoftmaxScratch};

use crate::common::{difference, inputs, normal, rng};

/// Weights of classes 1 and 2 and data drawn with them.
fn three_classes(n: usize, seed: u64) -> (Mat<f64>, Vec<f64>) {
    let mut rng = rng(seed);
    let x = inputs(n, 3, &mut rng);
    let y = (0..n).map(|t| draw(&logits(&x, t), &mut rng)).collect();
    (x, y)
}

const THETA: [[f64; 3]; 2] = [[0.3, 1.0, -0.5], [-0.4, -0.7, 0.8]];

fn logits(x: &Mat<f64>, t: usize) -> Vec<f64> {
    std::iter::once(0.0).chain(THETA.iter().map(|w| (0..3).map(|j| w[j] * x[(t, j)]).sum())).collect()
}

fn draw(logits: &[f64], rng: &mut rand_chacha::ChaCha8Rng) -> f64 {
    let total: f64 = logits.iter().map(|eta| eta.exp()).sum();
    let mut left = total * rng.random::<f64>();
    for (c, eta) in logits.iter().enumerate() {
        left -= eta.exp();
        if left < 0.0 {
            return c as f64;
        }
    }
    (logits.len() - 1) as f64
}

fn one_pass<R: SiteRule>(prior: &DenseGaussian, rule: &R, x: &Mat<f64>, y: &[f64]) -> DenseGaussian {
    let mut belief = prior.clone();
    filter::run(&mut belief, rule, x.as_ref(), y, |_, _, _| {}).unwrap();
    belief
}

#[test]
fn two_classes_are_the_logistic() {
    let mut rng = rng(3);
    let x = inputs(60, 3, &mut rng);
    let y: Vec<f64> = (0..60).map(|t| f64::from(u8::from(x[(t, 1)] + normal(&mut rng) > 0.0))).collect();
    let prior = DenseGaussian::isotropic(&[0.1, 0.0, -0.2], 2.0).unwrap();
    let logit = BernoulliLogit(Exact);
    let model = Softmax::new(2).unwrap();
    let rows = SoftmaxRows::new(x.as_ref(), &y);
    let halves = MirrorProx(Weighted::new(logit, 0.5).unwrap());
    for (rows, expected) in [
        (rows, one_pass(&prior, &MomentMatching(logit), &x, &y)),
        (rows.with_weights(&[0.5; 60]), one_pass(&prior, &halves, &x, &y)),
    ] {
        let mut belief = prior.clone();
        let evidence = model.run(&mut belief, rows, Par::Seq, |_, _, _| {}).unwrap();
        // The mixture's 2e-8 in curvatures, over 60 steps.
        assert!(difference(&belief, &expected) < 60.0 * 1e-7, "{}", difference(&belief, &expected));
        assert!(evidence < 0.0);
    }
}

#[test]
fn one_pass_refined_and_optimum_agree_and_find_the_truth() {
    let (x, y) = three_classes(250, 8);
    let model = Softmax::new(3).unwrap();
    let prior = model.prior(3, 1.0).unwrap();
    let rows = SoftmaxRows::new(x.as_ref(), &y);
    let (best, info) = model.optimum(&prior, &prior, rows, &BatchSettings::default(), Par::Seq).unwrap();
    assert!(matches!(info.stop, Stop::Converged | Stop::Improvement), "{info:?}");
    let bound = |q: &DenseGaussian| model.bound(&prior, q, rows).unwrap();
    let mut fit = model.first_pass(&prior, rows, Par::Seq).unwrap();
    assert!(bound(&fit.belief) > bound(&best) - 0.3, "{} {}", bound(&fit.belief), bound(&best));
    let settings = SoftmaxRefineSettings::default();
    let info = model.refine(&prior, &mut fit, rows, &settings, Par::Seq).unwrap();
    assert_eq!((info.stop, info.undone, fit.rows()), (Stop::Converged, 0, 250), "{info:?}");
    // The nodes' own error: curvatures are not exactly derivatives of the bound.
    assert!((bound(&fit.belief) - bound(&best)).abs() < 1e-4);
    assert!(difference(&fit.belief, &best) < 0.02, "{}", difference(&fit.belief, &best));
    let covariance = best.covariance();
    for (i, truth) in THETA.iter().flatten().enumerate() {
        let off = (best.mean()[i] - truth) / covariance[(i, i)].sqrt();
        assert!(off.abs() < 4.5, "θ[{i}] is {off} standard deviations off");
    }
}

/// Weights of standard deviation 4, so that logits are some 10 wide: a bound that its derivatives do not belong to would be halved for.
#[test]
fn the_search_for_the_optimum_of_wide_logits_is_not_halved_to_its_end() {
    let mut rng = rng(5);
    let (n, d) = (60, 6);
    let x = inputs(n, d, &mut rng);
    let theta: Vec<f64> = (0..2 * d).map(|_| 4.0 * normal(&mut rng)).collect();
    let logit = |t: usize, c: usize| (0..d).map(|j| theta[c * d + j] * x[(t, j)]).sum::<f64>();
    let y: Vec<f64> = (0..n).map(|t| draw(&[0.0, logit(t, 0), logit(t, 1)], &mut rng)).collect();
    let model = Softmax::new(3).unwrap();
    let prior = model.prior(d, 4.0).unwrap();
    let rows = SoftmaxRows::new(x.as_ref(), &y);
    // Curvatures are good to 2e-8, of sums over rows whose own are as small as 0.1.
    let settings = BatchSettings { tolerance: 1e-6, max_passes: 200 };
    let (_, info) = model.optimum(&prior, &prior, rows, &settings, Par::Seq).unwrap();
    assert_eq!(info.stop, Stop::Converged, "{info:?}");
    assert!(info.halvings < 10, "{info:?}");
}

#[test]
fn counts_weights_and_offsets_say_what_repetition_says() {
    let model = Softmax::new(3).unwrap();
    let prior = model.prior(2, 1.5).unwrap();
    let x = mat![[1.0, 0.5], [1.0, -2.0]];
    let run = |rows: SoftmaxRows<'_>| {
        let mut belief = prior.clone();
        model.run(&mut belief, rows, Par::Seq, |_, _, _| {}).unwrap();
        belief
    };
    // A multinomial of one trial is a class; weight 2 is counts doubled.
    let classes = run(SoftmaxRows::new(x.as_ref(), &[2.0, 0.0]));
    let one_trial = mat![[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]];
    assert!(difference(&run(SoftmaxRows::of_counts(x.as_ref(), one_trial.as_ref())), &classes) < 1e-12);
    let counts = mat![[1.0, 0.0, 2.0], [3.0, 1.0, 0.0]];
    let doubled = Mat::from_fn(2, 3, |i, j| 2.0 * counts[(i, j)]);
    let weights = [2.0, 2.0];
    let weighted = run(SoftmaxRows::of_counts(x.as_ref(), counts.as_ref()).with_weights(&weights));
    assert!(difference(&run(SoftmaxRows::of_counts(x.as_ref(), doubled.as_ref())), &weighted) < 1e-12);
    // Weight 0 leaves a row out, to the bit.
    let zero = [0.0, 1.0];
    let mut only = prior.clone();
    let second = x.as_ref().subrows(1, 1);
    model.run(&mut only, SoftmaxRows::new(second, &[0.0]), Par::Seq, |_, _, _| {}).unwrap();
    assert_eq!(run(SoftmaxRows::new(x.as_ref(), &[2.0, 0.0]).with_weights(&zero)).mean(), only.mean());

    // An offset is a shift of the prior's mean that the belief does not know of.
    let (x, y) = three_classes(40, 4);
    let offsets = Mat::from_fn(40, 2, |t, i| x[(t, 0)] * [0.7, -0.4][i] + 0.3 * x[(t, 2)]);
    let prior = model.prior(3, 1.0).unwrap();
    let shift = [0.7, 0.0, 0.3, -0.4, 0.0, 0.3];
    let shifted = DenseGaussian::new(&shift, prior.covariance().as_ref()).unwrap();
    let rows = SoftmaxRows::new(x.as_ref(), &y);
    let with_offsets = rows.with_offsets(offsets.as_ref());
    let mut fit = model.first_pass(&prior, with_offsets, Par::Seq).unwrap();
    let mut expected = model.first_pass(&shifted, rows, Par::Seq).unwrap();
    let settings = SoftmaxRefineSettings::default();
    for pass in 0..2 {
        for i in 0..6 {
            assert!((fit.belief.mean()[i] + shift[i] - expected.belief.mean()[i]).abs() < 1e-7, "{pass}, {i}");
        }
        model.refine(&prior, &mut fit, with_offsets, &settings, Par::Seq).unwrap();
        model.refine(&shifted, &mut expected, rows, &settings, Par::Seq).unwrap();
    }
    let predicted = model.predict_rows(&fit.belief, x.as_ref(), Some(offsets.as_ref())).unwrap();
    let plain = model.predict_rows(&expected.belief, x.as_ref(), None).unwrap();
    assert!((predicted[7].probabilities[1] - plain[7].probabilities[1]).abs() < 1e-7);
}

#[test]
fn the_names_of_the_classes_do_not_matter() {
    let (x, y) = three_classes(80, 21);
    let swapped: Vec<f64> = y.iter().map(|y| (y + 2.0) % 3.0).collect();
    let model = Softmax::new(3).unwrap();
    let prior = model.prior(3, 1.0).unwrap();
    let predict = |y: &[f64]| {
        let mut belief = prior.clone();
        model.run(&mut belief, SoftmaxRows::new(x.as_ref(), y), Par::Seq, |_, _, _| {}).unwrap();
        model.predict(&belief, &[1.0, 0.3, -0.8]).unwrap().probabilities
    };
    let (plain, permuted) = (predict(&y), predict(&swapped));
    for c in 0..3 {
        // Which logit is given is not the same: 1e-8 of each of 80 rows.
        assert!((plain[c] - permuted[(c + 2) % 3]).abs() < 80.0 * 1e-8, "{plain:?} {permuted:?}");
    }
}

/// The position of a class among 0, 1, 2.
fn class(y: f64) -> usize {
    [0.0, 1.0, 2.0].iter().position(|c| *c == y).unwrap()
}

#[test]
fn looping_is_the_pass_and_predictions_are_what_happens() {
    let (x, y) = three_classes(600, 13);
    let model = Softmax::new(3).unwrap();
    let prior = model.prior(3, 1.5).unwrap();
    let (mut looped, mut passed) = (prior.clone(), prior.clone());
    let mut scratch = SoftmaxScratch::new(&model, 3);
    let mut sum = 0.0;
    for t in 0..600 {
        let row: Vec<f64> = x.row(t).iter().copied().collect();
        let predicted = model.predict(&looped, &row).unwrap();
        let step = model.step(&mut looped, &row, y[t], &mut scratch, Par::Seq).unwrap();
        // Along another difference of two logits: each average is good to 1e-8.
        let probability = predicted.probabilities[class(y[t])];
        assert!((probability.ln() - step.log_predictive).abs() < 2e-8 / probability);
        sum += step.log_predictive;
    }
    let total = model.run(&mut passed, SoftmaxRows::new(x.as_ref(), &y), Par::Seq, |_, _, _| {}).unwrap();
    assert_eq!(looped.mean(), passed.mean());
    assert!((sum - total).abs() < 1e-10);
    // Better than the frequencies of the classes.
    let frequencies: f64 = (0..3)
        .map(|c| {
            let count = y.iter().filter(|y| **y == f64::from(c)).count() as f64;
            count * (count / 600.0).ln()
        })
        .sum();
    assert!(total > frequencies + 50.0, "{total} {frequencies}");

    let predicted = model.predict(&passed, &[1.0, 1.5, -1.0]).unwrap();
    assert_eq!(predicted.most_probable(), 1);
    assert_eq!(predicted.set(0.999).unwrap().len(), 3);
    assert_eq!(predicted.set(0.3).unwrap(), [1]);
    let (mut rng, draws) = (rng(1), 4000);
    let hits = (0..draws).filter(|_| predicted.draw(&mut rng) == 1).count();
    let p = predicted.probabilities[1];
    assert!((hits as f64 / f64::from(draws) - p).abs() < 6.0 * (p * (1.0 - p) / f64::from(draws)).sqrt());
    assert!(predicted.variances.iter().all(|v| *v > 0.0 && *v < 0.01));
}

#[test]
fn importance_sampling_of_the_true_posterior_trusts_the_optimum() {
    let (x, y) = three_classes(120, 17);
    let model = Softmax::new(3).unwrap();
    let prior = model.prior(3, 1.0).unwrap();
    let rows = SoftmaxRows::new(x.as_ref(), &y);
    let (q, _) = model.optimum(&prior, &prior, rows, &BatchSettings::default(), Par::Seq).unwrap();
    let mut rng = rng(2);
    let log_joint = |theta: &[f64]| model.log_joint(&prior, rows, theta);
    let found = gaussian_psis_of(&q, 4000, &mut rng, log_joint).unwrap();
    assert!(found.is_reliable(), "{}", found.k_hat);
    // log p(y) by importance sampling, at least the bound and by little: the ratios' mean.
    let cholesky = q.cholesky().unwrap();
    let mut theta = vec![0.0; 6];
    let draws = 4000;
    let logs: Vec<f64> = (0..draws)
        .map(|_| {
            q.draw_with(&cholesky, &mut theta, &mut rng).unwrap();
            model.log_joint(&prior, rows, &theta).unwrap() - q.log_density(&theta).unwrap()
        })
        .collect();
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let evidence = largest + (logs.iter().map(|log| (log - largest).exp()).sum::<f64>() / f64::from(draws)).ln();
    let bound = model.bound(&prior, &q, rows).unwrap();
    assert!(evidence > bound - 0.01 && evidence < bound + 0.3, "{evidence} {bound}");
    assert!(model.log_joint(&prior, rows, &theta[..5]).is_err());
}

#[test]
fn edges_work() {
    let model = Softmax::new(4).unwrap();
    // Separable, collinear columns, fewer rows than weights, a row of zeros, a vague prior.
    let x = mat![[1.0, 1.0, -3.0], [1.0, 1.0, 3.0], [0.0, 0.0, 0.0], [1.0, 1.0, 30.0], [1.0, 1.0, -30.0]];
    let y = [0.0, 1.0, 2.0, 3.0, 0.0];
    let prior = model.prior(3, 100.0).unwrap();
    let rows = SoftmaxRows::new(x.as_ref(), &y);
    let mut fit = model.first_pass(&prior, rows, Par::Seq).unwrap();
    assert!(fit.belief.cholesky().is_ok());
    assert!(model.predict(&fit.belief, &[1.0, 1.0, -20.0]).unwrap().probabilities[0] > 0.5);
    let zero = model.predict(&fit.belief, &[0.0; 3]).unwrap().probabilities;
    assert!(zero.iter().all(|p| (p - 0.25).abs() < 1e-12));
    let info = model.refine(&prior, &mut fit, rows, &SoftmaxRefineSettings::default(), Par::Seq).unwrap();
    assert!(info.bounds.last() >= info.bounds.first(), "{info:?}");
    // Many classes.
    let model = Softmax::new(30).unwrap();
    let mut belief = model.prior(2, 1.0).unwrap();
    let mut scratch = SoftmaxScratch::new(&model, 2);
    model.step(&mut belief, &[1.0, 0.5], 29.0, &mut scratch, Par::Seq).unwrap();
    assert_eq!(model.predict(&belief, &[1.0, 0.5]).unwrap().most_probable(), 29);
}

#[test]
fn bad_input_is_named_and_changes_nothing() {
    let core = |error: ModelError| match error {
        ModelError::Core(error) => error,
        other => unreachable!("{other}"),
    };
    assert!(matches!(core(Softmax::new(1).unwrap_err()), Error::Setting { name: "classes", .. }));
    let model = Softmax::new(3).unwrap();
    assert!(matches!(core(model.clone().with_nodes(3).unwrap_err()), Error::Setting { name: "nodes", .. }));
    assert!(model.prior(0, 1.0).is_err() && model.prior(2, 0.0).is_err());
    let prior = model.prior(2, 1.0).unwrap();
    let mut belief = prior.clone();
    let mut scratch = SoftmaxScratch::new(&model, 2);
    let mut step = |x: &[f64], y: f64| core(model.step(&mut belief, x, y, &mut scratch, Par::Seq).unwrap_err());
    assert!(matches!(step(&[1.0, 0.0], 3.0), Error::Label { label: 3.0, .. }));
    assert!(matches!(step(&[1.0, 0.0], 0.5), Error::Label { label: 0.5, .. }));
    assert!(matches!(step(&[1.0, 0.0], -1.0), Error::Label { .. }));
    assert!(matches!(step(&[1.0, 0.0], f64::NAN), Error::NonFinite { .. }));
    assert!(matches!(step(&[1.0, f64::INFINITY], 1.0), Error::NonFinite { argument: "x", index: 1, .. }));
    assert!(matches!(step(&[1.0], 1.0), Error::Dimension { .. }));
    assert!(matches!(step(&[1e200, 1e200], 1.0), Error::Overflow { .. }));

    let x = mat![[1.0, 0.5], [1.0, -0.5]];
    let mut run = |rows: SoftmaxRows<'_>| core(model.run(&mut belief, rows, Par::Seq, |_, _, _| {}).unwrap_err());
    assert!(matches!(run(SoftmaxRows::new(x.as_ref(), &[1.0, 7.0])), Error::Row { row: 1, .. }));
    assert!(matches!(run(SoftmaxRows::new(x.as_ref(), &[1.0])), Error::Dimension { argument: "y", .. }));
    assert!(matches!(run(SoftmaxRows::new(x.as_ref().subrows(0, 0), &[])), Error::Empty { .. }));
    let rows = SoftmaxRows::new(x.as_ref(), &[1.0, 0.0]);
    assert!(matches!(run(rows.with_weights(&[1.0, -1.0])), Error::Row { row: 1, .. }));
    assert!(matches!(run(rows.with_offsets(mat![[0.0, 0.0]].as_ref())), Error::Dimension { .. }));
    let bad = mat![[0.0, 0.0], [f64::NAN, 0.0]];
    assert!(matches!(run(rows.with_offsets(bad.as_ref())), Error::Row { row: 1, .. }));
    let counts = mat![[1.0, 0.0, 2.0], [0.0, -1.0, 0.0]];
    assert!(matches!(run(SoftmaxRows::of_counts(x.as_ref(), counts.as_ref())), Error::Row { row: 1, .. }));
    assert_eq!(belief.mean(), prior.mean());
    assert_eq!(belief.covariance(), prior.covariance());
    assert!(model.predict(&belief, &[1.0]).is_err());
}
