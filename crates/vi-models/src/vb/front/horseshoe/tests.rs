use rand::SeedableRng;
use rand::{Rng, RngExt};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_core::special::log_sigmoid;

use super::*;

const X: [f64; 8] = [0.1, 1.4, -0.7, 2.0, -1.9, 0.6, -0.2, 1.1];
const Y: [f64; 8] = [0.9, 3.1, -1.2, 3.6, -4.1, 1.9, -0.3, 1.6];

fn half_cauchy<R: Rng>(rng: &mut R) -> f64 {
    (0.5 * std::f64::consts::PI * rng.random::<f64>()).tan()
}

fn normal<R: Rng>(rng: &mut R) -> f64 {
    StandardNormal.sample(rng)
}

/// The log of the mean likelihood over draws of the prior, each with the Gaussian factor `N(w, 0, s²)` as its weight.
fn by_prior_draws(slab: f64, mut draw: impl FnMut(&mut ChaCha8Rng) -> (f64, f64)) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let (mut sum, mut total) = (0.0, 0.0);
    for _ in 0..400_000 {
        let (w, log_likelihood) = draw(&mut rng);
        let weight = (-0.5 * (w / slab).powi(2)).exp();
        sum += weight * log_likelihood.exp();
        total += weight;
    }
    (sum / total).ln()
}

fn standardised(values: &[f64]) -> (Vec<f64>, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let scale = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt();
    (values.iter().map(|v| (v - mean) / scale).collect(), scale)
}

#[test]
fn the_evidence_is_the_mean_likelihood_under_the_prior() {
    let settings = HorseshoeSettings { warm_up: 100_000, draws: 10, ..Default::default() };
    let ((x, _), (y, unit)) = (standardised(&X), standardised(&Y));
    let n = x.len() as f64;
    let exact = by_prior_draws(20.0, |rng| {
        let sigma = half_cauchy(rng);
        let w = sigma * half_cauchy(rng) * half_cauchy(rng) * normal(rng);
        let square: f64 = x.iter().zip(&y).map(|(x, y)| (y - w * x).powi(2)).sum();
        let log_scale = (2.0 * std::f64::consts::PI * sigma * sigma).ln();
        (w, -0.5 * (n - 1.0) * log_scale - 0.5 * square / (sigma * sigma) - 0.5 * n.ln())
    }) - n * unit.ln();
    let model = HorseshoeLinear::fit(&X, 1, &Y, &settings, &mut ChaCha8Rng::seed_from_u64(1)).unwrap();
    assert!((model.info().evidence - exact).abs() < 0.15, "numbers: {} for {exact}", model.info().evidence);

    let labels: Vec<f64> = [0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0].into();
    let exact = by_prior_draws(5.0, |rng| {
        let (w, intercept) = (half_cauchy(rng) * half_cauchy(rng) * normal(rng), 5.0 * normal(rng));
        (w, x.iter().zip(&labels).map(|(x, y)| log_sigmoid((2.0 * y - 1.0) * (intercept + w * x))).sum())
    });
    let model = HorseshoeLogit::fit(&X, 1, &labels, &settings, &mut ChaCha8Rng::seed_from_u64(1)).unwrap();
    assert!((model.info().evidence - exact).abs() < 0.15, "classes: {} for {exact}", model.info().evidence);
}

#[test]
fn evidence_is_in_units_of_the_labels_and_the_posterior_follows_them() {
    let settings = HorseshoeSettings::default();
    // A power of two, so that nothing is rounded.
    let larger: Vec<f64> = Y.iter().map(|y| 1024.0 * y).collect();
    let fit = |y: &[f64]| HorseshoeLinear::fit(&X, 1, y, &settings, &mut ChaCha8Rng::seed_from_u64(1)).unwrap();
    let (small, large) = (fit(&Y), fit(&larger));
    let moved = small.info().evidence - large.info().evidence;
    assert!((moved - 8.0 * 1024f64.ln()).abs() < 1e-9, "{moved}");
    let [of_small, of_large] = [&small, &large].map(|model| model.coefficients().unwrap());
    assert_eq!(1024.0 * of_small.weights[0], of_large.weights[0]);
    assert_eq!(1024.0 * of_small.standard_deviations[0], of_large.standard_deviations[0]);
    assert_eq!(small.sizes(), large.sizes());
}

#[test]
fn weights_of_all_together_and_one_by_one_have_one_posterior() {
    // Two columns that are nearly the same, with opposing weights: single moves alone do not leave the ridge between them.
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let n = 400;
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for _ in 0..n {
        let (common, own) = (normal(&mut rng), 0.05 * normal(&mut rng));
        x.extend([common, common + own]);
        y.push(6.0 * common - 6.0 * (common + own) + 0.3 * normal(&mut rng));
    }
    let model = HorseshoeLinear::fit(&x, 2, &y, &HorseshoeSettings::default(), &mut rng).unwrap();
    let intervals = model.weight_intervals(0.9).unwrap();
    let found = model.coefficients().unwrap();
    // Least squares: a deviation of 0.3/(0.05·√400).
    assert!((found.weights[0] - 6.0).abs() < 1.0 && (found.weights[1] + 6.0).abs() < 1.0, "{found:?}");
    assert!((found.standard_deviations[0] / 0.3 - 1.0).abs() < 0.35, "{found:?}");
    assert!(intervals[0].contains(found.weights[0]));
}

#[test]
fn a_model_is_stored_and_a_changed_or_other_one_is_refused() {
    let settings = HorseshoeSettings { draws: 20, warm_up: 20, ..Default::default() };
    let model = HorseshoeLinear::fit(&X, 2, &Y[..4], &settings, &mut ChaCha8Rng::seed_from_u64(1)).unwrap();
    let text = serde_json::to_string(&model).unwrap();
    let read: HorseshoeLinear = serde_json::from_str(&text).unwrap();
    assert_eq!(read, model);
    assert!(serde_json::from_str::<HorseshoeLogit>(&text).is_err());
    assert!(serde_json::from_str::<HorseshoeLinear>(&text.replacen("\"draws\":20", "\"draws\":21", 1)).is_err());
    for settings in [HorseshoeSettings { draws: usize::MAX, ..settings }, HorseshoeSettings { warm_up: 1, ..settings }]
    {
        assert!(HorseshoeLinear::fit(&X, 2, &Y[..4], &settings, &mut ChaCha8Rng::seed_from_u64(1)).is_err());
    }
}

#[test]
fn intervals_hold_with_more_columns_than_rows() {
    let (n, new, d, sets) = (60, 40, 100, 4);
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    // Weights that are 0, others, new labels; and new labels by variational relevance determination.
    let mut held = [0.0; 4];
    for _ in 0..sets {
        let x: Vec<f64> = (0..(n + new) * d).map(|_| normal(&mut rng)).collect();
        let truth: Vec<f64> = (0..d).map(|j| if j < 5 { 1.5 * normal(&mut rng).signum() } else { 0.0 }).collect();
        let label =
            |x: &[f64], rng: &mut ChaCha8Rng| x.iter().zip(&truth).map(|(x, w)| x * w).sum::<f64>() + normal(rng);
        let y: Vec<f64> = x.chunks(d).map(|x| label(x, &mut rng)).collect();
        let (rows, later) = x.split_at(n * d);
        let model = HorseshoeLinear::fit(rows, d, &y[..n], &HorseshoeSettings::default(), &mut rng).unwrap();
        for (interval, w) in model.weight_intervals(0.9).unwrap().iter().zip(&truth) {
            let (kind, count) = if *w == 0.0 { (0, 95.0) } else { (1, 5.0) };
            held[kind] += f64::from(u8::from(interval.contains(*w))) / (count * f64::from(sets));
        }
        let each = 1.0 / (f64::from(sets) * new as f64);
        for (seen, y) in model.predict(later).unwrap().iter().zip(&y[n..]) {
            held[2] += each * f64::from(u8::from(seen.interval(0.9).unwrap().contains(*y)));
        }
        let settings = crate::vb::VbLinearSettings { ard: true, ..Default::default() };
        let variational = crate::vb::VbLinear::fit(rows, d, &y[..n], &settings).unwrap();
        for (seen, y) in variational.predict(later).unwrap().iter().zip(&y[n..]) {
            held[3] += each * f64::from(u8::from(seen.interval(0.9).unwrap().contains(*y)));
        }
    }
    let [zeros, others, labels, variational] = held;
    // Twenty weights that are not 0 have a standard error of 7 points.
    assert!(zeros > 0.95 && others > 0.7 && labels > 0.8 && variational < 0.2, "{held:?}");
}

#[test]
fn the_bound_of_variational_bayes_is_in_units_of_the_labels_too() {
    let larger: Vec<f64> = Y.iter().map(|y| 1024.0 * y).collect();
    for ard in [false, true] {
        let settings = crate::vb::VbLinearSettings { ard, ..Default::default() };
        let fit = |y: &[f64]| crate::vb::VbLinear::fit(&X, 1, y, &settings).unwrap();
        let (small, large) = (fit(&Y), fit(&larger));
        assert!((small.evidence() - large.evidence() - 8.0 * 1024f64.ln()).abs() < 1e-9);
        assert_eq!(small.scaled_fit().bound(), large.scaled_fit().bound());
    }
}
