use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_core::special::{normal_density, sigmoid};
use vi_core::{Exact, GaussianLikelihood, Mixture8, ProbitApproximation};
use vi_linalg::faer::mat;
use vi_linalg::kernels::{mirror_lower, symmetric_rank_r};

use super::*;

const CASES: [(f64, f64); 9] = [
    (0.0, 0.5),
    (0.25, 1e-10),
    (-2.0, 0.01),
    (1.5, 1.0),
    (1.5, 1.0 + 1e-9),
    (-30.0, 0.5),
    (0.5, 9.0),
    (3.0, 400.0),
    (-700.0, 1e4),
];

fn seen(mean: f64, variance: f64) -> Projection {
    Projection { mean, variance }
}

#[test]
fn many_rows_are_seen_as_one_by_one() {
    let rng = &mut ChaCha8Rng::seed_from_u64(3);
    let (d, n) = (17, 600);
    let g = Mat::from_fn(d, d, |_, _| StandardNormal.sample(rng));
    let mut covariance = Mat::<f64>::identity(d, d);
    symmetric_rank_r(covariance.as_mut(), 1.0, g.as_ref(), g.as_ref(), Par::Seq);
    mirror_lower(covariance.as_mut());
    let mean: Vec<f64> = (0..d).map(|_| StandardNormal.sample(rng)).collect();
    let belief = DenseGaussian::new(&mean, covariance.as_ref()).unwrap();
    let x = Mat::from_fn(n, d, |_, _| StandardNormal.sample(rng));

    let all = project(&belief, x.as_ref()).unwrap();
    assert_eq!(all.len(), n);
    for (i, all) in all.iter().enumerate() {
        let row: Vec<f64> = x.row(i).iter().copied().collect();
        let one = belief.predict(&row).unwrap();
        // Sums of d and d² terms; ‖P‖ is below (2√d)² + 1.
        let size = row.iter().map(|x| x * x).sum::<f64>();
        let d = d as f64;
        assert!((one.mean - all.mean).abs() < d * f64::EPSILON * size.sqrt() * 3.0 * d.sqrt(), "row {i}");
        assert!((one.variance - all.variance).abs() < d * f64::EPSILON * size * (4.0 * d + 1.0), "row {i}");
    }
}

#[test]
fn the_probit_is_the_papers() {
    for (a, nu) in CASES {
        let predicted = LogisticPrediction::new(seen(a, nu), &ProbitApproximation);
        let k = ProbitApproximation::scale(nu);
        assert_eq!(predicted.probability, sigmoid(k * a)); // (62)
        // (63); 1 − k as the paper has it rounds by ε.
        let paper = sigmoid(k * a) * sigmoid(-k * a) * (1.0 - k);
        assert!((predicted.variance - paper).abs() <= 2.0 * f64::EPSILON * sigmoid(k * a) + 1e-13 * paper, "{a}, {nu}");
    }
}

#[test]
fn golden_means_and_variances() {
    // 40-digit quadrature: a, ν, E s, Var s.
    let cases = [
        (0.25, 1e-10, 0.5621765008857981, 6.058198668223718e-12),
        (-2.0, 0.01, 0.11960247252283553, 0.00011096164891326767),
        (1.5, 1.0, 0.7785265948093283, 0.024152548783633834),
        (-30.0, 0.5, 1.2015425731769405e-13, 9.365618535361822e-27),
        (0.5, 9.0, 0.5572182216794164, 0.1330899788099006),
        (3.0, 400.0, 0.5593764168762703, 0.22682910041391783),
    ];
    for (a, nu, mean, variance) in cases {
        let exact = LogisticPrediction::new(seen(a, nu), &Exact);
        let mixture = LogisticPrediction::new(seen(a, nu), &Mixture8);
        // By quadrature s(a+σx) rounds like its argument, |t|·ε; beyond, 1e-14 of the mean.
        let relative = if nu <= 1.0 { 4.0 * f64::EPSILON * (4.0 + f64::abs(a)) } else { 1e-13 };
        assert!((exact.variance / variance - 1.0).abs() < relative, "{a}, {nu}: {} {variance}", exact.variance);
        if nu > 1e-9 {
            assert!((exact.probability / mean - 1.0).abs() < 1e-13, "{a}, {nu}");
        }
        assert!((mixture.probability - mean).abs() < 2.15e-9, "{a}, {nu}");
        let limit = if nu <= 1.0 { relative * variance } else { 2.4e-8 };
        assert!((mixture.variance - variance).abs() < limit, "{a}, {nu}");
    }
}

#[test]
fn quadrature_and_difference_meet() {
    let by_parts = |a: f64| (Exact.probability_variance(a, 1.0), Exact.probability_variance(a, 1.0 + f64::EPSILON));
    for a in [-8.0, -3.0, 0.0, 0.7, 5.0] {
        let (below, above) = by_parts(a);
        assert!((below - above).abs() < 4e-14 * sigmoid(-f64::abs(a)), "{a}: {below} {above}");
    }
}

#[test]
fn averaging_is_less_confident_than_the_plug_in() {
    // (122)
    for (a, nu) in [(-2.0, 0.01), (1.5, 1.0), (0.5, 9.0), (3.0, 400.0), (-6.0, 2.0)] {
        for probability in [
            LogisticPrediction::new(seen(a, nu), &ProbitApproximation),
            LogisticPrediction::new(seen(a, nu), &Mixture8),
            LogisticPrediction::new(seen(a, nu), &Exact),
        ]
        .map(|p| (p.probability - 0.5).abs())
        {
            assert!(probability < (sigmoid(a) - 0.5).abs(), "{a}, {nu}");
        }
    }
}

fn check_symmetry_and_certainty<M: ProbabilityVariance>(method: &M) {
    for (a, nu) in CASES {
        let (one, other) =
            (LogisticPrediction::new(seen(a, nu), method), LogisticPrediction::new(seen(-a, nu), method));
        assert!((one.probability + other.probability - 1.0).abs() < 1e-13, "{a}, {nu}");
        // Quadrature centred at ±a rounds differently: relative to the difference of logistics.
        assert!((one.variance - other.variance).abs() <= 1e-13 * one.variance + 1e-14 * sigmoid(-a.abs()), "{a}, {nu}");
        assert!(one.variance >= 0.0 && one.variance <= 0.25);
        let certain = LogisticPrediction::new(seen(a, 0.0), method);
        assert_eq!(certain.variance, 0.0);
        // The mixture is within 2.1e-9, to two digits, of the logistic.
        assert!((certain.probability - certain.plug_in).abs() < 2.15e-9);
        assert_eq!(certain.interval(0.9).unwrap().lower, certain.plug_in);
    }
}

#[test]
fn classes_are_symmetric_and_a_certain_belief_has_no_variance() {
    check_symmetry_and_certainty(&ProbitApproximation);
    check_symmetry_and_certainty(&Mixture8);
    check_symmetry_and_certainty(&Exact);
}

#[test]
fn a_probability_never_exceeds_one() {
    for a in [20.0, 40.0, 1e3] {
        assert!(LogisticPrediction::new(seen(a, 0.5), &Mixture8).probability <= 1.0);
    }
}

#[test]
fn intervals_hold_their_level() {
    // Mass of N(a, ν) between the logits of the ends, by the trapezoid rule.
    let predicted = LogisticPrediction::new(seen(0.7, 4.0), &Exact);
    let interval = predicted.interval(0.8).unwrap();
    let logit = |p: f64| (p / (1.0 - p)).ln();
    let (low, high) = ((logit(interval.lower) - 0.7) / 2.0, (logit(interval.upper) - 0.7) / 2.0);
    let steps = 2000;
    let width = (high - low) / f64::from(steps);
    let mass: f64 = (0..steps).map(|i| width * normal_density(low + width * (f64::from(i) + 0.5))).sum();
    // Midpoint rule: width²/24 · (φ′ at the ends).
    assert!((mass - 0.8).abs() < width * width, "{mass}");

    let prediction = LinearPrediction::new(seen(1.0, 3.0), GaussianLikelihood::new(6.0).unwrap());
    let ratio = |interval: Interval| interval.upper - interval.lower;
    let noisy = ratio(prediction.interval(0.5).unwrap());
    assert!((noisy / ratio(prediction.mean_interval(0.5).unwrap()) - f64::sqrt(3.0)).abs() < 4.0 * f64::EPSILON);
}

#[test]
fn bad_input_is_named() {
    let belief = DenseGaussian::isotropic(&[0.0, 0.0], 1.0).unwrap();
    assert_eq!(project(&belief, Mat::zeros(0, 2).as_ref()), Err(Error::Empty { argument: "x" }.into()));
    let columns = Error::Dimension { argument: "columns of x", expected: 2, found: 1 };
    assert_eq!(logistic(&belief, Mat::zeros(4, 1).as_ref(), &ProbitApproximation), Err(columns.into()));
    let nan = project(&belief, mat![[0.0, 0.0], [0.0, f64::NAN]].as_ref()).unwrap_err();
    assert!(matches!(nan, ModelError::Core(Error::Row { row: 1, .. })));
    let overflow = project(&belief, mat![[0.0, 0.0], [1e200, 0.0]].as_ref()).unwrap_err();
    assert_eq!(overflow, Error::Overflow { quantity: "xᵀPx", value: f64::INFINITY }.at_row(1).into());
    let late = Mat::from_fn(300, 2, |i, _| if i == 299 { 1e200 } else { 0.0 });
    let late = project(&belief, late.as_ref()).unwrap_err();
    assert_eq!(late, Error::Overflow { quantity: "xᵀPx", value: f64::INFINITY }.at_row(299).into());
    assert!(weights(&belief, 1.5).is_err());
    assert!(LogisticPrediction::new(seen(0.0, 1.0), &ProbitApproximation).interval(0.0).is_err());
}

#[test]
fn robust_predictions_are_sums_of_a_gaussian_and_a_student() {
    use rand::SeedableRng;
    let noise = crate::likelihood::StudentT::new(5.0, 0.7).unwrap();
    for (mean, variance) in [(0.3, 0.0), (-2.0, 0.4), (1.0, 50.0), (0.0, 1e-8)] {
        let predicted = RobustPrediction::new(Projection { mean, variance }, noise);
        for p in [0.01, 0.3, 0.5, 0.95] {
            let y = predicted.quantile(p).unwrap();
            assert!((predicted.cdf(y).unwrap() - p).abs() < 1e-10, "{p}");
            // The density is the slope of the distribution: truncation h², rounding 1e-11/h.
            let h = 1e-4 * predicted.variance.sqrt();
            let slope = (predicted.cdf(y + h).unwrap() - predicted.cdf(y - h).unwrap()) / (2.0 * h);
            let density = predicted.log_density(y).unwrap().exp();
            assert!((slope / density - 1.0).abs() < 1e-5, "{mean}, {variance}, {p}: {slope} {density}");
        }
        let interval = predicted.interval(0.9).unwrap();
        assert!((predicted.cdf(interval.lower).unwrap() - 0.05).abs() < 1e-10);
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(8);
        let inside = (0..4000).filter(|_| interval.contains(predicted.draw(&mut rng).unwrap())).count();
        assert!((inside as f64 / 4000.0 - 0.9).abs() < 6.0 * (0.09_f64 / 4000.0).sqrt());
    }
    let cauchy = crate::likelihood::StudentT::new(1.0, 1.0).unwrap();
    let predicted = RobustPrediction::new(Projection { mean: 0.0, variance: 1.0 }, cauchy);
    assert!(predicted.mean.is_nan() && predicted.variance.is_infinite() && predicted.quantile(0.99).is_ok());
    assert!(predicted.quantile(0.0).is_err() && predicted.cdf(f64::NAN).is_err());
}

#[test]
fn linear_quantiles_densities_and_draws_belong_together() {
    use rand::SeedableRng;
    let predicted =
        LinearPrediction::new(Projection { mean: 1.0, variance: 2.0 }, GaussianLikelihood::new(0.5).unwrap());
    let interval = predicted.interval(0.8).unwrap();
    assert!((predicted.quantile(0.9).unwrap() - interval.upper).abs() < 1e-14);
    assert!((predicted.quantile(0.1).unwrap() - interval.lower).abs() < 1e-14);
    assert!((predicted.log_density(1.0).unwrap() + 0.5 * (std::f64::consts::TAU * 2.5).ln()).abs() < 1e-15);
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(8);
    let inside = (0..4000).filter(|_| interval.contains(predicted.draw(&mut rng))).count();
    assert!((inside as f64 / 4000.0 - 0.8).abs() < 6.0 * (0.16_f64 / 4000.0).sqrt());
    assert!(predicted.quantile(1.0).is_err());
}

#[test]
fn quantiles_of_the_probability_are_images_of_the_gaussians() {
    for (a, nu) in CASES {
        let predicted = LogisticPrediction::new(seen(a, nu), &Exact);
        assert_eq!(predicted.quantile(0.5).unwrap(), predicted.plug_in);
        for p in [1e-6, 0.05, 0.3, 0.8, 0.999] {
            let q = predicted.quantile(p).unwrap();
            // Φ((logit q − a)/√ν) = p, where q keeps the digits of its logit.
            let t = a + vi_core::special::normal_quantile(p) * nu.sqrt();
            assert_eq!(q, sigmoid(t));
            assert!(q <= predicted.quantile(p + 1e-4).unwrap());
        }
        let interval = predicted.interval(0.9).unwrap();
        for (p, end) in [(0.05, interval.lower), (0.95, interval.upper)] {
            let q = predicted.quantile(p).unwrap();
            // 0.5·(1 − 0.9) and 1 − 0.95 are 0.05 to a few ε, which the quantile amplifies by 1/φ(z) ≈ 10.
            assert!(
                (q - end).abs() <= 100.0 * f64::EPSILON * (1.0 + nu.sqrt()) * end.max(f64::MIN_POSITIVE),
                "{a} {nu}"
            );
        }
        for p in [0.0, 1.0, -0.1, 1.5, f64::NAN] {
            let error = predicted.quantile(p).unwrap_err();
            assert!(matches!(error, ModelError::Core(Error::Setting { name: "p", .. })), "{error}");
            let error = predicted.interval(p).unwrap_err();
            assert!(matches!(error, ModelError::Core(Error::Setting { name: "level", .. })), "{error}");
        }
    }
}

#[test]
fn drawn_probabilities_and_labels_have_the_predicted_moments() {
    let rng = &mut ChaCha8Rng::seed_from_u64(21);
    let draws = 20_000;
    let n = f64::from(draws);
    for (a, nu) in [(0.0, 0.5), (1.5, 1.0), (-0.5, 9.0)] {
        let predicted = LogisticPrediction::new(seen(a, nu), &Exact);
        let below = predicted.quantile(0.2).unwrap();
        let (mut sum, mut squares, mut ones, mut low) = (0.0, 0.0, 0.0, 0.0);
        for _ in 0..draws {
            let probability = predicted.draw_probability(rng);
            sum += probability;
            squares += (probability - predicted.probability).powi(2);
            low += f64::from(probability <= below);
            let label = predicted.draw_label(rng);
            assert!(label == 0.0 || label == 1.0);
            ones += label;
        }
        let deviation = predicted.variance.sqrt();
        assert!((sum / n - predicted.probability).abs() < 6.0 * deviation / n.sqrt(), "{a} {nu}");
        // (s − E s)² lies in [0, 1]: its variance is at most its mean.
        assert!((squares / n - predicted.variance).abs() < 6.0 * deviation / n.sqrt(), "{a} {nu}");
        assert!((low / n - 0.2).abs() < 6.0 * 0.4 / n.sqrt(), "{a} {nu}");
        let bernoulli = (predicted.probability * (1.0 - predicted.probability)).sqrt();
        assert!((ones / n - predicted.probability).abs() < 6.0 * bernoulli / n.sqrt(), "{a} {nu}");
    }
}
