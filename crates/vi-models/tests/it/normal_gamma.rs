//! The normal-gamma recursion against the batch formula.

use rand::RngExt;
use vi_core::filter::Scratch;
use vi_core::{Checkpoint, DenseGaussian, DiagonalGaussian, Error, SquareRootGaussian};
use vi_linalg::Cholesky;
use vi_linalg::faer::{Mat, MatRef, Par};
use vi_models::ModelError;
use vi_models::linear::NormalGamma;

use crate::common::{difference, inputs, normal, predictors, rng};

const D: usize = 3;

fn prior() -> NormalGamma {
    let covariance = Mat::from_fn(D, D, |i, j| if i == j { 4.0 + i as f64 } else { 0.7 });
    NormalGamma::new(DenseGaussian::new(&[0.5, -1.0, 0.2], covariance.as_ref()).unwrap(), 1.5, 0.8).unwrap()
}

fn data(n: usize, seed: u64) -> (Mat<f64>, Vec<f64>) {
    let mut rng = rng(seed);
    let x = inputs(n, D, &mut rng);
    let y = predictors(&x, &[1.0, -2.0, 0.5]).iter().map(|t| t + 0.6 * normal(&mut rng)).collect();
    (x, y)
}

/// `S = I + XV₀Xᵀ` and `r = y − Xμ₀`: `a = a₀ + n/2`, `b = b₀ + ½rᵀS⁻¹r`, and `y` is a multivariate t.
fn batch_formula(prior: &NormalGamma, x: MatRef<'_, f64>, y: &[f64]) -> (f64, f64, f64) {
    let n = y.len();
    let v0 = prior.scaled_belief().covariance();
    let s = x * &v0 * x.transpose() + Mat::<f64>::identity(n, n);
    let cholesky = Cholesky::new(s.as_ref()).unwrap();
    let residuals: Vec<f64> = (0..n).map(|t| y[t] - (0..D).map(|j| x[(t, j)] * prior.mean()[j]).sum::<f64>()).collect();
    let quadratic = cholesky.quadratic_form_inverse(&residuals).unwrap();
    let (a0, b0, half) = (prior.noise().shape(), prior.noise().rate(), 0.5 * n as f64);
    let log_evidence = libm::lgamma(a0 + half)
        - libm::lgamma(a0)
        - half * (std::f64::consts::TAU * b0).ln()
        - 0.5 * cholesky.log_det()
        - (a0 + half) * (0.5 * quadratic / b0).ln_1p();
    (a0 + half, b0 + 0.5 * quadratic, log_evidence)
}

#[test]
fn one_by_one_and_in_blocks_it_is_the_batch_formula() {
    for n in [1, 2, 40] {
        let (x, y) = data(n, 7);
        let (shape, rate, log_evidence) = batch_formula(&prior(), x.as_ref(), &y);
        let known = vi_models::linear::fit(
            prior().scaled_belief(),
            x.as_ref(),
            &y,
            vi_core::GaussianLikelihood::new(1.0).unwrap(),
        )
        .unwrap();

        let mut looped = prior();
        let mut scratch = Scratch::default();
        let mut sum = 0.0;
        for t in 0..n {
            let row: Vec<f64> = x.row(t).iter().copied().collect();
            // The score is the density of the prediction made before.
            let density = looped.predict(&row).unwrap().log_density(y[t]);
            let score = looped.step(&row, y[t], &mut scratch).unwrap();
            assert!((density - score).abs() < 1e-12 * (1.0 + score.abs()));
            sum += score;
        }
        let mut batch = prior();
        let total = batch.run(x.as_ref(), &y, Par::Seq).unwrap();
        // n·ε·κ with condition numbers below 1e4.
        let tolerance = n as f64 * 1e4 * f64::EPSILON;
        for (model, evidence) in [(&looped, sum), (&batch, total)] {
            assert_eq!(model.noise().shape(), shape);
            assert!((model.noise().rate() / rate - 1.0).abs() < tolerance);
            assert!((evidence - log_evidence).abs() < tolerance * (1.0 + log_evidence.abs()), "{n}");
            assert!(difference(model.scaled_belief(), &known.belief) < tolerance);
        }
        let rows = batch.predict_rows(x.as_ref()).unwrap();
        let one = batch.predict(&x.row(0).iter().copied().collect::<Vec<_>>()).unwrap();
        assert!((rows[0].scale() / one.scale() - 1.0).abs() < 1e-13 && rows[0].dof() == one.dof());
    }
}

#[test]
fn every_belief_gives_the_same_and_a_diagonal_one_where_inputs_are_orthogonal() {
    let (x, y) = data(30, 8);
    let dense = DenseGaussian::isotropic(&[0.1, 0.2, 0.3], 2.0).unwrap();
    let mut one = NormalGamma::new(dense.clone(), 1.0, 1.0).unwrap();
    let mut root = NormalGamma::new(SquareRootGaussian::from_dense(&dense).unwrap(), 1.0, 1.0).unwrap();
    let first = one.run(x.as_ref(), &y, Par::Seq).unwrap();
    let second = root.run(x.as_ref(), &y, Par::Seq).unwrap();
    assert!((first - second).abs() < 1e-11 && (one.noise().rate() / root.noise().rate() - 1.0).abs() < 1e-12);

    let axes: Vec<[f64; D]> = (0..30).map(|t| std::array::from_fn(|j| if t % D == j { 1.5 } else { 0.0 })).collect();
    let mut diagonal = NormalGamma::new(DiagonalGaussian::isotropic(&[0.1, 0.2, 0.3], 2.0).unwrap(), 1.0, 1.0).unwrap();
    let mut full = NormalGamma::new(dense, 1.0, 1.0).unwrap();
    let (mut scratch, mut other) = (Scratch::default(), Scratch::default());
    for (row, &y) in axes.iter().zip(&y) {
        let scores = [diagonal.step(row, y, &mut scratch), full.step(row, y, &mut other)].map(Result::unwrap);
        assert!((scores[0] - scores[1]).abs() < 1e-12);
    }
}

#[test]
fn weights_are_repetitions() {
    let (x, y) = data(20, 9);
    let weights: Vec<f64> = (0..20).map(|t| [0.0, 1.0, 2.0][t % 3]).collect();
    let mut weighted = prior();
    weighted.run_weighted(x.as_ref(), &y, &weights, Par::Seq).unwrap();
    let mut repeated = prior();
    let mut scratch = Scratch::default();
    for t in 0..20 {
        let row: Vec<f64> = x.row(t).iter().copied().collect();
        for _ in 0..[0, 1, 2][t % 3] {
            repeated.step(&row, y[t], &mut scratch).unwrap();
        }
    }
    assert_eq!(weighted.noise().shape(), repeated.noise().shape());
    assert!((weighted.noise().rate() / repeated.noise().rate() - 1.0).abs() < 1e-12);
    assert!(difference(weighted.scaled_belief(), repeated.scaled_belief()) < 1e-11);
    // Half a weight, twice, is one: the posterior of any order.
    let mut halves = prior();
    for _ in 0..2 {
        halves.step_weighted(&[1.0, 0.5, 2.0], 3.0, 0.5, &mut scratch).unwrap();
    }
    let mut whole = prior();
    whole.step(&[1.0, 0.5, 2.0], 3.0, &mut scratch).unwrap();
    assert!(
        (halves.noise().rate() / whole.noise().rate() - 1.0).abs() < 1e-13
            && halves.noise().shape() == whole.noise().shape()
    );
}

#[test]
fn shards_merge_to_the_whole() {
    let (x, y) = data(60, 10);
    let mut whole = prior();
    whole.run(x.as_ref(), &y, Par::Seq).unwrap();
    let shards: Vec<NormalGamma> = [(0, 25), (25, 1), (26, 34)]
        .iter()
        .map(|&(first, n)| {
            let mut shard = prior();
            shard.run(x.as_ref().subrows(first, n), &y[first..first + n], Par::Seq).unwrap();
            shard
        })
        .collect();
    let merged = NormalGamma::merge(&prior(), &shards.iter().collect::<Vec<_>>()).unwrap();
    assert_eq!(merged.noise().shape(), whole.noise().shape());
    assert!(
        (merged.noise().rate() / whole.noise().rate() - 1.0).abs() < 1e-11,
        "{} {}",
        merged.noise().rate(),
        whole.noise().rate()
    );
    assert!(difference(merged.scaled_belief(), whole.scaled_belief()) < 1e-10);
    let levels = NormalGamma::merge(&prior(), &[&shards[0], &shards[1]]).unwrap();
    let merged = NormalGamma::merge(&prior(), &[&levels, &shards[2]]).unwrap();
    assert!((merged.noise().rate() / whole.noise().rate() - 1.0).abs() < 1e-11);

    assert!(matches!(NormalGamma::<DenseGaussian>::merge(&prior(), &[]), Err(ModelError::Core(Error::Empty { .. }))));
    let other = NormalGamma::new(DenseGaussian::isotropic(&[0.0], 1.0).unwrap(), 1.0, 1.0).unwrap();
    assert!(matches!(
        NormalGamma::merge(&prior(), &[&prior(), &other]),
        Err(ModelError::Core(Error::Shard { shard: 1, .. }))
    ));
}

#[test]
fn saving_loading_and_going_on_gives_the_same_bits() {
    let (x, y) = data(12, 11);
    let mut model = prior();
    model.run(x.as_ref(), &y, Par::Seq).unwrap();
    let mut bytes = Vec::new();
    model.write_to(&mut bytes).unwrap();
    let mut again = NormalGamma::<DenseGaussian>::read_from(&mut bytes.as_slice()).unwrap();
    let text = serde_json::to_string(&model).unwrap();
    let mut from_text: NormalGamma = serde_json::from_str(&text).unwrap();
    let mut scratch = Scratch::default();
    for model in [&mut model, &mut again, &mut from_text] {
        model.step(&[0.3, 0.1, -0.7], 0.4, &mut scratch).unwrap();
    }
    for other in [&again, &from_text] {
        assert_eq!(other.mean(), model.mean());
        assert_eq!((other.noise().shape(), other.noise().rate()), (model.noise().shape(), model.noise().rate()));
        assert_eq!(other.scaled_belief().covariance(), model.scaled_belief().covariance());
    }
    // Another belief's bytes, and damaged ones.
    assert!(NormalGamma::<SquareRootGaussian>::read_from(&mut bytes.as_slice()).is_err());
    let at = bytes.len() - 12;
    bytes[at] ^= 1;
    assert!(NormalGamma::<DenseGaussian>::read_from(&mut bytes.as_slice()).is_err());
    let text = text.replace("\"shape\":7.5", "\"shape\":-7.5");
    assert!(serde_json::from_str::<NormalGamma>(&text).is_err());
}

#[test]
fn intervals_and_draws_hold_what_they_say() {
    let (x, y) = data(50, 12);
    let mut model = prior();
    model.run(x.as_ref(), &y, Par::Seq).unwrap();
    let (weights, noise) = (model.weights().unwrap(), model.noise().interval(0.9).unwrap());
    let mut rng = rng(5);
    let n = 4000;
    let mut inside = [0_usize; D + 1];
    let mut theta = [0.0; D];
    for _ in 0..n {
        let variance = model.draw(&mut theta, &mut rng).unwrap();
        inside[D] += usize::from(noise.contains(variance));
        for j in 0..D {
            inside[j] += usize::from(weights[j].interval(0.9).unwrap().contains(theta[j]));
        }
    }
    for count in inside {
        // 6 standard errors of a frequency of 0.9.
        assert!((count as f64 / f64::from(n) - 0.9).abs() < 6.0 * (0.09 / f64::from(n)).sqrt(), "{inside:?}");
    }
    assert!(noise.contains(model.noise().variance()));
    assert!(model.predict_mean(&[1.0, 0.0, 0.0]).unwrap().scale() < model.predict(&[1.0, 0.0, 0.0]).unwrap().scale());
}

#[test]
fn ninety_percent_of_intervals_hold_on_data_from_the_prior() {
    // Exact conjugate: 90 % ± 3 standard errors, for y, the weights and the noise variance.
    let start = prior();
    let mut rng = rng(77);
    let (mut theta, mut hits, repeats) = ([0.0; D], [0_usize; 3], 2000);
    for _ in 0..repeats {
        let variance = start.draw(&mut theta, &mut rng).unwrap();
        let x = inputs(9, D, &mut rng);
        let y: Vec<f64> = predictors(&x, &theta).iter().map(|t| t + variance.sqrt() * normal(&mut rng)).collect();
        let mut model = start.clone();
        model.run(x.as_ref().subrows(0, 8), &y[..8], Par::Seq).unwrap();
        let row: Vec<f64> = x.row(8).iter().copied().collect();
        hits[0] += usize::from(model.predict(&row).unwrap().interval(0.9).unwrap().contains(y[8]));
        let j = rng.random_range(0..D);
        hits[1] += usize::from(model.weights().unwrap()[j].interval(0.9).unwrap().contains(theta[j]));
        hits[2] += usize::from(model.noise().interval(0.9).unwrap().contains(variance));
    }
    let error = (0.09 / f64::from(repeats)).sqrt();
    for hits in hits {
        assert!((hits as f64 / f64::from(repeats) - 0.9).abs() < 3.0 * error, "{hits:?}");
    }
}

#[test]
fn errors_leave_the_model_as_it_was() {
    let (x, y) = data(10, 13);
    let mut model = prior();
    model.run(x.as_ref(), &y, Par::Seq).unwrap();
    let before = serde_json::to_string(&model).unwrap();
    let mut scratch = Scratch::default();
    assert!(model.step(&[1.0, 2.0], 1.0, &mut scratch).is_err());
    assert!(model.step(&[1.0, f64::NAN, 0.0], 1.0, &mut scratch).is_err());
    assert!(model.step(&[1.0, 2.0, 0.0], f64::INFINITY, &mut scratch).is_err());
    let error = model.step(&[1.0, 2.0, 0.0], 1e200, &mut scratch).unwrap_err();
    assert!(matches!(error, ModelError::Core(Error::Overflow { .. })), "{error}");
    assert!(model.step_weighted(&[1.0, 2.0, 0.0], 1.0, -1.0, &mut scratch).is_err());
    let mut bad = y.clone();
    bad[6] = 1e200;
    let error = model.run(x.as_ref(), &bad, Par::Seq).unwrap_err();
    assert!(matches!(error, ModelError::Core(Error::Row { row: 6, .. })), "{error}");
    assert!(model.run_weighted(x.as_ref(), &y, &[1.0; 3], Par::Seq).is_err());
    assert!(model.run(x.as_ref(), &y[..9], Par::Seq).is_err());
    assert_eq!(model.run(x.as_ref().subrows(0, 0), &[], Par::Seq), Ok(0.0));
    assert_eq!(serde_json::to_string(&model).unwrap(), before);

    assert!(NormalGamma::new(DenseGaussian::isotropic(&[0.0], 1.0).unwrap(), 0.0, 1.0).is_err());
    assert!(NormalGamma::new(DenseGaussian::isotropic(&[0.0], 1.0).unwrap(), 1.0, f64::NAN).is_err());
}

#[test]
fn collinear_constant_and_too_few_rows_work() {
    // Two equal columns, one constant, and one row fewer than weights.
    let x = Mat::from_fn(2, D, |t, j| if j == 2 { 1.0 } else { 0.5 + t as f64 });
    let mut model = prior();
    assert!(model.run(x.as_ref(), &[1.0, 2.0], Par::Seq).unwrap().is_finite());
    let predicted = model.predict(&[0.5, 0.5, 1.0]).unwrap();
    assert!(predicted.scale() > 0.0 && predicted.scale() < prior().predict(&[0.5, 0.5, 1.0]).unwrap().scale());
}
