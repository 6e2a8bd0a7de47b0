//! Moment matching, weights of observations, and weights from residuals.

use vi_core::quadrature::Quadrature;
use vi_core::{
    Belief, BernoulliLogit, DenseGaussian, Error, Exact, Explicit, GaussianExpectation, GaussianLikelihood, Implicit,
    Likelihood, Linearised, MirrorProx, Mixture8, MomentMatching, PerRow, QuadraticBound, Robust, SiteRule, Weighted,
    WeightedRule, Weighting, block, filter,
};
use vi_linalg::faer::Par;

use crate::common::{difference, labels, prior, rng, rows, view};

const POINTS: [(f64, f64, f64); 5] =
    [(0.3, 1.7, 1.0), (-2.0, 0.4, 1.0), (4.0, 9.0, 0.0), (0.0, 25.0, 1.0), (-6.0, 1e-3, 0.0)];

/// The rule for each weight.
fn weighted<'a, R>(rule: &'a R, weights: &[f64]) -> Vec<Weighted<&'a R>> {
    weights.iter().map(|weight| Weighted::new(rule, *weight).unwrap()).collect()
}

fn close(a: f64, b: f64, relative: f64) -> bool {
    (a - b).abs() <= relative * a.abs().max(b.abs())
}

#[test]
fn moment_matching_is_the_kalman_filter_for_a_linear_model() {
    let noise = GaussianLikelihood::new(0.4).unwrap();
    for (a, nu, y) in POINTS {
        let kalman = Explicit(noise).site(a, nu, y).unwrap();
        let closed = MomentMatching(noise).site(a, nu, y).unwrap();
        assert!(close(closed.curvature, kalman.curvature, 1e-15) && close(closed.slope, kalman.slope, 1e-14));
        let searched = MomentMatching(Quadrature(noise)).site(a, nu, y).unwrap();
        assert!(close(searched.curvature, kalman.curvature, 1e-11) && close(searched.slope, kalman.slope, 1e-11));
    }
}

#[test]
fn moment_matching_lands_on_the_tilted_mean_and_variance() {
    let logit = BernoulliLogit(Exact);
    for (a, nu, y) in POINTS {
        let site = MomentMatching(logit).site(a, nu, y).unwrap();
        // log Z's own derivatives, by differences of the exact predictive.
        let step = 1e-3 * (1.0_f64 + nu).sqrt();
        let z = |k: f64| logit.log_predictive(y, a + k * step, nu);
        let first = (8.0 * (z(1.0) - z(-1.0)) - (z(2.0) - z(-2.0))) / (12.0 * step);
        let second = (16.0 * (z(1.0) + z(-1.0)) - (z(2.0) + z(-2.0)) - 30.0 * z(0.0)) / (12.0 * step * step);
        // Rounding 32·ε·|log Z|/step² and truncation step⁴.
        let tolerance = 1e-8;
        assert!((nu * site.gain(nu) - nu * first).abs() < tolerance * nu, "{a}, {nu}, {y}");
        assert!(
            (1.0 / (1.0 + site.curvature * nu) - (1.0 + nu * second)).abs() < tolerance * nu.max(1e-2),
            "{a}, {nu}, {y}"
        );
    }
}

#[test]
fn quadrature_runs_every_rule_as_the_exact_logistic_does() {
    let (by_nodes, exact) = (Quadrature(BernoulliLogit(Exact)), BernoulliLogit(Exact));
    for (a, nu, y) in POINTS {
        let pairs: [(&dyn SiteRule, &dyn SiteRule); 4] = [
            (&Implicit(by_nodes), &Implicit(exact)),
            (&Explicit(by_nodes), &Explicit(exact)),
            (&MirrorProx(by_nodes), &MirrorProx(exact)),
            (&Linearised::extended_kalman(by_nodes), &Linearised::extended_kalman(exact)),
        ];
        for (ours, reference) in pairs {
            let (ours, reference) = (ours.site(a, nu, y).unwrap(), reference.site(a, nu, y).unwrap());
            assert!(close(ours.slope, reference.slope, 1e-11) && close(ours.curvature, reference.curvature, 1e-11));
        }
    }
}

#[test]
fn weight_two_is_two_observations_of_a_linear_model() {
    let (n, d) = (12, 4);
    let mut rng = rng(3);
    let x = rows(n, d, &mut rng);
    let y: Vec<f64> = rows(n, 1, &mut rng);
    let noise = GaussianLikelihood::new(0.6).unwrap();
    let start = prior(d, 2.0, &mut rng);
    let weights: Vec<f64> = (0..n).map(|t| f64::from(u8::try_from(t % 3).unwrap())).collect();
    let repeated: Vec<usize> = (0..n).flat_map(|t| std::iter::repeat_n(t, t % 3)).collect();
    let x2: Vec<f64> = repeated.iter().flat_map(|&t| x[t * d..(t + 1) * d].to_vec()).collect();
    let y2: Vec<f64> = repeated.iter().map(|&t| y[t]).collect();
    let mut twice = start.clone();
    filter::run(&mut twice, &Explicit(noise), view(&x2, d), &y2, |_, _, _| {}).unwrap();
    let check = |rule: &dyn Fn(&mut DenseGaussian)| {
        let mut belief = start.clone();
        rule(&mut belief);
        // Rounding of n rank-one updates each; moment matching is by quadrature.
        assert!(difference(&belief, &twice) < 1e-10);
    };
    let (x, y) = (view(&x, d), &y[..]);
    check(&|b| filter::run(b, &PerRow(&weighted(&Explicit(noise), &weights)), x, y, |_, _, _| {}).unwrap());
    check(&|b| filter::run(b, &PerRow(&weighted(&Implicit(noise), &weights)), x, y, |_, _, _| {}).unwrap());
    check(&|b| filter::run(b, &PerRow(&weighted(&MirrorProx(noise), &weights)), x, y, |_, _, _| {}).unwrap());
    check(&|b| filter::run(b, &PerRow(&weighted(&MomentMatching(noise), &weights)), x, y, |_, _, _| {}).unwrap());
    check(&|b| {
        filter::run(b, &PerRow(&weighted(&Linearised::extended_kalman(noise), &weights)), x, y, |_, _, _| {}).unwrap();
    });
}

#[test]
fn weights_one_and_zero_are_the_run_and_nothing_to_the_bit() {
    let (n, d) = (9, 3);
    let mut rng = rng(5);
    let (x, y) = (rows(n, d, &mut rng), labels(n, &mut rng));
    let start = prior(d, 3.0, &mut rng);
    let rule = Implicit(BernoulliLogit(Mixture8));
    let (mut plain, mut ones, mut zeros) = (start.clone(), start.clone(), start.clone());
    filter::run(&mut plain, &rule, view(&x, d), &y, |_, _, _| {}).unwrap();
    filter::run(&mut ones, &PerRow(&weighted(&rule, &[1.0; 9])), view(&x, d), &y, |_, _, _| {}).unwrap();
    filter::run(&mut zeros, &PerRow(&weighted(&rule, &[0.0; 9])), view(&x, d), &y, |_, _, _| {}).unwrap();
    assert_eq!(plain.mean(), ones.mean());
    assert_eq!(plain.covariance(), ones.covariance());
    assert_eq!(start.mean(), zeros.mean());
    assert_eq!(start.covariance(), zeros.covariance());
}

#[test]
fn blocks_take_weights_as_single_steps_do() {
    let (n, d) = (50, 6);
    let mut rng = rng(8);
    let (x, y) = (rows(n, d, &mut rng), labels(n, &mut rng));
    let weights: Vec<f64> = (0..n).map(|t| 0.25 * f64::from(u8::try_from(t % 7).unwrap())).collect();
    let start = prior(d, 2.0, &mut rng);
    for rule in [QuadraticBound::Once, QuadraticBound::Optimal] {
        let (mut one, mut many) = (start.clone(), start.clone());
        filter::run(&mut one, &PerRow(&weighted(&rule, &weights)), view(&x, d), &y, |_, _, _| {}).unwrap();
        let mut scratch = block::BlockScratch::new(&many, block::BlockSettings::new(16).unwrap());
        block::run(
            &mut many,
            &PerRow(&weighted(&rule, &weights)),
            view(&x, d),
            &y,
            &mut scratch,
            Par::Seq,
            |_, _, _| {},
        )
        .unwrap();
        assert!(difference(&one, &many) < 1e-12); // 16·n·ε·κ of the belief, κ near 10
    }
}

#[test]
fn the_weighted_bound_stays_at_its_optimum() {
    for (a, nu, y) in POINTS {
        let site = QuadraticBound::Optimal.weighted_site(2.5, a, nu, y).unwrap();
        let (mean, variance) = (a + nu * site.gain(nu), nu / (1.0 + site.curvature * nu));
        let xi = (variance + mean * mean).sqrt();
        assert!(close(site.curvature, 2.5 * (0.5 * xi).tanh() / (2.0 * xi), 1e-12));
        assert!(close(site.natural_slope(a), 2.5 * (y - 0.5), 1e-12));
    }
}

#[test]
fn bad_weights_are_named_and_change_nothing() {
    let (x, y) = ([1.0, 0.5, -0.3, 2.0], [1.0, 0.0]);
    let rule = Implicit(BernoulliLogit(Mixture8));
    let start = prior(2, 1.0, &mut rng(1));
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(rule.weighted_site(bad, 0.0, 1.0, 1.0), Err(Error::Setting { name: "weight", .. })));
        assert!(matches!(Weighted::new(BernoulliLogit(Mixture8), bad), Err(Error::Setting { name: "weight", .. })));
        assert!(matches!(Weighted::new(&rule, bad), Err(Error::Setting { name: "weight", .. })));
        assert!(matches!(Weighting::mahalanobis(bad), Err(Error::Setting { name: "c", .. })));
    }
    let mut belief = start.clone();
    let one = weighted(&rule, &[1.0]);
    let error = filter::run(&mut belief, &PerRow(&one), view(&x, 2), &y, |_, _, _| {}).unwrap_err();
    assert_eq!(error, Error::Dimension { argument: "rules", expected: 2, found: 1 });
    let error = filter::run(&mut belief, &PerRow(&weighted(&rule, &[1.0; 2])), view(&x, 2), &[1.0, 0.5], |_, _, _| {});
    assert!(matches!(error, Err(Error::Row { row: 1, .. })));
    assert_eq!((belief.mean(), belief.covariance()), (start.mean(), start.covariance()));
    assert!(matches!(Weighting::threshold(0.0), Err(Error::Setting { .. })));
}

#[test]
fn wolf_is_the_kalman_filter_with_noise_over_w_squared() {
    let (noise, c) = (0.6, 1.5);
    let kalman = Explicit(GaussianLikelihood::new(noise).unwrap());
    for (a, nu, y) in [(0.3, 1.7, 1.0), (-2.0, 0.4, 40.0), (4.0, 9.0, -3.0)] {
        let r2: f64 = (y - a) * (y - a);
        // Duran-Martin et al. 2024: S = ν + R/w², K = ν/S.
        let expected = |w2: f64| nu / (nu + noise / w2) * (y - a);
        let cases = [
            (Weighting::inverse_multiquadric(c), 1.0 / (1.0 + r2 / (c * c))),
            (Weighting::mahalanobis(c), 1.0 / (1.0 + r2 / noise / (c * c))),
            (Weighting::innovation(c), 1.0 / (1.0 + r2 / (noise + nu) / (c * c))),
        ];
        for (weighting, w2) in cases {
            let rule = Robust { rule: kalman, weighting: weighting.unwrap() };
            let site = rule.site(a, nu, y).unwrap();
            assert!(close(nu * site.gain(nu), expected(w2), 1e-13) && close(site.curvature, w2 / noise, 1e-13));
            assert!(close(rule.power(y, a, nu), w2, 1e-13));
        }
        let hard = Robust { rule: kalman, weighting: Weighting::threshold(c).unwrap() }.site(a, nu, y).unwrap();
        let kept = r2.sqrt() <= c * noise.sqrt();
        assert_eq!(hard.slope != 0.0, kept);
        if kept {
            assert_eq!(hard, kalman.site(a, nu, y).unwrap());
        }
    }
}

#[test]
fn an_endless_threshold_is_the_rule_itself_to_the_bit() {
    let rule = Implicit(BernoulliLogit(Mixture8));
    let c = f64::MAX;
    for weighting in [
        Weighting::inverse_multiquadric(c),
        Weighting::mahalanobis(c),
        Weighting::threshold(c),
        Weighting::innovation(c),
    ] {
        let robust = Robust { rule, weighting: weighting.unwrap() };
        for (a, nu, y) in POINTS {
            assert_eq!(robust.site(a, nu, y).unwrap(), rule.site(a, nu, y).unwrap());
        }
    }
}

#[test]
fn outliers_move_a_robust_filter_by_a_bounded_amount() {
    let noise = GaussianLikelihood::new(0.5).unwrap();
    let robust = Robust { rule: Explicit(noise), weighting: Weighting::inverse_multiquadric(2.0).unwrap() };
    let (a, nu) = (0.2, 3.0);
    // w²·r ≤ c²/r: the pull is largest for a residual of about c.
    for y in [-1e8, -50.0, -3.0, 1.0, 2.2, 10.0, 1e6] {
        assert!((nu * robust.site(a, nu, y).unwrap().gain(nu)).abs() <= nu * 0.5 * 2.0 / 0.5);
    }
    assert!(robust.site(a, nu, 1e8).unwrap().gain(nu) < 1e-6);
    // A label that the logistic all but rules out, and one that it expects.
    let logistic = Robust { rule: Implicit(BernoulliLogit(Mixture8)), weighting: Weighting::mahalanobis(3.0).unwrap() };
    assert!(logistic.power(0.0, 12.0, 0.1) < 1e-3 && logistic.power(1.0, 12.0, 0.1) > 0.99);
    assert_eq!(logistic.power(0.0, 1e4, 0.1), 0.0);
    assert_eq!(logistic.power(1.0, 1e4, 0.1), 1.0);
    // Weights given and weights found multiply.
    let both = robust.weighted_site(0.5, a, nu, 7.0).unwrap();
    assert_eq!(both, Explicit(noise).weighted_site(0.5 * robust.power(7.0, a, nu), a, nu, 7.0).unwrap());
}

#[test]
fn weighted_likelihoods_scale_everything() {
    let logit = BernoulliLogit(Exact);
    let weighted = Weighted::new(logit, 2.5).unwrap();
    for (a, nu, y) in POINTS {
        let (one, scaled) = (logit.expected(y, a, nu), weighted.expected(y, a, nu));
        assert_eq!((scaled.value, scaled.fourth), (2.5 * one.value, 2.5 * one.fourth));
        assert_eq!(weighted.log_density(y, a), 2.5 * logit.log_density(y, a));
        let root = weighted.implicit_root(y, a, nu).unwrap();
        let (slope, curvature) = logit.expected_slope_curvature(y, root.alpha, root.nu);
        let scale = root.alpha.abs().max(root.nu.sqrt());
        let information = 1.0 + 2.5 * nu * curvature;
        assert!((root.alpha - a - 2.5 * nu * slope).abs() < 1e-11 * scale * information);
        assert!((root.nu * information - nu).abs() < 1e-11 * nu);
    }
    let none = Weighted::new(logit, 0.0).unwrap();
    assert_eq!(none.log_predictive(1.0, -5.0, 2.0), 0.0);
    let root = none.implicit_root(1.0, -5.0, 2.0).unwrap();
    assert_eq!((root.alpha, root.nu, root.gain), (-5.0, 2.0, 0.0));
}
