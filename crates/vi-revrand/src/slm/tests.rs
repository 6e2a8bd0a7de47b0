use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use vi_core::{Error, Stop, checkpoint};
use vi_linalg::Cholesky;
use vi_linalg::faer::{Mat, Par, mat};

use super::*;
use crate::basis::{
    Bias, Bound, Composed, FastFoodMixture, Kernel, LengthScale, Linear, OnPart, Radial, RandomFourier,
};

fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// A bias, straight lines and `pairs` waves of two inputs with unequal scales.
fn basis(pairs: usize) -> Composed {
    let scales = LengthScale::PerInput(vec![0.9, 1.7]);
    let waves = RandomFourier::new(Kernel::Matern52, 2, pairs, scales, &mut rng(1)).unwrap();
    let bumps = Radial::new(mat![[0.5], [-0.5]].as_ref(), LengthScale::Shared(0.8)).unwrap();
    Linear::with_intercept(2).unwrap().with_variance(2.0).unwrap() + waves + bumps.on_columns(&[1]).unwrap()
}

fn data(n: usize) -> (Mat<f64>, Vec<f64>) {
    let rng = &mut rng(2);
    let x = Mat::<f64>::from_fn(n, 2, |_, _| rng.random_range(-2.0..2.0));
    let y = (0..n).map(|i| (1.5 * x[(i, 0)]).sin() + 0.3 * x[(i, 1)] + 0.2 * rng.random_range(-1.0..1.0)).collect();
    (x, y)
}

fn hyper() -> Hyperparameters {
    Hyperparameters { noise_variance: 0.2, prior_variances: vec![1.3, 0.6, 0.4], theta: vec![0.7, 1.2, 0.9] }
}

/// `log N(y | 0, σ²I + ΦΛΦᵀ)`, by the `n × n` matrix as it stands.
fn dense(basis: &Composed, hyper: &Hyperparameters, x: &Mat<f64>, y: &[f64]) -> f64 {
    let phi = basis.features(&hyper.theta, x.as_ref(), Par::Seq).unwrap();
    let lambda = prior_variances(basis, &hyper.prior_variances).unwrap();
    let k = Mat::from_fn(y.len(), y.len(), |i, j| {
        let prior: f64 = (0..lambda.len()).map(|f| phi[(i, f)] * lambda[f] * phi[(j, f)]).sum();
        prior + if i == j { hyper.noise_variance } else { 0.0 }
    });
    let cholesky = Cholesky::new(k.as_ref()).unwrap();
    let n = y.len() as f64;
    -0.5 * (n * std::f64::consts::TAU.ln() + cholesky.log_det() + cholesky.quadratic_form_inverse(y).unwrap())
}

/// Few features and many rows, and the other way round.
const SHAPES: [(usize, usize); 3] = [(40, 3), (12, 20), (1, 2)];

#[test]
fn the_evidence_is_the_dense_one_on_both_sides_of_woodbury() {
    for (n, pairs) in SHAPES {
        let (basis, (x, y)) = (basis(pairs), data(n));
        let found = evidence(&basis, &hyper(), x.as_ref(), &y, Par::Seq).unwrap().value;
        let wanted = dense(&basis, &hyper(), &x, &y);
        // n·ε·κ with κ = 1 + λ·‖Φ‖²/σ² below 10³.
        assert!((found - wanted).abs() < 1e-11 * wanted.abs(), "n = {n}: {found} is not {wanted}");
    }
}

#[test]
fn the_gradient_agrees_with_finite_differences() {
    for (n, pairs) in SHAPES {
        let (basis, (x, y), at) = (basis(pairs), data(n), hyper());
        let gradient = evidence(&basis, &at, x.as_ref(), &y, Par::Seq).unwrap().gradient;
        let check = |name: &str, found: f64, value: f64, set: &dyn Fn(&mut Hyperparameters, f64)| {
            let moved = |step: f64| {
                let mut moved = at.clone();
                set(&mut moved, value + step);
                dense(&basis, &moved, &x, &y)
            };
            let h = 1e-3 * value;
            let wanted = (moved(-2.0 * h) - moved(2.0 * h) + 8.0 * (moved(h) - moved(-h))) / (12.0 * h);
            // Differences of fourth order: h⁴ of the fifth derivative and ε/h of the value, both near 1e-10.
            let tolerance = 1e-6 * wanted.abs().max(1e-2);
            assert!((found - wanted).abs() < tolerance, "n = {n}, {name}: {found} is not {wanted}");
        };
        check("noise", gradient.noise_variance, at.noise_variance, &|hyper, v| hyper.noise_variance = v);
        for (k, found) in gradient.prior_variances.iter().enumerate() {
            check("prior", *found, at.prior_variances[k], &|hyper, v| hyper.prior_variances[k] = v);
        }
        for (k, found) in gradient.theta.iter().enumerate() {
            check("theta", *found, at.theta[k], &|hyper, v| hyper.theta[k] = v);
        }
    }
}

#[test]
fn the_posterior_is_the_dense_one() {
    for (n, pairs) in SHAPES {
        let (basis, (x, y), hyper) = (basis(pairs), data(n), hyper());
        let model = Slm::new(basis.clone(), hyper.clone(), x.as_ref(), &y, Par::Seq).unwrap();
        let phi = basis.features(&hyper.theta, x.as_ref(), Par::Seq).unwrap();
        let lambda = prior_variances(&basis, &hyper.prior_variances).unwrap();
        let mut precision = phi.transpose() * &phi * (1.0 / hyper.noise_variance);
        (0..lambda.len()).for_each(|j| precision[(j, j)] += 1.0 / lambda[j]);
        let precision = Cholesky::new(precision.as_ref()).unwrap();
        let mut m: Vec<f64> =
            (0..lambda.len()).map(|j| (0..n).map(|i| phi[(i, j)] * y[i]).sum::<f64>() / 0.2).collect();
        precision.solve_vec_in_place(&mut m).unwrap();
        let c = precision.inverse();
        // n·ε·κ, κ below 10⁴.
        let close = |found: f64, wanted: f64| (found - wanted).abs() < 1e-10 * wanted.abs().max(1.0);
        assert!(model.weight_mean().iter().zip(&m).all(|(a, b)| close(*a, *b)));
        assert!((model.weight_covariance() - &c).norm_max() < 1e-10);
        // 300 rows: more than a tile.
        let (points, _) = data(300);
        let features = basis.features(&hyper.theta, points.as_ref(), Par::Seq).unwrap();
        let predictions = model.predict(points.as_ref(), Par::Seq).unwrap();
        for (row, prediction) in predictions.iter().enumerate() {
            let phi: Vec<f64> = features.row(row).iter().copied().collect();
            let mean: f64 = phi.iter().zip(&m).map(|(a, b)| a * b).sum();
            let variance: f64 =
                (0..m.len()).map(|i| (0..m.len()).map(|j| phi[i] * c[(i, j)] * phi[j]).sum::<f64>()).sum();
            assert!(close(prediction.mean, mean) && close(prediction.variance, variance), "row {row}");
            assert!(close(prediction.predictive_variance, variance + 0.2));
        }
    }
}

#[test]
fn the_bound_is_tight_at_the_posterior_and_below_elsewhere() {
    for (n, pairs) in SHAPES {
        let (basis, (x, y)) = (basis(pairs), data(n));
        let model = Slm::new(basis.clone(), hyper(), x.as_ref(), &y, Par::Seq).unwrap();
        let evidence = model.log_marginal_likelihood();
        let bound = model.bound(x.as_ref(), &y, Par::Seq).unwrap();
        assert!((bound - evidence).abs() < 1e-11 * evidence.abs(), "{bound} is not {evidence}");
        // The posterior of other labels.
        let other: Vec<f64> = y.iter().map(|y| 0.5 * y + 0.1).collect();
        let gap = super::evidence(&basis, &hyper(), x.as_ref(), &other, Par::Seq).unwrap().value
            - model.bound(x.as_ref(), &other, Par::Seq).unwrap();
        assert!(gap > 1e-3, "{gap}");
    }
}

#[test]
fn learning_finds_a_stationary_point_above_the_start() {
    for (n, pairs) in [(40, 5), (12, 20)] {
        let (basis, (x, y)) = (basis(pairs), data(n));
        let settings = SlmSettings { noise_variance: 0.5, ..SlmSettings::default() };
        let fit = learn(basis.clone(), x.as_ref(), &y, &settings, &mut rng(3), Par::Seq).unwrap();
        assert_eq!(fit.info.stop, Stop::Converged);
        assert_eq!(fit.info.ends.len(), 3);
        let start = evidence(&basis, &Hyperparameters::start(&basis, 0.5), x.as_ref(), &y, Par::Seq).unwrap().value;
        let learned = fit.model.log_marginal_likelihood();
        assert!(learned > start + 1.0, "{learned} from {start}");
        assert!(fit.info.ends.iter().flatten().all(|end| *end <= learned + 1e-9 * learned.abs()));
        let hyper = fit.model.hyperparameters();
        let gradient = evidence(&basis, hyper, x.as_ref(), &y, Par::Seq).unwrap().gradient;
        let tolerance = 1e-6 * learned.abs().max(1.0);
        assert!((gradient.noise_variance * hyper.noise_variance).abs() <= tolerance);
        for (g, v) in gradient.theta.iter().zip(&hyper.theta) {
            assert!((g * v).abs() <= tolerance);
        }
    }
}

#[test]
fn learning_keeps_within_bounds_and_leaves_the_draws() {
    let (x, y) = data(40);
    let bound = Bound::positive_between(0.5, 0.8).unwrap();
    let mixture = FastFoodMixture::new(&[0.3, -0.2], LengthScale::Shared(1.0), 8, &mut rng(4)).unwrap();
    let draws = mixture.draws().clone();
    let basis = mixture + Bias::new(1.0).unwrap().with_variance(0.6).unwrap().with_variance_bound(bound).unwrap();
    let settings = SlmSettings { noise_bound: Bound::positive_between(0.3, 3.0).unwrap(), ..SlmSettings::default() };
    let fit = learn(basis, x.as_ref(), &y, &settings, &mut rng(5), Par::Seq).unwrap();
    let hyper = fit.model.hyperparameters();
    assert!(hyper.noise_variance >= 0.3 && hyper.noise_variance < 0.31, "{}", hyper.noise_variance);
    assert!(hyper.prior_variances[1] >= 0.5 && hyper.prior_variances[1] <= 0.8);
    let crate::basis::AnyBasis::FastFoodMixture(learned) = fit.model.basis().parts()[0].basis() else {
        panic!("another basis");
    };
    assert_eq!(learned.draws(), &draws);
}

#[test]
fn the_same_seed_gives_the_same_bits() {
    let (x, y) = data(30);
    let settings = SlmSettings { starts: 2, spread: 0.5, ..SlmSettings::default() };
    let run = || learn(basis(4), x.as_ref(), &y, &settings, &mut rng(6), Par::Seq).unwrap();
    assert_eq!(run(), run());
}

#[test]
fn constant_labels_and_a_single_row_are_no_trouble() {
    // The marginal likelihood of an exact fit has no maximum: it grows as the noise shrinks.
    for (n, value) in [(1, 2.0), (20, 0.0), (20, 3.0)] {
        let (x, _) = data(n);
        let settings = SlmSettings { max_iterations: 60, ..SlmSettings::default() };
        let fit = learn(basis(3), x.as_ref(), &vec![value; n], &settings, &mut rng(7), Par::Seq).unwrap();
        let hyper = fit.model.hyperparameters();
        assert!(hyper.noise_variance > 0.0 && hyper.noise_variance.is_finite());
        let predictions = fit.model.predict(x.as_ref(), Par::Seq).unwrap();
        assert!(predictions.iter().all(|p| p.mean.is_finite() && p.predictive_variance > 0.0));
        assert!(n == 1 || (predictions[0].mean - value).abs() < 0.1, "{}", predictions[0].mean);
    }
}

#[test]
fn huge_and_tiny_labels_are_no_trouble() {
    let (x, y) = data(30);
    let learned = |scale: f64| {
        let scaled: Vec<f64> = y.iter().map(|y| scale * y).collect();
        learn(basis(4), x.as_ref(), &scaled, &SlmSettings::default(), &mut rng(8), Par::Seq)
    };
    let plain = learned(1.0).unwrap();
    let (evidence, hyper) = (plain.model.log_marginal_likelihood(), plain.model.hyperparameters());
    for scale in [1e-140, 1e-80, 1e-8, 1e8, 1e80, 1e150] {
        let fit = learned(scale).unwrap();
        assert_eq!(fit.info.stop, Stop::Converged, "{scale:e}: {:?}", fit.info);
        // A density in units of `scale`. The search ends where derivatives are below 1e-6 of the evidence, 10⁴ nats at the far scales;
        // what that leaves of the evidence is a square, what it leaves of the parameters is not.
        let gap = fit.model.log_marginal_likelihood() + 30.0 * scale.ln() - evidence;
        assert!(gap.abs() < 0.02, "{scale:e}: {gap}, {:?}", fit.info);
        let found = fit.model.hyperparameters();
        let ratios = [found.noise_variance / scale / scale / hyper.noise_variance, found.theta[0] / hyper.theta[0]];
        assert!(ratios.iter().all(|ratio| (ratio - 1.0).abs() < 0.05), "{scale:e}: {ratios:?}");
    }
    let error = learned(1e-200).unwrap_err();
    assert!(matches!(error, RevrandError::Core(Error::Entry { argument: "y", .. })), "{error}");
    assert!(learned(0.0).is_ok());
}

#[test]
fn stored_models_predict_the_same_bits() {
    let (x, y) = data(30);
    let model = Slm::new(basis(4), hyper(), x.as_ref(), &y, Par::Seq).unwrap();
    let mut bytes = Vec::new();
    checkpoint::write(&mut bytes, "vi-revrand/slm", &model).unwrap();
    let again: Slm = checkpoint::read(&mut bytes.as_slice(), "vi-revrand/slm", 1 << 20).unwrap();
    assert_eq!(again, model);
    assert_eq!(again.predict(x.as_ref(), Par::Seq), model.predict(x.as_ref(), Par::Seq));
    let text = serde_json::to_string(&model).unwrap();
    assert_eq!(serde_json::from_str::<Slm>(&text).unwrap(), model);
    let changed = text.replacen("\"noise_variance\":0.2", "\"noise_variance\":0.25", 1);
    let error = serde_json::from_str::<Slm>(&changed).unwrap_err().to_string();
    assert!(error.contains("checksum"), "{error}");
    // Without the checksum on the other checks alone.
    let mut value = serde_json::to_value(&model).unwrap();
    value["seal"]["checksum"] = serde_json::Value::Null;
    assert_eq!(serde_json::from_value::<Slm>(value.clone()).unwrap(), model);
    *value.pointer_mut("/hyper/noise_variance").unwrap() = serde_json::json!(-0.2);
    assert!(serde_json::from_value::<Slm>(value).is_err());
}

#[test]
fn bad_input_is_named() {
    let (x, y) = data(10);
    let basis = basis(3);
    let refused = |settings: SlmSettings| {
        let learned = learn(basis.clone(), x.as_ref(), &y, &settings, &mut rng(1), Par::Seq);
        assert!(settings.check().is_err() && learned.is_err(), "{settings:?}");
    };
    let at = |hyper: &Hyperparameters, x: &Mat<f64>, y: &[f64]| {
        evidence(&basis, hyper, x.as_ref(), y, Par::Seq).unwrap_err()
    };
    let mut bad = y.clone();
    bad[3] = f64::NAN;
    let error = at(&hyper(), &x, &bad);
    assert!(matches!(error, RevrandError::Core(Error::NonFinite { argument: "y", index: 3, .. })));
    assert!(learn(basis.clone(), x.as_ref(), &bad, &SlmSettings::default(), &mut rng(1), Par::Seq).is_err());
    assert!(matches!(at(&hyper(), &x, &y[1..]), RevrandError::Core(Error::Dimension { argument: "y", .. })));
    let mut bad = x.clone();
    bad[(4, 1)] = f64::INFINITY;
    assert!(matches!(at(&hyper(), &bad, &y), RevrandError::Core(Error::Row { row: 4, .. })));
    assert!(matches!(at(&hyper(), &Mat::zeros(0, 2), &[]), RevrandError::Core(Error::Empty { .. })));
    assert!(matches!(at(&hyper(), &Mat::zeros(10, 3), &y), RevrandError::Core(Error::Dimension { .. })));
    for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = at(&Hyperparameters { noise_variance: value, ..hyper() }, &x, &y);
        assert!(matches!(error, RevrandError::Core(Error::Entry { argument: "noise variance", .. })));
        let error = at(&Hyperparameters { prior_variances: vec![1.0, value, 1.0], ..hyper() }, &x, &y);
        assert!(matches!(error, RevrandError::Core(Error::Entry { index: 1, .. })));
        let error = at(&Hyperparameters { theta: vec![1.0, 1.0, value], ..hyper() }, &x, &y);
        assert!(matches!(error, RevrandError::OutOfBounds { argument: "theta", index: 2, .. }));
        refused(SlmSettings { noise_variance: value, ..SlmSettings::default() });
        refused(SlmSettings { spread: value, ..SlmSettings::default() });
        refused(SlmSettings { tolerance: value, ..SlmSettings::default() });
    }
    refused(SlmSettings { starts: 0, ..SlmSettings::default() });
    refused(SlmSettings { max_iterations: 0, ..SlmSettings::default() });
    refused(SlmSettings { noise_bound: Bound::positive_between(2.0, 3.0).unwrap(), ..SlmSettings::default() });
    refused(SlmSettings { noise_bound: Bound::FREE, ..SlmSettings::default() });
    // Beyond floats: an error, never an infinity.
    let huge: Vec<f64> = y.iter().map(|y| 1e200 * y).collect();
    assert!(matches!(at(&hyper(), &x, &huge), RevrandError::Core(Error::Overflow { .. })));
    assert!(learn(basis.clone(), x.as_ref(), &huge, &SlmSettings::default(), &mut rng(1), Par::Seq).is_err());
    let tiny = Hyperparameters { noise_variance: 1e-320, ..hyper() };
    assert!(Slm::new(basis.clone(), tiny, x.as_ref(), &y, Par::Seq).is_err());
    let model = Slm::new(basis, hyper(), x.as_ref(), &y, Par::Seq).unwrap();
    assert!(model.predict(Mat::zeros(2, 1).as_ref(), Par::Seq).is_err());
    assert!(model.predict(bad.as_ref(), Par::Seq).is_err());
    assert!(model.bound(x.as_ref(), &y[1..], Par::Seq).is_err());
}
