//! R-VGA's Theorems 1 to 4 and Corollary 1.1.

use vi_core::NaturalParameters;
use vi_core::papers::MeanParameters;
use vi_core::papers::black_box::{
    Form, Gradient, GradientForm, Hessian, LogLikelihood, Nodes, Order0, Order1, Order2, StepSettings, explicit_step,
    implicit_step,
};
use vi_core::papers::{NaturalGradient, OnlineNewton};
use vi_core::{
    Belief, BernoulliLogit, DenseGaussian, Exact, Explicit, GaussianExpectation, GaussianLikelihood, Implicit,
    Likelihood, Linearised, Stop, filter,
    papers::{ekf, kalman},
};
use vi_linalg::Cholesky;
use vi_linalg::faer::{Mat, MatMut, MatRef, Par};
use vi_linalg::kernels::dot;

use crate::common::{condition, difference, labels, prior, rng, rows, view};

/// One observation of a scalar likelihood as a black box in `θ`.
struct Observation<L> {
    likelihood: L,
    x: Vec<f64>,
    y: f64,
}

impl<L: Likelihood> LogLikelihood for Observation<L> {
    fn log_density(&self, theta: &[f64]) -> f64 {
        self.likelihood.log_density(self.y, dot(&self.x, theta))
    }
}

impl<L: Likelihood> Gradient for Observation<L> {
    fn gradient(&self, theta: &[f64], out: &mut [f64]) {
        let slope = self.likelihood.slope(self.y, dot(&self.x, theta));
        for (o, x) in out.iter_mut().zip(&self.x) {
            *o = slope * x;
        }
    }
}

impl<L: Likelihood> Hessian for Observation<L> {
    fn hessian(&self, theta: &[f64], mut out: MatMut<'_, f64>) {
        let curvature = self.likelihood.curvature(self.y, dot(&self.x, theta));
        for j in 0..self.x.len() {
            for i in 0..self.x.len() {
                out[(i, j)] = -curvature * self.x[i] * self.x[j];
            }
        }
    }
}

const LOGIT: BernoulliLogit<Exact> = BernoulliLogit(Exact);

fn logistic(x: &[f64], y: f64) -> Observation<BernoulliLogit<Exact>> {
    Observation { likelihood: LOGIT, x: x.to_vec(), y }
}

/// `(E log p, ∇_μ, ∇_P)` of one logistic observation, through its one-dimensional expectations.
fn logistic_gradients(x: &[f64], y: f64) -> impl Fn(&[f64], MatRef<'_, f64>) -> (f64, Vec<f64>, Mat<f64>) {
    move |mean, covariance| {
        let d = x.len();
        let nu: f64 = (0..d).map(|i| (0..d).map(|j| x[i] * covariance[(i, j)] * x[j]).sum::<f64>()).sum();
        let at = LOGIT.expected(y, dot(x, mean), nu);
        let by_mean = x.iter().map(|x| at.slope * x).collect();
        (at.value, by_mean, Mat::from_fn(d, d, |i, j| -0.5 * at.curvature * x[i] * x[j]))
    }
}

fn implicit_by(form: &impl Form, start: &DenseGaussian) -> DenseGaussian {
    let mut belief = start.clone();
    let settings = StepSettings { tolerance: 1e-13, max_iterations: 200 };
    let info = implicit_step(&mut belief, form, &settings).unwrap();
    assert_eq!(info.stop, Stop::Converged, "{info:?}");
    belief
}

#[test]
fn theorem_1_and_corollary_1_1_all_forms_reach_the_implicit_rule() {
    let start = prior(2, 1.3, &mut rng(1));
    let (x, y) = ([0.8, -1.1], 1.0);
    let mut expected = start.clone();
    filter::step(&mut expected, &Implicit(LOGIT), &x, y, &mut filter::Scratch::default()).unwrap();

    let observation = logistic(&x, y);
    // Gauss-Hermite of order m meets the logistic's poles at distance π/σ, σ² = ν: its error falls like
    // exp(−c·√m·π/σ). Orders are chosen so that it is below the tolerance of each form.
    let nodes = Nodes::gauss_hermite(2, 60).unwrap();
    assert!(difference(&implicit_by(&GradientForm(logistic_gradients(&x, y)), &start), &expected) < 1e-11);
    assert!(difference(&implicit_by(&Order2(&observation, &nodes), &start), &expected) < 1e-8);
    assert!(difference(&implicit_by(&Order1(&observation, &nodes), &start), &expected) < 1e-8);
    assert!(difference(&implicit_by(&Order0(&observation, &nodes), &start), &expected) < 1e-8);
}

#[test]
fn explicit_step_is_the_explicit_rule() {
    let start = prior(3, 0.7, &mut rng(2));
    let (x, y) = ([0.8, -1.1, 0.4], 0.0);
    let mut expected = start.clone();
    filter::step(&mut expected, &Explicit(LOGIT), &x, y, &mut filter::Scratch::default()).unwrap();
    let mut belief = start.clone();
    explicit_step(&mut belief, &GradientForm(logistic_gradients(&x, y))).unwrap();
    // Three conversions between covariance and precision.
    assert!(difference(&belief, &expected) < 100.0 * f64::EPSILON * condition(&start));
}

#[test]
fn gradient_form_agrees_with_differences_of_the_expectation() {
    // (1)-(2): ∇_μ and −2∇_P of E log p, here by central differences, are the form's slope and information.
    let start = prior(2, 1.0, &mut rng(3));
    let (x, y) = ([0.5, 1.7], 1.0);
    let expectation = |mean: &[f64], covariance: MatRef<'_, f64>| logistic_gradients(&x, y)(mean, covariance).0;
    let moments = GradientForm(logistic_gradients(&x, y)).moments(start.mean(), &start.cholesky().unwrap()).unwrap();
    let step = 1e-5; // truncation step², rounding ε/step
    for i in 0..2 {
        let shifted = |s: f64| {
            let mut mean = start.mean().to_vec();
            mean[i] += s;
            expectation(&mean, start.covariance().as_ref())
        };
        assert!(((shifted(step) - shifted(-step)) / (2.0 * step) - moments.slope[i]).abs() < 1e-9);
        for j in 0..2 {
            let bent = |s: f64| {
                let mut covariance = start.covariance();
                covariance[(i, j)] += 0.5 * s;
                covariance[(j, i)] += 0.5 * s;
                expectation(start.mean(), covariance.as_ref())
            };
            let by_covariance = (bent(step) - bent(-step)) / (2.0 * step);
            assert!((-2.0 * by_covariance - moments.information[(i, j)]).abs() < 1e-9);
        }
    }
}

#[test]
fn orders_one_and_zero_are_unbiased_with_draws() {
    let start = prior(2, 0.8, &mut rng(4));
    let (x, y) = ([0.9, 0.6], 0.0);
    let observation = logistic(&x, y);
    let cholesky = start.cholesky().unwrap();
    let exact = GradientForm(logistic_gradients(&x, y)).moments(start.mean(), &cholesky).unwrap();
    let replicates = 400;
    let mut rng = rng(5);
    let check = |name: &str, form: &mut dyn FnMut(&Nodes) -> f64, truth: f64, rng: &mut _| {
        let values: Vec<f64> = (0..replicates).map(|_| form(&Nodes::antithetic_draws(2, 50, rng).unwrap())).collect();
        let n = f64::from(replicates);
        let mean = values.iter().sum::<f64>() / n;
        let deviation = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt();
        assert!(deviation > 0.0 && (mean - truth).abs() < 6.0 * deviation, "{name}: {mean} against {truth}");
    };
    let order1 = |nodes: &Nodes| Order1(&observation, nodes).moments(start.mean(), &cholesky).unwrap();
    let order0 = |nodes: &Nodes| Order0(&observation, nodes).moments(start.mean(), &cholesky).unwrap();
    check("slope, order 0", &mut |n| order0(n).slope[0], exact.slope[0], &mut rng);
    check("information, order 1", &mut |n| order1(n).information[(0, 1)], exact.information[(0, 1)], &mut rng);
    check("information, order 0", &mut |n| order0(n).information[(0, 1)], exact.information[(0, 1)], &mut rng);
}

#[test]
fn theorem_2_all_linear_filters_and_the_normal_equations_agree() {
    let (d, n) = (4, 25);
    let mut rng = rng(6);
    let start = prior(d, 2.0, &mut rng);
    let inputs = rows(n, d, &mut rng);
    let y: Vec<f64> = rows(n, 1, &mut rng);
    let linear = GaussianLikelihood::new(0.3).unwrap();
    // T steps, each with relative rounding of the projected variance.
    let tolerance = 8.0 * n as f64 * f64::EPSILON * condition(&start) * 10.0;

    // Normal equations (34): Q = P₀⁻¹ + Σxxᵀ/σ², v = P₀⁻¹μ₀ + Σxy/σ².
    let mut q = start.cholesky().unwrap().inverse();
    let mut v: Vec<f64> = (0..d).map(|i| (0..d).map(|j| q[(i, j)] * start.mean()[j]).sum()).collect();
    for (x, y) in inputs.chunks(d).zip(&y) {
        for i in 0..d {
            v[i] += x[i] * y / 0.3;
            for j in 0..d {
                q[(i, j)] += x[i] * x[j] / 0.3;
            }
        }
    }
    let normal =
        NaturalParameters { first: v, second: Mat::from_fn(d, d, |i, j| -0.5 * q[(i, j)]) }.to_belief().unwrap();

    let run = |belief: &mut DenseGaussian, implicit: bool| {
        if implicit {
            filter::run(belief, &Implicit(linear), view(&inputs, d), &y, |_, _, _| {}).unwrap();
        } else {
            filter::run(belief, &Explicit(linear), view(&inputs, d), &y, |_, _, _| {}).unwrap();
        }
    };
    for implicit in [false, true] {
        let mut belief = start.clone();
        run(&mut belief, implicit);
        assert!(difference(&belief, &normal) < tolerance);
    }

    // Vector observations with R = 0.3·I, all at once.
    let mut vector = start.clone();
    let r = Mat::from_fn(n, n, |i, j| if i == j { 0.3 } else { 0.0 });
    kalman::step(&mut vector, view(&inputs, d), &y, r.as_ref(), Par::Seq).unwrap();
    assert!(difference(&vector, &normal) < tolerance);

    // Online Newton (39).
    let mut newton = OnlineNewton::new(&start).unwrap();
    for (x, y) in inputs.chunks(d).zip(&y) {
        let residual = (y - dot(x, &newton.mean)) / 0.3;
        let gradient: Vec<f64> = x.iter().map(|x| -residual * x).collect();
        newton.step(&gradient, Mat::from_fn(d, d, |i, j| x[i] * x[j] / 0.3).as_ref()).unwrap();
    }
    let newton_belief =
        DenseGaussian::new(&newton.mean, Cholesky::new(newton.hessian.as_ref()).unwrap().inverse().as_ref()).unwrap();
    assert!(difference(&newton_belief, &normal) < tolerance);

    // The black-box step: two nodes a dimension are exact for a quadratic.
    let observation = Observation { likelihood: linear, x: inputs[..d].to_vec(), y: y[0] };
    let nodes = Nodes::gauss_hermite(d, 2).unwrap();
    let mut once = start.clone();
    filter::step(&mut once, &Explicit(linear), &inputs[..d], y[0], &mut filter::Scratch::default()).unwrap();
    assert!(difference(&implicit_by(&Order1(&observation, &nodes), &start), &once) < tolerance);
}

#[test]
fn vector_observations_of_correlated_noise_equal_whitened_scalar_ones() {
    let (d, m) = (5, 3);
    let mut rng = rng(7);
    let start = prior(d, 1.5, &mut rng);
    let h = Mat::from_fn(m, d, |i, j| (1.0 + i as f64 * 0.7 - j as f64 * 0.4).sin());
    let r = Mat::from_fn(m, m, |i, j| if i == j { 0.5 + 0.1 * i as f64 } else { 0.2 });
    let y = [0.3, -1.2, 0.8];
    let mut vector = start.clone();
    let info = kalman::step(&mut vector, h.as_ref(), &y, r.as_ref(), Par::Seq).unwrap();

    let l = Cholesky::new(r.as_ref()).unwrap();
    let hw = l.whiten(h.as_ref()).unwrap();
    let yw = l.whiten(MatRef::from_column_major_slice(&y, m, 1)).unwrap();
    let unit = GaussianLikelihood::new(1.0).unwrap();
    let mut scalar = start.clone();
    let mut log_predictive = -0.5 * l.log_det();
    for i in 0..m {
        let x: Vec<f64> = (0..d).map(|j| hw[(i, j)]).collect();
        let seen = filter::step(&mut scalar, &Explicit(unit), &x, yw[(i, 0)], &mut filter::Scratch::default()).unwrap();
        log_predictive += unit.log_predictive(yw[(i, 0)], seen.projection.mean, seen.projection.variance);
    }
    let tolerance = 100.0 * f64::EPSILON * condition(&start) * condition_of(&r);
    assert!(difference(&vector, &scalar) < tolerance);
    assert!((info.log_predictive - log_predictive).abs() < tolerance * log_predictive.abs());
}

fn condition_of(a: &Mat<f64>) -> f64 {
    let values = a.self_adjoint_eigenvalues(vi_linalg::faer::Side::Lower).unwrap();
    values[values.len() - 1] / values[0]
}

/// Two Poisson counts with rates `exp(θ₁+θ₂)`, `exp(θ₁−½θ₂)`: an exponential family with a nonlinear vector `h`.
struct Counts;

impl ekf::MeanModel for Counts {
    fn output_dim(&self) -> usize {
        2
    }
    fn mean(&self, theta: &[f64], out: &mut [f64]) {
        out[0] = (theta[0] + theta[1]).exp();
        out[1] = (theta[0] - 0.5 * theta[1]).exp();
    }
    fn jacobian(&self, theta: &[f64], mut out: MatMut<'_, f64>) {
        let mut rate = [0.0; 2];
        self.mean(theta, &mut rate);
        out[(0, 0)] = rate[0];
        out[(0, 1)] = rate[0];
        out[(1, 0)] = rate[1];
        out[(1, 1)] = -0.5 * rate[1];
    }
    fn covariance(&self, theta: &[f64], mut out: MatMut<'_, f64>) {
        let mut rate = [0.0; 2];
        self.mean(theta, &mut rate);
        out[(0, 0)] = rate[0];
        out[(1, 1)] = rate[1];
    }
}

#[test]
fn theorem_3_extended_kalman_is_the_online_natural_gradient() {
    let start = prior(2, 0.5, &mut rng(8));
    let observations = [[1.0, 2.0], [3.0, 0.0], [2.0, 1.0], [0.0, 4.0], [5.0, 1.0]];
    let mut filtered = start.clone();
    let mut gradient = NaturalGradient::new(&start).unwrap();
    for y in &observations {
        use ekf::MeanModel;
        // ∇ℓ = −Hᵀ R⁻¹ (y − h), Fisher = Hᵀ R⁻¹ H, at the iterate.
        let (mut h, mut r, mut mean) = (Mat::<f64>::zeros(2, 2), Mat::<f64>::zeros(2, 2), [0.0; 2]);
        Counts.jacobian(&gradient.mean, h.as_mut());
        Counts.covariance(&gradient.mean, r.as_mut());
        Counts.mean(&gradient.mean, &mut mean);
        let slope: Vec<f64> =
            (0..2).map(|j| -(0..2).map(|i| h[(i, j)] * (y[i] - mean[i]) / r[(i, i)]).sum::<f64>()).collect();
        let fisher = Mat::from_fn(2, 2, |a, b| (0..2).map(|i| h[(i, a)] * h[(i, b)] / r[(i, i)]).sum());
        gradient.step(&slope, fisher.as_ref()).unwrap();
        ekf::step(&mut filtered, &Counts, y, Par::Seq).unwrap();
    }
    // J_t = P_t⁻¹/(t+1)
    let t = observations.len() as f64 + 1.0;
    let precision = Mat::from_fn(2, 2, |i, j| t * gradient.fisher[(i, j)]);
    let twin =
        DenseGaussian::new(&gradient.mean, Cholesky::new(precision.as_ref()).unwrap().inverse().as_ref()).unwrap();
    assert!(difference(&filtered, &twin) < 1000.0 * f64::EPSILON * condition(&twin));
}

/// One logistic observation as a mean model: `h = s(xᵀθ)`, `R = s′(xᵀθ)`.
struct Logistic<'a>(&'a [f64]);

impl ekf::MeanModel for Logistic<'_> {
    fn output_dim(&self) -> usize {
        1
    }
    fn mean(&self, theta: &[f64], out: &mut [f64]) {
        out[0] = vi_core::special::sigmoid(dot(self.0, theta));
    }
    fn jacobian(&self, theta: &[f64], mut out: MatMut<'_, f64>) {
        let slope = vi_core::special::sigmoid_derivative(dot(self.0, theta));
        for (j, x) in self.0.iter().enumerate() {
            out[(0, j)] = slope * x;
        }
    }
    fn covariance(&self, theta: &[f64], mut out: MatMut<'_, f64>) {
        out[(0, 0)] = vi_core::special::sigmoid_derivative(dot(self.0, theta));
    }
}

#[test]
fn theorem_3_linearised_rule_is_the_extended_kalman_filter() {
    let (d, n) = (3, 30);
    let mut rng = rng(9);
    let start = prior(d, 1.0, &mut rng);
    let (inputs, y) = (rows(n, d, &mut rng), labels(n, &mut rng));
    let mut rule = start.clone();
    filter::run(&mut rule, &Linearised::extended_kalman(LOGIT), view(&inputs, d), &y, |_, _, _| {}).unwrap();
    let mut matrix = start.clone();
    for (x, y) in inputs.chunks(d).zip(&y) {
        ekf::step(&mut matrix, &Logistic(x), &[*y], Par::Seq).unwrap();
    }
    assert!(difference(&rule, &matrix) < 100.0 * n as f64 * f64::EPSILON * condition(&start));
}

#[test]
fn theorem_4_the_implicit_step_is_a_step_in_natural_parameters() {
    let start = prior(3, 1.2, &mut rng(10));
    let (x, y) = ([1.1, -0.4, 0.7], 0.0);
    let mut expected = start.clone();
    filter::step(&mut expected, &Implicit(LOGIT), &x, y, &mut filter::Scratch::default()).unwrap();

    let mut natural = NaturalParameters::of(&start).unwrap();
    let (_, by_mean, by_covariance) = logistic_gradients(&x, y)(expected.mean(), expected.covariance().as_ref());
    natural.step(expected.mean(), &by_mean, by_covariance.as_ref()).unwrap(); // (106) at the solution
    // The root is good to 1e-12, the conversions to ε·κ.
    let tolerance = 1e-11 + 100.0 * f64::EPSILON * condition(&start);
    assert!(difference(&natural.to_belief().unwrap(), &expected) < tolerance);
}

#[test]
fn natural_and_mean_parameters_are_dual() {
    let q = prior(3, 1.2, &mut rng(11));
    let eta_q = NaturalParameters::of(&q).unwrap();
    // ∇F(η) = m: central differences of F along a direction.
    let direction = NaturalParameters {
        first: vec![0.3, -0.2, 0.5],
        second: Mat::from_fn(3, 3, |i, j| 0.1 * (1.0 + i as f64) * (1.0 + j as f64)),
    };
    let moved = |s: f64| NaturalParameters {
        first: (0..3).map(|i| eta_q.first[i] + s * direction.first[i]).collect(),
        second: Mat::from_fn(3, 3, |i, j| eta_q.second[(i, j)] + s * direction.second[(i, j)]),
    };
    let step = 1e-6;
    let slope = (moved(step).log_partition().unwrap() - moved(-step).log_partition().unwrap()) / (2.0 * step);
    let inner = direction.inner(&MeanParameters::of(&q).unwrap()).unwrap();
    assert!((slope - inner).abs() < 1e-7 * inner.abs(), "{slope} against {inner}");
}
