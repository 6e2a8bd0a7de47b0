//! Learned prior scales and noise: maxima of the evidence.

use rand::RngExt;
use rand_distr::StandardNormal;
use vi_core::batch::{BatchSettings, optimum};
use vi_core::hyper::{HyperSettings, Learned, learn_linear, learn_prior_scale};
use vi_core::{Belief, BernoulliLogit, DenseGaussian, Error, GaussianLikelihood, Mixture8, Stop};
use vi_linalg::faer::Par;
use vi_linalg::kernels::dot;

use crate::common::{rng, rows, view};

/// At a maximum over the scale, `tr(P₀⁻¹P) + (μ−μ₀)ᵀP₀⁻¹(μ−μ₀) = d` with the scaled prior: the bound's derivative is 0.
fn assert_stationary(learned: &Learned) {
    let precision = learned.prior.cholesky().unwrap().inverse();
    let covariance = learned.belief.covariance();
    let d = learned.belief.dim();
    let mut sum = 0.0;
    for i in 0..d {
        for j in 0..d {
            let shift = |k: usize| learned.belief.mean()[k] - learned.prior.mean()[k];
            sum += precision[(i, j)] * (covariance[(i, j)] + shift(i) * shift(j));
        }
    }
    // Stopped at a relative change of 1e-6 of the scale, by updates that contract at least by half.
    assert!((sum / d as f64 - 1.0).abs() < 4e-6, "{sum} against {d}");
    assert!(learned.info.slow_rounds == 0 && learned.info.bounds.len() < 25, "{:?}", learned.info);
}

/// `n` rows in `d` dimensions, weights of standard deviation `scale`, and their predictor.
fn generated(n: usize, d: usize, scale: f64, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = rng(seed);
    let inputs = rows(n, d, &mut rng);
    let theta: Vec<f64> = (0..d).map(|_| scale * rng.sample::<f64, _>(StandardNormal)).collect();
    let predictor = inputs.chunks(d).map(|x| dot(x, &theta)).collect();
    (inputs, predictor)
}

#[test]
fn linear_scale_and_noise_are_a_maximum_of_the_evidence() {
    let (n, d) = (200, 8);
    let (inputs, predictor) = generated(n, d, 3.0, 81);
    let mut rng = rng(82);
    let y: Vec<f64> = predictor.iter().map(|t| t + 0.5 * rng.sample::<f64, _>(StandardNormal)).collect();
    let prior = DenseGaussian::isotropic(&vec![0.0; d], 1.0).unwrap();
    let x = view(&inputs, d);
    let learned = learn_linear(&prior, x, &y, 1.0, &HyperSettings::default(), Par::Seq).unwrap();
    assert_eq!(learned.info.stop, Stop::Converged);
    assert_stationary(&learned);
    for pair in learned.info.bounds.windows(2) {
        assert!(pair[1] >= pair[0] - 1e-10 * pair[0].abs());
    }
    let noise = learned.info.noise_variance.unwrap();
    let evidence = |scale: f64, noise: f64| {
        let prior = DenseGaussian::isotropic(&vec![0.0; d], scale).unwrap();
        let linear = GaussianLikelihood::new(noise).unwrap();
        optimum(&prior, &prior, x, &y, &linear, &BatchSettings::default(), Par::Seq).unwrap().1.bound()
    };
    let best = evidence(learned.info.scale, noise);
    for factor in [0.9, 1.1] {
        assert!(evidence(factor * learned.info.scale, noise) < best);
        assert!(evidence(learned.info.scale, factor * noise) < best);
    }
    // σ² from n − d degrees of freedom: relative standard deviation √(2/(n−d)).
    assert!((noise / 0.25 - 1.0).abs() < 4.0 * (2.0 / (n - d) as f64).sqrt());
}

#[test]
fn logistic_scale_is_a_maximum_of_the_bound() {
    let (n, d) = (400, 6);
    let (inputs, predictor) = generated(n, d, 1.5, 83);
    let mut rng = rng(84);
    let y: Vec<f64> =
        predictor.iter().map(|t| f64::from(u8::from(rng.random::<f64>() < 1.0 / (1.0 + (-t).exp())))).collect();
    let logit = BernoulliLogit(Mixture8);
    let x = view(&inputs, d);
    for first in [0.05, 30.0] {
        let prior = DenseGaussian::isotropic(&vec![0.0; d], first).unwrap();
        let learned = learn_prior_scale(&prior, x, &y, &logit, &HyperSettings::default(), Par::Seq).unwrap();
        assert_eq!(learned.info.stop, Stop::Converged);
        assert_stationary(&learned);
        let bound = |scale: f64| {
            let prior = DenseGaussian::isotropic(&vec![0.0; d], scale).unwrap();
            optimum(&prior, &prior, x, &y, &logit, &BatchSettings::default(), Par::Seq).unwrap().1.bound()
        };
        let sigma = first * learned.info.scale;
        let best = bound(sigma);
        assert!(best > bound(0.95 * sigma) && best > bound(1.05 * sigma), "from {first}: {sigma}");
        assert!(sigma > 0.5 && sigma < 5.0, "{sigma}");
    }
}

#[test]
fn pure_noise_shrinks_the_prior_and_says_so() {
    let (n, d) = (50, 3);
    let (inputs, _) = generated(n, d, 1.0, 85);
    // Labels orthogonal to every column: the evidence is largest at scale 0.
    let mut y = vec![0.0; n];
    y[0] = 1.0;
    for _ in 0..200 {
        for j in 0..d {
            let column: Vec<f64> = inputs.chunks(d).map(|x| x[j]).collect();
            let share = dot(&column, &y) / dot(&column, &column);
            for (label, c) in y.iter_mut().zip(&column) {
                *label -= share * c;
            }
        }
    }
    let prior = DenseGaussian::isotropic(&vec![0.0; d], 1.0).unwrap();
    let settings = HyperSettings { tolerance: 1e-6, max_rounds: 30 };
    let learned = learn_linear(&prior, view(&inputs, d), &y, 1.0, &settings, Par::Seq).unwrap();
    assert!(learned.info.scale < 0.3, "{}", learned.info.scale);
    assert_ne!(learned.info.stop, Stop::Converged);
}

#[test]
fn bad_settings_are_refused() {
    let prior = DenseGaussian::isotropic(&[0.0], 1.0).unwrap();
    let x = view(&[1.0, 2.0], 1);
    let refused = learn_linear(&prior, x, &[0.0, 1.0], 0.0, &HyperSettings::default(), Par::Seq);
    assert!(matches!(refused, Err(Error::Setting { name: "noise_variance", .. })));
    assert!(matches!(HyperSettings { tolerance: 0.0, max_rounds: 1 }.check(), Err(Error::Setting { .. })));
    assert!(matches!(HyperSettings { tolerance: 0.1, max_rounds: 0 }.check(), Err(Error::Setting { .. })));
}
