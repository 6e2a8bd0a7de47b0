use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_core::Stop;
use vi_linalg::Cholesky;
use vi_linalg::faer::Mat;

use super::*;

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// `n × d` standard normal rows, weights of which every third is 0 and the others are above 0.7, noise of deviation ½.
fn problem(seed: u64, n: usize, d: usize) -> (Mat<f64>, Vec<f64>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let x = Mat::from_fn(n, d, |_, _| normal(&mut rng));
    let w: Vec<f64> = (0..d).map(|j| if j % 3 == 0 { 0.0 } else { 0.7 + normal(&mut rng).abs() }).collect();
    let y = (0..n).map(|i| (0..d).map(|j| w[j] * x[(i, j)]).sum::<f64>() + 0.5 * normal(&mut rng)).collect();
    (x, y)
}

fn fits(x: &Mat<f64>, y: &[f64], prior: LinearPrior, settings: &VbSettings) -> [LinearFit; 2] {
    [linear, linear_ard].map(|fit| fit(x.as_ref(), y, prior, settings, Par::Seq).unwrap())
}

/// The note's updates as they stand, on `d × d` matrices, `iterations` times: `(w, V, b_N, E α, ℒ)`.
fn textbook(
    x: &Mat<f64>,
    y: &[f64],
    prior: LinearPrior,
    ard: bool,
    iterations: usize,
) -> (Mat<f64>, Mat<f64>, f64, Vec<f64>, f64) {
    let (n, d) = x.shape();
    let column = Mat::from_fn(n, 1, |i, _| y[i]);
    let (a0, b0) = (prior.noise_shape(), prior.noise_rate());
    let (c0, d0) = (prior.shrinkage_shape(), prior.shrinkage_rate());
    let an = a0 + n as f64 / 2.0;
    let cn = c0 + if ard { 0.5 } else { d as f64 / 2.0 };
    let mut alpha = vec![c0 / d0; d];
    let mut answer = None;
    for _ in 0..iterations {
        let mut precision = x.transpose() * x;
        for j in 0..d {
            precision[(j, j)] += alpha[j];
        }
        let factor = Cholesky::new(precision.as_ref()).unwrap();
        let v = factor.inverse();
        let w = &v * (x.transpose() * &column);
        let error = (&column - x * &w).squared_norm_l2();
        let penalty: f64 = (0..d).map(|j| alpha[j] * w[(j, 0)] * w[(j, 0)]).sum();
        let bn = b0 + 0.5 * (error + penalty);
        let dn: Vec<f64> = (0..d).map(|j| d0 + 0.5 * (an / bn * w[(j, 0)] * w[(j, 0)] + v[(j, j)])).collect();
        let dn = if ard { dn } else { vec![dn.iter().map(|dn| dn - d0).sum::<f64>() + d0] };
        let fitted = (x * &v * x.transpose()).diagonal().column_vector().iter().sum::<f64>();
        let constants = -0.5 * n as f64 * bound::LN_2PI + 0.5 * d as f64 - lgamma(a0)
            + a0 * b0.ln()
            + dn.len() as f64 * (c0 * d0.ln() - lgamma(c0) + lgamma(cn));
        let l = constants - 0.5 * (an / bn * error + fitted) - 0.5 * factor.log_det() - b0 * an / bn + lgamma(an)
            - an * bn.ln()
            + an
            - cn * dn.iter().map(|dn| dn.ln()).sum::<f64>(); // (22), (33)
        let mean: Vec<f64> = dn.iter().map(|dn| cn / dn).collect();
        alpha = if ard { mean.clone() } else { vec![mean[0]; d] };
        answer = Some((w, v, bn, mean, l));
    }
    answer.unwrap()
}

use libm::lgamma;

#[test]
fn the_notes_updates_as_they_stand_give_the_same() {
    // More rows than columns, as many, fewer, far fewer: the primal and the dual forms.
    for (n, d) in [(40, 7), (12, 12), (9, 14), (5, 16), (1, 3), (6, 1)] {
        let (x, y) = problem(1, n, d);
        let prior = LinearPrior::new(0.7, 0.3, 0.4, 0.2).unwrap();
        for iterations in [1, 4] {
            let settings = VbSettings { max_iterations: iterations, ..VbSettings::authors() };
            for (ard, fit) in [false, true].into_iter().zip(fits(&x, &y, prior, &settings)) {
                let (w, v, bn, alpha, l) = textbook(&x, &y, prior, ard, fit.info().iterations);
                // Well-conditioned: κ below 1e3.
                let tolerance = 1e3 * d as f64 * f64::EPSILON;
                let difference = Mat::from_fn(d, 1, |j, _| fit.weights().mean()[j] - w[(j, 0)]).norm_l2();
                assert!(difference < tolerance * (1.0 + w.norm_l2()), "{n} {d} {ard}: w {difference}");
                let covariance = fit.weights().covariance();
                assert!((&covariance - &v).norm_l2() < tolerance * v.norm_l2(), "{n} {d} {ard}: V");
                assert!((fit.noise().rate / bn - 1.0).abs() < tolerance, "{n} {d} {ard}: b_N");
                for (found, expected) in fit.expected_shrinkage().iter().zip(&alpha) {
                    assert!((found / expected - 1.0).abs() < tolerance, "{n} {d} {ard}: E α");
                }
                assert!((fit.bound() - l).abs() < tolerance * (1.0 + l.abs()), "{n} {d} {ard}: ℒ {} {l}", fit.bound());
                assert!((fit.bound_terms().total() - l).abs() < tolerance * (10.0 + l.abs()), "{n} {d} {ard}: terms");
                for (j, variance) in fit.weights().variances().iter().enumerate() {
                    assert!((variance - covariance[(j, j)]).abs() < tolerance * covariance[(j, j)]);
                }
            }
        }
    }
}

#[test]
fn a_fixed_point_satisfies_its_equations_and_the_authors_stop_below_it() {
    for (seed, n, d) in [(2, 60, 8), (3, 10, 25), (4, 30, 30)] {
        let (x, y) = problem(seed, n, d);
        let prior = LinearPrior::default();
        let converged = fits(&x, &y, prior, &VbSettings { tolerance: Some(1e-10), max_iterations: 20_000 });
        let authors = fits(&x, &y, prior, &VbSettings::authors());
        for (fit, authors) in converged.iter().zip(&authors) {
            assert_eq!(fit.info().stop, Stop::Converged, "{n} {d}");
            assert_eq!(authors.info().stop, Stop::Converged);
            assert!(fit.bound() >= authors.bound());
            // (13), (32) at the answer itself.
            let tau = fit.noise().mean();
            let second: Vec<f64> = fit
                .weights()
                .mean()
                .iter()
                .zip(fit.weights().variances())
                .map(|(w, v)| 0.5 * (tau * w * w + v))
                .collect();
            let groups = fit.shrinkage().len();
            for (j, alpha) in fit.shrinkage().iter().enumerate() {
                let sum = if groups == 1 { second.iter().sum() } else { second[j] };
                assert!((alpha.rate / (prior.shrinkage_rate() + sum) - 1.0).abs() < 1e-8, "{n} {d} {j}");
            }
        }
    }
}

#[test]
fn the_bound_never_falls() {
    // Collinear, constant and zero columns, exact fits, outliers.
    for seed in 0..12 {
        let (mut x, mut y) = problem(seed, 8 + 5 * usize::try_from(seed % 5).unwrap(), 10);
        for i in 0..x.nrows() {
            if seed % 3 == 0 {
                x[(i, 1)] = x[(i, 0)];
                x[(i, 2)] = 1.0;
            }
            if seed % 4 == 1 {
                x[(i, 3)] = 0.0;
                y[i] = 1e3 * x[(i, 0)];
            }
        }
        y[0] += if seed % 2 == 0 { 1e4 } else { 0.0 };
        for settings in [VbSettings::default(), VbSettings::authors()] {
            for fit in fits(&x, &y, LinearPrior::default(), &settings) {
                let info = fit.info();
                for pair in info.bounds.windows(2) {
                    assert!(pair[1] >= pair[0] - info.rounding, "seed {seed}: {pair:?}");
                }
                assert!((fit.bound() - info.bounds.last().unwrap()).abs() <= info.rounding);
                let total = fit.bound_terms().total();
                let tolerance = 1e-9 + 10.0 * f64::EPSILON * info.condition;
                assert!((total - fit.bound()).abs() < tolerance * (1.0 + total.abs()), "seed {seed}: {total}");
            }
        }
    }
}

/// `log p(Y)` of the model with one shrinkage: given `α` a normal-gamma model with a closed form, then the trapezoid rule in `ln α`.
fn log_evidence(x: &Mat<f64>, y: &[f64], prior: LinearPrior) -> f64 {
    let (n, d) = x.shape();
    let (a0, b0) = (prior.noise_shape(), prior.noise_rate());
    let (c0, d0) = (prior.shrinkage_shape(), prior.shrinkage_rate());
    let column = Mat::from_fn(n, 1, |i, _| y[i]);
    let an = a0 + n as f64 / 2.0;
    let at = |log_alpha: f64| {
        let alpha = log_alpha.exp();
        let mut precision = x.transpose() * x;
        for j in 0..d {
            precision[(j, j)] += alpha;
        }
        let factor = Cholesky::new(precision.as_ref()).unwrap();
        let pull = x.transpose() * &column;
        let explained = (pull.transpose() * factor.solve(pull.as_ref()).unwrap())[(0, 0)];
        let bn = b0 + 0.5 * (column.squared_norm_l2() - explained);
        -0.5 * n as f64 * bound::LN_2PI + 0.5 * d as f64 * log_alpha - 0.5 * factor.log_det() + a0 * b0.ln()
            - lgamma(a0)
            + lgamma(an)
            - an * bn.ln()
            + c0 * d0.ln()
            - lgamma(c0)
            + c0 * log_alpha
            - d0 * alpha
    };
    let values: Vec<f64> = (-400..400).map(|i| at(0.05 * f64::from(i))).collect();
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    largest + (0.05 * values.iter().map(|value| (value - largest).exp()).sum::<f64>()).ln()
}

#[test]
fn the_bound_is_one_on_the_evidence_and_close() {
    for (seed, n, d) in [(5, 30, 3), (6, 8, 5), (7, 6, 9)] {
        let (x, y) = problem(seed, n, d);
        let prior = LinearPrior::new(1.0, 0.5, 1.5, 0.5).unwrap();
        let [fit, _] = fits(&x, &y, prior, &VbSettings::default());
        let exact = log_evidence(&x, &y, prior);
        assert!(fit.bound() < exact, "{} {exact}", fit.bound());
        // The factorisation loses the dependence of w on one scalar.
        assert!(exact - fit.bound() < 1.5, "{} {exact}", fit.bound());
    }
}

#[test]
fn units_of_y_and_order_of_rows_do_not_matter() {
    let (x, y) = problem(8, 25, 6);
    let prior = LinearPrior::new(0.5, 0.1, 0.3, 0.2).unwrap();
    let scaled = LinearPrior::new(0.5, 0.1 * 16.0, 0.3, 0.2).unwrap();
    let scaled_y: Vec<f64> = y.iter().map(|y| 4.0 * y).collect();
    let reversed = Mat::from_fn(25, 6, |i, j| x[(24 - i, j)]);
    let reversed_y: Vec<f64> = y.iter().rev().copied().collect();
    let settings = VbSettings { tolerance: Some(1e-12), max_iterations: 5000 };
    for (k, fit) in fits(&x, &y, prior, &settings).iter().enumerate() {
        let other = &fits(&x, &scaled_y, scaled, &settings)[k];
        let turned = &fits(&reversed, &reversed_y, prior, &settings)[k];
        for j in 0..6 {
            let w = fit.weights().mean()[j];
            assert!((other.weights().mean()[j] / 4.0 - w).abs() < 1e-9 * (1.0 + w.abs()));
            assert!((turned.weights().mean()[j] - w).abs() < 1e-9 * (1.0 + w.abs()));
        }
        assert!((other.noise_variance() / fit.noise_variance() / 16.0 - 1.0).abs() < 1e-9);
    }
}

#[test]
fn collinear_columns_are_reported_and_share_their_weight() {
    let (mut x, y) = problem(9, 30, 4);
    for i in 0..30 {
        x[(i, 3)] = x[(i, 1)];
    }
    for fit in fits(&x, &y, LinearPrior::default(), &VbSettings::default()) {
        assert!(fit.info().condition > 5.0, "{}", fit.info().condition);
        assert!(fit.weights().mean().iter().all(|w| w.is_finite()));
    }
    let [shared, _] = fits(&x, &y, LinearPrior::default(), &VbSettings::default());
    assert!((shared.weights().mean()[1] - shared.weights().mean()[3]).abs() < 1e-9);
    let (x, y) = problem(9, 2000, 4);
    let [apart, _] = fits(&x, &y, LinearPrior::default(), &VbSettings::default());
    assert!(apart.info().condition < 2.0, "{}", apart.info().condition);
}

#[test]
fn irrelevant_columns_are_ranked_last() {
    let (x, y) = problem(10, 80, 9);
    let [_, ard] = fits(&x, &y, LinearPrior::default(), &VbSettings::default());
    let ranking = ard.relevance();
    let last: Vec<usize> = ranking[6..].iter().map(|column| column.index).collect();
    for index in [0, 3, 6] {
        assert!(last.contains(&index), "{ranking:?}");
    }
    assert!(ranking[0].determined > 0.9 && ranking[0].signal > 5.0);
}

#[test]
fn predictions_have_the_notes_moments() {
    let (x, y) = problem(11, 20, 3);
    let [fit, _] = fits(&x, &y, LinearPrior::default(), &VbSettings::default());
    let predicted = fit.predict(x.as_ref()).unwrap();
    let (v, w) = (fit.weights().covariance(), fit.weights().mean());
    let (a, b) = (fit.noise().shape, fit.noise().rate);
    for (i, prediction) in predicted.iter().enumerate() {
        let row = x.row(i);
        let mean: f64 = (0..3).map(|j| row[j] * w[j]).sum();
        let nu: f64 = (0..3).map(|j| (0..3).map(|k| row[j] * v[(j, k)] * row[k]).sum::<f64>()).sum();
        assert!((prediction.mean - mean).abs() < 1e-13 * (1.0 + mean.abs()));
        assert!((prediction.precision() * (1.0 + nu) * b / a - 1.0).abs() < 1e-13); // (23)
        assert!((prediction.variance() / ((1.0 + nu) * b / (a - 1.0)) - 1.0).abs() < 1e-13);
        assert!((prediction.degrees - 2.0 * a).abs() < 1e-13);
    }
    let intervals = fit.weight_intervals(0.9).unwrap();
    assert!(intervals.iter().zip(w).all(|(interval, w)| interval.contains(*w)));
}

#[test]
fn rows_that_are_copies_of_a_few_are_fitted() {
    // XXᵀ has little rank and rounding in the rest.
    for (n, d, seed) in [(150, 160, 0.3), (300, 300, 1.1), (200, 201, 2.7)] {
        for grade in [0.0, 1.0] {
            let x = Mat::from_fn(n, d, |i, j| {
                let copy = ((j as f64 + seed) * (1.0 + (i % 2) as f64)).sin();
                copy * (1.0 + 1e-16 * i as f64) + grade * 10_f64.powf(-(i as f64)) * ((i * j) as f64).cos()
            });
            let y: Vec<f64> = (0..n).map(|i| (i % 2) as f64 + 0.1 * (i as f64).sin()).collect();
            let fit = linear(x.as_ref(), &y, LinearPrior::default(), &VbSettings::default(), Par::Seq).unwrap();
            assert!(fit.bound().is_finite(), "{n} {d} {grade}");
        }
    }
}
