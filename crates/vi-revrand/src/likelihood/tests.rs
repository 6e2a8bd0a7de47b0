use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::*;

const PREDICTORS: [f64; 9] = [-35.0, -9.0, -2.1, -0.4, 0.0, 0.3, 1.7, 4.2, 11.0];

/// Runs `check` on every family with some of its labels and trials.
fn each_family(check: &mut impl Check) {
    let noise = Gaussian::new(0.37).unwrap();
    check.family(&noise, &[(-1.3, 1.0), (0.2, 1.0), (7.0, 1.0)]);
    check.family(&Bernoulli, &[(0.0, 1.0), (1.0, 1.0)]);
    check.family(&Binomial, &[(0.0, 4.0), (3.0, 4.0), (4.0, 4.0), (1.0, 1.0), (40.0, 90.0)]);
    for rate in [Rate::Exponential, Rate::Softplus] {
        check.family(&Poisson(rate), &[(0.0, 1.0), (1.0, 1.0), (6.0, 1.0), (25.0, 1.0)]);
    }
}

trait Check {
    fn family<L: GlmLikelihood>(&mut self, likelihood: &L, labels: &[(f64, f64)]);
}

/// A central difference and what it may be off by: `h²` of the third derivative, `ε` of value and argument over `h`.
fn difference(f: impl Fn(f64) -> f64, x: f64) -> (f64, f64) {
    let h = 1e-5;
    let (above, below) = (f(x + h), f(x - h));
    let slope = (above - below) / (2.0 * h);
    let size = above.abs().max(below.abs()) + slope.abs();
    (slope, size * (h * h + 2.0 * f64::EPSILON * (1.0 + x.abs()) / h))
}

#[test]
fn each_derivative_is_the_slope_of_the_one_before() {
    struct Slopes;
    impl Check for Slopes {
        fn family<L: GlmLikelihood>(&mut self, likelihood: &L, labels: &[(f64, f64)]) {
            for &(y, trials) in labels {
                for f in PREDICTORS {
                    let all = likelihood.derivatives(y, trials, f);
                    assert_eq!(all[0], likelihood.log_density(y, trials, f));
                    for order in 1..4 {
                        let (slope, off) = difference(|f| likelihood.derivatives(y, trials, f)[order - 1], f);
                        let family = likelihood.family();
                        assert!(
                            (all[order] - slope).abs() <= off,
                            "{family} y = {y}, f = {f}, derivative {order}: {} {slope}",
                            all[order]
                        );
                    }
                }
            }
        }
    }
    each_family(&mut Slopes);
}

#[test]
fn the_noise_variance_has_its_derivatives() {
    for (y, f) in [(0.3, -1.0), (2.0, 1.9), (-4.0, 3.0)] {
        let at = |variance: f64| Gaussian::new(variance).unwrap().derivatives(y, 1.0, f);
        let mut found = [[f64::NAN; 2]];
        Gaussian::new(0.6).unwrap().parameter_derivatives(y, 1.0, f, &mut found);
        for (order, found) in [(0, found[0][0]), (2, found[0][1])] {
            let (slope, off) = difference(|variance| at(variance)[order], 0.6);
            // The third derivative of 1/σ² is 6/σ⁶ of it.
            assert!((found - slope).abs() <= 30.0 * off);
        }
    }
}

#[test]
fn many_at_once_are_one_by_one() {
    struct Sums;
    impl Check for Sums {
        fn family<L: GlmLikelihood>(&mut self, likelihood: &L, labels: &[(f64, f64)]) {
            let (y, trials): (Vec<f64>, Vec<f64>) = labels.iter().copied().unzip();
            let f: Vec<f64> = labels.iter().flat_map(|_| PREDICTORS).collect();
            let (mut sums, mut slopes) = (vec![f64::NAN; y.len()], vec![f64::NAN; f.len()]);
            likelihood.sums_and_slopes(&y, &trials, &f, &mut sums, &mut slopes);
            for n in 0..y.len() {
                let each = PREDICTORS.map(|f| likelihood.derivatives(y[n], trials[n], f));
                let sum: f64 = each.iter().map(|all| all[0]).sum();
                assert!((sums[n] - sum).abs() <= 32.0 * f64::EPSILON * sum.abs());
                for (all, slope) in each.iter().zip(&slopes[n * PREDICTORS.len()..]) {
                    assert!((slope - all[1]).abs() <= 8.0 * f64::EPSILON * all[1].abs());
                }
            }
        }
    }
    each_family(&mut Sums);
}

#[test]
fn probabilities_sum_to_one_and_have_the_moments_claimed() {
    struct Moments;
    impl Check for Moments {
        fn family<L: GlmLikelihood>(&mut self, likelihood: &L, labels: &[(f64, f64)]) {
            if !likelihood.is_discrete() {
                return;
            }
            for &(_, trials) in labels {
                for f in [-9.0, -0.4, 0.0, 1.7, 4.2] {
                    let most = if likelihood.supports(1e6, trials) { 400.0 } else { trials };
                    let (mut total, mut mean, mut square) = (0.0, 0.0, 0.0);
                    let mut y = 0.0;
                    while y <= most && likelihood.supports(y, trials) {
                        let p = likelihood.log_density(y, trials, f).exp();
                        total += p;
                        mean += p * y;
                        square += p * y * y;
                        // Sums of up to 400 terms.
                        assert!(
                            (likelihood.cdf(y, trials, f) - total).abs() < 1e-13,
                            "{} {y} {f}",
                            likelihood.family()
                        );
                        assert_eq!(likelihood.cdf(y + 0.7, trials, f), likelihood.cdf(y, trials, f));
                        y += 1.0;
                    }
                    assert!((total - 1.0).abs() < 1e-13 && likelihood.cdf(-0.5, trials, f) == 0.0);
                    assert!((mean / likelihood.mean(trials, f) - 1.0).abs() < 1e-12);
                    let variance = square - mean * mean;
                    assert!((variance / likelihood.variance(trials, f) - 1.0).abs() < 1e-10 * (1.0 + mean));
                }
            }
        }
    }
    each_family(&mut Moments);
}

#[test]
fn large_counts_keep_their_digits() {
    // A million: terms of 1e7 would cancel to 1e-9. The distribution function's steps are the probabilities.
    let n = 1e6;
    for (y, f) in [(500_300.0, 0.001), (400_000.0, -0.4), (999_990.0, 11.0), (3.0, -13.0)] {
        let step = Binomial.cdf(y, n, f) - Binomial.cdf(y - 1.0, n, f);
        let mass = Binomial.log_density(y, n, f).exp();
        // Near the mode a logarithm is good to √n·ε; the continued fraction subtracts numbers that differ by 1/n of themselves.
        let tolerance = 1e-11;
        assert!((step - mass).abs() < tolerance, "{y}: {step} {mass}");
        let counts = Poisson(Rate::Exponential);
        let f = f64::ln(y) + 0.3 / f64::sqrt(y);
        let (step, mass) = (counts.cdf(y, 1.0, f) - counts.cdf(y - 1.0, 1.0, f), counts.log_density(y, 1.0, f).exp());
        assert!((step - mass).abs() < tolerance, "{y}: {step} {mass}");
    }
    // 40 digits.
    let log = Binomial.log_density(999_990.0, n, 11.0);
    assert!((log - f64::ln(0.025_967_401_606_552_317)).abs() < 1e-12);
    // log of the Poisson probability of its own mean, −½·log(2πy) − 1/(12y).
    let log = Poisson(Rate::Exponential).log_density(1e6, 1.0, f64::ln(1e6));
    assert!((log + 7.826_693_895_520_143).abs() < 1e-12, "{log}");
}

#[test]
fn tails_are_exact() {
    let softplus = Poisson(Rate::Softplus);
    // g → e^f: y·f − e^f − log y!, and every derivative −e^f beyond the first.
    for f in [-40.0, -200.0, -700.0] {
        let [value, first, second, third] = softplus.derivatives(2.0, 1.0, f);
        let e = f64::exp(f);
        assert!((value - (2.0 * f - f64::ln(2.0))).abs() <= 4.0 * f64::EPSILON * value.abs());
        assert!((first - 2.0).abs() < 1e-15);
        // (log g)″ = −e^f/2 and s′ = e^f: −2·½ − 1.
        assert!((second / (-2.0 * e) - 1.0).abs() < 1e-14 && (third / (-2.0 * e) - 1.0).abs() < 1e-14);
        assert!((Bernoulli.log_density(0.0, 1.0, f) / -e - 1.0).abs() < 1e-15);
        assert!((Binomial.log_density(0.0, 7.0, f) / (-7.0 * e) - 1.0).abs() < 1e-15);
    }
    assert_eq!(softplus.log_density(0.0, 1.0, -800.0), 0.0);
    assert_eq!(Poisson(Rate::Exponential).log_density(0.0, 1.0, 800.0), f64::NEG_INFINITY);
    assert_eq!(Poisson(Rate::Exponential).cdf(5.0, 1.0, 800.0), 0.0);
    assert_eq!(softplus.cdf(5.0, 1.0, -800.0), 1.0);
}

#[test]
fn draws_have_the_mean_and_the_variance() {
    struct Draws;
    impl Check for Draws {
        fn family<L: GlmLikelihood>(&mut self, likelihood: &L, labels: &[(f64, f64)]) {
            let rng = &mut ChaCha8Rng::seed_from_u64(3);
            let (trials, f, n) = (labels[0].1, 0.8, 4000);
            let draws: Vec<f64> = (0..n).map(|_| likelihood.draw(trials, f, rng).unwrap()).collect();
            let (mean, variance) = (likelihood.mean(trials, f), likelihood.variance(trials, f));
            let found = draws.iter().sum::<f64>() / f64::from(n);
            let spread = draws.iter().map(|y| (y - found).powi(2)).sum::<f64>() / f64::from(n);
            assert!(draws.iter().all(|&y| likelihood.supports(y, trials)));
            // 6 standard errors of the mean, and of the variance with fourth moments up to 5 variances squared.
            assert!((found - mean).abs() < 6.0 * (variance / f64::from(n)).sqrt());
            assert!((spread - variance).abs() < 6.0 * variance * f64::sqrt(4.0 / f64::from(n)));
        }
    }
    each_family(&mut Draws);
    let rng = &mut ChaCha8Rng::seed_from_u64(3);
    assert!(Poisson(Rate::Exponential).draw(1.0, 800.0, rng).is_err());
    assert_eq!(Poisson(Rate::Exponential).draw(1.0, -800.0, rng), Ok(0.0));
}

#[test]
fn labels_outside_the_family_are_not_supported() {
    for (y, trials) in
        [(-1.0, 3.0), (4.0, 3.0), (0.5, 3.0), (0.0, 0.0), (1.0, 2.5), (f64::NAN, 3.0), (1.0, f64::INFINITY)]
    {
        assert!(!Binomial.supports(y, trials), "{y} of {trials}");
    }
    assert!(!Bernoulli.supports(0.5, 1.0) && !Poisson(Rate::Softplus).supports(-1.0, 1.0));
    assert!(!Gaussian::new(1.0).unwrap().supports(f64::INFINITY, 1.0));
}

#[test]
fn stored_noise_is_checked() {
    let noise = Gaussian::new(0.5).unwrap();
    let text = serde_json::to_string(&noise).unwrap();
    assert_eq!(serde_json::from_str::<Gaussian>(&text).unwrap(), noise);
    assert!(serde_json::from_str::<Gaussian>(&text.replace("0.5", "-0.5")).is_err());
    let bound = crate::Bound::positive_between(0.1, 0.2).unwrap();
    assert!(Gaussian::bounded(0.5, bound).is_err() && Gaussian::new(f64::NAN).is_err());
}
