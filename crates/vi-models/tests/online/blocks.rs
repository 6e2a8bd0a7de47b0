//! Blocks of prior scales.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use vi_core::batch::BatchSettings;
use vi_models::online::{
    Kind, Model, Observation, OnlineLinear, OnlineLogistic, OnlineSettings, PriorScale, Row, Standardise,
};
use vi_models::{ModelError, Transform};

/// Rows of `d` standard normal inputs; the label is made of those with a weight, and noise.
fn rows(n: usize, weights: &[f64], noise: f64, seed: u64) -> Vec<(Vec<f64>, f64)> {
    let d = weights.len();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let drawn: Vec<f64> = (0..n * (d + 1)).map(|_| rng.sample(StandardNormal)).collect();
    drawn
        .chunks_exact(d + 1)
        .map(|row| {
            let score: f64 = row.iter().zip(weights).map(|(x, w)| x * w).sum();
            (row[..d].to_vec(), score + noise * row[d])
        })
        .collect()
}

fn linear(blocks: Vec<usize>, standardise: Standardise) -> OnlineLinear {
    let inputs = blocks.iter().sum();
    OnlineLinear::with_settings(inputs, OnlineSettings { blocks, standardise, ..OnlineSettings::default() }, 0.1, 1e-5)
        .unwrap()
}

fn fixed(inputs: usize) -> Standardise {
    Standardise::Fixed { centres: vec![0.0; inputs], scales: vec![1.0; inputs] }
}

#[test]
fn a_block_that_tells_nothing_shrinks_and_one_that_tells_keeps_its_scale() {
    let weights: Vec<f64> = (0..24)
        .map(|j| {
            if j < 4 {
                3.0
            } else if j < 14 {
                0.0
            } else {
                0.1
            }
        })
        .collect();
    let mut model = linear(vec![4, 10, 10], Standardise::default());
    for (x, y) in rows(2000, &weights, 1.0, 5) {
        model.update(&x, y).unwrap();
    }
    let scales = model.info().block_scales;
    // Weights are in units of the noise; four weights tell their scale to some 1/√8, ten to 1/√20.
    assert!((1.0..9.0).contains(&scales[0]) && scales[1] < 0.03 && (0.05..0.2).contains(&scales[2]), "{scales:?}");
    let mut one = linear(vec![24], Standardise::default());
    for (x, y) in rows(2000, &weights, 1.0, 5) {
        one.update(&x, y).unwrap();
    }
    assert!(one.info().block_scales.len() == 1 && model.evidence() > one.evidence() + 10.0);
}

#[test]
fn a_block_that_was_shrunk_returns() {
    let (mut model, still) = (linear(vec![2, 6], fixed(8)), [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    for (x, y) in rows(1000, &still, 1.0, 6) {
        model.update(&x, y).unwrap();
    }
    let before = model.info().block_scales[1];
    let told = [1.0, 1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0];
    for (x, y) in rows(7000, &told, 1.0, 7) {
        model.update(&x, y).unwrap();
    }
    let after = model.info().block_scales[1];
    assert!(before < 0.1 && after > 0.3, "{before} {after}");
}

/// With the scales where they ended given beforehand, by columns in units of them, the exact posterior and its evidence are the same.
#[test]
fn a_move_is_exact_for_a_linear_model() {
    let weights = [2.0, -1.0, 0.1, 0.0, -0.1];
    let mut model = linear(vec![2, 3], fixed(5));
    let data = rows(64, &weights, 0.5, 8);
    for (x, y) in &data {
        model.update(x, *y).unwrap();
    }
    let info = model.info();
    let given = |scale: f64| {
        let (first, second) = (info.block_scales[0] / info.prior_scale, info.block_scales[1] / info.prior_scale);
        let scales = [first, first, second, second, second].map(f64::recip).to_vec();
        let standardise = Standardise::Fixed { centres: vec![0.0; 5], scales };
        let settings =
            OnlineSettings { standardise, prior_scale: PriorScale::Given(scale), ..OnlineSettings::default() };
        let mut given = OnlineLinear::with_settings(5, settings, 0.1, 1e-5).unwrap();
        for (x, y) in &data {
            given.update(x, *y).unwrap();
        }
        given
    };
    let x = [0.3, -1.0, 2.0, 0.5, 1.0];
    let (mut mean, mut total) = (0.0, 0.0);
    for (scale, share) in info.prior_scales {
        let given = given(scale);
        mean += share * given.predict(&x).unwrap().expectation.mean();
        total += share;
    }
    // One member for all nodes answers by derivatives, which leave out what is below 2 % of a deviation.
    let seen = model.predict(&x).unwrap();
    let deviation = seen.expectation.standard_deviation();
    assert!(
        (total - 1.0).abs() < 1e-9 && (seen.expectation.mean() - mean).abs() < 0.02 * deviation,
        "{} {mean}",
        seen.expectation.mean()
    );
}

#[test]
fn parts_pauses_and_batches_change_no_bit_and_parts_merge() {
    let weights = [1.0, -2.0, 0.0, 0.0, 0.0, 0.3, 0.3];
    let settings = OnlineSettings { blocks: vec![2, 3, 2], standardise: fixed(7), ..OnlineSettings::default() };
    for kind in [Kind::Number { transform: Transform::Identity, noise: (0.1, 1e-5) }, Kind::Two] {
        let fresh = || Model::new(kind, 7, settings.clone()).unwrap();
        let label = |y: f64| if kind == Kind::Two { f64::from(y > 0.0) } else { y };
        let data = rows(600, &weights, 1.0, 9);
        let (mut whole, mut paused) = (fresh(), fresh());
        for (i, (x, y)) in data.iter().enumerate() {
            let y = Observation::from(label(*y));
            whole.update(Row::Dense(x), y).unwrap();
            paused.update(Row::Dense(x), y).unwrap();
            if i % 97 == 0 {
                paused = serde_json::from_str(&serde_json::to_string(&paused).unwrap()).unwrap();
            }
        }
        assert_eq!(serde_json::to_string(&whole).unwrap(), serde_json::to_string(&paused).unwrap());
        let mut parts = [fresh(), fresh()];
        for (i, (x, y)) in data.iter().enumerate() {
            parts[i % 2].update(Row::Dense(x), Observation::from(label(*y))).unwrap();
        }
        let [mut merged, other] = parts;
        merged.merge(&[&other]).unwrap();
        let (a, b) = (whole.coefficients().unwrap(), merged.coefficients().unwrap());
        for (a, b) in a[0].iter().zip(&b[0]).take(3) {
            let off = (a.belief.mean() - b.belief.mean()) / a.belief.standard_deviation();
            // The intercept and the block that tells most: a linear posterior is the same but for where the scales stand; sites of two halves
            // are not those of one pass.
            assert!(off.abs() < if kind == Kind::Two { 0.3 } else { 0.05 }, "{kind:?} {off}");
        }
        let ratio = whole.info().block_scales[1] / merged.info().block_scales[1];
        assert!((0.5..2.0).contains(&ratio), "{ratio}");
    }
}

#[test]
fn blocks_that_do_not_hold_all_inputs_are_refused() {
    let with = |blocks: Vec<usize>| {
        OnlineLinear::with_settings(3, OnlineSettings { blocks, ..OnlineSettings::default() }, 0.1, 1e-5)
    };
    assert!(matches!(with(vec![1, 1]), Err(ModelError::Core(_))));
    assert!(matches!(with(vec![3, 0]), Err(ModelError::Core(_))));
    assert!(with(vec![1, 2]).is_ok());
}

/// Labels of two classes by the difference of two inputs with this correlation, among 20; the blocks of the other inputs tell nothing.
fn opposing(n: usize, correlation: f64, seed: u64) -> Vec<(Vec<f64>, f64)> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let row = |_| {
        let mut x: Vec<f64> = (0..112).map(|_| rng.sample(StandardNormal)).collect();
        x[1] = correlation * x[0] + (1.0 - correlation * correlation).sqrt() * x[1];
        let up = rng.random::<f64>() < 1.0 / (1.0 + (-6.0 * (x[0] - x[1])).exp());
        (x, f64::from(u8::from(up)))
    };
    (0..n).map(row).collect()
}

fn of_opposing(rows: &[(Vec<f64>, f64)]) -> OnlineLogistic {
    let blocks: Vec<usize> = std::iter::once(20).chain([3; 20]).chain([32]).collect();
    let mut model = OnlineLogistic::with_settings(112, OnlineSettings { blocks, ..OnlineSettings::default() }).unwrap();
    for (x, y) in rows {
        model.update(x, *y).unwrap();
    }
    model
}

fn loss(model: &OnlineLogistic, rows: &[(Vec<f64>, f64)]) -> f64 {
    let of = |(x, y): &(Vec<f64>, f64)| {
        let up = model.predict(x).unwrap().probability;
        -(if *y > 0.5 { up } else { 1.0 - up }).ln()
    };
    rows.iter().map(of).sum::<f64>() / rows.len() as f64
}

/// Weights of opposing signs on two inputs that are nearly the same tell nothing of their scale at first, and much later.
#[test]
fn a_block_widens_where_the_rows_to_come_may_prefer_it() {
    let new = opposing(4000, 0.995, 99);
    for seed in 0..3 {
        let learned = of_opposing(&opposing(2800, 0.995, seed));
        // Half of a nat in twenty is what the difference tells: its log odds have the deviation 0.6.
        let (own, none) = (loss(&learned, &new), 2.0_f64.ln());
        assert!(own < none - 0.02, "{seed}: {own}");
    }
}

/// Refinement begins with the scales and blocks of all first rows, wherever they stood before the last of them.
#[test]
fn refinement_of_first_rows_keeps_their_scales() {
    let (rows, new) = (opposing(700, 0.96, 7), opposing(2000, 0.96, 98));
    let mut model = of_opposing(&rows);
    let mut fitted = model.clone();
    fitted.catch_up().unwrap();
    let settings = BatchSettings { tolerance: 1e-4, max_passes: 20 };
    model
        .refine_over(&settings, |take| rows.iter().try_for_each(|(x, y)| take(Row::Dense(x), Observation::new(*y))))
        .unwrap();
    let (refined, before) = (loss(&model, &new), loss(&fitted, &new));
    // The bound's best Gaussian and the one of expectation propagation differ by far less than the rows tell.
    assert!((refined - before).abs() < 0.01 && before < 0.64, "{refined} {before}");
    assert_eq!(model.info().block_scales.len(), 22);
}
