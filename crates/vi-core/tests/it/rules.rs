//! Rules against the formulae of their papers, and what each must satisfy.

use vi_core::special::{sigmoid, sigmoid_derivative};
use vi_core::{
    BernoulliLogit, Exact, Explicit, GaussianExpectation, GaussianLikelihood, Implicit, Information, Likelihood,
    Linearised, MirrorProx, MirrorProxPrinted, Mixture8, ProbitApproximation, QuadraticBound, Site, SiteRule,
    SkipCovariance,
};

const POINTS: [(f64, f64, f64); 6] =
    [(0.3, 1.7, 1.0), (-2.0, 0.4, 1.0), (4.0, 9.0, 0.0), (0.0, 25.0, 1.0), (-6.0, 1e-3, 0.0), (12.0, 3.0, 1.0)];

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 16.0 * f64::EPSILON * a.abs().max(b.abs())
}

#[test]
fn logistic_rules_are_the_printed_formulae() {
    let beta = (8.0 / std::f64::consts::PI).sqrt();
    for (a, nu, y) in POINTS {
        let ekf = Linearised::extended_kalman(BernoulliLogit(ProbitApproximation)).site(a, nu, y).unwrap();
        assert!(close(ekf.curvature, sigmoid(a) * sigmoid(-a)) && (ekf.slope - (y - sigmoid(a))).abs() < 1e-15);

        let explicit = Explicit(BernoulliLogit(ProbitApproximation)).site(a, nu, y).unwrap();
        let k = beta / (nu + beta * beta).sqrt(); // (78)
        assert!(close(explicit.curvature, k * sigmoid_derivative(k * a)));
        assert!((explicit.slope - (y - sigmoid(k * a))).abs() < 1e-15);

        let qkf = QuadraticBound::Once.site(a, nu, y).unwrap();
        let xi = (nu + a * a).sqrt(); // (89)
        let h = (sigmoid(xi) - 0.5) / xi;
        assert!((qkf.curvature - h).abs() < 1e-15);
        // (88): μ gains K·((y−½)/h − a), K = Px·h/(1+hν).
        let gain = h / (1.0 + h * nu) * ((y - 0.5) / h - a);
        assert!((qkf.gain(nu) - gain).abs() < 1e-14 * (1.0 + a.abs()));
    }
}

#[test]
fn optimal_bound_is_a_fixed_point_and_tighter() {
    for (a, nu, y) in POINTS {
        let xi = QuadraticBound::Optimal.xi(a, nu, y).unwrap();
        let site = QuadraticBound::Optimal.site(a, nu, y).unwrap();
        let shrink = 1.0 + site.curvature * nu;
        let mean = a + nu * site.gain(nu);
        assert!((xi * xi - (nu / shrink + mean * mean)).abs() < 1e-12 * xi * xi, "at {a}, {nu}, {y}");
        // The bound's log-evidence of one observation: larger at its optimum than at the paper's ξ.
        let bound = |xi: f64| {
            let h = if xi == 0.0 { 0.25 } else { (0.5 * xi).tanh() / (2.0 * xi) };
            let r = y - 0.5;
            let precision = 1.0 / nu + h;
            let linear = a / nu + r;
            -(1.0 + (-xi).exp()).ln() - 0.5 * xi + 0.5 * h * xi * xi + 0.5 * linear * linear / precision
                - 0.5 * (precision * nu).ln()
        };
        let slack = 1e-13 * bound(xi).abs().max(a * a / nu);
        assert!(bound(xi) >= bound(QuadraticBound::Once.xi(a, nu, y).unwrap()) - slack, "at {a}, {nu}, {y}");
        for nudge in [0.99, 1.01] {
            assert!(bound(xi) >= bound(nudge * xi) - slack, "at {a}, {nu}, {y}");
        }
    }
}

#[test]
fn the_bound_holds_its_parameter_at_extremes() {
    for (a, nu) in [(1e150, 1.0), (-1e93, 1e100), (0.0, 1e150), (-1e6, 1e12), (1e-300, 1e-300), (0.0, 0.0)] {
        for y in [0.0, 1.0] {
            let xi = QuadraticBound::Optimal.xi(a, nu, y).unwrap();
            let site = QuadraticBound::Optimal.site(a, nu, y).unwrap();
            let shrink = 1.0 / (1.0 + site.curvature * nu);
            let image = (nu * shrink).sqrt().hypot((a + nu * (y - 0.5)) * shrink);
            assert!((xi - image).abs() <= 1e-12 * xi, "{a}, {nu}, {y}: {xi} against {image}");
        }
    }
}

/// `KL(N(α,ν*) ‖ N(a,ν)) − E log p(y|t)`: what an implicit step minimises.
fn objective(a: f64, nu: f64, y: f64, alpha: f64, star: f64) -> f64 {
    let kl = 0.5 * (star / nu + (alpha - a).powi(2) / nu - 1.0 - (star / nu).ln());
    kl - BernoulliLogit(Exact).expected_log_density(y, alpha, star)
}

fn landing(a: f64, nu: f64, site: Site) -> (f64, f64) {
    (a + nu * site.gain(nu), nu / (1.0 + site.curvature * nu))
}

#[test]
fn the_implicit_step_is_the_best_of_all_rules() {
    for (a, nu, y) in POINTS {
        let best = landing(a, nu, Implicit(BernoulliLogit(Exact)).site(a, nu, y).unwrap());
        let least = objective(a, nu, y, best.0, best.1);
        let logit = BernoulliLogit(Mixture8);
        let rules: [(&str, Box<dyn SiteRule>); 7] = [
            ("probit", Box::new(Implicit(BernoulliLogit(ProbitApproximation)))),
            ("explicit", Box::new(Explicit(logit))),
            ("ekf", Box::new(Linearised::extended_kalman(logit))),
            ("quadratic", Box::new(QuadraticBound::Optimal)),
            ("mirror-prox", Box::new(MirrorProx(logit))),
            ("printed", Box::new(MirrorProxPrinted(logit))),
            ("skip", Box::new(SkipCovariance(logit))),
        ];
        for (name, rule) in rules {
            let (alpha, star) = landing(a, nu, rule.site(a, nu, y).unwrap());
            assert!(
                objective(a, nu, y, alpha, star) >= least - 1e-12 * (1.0 + least.abs()),
                "{name} at {a}, {nu}, {y}"
            );
        }
    }
}

#[test]
fn only_the_two_named_rules_are_wrong_for_a_linear_model() {
    let linear = GaussianLikelihood::new(0.4).unwrap();
    let (a, nu, y) = (0.7, 2.5, -1.3);
    let kalman = landing(a, nu, Explicit(linear).site(a, nu, y).unwrap());
    assert!(close(kalman.0, a + nu / (nu + 0.4) * (y - a)) && close(kalman.1, nu * 0.4 / (nu + 0.4)));
    let observed = Linearised { likelihood: linear, information: Information::Observed };
    let right: [Box<dyn SiteRule>; 4] = [
        Box::new(Implicit(linear)),
        Box::new(Linearised::extended_kalman(linear)),
        Box::new(observed),
        Box::new(MirrorProx(linear)),
    ];
    for rule in right {
        let (alpha, star) = landing(a, nu, rule.site(a, nu, y).unwrap());
        assert!(close(alpha, kalman.0) && close(star, kalman.1));
    }
    let wrong: [Box<dyn SiteRule>; 2] = [Box::new(MirrorProxPrinted(linear)), Box::new(SkipCovariance(linear))];
    for rule in wrong {
        let (alpha, _) = landing(a, nu, rule.site(a, nu, y).unwrap());
        assert!((alpha - kalman.0).abs() > 0.1);
    }
}

#[test]
fn fisher_information_is_the_mean_of_the_observed() {
    for t in [-3.0, 0.0, 0.8, 20.0] {
        let logit = BernoulliLogit(ProbitApproximation);
        let mean = sigmoid(t) * logit.curvature(1.0, t) + sigmoid(-t) * logit.curvature(0.0, t);
        assert!(close(mean, logit.fisher_information(t)));
        let variance = sigmoid(t) * logit.slope(1.0, t).powi(2) + sigmoid(-t) * logit.slope(0.0, t).powi(2);
        assert!(close(variance, logit.fisher_information(t)));
    }
}
