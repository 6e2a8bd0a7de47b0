//! Models as documents.

use vi_models::online::{BeliefKind, OnlineLogistic, OnlineSettings, PriorScale, Standardise};

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
        ("/members/0/prior_scale", serde_json::json!(-1.0)),
        ("/members/1/prior_scale", serde_json::json!(1e-9)),
        ("/members/1/log_mass", serde_json::json!(null)),
        ("/settings/intercept_scale", serde_json::json!(0.0)),
        ("/members/0/belief/Full/mean/2", serde_json::json!(null)),
    ] {
        let mut damaged = value.clone();
        damaged["seal"]["checksum"] = serde_json::Value::Null;
        *damaged.pointer_mut(path).unwrap() = replacement;
        assert!(serde_json::from_value::<OnlineLogistic>(damaged).is_err(), "{path}");
    }
    assert!(serde_json::from_str::<OnlineLogistic>(&text[..text.len() / 2]).is_err());
}

/// `model` as a document with one value replaced and no checksum.
fn damaged(model: &OnlineLogistic, path: &str, value: serde_json::Value) -> Result<OnlineLogistic, serde_json::Error> {
    let mut document: serde_json::Value = serde_json::from_str(&bits(model)).unwrap();
    document["seal"]["checksum"] = serde_json::Value::Null;
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
    // With a scale that is learned the start may go on at this row.
    let given = OnlineSettings { keep_rows: true, prior_scale: PriorScale::Given(1.0), ..OnlineSettings::default() };
    assert!(damaged(&learned(given), "/fixed", json("false")).is_err());
    for (path, value) in [
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
    for (path, value, what) in [
        ("/rows", "[]", "number of kept rows"),
        ("/settings/standardise", "\"Never\"", "standardisation and its settings"),
    ] {
        let error = damaged(&kept, path, json(value)).unwrap_err().to_string();
        assert!(error.contains(&format!("the stored model contradicts itself in its {what}")), "{path}: {error}");
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

/// A document whose numbers were changed behind its back, or that a later version wrote, is not read.
#[test]
fn seals_are_compared() {
    let (rows, labels) = stream(60, 6);
    let mut model = OnlineLogistic::new(3).unwrap();
    model.update_batch(&rows, &labels).unwrap();
    let value: serde_json::Value = serde_json::from_str(&bits(&model)).unwrap();
    let changed = |path: &str, to: serde_json::Value| {
        let mut changed = value.clone();
        *changed.pointer_mut(path).unwrap() = to;
        serde_json::from_value::<OnlineLogistic>(changed).map_err(|error| error.to_string())
    };
    // One unit in the last place of a mean: nothing else would see it.
    let path = "/members/0/belief/Full/mean/2";
    let mean = value.pointer(path).unwrap().as_f64().unwrap();
    assert!(changed(path, mean.next_up().into()).unwrap_err().contains("checksum"));
    assert!(changed("/observations", 60.into()).is_ok());
    assert!(changed("/seal/checksum", "0123456789abcdef".into()).unwrap_err().contains("checksum"));
    assert!(changed("/seal/checksum", "+".into()).is_err());
    assert!(changed("/seal/checksum", serde_json::Value::Null).is_ok());
    assert!(changed("/seal/format", 2.into()).unwrap_err().contains("format version 2; this program reads version 1"));
    // A later version may hold what this one does not know; its version is what is told.
    let later = format!("{{\"seal\":{{\"format\":2,\"checksum\":null}},\"news\":1{}", &bits(&model)[1..]);
    let later = later.replace(",\"news\":1\"seal\"", ",\"news\":1,\"seal\"");
    let error = serde_json::from_str::<OnlineLogistic>(&later).unwrap_err().to_string();
    assert!(error.contains("format version 2"), "{error}");
}
