//! Derivatives against finite differences, expectations against quadrature, implicit roots against their equations.

use vi_core::quadrature::{self, Quadrature};
use vi_core::{Error, Exact, GaussianExpectation, Implicit, Likelihood, Mixture8, SiteRule, Weighted};
use vi_models::likelihood::{BernoulliProbit, Binomial, NegativeBinomial, Offset, Poisson};

/// Central differences with a step of 1e-4: truncation is the next derivative but one times 1e-8/6.
fn check_derivatives<L: Likelihood>(likelihood: &L, y: f64, t: f64) {
    let step = 1e-4;
    let context = format!("{} at y = {y}, t = {t}", likelihood.family());
    let (here, slope, curvature) = (likelihood.log_density(y, t), likelihood.slope(y, t), likelihood.curvature(y, t));
    let size = 1.0 + y + curvature.abs() + slope.abs();
    let rounding = 8.0 * f64::EPSILON * (here.abs() + y * (1.0 + t.abs() + (1.0 + y).ln()) + size);
    let by = |f: &dyn Fn(f64) -> f64| (f(t + step) - f(t - step)) / (2.0 * step);
    let found = by(&|t| likelihood.log_density(y, t));
    assert!((slope - found).abs() < rounding / step + size * step * step, "slope of {context}: {slope} {found}");
    let found = -by(&|t| likelihood.slope(y, t));
    assert!((curvature - found).abs() < rounding / step + size * step * step, "curvature of {context}");
    assert_eq!(likelihood.derivatives(y, t), [here, slope, curvature]);
}

/// The probability of all labels is 1, the slope averages to 0 and its square to Fisher's information.
fn check_normalised<L: Likelihood>(likelihood: &L, most: u32, t: f64) {
    let (mut mass, mut slope, mut square, mut curvature) = (0.0, 0.0, 0.0, 0.0);
    for y in (0..=most).map(f64::from).filter(|&y| likelihood.supports(y)) {
        let p = likelihood.log_density(y, t).exp();
        let g = likelihood.slope(y, t);
        mass += p;
        slope += p * g;
        square += p * g * g;
        curvature += p * likelihood.curvature(y, t);
    }
    let fisher = likelihood.fisher_information(t);
    // log-gamma of a few hundred is good to 1e-13.
    assert!((mass - 1.0).abs() < 1e-11, "{} at {t}: {mass}", likelihood.family());
    assert!(slope.abs() < 1e-10 * fisher.sqrt().max(1.0), "{} at {t}: {slope}", likelihood.family());
    assert!((square / fisher - 1.0).abs() < 1e-9 && (curvature / fisher - 1.0).abs() < 1e-9, "{t}: {square} {fisher}");
}

#[test]
fn derivatives_are_those_of_the_log_density() {
    let binomial = Binomial::new(12.0).unwrap();
    let negative = NegativeBinomial::new(2.5).unwrap().with_exposure(3.0).unwrap();
    let poisson = Poisson::new(0.4).unwrap();
    for t in [-6.0, -1.3, 0.0, 0.2, 2.0, 4.5] {
        for y in [0.0, 1.0, 5.0, 12.0] {
            check_derivatives(&binomial, y, t);
            check_derivatives(&negative, y, t);
            check_derivatives(&poisson, y, t);
            check_derivatives(&Offset::new(binomial, -0.7).unwrap(), y, t);
            check_derivatives(&Weighted::new(Offset::new(poisson, 0.3).unwrap(), 2.5).unwrap(), y, t);
        }
        check_normalised(&binomial, 12, t);
    }
    for t in [-2.0, 0.0, 1.1] {
        check_normalised(&poisson, 60, t);
        check_normalised(&negative, 800, t);
    }
}

/// The closed form of a likelihood against adaptive quadrature of its log-density.
fn check_expectations<L: GaussianExpectation + Copy>(likelihood: &L, y: f64, tolerance: f64) {
    for a in [-8.0, -1.5, 0.0, 0.4, 3.0, 9.0] {
        for nu in [0.0, 1e-6, 0.05, 1.0, 7.0, 60.0] {
            let closed = likelihood.expected(y, a, nu);
            let found = quadrature::expected(likelihood, y, a, nu).unwrap();
            let size = 1.0 + y + found.curvature.abs() + found.value.abs();
            let context = format!("{} at y = {y}, a = {a}, ν = {nu}: {closed:?} {found:?}", likelihood.family());
            assert!((closed.value - found.value).abs() < tolerance * size, "value, {context}");
            assert!((closed.slope - found.slope).abs() < tolerance * size, "slope, {context}");
            assert!((closed.curvature - found.curvature).abs() < tolerance * size, "curvature, {context}");
            assert_eq!(likelihood.expected_log_density(y, a, nu), closed.value, "{context}");
            assert_eq!(likelihood.expected_slope_curvature(y, a, nu), (closed.slope, closed.curvature), "{context}");
        }
        // Each is the derivative of the one before.
        let (nu, h) = (0.8, 1e-4);
        let (up, down, here) =
            (likelihood.expected(y, a + h, nu), likelihood.expected(y, a - h, nu), likelihood.expected(y, a, nu));
        let size = 1.0 + y + here.curvature;
        let allowed = (1e-7 + 1e-11 / h) * size;
        assert!(((up.value - down.value) / (2.0 * h) - here.slope).abs() < allowed * (1.0 + here.value.abs()));
        assert!(((down.slope - up.slope) / (2.0 * h) - here.curvature).abs() < allowed);
        assert!(((down.curvature - up.curvature) / (2.0 * h) - here.third).abs() < allowed, "{a}, {y}");
        assert!(((up.third - down.third) / (2.0 * h) - here.fourth).abs() < allowed, "{a}, {y}");
    }
}

#[test]
fn expectations_are_what_quadrature_finds() {
    for y in [0.0, 3.0, 7.0] {
        // Quadrature reaches 1e-12 of the integral of the absolute value; the mixture 2.1e-8 of each curvature.
        check_expectations(&Binomial::with_method(7.0, Exact).unwrap(), y, 1e-11);
        check_expectations(&Binomial::with_method(7.0, Mixture8).unwrap(), y, 1e-7);
        check_expectations(&NegativeBinomial::with_method(1.5, Exact).unwrap().with_exposure(4.0).unwrap(), y, 1e-11);
        check_expectations(&NegativeBinomial::new(1.5).unwrap(), y, 1e-7);
        check_expectations(&Poisson::new(2.0).unwrap(), y, 1e-11);
        check_expectations(&Offset::new(Poisson::default(), -1.2).unwrap(), y, 1e-11);
    }
}

#[test]
fn predictive_densities_are_the_mean_densities() {
    // E p(y|t) on a fine grid of t.
    let mean = |likelihood: &dyn Fn(f64, f64) -> f64, y: f64, a: f64, nu: f64| -> f64 {
        let h = 1e-3;
        (-9_000..=9_000)
            .map(|i| {
                let x = h * f64::from(i);
                h * (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt() * likelihood(y, a + nu.sqrt() * x).exp()
            })
            .sum::<f64>()
            .ln()
    };
    for (y, a, nu) in [(0.0, 0.3, 0.5), (4.0, -1.0, 2.0), (6.0, 2.0, 0.01), (2.0, -3.0, 9.0)] {
        let (binomial, poisson) = (Binomial::new(6.0).unwrap(), Poisson::new(1.7).unwrap());
        let negative = NegativeBinomial::new(0.8).unwrap();
        for (found, log_density) in [
            (binomial.log_predictive(y, a, nu), &(|y, t| binomial.log_density(y, t)) as &dyn Fn(f64, f64) -> f64),
            (poisson.log_predictive(y, a, nu), &|y, t| poisson.log_density(y, t)),
            (negative.log_predictive(y, a, nu), &|y, t| negative.log_density(y, t)),
        ] {
            let expected = mean(log_density, y, a, nu);
            assert!((found - expected).abs() < 1e-10 * (1.0 + expected.abs()), "{y}, {a}, {nu}: {found} {expected}");
        }
    }
}

/// `α = a + ν·E∂`, `ν* = ν/(1+νh)` at the root.
fn check_root<L: GaussianExpectation>(likelihood: &L, y: f64, a: f64, nu: f64) {
    let root = likelihood.implicit_root(y, a, nu).unwrap();
    let context = format!("{} at y = {y}, a = {a}, ν = {nu}: {root:?}", likelihood.family());
    let (slope, curvature) = likelihood.expected_slope_curvature(y, root.alpha, root.nu);
    // An error δ of α moves E∂ by h·δ and E[−∂²] by as much again for an exponential.
    let delta = 1e-11 * (root.alpha.abs().max(a.abs()).max(root.nu.sqrt()) + 1.0);
    let information = 1.0 + nu * curvature;
    assert!((root.alpha - a - nu * slope).abs() <= delta * information * (1.0 + y), "mean, {context}");
    assert!((root.nu * information / nu - 1.0).abs() <= 10.0 * delta, "variance, {context}");
    assert!((root.curvature - curvature).abs() <= 10.0 * delta * curvature + 1e-300, "curvature, {context}");
    // E∂ is a difference of terms of order y + 1.
    let rounding = 16.0 * f64::EPSILON * nu * (1.0 + y);
    assert!((a + nu * root.gain - root.alpha).abs() <= delta + rounding, "gain, {context}");
}

#[test]
fn implicit_roots_satisfy_their_equations_everywhere() {
    for a in [-1e3, -30.0, -2.0, 0.0, 0.5, 6.0, 200.0] {
        for nu in [1e-8, 1e-3, 0.5, 4.0, 100.0, 1e4, 1e8] {
            for y in [0.0, 1.0, 6.0] {
                check_root(&Poisson::default(), y, a, nu);
                check_root(&Offset::new(Poisson::new(30.0).unwrap(), -0.4).unwrap(), y, a, nu);
                check_root(&Weighted::new(Poisson::default(), 0.3).unwrap(), y, a, nu);
                check_root(&Binomial::with_method(6.0, Exact).unwrap(), y, a, nu);
                check_root(&NegativeBinomial::with_method(3.0, Exact).unwrap(), y, a, nu);
            }
        }
    }
}

#[test]
fn weights_offsets_and_trials_say_what_repetition_says() {
    let near = |a: vi_core::Site, b: vi_core::Site| {
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (1.0 + b.abs());
        assert!(close(a.slope, b.slope) && close(a.curvature, b.curvature), "{a:?} {b:?}");
    };
    let (a, nu) = (0.4, 1.3);
    // Three trials at once are the three Bernoulli observations at once, 1 of weight 2 and 0 of weight 1.
    let three = Implicit(Binomial::new(3.0).unwrap()).site(a, nu, 2.0).unwrap();
    let six = Implicit(Weighted::new(Binomial::new(3.0).unwrap(), 2.0).unwrap()).site(a, nu, 2.0).unwrap();
    near(six, Implicit(Binomial::new(6.0).unwrap()).site(a, nu, 4.0).unwrap());
    assert!(six.curvature > three.curvature);
    // An exposure is an offset by its logarithm; a Poisson of weight 2 is two of them: their sum at twice the exposure.
    let exposure = Implicit(Poisson::new(2.0).unwrap()).site(a, nu, 3.0).unwrap();
    near(exposure, Implicit(Offset::new(Poisson::default(), f64::ln(2.0)).unwrap()).site(a, nu, 3.0).unwrap());
    let twice = Implicit(Weighted::new(Poisson::default(), 2.0).unwrap()).site(a, nu, 3.0).unwrap();
    near(twice, Implicit(Poisson::new(2.0).unwrap()).site(a, nu, 6.0).unwrap());
    // A negative binomial of great size is a Poisson.
    let large = Implicit(NegativeBinomial::with_method(1e9, Exact).unwrap()).site(a, nu, 3.0).unwrap();
    let poisson = Implicit(Poisson::default()).site(a, nu, 3.0).unwrap();
    assert!((large.slope - poisson.slope).abs() < 1e-6 && (large.curvature - poisson.curvature).abs() < 1e-6);
    // One trial is the Bernoulli.
    let (one, bernoulli) = (Binomial::new(1.0).unwrap(), vi_core::BernoulliLogit(Mixture8));
    near(Implicit(one).site(a, nu, 1.0).unwrap(), Implicit(bernoulli).site(a, nu, 1.0).unwrap());
    assert!((one.log_predictive(1.0, a, nu) - bernoulli.log_predictive(1.0, a, nu)).abs() < 1e-8);
}

#[test]
fn labels_and_settings_outside_the_family_are_named() {
    fn refuses<L: Likelihood>(likelihood: &L, label: f64) {
        assert!(matches!(likelihood.check_label(label), Err(Error::Label { label: l, .. }) if l == label), "{label}");
    }
    let binomial = Binomial::new(5.0).unwrap();
    let poisson = Poisson::default();
    let negative = NegativeBinomial::new(2.0).unwrap();
    for label in [-1.0, 0.5, -0.0001, 2.5] {
        refuses(&binomial, label);
        refuses(&poisson, label);
        refuses(&negative, label);
        refuses(&BernoulliProbit, label);
        refuses(&Offset::new(poisson, 1.0).unwrap(), label);
    }
    refuses(&binomial, 6.0);
    for label in [f64::NAN, f64::INFINITY] {
        assert!(matches!(poisson.check_label(label), Err(Error::NonFinite { .. })));
    }
    for bad in [f64::NAN, f64::INFINITY, -1.0] {
        assert!(matches!(Binomial::new(bad), Err(Error::Setting { name: "trials", .. })));
        assert!(matches!(Poisson::new(bad), Err(Error::Setting { name: "exposure", .. })));
        assert!(matches!(NegativeBinomial::new(bad), Err(Error::Setting { name: "size", .. })));
        assert!(matches!(negative.with_exposure(bad), Err(Error::Setting { name: "exposure", .. })));
    }
    assert!(matches!(Binomial::new(2.5), Err(Error::Setting { name: "trials", .. })));
    assert!(Poisson::new(0.0).is_err() && Binomial::new(0.0).is_ok());
    assert!(matches!(Offset::new(poisson, f64::NAN), Err(Error::Setting { name: "offset", .. })));
    assert_eq!(Quadrature(binomial).log_density(0.0, 0.0), binomial.log_density(0.0, 0.0));
}
