//! Coverage of 90 % intervals of the weights on data simulated from the prior, measured: what the documentation of
//! [`vi_models::vb::LogitBound`] prints. `VI_SLOW=1 cargo test -p vi-models --test it vb_coverage -- --nocapture` prints it anew.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_core::special::sigmoid;
use vi_linalg::faer::{Mat, Par};
use vi_models::Interval;
use vi_models::vb::{self, LinearPrior, LogitBound, LogitPrior, VbSettings, WeightDistribution};

const LEVEL: f64 = 0.9;

/// Weights from `N(0, σ₀²I)`, `n` rows of normals of variance 1 and correlation `rho`.
struct Simulated {
    x: Mat<f64>,
    w: Vec<f64>,
    rng: ChaCha8Rng,
}

impl Simulated {
    fn new(seed: u64, n: usize, d: usize, sigma0: f64, rho: f64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let w = (0..d).map(|_| sigma0 * normal()).collect();
        let common: Vec<f64> = (0..n).map(|_| normal()).collect();
        let x = Mat::from_fn(n, d, |i, _| rho.sqrt() * common[i] + (1.0 - rho).sqrt() * normal());
        Self { x, w, rng }
    }

    fn mean(&self, i: usize) -> f64 {
        self.w.iter().enumerate().map(|(j, w)| w * self.x[(i, j)]).sum()
    }

    fn classes(&mut self) -> Vec<f64> {
        (0..self.x.nrows())
            .map(|i| {
                let probability = sigmoid(self.mean(i));
                f64::from(self.rng.random::<f64>() < probability)
            })
            .collect()
    }
}

/// How many of the true weights lie in the intervals of `N(w, diag(variances))`.
fn hits(truth: &[f64], means: &[f64], variances: &[f64]) -> usize {
    let inside = |((truth, mean), variance): ((&f64, &f64), &f64)| {
        Interval::gaussian(*mean, *variance, LEVEL).unwrap().contains(*truth)
    };
    truth.iter().zip(means).zip(variances).filter(|entry| inside(*entry)).count()
}

/// `1/(V⁻¹)_jj`: the variances of the best Gaussian with independent weights for the Gaussian `N(w, V)`.
fn mean_field(weights: &WeightDistribution) -> Vec<f64> {
    let precision = weights.precision().unwrap();
    (0..weights.dim()).map(|j| 1.0 / precision[(j, j)]).collect()
}

/// Coverages of the weights: Jaakkola and Jordan, softplus, and softplus with independent weights.
fn logit_coverage(n: usize, d: usize, sigma0: f64, rho: f64, repetitions: u64) -> [f64; 3] {
    // A hyper-prior so sharp that the shrinkage is known: α = 1/σ₀².
    let sharp = 1e8;
    let prior = LogitPrior::new(sharp, sharp * sigma0 * sigma0).unwrap();
    let mut counts = [0; 3];
    for seed in 0..repetitions {
        let mut data = Simulated::new(seed, n, d, sigma0, rho);
        let y = data.classes();
        let fit = |bound| vb::logit(data.x.as_ref(), &y, prior, bound, &VbSettings::default(), Par::Seq).unwrap();
        let [quadratic, softplus] = [LogitBound::JaakkolaJordan, LogitBound::Softplus].map(fit);
        counts[0] += hits(&data.w, quadratic.weights().mean(), &quadratic.weights().variances());
        counts[1] += hits(&data.w, softplus.weights().mean(), &softplus.weights().variances());
        counts[2] += hits(&data.w, softplus.weights().mean(), &mean_field(softplus.weights()));
    }
    counts.map(|count| count as f64 / (repetitions as f64 * d as f64))
}

#[test]
fn the_quadratic_bound_and_independent_weights_are_too_certain() {
    for (n, d, sigma0, rho, quadratic, independent) in TABLE {
        let repetitions = if crate::slow() { 400 } else { 60 };
        let found = logit_coverage(n, d, sigma0, rho, repetitions);
        println!("| {n} | {d} | {sigma0} | {rho} | {:.3} | {:.3} | {:.3} |", found[0], found[2], found[1]);
        // Weights of one data set share its luck: their standard error is at most that of √d fewer.
        let error = |p: f64| 3.0 * (p * (1.0 - p) / (repetitions as f64 * (d as f64).sqrt())).sqrt();
        assert!((found[0] - quadratic).abs() < 0.01 + error(quadratic), "{n} {d} {sigma0}: {found:?}");
        assert!((found[2] - independent).abs() < 0.01 + error(independent), "{n} {d} {sigma0}: {found:?}");
        assert!((found[1] - LEVEL).abs() < 0.03 + error(LEVEL), "{n} {d} {sigma0}: {found:?}");
    }
}

/// `n`, `d`, `σ₀`, correlation, and what was measured with 400 data sets for Jaakkola and Jordan's bound and for independent weights.
const TABLE: [(usize, usize, f64, f64, f64, f64); 4] = [
    (80, 10, 1.0, 0.0, 0.779, 0.861),
    (80, 10, 1.0, 0.7, 0.837, 0.751),
    (40, 5, 2.0, 0.0, 0.739, 0.857),
    (160, 20, 1.0, 0.0, 0.742, 0.855),
];

#[test]
fn linear_fits_cover_what_they_promise() {
    // α and τ drawn from hyper-priors with mass where data are; n ≥ 4d.
    let (n, d, repetitions) = (40, 6, if crate::slow() { 1000 } else { 200 });
    let prior = LinearPrior::new(3.0, 3.0, 3.0, 3.0).unwrap();
    let (mut weights, mut futures) = (0, 0);
    for seed in 0..repetitions {
        let mut data = Simulated::new(1000 + seed, n + 1, d, 1.0, 0.3);
        let (tau, alpha) = (gamma(&mut data.rng, 3) / 3.0, gamma(&mut data.rng, 3) / 3.0);
        for w in &mut data.w {
            *w /= (tau * alpha).sqrt();
        }
        let y: Vec<f64> = (0..=n)
            .map(|i| {
                let noise: f64 = StandardNormal.sample(&mut data.rng);
                data.mean(i) + noise / tau.sqrt()
            })
            .collect();
        let x = data.x.as_ref().subrows(0, n);
        let fit = vb::linear(x, &y[..n], prior, &VbSettings::default(), Par::Seq).unwrap();
        let intervals = fit.weight_intervals(LEVEL).unwrap();
        weights += intervals.iter().zip(&data.w).filter(|(interval, w)| interval.contains(**w)).count();
        let future = fit.predict(data.x.as_ref().subrows(n, 1)).unwrap()[0].interval(LEVEL).unwrap();
        futures += usize::from(future.contains(y[n]));
    }
    let error = 3.0 * (LEVEL * (1.0 - LEVEL) / repetitions as f64).sqrt();
    let coverage = weights as f64 / (repetitions as f64 * d as f64);
    println!("linear: weights {coverage:.3}, future y {:.3}", futures as f64 / repetitions as f64);
    assert!((coverage - LEVEL).abs() < error, "{coverage}");
    assert!((futures as f64 / repetitions as f64 - LEVEL).abs() < error, "{futures}");
}

/// `n`, `d`, weights that are not 0, and the coverage of new labels measured with `8000/d` data sets for variational relevance determination and for
/// the horseshoe: what the documentation of [`vi_models::vb`] prints.
const SPARSE: [(usize, usize, usize, [f64; 2]); 4] = [
    (30, 20, 4, [0.777, 0.904]),
    (100, 50, 5, [0.823, 0.889]),
    (200, 500, 10, [0.041, 0.903]),
    (200, 500, 50, [0.037, 0.956]),
];

/// Coverage, root mean square error and mean negative log density of 20 new labels, for `(y, prediction)` of many data sets.
#[derive(Default)]
struct Labels {
    inside: f64,
    squares: f64,
    loss: f64,
    count: f64,
}

impl Labels {
    fn add(&mut self, y: f64, mean: f64, interval: Interval, log_density: f64) {
        self.inside += f64::from(u8::from(interval.contains(y)));
        self.squares += (y - mean).powi(2);
        self.loss -= log_density;
        self.count += 1.0;
    }

    fn add_all(&mut self, y: &[f64], predicted: &[vb::StudentPrediction]) {
        for (p, y) in predicted.iter().zip(y) {
            self.add(*y, p.mean, p.interval(LEVEL).unwrap(), p.log_density(*y).unwrap());
        }
    }

    fn coverage(&self) -> f64 {
        self.inside / self.count
    }

    fn line(&self) -> String {
        let rmse = (self.squares / self.count).sqrt();
        format!("{:.3} | {rmse:.3} | {:.2}", self.coverage(), self.loss / self.count)
    }
}

#[test]
fn sampled_scales_cover_where_relevance_determination_is_too_sure() {
    const NEW: usize = 20;
    for (n, d, k, [ard_coverage, horseshoe_coverage]) in SPARSE {
        if d > n && !crate::slow() {
            continue;
        }
        let repetitions = if crate::slow() { 8000 / d as u64 } else { 12 };
        let [mut ard, mut horseshoe] = [Labels::default(), Labels::default()];
        let mut weights = 0;
        for seed in 0..repetitions {
            let mut data = Simulated::new(5000 + seed, n + NEW, d, 1.0, 0.0);
            data.w[k..].fill(0.0);
            let noise: Vec<f64> = (0..n + NEW).map(|_| StandardNormal.sample(&mut data.rng)).collect();
            let y: Vec<f64> = noise.iter().enumerate().map(|(i, noise)| data.mean(i) + noise).collect();
            let x: Vec<f64> = (0..n + NEW).flat_map(|i| (0..d).map(move |j| (i, j))).map(|at| data.x[at]).collect();
            let (rows, new) = x.split_at(n * d);
            let settings = vb::HorseshoeSettings::default();
            let model = vb::HorseshoeLinear::fit(rows, d, &y[..n], &settings, &mut data.rng).unwrap();
            for (p, y) in model.predict(new).unwrap().iter().zip(&y[n..]) {
                horseshoe.add(*y, p.mean(), p.interval(LEVEL).unwrap(), p.log_density(*y));
            }
            let intervals = model.weight_intervals(LEVEL).unwrap();
            weights += intervals.iter().zip(&data.w).filter(|(interval, w)| interval.contains(**w)).count();
            let settings = vb::VbLinearSettings { ard: true, ..Default::default() };
            let model = vb::VbLinear::fit(rows, d, &y[..n], &settings).unwrap();
            ard.add_all(&y[n..], &model.predict(new).unwrap());
        }
        // Labels of one data set share its weights: their standard error is at most that of one label each.
        let error = |p: f64| 3.0 * (p * (1.0 - p) / repetitions as f64).sqrt();
        let weights = weights as f64 / (repetitions as f64 * d as f64);
        println!("| {n} | {d} | {k} | {} | {} | {weights:.3}", ard.line(), horseshoe.line());
        assert!(weights > 0.85, "{n} {d} {k}: {weights}");
        assert!((horseshoe.coverage() - horseshoe_coverage).abs() < 0.01 + error(horseshoe_coverage), "{n} {d} {k}");
        assert!((ard.coverage() - ard_coverage).abs() < 0.01 + error(ard_coverage.max(0.01)), "{n} {d} {k}");
    }
}

/// `Gam(shape, 1)` for a whole shape.
fn gamma(rng: &mut ChaCha8Rng, shape: usize) -> f64 {
    (0..shape).map(|_| -(1.0 - rng.random::<f64>()).ln()).sum()
}
