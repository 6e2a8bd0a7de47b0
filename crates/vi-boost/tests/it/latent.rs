//! Nested inference of latent Gaussian models.

use vi_boost::latent::{
    Field, Inner, Latent, LatentFit, LatentSettings, Observed, Outer, Spread, fit_latent, log_marginal,
};
use vi_boost::transform::Parameters;
use vi_boost::{BoostError, FitSettings, Verdict, summarise};
use vi_core::refine::{RefineSettings, expectation_propagation, first_pass};
use vi_core::{
    BernoulliLogit, DenseGaussian, Error, Exact, GaussianExpectation, GaussianLikelihood, Likelihood, MomentMatching,
};
use vi_linalg::Cholesky;
use vi_linalg::faer::{Mat, Par};

use crate::common::rng;

/// Poisson counts with a log link.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Counts;

impl Likelihood for Counts {
    fn family(&self) -> &'static str {
        "counts"
    }

    fn supports(&self, label: f64) -> bool {
        label >= 0.0 && label.fract() == 0.0
    }

    fn log_density(&self, y: f64, t: f64) -> f64 {
        y * t - t.exp() - (1..=20).filter(|k| f64::from(*k) <= y).map(|k| f64::from(k).ln()).sum::<f64>()
    }

    fn slope(&self, y: f64, t: f64) -> f64 {
        y - t.exp()
    }

    fn curvature(&self, _: f64, t: f64) -> f64 {
        t.exp()
    }

    fn peak(&self, y: f64) -> Option<f64> {
        Some(y.ln())
    }

    fn fisher_information(&self, t: f64) -> f64 {
        t.exp()
    }
}

impl GaussianExpectation for Counts {
    fn expected(&self, y: f64, a: f64, nu: f64) -> vi_core::Expected {
        vi_core::quadrature::Quadrature(*self).expected(y, a, nu)
    }

    fn log_predictive(&self, y: f64, a: f64, nu: f64) -> f64 {
        vi_core::quadrature::Quadrature(*self).log_predictive(y, a, nu)
    }
}

type Of<T> = Box<dyn Fn(&[f64]) -> T>;

/// A model of closures, with standard normal priors of the logarithms of its positive hyper-parameters.
struct Model<L> {
    parameters: Parameters,
    dim: usize,
    field: Of<Field>,
    likelihood: Of<Result<L, Error>>,
}

impl<L: GaussianExpectation + Clone + PartialEq> Latent for Model<L> {
    type Likelihood = L;

    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn log_prior(&self, hyper: &[f64]) -> f64 {
        hyper.iter().map(|x| -0.5 * x.ln().powi(2) - x.ln()).sum()
    }

    fn field(&self, hyper: &[f64]) -> Result<Field, BoostError> {
        Ok((self.field)(hyper))
    }

    fn likelihood(&self, hyper: &[f64], _: usize) -> Result<L, BoostError> {
        Ok((self.likelihood)(hyper)?)
    }
}

fn positive(names: &[&str]) -> Parameters {
    names.iter().fold(Parameters::new(), |all, name| all.positive(name, 1).unwrap())
}

fn kernel(n: usize, hyper: &[f64]) -> Mat<f64> {
    let away = |i: usize, j: usize| (i as f64 - j as f64) / (2.0 * hyper[1]);
    Mat::from_fn(n, n, |i, j| hyper[0].powi(2) * (-0.5 * away(i, j).powi(2)).exp() + if i == j { 0.01 } else { 0.0 })
}

fn process<L>(n: usize, names: &[&str], likelihood: impl Fn(&[f64]) -> Result<L, Error> + 'static) -> Model<L> {
    let field = move |hyper: &[f64]| Field { mean: vec![0.3; n], spread: Spread::Covariance(kernel(n, hyper)) };
    Model { parameters: positive(names), dim: n, field: Box::new(field), likelihood: Box::new(likelihood) }
}

/// Seven rows of five values, dense, with offsets.
fn rows() -> (Mat<f64>, Vec<f64>, Vec<f64>) {
    let design = Mat::from_fn(7, 5, |i, j| (1.3 * i as f64 + 2.1 * j as f64).sin());
    let wave = |scale: f64| (0..7).map(|i| (scale * f64::from(i)).cos()).collect::<Vec<_>>();
    (design, wave(1.7), wave(0.6))
}

#[test]
fn a_gaussian_likelihood_is_exact_in_every_form_of_the_prior() {
    let (design, y, offsets) = rows();
    let noise = |hyper: &[f64]| GaussianLikelihood::new(hyper[2].powi(2));
    let u = [0.4_f64, -0.2, -0.7];
    let hyper = u.map(f64::exp);
    // y ~ N(o + Am, AKAᵀ + σ²I).
    let k = kernel(5, &hyper);
    let mut total = &design * &k * design.transpose();
    (0..7).for_each(|i| total[(i, i)] += hyper[2].powi(2));
    let centred = Mat::from_fn(7, 1, |i, _| y[i] - offsets[i] - 0.3 * (0..5).map(|j| design[(i, j)]).sum::<f64>());
    let factor = Cholesky::new(total.as_ref()).unwrap();
    let solved = factor.solve(centred.as_ref()).unwrap();
    let form: f64 = (0..7).map(|i| centred[(i, 0)] * solved[(i, 0)]).sum();
    let evidence = -0.5 * (form + factor.log_det() + 7.0 * std::f64::consts::TAU.ln());
    // Log-normal priors on log scales.
    let exact = evidence - 0.5 * u.iter().map(|u| u * u).sum::<f64>();
    let mean = &k * design.transpose() * &solved;
    let gain = factor.whiten((&design * &k).as_ref()).unwrap();
    let names = ["amplitude", "length", "noise"];
    let forms: [fn(Mat<f64>) -> Spread; 2] =
        [Spread::Covariance, |k| Spread::Precision(Cholesky::new(k.as_ref()).unwrap().inverse())];
    for form in forms {
        let field = move |hyper: &[f64]| Field { mean: vec![0.3; 5], spread: form(kernel(5, hyper)) };
        let model = Model { field: Box::new(field), ..process(5, &names, noise) };
        let observed = Observed::of(&y).design(&design).offsets(&offsets);
        let (value, _) = log_marginal(&model, &observed, &LatentSettings::default(), &u).unwrap();
        // A few hundred roundings of matrices of condition 10⁴.
        assert!((value - exact).abs() < 1e-10, "{value} {exact}");
        let found = fit_latent(&model, &observed, &LatentSettings::default(), &mut rng(1)).unwrap();
        assert!(found.diagnosis.inner.abs() < 1e-10 && found.work.sweeps == found.work.evaluations);
    }
    // At one point alone the nodes are the dense posterior.
    let here = hyper.to_vec();
    let fixed = move |_: &[f64]| Field { mean: vec![0.3; 5], spread: Spread::Covariance(kernel(5, &here)) };
    let sd = hyper[2];
    let still = move |_: &[f64]| GaussianLikelihood::new(sd * sd);
    let model = Model { parameters: positive(&["idle"]), field: Box::new(fixed), ..process(5, &names, still) };
    let observed = Observed::of(&y).design(&design).offsets(&offsets);
    let found = fit_latent(&model, &observed, &LatentSettings::default(), &mut rng(1)).unwrap();
    assert!((found.log_evidence - evidence - 0.5 * std::f64::consts::TAU.ln()).abs() < 1e-2);
    for node in found.nodes.iter().take(3) {
        for j in 0..5 {
            let variance = k[(j, j)] - (0..7).map(|i| gain[(i, j)].powi(2)).sum::<f64>();
            assert!((node.mean[j] - 0.3 - mean[(j, 0)]).abs() < 1e-10);
            assert!((node.variances[j] - variance).abs() < 1e-10);
        }
    }
}

#[test]
fn variances_are_a_diagonal_covariance() {
    let (design, y, _) = rows();
    let of = |spread: fn(f64) -> Spread| {
        let field = move |hyper: &[f64]| Field { mean: vec![0.1; 5], spread: spread(hyper[0]) };
        let logit = |_: &[f64]| Ok(BernoulliLogit(Exact));
        Model { parameters: positive(&["tau"]), dim: 5, field: Box::new(field), likelihood: Box::new(logit) }
    };
    let labels: Vec<f64> = y.iter().map(|y| f64::from(u8::from(*y > 0.0))).collect();
    let variances = of(|tau| Spread::Variances(vec![tau * tau; 5]));
    let dense = of(|tau| Spread::Covariance(Mat::from_fn(5, 5, |i, j| if i == j { tau * tau } else { 0.0 })));
    let at = |model: &Model<_>| {
        let observed = Observed::of(&labels).design(&design);
        log_marginal(model, &observed, &LatentSettings::default(), &[0.3]).unwrap()
    };
    let ((a, slope_a), (b, slope_b)) = (at(&variances), at(&dense));
    // The gradient is a difference over 2·10⁻⁵.
    assert!((a - b).abs() < 1e-12 && (slope_a.unwrap()[0] - slope_b.unwrap()[0]).abs() < 1e-7);
}

/// `log ∫ exp(log f) dx` over 10 deviations by the trapezoid rule, which converges geometrically.
fn integral(log_f: impl Fn(f64) -> f64, half_width: f64) -> f64 {
    let (n, h) = (2000, half_width / 1000.0);
    (0..=n).map(|i| log_f(-half_width + h * f64::from(i)).exp() * h).sum::<f64>().ln()
}

fn single<L>(likelihood: L) -> Model<L>
where
    L: Clone + 'static,
{
    let field = |hyper: &[f64]| Field { mean: vec![0.5], spread: Spread::Variances(vec![hyper[0].powi(2)]) };
    let likelihood = move |_: &[f64]| Ok(likelihood.clone());
    Model { parameters: positive(&["tau"]), dim: 1, field: Box::new(field), likelihood: Box::new(likelihood) }
}

fn one_value<L: GaussianExpectation + Clone + PartialEq + 'static>(likelihood: &L, y: f64) {
    let model = single(likelihood.clone());
    let joint = |u: f64, f: f64| {
        let tau = u.exp();
        likelihood.log_density(y, f) - 0.5 * ((f - 0.5) / tau).powi(2) - u - 0.5 * std::f64::consts::TAU.ln()
    };
    for u in [-1.0, 0.0, 1.0] {
        let (value, _) = log_marginal(&model, &Observed::of(&[y]), &LatentSettings::default(), &[u]).unwrap();
        // One site leaves the normaliser of the tilted density itself, to the tolerance of quadratures.
        let exact = integral(|f| joint(u, f), 12.0 * u.exp() + 3.0) - 0.5 * u * u;
        assert!((value - exact).abs() < 1e-9, "{} {u}: {value} {exact}", likelihood.family());
    }
    let found = fit_latent(&model, &Observed::of(&[y]), &LatentSettings::default(), &mut rng(1)).unwrap();
    let density = |u: f64| integral(|f| joint(u, f), 12.0 * u.exp() + 3.0) - 0.5 * u * u;
    let evidence = integral(density, 6.0);
    assert!((found.log_evidence - evidence).abs() < 0.02, "{} {evidence}", found.log_evidence);
    assert_eq!(found.diagnosis.verdict, Verdict::Good, "{:?}", found.diagnosis);
}

#[test]
fn one_value_is_its_integral() {
    one_value(&BernoulliLogit(Exact), 1.0);
    one_value(&Counts, 0.0);
    one_value(&Counts, 7.0);
}

#[test]
fn the_evidence_is_that_of_sweeps_row_by_row() {
    let y = [0.0, 1.0, 3.0, 9.0, 4.0, 0.0];
    let model = process(6, &["amplitude", "length"], |_| Ok(Counts));
    let u = [0.3_f64, 0.1];
    let (value, _) = log_marginal(&model, &Observed::of(&y), &LatentSettings::default(), &u).unwrap();
    let k = kernel(6, &u.map(f64::exp));
    let prior = DenseGaussian::new(&[0.3; 6], k.as_ref()).unwrap();
    let x = Mat::<f64>::identity(6, 6);
    let mut twin = first_pass(&prior, &MomentMatching(Counts), x.as_ref(), &y, Par::Seq).unwrap();
    let settings = RefineSettings::default();
    let info = expectation_propagation(&prior, &mut twin, x.as_ref(), &y, &Counts, &settings, Par::Seq).unwrap();
    let exact = info.bound() - 0.5 * (u[0] * u[0] + u[1] * u[1]);
    // Both end where sites move by a millionth, which the evidence feels by its square.
    assert!((value - exact).abs() < 1e-9, "{value} {exact}");
}

/// Compares the gradient with differences of whole solutions.
fn check_gradient<L: GaussianExpectation + Clone + PartialEq>(
    model: &Model<L>,
    observed: &Observed<'_>,
    settings: &LatentSettings,
    u: &[f64],
) {
    let at = |u: &[f64]| log_marginal(model, observed, settings, u).unwrap();
    let gradient = at(u).1.unwrap();
    for j in 0..u.len() {
        let moved =
            |by: f64| at(&u.iter().enumerate().map(|(k, u)| u + if k == j { by } else { 0.0 }).collect::<Vec<_>>()).0;
        let step = 1e-3;
        // Fourth order: the error is the fifth derivative's, 10⁻¹².
        let slope = (8.0 * (moved(step) - moved(-step)) - moved(2.0 * step) + moved(-2.0 * step)) / (12.0 * step);
        // Rounding of the value, 10⁻¹⁴, over steps of 10⁻⁵.
        assert!((gradient[j] - slope).abs() < 1e-7 * slope.abs().max(1.0), "{j}: {} {slope}", gradient[j]);
    }
}

#[test]
fn the_gradient_is_that_of_central_differences() {
    let (design, y, offsets) = rows();
    let counts = [1.0, 0.0, 4.0, 2.0, 7.0];
    let settings = LatentSettings { tolerance: 1e-9, ..LatentSettings::default() };
    check_gradient(&process(5, &["a", "l"], |_| Ok(Counts)), &Observed::of(&counts), &settings, &[0.4, 0.2]);
    // A likelihood that depends on the hyper-parameters, and is not Gaussian.
    let scaled = process(5, &["a", "l", "weight"], |hyper| vi_core::Weighted::new(Counts, hyper[2]));
    check_gradient(&scaled, &Observed::of(&counts), &settings, &[0.4, 0.2, 0.3]);
    let noisy = process(5, &["a", "l", "noise"], |hyper| GaussianLikelihood::new(hyper[2].powi(2)));
    check_gradient(&noisy, &Observed::of(&y).design(&design).offsets(&offsets), &settings, &[0.4, 0.2, -0.5]);
}

#[test]
fn laplace_is_the_height_and_curvature_of_the_mode() {
    let model = single(Counts);
    let settings = LatentSettings { inner: Inner::Laplace, tolerance: 1e-10, ..LatentSettings::default() };
    let (value, gradient) = log_marginal(&model, &Observed::of(&[3.0]), &settings, &[0.2]).unwrap();
    let precision = (-0.4_f64).exp();
    let mut f = 1.0_f64;
    (0..50).for_each(|_| f += (3.0 - f.exp() - precision * (f - 0.5)) / (f.exp() + precision));
    let height = Counts.log_density(3.0, f) - 0.5 * precision * (f - 0.5).powi(2) + 0.5 * precision.ln();
    let exact = height - 0.5 * (f.exp() + precision).ln() - 0.5 * 0.2 * 0.2;
    assert!((value - exact).abs() < 1e-9 && gradient.is_none(), "{value} {exact}");
    let found = fit_latent(&model, &Observed::of(&[3.0]), &settings, &mut rng(1)).unwrap();
    assert!(found.work.differences == 0 && found.diagnosis.inner > 0.0);
}

/// Effects of six groups around 0, of one label each.
fn groups() -> Model<GaussianLikelihood> {
    let field = |hyper: &[f64]| Field { mean: vec![0.0; 6], spread: Spread::Variances(vec![hyper[0].powi(2); 6]) };
    let likelihood = |_: &[f64]| GaussianLikelihood::new(0.25);
    Model { parameters: positive(&["tau"]), dim: 6, field: Box::new(field), likelihood: Box::new(likelihood) }
}

const EFFECTS: [f64; 6] = [0.9, -0.4, 2.0, 0.1, -1.5, 0.6];

#[test]
fn nodes_draws_and_mixtures_are_the_posterior_by_a_grid() {
    let model = groups();
    // Over log τ: log evidence, mean and second moment of the largest effect.
    let (mut mass, mut moments) = (0.0, [0.0; 3]);
    for i in 0..=4000 {
        let u = -8.0 + 0.004 * f64::from(i);
        let (prior, total) = ((2.0 * u).exp(), (2.0 * u).exp() + 0.25);
        let log = EFFECTS.iter().map(|y| -0.5 * (y * y / total + total.ln())).sum::<f64>() - 0.5 * u * u;
        let (mean, variance) = (2.0 * prior / total, 0.25 * prior / total);
        mass += log.exp();
        [u, mean, variance + mean * mean].iter().zip(&mut moments).for_each(|(x, sum)| *sum += log.exp() * x);
    }
    let [u, mean, second] = moments.map(|sum| sum / mass);
    let sd = (second - mean * mean).sqrt();
    for outer in
        [Outer::Nodes { starts: 3 }, Outer::Fit(Box::new(FitSettings { draws: 400, ..FitSettings::default() }))]
    {
        let settings = LatentSettings { outer, draws: 8000, ..LatentSettings::default() };
        let found: LatentFit = fit_latent(&model, &Observed::of(&EFFECTS), &settings, &mut rng(2)).unwrap();
        assert_eq!(found.diagnosis.verdict, Verdict::Good, "{:?}", found.diagnosis);
        let mixture = found.latent(2).unwrap();
        // Quasi-random nodes: far below the 1/√700 of as many by chance.
        assert!((mixture.mean()[0] - mean).abs() < 0.01 * sd, "{:?} {mean}", mixture.mean());
        assert!((mixture.covariance().unwrap()[(0, 0)].sqrt() / sd - 1.0).abs() < 0.01);
        let told = summarise(&found.names, found.draws.as_ref()).unwrap();
        assert_eq!((told[0].name.as_str(), told[3].name.as_str()), ("tau", "f[3]"));
        // Six standard errors of 8000 draws at most.
        assert!((told[3].mean - mean).abs() < 6.0 * sd / 8000.0_f64.sqrt());
        let logs: f64 = (0..8000).map(|i| found.draws[(i, 0)].ln()).sum::<f64>() / 8000.0;
        assert!((logs - u).abs() < 0.02, "{logs} {u}");
        let total: f64 = found.nodes.iter().map(|node| node.weight).sum();
        assert!((total - 1.0).abs() < 1e-12 && found.latent(6).is_err());
    }
}

#[test]
fn the_same_seed_gives_the_same_bits() {
    let once = |seed| {
        let found = fit_latent(&groups(), &Observed::of(&EFFECTS), &LatentSettings::default(), &mut rng(seed));
        found.unwrap().draws
    };
    assert!(once(1) == once(1) && once(1) != once(2));
}

#[test]
fn a_field_that_fails_somewhere_is_counted_and_everywhere_is_an_error() {
    let of = |limit: f64| {
        let field = move |hyper: &[f64]| {
            let off = if hyper[0] > limit { 2.0 } else { 0.0 };
            let covariance = Mat::from_fn(6, 6, |i, j| if i == j { 1.0 } else { off });
            Field { mean: vec![0.0; 6], spread: Spread::Covariance(covariance) }
        };
        Model { field: Box::new(field), ..groups() }
    };
    let fit = |limit| fit_latent(&of(limit), &Observed::of(&EFFECTS), &LatentSettings::default(), &mut rng(1));
    let argument = "covariance of the field";
    let source = Box::new(BoostError::Core(Error::NotPositiveDefinite { argument, pivot: 1 }));
    let error = fit(0.0).unwrap_err();
    assert_eq!(error, BoostError::Hyper { hyper: vec![1.0], source: source.clone() });
    assert_eq!(
        error.to_string(),
        "at the hyper-parameters [1.0]: covariance of the field is not positive definite (pivot 1)"
    );
    // Where half of the mass is refused the verdict is not good.
    let found = fit(1.0).unwrap();
    assert!(found.work.refused > 0 && found.diagnosis.refused > 0.05, "{:?}", found.diagnosis);
    assert!(matches!(found.refusal, Some(BoostError::Hyper { source: found, .. }) if found == source));
    assert_ne!(found.diagnosis.verdict, Verdict::Good);
}

#[test]
fn what_cannot_be_is_named() {
    let settings = LatentSettings::default();
    let fit = |y: &[f64]| fit_latent(&groups(), &Observed::of(y), &settings, &mut rng(1)).unwrap_err();
    assert_eq!(fit(&[]), BoostError::Core(Error::Empty { argument: "labels" }));
    assert_eq!(fit(&[1.0; 5]), BoostError::Core(Error::Dimension { argument: "labels", expected: 6, found: 5 }));
    let mut y = EFFECTS;
    y[3] = f64::NAN;
    assert!(matches!(fit(&y), BoostError::Core(Error::NonFinite { argument: "labels", index: 3, .. })));
    let with = |observed: Observed<'_>| fit_latent(&groups(), &observed, &settings, &mut rng(1)).unwrap_err();
    let expected = Error::Dimension { argument: "offsets", expected: 6, found: 2 };
    assert_eq!(with(Observed::of(&EFFECTS).offsets(&[0.0; 2])), BoostError::Core(expected));
    let offsets = [0.0, f64::INFINITY, 0.0, 0.0, 0.0, 0.0];
    assert!(matches!(
        with(Observed::of(&EFFECTS).offsets(&offsets)),
        BoostError::Core(Error::NonFinite { argument: "offsets", index: 1, .. })
    ));
    assert!(matches!(with(Observed::of(&EFFECTS).design(&[1.0; 30])), BoostError::Core(Error::Dimension { .. })));
    let mut design = vec![0.0; 36];
    design[7] = f64::NAN;
    assert!(matches!(with(Observed::of(&EFFECTS).design(&design)), BoostError::Core(Error::Row { row: 1, .. })));
    // A label that the likelihood refuses, at its row.
    let counts = process(3, &["a", "l"], |_| Ok(Counts));
    let error = fit_latent(&counts, &Observed::of(&[1.0, 2.5, 0.0]), &settings, &mut rng(1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "at the hyper-parameters [1.0, 1.0]: observation 1: label 2.5 is outside the support of the counts likelihood"
    );
    // What the model returns.
    let returned = |mean: Vec<f64>, variances: Vec<f64>| {
        let field = move |_: &[f64]| Field { mean: mean.clone(), spread: Spread::Variances(variances.clone()) };
        let model = Model { field: Box::new(field), ..groups() };
        match fit_latent(&model, &Observed::of(&EFFECTS), &settings, &mut rng(1)).unwrap_err() {
            BoostError::Hyper { source, .. } => source.to_string(),
            other => panic!("{other}"),
        }
    };
    assert_eq!(returned(vec![0.0; 4], vec![1.0; 6]), "mean of the field has length 4, expected 6");
    let variances = "rows of the field's covariance or precision has length 5, expected 6";
    assert_eq!(returned(vec![0.0; 6], vec![1.0; 5]), variances);
    assert_eq!(returned(vec![f64::NAN; 6], vec![1.0; 6]), "mean of the field[0] is not finite: NaN");
    let negative = "variances of the field[0] = -1 must be positive and finite";
    assert_eq!(returned(vec![0.0; 6], vec![-1.0; 6]), negative);
    for broken in [
        LatentSettings { nodes: 15, ..settings.clone() },
        LatentSettings { draws: 0, ..settings.clone() },
        LatentSettings { sweeps: 0, ..settings.clone() },
        LatentSettings { tolerance: f64::NAN, ..settings.clone() },
        LatentSettings { outer: Outer::Nodes { starts: 0 }, ..settings.clone() },
    ] {
        let error = fit_latent(&groups(), &Observed::of(&EFFECTS), &broken, &mut rng(1)).unwrap_err();
        assert!(matches!(error, BoostError::Core(Error::Setting { .. })), "{error}");
    }
    let none = Model { parameters: Parameters::new(), ..groups() };
    let error = fit_latent(&none, &Observed::of(&EFFECTS), &settings, &mut rng(1)).unwrap_err();
    assert_eq!(error, BoostError::Core(Error::Empty { argument: "parameters" }));
}
