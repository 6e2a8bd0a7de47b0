//! What is refused, and that nothing has changed then.

use vi_models::ModelError;
use vi_models::online::{Memory, Observation, OnlineLogistic, OnlineSettings, PriorScale, Standardise};

use crate::{KINDS, bits, settings, stream};

#[test]
fn errors_name_the_fact_and_change_nothing() {
    let (rows, labels) = stream(80, 5);
    for (kind, learned) in KINDS.into_iter().flat_map(|kind| [(kind, 20), (kind, 80)]) {
        let mut model = OnlineLogistic::with_settings(3, settings(kind)).unwrap();
        model.update_batch(&rows[..3 * learned], &labels[..learned]).unwrap();
        let before = bits(&model);
        assert!(matches!(
            model.update(&[0.0, f64::NAN, 1.0], 1.0),
            Err(ModelError::Core(vi_core::Error::NonFinite { argument: "row", index: 1, .. }))
        ));
        assert!(matches!(
            model.update(&[0.0, 1.0], 1.0),
            Err(ModelError::Core(vi_core::Error::Dimension { argument: "row", expected: 3, found: 2 }))
        ));
        assert!(matches!(
            model.update(&[0.0, 1.0, 2.0], 2.0),
            Err(ModelError::Core(vi_core::Error::Label { label: 2.0, .. }))
        ));
        assert!(model.update(&[0.0; 3], Observation::new(1.0).weight(-1.0)).is_err());
        assert!(model.update(&[0.0; 3], Observation::new(1.0).offset(f64::INFINITY)).is_err());
        assert!(model.update((&[2usize, 1], &[1.0, 1.0]), 1.0).is_err());
        // The 41st row is bad: the forty before it, which cross the end of the warm-up, are taken back.
        let mut bad = labels[..60].to_vec();
        bad[40] = 0.5;
        assert!(matches!(
            model.update_batch(&rows[..180], &bad),
            Err(ModelError::Core(vi_core::Error::Row { row: 40, .. }))
        ));
        assert!(matches!(
            model.update_batch(&rows[..0], &bad[..0]),
            Err(ModelError::Core(vi_core::Error::Empty { .. }))
        ));
        assert!(model.predict(&[1.0]).is_err());
        assert_eq!(before, bits(&model), "{kind:?} after {learned} rows");
    }
}

#[test]
fn impossible_settings_are_refused() {
    let ok = OnlineSettings::default();
    let bad = [
        OnlineSettings { prior_scale: PriorScale::Given(0.0), ..ok.clone() },
        OnlineSettings { prior_scale: PriorScale::Given(f64::NAN), ..ok.clone() },
        OnlineSettings { prior_scale: PriorScale::Learned(vec![]), ..ok.clone() },
        OnlineSettings { intercept_scale: -1.0, ..ok.clone() },
        OnlineSettings { memory: Memory::Fading(1.0), ..ok.clone() },
        OnlineSettings { standardise: Standardise::FirstRows { rows: 1, centre: true }, ..ok.clone() },
        OnlineSettings { standardise: Standardise::Fixed { centres: vec![0.0], scales: vec![1.0, 1.0] }, ..ok.clone() },
        OnlineSettings { standardise: Standardise::Fixed { centres: vec![0.0; 2], scales: vec![1.0, 0.0] }, ..ok },
    ];
    for settings in bad {
        assert!(OnlineLogistic::with_settings(2, settings.clone()).is_err(), "{settings:?}");
    }
}

#[test]
fn a_model_without_inputs_learns_its_intercept() {
    let labels = [1.0, 1.0, 0.0, 1.0];
    let (mut looped, mut batched) = (OnlineLogistic::new(0).unwrap(), OnlineLogistic::new(0).unwrap());
    labels.iter().for_each(|&label| looped.update(&[], label).unwrap());
    batched.update_batch(&[], &labels).unwrap();
    assert_eq!(bits(&looped), bits(&batched));
    assert_eq!(batched.info().observations, 4);
    assert!(batched.predict(&[]).unwrap().probability > 0.5);
    assert!(batched.update_batch(&[1.0], &labels).is_err());
}
