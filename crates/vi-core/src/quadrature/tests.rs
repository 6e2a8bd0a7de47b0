//! Quadratures against closed forms, against the exact logistic, and against brute force.

use super::{Quadrature, expected, tilted};
use crate::special::{normal_cdf, normal_density};
use crate::{BernoulliLogit, Error, Exact, Expected, GaussianExpectation, GaussianLikelihood, Likelihood, Tilted};

const MEANS: [f64; 7] = [0.0, 0.3, -2.0, 17.0, -300.0, 1e4, -1e4];
const VARIANCES: [f64; 9] = [1e-12, 1e-8, 1e-3, 0.3, 2.0, 60.0, 1e3, 1e6, 1e8];

fn grid() -> impl Iterator<Item = (f64, f64)> {
    MEANS.into_iter().flat_map(|a| VARIANCES.into_iter().map(move |nu| (a, nu)))
}

/// A likelihood given by its log-density, slope and curvature alone.
struct Fixture<F: Fn(f64) -> [f64; 3]> {
    log_concave: bool,
    point: F,
}

impl<F: Fn(f64) -> [f64; 3]> Likelihood for Fixture<F> {
    fn family(&self) -> &'static str {
        "fixture"
    }

    fn supports(&self, label: f64) -> bool {
        label.is_finite()
    }

    fn is_log_concave(&self) -> bool {
        self.log_concave
    }

    fn log_density(&self, _y: f64, t: f64) -> f64 {
        (self.point)(t)[0]
    }

    fn slope(&self, _y: f64, t: f64) -> f64 {
        (self.point)(t)[1]
    }

    fn curvature(&self, _y: f64, t: f64) -> f64 {
        (self.point)(t)[2]
    }

    fn fisher_information(&self, t: f64) -> f64 {
        (self.point)(t)[2]
    }
}

#[test]
fn gaussian_expectations_are_the_closed_form() {
    for noise in [1e-4, 0.5, 1e6] {
        let linear = GaussianLikelihood::new(noise).unwrap();
        for (a, nu) in grid() {
            let y = 1.5;
            let (by_nodes, closed) = (expected(&linear, y, a, nu).unwrap(), linear.expected(y, a, nu));
            // Sums of 57 terms; the residual y − t carries the rounding of t = a + σε.
            let rounding = 64.0 * f64::EPSILON;
            let slope_scale = (a.abs() + nu.sqrt() + y) / noise;
            assert!(
                (by_nodes.value - closed.value).abs() <= rounding * (closed.value.abs() + slope_scale * a.abs() + 8.0)
            );
            assert!((by_nodes.slope - closed.slope).abs() <= rounding * slope_scale, "{noise}, {a}, {nu}");
            assert!((by_nodes.curvature - closed.curvature).abs() <= rounding * closed.curvature);
            assert!(by_nodes.third == 0.0 && by_nodes.fourth == 0.0);
        }
    }
}

#[test]
fn logistic_expectations_are_the_exact_ones() {
    let logit = BernoulliLogit(Exact);
    for (a, nu) in grid() {
        for y in [0.0, 1.0] {
            let (by_nodes, exact) = (expected(&logit, y, a, nu).unwrap(), logit.expected(y, a, nu));
            // Beyond 9 standard deviations lies 2e-19 of the Gaussian, at a density of 1e-18/σ.
            let close = |p: f64, q: f64, unit: f64| (p - q).abs() <= 1e-11 * q.abs() + 2e-18 * unit;
            let context = format!("{a}, {nu}, {y}: {by_nodes:?} {exact:?}");
            let sigma = nu.sqrt();
            assert!(close(by_nodes.value, exact.value, sigma), "{context}");
            assert!(close(by_nodes.slope, exact.slope, 1.0), "{context}");
            assert!(close(by_nodes.curvature, exact.curvature, 1.0 / sigma), "{context}");
            // Stein's lemma leaves ε·E|∂²|/σ and ε·E|∂²|/σ²; differences seven digits.
            let noise = 1e-12 * exact.curvature + 2e-16 / sigma;
            // The exact method's own sums are of E∂³ and E∂⁴, which cancel.
            let own = 1e-13 * exact.curvature;
            let [third, fourth] = [by_nodes.third - exact.third, by_nodes.fourth - exact.fourth].map(f64::abs);
            assert!(third <= 1e-7 * exact.third.abs() + own + noise / sigma.max(1e-3), "{context}");
            assert!(fourth <= 1e-6 * exact.fourth.abs() + own + noise / nu.max(1e-6), "{context}");
            let sum = BernoulliLogit(Exact).log_predictive(y, a, nu);
            let normaliser = tilted(&logit, y, a, nu).unwrap().log_normaliser;
            assert!((normaliser - sum).abs() <= 1e-11 * (1.0 + sum.abs()), "{a}, {nu}, {y}: {normaliser} {sum}");
        }
    }
}

#[test]
fn a_needle_that_no_first_node_sees_is_found_by_its_step() {
    // The logistic's curvature has width 1 at 5 to 8 standard deviations of 10³ and 10⁵.
    let logit = BernoulliLogit(Exact);
    for (a, nu) in [(-7e3, 1e6), (5.3e3, 1e6), (-8e5, 1e10), (6.1e5, 1e10)] {
        let by_nodes = expected(&logit, 1.0, a, nu).unwrap();
        let exact = logit.expected(1.0, a, nu);
        assert!((by_nodes.curvature / exact.curvature - 1.0).abs() < 1e-11, "{a}, {nu}");
    }
}

#[test]
fn a_step_between_the_points_of_a_coarse_rule_is_found() {
    // log p jumps by 2 within 10⁻³ of 0.1, slopes and curvatures are needles.
    let (at, width) = (0.1, 1e-3);
    let point = |t: f64| {
        let u: f64 = (t - at) / width;
        let bell = 1.0 / (u.cosh() * u.cosh());
        [u.tanh(), bell / width, 2.0 * u.tanh() * bell / (width * width)]
    };
    let step = Fixture { log_concave: false, point };
    let found = expected(&step, 0.0, 0.0, 1.0).unwrap();
    // As for a jump, to second order in the width.
    assert!((found.value - (1.0 - 2.0 * normal_cdf(at))).abs() < width * width);
    assert!((found.slope - 2.0 * normal_density(at)).abs() < 2.0 * width * width);
    assert!((found.curvature - 2.0 * -at * normal_density(at)).abs() < 4.0 * width * width);
}

#[test]
fn a_kink_counts_as_the_jump_of_its_slope() {
    // Laplace noise of scale ½ about 1.3.
    let (centre, scale) = (1.3, 0.5);
    let point = |t: f64| [-(t - centre).abs() / scale - (2.0 * scale).ln(), (centre - t).signum() / scale, 0.0];
    let laplace = Fixture { log_concave: true, point };
    for (a, nu) in [(0.3, 1e-3), (1.0, 0.4), (-5.0, 9.0), (40.0, 1e4), (1.3, 1e8)] {
        let sigma = f64::sqrt(nu);
        let z: f64 = (centre - a) / sigma;
        let both = normal_cdf(z) - normal_cdf(-z);
        let distance = sigma * (2.0 * normal_density(z) + z * both);
        let found = expected(&laplace, 0.0, a, nu).unwrap();
        assert!((found.value + distance / scale + (2.0 * scale).ln()).abs() < 1e-11 * (1.0 + distance));
        assert!((found.slope - both / scale).abs() < 1e-11, "{a}, {nu}");
        let curvature = 2.0 * normal_density(z) / (sigma * scale);
        assert!(
            (found.curvature - curvature).abs() <= 1e-11 * curvature + 1e-15,
            "{a}, {nu}: {} {curvature}",
            found.curvature
        );
        // The tilted density is two truncated Gaussians.
        let side = |sign: f64| {
            (-sign * (a - centre) / scale + 0.5 * nu / (scale * scale), sign * (a - centre) / sigma - sigma / scale)
        };
        let mass: f64 = [1.0, -1.0].map(|s| side(s).0.exp() * normal_cdf(side(s).1)).iter().sum();
        if mass.is_finite() && mass > 1e-280 {
            let normaliser = tilted(&laplace, 0.0, a, nu).unwrap().log_normaliser;
            assert!((normaliser - (mass / (2.0 * scale)).ln()).abs() < 1e-11 * (1.0 + normaliser.abs()), "{a}, {nu}");
        }
    }
}

#[test]
fn exponential_growth_is_followed_to_where_its_mass_is() {
    let exponential = Fixture { log_concave: true, point: |t: f64| [-t.exp(), -t.exp(), t.exp()] };
    for (a, nu) in [(-1.0, 0.01), (0.5, 4.0), (-3.0, 100.0), (-100.0, 400.0)] {
        let found = expected(&exponential, 0.0, a, nu).unwrap();
        let exact = (a + 0.5 * nu).exp();
        for value in [found.curvature, -found.slope, -found.value] {
            // e^t has t·ε of relative rounding, t up to a + 28σ.
            assert!((value / exact - 1.0).abs() < 1e-12 + f64::EPSILON * 600.0, "{a}, {nu}");
        }
        if nu < 50.0 {
            assert!((found.third / -exact - 1.0).abs() < 1e-9 && (found.fourth / -exact - 1.0).abs() < 1e-9);
        }
    }
}

#[test]
fn what_has_no_expectation_is_an_error_and_never_a_number() {
    let steep = Fixture {
        log_concave: true,
        point: |t: f64| [-(t * t).exp(), -2.0 * t * (t * t).exp(), (2.0 + 4.0 * t * t) * (t * t).exp()],
    };
    assert!(matches!(expected(&steep, 0.0, 0.0, 1.0), Err(Error::Quadrature { .. })));
    let noisy = Fixture { log_concave: true, point: |t: f64| [(1e9 * t).sin(), (1e9 * t).cos(), (1e9 * t).sin()] };
    assert!(matches!(expected(&noisy, 0.0, 0.0, 1.0), Err(Error::Quadrature { .. })));
    let broken = Fixture { log_concave: true, point: |_| [f64::NAN; 3] };
    assert!(matches!(expected(&broken, 0.0, 0.0, 1.0), Err(Error::Quadrature { .. })));
    assert!(tilted(&broken, 0.0, 0.0, 1.0).is_err());
    assert!(Quadrature(broken).expected(0.0, 0.0, 1.0).value.is_nan());
    let linear = GaussianLikelihood::new(1.0).unwrap();
    for (a, nu) in [(f64::NAN, 1.0), (0.0, f64::INFINITY), (0.0, -1.0)] {
        assert!(expected(&linear, 0.0, a, nu).is_err() && tilted(&linear, 0.0, a, nu).is_err());
    }
}

#[test]
fn expectations_at_a_point_are_the_function() {
    let logit = BernoulliLogit(Exact);
    for a in [-40.0, -1.0, 0.0, 3.0] {
        let at = expected(&logit, 1.0, a, 0.0).unwrap();
        let exact = logit.expected(1.0, a, 0.0);
        assert_eq!((at.value, at.slope, at.curvature), (exact.value, exact.slope, exact.curvature));
        assert!((at.third - exact.third).abs() <= 1e-6 * exact.curvature);
        assert!((at.fourth - exact.fourth).abs() <= 1e-5 * exact.curvature);
        let tilt = tilted(&logit, 1.0, a, 0.0).unwrap();
        assert_eq!((tilt.slope, tilt.curvature, tilt.variance), (exact.slope, exact.curvature, 0.0));
    }
}

#[test]
fn tilted_gaussian_is_the_kalman_update() {
    for noise in [1e-4, 0.5, 1e6] {
        let linear = GaussianLikelihood::new(noise).unwrap();
        for (a, nu) in grid() {
            let y = 1.5;
            let (found, closed) = (tilted(&linear, y, a, nu).unwrap(), linear.tilted(y, a, nu).unwrap());
            let context = format!("{noise}, {a}, {nu}: {found:?} {closed:?}");
            // The exponent is a difference of log-densities of this size.
            let exponent = 4.0 * f64::EPSILON * closed.log_normaliser.abs();
            assert!((found.variance / closed.variance - 1.0).abs() < 1e-11 + exponent, "{context}");
            // h is seen through slopes that carry the rounding of t and y − t, over a width √variance.
            let rounding = f64::EPSILON * (a.abs() + y) / closed.variance.sqrt();
            assert!((found.curvature / closed.curvature - 1.0).abs() < 1e-11 + 8.0 * rounding + exponent, "{context}");
            assert!(
                (found.slope - closed.slope).abs() <= 1e-11 * (closed.slope.abs() + nu.sqrt() / (noise + nu)),
                "{context}"
            );
            assert!(
                (found.log_normaliser - closed.log_normaliser).abs() <= 1e-11 * (1.0 + closed.log_normaliser.abs()),
                "{context}"
            );
        }
    }
}

/// Mass, mean and variance by a fine trapezoid rule over ten deviations of prior and the centre.
fn brute_force(log_density: impl Fn(f64) -> f64, a: f64, nu: f64) -> [f64; 3] {
    let sigma = nu.sqrt();
    let n = 2_000_000;
    let mut sums = [0.0; 3];
    let step = 24.0 * sigma / f64::from(n);
    for i in 0..=n {
        let t = a - 12.0 * sigma + step * f64::from(i);
        let p = (log_density(t) - 0.5 * (t - a) * (t - a) / nu).exp() * normal_density(0.0) / sigma * step;
        for (sum, power) in sums.iter_mut().zip([1.0, t - a, (t - a) * (t - a)]) {
            *sum += p * power;
        }
    }
    let mean = sums[1] / sums[0];
    [sums[0].ln(), a + mean, sums[2] / sums[0] - mean * mean]
}

#[test]
fn tilted_moments_are_those_of_brute_force() {
    let check = |found: Tilted, [log_mass, mean, variance]: [f64; 3], a: f64, nu: f64| {
        // Brute force: 2·10⁶ roundings of terms of order one.
        assert!((found.log_normaliser - log_mass).abs() < 1e-9, "{a}, {nu}: {found:?} {log_mass}");
        assert!((a + nu * found.slope - mean).abs() < 1e-9 * (mean.abs() + variance.sqrt()), "{a}, {nu}");
        assert!((found.variance / variance - 1.0).abs() < 1e-9, "{a}, {nu}: {found:?} {variance}");
        assert!((found.variance * (1.0 + found.curvature * nu) / nu - 1.0).abs() < 1e-10, "{a}, {nu}: {found:?}");
    };
    let logit = BernoulliLogit(Exact);
    // A broad bump and a narrow one, three apart.
    let parts = |t: f64| [0.7 * (-0.5 * t * t).exp(), 6.0 * (-50.0 * (t - 3.0) * (t - 3.0)).exp()];
    let two = Fixture {
        log_concave: false,
        point: |t: f64| {
            let [p, q] = parts(t);
            let slope = (-t * p - 100.0 * (t - 3.0) * q) / (p + q);
            let second = ((t * t - 1.0) * p + (1e4 * (t - 3.0) * (t - 3.0) - 100.0) * q) / (p + q);
            [(p + q).ln(), slope, slope * slope - second]
        },
    };
    for (a, nu) in [(0.3, 0.05), (-2.0, 4.0), (1.5, 1.0), (2.0, 40.0)] {
        check(tilted(&logit, 1.0, a, nu).unwrap(), brute_force(|t| logit.log_density(1.0, t), a, nu), a, nu);
        check(tilted(&two, 0.0, a, nu).unwrap(), brute_force(|t| two.log_density(0.0, t), a, nu), a, nu);
    }
    let wider = tilted(&two, 0.0, 1.5, 1.0).unwrap();
    assert!(wider.curvature < 0.0 && wider.variance > 1.0);
}

#[test]
fn every_mode_is_found() {
    // Three narrow Cauchy peaks in the reach of one Gaussian: log p = −Σ log(1 + ((t−m)/s)²)·wᵢ has a mode near each m.
    let peaks = [-2.0, 0.45, 3.1];
    let point = |t: f64| {
        let mut sums = [0.0; 3];
        for m in peaks {
            let r: f64 = (t - m) / 1e-3;
            sums[0] -= (r * r).ln_1p();
            sums[1] -= 2.0 * r / (1.0 + r * r) / 1e-3;
            sums[2] += 2.0 * (1.0 - r * r) / ((1.0 + r * r) * (1.0 + r * r)) / 1e-6;
        }
        sums
    };
    let found = super::modes(&Fixture { log_concave: false, point }, 0.0, 0.5, 4.0).unwrap();
    assert_eq!(found.len(), 3);
    for (mode, peak) in found.iter().zip(peaks) {
        assert!((0.5 + mode.offset - peak).abs() < 1e-4 && (mode.scale / (1e-3 / f64::sqrt(2.0)) - 1.0).abs() < 1e-3);
    }
}

#[test]
fn the_same_bits_every_time() {
    let logit = BernoulliLogit(Exact);
    let once = || (expected(&logit, 1.0, -3.0, 1e5).unwrap(), tilted(&logit, 1.0, -3.0, 1e5).unwrap());
    let (first, second): ((Expected, Tilted), _) = (once(), once());
    assert_eq!(first, second);
}

/// Counts what a quadrature asks of it.
struct Counted<L> {
    likelihood: L,
    asked: std::cell::Cell<usize>,
}

impl<L: Likelihood> Likelihood for Counted<L> {
    fn family(&self) -> &'static str {
        "counted"
    }

    fn supports(&self, label: f64) -> bool {
        self.likelihood.supports(label)
    }

    fn is_log_concave(&self) -> bool {
        self.likelihood.is_log_concave()
    }

    fn log_density(&self, y: f64, t: f64) -> f64 {
        self.asked.set(self.asked.get() + 1);
        self.likelihood.log_density(y, t)
    }

    fn slope(&self, y: f64, t: f64) -> f64 {
        self.asked.set(self.asked.get() + 1);
        self.likelihood.slope(y, t)
    }

    fn curvature(&self, y: f64, t: f64) -> f64 {
        self.likelihood.curvature(y, t)
    }

    fn fisher_information(&self, t: f64) -> f64 {
        self.likelihood.fisher_information(t)
    }
}

#[test]
fn no_quadrature_asks_for_more_than_its_cap() {
    let logit = BernoulliLogit(Exact);
    let exponential =
        |log_concave| Fixture { log_concave, point: |t: f64| [3.0 * t - t.exp(), 3.0 - t.exp(), t.exp()] };
    let noisy = Fixture { log_concave: true, point: |t: f64| [(1e9 * t).sin(), -t + (1e9 * t).cos(), 1.0] };
    let mut worst = 0;
    for a in [0.0, 1.7e308, -1.7e308, 1e300, -1e300, 1e8, -700.0, 3.0] {
        for nu in [5e-324, 1e-16, 1.0, 1e3, 1e300] {
            let one = Counted { likelihood: logit, asked: std::cell::Cell::new(0) };
            let two = Counted { likelihood: exponential(true), asked: std::cell::Cell::new(0) };
            let three = Counted { likelihood: exponential(false), asked: std::cell::Cell::new(0) };
            let four = Counted { likelihood: &noisy, asked: std::cell::Cell::new(0) };
            let _ = (tilted(&one, 1.0, a, nu), tilted(&two, 1.0, a, nu));
            let _ = (tilted(&three, 1.0, a, nu), tilted(&four, 1.0, a, nu));
            for count in [one.asked.get(), two.asked.get(), three.asked.get(), four.asked.get()] {
                worst = worst.max(count);
            }
            let calls = std::cell::Cell::new(0);
            let _ = super::average(
                |t| {
                    calls.set(calls.get() + 1);
                    f64::from(u8::from((1e9 * t).sin() > 0.0))
                },
                a,
                nu,
            );
            assert!(calls.get() <= super::MOST_EVALUATIONS + 2000, "{a:e}, {nu:e}: {}", calls.get());
        }
    }
    // Each evaluation is a density and a slope; the search for modes and what waits when the budget is spent come on top.
    assert!(worst <= 2 * super::MOST_EVALUATIONS + 8000, "{worst}");
}

#[test]
fn what_floats_cannot_resolve_is_an_error() {
    // A variance 19 % off, a log Z of −0.919 for −1.266, without a word.
    let noise = GaussianLikelihood::new(1e-16).unwrap();
    for (likelihood, y, a, nu) in [(noise, 1e8, 1e8, 1e-16), (GaussianLikelihood::new(1.0).unwrap(), 1e150, 1e150, 1.0)]
    {
        let found = tilted(&likelihood, y, a, nu);
        assert!(matches!(found, Err(Error::Quadrature { .. })), "{found:?}");
    }
    assert!(tilted(&noise, 1e2, 1e2, 1e-6).is_ok());
}

#[test]
fn equal_steps_and_panels_find_the_same_moments() {
    let logit = BernoulliLogit(Exact);
    // Said not to be log-concave, a likelihood goes by panels.
    let plain = Fixture {
        log_concave: false,
        point: |t: f64| [logit.log_density(1.0, t), logit.slope(1.0, t), logit.curvature(1.0, t)],
    };
    for a in [-30.0, -4.0, -0.5, 0.0, 2.0, 12.0] {
        for nu in [1e-6, 1e-2, 0.3, 2.0, 20.0, 500.0] {
            let (steps, panels) = (tilted(&logit, 1.0, a, nu).unwrap(), tilted(&plain, 1.0, a, nu).unwrap());
            let context = format!("{a}, {nu}: {steps:?} {panels:?}");
            assert!((steps.log_normaliser - panels.log_normaliser).abs() < 1e-11 * (1.0 + a.abs()), "{context}");
            assert!((steps.slope / panels.slope - 1.0).abs() < 1e-10, "{context}");
            assert!((steps.variance / panels.variance - 1.0).abs() < 1e-10, "{context}");
            // Panels take differences of slopes, which round to ε over a width √ν.
            let rounding = 4.0 * f64::EPSILON / f64::sqrt(nu);
            assert!((steps.curvature - panels.curvature).abs() < 1e-8 * steps.curvature + rounding, "{context}");
        }
    }
}
