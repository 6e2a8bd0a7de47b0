//! Counts and classes.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use vi_models::ModelError;
use vi_models::online::family::{Counts, LearnedSpread, Probit, SpreadCounts, Trials};
use vi_models::online::{Advice, BeliefKind, Observation, OnlineGlm, OnlineSettings, OnlineSoftmax, PriorScale};
use vi_models::softmax::SoftmaxRefineSettings;

use crate::{numbers, stream};

#[test]
fn every_family_learns_and_names_labels_it_cannot_have() {
    let (rows, _) = numbers(200, 32);
    let mut rng = ChaCha8Rng::seed_from_u64(33);
    let settings = OnlineSettings { prior_scale: PriorScale::Given(1.0), ..OnlineSettings::default() };
    let mut counts = OnlineGlm::with_settings(2, Counts, settings.clone()).unwrap();
    let mut spread = OnlineGlm::with_settings(2, SpreadCounts { size: 4.0 }, settings.clone()).unwrap();
    let mut trials = OnlineGlm::with_settings(2, Trials, settings.clone()).unwrap();
    let mut probit = OnlineGlm::with_settings(2, Probit, settings.clone()).unwrap();
    for x in rows.chunks(2) {
        let rate: f64 = (0.5 + 0.6 * x[0]).exp();
        let y: f64 = rand_distr::Distribution::sample(&rand_distr::Poisson::new(2.0 * rate).unwrap(), &mut rng);
        counts.update(x, Observation::new(y).exposure(2.0)).unwrap();
        spread.update(x, Observation::new(y).exposure(2.0)).unwrap();
        trials.update(x, Observation::new(y.min(9.0)).trials(9.0)).unwrap();
        probit.update(x, f64::from(y > 3.0)).unwrap();
    }
    let at = Observation::new(0.0).exposure(2.0);
    let (low, high) = (counts.predict(&[-1.0, 0.0], at).unwrap(), counts.predict(&[1.0, 0.0], at).unwrap());
    // 2·e^(0.5 ± 0.6), within 4 standard errors of some 6 % for 200 rows.
    assert!((low.mean / 1.81 - 1.0).abs() < 0.25 && (high.mean / 6.01 - 1.0).abs() < 0.25, "{low:?} {high:?}");
    assert!(spread.predict(&[1.0, 0.0], at).unwrap().variance > high.variance);
    let nine = Observation::new(0.0).trials(9.0);
    assert!(trials.predict(&[1.0, 0.0], nine).unwrap().mean > trials.predict(&[-1.0, 0.0], nine).unwrap().mean);
    assert!(probit.predict(&[2.0, 0.0], Observation::new(0.0)).unwrap().mean > 0.9);
    assert!(counts.evidence() > spread.evidence());

    let text = serde_json::to_string(&counts).unwrap();
    let label = |error: ModelError| matches!(error, ModelError::Core(vi_core::Error::Label { .. }));
    assert!(label(counts.update(&[0.0, 0.0], -1.0).unwrap_err()));
    assert!(label(counts.update(&[0.0, 0.0], 1.5).unwrap_err()));
    assert!(label(trials.update(&[0.0, 0.0], Observation::new(4.0).trials(3.0)).unwrap_err()));
    assert!(counts.update(&[0.0, 0.0], Observation::new(1.0).exposure(0.0)).is_err());
    assert!(OnlineGlm::new(2, SpreadCounts { size: -1.0 }).is_err());
    assert_eq!(text, serde_json::to_string(&counts).unwrap());
    let again: OnlineGlm<Counts> = serde_json::from_str(&text).unwrap();
    assert_eq!(text, serde_json::to_string(&again).unwrap());
}

#[test]
fn a_softmax_model_keeps_the_promises_of_the_others() {
    let (rows, _) = stream(120, 50);
    let mut rng = ChaCha8Rng::seed_from_u64(51);
    let labels: Vec<f64> = rows
        .chunks(3)
        .map(|x| {
            // Logits 0, 2z₀, −2z₀: class 2 to the left, 1 to the right, 0 between.
            let weights = [1.0, (2.0 * x[0]).exp(), (-2.0 * x[0]).exp()];
            let mut u = rng.random::<f64>() * weights.iter().sum::<f64>();
            let mut class = 0;
            while class < 2 && u > weights[class] {
                u -= weights[class];
                class += 1;
            }
            class as f64
        })
        .collect();
    let text = |model: &OnlineSoftmax| serde_json::to_string(model).unwrap();
    let settings = OnlineSettings { keep_rows: true, ..OnlineSettings::default() };
    let mut looped = OnlineSoftmax::with_settings(3, 3, settings.clone()).unwrap();
    for (row, &label) in rows.chunks(3).zip(&labels) {
        looped.update(row, label).unwrap();
    }
    let mut batched = OnlineSoftmax::with_settings(3, 3, settings.clone()).unwrap();
    batched.update_batch(&rows[..3 * 70], &labels[..70]).unwrap();
    let mut again: OnlineSoftmax = serde_json::from_str(&text(&batched)).unwrap();
    again.update_batch(&rows[3 * 70..], &labels[70..]).unwrap();
    assert_eq!(text(&looped), text(&again));

    let before = text(&looped);
    for label in [-1.0, 3.0, 0.5, f64::NAN] {
        assert!(looped.update(&rows[..3], label).is_err(), "{label}");
    }
    assert!(looped.update(&rows[..3], Observation::new(1.0).offset(0.3)).is_err());
    assert!(looped.update(&[f64::NAN, 0.0, 0.0], 1.0).is_err());
    assert_eq!(before, text(&looped));

    let (left, right) = (looped.predict(&[-1.5, 100.0, 0.0]).unwrap(), looped.predict(&[1.5, 100.0, 0.0]).unwrap());
    assert_eq!((left.most_probable(), right.most_probable()), (2, 1));
    let info = looped.refine(&SoftmaxRefineSettings::default()).unwrap();
    assert_eq!((info.stop, info.bounds.len()), (vi_core::Stop::Converged, 1));
    let diagnosis = looped.diagnose(5000, &mut rng).unwrap();
    assert!(diagnosis.k_hat.is_some() && diagnosis.advice == Advice::Good { scales: true }, "{diagnosis:?}");
    assert!(looped.weights()[0].weights[0] > 0.0 && looped.weights()[1].weights[0] < 0.0);
    assert_eq!(looped.sample(&mut rng).unwrap().len(), 2);

    let diagonal = OnlineSettings { belief: BeliefKind::Diagonal, ..settings };
    assert!(matches!(OnlineSoftmax::with_settings(3, 3, diagonal), Err(ModelError::Unsupported { .. })));
    assert!(OnlineSoftmax::new(3, 1).is_err());
}

/// The likelihood of the size at such a count is so sharp that one node of the rule has all mass.
#[test]
fn one_outlier_does_not_end_a_fit_of_counts_whose_spread_is_learned() {
    for outlier in [5e3, 1e5, 1e7] {
        let mut model = OnlineGlm::new(1, LearnedSpread).unwrap();
        for t in 0..600_u32 {
            let (x, y) = (f64::from(t % 7) - 3.0, f64::from(t * t % 8));
            model.update(&[x], if t == 390 { outlier } else { y }).unwrap();
        }
        assert!(model.evidence().is_finite() && model.log_size().standard_deviation() > 0.0, "{outlier}");
    }
}

/// The score is an integral, also at labels between counts, where the distribution function is level.
#[test]
fn the_ranked_score_of_a_count_is_linear_between_whole_labels() {
    let mut model = OnlineGlm::new(1, Counts).unwrap();
    for t in 0..60 {
        model.update(&[f64::from(t % 3)], f64::from(t % 5)).unwrap();
    }
    let seen = model.predict(&[1.0], Observation::new(0.0)).unwrap();
    for k in 0..6 {
        let [own, middle, next] = [0.0, 0.5, 1.0].map(|part| seen.crps(f64::from(k) + part).unwrap());
        // ∫ (F − 1[x ≥ y])² dx changes by F² − (1−F)² for each unit of y.
        let up_to = seen.cdf(f64::from(k)).unwrap();
        assert!((next - own - (2.0 * up_to - 1.0)).abs() < 1e-9, "{k}");
        assert!((middle - 0.5 * (own + next)).abs() < 1e-9, "{k}: {own} {middle} {next}");
    }
}
