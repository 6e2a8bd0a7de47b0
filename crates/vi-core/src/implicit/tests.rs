//! The roots against their own equations, over a grid far wider than the papers'.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{ImplicitRoot, log_concave_root, log_concave_root_from, lowest_root, probit_root};
use crate::expectation::BETA;
use crate::quadrature::Quadrature;
use crate::special::{jaakkola_jordan, sigmoid, sigmoid_derivative};
use crate::{
    BernoulliLogit, Error, Exact, GaussianExpectation, GaussianLikelihood, Implicit, Likelihood, Mixture8,
    ProbitApproximation, QuadraticBound, SiteRule,
};

fn grid() -> impl Iterator<Item = (f64, f64, f64)> {
    let means = [0.0, 1e-8, 0.01, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1e3, 1e4, 1e6, 1e21, 1e50, 1e100];
    let variances = [
        0.0, 5e-324, 1e-12, 1e-8, 1e-4, 0.01, 0.1, 1.0, 3.0, 10.0, 30.0, 100.0, 1e3, 1e4, 1e6, 1e8, 1e12, 1e21, 1e50,
        1e100,
    ];
    means.into_iter().flat_map(move |a| {
        variances.into_iter().flat_map(move |nu| [(a, nu, 0.0), (a, nu, 1.0), (-a, nu, 0.0), (-a, nu, 1.0)])
    })
}

/// Inputs at which a start or a bracket's end lies at the middle of the logistic, or within rounding of it: the label's domain
/// `[a, a+ν]` begins, ends or is halved at 0. Labels and signs as in R-VGA's symmetry.
fn lines(count: usize) -> impl Iterator<Item = (f64, f64, f64)> {
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    (0..count).flat_map(move |_| {
        let nu = 10f64.powf(rng.random_range(-12.0..12.0));
        let near = 10f64.powf(rng.random_range(-17.0..0.0));
        let starts = [-nu, -nu * (1.0 + near), -nu * (1.0 - near), near - nu, -0.5 * nu, near, 0.0, nu * near];
        starts.into_iter().flat_map(move |a| [(a, nu, 1.0), (-a, nu, 0.0)]).collect::<Vec<_>>()
    })
}

fn assert_probit_root(a: f64, nu: f64, y: f64) {
    let root = probit_root(y, a, nu).unwrap();
    let k = BETA / (root.nu + BETA * BETA).sqrt();
    let scale = root.alpha.abs().max(root.nu.sqrt());
    // An error δ of α changes the residual by (1+νh)·δ; rounding of νs itself is ε·ν·s.
    let information = 1.0 + nu * k * sigmoid_derivative(k * root.alpha);
    // α = a + ν·s(−kα) for y = 1 and a − ν·s(kα) for y = 0, or from the other end of the domain: whichever cancels less.
    let sign = 2.0 * y - 1.0;
    let near = root.alpha - a - sign * nu * sigmoid(-sign * k * root.alpha);
    let far = root.alpha - (a + sign * nu) + sign * nu * sigmoid(sign * k * root.alpha);
    let size = |tail: f64, end: f64| f64::EPSILON * (nu * tail + end.abs());
    let (f, rounding) = if sign * root.alpha >= 0.0 {
        (near, size(sigmoid(-sign * k * root.alpha), a))
    } else {
        (far, size(sigmoid(sign * k * root.alpha), a + sign * nu))
    };
    assert!(f.abs() <= 1e-12 * scale * information + 8.0 * rounding, "f at {a}, {nu}, {y}: {f:e}");
    let g = root.nu * information - nu;
    assert!(g.abs() <= 1e-12 * nu, "g at {a}, {nu}, {y}: {g:e}");
}

#[test]
fn probit_root_satisfies_equations_69_and_70_everywhere() {
    for (a, nu, y) in grid().chain(lines(5000)) {
        assert_probit_root(a, nu, y);
    }
}

#[test]
fn no_search_takes_its_start_for_the_root() {
    // Where a + ν rounds to 0 the start was -6e-14, and the logarithm's step from there a part of it.
    let site = probit_root(1.0, -562.34, 562.34).unwrap().site(562.34);
    assert!((site.slope - 3.835).abs() < 5e-4, "{site:?}");
    // Other expectations from the probit's root, any likelihood from its own start.
    for (a, nu, y) in lines(200) {
        check_against_own_expectations(&BernoulliLogit(Mixture8), a, nu, y, 1e-11);
        let (only, searched) =
            (probit_root(y, a, nu).unwrap(), log_concave_root(&BernoulliLogit(ProbitApproximation), y, a, nu));
        let searched = searched.unwrap();
        // The search stops at a step of 1e-9; the papers' expectations are not each other's derivatives by ν, so the step's error is
        // a multiple of it, and not its square.
        let scale = only.alpha.abs().max(only.nu.sqrt());
        assert!((only.alpha - searched.alpha).abs() <= 1e-8 * scale, "{a}, {nu}, {y}: {only:?} {searched:?}");
        assert!((only.nu / searched.nu - 1.0).abs() <= 1e-8, "{a}, {nu}, {y}: {only:?} {searched:?}");
    }
    for (a, nu, y) in lines(10) {
        if nu <= 1e8 {
            check_against_own_expectations(&BernoulliLogit(Exact), a, nu, y, 1e-11);
        }
    }
}

/// `½N(t|m, 1) + ½N(t|−m, 1)` as a function of `t`, up to a constant: symmetric, and for `m > 1` with two modes.
struct Twins(f64);

impl Likelihood for Twins {
    fn family(&self) -> &'static str {
        "twins"
    }

    fn supports(&self, label: f64) -> bool {
        label.is_finite()
    }

    fn is_log_concave(&self) -> bool {
        false
    }

    fn log_density(&self, _y: f64, t: f64) -> f64 {
        let reach = (self.0 * t).abs();
        reach + (-2.0 * reach).exp().ln_1p() - 0.5 * t * t
    }

    fn slope(&self, _y: f64, t: f64) -> f64 {
        self.0 * (self.0 * t).tanh() - t
    }

    fn curvature(&self, _y: f64, t: f64) -> f64 {
        1.0 - (self.0 / (self.0 * t).cosh()).powi(2)
    }

    fn fisher_information(&self, t: f64) -> f64 {
        self.curvature(0.0, t)
    }
}

#[test]
fn the_lowest_root_leaves_a_saddle_at_its_start() {
    // By symmetry α = 0 solves the system at some σ, and descent from there never leaves the axis.
    let twins = Quadrature(Twins(4.0));
    let (a, nu) = (0.0, 9.0);
    let root = lowest_root(&twins, 0.0, a, nu).unwrap();
    let objective = |alpha: f64, variance: f64| {
        0.5 * (alpha * alpha + variance) / nu - 0.5 * variance.ln() - twins.expected(0.0, alpha, variance).value
    };
    assert!(root.alpha.abs() > 3.0, "{root:?}");
    let on_axis = (1..200).map(|i| objective(0.0, 0.1 * f64::from(i))).fold(f64::INFINITY, f64::min);
    assert!(objective(root.alpha, root.nu) < on_axis - 0.1, "{root:?}: {on_axis}");
    // A tilt of the prior by the least float decides nothing either.
    let tilted = lowest_root(&twins, 0.0, f64::MIN_POSITIVE, nu).unwrap();
    assert!((tilted.alpha.abs() - root.alpha.abs()).abs() < 1e-9 && (tilted.nu / root.nu - 1.0).abs() < 1e-9);
}

#[test]
fn a_negative_variance_is_refused_by_name() {
    let refused = |result: Result<ImplicitRoot, Error>, nu: f64| {
        assert_eq!(result, Err(Error::NegativeVariance { value: nu }));
    };
    for nu in [-1.0, -1e-20, f64::NEG_INFINITY] {
        refused(probit_root(1.0, 0.0, nu), nu);
        for y in [0.0, 1.0] {
            refused(BernoulliLogit(ProbitApproximation).implicit_root(y, 0.0, nu), nu);
            refused(BernoulliLogit(Mixture8).implicit_root(y, 0.0, nu), nu);
            refused(BernoulliLogit(Exact).weighted_implicit_root(2.0, y, 0.0, nu), nu);
        }
        refused(log_concave_root(&BernoulliLogit(Exact), 1.0, 0.0, nu), nu);
        refused(log_concave_root_from(&BernoulliLogit(Exact), 1.0, 0.0, nu, (0.0, 1.0)), nu);
        refused(lowest_root(&Quadrature(Twins(4.0)), 1.0, 0.0, nu), nu);
        refused(GaussianLikelihood::new(1.0).unwrap().implicit_root(1.0, 0.0, nu), nu);
        let error = Err(Error::NegativeVariance { value: nu });
        assert_eq!(Implicit(BernoulliLogit(Mixture8)).site(0.0, nu, 1.0), error);
        assert_eq!(QuadraticBound::Optimal.site(0.0, nu, 1.0), error);
        assert_eq!(QuadraticBound::Once.site(0.0, nu, 1.0), error);
    }
}

#[test]
fn the_quadratic_bounds_parameter_satisfies_its_equation() {
    for (a, nu, y) in lines(1000) {
        let xi = QuadraticBound::Optimal.xi(a, nu, y).unwrap();
        let shrink = 1.0 / (1.0 + jaakkola_jordan(xi) * nu);
        let image = (nu * shrink).sqrt().hypot((a + nu * (y - 0.5)) * shrink);
        // a + νr may cancel; dξ²/dh ≤ νξ² leaves rounding of the last step.
        let rounding = f64::EPSILON * (a.abs() + nu) * shrink;
        assert!((xi - image).abs() <= 8.0 * f64::EPSILON * xi + 8.0 * rounding, "{a}, {nu}, {y}: {xi} against {image}");
    }
}

#[test]
fn beyond_the_domain_the_root_is_refused() {
    for (a, nu) in [(0.0, 1e200), (1e300, 1.0), (0.0, f64::INFINITY), (f64::NAN, 1.0)] {
        assert!(matches!(probit_root(1.0, a, nu), Err(Error::RootNotFound { .. })), "{a}, {nu}");
    }
}

#[test]
fn probit_root_is_symmetric_under_label_flip_to_the_bit() {
    for (a, nu, y) in grid() {
        let (root, mirrored) = (probit_root(y, a, nu).unwrap(), probit_root(1.0 - y, -a, nu).unwrap());
        assert_eq!((root.alpha, root.gain), (-mirrored.alpha, -mirrored.gain));
        assert_eq!((root.nu, root.curvature), (mirrored.nu, mirrored.curvature));
    }
}

fn check_against_own_expectations<L: GaussianExpectation>(likelihood: &L, a: f64, nu: f64, y: f64, tolerance: f64) {
    let root = likelihood.implicit_root(y, a, nu).unwrap();
    let (slope, curvature) = likelihood.expected_slope_curvature(y, root.alpha, root.nu);
    let information = 1.0 + nu * curvature;
    let scale = root.alpha.abs().max(root.nu.sqrt());
    let f = root.alpha - a - nu * slope;
    let rounding = f64::EPSILON * (nu * slope.abs() + a.abs());
    assert!(f.abs() <= tolerance * scale * information + 8.0 * rounding, "mean at {a}, {nu}, {y}: {f:e}");
    let g = root.nu * information - nu;
    assert!(g.abs() <= tolerance * nu, "variance at {a}, {nu}, {y}: {g:e}");
}

#[test]
fn mixture_and_exact_roots_satisfy_their_equations() {
    for (a, nu, y) in grid().filter(|c| c.1 <= 1e12 && c.0.abs() <= 1e6) {
        check_against_own_expectations(&BernoulliLogit(Mixture8), a, nu, y, 1e-11);
        if nu <= 1e8 && a.abs() <= 100.0 {
            check_against_own_expectations(&BernoulliLogit(Exact), a, nu, y, 1e-11);
        }
    }
}

#[test]
fn linear_root_is_the_kalman_update() {
    let linear = GaussianLikelihood::new(0.5).unwrap();
    for (a, nu, y) in [(0.3, 2.0, -1.0), (1e3, 1e-6, 4.0), (-2.0, 1e6, 0.0)] {
        let (root, searched) = (linear.implicit_root(y, a, nu).unwrap(), log_concave_root(&linear, y, a, nu).unwrap());
        assert!((root.alpha - searched.alpha).abs() <= 1e-13 * a.abs().max(1.0));
        assert!((root.nu - searched.nu).abs() <= 1e-13 * root.nu);
        check_against_own_expectations(&linear, a, nu, y, 1e-13);
    }
}

#[test]
fn probit_and_mixture_roots_are_near_each_other() {
    for (a, nu, y) in [(0.5, 1.0, 1.0), (-2.0, 4.0, 1.0), (3.0, 10.0, 0.0)] {
        let probit = BernoulliLogit(ProbitApproximation).implicit_root(y, a, nu).unwrap();
        let exact = BernoulliLogit(Exact).implicit_root(y, a, nu).unwrap();
        // The probit's expectations are off by at most 0.02, and so is α/ν to first order.
        assert!((probit.alpha - exact.alpha).abs() <= 0.02 * nu, "{a}, {nu}, {y}");
        let mixture = BernoulliLogit(Mixture8).implicit_root(y, a, nu).unwrap();
        assert!((mixture.alpha - exact.alpha).abs() <= 4.0 * 2.1e-9 * nu, "{a}, {nu}, {y}");
    }
}
