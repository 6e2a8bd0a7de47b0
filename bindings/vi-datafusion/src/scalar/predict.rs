//! `vi_predict(['level=0.9',] posterior, x…)`, `vi_predict_group(['level=0.9',] pool, key, x…)`: mean, variance and interval at each row.

use std::sync::Arc;

use datafusion_common::Result;
use datafusion_common::arrow::array::{Array, ArrayRef, AsArray, Float64Array, Float64Builder, StructBuilder};
use datafusion_common::arrow::datatypes::{DataType, Field, FieldRef, Fields};
use vi_sums::SumsError;

use super::{Function, Records, ready};
use crate::error::told;
use crate::keys::Keys;
use crate::{rows, types};

/// The mass of an interval where nothing else is said.
pub(super) const LEVEL: f64 = 0.9;

/// The prediction, for a row of a group where `KEYED`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Predict<const KEYED: bool>;

fn fields() -> Fields {
    ["mean", "variance", "lower", "upper"].map(|name| Field::new(name, DataType::Float64, true)).into_iter().collect()
}

fn level(function: &'static str, text: &str) -> Result<f64> {
    let word = |expected| told(function)(SumsError::Word { word: text.to_owned(), expected });
    let level: f64 = text
        .trim()
        .strip_prefix("level=")
        .ok_or_else(|| word("level= and a number"))?
        .parse()
        .map_err(|_| word("a number stands after ="))?;
    vi_core::check::probability("level", level).map_err(|error| told(function)(error.into()))?;
    Ok(level)
}

impl<const KEYED: bool> Function for Predict<KEYED> {
    const NAME: &'static str = if KEYED { "vi_predict_group" } else { "vi_predict" };

    fn coerce(found: &[DataType]) -> Result<Vec<DataType>> {
        let head = usize::from(found.first().is_some_and(types::is_text));
        let mut out = vec![DataType::Utf8; head];
        let posterior = found.get(head).unwrap_or(&DataType::Utf8);
        out.push(types::record(Self::NAME, "the posterior", posterior)?);
        if KEYED {
            out.push(types::key(Self::NAME, found.get(head + 1).unwrap_or(&DataType::Binary))?);
        }
        out.extend(types::features(Self::NAME, found.get(out.len()..).unwrap_or_default())?);
        Ok(out)
    }

    fn check(fields: &[FieldRef]) -> Result<()> {
        let head = usize::from(fields.first().is_some_and(|field| types::is_text(field.data_type())));
        types::check_features(Self::NAME, fields.get(head + 1 + usize::from(KEYED)..).unwrap_or_default())
    }

    fn returns() -> DataType {
        DataType::Struct(fields())
    }

    fn invoke(arguments: &[ArrayRef], count: usize) -> Result<ArrayRef> {
        let head = usize::from(types::is_text(arguments[0].data_type()));
        let mut settings: Option<(&str, f64)> = None;
        let texts = (head == 1).then(|| arguments[0].as_string::<i32>());
        let mut records = Records::new(Self::NAME, &arguments[head]);
        let keys = KEYED.then(|| Keys::of(&arguments[head + 1])).transpose()?;
        let features = &arguments[head + 1 + usize::from(KEYED)..];
        // Rows without a label: one that is always there.
        let label: ArrayRef = Arc::new(Float64Array::from(vec![0.0; count]));
        let mut inputs = None;
        let rows = rows::rows(Self::NAME, &label, features, None, false, &mut inputs)?;
        let mut out = StructBuilder::from_fields(fields(), count);
        let (mut row, mut next) = (Vec::new(), 0);
        for t in 0..count {
            let there = next < rows.y.len() && rows.place(next) == t;
            if there {
                rows.write(next, &mut row);
                next += 1;
            }
            let own = match texts {
                None => Some(LEVEL),
                Some(texts) if texts.is_null(t) => None,
                Some(texts) => {
                    let text = texts.value(t);
                    match settings {
                        Some((last, own)) if last == text => Some(own),
                        _ => Some(settings.insert((text, level(Self::NAME, text)?)).1),
                    }
                }
            };
            let seen = match (records.get(t, ready(Self::NAME))?, own) {
                (Some(predictor), Some(own)) if there => Some(match &keys {
                    Some(keys) => predictor.predict_in(&row, keys.get(t).as_ref(), own),
                    None => predictor.predict(&row, own),
                }),
                _ => None,
            };
            let seen = seen.transpose().map_err(told(Self::NAME))?;
            let values = seen.map(|seen| [seen.mean, seen.variance, seen.lower, seen.upper]);
            for i in 0..4 {
                if let Some(field) = out.field_builder::<Float64Builder>(i) {
                    field.append_option(values.map(|values| values[i]));
                }
            }
            out.append(seen.is_some());
        }
        Ok(Arc::new(out.finish()))
    }
}
