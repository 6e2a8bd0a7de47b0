//! The roots against their own equations, over a grid far wider than the papers'.

use super::{log_concave_root, probit_root};
use crate::expectation::BETA;
use crate::special::{sigmoid, sigmoid_derivative};
use crate::{BernoulliLogit, Error, Exact, GaussianExpectation, GaussianLikelihood, Mixture8, Probit};

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

#[test]
fn probit_root_satisfies_equations_69_and_70_everywhere() {
    for (a, nu, y) in grid() {
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
        let probit = BernoulliLogit(Probit).implicit_root(y, a, nu).unwrap();
        let exact = BernoulliLogit(Exact).implicit_root(y, a, nu).unwrap();
        // The probit's expectations are off by at most 0.02, and so is α/ν to first order.
        assert!((probit.alpha - exact.alpha).abs() <= 0.02 * nu, "{a}, {nu}, {y}");
        let mixture = BernoulliLogit(Mixture8).implicit_root(y, a, nu).unwrap();
        assert!((mixture.alpha - exact.alpha).abs() <= 4.0 * 2.1e-9 * nu, "{a}, {nu}, {y}");
    }
}
