//! Documents of front-door models.

use vi_models::online::{Observation, Row};

use super::{AnyFit, AnyModel, Bytes, Finding, ensure};

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

/// Reads `data` as a document of the family, or the kind of fit, that its first byte names, and works with what comes out: it learns, predicts, draws, and
/// can be stored and read again.
///
/// # Errors
/// A model that was read and cannot be stored, or a number of it that is not finite.
pub fn document(data: &[u8]) -> Result<(), Finding> {
    let mut bytes = Bytes::new(data);
    let family = bytes.below(AnyModel::FAMILIES + AnyFit::KINDS);
    let Ok(text) = std::str::from_utf8(bytes.rest()) else { return Ok(()) };
    if let Some(kind) = family.checked_sub(AnyModel::FAMILIES) {
        return fit(kind, text);
    }
    let Ok(mut model) = AnyModel::read(family, text) else { return Ok(()) };
    let written = model.text().map_err(|error| Finding::new(format!("read and not stored again: {error}")))?;
    let again =
        AnyModel::read(family, &written).map_err(|error| Finding::new(format!("stored and not read: {error}")))?;
    ensure(again.text().is_ok_and(|text| text == written), || "a document reads as another model".to_owned())?;
    for inputs in 1..=4 {
        let row = vec![0.5; inputs];
        let learned = model.update(Row::from(&row), Observation::new(1.0));
        if learned.is_ok() {
            model.text().map_err(|error| Finding::new(format!("learned and not stored: {error}")))?;
        }
        let predicted = model.predict(Row::from(&row), Observation::new(1.0), 0.0);
        if let Some((name, value)) = predicted.unwrap_or_default().iter().find(|(_, value)| !value.is_finite()) {
            return Err(Finding::new(format!("predicted {name} is {value}")));
        }
        let _drawn = model.draw(1);
    }
    Ok(())
}
