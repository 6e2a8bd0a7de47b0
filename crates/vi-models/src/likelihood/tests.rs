//! Probit against closed forms, its own integrals and its equations; Student-t against brute force; excess zeros against differences and quadrature.

use vi_core::special::{log_normal_cdf, normal_cdf, normal_density};
use vi_core::{
    Error, Explicit, GaussianExpectation, GaussianLikelihood, Implicit, Information, Likelihood, Linearised,
    MomentMatching, SiteRule, Weighted, implicit, quadrature,
};

use super::{BernoulliProbit, Binomial, NegativeBinomial, Poisson, StudentT, ZeroInflated};

#[test]
fn probit_derivatives_are_those_of_the_log_density() {
    for y in [0.0, 1.0] {
        for t in [-30.0, -8.0, -5.001, -4.999, -2.0, -0.3, 0.0, 0.7, 3.0, 6.0, 9.0] {
            let step = 1e-4;
            let p = |k: f64| BernoulliProbit.log_density(y, t + k * step);
            // Central differences: rounding ε·|log p|/step, truncation step²·|∂³| ≤ step².
            let rounding = 4.0 * f64::EPSILON * (1.0 + p(0.0).abs());
            let slope = (p(1.0) - p(-1.0)) / (2.0 * step);
            assert!((BernoulliProbit.slope(y, t) - slope).abs() < rounding / step + step * step, "{y}, {t}");
            let s = |k: f64| BernoulliProbit.slope(y, t + k * step);
            let curvature = (s(-1.0) - s(1.0)) / (2.0 * step);
            assert!((BernoulliProbit.curvature(y, t) - curvature).abs() < rounding / step + step * step, "{y}, {t}");
        }
    }
}

#[test]
fn probit_tails_follow_their_asymptotic_series() {
    for v in [60.0, 1e3, 1e4, 1e6, 1e8] {
        let v2: f64 = v * v;
        let next = 720.0 / (v2 * v2 * v2); // larger than the terms left out
        let (slope, curvature) = (BernoulliProbit.slope(1.0, -v), BernoulliProbit.curvature(1.0, -v));
        assert!((slope / v - (1.0 + 1.0 / v2 - 2.0 / (v2 * v2))).abs() < 4.0 * f64::EPSILON + next);
        assert!((curvature - (1.0 - 1.0 / v2 + 6.0 / (v2 * v2))).abs() < 4.0 * f64::EPSILON + next, "{v}");
        assert!(curvature > 0.0 && curvature <= 1.0);
        assert!(BernoulliProbit.curvature(1.0, v) >= 0.0 && BernoulliProbit.slope(1.0, v) >= 0.0);
        // From a belief with ν ≫ v² the tilted density is half a Gaussian from 0 on.
        let tilted = BernoulliProbit.tilted(1.0, -v, 1e-3).unwrap();
        assert!((tilted.variance / 1e-3 - 1.0 / 1.001).abs() < 1e-6 + next);
    }
    // 1 − q = 1/u² − 6/u⁴, the truncated normal's variance, and not what rounding leaves of 1 − 1: ν(1−q) is of order one.
    for a in [-1e8, -3e8, -3e7] {
        let nu = 1e8;
        let u2 = a * a / (1.0 + nu);
        let complement = (1.0 - 6.0 / u2 + 50.0 / (u2 * u2)) / u2;
        let tilted = BernoulliProbit.tilted(1.0, a, nu).unwrap();
        assert!((tilted.curvature / ((1.0 - complement) / (1.0 + nu * complement)) - 1.0).abs() < 1e-14, "{a}");
        assert!((tilted.variance / (nu / (1.0 + nu) * (1.0 + nu * complement)) - 1.0).abs() < 1e-14, "{a}");
    }
}

#[test]
fn probit_labels_mirror_each_other_and_information_averages() {
    for t in [-30.0, -3.0, 0.0, 0.4, 7.0] {
        assert_eq!(BernoulliProbit.slope(1.0, t), -BernoulliProbit.slope(0.0, -t));
        assert_eq!(BernoulliProbit.curvature(1.0, t), BernoulliProbit.curvature(0.0, -t));
        let fisher = BernoulliProbit.fisher_information(t);
        let (p, q) = (normal_cdf(t), normal_cdf(-t));
        let mean = p * BernoulliProbit.curvature(1.0, t) + q * BernoulliProbit.curvature(0.0, t);
        assert!((mean / fisher - 1.0).abs() < 1e-12, "{t}");
        if t != 0.0 {
            assert!((BernoulliProbit.curvature(1.0, t) / fisher - 1.0).abs() > 1e-2);
        }
    }
    assert!(matches!(BernoulliProbit.check_label(0.5), Err(Error::Label { label, .. }) if label == 0.5));
}

fn grid() -> impl Iterator<Item = (f64, f64, f64)> {
    let means = [0.0, 1e-8, 0.01, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1e3, 1e4];
    let variances = [0.0, 1e-12, 1e-8, 1e-4, 0.01, 0.1, 1.0, 3.0, 10.0, 30.0, 100.0, 1e3, 1e4, 1e6, 1e8];
    means.into_iter().flat_map(move |a| {
        variances.into_iter().flat_map(move |nu| [(a, nu, 0.0), (a, nu, 1.0), (-a, nu, 0.0), (-a, nu, 1.0)])
    })
}

#[test]
fn probit_closed_forms_are_what_quadrature_finds() {
    for (a, nu, y) in grid() {
        let closed = BernoulliProbit.tilted(y, a, nu).unwrap();
        let found = quadrature::tilted(&BernoulliProbit, y, a, nu).unwrap();
        let context = format!("{a}, {nu}, {y}: {closed:?} {found:?}");
        let size = 1.0 + closed.log_normaliser.abs();
        assert!((closed.log_normaliser - found.log_normaliser).abs() < 1e-11 * size, "{context}");
        assert_eq!(closed.log_normaliser, BernoulliProbit.log_predictive(y, a, nu));
        // Where the density is, log p is of size log Z: its rounding is that of every moment.
        let rounding = 1e-11 + 8.0 * f64::EPSILON * size;
        assert!((closed.variance - found.variance).abs() <= rounding * closed.variance, "{context}");
        let width = closed.variance.sqrt() / nu.max(1e-300);
        assert!((closed.slope - found.slope).abs() <= rounding * (closed.slope.abs() + width.min(1.0)), "{context}");
        // Slopes are seen to ε over a width √variance; their curvature underflows before its tilted mean.
        let rounding = rounding + f64::EPSILON * closed.slope.abs() / closed.variance.sqrt().max(1e-300);
        assert!((closed.curvature - found.curvature).abs() <= 10.0 * rounding * closed.curvature + 1e-15, "{context}");
    }
}

#[test]
fn probit_implicit_root_satisfies_its_equations_everywhere() {
    for (a, nu, y) in grid() {
        let root = BernoulliProbit.implicit_root(y, a, nu).unwrap();
        let (slope, curvature) = BernoulliProbit.expected_slope_curvature(y, root.alpha, root.nu);
        let information = 1.0 + nu * curvature;
        let scale = root.alpha.abs().max(root.nu.sqrt());
        // An error δ of α changes the residual by (1+νh)·δ.
        let residual = (root.alpha - a - nu * slope).abs();
        let rounding = 8.0 * f64::EPSILON * (nu * slope.abs() + a.abs());
        assert!(residual <= 1e-11 * scale * information + rounding, "mean at {a}, {nu}, {y}: {residual:e}");
        assert!((root.nu * information - nu).abs() <= 1e-11 * nu, "variance at {a}, {nu}, {y}");
        let mirrored = BernoulliProbit.implicit_root(1.0 - y, -a, nu).unwrap();
        assert!(
            (root.alpha + mirrored.alpha).abs() <= 1e-11 * scale && (root.nu - mirrored.nu).abs() <= 1e-11 * root.nu
        );
    }
}

#[test]
fn every_rule_takes_the_probit_to_the_side_of_its_label() {
    let (a, nu, y) = (-1.5, 3.0, 1.0);
    let objective = |site: vi_core::Site| {
        let (alpha, star) = (a + nu * site.gain(nu), nu / (1.0 + site.curvature * nu));
        0.5 * (star / nu + (alpha - a).powi(2) / nu - 1.0 - (star / nu).ln())
            - BernoulliProbit.expected_log_density(y, alpha, star)
    };
    let observed = Linearised { likelihood: BernoulliProbit, information: Information::Observed };
    let fisher = Linearised::extended_kalman(BernoulliProbit);
    let rules: [&dyn SiteRule; 5] =
        [&Implicit(BernoulliProbit), &Explicit(BernoulliProbit), &observed, &fisher, &MomentMatching(BernoulliProbit)];
    let sites = rules.map(|rule| rule.site(a, nu, y).unwrap());
    assert!(sites.iter().all(|site| site.slope > 0.0 && site.curvature > 0.0));
    assert!(sites[1..].iter().all(|site| objective(*site) > objective(sites[0])));
    assert!((sites[2].curvature - sites[3].curvature).abs() > 0.1);
    // The probit is a step seen through noise of variance 1: linear noise for a belief that is far on the right side.
    assert!(MomentMatching(BernoulliProbit).site(50.0, 1.0, 1.0).unwrap().slope < 1e-200);
}

#[test]
fn student_t_settings_and_normalisation() {
    for (dof, scale) in [(0.0, 1.0), (3.0, f64::NAN), (-1.0, 1.0), (2.0, f64::INFINITY)] {
        assert!(matches!(StudentT::new(dof, scale), Err(Error::Setting { .. })));
    }
    let cauchy = StudentT::new(1.0, 0.5).unwrap();
    assert!((cauchy.log_density(2.0, 2.0) - (2.0 / std::f64::consts::PI).ln()).abs() < 4.0 * f64::EPSILON);
    let noise = StudentT::new(4.0, 0.3).unwrap();
    let step = 1e-4;
    for t in [-3.0, 0.0, 0.5, 0.9, 40.0] {
        let p = |k: f64| noise.log_density(0.7, t + k * step);
        // Rounding ε/step and truncation step²·∂³ (≤ 4/s³) of central differences.
        assert!((noise.slope(0.7, t) - (p(1.0) - p(-1.0)) / (2.0 * step)).abs() < 1e-5);
        let s = |k: f64| noise.slope(0.7, t + k * step);
        assert!((noise.curvature(0.7, t) - (s(-1.0) - s(1.0)) / (2.0 * step)).abs() < 1e-4);
    }
    // Fisher's information is the mean of the observed: a trapezoid over y.
    let mean: f64 = (-400_000..=400_000)
        .map(|i| 0.7 + f64::from(i) * 1e-3)
        .map(|y| 1e-3 * noise.log_density(y, 0.7).exp() * noise.curvature(y, 0.7))
        .sum();
    assert!((mean / noise.fisher_information(0.0) - 1.0).abs() < 1e-6);
}

/// `J(α, σ)` of the implicit step.
fn objective(noise: &StudentT, y: f64, a: f64, nu: f64, alpha: f64, star: f64) -> f64 {
    0.5 * (star + (alpha - a).powi(2)) / nu - 0.5 * star.ln() - noise.expected_log_density(y, alpha, star)
}

#[test]
fn student_t_implicit_root_is_the_lowest_of_a_scan() {
    let noise = StudentT::new(2.0, 0.1).unwrap();
    for (a, nu, y) in
        [(0.0, 1.0, 3.0), (0.0, 1.0, 1.2), (1.0, 0.04, 1.6), (-2.0, 25.0, 4.0), (0.5, 2.0, 0.5), (0.0, 1.0, 30.0)]
    {
        let root = noise.implicit_root(y, a, nu).unwrap();
        let (slope, curvature) = noise.expected_slope_curvature(y, root.alpha, root.nu);
        assert!((root.alpha - a - nu * slope).abs() < 1e-9 * (1.0 + root.alpha.abs()), "{a}, {nu}, {y}");
        assert!((root.nu * (1.0 + nu * curvature) - nu).abs() < 1e-9 * nu);
        let least = objective(&noise, y, a, nu, root.alpha, root.nu);
        for i in 0..=60 {
            let alpha = a + (y - a) * (f64::from(i) / 50.0 - 0.1);
            for k in 0..=24 {
                let star = nu * 2.0_f64.powf(1.0 - 0.5 * f64::from(k));
                let value = objective(&noise, y, a, nu, alpha, star);
                assert!(least <= value + 1e-10, "{a}, {nu}, {y}: {least} > {value} at {alpha}, {star}");
            }
        }
    }
}

#[test]
fn of_two_basins_the_lower_is_taken() {
    // A narrow Cauchy about y, 2 to 5 deviations from the belief's mean: one root near a, one near y.
    let noise = StudentT::new(1.0, 0.005).unwrap();
    let (a, nu) = (0.0, 0.01);
    let mut winners = [0; 2];
    for y in [0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5] {
        // The lowest J of a scan on either side of the middle.
        let mut least = [f64::INFINITY; 2];
        for i in 0..=60 {
            let alpha = y * (f64::from(i) / 50.0 - 0.1);
            for k in 0..=48 {
                let value = objective(&noise, y, a, nu, alpha, nu * 2.0_f64.powf(0.5 - 0.25 * f64::from(k)));
                let side = &mut least[usize::from(alpha > 0.5 * y)];
                *side = side.min(value);
            }
        }
        let winner = usize::from(least[1] < least[0]);
        winners[winner] += 1;
        let found = noise.implicit_root(y, a, nu).unwrap();
        assert!(objective(&noise, y, a, nu, found.alpha, found.nu) <= least[winner] + 1e-10, "{y}: {least:?}");
        assert_eq!(usize::from(found.alpha > 0.5 * y), winner, "{y}");
    }
    assert!(winners[0] > 0 && winners[1] > 0, "{winners:?}");
}

#[test]
fn the_lowest_root_of_a_log_concave_likelihood_is_its_only_one() {
    for (a, nu, y) in [(0.3, 2.0, 1.0), (-4.0, 50.0, 1.0), (2.0, 1e-3, 0.0), (-1e3, 1e5, 1.0)] {
        let only = BernoulliProbit.implicit_root(y, a, nu).unwrap();
        let lowest = implicit::lowest_root(&BernoulliProbit, y, a, nu).unwrap();
        assert!((only.alpha - lowest.alpha).abs() <= 1e-10 * only.alpha.abs().max(only.nu.sqrt()), "{a}, {nu}, {y}");
        assert!((only.nu / lowest.nu - 1.0).abs() < 1e-10);
    }
}

#[test]
fn student_t_with_many_degrees_of_freedom_is_gaussian() {
    let dof = 1e9;
    let (noise, gaussian) = (StudentT::new(dof, 0.5).unwrap(), GaussianLikelihood::new(0.25).unwrap());
    for (a, nu, y) in [(0.0, 1.0, 0.7), (2.0, 0.1, 0.0), (-3.0, 30.0, 1.0)] {
        let kalman = gaussian.tilted(y, a, nu).unwrap();
        let near = |p: f64, q: f64| (p - q).abs() <= 1e4 / dof * q.abs(); // terms of order r⁴/k, r up to 7
        let moments = MomentMatching(noise).site(a, nu, y).unwrap();
        let implicit = Implicit(noise).site(a, nu, y).unwrap();
        assert!(near(moments.curvature, kalman.curvature) && near(moments.gain(nu), kalman.slope));
        assert!(near(implicit.curvature, kalman.curvature) && near(implicit.gain(nu), kalman.slope));
    }
}

#[test]
fn an_outlier_under_student_t_widens_and_hardly_moves() {
    let noise = StudentT::new(3.0, 1.0).unwrap();
    let (a, nu) = (0.0, 4.0);
    let gains: Vec<f64> =
        [20.0, 200.0, 2000.0].map(|y| MomentMatching(noise).site(a, nu, y).unwrap().gain(nu)).to_vec();
    assert!(gains[0] > gains[1] && gains[1] > gains[2] && gains[2] > 0.0);
    let site = MomentMatching(noise).site(a, nu, 20.0).unwrap();
    assert!(site.curvature < 0.0 && 1.0 + site.curvature * nu > 0.0);
    assert!(Implicit(noise).site(a, nu, 20.0).unwrap().check(nu).is_ok());
}

#[test]
fn weights_multiply_the_probit_too() {
    let (a, nu, y) = (-0.7, 2.5, 1.0);
    let weighted = Weighted::new(BernoulliProbit, 3.0).unwrap();
    // The curvature of p³ under its own implicit belief, by the equations.
    let root = weighted.implicit_root(y, a, nu).unwrap();
    let (slope, curvature) = BernoulliProbit.expected_slope_curvature(y, root.alpha, root.nu);
    assert!(
        (root.alpha - a - 3.0 * nu * slope).abs() < 1e-11
            && (root.nu * (1.0 + 3.0 * nu * curvature) - nu).abs() < 1e-11
    );
    // Z of Φ(t)³ by a trapezoid.
    let n = 40_000;
    let step = 24.0 * f64::sqrt(nu) / f64::from(n);
    let mass: f64 = (0..=n)
        .map(|i| -12.0 * nu.sqrt() + step * f64::from(i))
        .map(|x| step * normal_density(x / nu.sqrt()) / nu.sqrt() * (3.0 * log_normal_cdf(a + x)).exp())
        .sum();
    assert!((weighted.log_predictive(y, a, nu) - mass.ln()).abs() < 1e-11);
}

#[test]
fn a_predictive_density_of_a_large_count_is_had() {
    for y in [1e3_f64, 1e7, 1e9, 1e12] {
        let poisson = Poisson::new(y).unwrap();
        for (a, nu) in [(0.0, 1.0), (0.01, 1e-6), (-1.0, 0.3)] {
            // The label's width about t = 0 is 1/√y: its mass is 1/y where the belief's density is flat over that.
            let flat = normal_density(a / f64::sqrt(nu)) / f64::sqrt(nu) / y;
            let found = poisson.log_predictive(y, a, nu);
            assert!(found.is_finite(), "{y:e} {a} {nu}: {found} {:?}", quadrature::tilted(&poisson, y, a, nu));
            if nu * y > 1e6 && a.abs() < 4.0 * nu.sqrt() {
                assert!((found - flat.ln()).abs() < 1e-2, "{y:e} {a} {nu}: {found} {}", flat.ln());
            }
        }
        let even = Binomial::new(2.0 * y).unwrap();
        assert!(even.log_predictive(y, 0.0, 1.0).is_finite(), "{y:e}: {:?}", quadrature::tilted(&even, y, 0.0, 1.0));
    }
}

#[test]
fn excess_zeros_have_the_derivatives_and_the_information_of_their_density() {
    assert!(ZeroInflated::new(1.0, NegativeBinomial::new(2.0).unwrap()).is_err());
    for (share, size) in [(0.0, 2.0), (0.3, 0.5), (0.8, 5.0)] {
        let counts = ZeroInflated::new(share, NegativeBinomial::new(size).unwrap()).unwrap();
        for t in [-2.0, 0.0, 0.7, 2.5] {
            let (mut total, mut information) = (0.0, 0.0);
            for y in 0..3000 {
                let y = f64::from(y);
                let [value, slope, curvature] = counts.derivatives(y, t);
                let step = 1e-4;
                let (below, above) = (counts.derivatives(y, t - step), counts.derivatives(y, t + step));
                // Central differences: truncation step²·(y + size) and rounding ε·|log p|/step.
                let tolerance =
                    step * step * (y + size) + 8.0 * f64::EPSILON * (1.0 + value.abs() + slope.abs()) / step;
                assert!((slope - (above[0] - below[0]) / (2.0 * step)).abs() < tolerance, "{share} {t} {y}");
                assert!((curvature - (below[1] - above[1]) / (2.0 * step)).abs() < tolerance, "{share} {t} {y}");
                total += value.exp();
                information += value.exp() * curvature;
            }
            // Rounding of 3000 terms; the counts beyond have a probability below e⁻⁵⁰ at size 0.5 and mean 12.
            assert!((total - 1.0).abs() < 1e-11 && (information / counts.fisher_information(t) - 1.0).abs() < 1e-9);
        }
    }
}

#[test]
fn the_tilted_density_of_an_excess_zero_is_what_quadrature_finds() {
    let mut widened = 0;
    for (share, size) in [(0.05, 2.0), (0.5, 0.7), (0.9, 20.0)] {
        let counts = ZeroInflated::new(share, NegativeBinomial::new(size).unwrap()).unwrap();
        for (a, nu) in [(-1.0, 0.5), (0.5, 0.01), (1.5, 0.3), (2.0, 2.0), (4.0, 1.0)] {
            for y in [0.0, 1.0, 7.0] {
                let own = counts.tilted(y, a, nu).unwrap();
                let found = quadrature::tilted(&counts, y, a, nu).unwrap();
                let context = format!("{share} {size} {a} {nu} {y}: {own:?} {found:?}");
                // The tolerance of quadrature.
                assert!((own.log_normaliser - found.log_normaliser).abs() < 1e-9, "{context}");
                assert!((own.slope - found.slope).abs() < 1e-8 * (1.0 + own.slope.abs()), "{context}");
                assert!((own.variance / found.variance - 1.0).abs() < 1e-7, "{context}");
                assert_eq!(own.log_normaliser, counts.log_predictive(y, a, nu));
                widened += u32::from(own.curvature < 0.0);
            }
        }
    }
    assert!(widened > 0);
}
