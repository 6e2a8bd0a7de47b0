//! Files of the same shapes with other seeds, sizes and priors, their numbers from plain textbook code: information
//! form, Gaussian elimination, one observation at a time.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde_json::{Value, json};
use vi_tests::report::{Line, Report};
use vi_tests::shapes;

type Matrix = Vec<Vec<f64>>;

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn apply(m: &Matrix, v: &[f64]) -> Vec<f64> {
    m.iter().map(|row| dot(row, v)).collect()
}

/// Inverse and log-determinant of a positive definite matrix, by Gauss and Jordan.
fn inverse(m: &Matrix) -> (Matrix, f64) {
    let d = m.len();
    let mut work: Matrix = m
        .iter()
        .enumerate()
        .map(|(i, row)| row.iter().copied().chain((0..d).map(|j| f64::from(i == j))).collect())
        .collect();
    let mut log_det = 0.0;
    for k in 0..d {
        let pivot = work[k][k];
        log_det += pivot.ln();
        work[k].iter_mut().for_each(|entry| *entry /= pivot);
        let top = work[k].clone();
        for (_, row) in work.iter_mut().enumerate().filter(|(i, _)| *i != k) {
            let factor = row[k];
            row.iter_mut().zip(&top).for_each(|(entry, above)| *entry -= factor * above);
        }
    }
    (work.into_iter().map(|row| row[d..].to_vec()).collect(), log_det)
}

fn sigmoid(t: f64) -> f64 {
    1.0 / (1.0 + (-t).exp())
}

/// A belief as mean and precision.
#[derive(Clone)]
struct Belief {
    mean: Vec<f64>,
    precision: Matrix,
}

impl Belief {
    fn isotropic(mean: &[f64], sigma0: f64) -> Self {
        let d = mean.len();
        let entry = |i, j| if i == j { 1.0 / (sigma0 * sigma0) } else { 0.0 };
        Self { mean: mean.to_vec(), precision: (0..d).map(|i| (0..d).map(|j| entry(i, j)).collect()).collect() }
    }

    fn covariance(&self) -> Matrix {
        inverse(&self.precision).0
    }

    fn log_det(&self) -> f64 {
        -inverse(&self.precision).1
    }

    fn trace(&self) -> f64 {
        self.covariance().iter().enumerate().map(|(i, row)| row[i]).sum()
    }

    /// `P⁻¹ += h·xxᵀ`, `μ += g·Px` with the new `P`.
    fn absorb(&mut self, x: &[f64], slope: f64, curvature: f64) {
        for (row, xi) in self.precision.iter_mut().zip(x) {
            row.iter_mut().zip(x).for_each(|(entry, xj)| *entry += curvature * xi * xj);
        }
        let shift = apply(&self.covariance(), x);
        self.mean.iter_mut().zip(shift).for_each(|(mean, shift)| *mean += slope * shift);
    }
}

/// Slope and curvature of a rule at `(a, ν, y)`, as the paper prints them.
type Rule = fn(f64, f64, f64) -> (f64, f64);

const RULES: [(&str, Rule); 4] = [
    ("ekf", |a, _, y| (y - sigmoid(a), sigmoid(a) * sigmoid(-a))),
    ("rvga_explicit", |a, nu, y| {
        let beta2 = 8.0 / std::f64::consts::PI;
        let k = (beta2 / (nu + beta2)).sqrt();
        (y - sigmoid(k * a), k * sigmoid(k * a) * sigmoid(-k * a))
    }),
    ("qkf", |a, nu, y| {
        let xi = (nu + a * a).sqrt();
        let h = (0.5 * xi).tanh() / (2.0 * xi);
        (y - 0.5 - h * a, h)
    }),
    ("rvga_implicit_exact_roots", implicit),
];

/// The implicit system by bisection on `ln ν*`, and within it on `α`.
fn implicit(a: f64, nu: f64, y: f64) -> (f64, f64) {
    let beta2 = 8.0 / std::f64::consts::PI;
    let alpha_of = |k: f64| {
        let (mut low, mut high) = (a - nu, a + nu);
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if middle + nu * sigmoid(k * middle) > a + nu * y { high = middle } else { low = middle }
        }
        0.5 * (low + high)
    };
    let weight = |star: f64| {
        let k = (beta2 / (star + beta2)).sqrt();
        let z = k * alpha_of(k);
        (k * sigmoid(z) * sigmoid(-z), y - sigmoid(z))
    };
    let (mut low, mut high) = ((nu / (1.0 + nu)).ln() - 1.0, nu.ln());
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle - nu.ln() + (nu * weight(middle.exp()).0).ln_1p() > 0.0 { high = middle } else { low = middle }
    }
    let (h, e) = weight((0.5 * (low + high)).exp());
    ((1.0 + h * nu) * e, h)
}

struct Data {
    x: Matrix,
    y: Vec<f64>,
}

fn data(n: usize, d: usize, seed: u64) -> Data {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let truth: Vec<f64> = (0..d).map(|_| rng.random_range(-2.0..2.0)).collect();
    let x: Matrix = (0..n).map(|_| (0..d).map(|_| rng.random_range(-1.5..1.5)).collect()).collect();
    let y = x.iter().map(|x| f64::from(rng.random_range(0.0..1.0) < sigmoid(dot(x, &truth)))).collect();
    Data { x, y }
}

/// Beliefs after each of `times`.
fn filtered(data: &Data, start: &Belief, rule: Rule, times: &[usize]) -> Vec<Belief> {
    let mut belief = start.clone();
    let mut kept = Vec::new();
    for (t, (x, y)) in data.x.iter().zip(&data.y).enumerate() {
        let nu = dot(x, &apply(&belief.covariance(), x));
        let (slope, curvature) = rule(dot(x, &belief.mean), nu, *y);
        belief.absorb(x, slope, curvature);
        if times.contains(&(t + 1)) {
            kept.push(belief.clone());
        }
    }
    kept
}

/// An entry as the files with several priors have it: the whole covariance, or only part of it.
fn entry(beliefs: &[Belief], times: &[usize], whole: bool) -> Value {
    let end = beliefs.last().unwrap();
    let covariance = end.covariance();
    let way: Vec<Value> = beliefs
        .iter()
        .zip(times)
        .map(|(belief, t)| json!({"t": t, "mean": belief.mean, "trace": belief.trace(), "logdet": belief.log_det()}))
        .collect();
    let mut entry = json!({"final_mean": end.mean, "trajectory": way, "trace": end.trace(), "logdet": end.log_det()});
    if whole {
        entry["cov"] = json!(covariance);
    } else {
        entry["cov_diag"] = json!(covariance.iter().enumerate().map(|(i, row)| row[i]).collect::<Vec<_>>());
        entry["cov_first3rows"] = json!(covariance[..covariance.len().min(3)]);
    }
    entry
}

fn verdicts(file: &Value) -> Vec<Line> {
    let mut report = Report::new("own");
    shapes::check(&file.to_string(), &mut report);
    report.lines().to_vec()
}

fn all_pass(file: &Value, at_least: usize) {
    let lines = verdicts(file);
    let odd: Vec<String> = lines.iter().filter(|line| !line.passed()).map(Line::to_string).collect();
    assert!(odd.is_empty(), "{}", odd.join("\n"));
    assert!(lines.len() >= at_least, "{} lines", lines.len());
}

/// Several priors, at dimensions on both sides of three.
fn several_priors(n: usize, d: usize, seed: u64, whole: bool) -> Value {
    let data = data(n, d, seed);
    let times = [1, n / 2, n];
    let cases: Vec<Value> = [0.5, 3.0]
        .into_iter()
        .map(|sigma0| {
            let mean: Vec<f64> = (0..d).map(|i| 0.1 * i as f64 - 0.2).collect();
            let start = Belief::isotropic(&mean, sigma0);
            let algorithms: serde_json::Map<String, Value> = RULES
                .into_iter()
                .map(|(name, rule)| (name.to_owned(), entry(&filtered(&data, &start, rule, &times), &times, whole)))
                .collect();
            json!({"sigma0": sigma0, "prior_mean": mean, "prior_cov": "sigma0^2 * identity", "algorithms": algorithms})
        })
        .collect();
    json!({"x": data.x, "y": data.y, "cases": cases})
}

#[test]
fn several_priors_in_other_dimensions() {
    for (n, d, seed, whole) in [(7, 1, 1, true), (20, 2, 2, false), (30, 5, 3, true), (40, 12, 4, false)] {
        all_pass(&several_priors(n, d, seed, whole), 2 * 4 * 8);
    }
}

#[test]
fn one_prior_given_as_a_matrix_in_another_dimension() {
    let several = several_priors(25, 4, 5, true);
    let case = &several["cases"][1];
    let covariance: Matrix = (0..4).map(|i| (0..4).map(|j| if i == j { 9.0 } else { 0.0 }).collect()).collect();
    let mut file = json!({"x": several["x"], "y": several["y"], "prior_mean": case["prior_mean"], "prior_cov": covariance,
        "algorithms": case["algorithms"]});
    all_pass(&file, 4 * 8);

    file["x"][11][2] = json!(several["x"][11][2].as_f64().unwrap() + 1e-3);
    assert!(verdicts(&file).iter().any(Line::failed), "another input must give another answer");
}

#[test]
fn linear_regression_in_another_dimension() {
    let (n, d, noise) = (12, 3, 0.2);
    let Data { x, .. } = data(n, d, 6);
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let y: Vec<f64> = (0..n).map(|_| rng.random_range(-3.0..3.0)).collect();
    let mean = vec![0.3, -0.1, 0.5];
    let start = Belief::isotropic(&mean, 2.0);

    let mut belief = start.clone();
    let mut log_evidence = 0.0;
    let mut expected = Vec::new();
    for (t, (x, y)) in x.iter().zip(&y).enumerate() {
        let variance = noise + dot(x, &apply(&belief.covariance(), x));
        let residual = y - dot(x, &belief.mean);
        log_evidence -= 0.5 * ((std::f64::consts::TAU * variance).ln() + residual * residual / variance);
        belief.absorb(x, residual / noise, 1.0 / noise);
        if [0, 1, n - 1].contains(&t) {
            expected.push(json!({"t": t + 1, "mean": belief.mean, "cov": belief.covariance(),
                "cov_trace": belief.trace(), "cov_logdet": belief.log_det(), "log_evidence": log_evidence}));
        }
    }

    // Blocks of three with correlated noise, R = noise·(I + ½·11ᵀ): R⁻¹ = (I − ⅕·11ᵀ)/noise.
    let blocks: Vec<&[Vec<f64>]> = x.chunks(3).collect();
    let labels: Vec<&[f64]> = y.chunks(3).collect();
    let r: Matrix = (0..3).map(|i| (0..3).map(|j| noise * (f64::from(i == j) + 0.5)).collect()).collect();
    let mut precision = start.precision.clone();
    let mut shift = vec![0.0; d];
    for (h, y) in blocks.iter().zip(&labels) {
        for (i, j) in (0..3).flat_map(|i| (0..3).map(move |j| (i, j))) {
            let weight = (f64::from(i == j) - 0.2) / noise;
            let residual = y[j] - dot(&h[j], &mean);
            for k in 0..d {
                shift[k] += weight * h[i][k] * residual;
                for l in 0..d {
                    precision[k][l] += weight * h[i][k] * h[j][l];
                }
            }
        }
    }
    let covariance = inverse(&precision).0;
    let vector_mean: Vec<f64> = apply(&covariance, &shift).iter().zip(&mean).map(|(s, m)| s + m).collect();

    let file = json!({"parameters": {"noise_variance": noise}, "x": x, "y": y, "prior_mean": mean,
        "prior_cov": start.covariance(), "expected": expected,
        "vector_observations": {"H": blocks, "y": labels, "R": r, "expected_mean": vector_mean, "expected_cov": covariance}});
    all_pass(&file, 3 * 10 + 2);

    // Vector observations alone are a case too.
    let mut alone = file.clone();
    for key in ["x", "y", "expected", "parameters"] {
        alone.as_object_mut().unwrap().remove(key);
    }
    all_pass(&alone, 2);
}

#[test]
fn roots_from_plain_bisection() {
    let beta2 = 8.0 / std::f64::consts::PI;
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let rows: Vec<Value> = (0..40)
        .map(|_| {
            let (a, nu): (f64, f64) = (rng.random_range(-4.0..4.0), rng.random_range(0.1..9.0));
            let y = f64::from(rng.random_range(0..2));
            let (slope, weight) = implicit(a, nu, y);
            let err = slope / (1.0 + weight * nu);
            let star = nu / (1.0 + weight * nu);
            json!([star, a + nu * err, y, nu, a, (beta2 / (star + beta2)).sqrt()])
        })
        .collect();
    all_pass(&json!({"columns": ["nu", "alpha", "y", "nu0", "alpha0", "k"], "rows": rows}), 3);
}
