//! Models as documents.

use vi_models::online::{BeliefKind, OnlineLogistic, OnlineSettings, Standardise};

use crate::{KINDS, bits, settings, stream};

#[test]
fn reading_and_going_on_gives_the_bits_of_never_having_stopped() {
    let (rows, labels) = stream(90, 2);
    for kind in KINDS {
        for stop in [10, 50, 70] {
            let mut model = OnlineLogistic::with_settings(3, settings(kind)).unwrap();
            model.update_batch(&rows[..3 * stop], &labels[..stop]).unwrap();
            let mut again: OnlineLogistic = serde_json::from_str(&bits(&model)).unwrap();
            model.update_batch(&rows[3 * stop..], &labels[stop..]).unwrap();
            again.update_batch(&rows[3 * stop..], &labels[stop..]).unwrap();
            assert_eq!(bits(&model), bits(&again), "{kind:?}, stopped after {stop}");
        }
    }
}

#[test]
fn damaged_documents_are_errors() {
    let (rows, labels) = stream(60, 6);
    let mut model = OnlineLogistic::new(3).unwrap();
    model.update_batch(&rows, &labels).unwrap();
    let text = bits(&model);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    for (path, replacement) in [
        ("/design/inputs", serde_json::json!(4)),
        ("/design/scales/1", serde_json::json!(-1.0)),
        ("/members", serde_json::json!([])),
        ("/settings/intercept_scale", serde_json::json!(0.0)),
        ("/members/0/0/Full/mean/2", serde_json::json!(null)),
    ] {
        let mut damaged = value.clone();
        *damaged.pointer_mut(path).unwrap() = replacement;
        assert!(serde_json::from_value::<OnlineLogistic>(damaged).is_err(), "{path}");
    }
    assert!(serde_json::from_str::<OnlineLogistic>(&text[..text.len() / 2]).is_err());
}

/// `model` as a document with one value replaced.
fn damaged(model: &OnlineLogistic, path: &str, value: serde_json::Value) -> Result<OnlineLogistic, serde_json::Error> {
    let mut document: serde_json::Value = serde_json::from_str(&bits(model)).unwrap();
    *document.pointer_mut(path).unwrap_or_else(|| panic!("{path}")) = value;
    serde_json::from_value(document)
}

#[test]
fn documents_that_contradict_themselves_are_errors() {
    let (rows, labels) = stream(80, 60);
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let learned = |settings: OnlineSettings| {
        let mut model = OnlineLogistic::with_settings(3, settings).unwrap();
        model.update_batch(&rows, &labels).unwrap();
        model
    };
    let kept = learned(OnlineSettings { keep_rows: true, ..OnlineSettings::default() });
    for (path, value) in [
        ("/fixed", "false"),
        ("/rows", "[]"),
        ("/observations", "18446744073709551615"),
        ("/observations", "79"),
        ("/refined", "81"),
        ("/design/intercept", "false"),
        ("/design/scales", "[]"),
        ("/design/centres", "[]"),
        ("/design/constant", "[3]"),
        ("/settings/standardise", "\"Never\""),
        ("/settings/belief", "\"Diagonal\""),
    ] {
        assert!(damaged(&kept, path, json(value)).is_err(), "{path} {value}");
    }
    let mut again = damaged(&kept, "/refined", json("7")).unwrap();
    again.update(&rows[..3], 1.0).unwrap();
    let never = learned(OnlineSettings {
        belief: BeliefKind::Diagonal,
        standardise: Standardise::Never,
        ..OnlineSettings::default()
    });
    for inputs in [1_u64 << 61, 1 << 59, u64::MAX] {
        assert!(damaged(&never, "/design/inputs", serde_json::json!(inputs)).is_err(), "{inputs}");
    }
    let mut last = damaged(&never, "/observations", serde_json::json!(u64::MAX)).unwrap();
    last.update(&rows[..3], 1.0).unwrap();
    assert_eq!(last.info().observations, u64::MAX);
    let low = learned(OnlineSettings { belief: BeliefKind::LowRank { rank: 2 }, ..OnlineSettings::default() });
    let text = bits(&low);
    assert!(text.contains("\"inner_loops\":"), "{text}");
    let start = text.find("\"inner_loops\":").unwrap() + "\"inner_loops\":".len();
    let end = start + text[start..].find([',', '}']).unwrap();
    let hanging = format!("{}{}{}", &text[..start], 1_u64 << 62, &text[end..]);
    assert!(serde_json::from_str::<OnlineLogistic>(&hanging).is_err());
    assert!(serde_json::from_str::<OnlineLogistic>(&text).is_ok());
}
