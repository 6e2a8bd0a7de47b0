//! Data at the edges: they work, three ways, for every likelihood.

use vi_core::batch::{self, BatchSettings};
use vi_core::refine::{self, RefineSettings};
use vi_core::{
    Belief, BernoulliLogit, DenseGaussian, Error, Explicit, GaussianExpectation, Implicit, Mixture8, MomentMatching,
    filter,
};
use vi_linalg::faer::{Mat, MatRef, Par, mat};
use vi_models::likelihood::{BernoulliProbit, Binomial, NegativeBinomial, Poisson};

/// One pass, refinement and optimum; the last two agree. Returns the mean of the optimum.
fn three_ways<L: GaussianExpectation + Copy>(likelihood: L, sigma0: f64, x: MatRef<'_, f64>, y: &[f64]) -> Vec<f64> {
    let prior = DenseGaussian::isotropic(&vec![0.0; x.ncols()], sigma0).unwrap();
    let family = likelihood.family();
    let mut matched = prior.clone();
    filter::run(&mut matched, &MomentMatching(likelihood), x, y, |_, _, _| {}).unwrap();
    assert!(matched.cholesky().is_ok(), "{family}");
    let mut fit = refine::first_pass(&prior, &Implicit(likelihood), x, y, Par::Seq).unwrap();
    let first = fit.belief.clone();
    let info = refine::refine(&prior, &mut fit, x, y, &likelihood, &RefineSettings::default(), Par::Seq).unwrap();
    assert!(info.bounds.last() >= info.bounds.first(), "{family}: {info:?}");
    let (best, info) = batch::optimum(&prior, &first, x, y, &likelihood, &BatchSettings::default(), Par::Seq).unwrap();
    assert!(info.bounds.last() >= info.bounds.first(), "{family}: {info:?}");
    for (refined, best) in fit.belief.mean().iter().zip(best.mean()) {
        // Standard deviations are of order σ₀ in directions that nothing is known of.
        assert!((refined - best).abs() < 0.05 * sigma0, "{family}: {refined} {best}");
    }
    best.mean().to_vec()
}

fn every_family(sigma0: f64, x: &Mat<f64>, labels: &[f64], check: impl Fn(&str, &[f64])) {
    let x = x.as_ref();
    check("logit", &three_ways(BernoulliLogit(Mixture8), sigma0, x, labels));
    check("probit", &three_ways(BernoulliProbit, sigma0, x, labels));
    let counts: Vec<f64> = labels.iter().map(|y| 4.0 * y).collect();
    check("binomial", &three_ways(Binomial::new(4.0).unwrap(), sigma0, x, &counts));
    check("Poisson", &three_ways(Poisson::default(), sigma0, x, &counts));
    check("negative binomial", &three_ways(NegativeBinomial::new(2.0).unwrap(), sigma0, x, &counts));
}

#[test]
fn separable_classes_and_counts_of_nothing_work() {
    let x = mat![[1.0, -2.0], [1.0, -1.0], [1.0, 0.5], [1.0, 2.0], [1.0, 3.0]];
    every_family(10.0, &x, &[0.0, 0.0, 1.0, 1.0, 1.0], |family, mean| assert!(mean[1] > 0.3, "{family}: {mean:?}"));
    every_family(10.0, &x, &[0.0; 5], |family, mean| assert!(mean[0] < -1.0, "{family}: {mean:?}"));
}

#[test]
fn collinear_and_constant_columns_share_what_they_explain() {
    let x = Mat::from_fn(20, 3, |t, j| if j == 2 { 1.0 } else { (t as f64 - 9.5) / 5.0 });
    let y: Vec<f64> = (0..20).map(|t| f64::from(u8::from(t > 8 && t != 12))).collect();
    every_family(2.0, &x, &y, |family, mean| {
        assert!((mean[0] - mean[1]).abs() < 1e-6 && mean[0] > 0.1, "{family}: {mean:?}");
    });
}

#[test]
fn fewer_rows_than_weights_and_rows_of_zeros_work() {
    let x = Mat::from_fn(3, 8, |t, j| if t == 2 { 0.0 } else { 0.3 * (t as f64 + 1.0) * (j as f64 - 3.0) });
    every_family(1.0, &x, &[1.0, 0.0, 1.0], |family, mean| assert_eq!(mean.len(), 8, "{family}"));
}

#[test]
fn a_vague_prior_does_not_stop_counts() {
    // E[m] under this prior is e^5000: the implicit rule does not need it.
    let x = mat![[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 3.0]];
    let prior = DenseGaussian::isotropic(&[0.0, 0.0], 100.0).unwrap();
    let y = [1.0, 3.0, 7.0, 20.0];
    let mut fit = refine::first_pass(&prior, &Implicit(Poisson::default()), x.as_ref(), &y, Par::Seq).unwrap();
    let settings = RefineSettings::default();
    refine::refine(&prior, &mut fit, x.as_ref(), &y, &Poisson::default(), &settings, Par::Seq).unwrap();
    // The maximum likelihood estimate is near (0.05, 0.98); the posterior's mean a little below, being skew.
    assert!((fit.belief.mean()[1] - 0.98).abs() < 0.2, "{:?}", fit.belief.mean());
}

#[test]
fn an_empty_batch_and_bad_numbers_are_errors_that_change_nothing() {
    let prior = DenseGaussian::isotropic(&[0.5, -0.5], 1.0).unwrap();
    let mut belief = prior.clone();
    let rule = Implicit(Poisson::default());
    let mut run = |x: MatRef<'_, f64>, y: &[f64]| filter::run(&mut belief, &rule, x, y, |_, _, _| {}).unwrap_err();
    let x = mat![[1.0, 0.5], [1.0, -0.5]];
    assert!(matches!(run(x.as_ref().subrows(0, 0), &[]), Error::Empty { .. }));
    for label in [-1.0, 1.5] {
        let error = run(x.as_ref(), &[2.0, label]);
        let Error::Row { row: 1, source } = &error else { unreachable!("{error}") };
        assert!(matches!(**source, Error::Label { label: l, .. } if l == label), "{error}");
    }
    assert!(matches!(run(x.as_ref(), &[2.0, f64::NAN]), Error::Row { row: 1, .. }));
    assert!(matches!(run(mat![[1.0, f64::INFINITY]].as_ref(), &[2.0]), Error::Row { row: 0, .. }));
    // A mean of e^1000: no float holds it, and the rule that asks for it says so.
    let far = mat![[2000.0, 0.0]];
    let rule = Explicit(Poisson::default());
    let error = filter::run(&mut belief, &rule, far.as_ref(), &[2.0], |_, _, _| {}).unwrap_err();
    assert!(matches!(error, Error::Row { row: 0, .. }));
    assert_eq!(belief.mean(), prior.mean());
    assert_eq!(belief.covariance(), prior.covariance());
}
