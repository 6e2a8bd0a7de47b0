//! Counts with excess zeros, whose share is learned.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Gamma, Poisson, StandardNormal};
use vi_core::{DenseGaussian, Likelihood};
use vi_linalg::faer::MatRef;
use vi_models::likelihood::{NegativeBinomial, ZeroInflated};
use vi_models::online::family::{InflatedCounts, LearnedSpread};
use vi_models::online::{BeliefKind, Memory, Observation, OnlineGlm, OnlineSettings, Standardise};
use vi_models::{Marginal, ModelError};

use crate::KINDS;

/// The predictor of two inputs, and the size of the counts.
fn predictor(x: &[f64]) -> f64 {
    1.0 + 0.5 * x[0] - 0.3 * x[1]
}
const SIZE: f64 = 2.0;

/// `n` rows of 2 inputs, and counts of which a share are excess zeros.
fn counts(n: usize, share: f64, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let rows: Vec<f64> = (0..2 * n).map(|_| rng.sample(StandardNormal)).collect();
    let mut draw = |x: &[f64]| {
        let rate: f64 = Gamma::new(SIZE, predictor(x).exp() / SIZE).unwrap().sample(&mut rng);
        let counted: f64 = if rate < f64::MIN_POSITIVE { 0.0 } else { Poisson::new(rate).unwrap().sample(&mut rng) };
        if rng.random::<f64>() < share { 0.0 } else { counted }
    };
    let labels = rows.chunks(2).map(&mut draw).collect();
    (rows, labels)
}

fn learned(rows: &[f64], labels: &[f64]) -> OnlineGlm<InflatedCounts> {
    let mut model = OnlineGlm::new(2, InflatedCounts).unwrap();
    model.update_batch(rows, labels).unwrap();
    model
}

/// Of 40 data sets, 90 % intervals of share, size and weights hold as many as they promise.
#[test]
fn intervals_hold_the_truth() {
    let (replications, share) = (40_u32, 0.4_f64);
    let mut held = [0; 4];
    for k in 0..replications {
        let (rows, labels) = counts(400, share, u64::from(k));
        let model = learned(&rows, &labels);
        let asked: [(Marginal, f64); 4] = [
            (model.logit_share(), (share / (1.0 - share)).ln()),
            (model.log_size(), SIZE.ln()),
            (model.intercept().unwrap(), predictor(&[0.0, 0.0])),
            (model.weight(0).unwrap(), 0.5),
        ];
        for (held, (found, truth)) in held.iter_mut().zip(asked) {
            *held += u32::from(found.interval(0.9).unwrap().contains(truth));
        }
    }
    // Three standard errors of 40 tries.
    let least = 0.9 - 3.0 * (0.09 / f64::from(replications)).sqrt();
    assert!(held.iter().all(|held| f64::from(*held) / f64::from(replications) >= least), "{held:?}");
}

#[test]
fn predictions_are_those_of_the_truth_and_better_than_without_excess_zeros() {
    let (learn, new, share) = (2000, 1000, 0.5);
    let (rows, labels) = counts(learn + new, share, 7);
    let model = learned(&rows[..2 * learn], &labels[..learn]);
    let mut spread = OnlineGlm::new(2, LearnedSpread).unwrap();
    spread.update_batch(&rows[..2 * learn], &labels[..learn]).unwrap();
    let truth = ZeroInflated::new(share, NegativeBinomial::new(SIZE).unwrap()).unwrap();
    let at = Observation::new(0.0);
    let mut scores = [0.0; 3];
    let mut held = 0;
    for (x, y) in rows[2 * learn..].chunks(2).zip(&labels[learn..]) {
        let seen = model.predict(x, at).unwrap();
        scores[0] += truth.log_density(*y, predictor(x));
        scores[1] += seen.log_density(*y).unwrap();
        scores[2] += spread.predict(x, at).unwrap().log_density(*y).unwrap();
        held += u32::from(seen.interval(0.9).unwrap().contains(*y));
        assert!(
            (seen.excess() - share).abs() < 0.1
                && seen.mean < (1.0 - seen.excess()) * seen.predictor.mean().exp() * 1.1
        );
    }
    let [truth, own, without] = scores.map(|sum| sum / new as f64);
    // Five parameters, each off by z deviations, cost ½z²/n nats a row on the average, and new rows scatter by z/√(n·new) about it; z = 3.
    let tolerance = 5.0 * 4.5 / learn as f64 + 3.0 / ((learn * new) as f64).sqrt();
    assert!((truth - own).abs() < tolerance, "{truth} {own}");
    assert!(own > without + 0.02, "{own} {without}");
    // A central interval of counts holds at least its level; six standard errors.
    assert!(f64::from(held) / new as f64 > 0.9 - 6.0 * (0.09 / new as f64).sqrt());
}

/// The share of zeros is that of the labels, whatever the start says, and evidence prefers the family only where there is an excess.
#[test]
fn evidence_tells_whether_there_is_an_excess() {
    for (share, prefers) in [(0.0, false), (0.4, true)] {
        let (rows, labels) = counts(1500, share, 3);
        let model = learned(&rows, &labels);
        let mut spread = OnlineGlm::new(2, LearnedSpread).unwrap();
        spread.update_batch(&rows, &labels).unwrap();
        let gained = model.evidence() - spread.evidence();
        assert!(if prefers { gained > 5.0 } else { (-8.0..2.0).contains(&gained) }, "{share}: {gained}");
        let zeros = labels.iter().filter(|y| **y == 0.0).count() as f64 / labels.len() as f64;
        let seen = rows.chunks(2).map(|x| model.predict(x, 0.0.into()).unwrap().cdf(0.0).unwrap());
        let expected = seen.sum::<f64>() / labels.len() as f64;
        // Four standard errors of a share.
        assert!((zeros - expected).abs() < 4.0 * (zeros / labels.len() as f64).sqrt(), "{zeros} {expected}");
    }
}

/// The intercept is the sum of two parts: draws, means and marginals tell the same of it.
#[test]
fn draws_and_marginals_tell_one_intercept() {
    let (rows, labels) = counts(600, 0.5, 5);
    let model = learned(&rows, &labels);
    let told = model.intercept().unwrap();
    assert!((told.mean() - model.weights().intercept).abs() < 1e-9 * told.mean().abs());
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let n = 4000;
    let draws: Vec<f64> = (0..n).map(|_| model.sample(&mut rng).unwrap().intercept).collect();
    let scores = model.score_samples(&[0.0, 0.0], n, &mut rng).unwrap();
    for drawn in [draws, scores] {
        let mean = drawn.iter().sum::<f64>() / n as f64;
        let variance = drawn.iter().map(|own| (own - mean).powi(2)).sum::<f64>() / n as f64;
        // Six standard errors of mean and variance of draws that are nearly Gaussian.
        assert!((mean - told.mean()).abs() < 6.0 * (told.variance() / n as f64).sqrt());
        assert!((variance / told.variance() - 1.0).abs() < 6.0 * (2.0 / n as f64).sqrt());
    }
}

/// What another method finds for the weights answers with the share, the size and the level that the model has learned.
#[test]
fn a_mixture_keeps_what_is_no_weight() {
    let (rows, labels) = counts(200, 0.5, 14);
    let settings = OnlineSettings { keep_rows: true, ..OnlineSettings::default() };
    let mut model = OnlineGlm::with_settings(2, InflatedCounts, settings).unwrap();
    model.update_batch(&rows, &labels).unwrap();
    let posterior = model.posterior().unwrap();
    let origin = [0.0; 3];
    let part = DenseGaussian::isotropic(&origin, 1e-4).unwrap();
    let mixture = model.mixture(&posterior, &[(1.0, part)]).unwrap();
    let told = posterior.in_units(MatRef::from_row_major_slice(&origin, 1, 3)).unwrap();
    assert!((mixture.weights().intercept - told[(0, 2)]).abs() < 1e-12);
    let (own, kept) = (model.logit_share(), mixture.logit_share());
    // The members of the model have shares of the answers, the mixture that of the most probable.
    assert!((own.mean() - kept.mean()).abs() < own.standard_deviation() && kept.mean() > -1.0);
}

#[test]
fn exposures_and_offsets_multiply_the_mean_and_not_the_share() {
    let (rows, labels) = counts(400, 0.4, 6);
    let model = learned(&rows, &labels);
    let of = |at: Observation| model.predict(&[0.2, 0.1], at).unwrap();
    let (one, twice, moved) =
        (of(0.0.into()), of(Observation::new(0.0).exposure(2.0)), of(Observation::new(0.0).offset(f64::ln(2.0))));
    // Rounding of an exponential.
    assert!((twice.mean / one.mean - 2.0).abs() < 1e-12 && (moved.mean / twice.mean - 1.0).abs() < 1e-12);
    assert_eq!(twice.excess(), one.excess());
    assert!(twice.cdf(0.0).unwrap() < one.cdf(0.0).unwrap() && twice.cdf(0.0).unwrap() > twice.excess());
}

/// Without an intercept nothing stands in for it.
#[test]
fn a_model_without_intercept_has_none() {
    let (rows, labels) = counts(300, 0.4, 8);
    let settings = OnlineSettings { intercept: false, standardise: Standardise::Never, ..OnlineSettings::default() };
    let mut model = OnlineGlm::with_settings(2, InflatedCounts, settings).unwrap();
    model.update_batch(&rows, &labels).unwrap();
    assert_eq!(model.weights().intercept, 0.0);
    assert_eq!(model.predictor(&[0.0, 0.0], 0.0).unwrap().variance(), 0.0);
}

#[test]
fn batches_and_documents_keep_the_bits() {
    let (rows, labels) = counts(90, 0.4, 9);
    for memory in [Memory::Everything, Memory::Fading(0.99), Memory::Learned] {
        let settings = OnlineSettings { memory, ..OnlineSettings::default() };
        let mut looped = OnlineGlm::with_settings(2, InflatedCounts, settings).unwrap();
        let mut batched = looped.clone();
        rows.chunks(2).zip(&labels).for_each(|(x, y)| looped.update(x, *y).unwrap());
        batched.update_batch(&rows[..120], &labels[..60]).unwrap();
        let text = serde_json::to_string(&batched).unwrap();
        let mut again: OnlineGlm<InflatedCounts> = serde_json::from_str(&text).unwrap();
        again.update_batch(&rows[120..], &labels[60..]).unwrap();
        let text = serde_json::to_string(&looped).unwrap();
        assert_eq!(text, serde_json::to_string(&again).unwrap(), "{memory:?}");
        assert!(serde_json::from_str::<OnlineGlm<LearnedSpread>>(&text).is_err());
    }
}

/// Each shard has found its own way for the level to follow share and size.
#[test]
fn shards_learn_share_and_level_together() {
    let (rows, labels) = counts(1500, 0.4, 11);
    let standardise = Standardise::Fixed { centres: vec![0.0; 2], scales: vec![1.0; 2] };
    let settings = OnlineSettings { standardise, ..OnlineSettings::default() };
    let shard = |from: usize, to: usize| {
        let mut model = OnlineGlm::with_settings(2, InflatedCounts, settings.clone()).unwrap();
        model.update_batch(&rows[2 * from..2 * to], &labels[from..to]).unwrap();
        model
    };
    let whole = shard(0, 1500);
    let (mut merged, others) = (shard(0, 500), [shard(500, 1000), shard(1000, 1500)]);
    let alone = merged.logit_share().standard_deviation();
    merged.merge(&[&others[0], &others[1]]).unwrap();
    for (a, b) in [
        (merged.logit_share(), whole.logit_share()),
        (merged.log_size(), whole.log_size()),
        (merged.intercept().unwrap(), whole.intercept().unwrap()),
        (merged.weight(0).unwrap(), whole.weight(0).unwrap()),
    ] {
        assert!((a.mean() - b.mean()).abs() < b.standard_deviation(), "{} {}", a.mean(), b.mean());
        assert!((a.standard_deviation() / b.standard_deviation() - 1.0).abs() < 0.25);
    }
    assert!(merged.logit_share().standard_deviation() < 0.8 * alone);
}

#[test]
fn what_is_stored_and_what_comes_is_checked() {
    let (rows, labels) = counts(60, 0.4, 12);
    let mut model = learned(&rows, &labels);
    let document = serde_json::to_value(&model).unwrap();
    for (path, value) in [
        ("/members/0/state/z/covariance/0", serde_json::json!(-1.0)),
        ("/members/0/state/z/covariance/1", serde_json::json!(5.0)),
        ("/members/0/state/z/covariance/2", serde_json::json!(1e9)),
        ("/members/0/state/z/mean/1", serde_json::json!(null)),
        ("/members/0/state/level", serde_json::json!(null)),
    ] {
        let mut damaged = document.clone();
        damaged["seal"]["checksum"] = serde_json::Value::Null;
        *damaged.pointer_mut(path).unwrap() = value;
        assert!(serde_json::from_value::<OnlineGlm<InflatedCounts>>(damaged).is_err(), "{path}");
    }
    let before = serde_json::to_string(&model).unwrap();
    assert!(model.update(&[0.0, 0.0], -1.0).is_err() && model.update(&[0.0, 0.0], 0.5).is_err());
    assert!(model.update(&[0.0, 0.0], Observation::new(1.0).trials(2.0)).is_err());
    assert_eq!(before, serde_json::to_string(&model).unwrap());
    for belief in KINDS.into_iter().filter(|belief| *belief != BeliefKind::Full) {
        let settings = OnlineSettings { belief, ..OnlineSettings::default() };
        let refused = OnlineGlm::with_settings(2, InflatedCounts, settings);
        assert!(matches!(refused, Err(ModelError::Unsupported { what }) if what.contains("excess zeros")));
    }
    // Labels that are all 0, and a count far beyond all others, are learned and leave numbers.
    model.update(&[0.0, 0.0], 1e9).unwrap();
    let zeros = learned(&rows, &[0.0; 60]);
    for model in [model, zeros] {
        assert!(model.logit_share().mean().is_finite() && model.log_size().standard_deviation() > 0.0);
        assert!(model.predict(&[0.0, 0.0], 0.0.into()).unwrap().mean.is_finite());
    }
}
