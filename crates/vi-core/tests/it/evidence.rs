//! One-step predictive evidence: exact where a closed form exists, and a good judge of settings.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use vi_core::{
    Belief, BernoulliLogit, DenseGaussian, Error, Explicit, Forgetting, GaussianExpectation, GaussianLikelihood,
    Implicit, Learner, Mixture8, PerRow, filter,
};
use vi_linalg::Cholesky;
use vi_linalg::faer::{Mat, MatRef};

use crate::bad_input::bits;
use crate::common::{condition, labels, prior, rng, rows, view};

type Linear = Learner<DenseGaussian, Explicit<GaussianLikelihood>, GaussianLikelihood>;

fn linear(belief: &DenseGaussian, noise_variance: f64, forgetting: Forgetting<DenseGaussian>) -> Linear {
    let likelihood = GaussianLikelihood::new(noise_variance).unwrap();
    Learner::new(belief.clone(), Explicit(likelihood), likelihood).with_forgetting(forgetting)
}

/// `log N(y | Xμ₀, C)` with `C_st = x_sᵀ(P₀ + min(s,t)·Q)x_t + σ²[s = t]`, counting from 1, and the condition of `C`.
fn exact_log_evidence(prior: &DenseGaussian, q: &[f64], noise: f64, x: MatRef<'_, f64>, y: &[f64]) -> (f64, f64) {
    let (n, d, p) = (y.len(), prior.dim(), prior.covariance());
    let covariance = Mat::from_fn(n, n, |s, t| {
        let steps = (s.min(t) + 1) as f64;
        let mut sum = if s == t { noise } else { 0.0 };
        for i in 0..d {
            sum += steps * q[i] * x[(s, i)] * x[(t, i)];
            for j in 0..d {
                sum += x[(s, i)] * p[(i, j)] * x[(t, j)];
            }
        }
        sum
    });
    let residual: Vec<f64> = (0..n).map(|t| y[t] - (0..d).map(|i| x[(t, i)] * prior.mean()[i]).sum::<f64>()).collect();
    let cholesky = Cholesky::new(covariance.as_ref()).unwrap();
    let log_2pi = (2.0 * std::f64::consts::PI).ln();
    let value = -0.5 * (cholesky.quadratic_form_inverse(&residual).unwrap() + cholesky.log_det() + n as f64 * log_2pi);
    let values = covariance.self_adjoint_eigenvalues(vi_linalg::faer::Side::Lower).unwrap();
    (value, values[n - 1] / values[0])
}

#[test]
fn for_linear_models_it_is_the_log_evidence() {
    let mut rng = rng(70);
    let (n, d, noise) = (40, 3, 0.6);
    let start = prior(d, 2.0, &mut rng);
    let (x, y) = (rows(n, d, &mut rng), rows(n, 1, &mut rng));
    for q in [[0.0; 3], [0.2, 0.0, 0.7]] {
        let mut stream = linear(&start, noise, Forgetting::noise(&q).unwrap());
        let log_p = stream.run(view(&x, d), &y, |_, _, _| {}).unwrap();
        assert_eq!(log_p, stream.evidence);
        let (exact, kappa) = exact_log_evidence(&start, &q, noise, view(&x, d), &y);
        // n terms, each with the rounding of a solve against C or P.
        let tolerance = 4.0 * n as f64 * f64::EPSILON * kappa.max(condition(&start)) * exact.abs();
        assert!((log_p - exact).abs() < tolerance, "{log_p} {exact} {tolerance:e}");
        assert!((log_p - exact).abs() < 1e-9, "the tolerance above must mean something");
    }
}

#[test]
fn each_term_is_taken_under_the_belief_before() {
    let mut rng = rng(71);
    let (n, d) = (30, 3);
    let start = prior(d, 2.0, &mut rng);
    let (x, y) = (rows(n, d, &mut rng), labels(n, &mut rng));
    let (likelihood, lambda) = (BernoulliLogit(Mixture8), 0.9);
    let forgetting = Forgetting::fading(lambda).unwrap();
    let mut stream = Learner::new(start.clone(), Implicit(likelihood), likelihood).with_forgetting(forgetting.clone());
    stream.run(view(&x, d), &y, |_, _, _| {}).unwrap();
    let log_p = stream.evidence;
    let (mut belief, mut scratch, mut expected) = (start.clone(), filter::Scratch::default(), 0.0);
    for t in 0..n {
        let row = &x[t * d..(t + 1) * d];
        let seen = belief.predict(row).unwrap();
        expected += likelihood.log_predictive(y[t], seen.mean, seen.variance / lambda);
        forgetting.apply(&mut belief).unwrap();
        filter::step(&mut belief, &Implicit(likelihood), row, y[t], &mut scratch).unwrap();
    }
    // n terms of order one, each from a projection that differs in rounding.
    assert!((log_p - expected).abs() < 100.0 * n as f64 * f64::EPSILON, "{log_p} {expected}");
}

/// A linear stream whose parameter walks with variance `q` a step.
fn drifting(n: usize, d: usize, q: f64, noise: f64, rng: &mut ChaCha8Rng) -> (Vec<f64>, Vec<f64>) {
    let mut theta = vec![0.0; d];
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for _ in 0..n {
        let row: Vec<f64> = (0..d).map(|_| rng.sample(StandardNormal)).collect();
        for value in &mut theta {
            *value += q.sqrt() * rng.sample::<f64, _>(StandardNormal);
        }
        let mean: f64 = row.iter().zip(&theta).map(|(x, t)| x * t).sum();
        y.push(mean + noise.sqrt() * rng.sample::<f64, _>(StandardNormal));
        x.extend(row);
    }
    (x, y)
}

fn scores(bank: &[Linear], x: &[f64], d: usize, y: &[f64]) -> Vec<f64> {
    bank.iter().map(|learner| learner.clone().run(view(x, d), y, |_, _, _| {}).unwrap()).collect()
}

fn best(scores: &[f64]) -> usize {
    (0..scores.len()).max_by(|&i, &j| scores[i].total_cmp(&scores[j])).unwrap()
}

#[test]
fn evidence_finds_how_fast_the_world_drifts() {
    let (n, d, q, noise) = (2000, 3, 1e-3, 0.5);
    let start = DenseGaussian::isotropic(&vec![0.0; d], 1.0).unwrap();
    let (x, y) = drifting(n, d, q, noise, &mut rng(72));
    let lambdas = [0.6, 0.8, 0.9, 0.95, 0.98, 0.99, 1.0];
    let fading = scores(&lambdas.map(|l| linear(&start, noise, Forgetting::fading(l).unwrap())), &x, d, &y);
    // The steady state of q = 1e-3, σ² = 0.5, E x² = 1 gains about √(q/σ²) = 0.045 an observation: λ near 0.955.
    assert_eq!(lambdas[best(&fading)], 0.95, "{fading:?}");
    assert!(fading[3] > fading[6] + 100.0, "no forgetting is worse by far: {fading:?}");
    assert!(fading[3] > fading[0] + 100.0, "and so is forgetting everything: {fading:?}");

    // The true model has the highest expected score: by a gap linear in n, with a spread of its root.
    let sizes = [0.0, 1e-4, 1e-3, 1e-2, 1e-1];
    let walks = scores(&sizes.map(|q| linear(&start, noise, Forgetting::noise(&vec![q; d]).unwrap())), &x, d, &y);
    assert_eq!(sizes[best(&walks)], q, "{walks:?}");

    // On a world that stands still, forgetting costs.
    let (x, y) = drifting(n, d, 0.0, noise, &mut rng(73));
    let still = scores(&lambdas.map(|l| linear(&start, noise, Forgetting::fading(l).unwrap())), &x, d, &y);
    assert_eq!(lambdas[best(&still)], 1.0, "{still:?}");
}

#[test]
fn evidence_finds_the_noise_and_the_prior_scale() {
    let (n, d, noise) = (400, 20, 0.5_f64);
    let mut rng = rng(74);
    let theta: Vec<f64> = (0..d).map(|_| 3.0 * rng.sample::<f64, _>(StandardNormal)).collect();
    let x = rows(n, d, &mut rng);
    let y: Vec<f64> = x
        .chunks(d)
        .map(|row| {
            let mean: f64 = row.iter().zip(&theta).map(|(x, t)| x * t).sum();
            mean + noise.sqrt() * rng.sample::<f64, _>(StandardNormal)
        })
        .collect();
    let prior = |sigma: f64| DenseGaussian::isotropic(&vec![0.0; d], sigma).unwrap();
    let noises = [0.1, 0.25, 0.5, 1.0, 2.0];
    let by_noise = scores(&noises.map(|v| linear(&prior(3.0), v, Forgetting::none())), &x, d, &y);
    assert_eq!(noises[best(&by_noise)], 0.5, "{by_noise:?}");
    let scales = [0.3, 1.0, 3.0, 10.0, 100.0];
    let by_scale = scores(&scales.map(|s| linear(&prior(s), noise, Forgetting::none())), &x, d, &y);
    assert_eq!(scales[best(&by_scale)], 3.0, "{by_scale:?}");
}

#[test]
fn bad_input_is_refused_at_the_door() {
    let start = prior(2, 1.0, &mut rng(76));
    let x = [1.0, 0.5, -0.2, 0.4];
    let mut stream = linear(&start, 1.0, Forgetting::fading(0.9).unwrap());
    let mut refused = |x: &[f64], y: &[f64]| {
        let error = stream.run(view(x, 2), y, |_, _, _| {}).unwrap_err();
        assert_eq!(bits(&stream.belief), bits(&start));
        error
    };
    assert!(matches!(refused(&x, &[0.0]), Error::Dimension { argument: "y", .. }));
    assert!(matches!(refused(&x, &[0.0, f64::NAN]), Error::Row { row: 1, .. }));
    assert!(matches!(refused(&[0.0, 1.0, f64::NAN, 1.0], &[0.0, 1.0]), Error::Row { row: 1, .. }));
    assert!(matches!(refused(&[], &[]), Error::Empty { argument: "x" }));
    let mut scratch = filter::Scratch::default();
    assert!(matches!(stream.step(&[1.0], 0.0, &mut scratch), Err(Error::Dimension { argument: "x", .. })));
    assert!(matches!(stream.step(&[1.0, f64::NAN], 0.0, &mut scratch), Err(Error::NonFinite { argument: "x", .. })));
    assert!(matches!(stream.step(&[1.0, 1.0], f64::NAN, &mut scratch), Err(Error::NonFinite { .. })));
    assert_eq!(bits(&stream.belief), bits(&start));

    // The likelihood has its own say about labels.
    let logit = BernoulliLogit(Mixture8);
    let rule = Explicit(GaussianLikelihood::new(1.0).unwrap());
    let mut other = Learner::new(start.clone(), rule, logit);
    let error = other.run(view(&x, 2), &[1.0, 0.5], |_, _, _| {}).unwrap_err();
    assert!(matches!(error, Error::Row { row: 1, source } if matches!(*source, Error::Label { label: 0.5, .. })));
    let mut wrong = linear(&start, 1.0, Forgetting::noise(&[1.0]).unwrap());
    let refused = wrong.run(view(&x, 2), &[0.0; 2], |_, _, _| {});
    assert!(matches!(refused, Err(Error::Dimension { argument: "q", .. })));
    // Beside a variance of 1e307 no digit of the others is left.
    let mut overflows = linear(&start, 0.5, Forgetting::noise(&[1e307; 2]).unwrap());
    assert!(matches!(overflows.run(view(&x, 2), &[0.0; 2], |_, _, _| {}), Err(Error::Row { .. })));
    assert_eq!(bits(&overflows.belief), bits(&start));
}

/// A step that fails after forgetting has begun.
#[test]
fn a_failed_step_undoes_its_forgetting() {
    struct Improper;
    impl vi_core::SiteRule for Improper {
        fn check_label(&self, _label: f64) -> Result<(), Error> {
            Ok(())
        }
        fn site(&self, _a: f64, _nu: f64, _y: f64) -> Result<vi_core::Site, Error> {
            Ok(vi_core::Site { slope: 0.0, curvature: -1e9 })
        }
    }
    let start = prior(2, 1.0, &mut rng(77));
    let likelihood = GaussianLikelihood::new(1.0).unwrap();
    let forgetting = Forgetting::fading(0.5).unwrap();
    let mut stream = Learner::new(start.clone(), Improper, likelihood).with_forgetting(forgetting);
    let error = stream.step(&[1.0, 0.3], 0.0, &mut filter::Scratch::default()).unwrap_err();
    assert!(matches!(error, Error::ImproperSite { .. }));
    assert_eq!(bits(&stream.belief), bits(&start));
}

#[test]
fn a_learner_forgets_predicts_and_scores_as_it_says() {
    let mut rng = rng(78);
    let (n, d) = (12, 3);
    let start = prior(d, 2.0, &mut rng);
    let (x, y) = (rows(n, d, &mut rng), rows(n, 1, &mut rng));
    let noises: Vec<GaussianLikelihood> = (0..n).map(|t| GaussianLikelihood::new(0.2 + t as f64).unwrap()).collect();
    let rules: Vec<_> = noises.iter().map(|noise| Explicit(*noise)).collect();
    for forgetting in [
        Forgetting::none(),
        Forgetting::fading(0.8).unwrap(),
        Forgetting::towards(&start, 0.8).unwrap(),
        Forgetting::noise(&[0.1, 0.0, 0.3]).unwrap(),
    ] {
        let mut whole =
            Learner::new(start.clone(), PerRow(&rules), PerRow(&noises)).with_forgetting(forgetting.clone());
        let gained = whole.run(view(&x, d), &y, |_, _, _| {}).unwrap();
        // One row at a time, each with its own rule.
        let (mut belief, mut evidence) = (start.clone(), 0.0);
        for t in 0..n {
            let row = &x[t * d..(t + 1) * d];
            let mut one = Learner::new(belief, rules[t], noises[t]).with_forgetting(forgetting.clone());
            let seen = one.predict(row).unwrap();
            let scored = one.step(row, y[t], &mut filter::Scratch::default()).unwrap();
            assert_eq!(scored.step.projection, seen);
            assert_eq!(scored.log_density, noises[t].log_predictive(y[t], seen.mean, seen.variance));
            assert_eq!(one.evidence, scored.log_density);
            (belief, evidence) = (one.belief, evidence + scored.log_density);
        }
        assert_eq!(bits(&whole.belief), bits(&belief));
        assert_eq!((whole.evidence, gained), (evidence, evidence));
    }
    let short = Learner::new(start.clone(), PerRow(&rules[..2]), PerRow(&noises)).run(view(&x, d), &y, |_, _, _| {});
    assert!(matches!(short, Err(Error::Dimension { argument: "rules", expected: 12, found: 2 })));
    let short = Learner::new(start, PerRow(&rules), PerRow(&noises[..2])).run(view(&x, d), &y, |_, _, _| {});
    assert!(matches!(short, Err(Error::Dimension { argument: "likelihoods", expected: 12, found: 2 })));
}
