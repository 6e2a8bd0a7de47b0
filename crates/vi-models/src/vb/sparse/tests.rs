use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_linalg::faer::{Mat, Par};

use super::*;

/// `n` rows of `d` standard normals, the first `k` weights from `N(0, 1)`, the rest 0, noise of variance 1.
pub(super) fn data(seed: u64, n: usize, d: usize, k: usize) -> (Mat<f64>, Vec<f64>, Vec<f64>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let w: Vec<f64> = (0..d).map(|j| if j < k { normal() } else { 0.0 }).collect();
    let x = Mat::from_fn(n, d, |_, _| normal());
    let y = (0..n).map(|i| (0..d).map(|j| x[(i, j)] * w[j]).sum::<f64>() + normal()).collect();
    (x, y, w)
}

fn sparse(x: &Mat<f64>, y: &[f64]) -> SparseFit {
    linear_sparse(x.as_ref(), y, LinearPrior::default(), &VbSettings::default(), Par::Seq).unwrap()
}

#[test]
fn a_single_column_has_the_posterior_odds_of_two_models() {
    // With one column the coordinate ascent is exact given the hyper-parameters: the odds are those of N(0, σ²(I + v·xxᵀ)) against N(0, σ²I).
    let (x, y, _) = data(1, 30, 1, 1);
    let fit = sparse(&x, &y);
    let (v, pi, noise) = (fit.slab_variance(), fit.inclusion_rate(), fit.noise().rate / fit.noise().shape);
    let xx: f64 = (0..30).map(|i| x[(i, 0)] * x[(i, 0)]).sum();
    let xy: f64 = (0..30).map(|i| x[(i, 0)] * y[i]).sum();
    let log_factor = -0.5 * (1.0 + v * xx).ln() + 0.5 * v * xy * xy / ((1.0 + v * xx) * noise);
    let expected = 1.0 / (1.0 + (-(pi / (1.0 - pi)).ln() - log_factor).exp());
    assert!((fit.inclusion()[0] - expected).abs() < 1e-6, "{} {expected}", fit.inclusion()[0]);
}

#[test]
fn the_bound_never_falls() {
    let sizes = [(20, 5, 2), (30, 60, 4), (40, 40, 40), (15, 100, 0)];
    for (seed, (n, d, k)) in (0..20).zip(sizes.into_iter().cycle()) {
        let (x, y, _) = data(seed, n, d, k);
        let info = sparse(&x, &y).info().clone();
        assert_eq!(info.stop, Stop::Converged, "{seed}");
        for pair in info.bounds.windows(2) {
            assert!(pair[1] >= pair[0] - info.rounding, "{seed}: {pair:?}, rounding {:e}", info.rounding);
        }
    }
}

#[test]
fn the_hyper_parameters_are_at_a_maximum_of_the_bound() {
    let (x, y, _) = data(7, 40, 60, 5);
    let mut ascent = Ascent::new(x.as_ref(), &y, 40.0, LinearPrior::default());
    for _ in 0..200 {
        ascent.sweep().unwrap();
    }
    let best = ascent.bound();
    for factor in [0.98, 1.02] {
        for change in [[factor, 1.0, 1.0], [1.0, factor, 1.0], [1.0, 1.0, factor]] {
            assert!(ascent.bound_with(change) < best, "{change:?}");
        }
    }
}

#[test]
fn more_columns_than_rows_leave_the_noise_alone() {
    // ARD explains these rows to the last digit; their noise variance is 1.
    let (x, y, w) = data(3, 100, 300, 6);
    let fit = sparse(&x, &y);
    let noise = fit.noise().rate / fit.noise().shape;
    // Six standard errors of a variance with some 90 degrees of freedom.
    assert!((noise - 1.0).abs() < 6.0 * (2.0_f64 / 90.0).sqrt(), "{noise}");
    for (j, w) in w.iter().enumerate() {
        let phi = fit.inclusion()[j];
        assert!(if w.abs() > 0.5 { phi > 0.9 } else { phi < 0.9 || *w != 0.0 }, "{j}: {w} {phi}");
    }
}

#[test]
fn zeros_constants_and_copies_are_fitted() {
    let (mut x, y, _) = data(5, 20, 4, 2);
    for i in 0..20 {
        x[(i, 3)] = x[(i, 0)];
        x[(i, 2)] = 0.0;
    }
    let fit = sparse(&x, &y);
    assert_eq!((fit.inclusion()[2], fit.weights().mean()[2]), (0.0, 0.0));
    assert!(fit.predict(x.as_ref()).unwrap().iter().all(|p| p.mean.is_finite() && p.squared_scale > 0.0));
    let zeros = sparse(&Mat::zeros(3, 2), &[1.0, -1.0, 0.0]);
    assert_eq!(zeros.weights().mean(), [0.0, 0.0]);
    let nothing = sparse(&x, &[0.0; 20]);
    assert!(nothing.weights().mean().iter().all(|w| *w == 0.0) && nothing.noise().mean().is_finite());
}

#[test]
fn bad_input_is_named() {
    let (x, y, _) = data(5, 10, 3, 2);
    let fit =
        |x: &Mat<f64>, y: &[f64], settings| linear_sparse(x.as_ref(), y, LinearPrior::default(), &settings, Par::Seq);
    let authors = fit(&x, &y, VbSettings::authors());
    assert!(matches!(authors, Err(ModelError::Core(vi_core::Error::Setting { name: "stop", .. }))), "{authors:?}");
    assert!(matches!(fit(&x, &y[..9], VbSettings::default()), Err(ModelError::Core(vi_core::Error::Dimension { .. }))));
    let huge = Mat::from_fn(10, 3, |i, j| 1e200 * x[(i, j)]);
    assert!(fit(&huge, &y, VbSettings::default()).is_err());
    let stopped = fit(&x, &y, VbSettings { max_iterations: 1, ..VbSettings::default() }).unwrap();
    assert_eq!(stopped.info().stop, Stop::Iterations);
}

#[test]
fn a_stored_fit_is_read_back_and_checked() {
    let (x, y, _) = data(5, 10, 12, 2);
    let fit = sparse(&x, &y);
    let text = serde_json::to_string(&fit).unwrap();
    assert_eq!(serde_json::from_str::<SparseFit>(&text).unwrap(), fit);
    let damaged = text.replace("\"slab_variance\":", "\"slab_variance\":-");
    assert!(serde_json::from_str::<SparseFit>(&damaged).is_err());
}
