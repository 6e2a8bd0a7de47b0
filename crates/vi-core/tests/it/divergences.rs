//! KL divergences against grids and draws.

use vi_core::{
    Belief, BernoulliLogit, DenseGaussian, Error, Exact, GlmPosterior, Implicit, Mixture8, divergence, filter,
};
use vi_linalg::faer::Par;

use crate::common::{labels, prior, rng, rows, view};

const DIM: usize = 2;

fn filtered(start: &DenseGaussian, inputs: &[f64], y: &[f64]) -> DenseGaussian {
    let mut belief = start.clone();
    filter::run(&mut belief, &Implicit(BernoulliLogit(Mixture8)), view(inputs, DIM), y, |_, _, _| {}).unwrap();
    belief
}

/// `E_q[f]` by the trapezoid rule on the whitened plane.
fn expectation(q: &DenseGaussian, f: impl Fn(&[f64]) -> f64) -> f64 {
    let cholesky = q.cholesky().unwrap();
    let l = cholesky.factor();
    let (step, n) = (0.05, 180_i32);
    let mut sum = 0.0;
    for i in -n..=n {
        for j in -n..=n {
            let z = [step * f64::from(i), step * f64::from(j)];
            let theta = [q.mean()[0] + l[(0, 0)] * z[0], q.mean()[1] + l[(1, 0)] * z[0] + l[(1, 1)] * z[1]];
            let weight = step * step * (-0.5 * (z[0] * z[0] + z[1] * z[1])).exp() / (2.0 * std::f64::consts::PI);
            sum += weight * f(&theta);
        }
    }
    sum
}

#[test]
fn gaussian_kl_agrees_with_its_integral() {
    let (q, p) = (prior(DIM, 0.8, &mut rng(21)), prior(DIM, 1.4, &mut rng(22)));
    let integral = expectation(&q, |t| q.log_density(t).unwrap() - p.log_density(t).unwrap());
    let kl = divergence::gaussian_kl(&q, &p).unwrap();
    assert!((kl - integral).abs() < 1e-12 * (1.0 + kl));
    assert!(divergence::gaussian_kl(&q, &q).unwrap().abs() < 1e-14);
    assert!(kl > 0.0);
}

#[test]
fn kl_to_a_logistic_posterior_agrees_with_its_integral_and_with_draws() {
    let mut rng = rng(23);
    let start = prior(DIM, 1.5, &mut rng);
    let (inputs, y) = (rows(30, DIM, &mut rng), labels(30, &mut rng));
    let q = filtered(&start, &inputs, &y);
    let posterior = GlmPosterior::new(&start, view(&inputs, DIM), &y, BernoulliLogit(Exact)).unwrap();
    let kl = posterior.kl(&q, Par::Seq).unwrap();
    let integral = expectation(&q, |t| q.log_density(t).unwrap() - posterior.log_joint(t).unwrap());
    assert!((kl - integral).abs() < 1e-11 * kl.abs(), "{kl} against {integral}");

    let estimate = posterior.kl_monte_carlo(&q, 4000, &mut rng).unwrap();
    assert!((estimate.value - kl).abs() < 5.0 * estimate.standard_error);
    assert!(estimate.standard_error < 0.1);

    // The mixture's error is at most 8.1e-9 nats an observation.
    let mixture = GlmPosterior::new(&start, view(&inputs, DIM), &y, BernoulliLogit(Mixture8)).unwrap();
    assert!((mixture.kl(&q, Par::Seq).unwrap() - kl).abs() < 30.0 * 8.1e-9);
}

#[test]
fn same_seed_same_bits() {
    let mut data = rng(24);
    let start = prior(DIM, 1.0, &mut data);
    let (inputs, y) = (rows(10, DIM, &mut data), labels(10, &mut data));
    let posterior = GlmPosterior::new(&start, view(&inputs, DIM), &y, BernoulliLogit(Mixture8)).unwrap();
    let once = posterior.kl_monte_carlo(&start, 50, &mut rng(1)).unwrap();
    assert_eq!(once, posterior.kl_monte_carlo(&start, 50, &mut rng(1)).unwrap());
    assert_ne!(once, posterior.kl_monte_carlo(&start, 50, &mut rng(2)).unwrap());
}

#[test]
fn bad_posteriors_are_refused() {
    let start = prior(DIM, 1.0, &mut rng(25));
    let x = [1.0, 2.0, 3.0, f64::NAN];
    let logit = BernoulliLogit(Exact);
    let bad = GlmPosterior::new(&start, view(&x, DIM), &[0.0, 1.0], logit).unwrap_err();
    assert!(
        matches!(&bad, Error::Row { row: 1, source } if matches!(**source, Error::NonFinite { argument: "x", index: 1, .. }))
    );
    let bad = GlmPosterior::new(&start, view(&x[..2], DIM), &[0.5], logit).unwrap_err();
    assert!(matches!(&bad, Error::Row { row: 0, source } if matches!(**source, Error::Label { label: 0.5, .. })));
    let bad = GlmPosterior::new(&start, view(&x[..2], DIM), &[], logit).unwrap_err();
    assert!(matches!(bad, Error::Dimension { argument: "y", expected: 1, found: 0 }));
    let fine = GlmPosterior::new(&start, view(&x[..2], DIM), &[1.0], logit).unwrap();
    assert!(matches!(fine.kl_monte_carlo(&start, 1, &mut rng(1)), Err(Error::Setting { name: "draws", .. })));
    let other = DenseGaussian::isotropic(&[0.0; 3], 1.0).unwrap();
    assert!(matches!(fine.kl(&other, Par::Seq), Err(Error::Dimension { .. })));
    assert_eq!(other.dim(), 3);
}
