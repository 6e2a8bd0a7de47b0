use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_core::expectation::LogisticExpectation;
use vi_core::special::{jaakkola_jordan, log_sigmoid, sigmoid};
use vi_core::{Belief, DenseGaussian, Exact, Projection, QuadraticBound, Stop, filter};
use vi_linalg::Cholesky;
use vi_linalg::faer::Mat;

use super::softplus::SoftplusMoments;
use super::*;

fn problem(seed: u64, n: usize, d: usize) -> (Mat<f64>, Vec<f64>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let x = Mat::from_fn(n, d, |_, _| StandardNormal.sample(&mut rng));
    let w: Vec<f64> = (0..d).map(|j| if j % 3 == 0 { 0.0 } else { StandardNormal.sample(&mut rng) }).collect();
    let probability = |i: usize| sigmoid((0..d).map(|j| w[j] * x[(i, j)]).sum());
    let y = (0..n).map(|i| f64::from(rng.random::<f64>() < probability(i))).collect();
    (x, y)
}

const BOUNDS: [LogitBound; 2] = [LogitBound::JaakkolaJordan, LogitBound::Softplus];

fn fits(x: &Mat<f64>, y: &[f64], bound: LogitBound, settings: &VbSettings) -> [LogitFit; 2] {
    let prior = LogitPrior::new(0.6, 0.2).unwrap();
    [logit, logit_ard].map(|fit| fit(x.as_ref(), y, prior, bound, settings, Par::Seq).unwrap())
}

/// The note's updates as they stand, `iterations` times: `(w, V, E α, ℒ)`, ℒ by (62), (80).
fn textbook(x: &Mat<f64>, y: &[f64], ard: bool, iterations: usize) -> (Mat<f64>, Mat<f64>, Vec<f64>, f64) {
    use libm::lgamma;
    let (n, d) = x.shape();
    let (a0, b0) = (0.6, 0.2);
    let an = a0 + if ard { 0.5 } else { d as f64 / 2.0 };
    let pull = Mat::from_fn(d, 1, |j, _| (0..n).map(|i| (y[i] - 0.5) * x[(i, j)]).sum::<f64>());
    let solve = |alpha: &[f64], lambda: &[f64]| {
        let precision = Mat::from_fn(d, d, |j, k| {
            let sum: f64 = (0..n).map(|i| 2.0 * lambda[i] * x[(i, j)] * x[(i, k)]).sum();
            sum + if j == k { alpha[j] } else { 0.0 }
        });
        let factor = Cholesky::new(precision.as_ref()).unwrap();
        let v = factor.inverse();
        let w = &v * &pull;
        (w, v, -factor.log_det())
    };
    let mut alpha = vec![a0 / b0; d];
    let (mut w, mut v, _) = solve(&alpha, &vec![0.125; n]);
    let mut answer = (Vec::new(), 0.0);
    for _ in 0..iterations {
        let xi: Vec<f64> = (0..n)
            .map(|i| {
                let row = x.row(i);
                let mean = (row * &w)[0];
                let square = (0..d).map(|j| (0..d).map(|k| row[j] * v[(j, k)] * row[k]).sum::<f64>()).sum::<f64>();
                (square + mean * mean).sqrt()
            })
            .collect();
        let bn: Vec<f64> = (0..d).map(|j| b0 + 0.5 * (w[(j, 0)] * w[(j, 0)] + v[(j, j)])).collect();
        let bn = if ard { bn } else { vec![bn.iter().map(|bn| bn - b0).sum::<f64>() + b0] };
        let mean: Vec<f64> = bn.iter().map(|bn| an / bn).collect();
        alpha = if ard { mean.clone() } else { vec![mean[0]; d] };
        let lambda: Vec<f64> = xi.iter().map(|xi| 0.5 * jaakkola_jordan(*xi)).collect();
        let solved = solve(&alpha, &lambda);
        (w, v) = (solved.0, solved.1);
        let rows = xi.iter().zip(&lambda).map(|(xi, lambda)| log_sigmoid(*xi) - 0.5 * xi + lambda * xi * xi);
        let energy = (w.transpose() * &pull)[(0, 0)];
        let constants = a0 * b0.ln() - lgamma(a0) + lgamma(an) + an;
        let priors: f64 = bn.iter().map(|bn| constants - b0 * an / bn - an * bn.ln()).sum();
        answer = (mean, 0.5 * (energy + solved.2) + rows.sum::<f64>() + priors);
    }
    (w, v, answer.0, answer.1)
}

#[test]
fn the_notes_updates_as_they_stand_give_the_same() {
    for (n, d) in [(40, 7), (12, 12), (9, 14), (1, 3), (6, 1)] {
        let (x, y) = problem(1, n, d);
        for iterations in [1, 5] {
            // Their rule may stop at once: a tolerance that is never met takes as many as it is given.
            let settings = VbSettings { tolerance: Some(1e-300), max_iterations: iterations };
            for (ard, fit) in [false, true].into_iter().zip(fits(&x, &y, LogitBound::JaakkolaJordan, &settings)) {
                if fit.info().bounds.len() != iterations || fit.info().last_change < 0.1 {
                    continue; // extrapolated
                }
                let (w, v, alpha, l) = textbook(&x, &y, ard, iterations);
                let tolerance = 1e3 * d as f64 * f64::EPSILON;
                let difference = Mat::from_fn(d, 1, |j, _| fit.weights().mean()[j] - w[(j, 0)]).norm_l2();
                assert!(difference < tolerance * (1.0 + w.norm_l2()), "{n} {d} {ard}: w {difference}");
                assert!((fit.weights().covariance() - &v).norm_l2() < tolerance * v.norm_l2(), "{n} {d} {ard}: V");
                for (found, expected) in fit.expected_shrinkage().iter().zip(&alpha) {
                    assert!((found / expected - 1.0).abs() < tolerance, "{n} {d} {ard}: E α");
                }
                assert!((fit.bound() - l).abs() < tolerance * (1.0 + l.abs()), "{n} {d} {ard}: ℒ {} {l}", fit.bound());
            }
        }
        // One iteration is always plain.
        let one = VbSettings { tolerance: Some(1e-300), max_iterations: 1 };
        for (ard, fit) in [false, true].into_iter().zip(fits(&x, &y, LogitBound::JaakkolaJordan, &one)) {
            let l = textbook(&x, &y, ard, 1).3;
            assert!((fit.bound() - l).abs() < 1e-11 * (1.0 + l.abs()));
        }
    }
}

#[test]
fn the_bound_never_falls_and_its_terms_add_up() {
    for seed in 0..10 {
        let (mut x, mut y) = problem(seed, 6 + 6 * usize::try_from(seed % 5).unwrap(), 9);
        for i in 0..x.nrows() {
            if seed % 3 == 0 {
                x[(i, 1)] = x[(i, 0)];
                x[(i, 2)] = 1.0;
                x[(i, 3)] = 0.0;
            }
            if seed % 3 == 1 {
                y[i] = f64::from(x[(i, 0)] > 0.0); // separable
            }
        }
        for bound in BOUNDS {
            for settings in [VbSettings::default(), VbSettings::authors()] {
                for fit in fits(&x, &y, bound, &settings) {
                    let info = fit.info();
                    for pair in info.bounds.windows(2) {
                        let allowed = if info.authors_rule && info.stop == Stop::Improvement {
                            f64::INFINITY
                        } else {
                            info.rounding
                        };
                        assert!(pair[1] >= pair[0] - allowed, "seed {seed} {bound:?}: {pair:?}");
                    }
                    let total = fit.bound_terms().total();
                    assert!((total - fit.bound()).abs() < 1e-9 * (1.0 + total.abs()), "seed {seed} {bound:?}: {total}");
                    assert!(info.condition.is_finite() && info.condition >= 1.0);
                }
            }
        }
    }
}

#[test]
fn separable_classes_converge() {
    let (x, _) = problem(3, 30, 3);
    let y: Vec<f64> = (0..30).map(|i| f64::from(x[(i, 1)] > 0.0)).collect();
    for bound in BOUNDS {
        for fit in fits(&x, &y, bound, &VbSettings::default()) {
            assert_eq!(fit.info().stop, Stop::Converged, "{bound:?} {:?}", fit.info());
            let predicted = fit.predict(x.as_ref()).unwrap();
            let right = predicted.iter().zip(&y).filter(|(p, y)| (p.probability > 0.5) == (**y == 1.0)).count();
            assert!(right >= 29, "{bound:?}: {right}");
        }
    }
}

#[test]
fn the_softplus_bound_is_just_above_the_expectation() {
    for i in -60..=60 {
        let a = 0.5 * f64::from(i);
        for nu in [0.0, 1e-12, 1e-4, 0.01, 0.3, 1.0, 10.0, 400.0, 1e6] {
            let bound = SoftplusMoments::at(a, nu);
            let exact = Exact.moments(a, nu);
            let slack = bound.value - exact.softplus;
            // Rounding of sums of order |a|, √ν.
            let rounding = 1e-13 * (1.0 + exact.softplus);
            assert!(slack > -rounding && slack < 2.0e-10 + rounding, "{a} {nu}: {slack:e}");
            assert!((bound.slope - exact.sigmoid).abs() < 4e-9, "{a} {nu}");
            assert!(bound.curvature > 0.0 || exact.first < 1e-250, "{a} {nu}: {}", bound.curvature);
            assert!((bound.curvature - exact.first).abs() < 5e-7, "{a} {nu}: {} {}", bound.curvature, exact.first);
        }
    }
}

#[test]
fn slope_and_curvature_are_derivatives_of_the_softplus_bound() {
    for (a, nu) in [(0.0, 0.01), (0.4, 0.3), (-2.0, 4.0), (5.0, 1.0), (-1.0, 1e-3)] {
        let h = 1e-4;
        let at = |a, nu| SoftplusMoments::at(a, nu);
        let (below, here, above) = (at(a - h, nu), at(a, nu), at(a + h, nu));
        assert!(((above.value - below.value) / (2.0 * h) - here.slope).abs() < 1e-6, "{a} {nu}");
        assert!(((above.slope - below.slope) / (2.0 * h) - here.curvature).abs() < 1e-6, "{a} {nu}");
        // Price: the derivative by ν is half of the second.
        let k = 1e-3 * nu;
        let by_nu = (at(a, nu + k).value - at(a, nu - k).value) / (2.0 * k);
        assert!((by_nu - 0.5 * here.curvature).abs() < 1e-4 * here.curvature.max(0.01), "{a} {nu}");
    }
}

/// `log p(Y)` for one weight, by the trapezoid rule over `w` and `ln α`.
fn log_evidence(x: &[f64], y: &[f64], prior: LogitPrior) -> f64 {
    let (a0, b0) = (prior.shrinkage_shape(), prior.shrinkage_rate());
    let mut terms = Vec::new();
    for i in -300..300 {
        let w = 0.05 * f64::from(i);
        let fit: f64 = x.iter().zip(y).map(|(x, y)| log_sigmoid(if *y == 1.0 { x * w } else { -x * w })).sum();
        for j in -200..100 {
            let log_alpha = 0.1 * f64::from(j);
            let alpha = log_alpha.exp();
            let prior = 0.5 * (log_alpha - 1.837_877_066_409_345_5 - alpha * w * w) + a0 * b0.ln() - libm::lgamma(a0)
                + a0 * log_alpha
                - b0 * alpha;
            terms.push(fit + prior);
        }
    }
    let largest = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    largest + (0.05 * 0.1 * terms.iter().map(|term| (term - largest).exp()).sum::<f64>()).ln()
}

#[test]
fn the_bounds_are_ordered_below_the_evidence() {
    let x = [1.3, -0.4, 2.0, 0.7, -1.8, 0.2];
    let y = [1.0, 0.0, 1.0, 1.0, 1.0, 0.0];
    let prior = LogitPrior::new(2.0, 1.0).unwrap();
    let exact = log_evidence(&x, &y, prior);
    let design = Mat::from_fn(6, 1, |i, _| x[i]);
    let [quadratic, softplus] =
        BOUNDS.map(|bound| logit(design.as_ref(), &y, prior, bound, &VbSettings::default(), Par::Seq).unwrap());
    assert!(quadratic.bound() < softplus.bound() && softplus.bound() < exact, "{exact}");
    assert!(exact - softplus.bound() < 0.1, "{} {exact}", softplus.bound());
    // The quadratic bound is the more certain of the two.
    assert!(quadratic.weights().variances()[0] < softplus.weights().variances()[0]);
}

#[test]
fn the_softplus_fit_is_the_best_gaussian_for_its_shrinkage() {
    use vi_core::batch;
    let (x, y) = problem(5, 50, 6);
    let [fit, _] = fits(&x, &y, LogitBound::Softplus, &VbSettings { tolerance: Some(1e-11), max_iterations: 5000 });
    let alpha = fit.expected_shrinkage()[0];
    let prior = DenseGaussian::isotropic(&[0.0; 6], alpha.sqrt().recip()).unwrap();
    let likelihood = vi_core::BernoulliLogit(Exact);
    let settings = batch::BatchSettings { tolerance: 1e-10, max_passes: 500 };
    let (best, _) = batch::optimum(&prior, &prior, x.as_ref(), &y, &likelihood, &settings, Par::Seq).unwrap();
    let (found, expected) = (fit.weights().covariance(), best.covariance());
    for j in 0..6 {
        // Slopes of the polynomial are off by 4e-9, curvatures by 4e-7; 50 rows of them.
        assert!((fit.weights().mean()[j] - best.mean()[j]).abs() < 1e-6);
        assert!((found[(j, j)] / expected[(j, j)] - 1.0).abs() < 1e-5);
    }
}

#[test]
fn an_intercept_apart_is_shrunk_by_itself() {
    let (mut x, _) = problem(6, 60, 4);
    for i in 0..60 {
        x[(i, 0)] = 1.0;
    }
    let y: Vec<f64> = (0..60).map(|i| f64::from(i % 10 != 0)).collect();
    let prior = LogitPrior::default();
    let settings = VbSettings::default();
    let apart = fit(x.as_ref(), &y, Grouping::FirstApart, prior, LogitBound::Softplus, &settings, Par::Seq).unwrap();
    let together = fit(x.as_ref(), &y, Grouping::One, prior, LogitBound::Softplus, &settings, Par::Seq).unwrap();
    assert_eq!(apart.shrinkage().len(), 2);
    // log(9) = 2.2 is what the classes' frequencies say.
    let error = |fit: &LogitFit| (fit.weights().mean()[0] - 9.0_f64.ln()).abs();
    assert!(error(&apart) < error(&together), "{:?} {:?}", apart.weights().mean(), together.weights().mean());
    assert!(apart.shrinkage_of_weights()[1] > apart.shrinkage_of_weights()[0]);
}

#[test]
fn incremental_fits_are_the_filter_with_the_optimal_quadratic_bound() {
    let (x, y) = problem(7, 40, 5);
    let fit =
        logit_incremental(x.as_ref(), &y, &VbSettings { tolerance: Some(1e-15), max_iterations: 100_000 }).unwrap();
    let mut belief = DenseGaussian::isotropic(&[0.0; 5], 5.0_f64.sqrt().recip()).unwrap();
    filter::run(&mut belief, &QuadraticBound::Optimal, x.as_ref(), &y, |_, _, _| {}).unwrap();
    for (found, expected) in fit.belief().mean().iter().zip(belief.mean()) {
        assert!((found - expected).abs() < 1e-10);
    }
    // (86) and the energy's recursion against the matrices.
    let factor = fit.belief().cholesky().unwrap();
    assert!((fit.log_det() - factor.log_det()).abs() < 1e-11);
    let energy = factor.quadratic_form_inverse(fit.belief().mean()).unwrap();
    assert!((fit.energy() / energy - 1.0).abs() < 1e-10);
    assert!(fit.log_evidence() < 0.0 && fit.step_bounds().len() == 40 && fit.xi().len() == 40);
}

#[test]
fn the_incremental_bound_sums_to_one_on_the_evidence() {
    // One weight, prior N(0, 1): the evidence by the trapezoid rule.
    let x = [1.3, -0.4, 2.0, 0.7, -1.8];
    let y = [1.0, 0.0, 1.0, 1.0, 1.0];
    let design = Mat::from_fn(5, 1, |i, _| x[i]);
    let fit = logit_incremental(design.as_ref(), &y, &VbSettings::default()).unwrap();
    let at = |w: f64| {
        let fit: f64 = x.iter().zip(&y).map(|(x, y)| log_sigmoid(if *y == 1.0 { x * w } else { -x * w })).sum();
        (fit - 0.5 * w * w).exp() / std::f64::consts::TAU.sqrt()
    };
    let evidence: f64 = (-2000..2000).map(|i| 0.01 * at(0.01 * f64::from(i))).sum();
    assert!(fit.log_evidence() < evidence.ln() && evidence.ln() - fit.log_evidence() < 0.1);
}

#[test]
fn the_predictive_bound_is_the_largest_over_xi_and_below_the_integral() {
    for (mean, variance) in [(0.0, 1.0), (1.5, 0.2), (-3.0, 9.0), (0.7, 1e4), (20.0, 3.0), (0.3, 0.0)] {
        let seen = Projection { mean, variance };
        let bound = bound_probability(seen).unwrap();
        let integral = Exact.sigmoid(mean, variance).0;
        assert!(bound <= integral * (1.0 + 1e-12), "{mean} {variance}: {bound} {integral}");
        let mirrored = bound_probability(Projection { mean: -mean, variance }).unwrap();
        assert!(bound + mirrored <= 1.0 + 1e-12);
        // (64) integrated at other ξ.
        for i in 0..200 {
            let xi = 0.05 * f64::from(i) * (1.0 + variance.sqrt() + mean.abs());
            let h = jaakkola_jordan(xi);
            let grown = 1.0 + h * variance;
            let log = -0.5 * grown.ln() + 0.5 * (mean + 0.25 * variance - h * mean * mean) / grown + log_sigmoid(xi)
                - 0.5 * xi
                + 0.5 * h * xi * xi;
            assert!(log.exp() <= bound * (1.0 + 1e-12), "{mean} {variance} at ξ = {xi}");
        }
        let each = authors_probabilities(&[seen], 1.0, AuthorsStop::EachRow)[0];
        assert!(each <= bound * (1.0 + 1e-12));
    }
    // Certain: the plug-in.
    let certain = bound_probability(Projection { mean: 0.3, variance: 0.0 }).unwrap();
    assert!((certain - sigmoid(0.3)).abs() < 1e-15);
}
