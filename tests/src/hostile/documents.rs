//! Documents of front-door models.

use vi_models::online::{Model, Observation, Row};

use super::models::{drawn, predicted};
use super::{AnyFit, Bytes, Finding, ensure};

/// Reads a fit, stores and reads it again, and predicts.
fn fit(kind: usize, text: &str) -> Result<(), Finding> {
    let Ok(model) = AnyFit::read(kind, text) else { return Ok(()) };
    let written = model.text().map_err(|error| Finding::new(format!("read and not stored again: {error}")))?;
    let again = AnyFit::read(kind, &written).map_err(|error| Finding::new(format!("stored and not read: {error}")))?;
    ensure(again.text().is_ok_and(|text| text == written), || "a document reads as another fit".to_owned())?;
    for inputs in 1..=4 {
        let predicted = model.predict(&vec![0.5; inputs]).unwrap_or_default();
        if let Some(value) = predicted.iter().find(|value| !value.is_finite()) {
            return Err(Finding::new(format!("a fit predicted {value}")));
        }
    }
    Ok(())
}

/// Reads `data` as a document of a front-door model, or of the kind of fit, as its first byte says, and works with the result: it learns, predicts, draws,
/// and can be stored and read again.
///
/// # Errors
/// A model that was read and cannot be stored, or a number of it that is not finite.
pub fn document(data: &[u8]) -> Result<(), Finding> {
    let mut bytes = Bytes::new(data);
    let of = bytes.below(1 + AnyFit::KINDS);
    let Ok(text) = std::str::from_utf8(bytes.rest()) else { return Ok(()) };
    if let Some(kind) = of.checked_sub(1) {
        return fit(kind, text);
    }
    let Ok(mut model) = serde_json::from_str::<Model>(text) else { return Ok(()) };
    let stored = |model: &Model, when: &str| {
        serde_json::to_string(model).map_err(|error| Finding::new(format!("{when} and not stored: {error}")))
    };
    let written = stored(&model, "read")?;
    let again: Model =
        serde_json::from_str(&written).map_err(|error| Finding::new(format!("stored and not read: {error}")))?;
    ensure(stored(&again, "read")? == written, || "a document reads as another model".to_owned())?;
    for inputs in 1..=4 {
        let row = vec![0.5; inputs];
        let learned = model.update(Row::from(&row), Observation::new(1.0));
        if learned.is_ok() {
            stored(&model, "learned")?;
        }
        let predicted = predicted(&model, Row::from(&row), Observation::new(1.0));
        if let Some((name, value)) = predicted.unwrap_or_default().iter().find(|(_, value)| !value.is_finite()) {
            return Err(Finding::new(format!("predicted {name} is {value}")));
        }
        let _drawn = drawn(&model, 1);
    }
    Ok(())
}
