//! Models as documents.

use vi_models::online::OnlineLogistic;

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
