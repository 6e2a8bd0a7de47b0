//! Models whose kind is a value: the models within, under one name each.

use serde::Serialize;
use vi_models::online::family::{Counts, InflatedCounts, LearnedSpread, Probit, SpreadCounts, Trials};
use vi_models::online::{
    Kind, Model, Observation, OnlineGlm, OnlineLinear, OnlineLogistic, OnlineOrdered, OnlineRobust, OnlineSettings,
    OnlineSoftmax, OnlineVarying, RefineSettings, Row,
};
use vi_models::{ModelError, Transform};

const NOISE: (f64, f64) = (3.0, 2.0);

const KINDS: [Kind; 13] = [
    Kind::Number { transform: Transform::Identity, noise: NOISE },
    Kind::Count,
    Kind::Two,
    Kind::Classes { classes: 3, joint: Some(true) },
    Kind::Classes { classes: 3, joint: Some(false) },
    Kind::Probit,
    Kind::Trials,
    Kind::Spread { size: 2.5 },
    Kind::LearnedSpread,
    Kind::Robust { transform: Transform::Identity, unit: (0.0, 1.0) },
    Kind::Varying { transform: Transform::Identity, unit: (0.0, 1.0) },
    Kind::ZeroInflated,
    Kind::Ordered { classes: 3 },
];

fn rows() -> impl Iterator<Item = ([f64; 2], Observation)> {
    (0..70).map(|t| {
        let x = [f64::from(t).sin(), f64::from(t % 5) - 2.0];
        (x, Observation::new(f64::from(u8::from(x[0] + 0.3 * x[1] > 0.0))))
    })
}

fn learned(kind: Kind) -> Model {
    let mut model = Model::new(kind, 2, OnlineSettings::default()).unwrap();
    rows().for_each(|(x, observed)| model.update(Row::Dense(&x), observed).unwrap());
    model
}

fn text(model: &impl Serialize) -> String {
    serde_json::to_string(model).unwrap()
}

/// The stored form holds all bits of a model.
#[test]
fn a_model_of_any_kind_is_stored_as_the_model_within_under_its_name() {
    macro_rules! same {
        ($place:expr, $own:expr) => {{
            let mut own = $own.unwrap();
            rows().for_each(|(x, observed)| own.update(&x, observed).unwrap());
            let model = learned(KINDS[$place]);
            assert_eq!(text(&model), format!("{{\"{}\":{}}}", model.name(), text(&own)));
        }};
    }
    let settings = OnlineSettings::default;
    same!(0, OnlineLinear::with_settings(2, settings(), NOISE.0, NOISE.1));
    same!(1, OnlineGlm::with_settings(2, Counts, settings()));
    same!(2, OnlineLogistic::with_settings(2, settings()));
    same!(3, OnlineSoftmax::joint(2, 3, settings()));
    same!(4, OnlineSoftmax::by_class(2, 3, settings()));
    same!(5, OnlineGlm::with_settings(2, Probit, settings()));
    same!(6, OnlineGlm::with_settings(2, Trials, settings()));
    same!(7, OnlineGlm::with_settings(2, SpreadCounts { size: 2.5 }, settings()));
    same!(8, OnlineGlm::with_settings(2, LearnedSpread, settings()));
    same!(9, OnlineRobust::with_settings(2, settings(), (0.0, 1.0)));
    same!(10, OnlineVarying::with_settings(2, settings(), (0.0, 1.0)));
    same!(11, OnlineGlm::with_settings(2, InflatedCounts, settings()));
    same!(12, OnlineOrdered::with_settings(2, 3, settings()));
}

#[test]
fn a_model_emptied_is_one_that_has_learned_nothing() {
    for kind in KINDS {
        let model = learned(kind);
        assert_eq!(model.kind(), kind);
        assert_eq!((model.inputs(), model.info().observations), (2, 70));
        let fresh = Model::new(kind, 2, OnlineSettings::default()).unwrap();
        assert_eq!(text(&model.emptied().unwrap()), text(&fresh), "{kind:?}");
    }
}

#[test]
fn every_kind_answers_in_the_same_words() {
    for kind in KINDS {
        let model = learned(kind);
        let predictors = if let Kind::Classes { classes, .. } = kind { classes - 1 } else { 1 };
        let at = (Row::Dense(&[0.5, 1.0]), Observation::new(0.0));
        let seen = model.predict(at.0, at.1).unwrap();
        assert_eq!(model.predictors(at.0, Observation::new(0.0)).unwrap().len(), predictors);
        assert_eq!(model.weights().len(), predictors);
        let coefficients = model.coefficients().unwrap();
        let cuts = usize::from(matches!(kind, Kind::Ordered { .. }));
        assert_eq!((coefficients.len(), coefficients[0].len()), (predictors, 3 + cuts));
        let other = model.predict(Row::Dense(&[-0.5, -1.0]), at.1).unwrap();
        assert!(seen.log_density(1.0).unwrap() > other.log_density(1.0).unwrap(), "{kind:?}");
        let of_classes = matches!(kind, Kind::Classes { .. } | Kind::Ordered { .. });
        assert_eq!(seen.mean().is_none(), of_classes);
        assert_eq!(model.covariance(0, 1).is_err(), predictors > 1);
        assert_eq!(seen.class(), (of_classes || matches!(model, Model::Two(_) | Model::Probit(_))).then_some(1));
    }
}

#[test]
fn what_a_kind_has_not_is_refused_by_name() {
    for kind in KINDS {
        let mut model = learned(kind);
        let before = text(&model);
        let other = learned(if kind == Kind::Count { Kind::Probit } else { Kind::Count });
        let unlike = ModelError::Unlike { shard: 0, what: "the kind of model" };
        assert_eq!(model.merge(&[&other]), Err(unlike), "{kind:?}");
        assert_eq!(text(&model), before);
        let size = Observation::new(0.0).trials(3.0);
        assert_eq!(model.predict(Row::Dense(&[0.5, 1.0]), size).is_ok(), kind == Kind::Trials, "{kind:?}");
        let offset = model.predict(Row::Dense(&[0.5, 1.0]), Observation::new(0.0).offset(1.0));
        assert_eq!(offset.is_err(), matches!(kind, Kind::Classes { .. }));
        let seen = model.predict(Row::Dense(&[0.5, 1.0]), Observation::new(0.0)).unwrap();
        let number = matches!(kind, Kind::Number { .. } | Kind::Robust { .. } | Kind::Varying { .. });
        assert_eq!(seen.log_density(7.5).is_err(), !number, "{kind:?}");
        let exact = matches!(kind, Kind::Number { .. });
        assert_eq!(model.refine(&RefineSettings::default()).is_ok_and(|info| info.is_none()), exact);
    }
    let kept = Kind::Classes { classes: 3, joint: Some(true) };
    let settings = OnlineSettings { keep_rows: true, ..OnlineSettings::default() };
    let mut model = Model::new(kept, 2, settings).unwrap();
    rows().for_each(|(x, observed)| model.update(Row::Dense(&x), observed).unwrap());
    assert!(model.refine(&RefineSettings::default()).unwrap().is_some());
}
