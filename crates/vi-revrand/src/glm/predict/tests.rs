use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use vi_linalg::faer::{Mat, Par, mat};

use super::*;
use crate::likelihood::{Bernoulli, Binomial, Gaussian, Poisson, Rate};

/// Two components, three weights, four rows; the last row has no features at all.
fn mixture() -> (Mixture, Mat<f64>) {
    let means = mat![[0.3, -0.5], [1.1, 0.2], [-0.4, 0.9]];
    let variances = mat![[0.2, 0.5], [0.1, 0.3], [0.6, 0.05]];
    let phi = mat![[1.0, 0.4, -0.2], [0.3, 1.7, 0.6], [-1.5, 0.2, 1.1], [0.0, 0.0, 0.0]];
    (Mixture::new(means.as_ref(), variances.as_ref()).unwrap(), phi)
}

/// Averages over draws from the predictive distribution are what the integrals say.
fn against_draws<L: GlmLikelihood>(likelihood: &L, trials: Option<&[f64]>) {
    let (q, phi) = mixture();
    let predicted = Predictions::new(&q, likelihood, phi.as_ref(), trials).unwrap();
    let draws = 20_000;
    let samples = predicted.draws(draws, &mut ChaCha8Rng::seed_from_u64(1)).unwrap();
    let (means, variances) = (predicted.means(Par::Seq).unwrap(), predicted.variances(Par::Seq).unwrap());
    let medians = predicted.quantiles(0.5, Par::Seq).unwrap();
    let below = predicted.cdfs(&medians, Par::Seq).unwrap();
    for i in 0..predicted.len() {
        let row: Vec<f64> = samples.row(i).iter().copied().collect();
        let mean = row.iter().sum::<f64>() / draws as f64;
        let error = (variances[i] / draws as f64).sqrt();
        assert!((mean - means[i]).abs() < 6.0 * error, "{} row {i}", likelihood.family());
        let squares: Vec<f64> = row.iter().map(|y| (y - means[i]).powi(2)).collect();
        let spread = squares.iter().sum::<f64>() / draws as f64;
        let fourth = squares.iter().map(|s| (s - spread).powi(2)).sum::<f64>() / draws as f64;
        // The fourth moment is itself estimated, badly where tails are heavy.
        assert!(
            (spread - variances[i]).abs() < 8.0 * (fourth / draws as f64).sqrt() + 1e-12,
            "{} row {i}",
            likelihood.family()
        );
        let share = row.iter().filter(|&&y| y <= medians[i]).count() as f64 / draws as f64;
        assert!((share - below[i]).abs() < 6.0 * 0.5 / (draws as f64).sqrt());
        assert!(below[i] >= 0.5);
    }
}

#[test]
fn integrals_agree_with_draws() {
    against_draws(&Gaussian::new(0.3).unwrap(), None);
    against_draws(&Bernoulli, None);
    against_draws(&Binomial, Some(&[1.0, 5.0, 9.0, 2.0]));
    against_draws(&Poisson(Rate::Exponential), None);
    against_draws(&Poisson(Rate::Softplus), None);
}

#[test]
fn log_densities_sum_to_one_and_to_the_distribution_function() {
    let (q, phi) = mixture();
    for rate in [Rate::Exponential, Rate::Softplus] {
        let counts = Poisson(rate);
        let predicted = Predictions::new(&q, &counts, phi.as_ref(), None).unwrap();
        for i in 0..predicted.len() {
            let row = predicted.row(i);
            let mut total = 0.0;
            for y in 0..60 {
                total += row.log_density(f64::from(y)).unwrap().exp();
                // Both quadratures are good to 1e-12.
                assert!((row.cdf(f64::from(y)).unwrap() - total).abs() < 1e-10);
            }
        }
    }
    let trials = [3.0; 4];
    let predicted = Predictions::new(&q, &Binomial, phi.as_ref(), Some(&trials)).unwrap();
    for i in 0..predicted.len() {
        let total: f64 = (0..=3).map(|y| predicted.row(i).log_density(f64::from(y)).unwrap().exp()).sum();
        assert!((total - 1.0).abs() < 1e-11);
        assert_eq!(predicted.row(i).cdf(3.0), Ok(1.0));
    }
}

#[test]
fn quantiles_invert_the_distribution_function() {
    let (q, phi) = mixture();
    let noise = Gaussian::new(0.05).unwrap();
    let predicted = Predictions::new(&q, &noise, phi.as_ref(), None).unwrap();
    for p in [1e-9, 0.05, 0.5, 0.975, 1.0 - 1e-9] {
        for i in 0..predicted.len() {
            let row = predicted.row(i);
            let y = row.quantile(p).unwrap();
            assert!(row.cdf(y).unwrap() >= p && row.cdf(y - 1e-12 * y.abs().max(1.0)).unwrap() <= p + 1e-12);
        }
    }
    let counts = Poisson(Rate::Exponential);
    let predicted = Predictions::new(&q, &counts, phi.as_ref(), None).unwrap();
    for p in [0.01, 0.3, 0.9, 0.999] {
        for i in 0..predicted.len() {
            let row = predicted.row(i);
            let y = row.quantile(p).unwrap();
            assert!(y.fract() == 0.0 && row.cdf(y).unwrap() >= p && (y == 0.0 || row.cdf(y - 1.0).unwrap() < p));
        }
    }
    let interval = predicted.row(1).interval(0.9).unwrap();
    let mass = predicted.row(1).cdf(interval.upper).unwrap() - predicted.row(1).cdf(interval.lower - 1.0).unwrap();
    assert!(mass >= 0.9);
}

/// Quantiles of large counts bracket their probability, and lie where the normal approximation says.
fn check_large<L: GlmLikelihood>(likelihood: &L, trials: Option<&[f64]>, a: f64, v: f64) {
    let q = Mixture::new(mat![[a]].as_ref(), mat![[v]].as_ref()).unwrap();
    let predicted = Predictions::new(&q, likelihood, mat![[1.0]].as_ref(), trials).unwrap();
    let row = predicted.row(0);
    assert!(row.cdf(0.0).unwrap() < 0.5, "{a} {v}");
    let case = format!("{} {a} {v}", likelihood.family());
    let (mean, deviation) = (row.mean().unwrap(), row.variance().unwrap().sqrt());
    for p in [1e-6, 0.05, 0.5, 0.95, 1.0 - 1e-6] {
        let y = row.quantile(p).unwrap();
        assert!(row.cdf(y).unwrap() >= p && (y == 0.0 || row.cdf(y - 1.0).unwrap() < p), "{case}");
    }
    // Cantelli's inequality at p = 0.05 and 0.95 puts both ends within √19 deviations of the mean.
    let interval = row.interval(0.9).unwrap();
    assert!(
        interval.lower >= mean - 4.36 * deviation - 1.0 && interval.upper <= mean + 4.36 * deviation + 1.0,
        "{case}"
    );
    assert!(interval.lower < interval.upper, "{case}");
}

#[test]
fn intervals_of_large_counts_exist() {
    for v in [1e-4, 0.01, 1.0] {
        for mean in [99.0, 100.0, 403.0, 1e3, 8103.0, 1e5] {
            check_large(&Poisson(Rate::Exponential), None, f64::ln(mean), v);
            check_large(&Poisson(Rate::Softplus), None, mean, v);
        }
        for trials in [50.0, 100.0, 500.0, 1e4, 1e6] {
            check_large(&Binomial, Some(&[trials]), 1.0, v);
        }
    }
    // A mean beyond floats is no obstacle to quantiles.
    let wide = Mixture::new(mat![[0.0]].as_ref(), mat![[2000.0]].as_ref()).unwrap();
    let counts = Poisson(Rate::Exponential);
    let predicted = Predictions::new(&wide, &counts, mat![[1.0]].as_ref(), None).unwrap();
    assert!(predicted.means(Par::Seq).is_err());
    assert!(predicted.row(0).quantile(0.5).unwrap() <= 2.0);
}

#[test]
fn unusual_predictors_are_no_trouble() {
    // Wide and far: E s(f) is Φ-like, a count's mean is e^(a + v/2).
    let wide = Mixture::new(mat![[3.0]].as_ref(), mat![[400.0]].as_ref()).unwrap();
    let phi = mat![[1.0]];
    let two = Predictions::new(&wide, &Bernoulli, phi.as_ref(), None).unwrap();
    let exact = vi_core::GaussianExpectation::log_predictive(&vi_core::BernoulliLogit(vi_core::Exact), 1.0, 3.0, 400.0);
    assert!((two.means(Par::Seq).unwrap()[0] - exact.exp()).abs() < 1e-10);
    assert!((two.log_densities(&[1.0], Par::Seq).unwrap()[0] - exact).abs() < 1e-10);
    let narrow = Mixture::new(mat![[8.0]].as_ref(), mat![[1e-12]].as_ref()).unwrap();
    let counts = Poisson(Rate::Softplus);
    let known = Predictions::new(&narrow, &counts, phi.as_ref(), None).unwrap();
    assert!((known.means(Par::Seq).unwrap()[0] - vi_core::special::softplus(8.0)).abs() < 1e-9);
    // A rate that floats cannot hold.
    let counts = Poisson(Rate::Exponential);
    let huge = Mixture::new(mat![[800.0]].as_ref(), mat![[1.0]].as_ref()).unwrap();
    let error = Predictions::new(&huge, &counts, phi.as_ref(), None).unwrap().means(Par::Seq).unwrap_err();
    assert!(matches!(error, RevrandError::Core(vi_core::Error::Row { row: 0, .. })), "{error}");
}

#[test]
fn wrong_arguments_are_named() {
    let (q, phi) = mixture();
    let error = Predictions::new(&q, &Binomial, phi.as_ref(), None).unwrap_err();
    assert!(matches!(error, RevrandError::Trials { given: false, .. }), "{error}");
    assert!(Predictions::new(&q, &Binomial, phi.as_ref(), Some(&[1.0, 2.0, 0.0, 1.0])).is_err());
    assert!(Predictions::new(&q, &Binomial, phi.as_ref(), Some(&[1.0])).is_err());
    assert!(Predictions::new(&q, &Bernoulli, phi.as_ref(), Some(&[1.0; 4])).is_err());
    assert!(Predictions::new(&q, &Bernoulli, phi.as_ref().subcols(0, 2), None).is_err());
    let predicted = Predictions::new(&q, &Bernoulli, phi.as_ref(), None).unwrap();
    assert!(predicted.log_densities(&[0.0, 1.0], Par::Seq).is_err());
    let error = predicted.log_densities(&[0.0, 1.0, 0.5, 1.0], Par::Seq).unwrap_err();
    assert_eq!(
        error.to_string(),
        "observation 2: label 0.5 is outside the support of the Bernoulli (labels 0 and 1) likelihood"
    );
    assert!(predicted.cdfs(&[0.0, f64::NAN, 0.5, 1.0], Par::Seq).is_err());
    for p in [0.0, 1.0, -0.1, f64::NAN] {
        assert!(predicted.quantiles(p, Par::Seq).is_err() && predicted.intervals(p, Par::Seq).is_err());
        assert!(predicted.row(0).quantile(p).is_err());
    }
}

#[cfg(feature = "rayon")]
#[test]
fn threads_change_no_bit() {
    let (q, phi) = mixture();
    let many = Mat::from_fn(600, 3, |i, j| phi[(i % 4, j)] + 0.001 * i as f64);
    let counts = Poisson(Rate::Softplus);
    let predicted = Predictions::new(&q, &counts, many.as_ref(), None).unwrap();
    for threads in [1, 2, 3] {
        let par = Par::rayon(threads);
        assert_eq!(predicted.means(par).unwrap(), predicted.means(Par::Seq).unwrap());
        assert_eq!(predicted.quantiles(0.9, par).unwrap(), predicted.quantiles(0.9, Par::Seq).unwrap());
    }
}
