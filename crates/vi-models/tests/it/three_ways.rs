//! Every likelihood through one pass, its blocked form, refinement and the batch optimum, with what a row may bring.

use rand_distr::{Binomial as BinomialDraw, Distribution, Gamma, Poisson as PoissonDraw};
use vi_core::block::{self, BlockScratch, BlockSettings};
use vi_core::refine::{self, RefineSettings};
use vi_core::{
    Belief, DenseGaussian, Error, GaussianExpectation, GlmPosterior, Implicit, PerRow, Stop, Weighted, batch, filter,
};
use vi_linalg::faer::{Mat, Par};
use vi_models::likelihood::{BernoulliProbit, Binomial, NegativeBinomial, Offset, Poisson};

use crate::common::{difference, inputs, predictors, rng};

const THETA: [f64; 4] = [0.4, -0.8, 0.5, 0.3];

/// Runs all four on the same data and holds them against each other and against the truth.
fn check<L: GaussianExpectation + Copy>(x: &Mat<f64>, y: &[f64], rows: &[L]) {
    let prior = DenseGaussian::isotropic(&[0.0; 4], 1.0).unwrap();
    let rules: Vec<Implicit<L>> = rows.iter().map(|&row| Implicit(row)).collect();
    let (rules, rows) = (PerRow(&rules), PerRow(rows));

    let mut one_by_one = prior.clone();
    filter::run(&mut one_by_one, &rules, x.as_ref(), y, |_, _, _| {}).unwrap();
    let mut blocked = prior.clone();
    let mut scratch = BlockScratch::new(&prior, BlockSettings::new(7).unwrap());
    block::run(&mut blocked, &rules, x.as_ref(), y, &mut scratch, Par::Seq, |_, _, _| {}).unwrap();
    // n·ε·κ: 300 observations, a posterior of condition below 1e3.
    assert!(difference(&blocked, &one_by_one) < 300.0 * 1e3 * f64::EPSILON);

    let mut refined = refine::first_pass(&prior, &rules, x.as_ref(), y, Par::Seq).unwrap();
    let info =
        refine::refine(&prior, &mut refined, x.as_ref(), y, &rows, &RefineSettings::default(), Par::Seq).unwrap();
    assert_eq!(info.stop, Stop::Converged);
    let (best, info) =
        batch::optimum(&prior, &prior, x.as_ref(), y, &rows, &batch::BatchSettings::default(), Par::Seq).unwrap();
    assert_eq!(info.stop, Stop::Converged);

    let posterior = GlmPosterior::new(&prior, x.as_ref(), y, rows).unwrap();
    let kl = |q: &DenseGaussian| posterior.kl(q, Par::Seq).unwrap();
    let (first, second, third) = (kl(&one_by_one), kl(&refined.belief), kl(&best));
    // Refinement stops when a sweep gains 1e-9 nats; sweeps converge linearly.
    assert!((second - third).abs() < 1e-7, "{second} {third}");
    assert!(first >= third - 1e-9 && first - third < 0.2, "{first} {third}");
    assert!((info.bound() + third).abs() < 1e-9 * (1.0 + third.abs()));
    // The quadratic growth of KL: a gap of 1e-7 is a mean within √2e-7 standard deviations.
    assert!(difference(&refined.belief, &best) < 1e-3);

    let covariance = best.covariance();
    for (j, truth) in THETA.iter().enumerate() {
        let off = (best.mean()[j] - truth) / covariance[(j, j)].sqrt();
        assert!(off.abs() < 4.5, "θ[{j}] is {off} standard deviations off");
    }
}

fn design(seed: u64) -> (Mat<f64>, Vec<f64>) {
    let x = inputs(300, 4, &mut rng(seed));
    let t = predictors(&x, &THETA);
    (x, t)
}

/// Offsets, exposures (or trials) and weights, all different from row to row.
fn extras(i: usize) -> (f64, f64, f64) {
    (0.3 * ((i % 5) as f64 - 2.0), 1.0 + (i % 4) as f64, if i.is_multiple_of(3) { 2.0 } else { 1.0 })
}

#[test]
fn poisson_with_exposures_offsets_and_weights() {
    let ((x, t), mut rng) = (design(1), rng(11));
    let y: Vec<f64> = (0..300)
        .map(|i| {
            let (offset, exposure, _) = extras(i);
            PoissonDraw::new(exposure * (t[i] + offset).exp()).unwrap().sample(&mut rng)
        })
        .collect();
    let rows: Vec<_> = (0..300)
        .map(|i| {
            let (offset, exposure, weight) = extras(i);
            Weighted::new(Offset::new(Poisson::new(exposure).unwrap(), offset).unwrap(), weight).unwrap()
        })
        .collect();
    check(&x, &y, &rows);
}

#[test]
fn binomial_with_trials_offsets_and_weights() {
    let ((x, t), mut rng) = (design(2), rng(12));
    let y: Vec<f64> = (0..300)
        .map(|i| {
            let p = vi_core::special::sigmoid(t[i] + extras(i).0);
            let trials = 1 + (i % 4) as u64;
            BinomialDraw::new(trials, p).unwrap().sample(&mut rng) as f64
        })
        .collect();
    let rows: Vec<_> = (0..300)
        .map(|i| {
            let (offset, trials, weight) = extras(i);
            Weighted::new(Offset::new(Binomial::new(trials).unwrap(), offset).unwrap(), weight).unwrap()
        })
        .collect();
    check(&x, &y, &rows);
}

#[test]
fn negative_binomial_with_exposures_and_offsets() {
    let ((x, t), mut rng) = (design(3), rng(13));
    let size = 2.0;
    let y: Vec<f64> = (0..300)
        .map(|i| {
            let (offset, exposure, _) = extras(i);
            let rate = Gamma::new(size, exposure * (t[i] + offset).exp() / size).unwrap().sample(&mut rng);
            if rate < 1e-12 { 0.0 } else { PoissonDraw::new(rate).unwrap().sample(&mut rng) }
        })
        .collect();
    let rows: Vec<_> = (0..300)
        .map(|i| {
            let (offset, exposure, _) = extras(i);
            let counts = NegativeBinomial::new(size).unwrap().with_exposure(exposure).unwrap();
            Offset::new(counts, offset).unwrap()
        })
        .collect();
    check(&x, &y, &rows);
}

#[test]
fn probit_with_offsets() {
    let ((x, t), mut rng) = (design(4), rng(14));
    let y: Vec<f64> =
        (0..300).map(|i| f64::from(u8::from(t[i] + extras(i).0 + crate::common::normal(&mut rng) > 0.0))).collect();
    let rows: Vec<_> = (0..300).map(|i| Offset::new(BernoulliProbit, extras(i).0).unwrap()).collect();
    check(&x, &y, &rows);
}

#[test]
fn a_bad_row_is_named_and_nothing_changes() {
    let (x, t) = design(5);
    let mut y = vec![1.0; t.len()];
    y[17] = 4.0;
    let rows: Vec<_> = (0..300).map(|i| Binomial::new(if i == 17 { 3.0 } else { 5.0 }).unwrap()).collect();
    let rules: Vec<_> = rows.iter().map(|&row| Implicit(row)).collect();
    let prior = DenseGaussian::isotropic(&[0.0; 4], 1.0).unwrap();
    let mut belief = prior.clone();
    let error = filter::run(&mut belief, &PerRow(&rules), x.as_ref(), &y, |_, _, _| {}).unwrap_err();
    let Error::Row { row: 17, source } = &error else { unreachable!("{error}") };
    assert!(matches!(**source, Error::Label { label: 4.0, .. }));
    assert_eq!(belief.mean(), prior.mean());
    assert!(refine::first_pass(&prior, &PerRow(&rules), x.as_ref(), &y, Par::Seq).is_err());
    let settings = batch::BatchSettings::default();
    let error = batch::optimum(&prior, &prior, x.as_ref(), &y, &PerRow(&rows), &settings, Par::Seq).unwrap_err();
    assert!(matches!(error, Error::Row { row: 17, .. }));
    // Too few of either.
    let error = filter::run(&mut belief, &PerRow(&rules[..9]), x.as_ref(), &y, |_, _, _| {}).unwrap_err();
    assert_eq!(error, Error::Dimension { argument: "rules", expected: 300, found: 9 });
    let error = batch::optimum(&prior, &prior, x.as_ref(), &y, &PerRow(&rows[..9]), &settings, Par::Seq).unwrap_err();
    assert_eq!(error, Error::Dimension { argument: "likelihoods", expected: 300, found: 9 });
    assert_eq!(belief.mean(), prior.mean());
}
