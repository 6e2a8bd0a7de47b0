//! The types of arguments: what a query may write, and what the functions are then given.

use std::sync::Arc;

use datafusion_common::Result;
use datafusion_common::arrow::datatypes::{DataType, Field};

use crate::SqlError;

/// Bytes of a posterior that a query carries: messages between the engine's machines end at 16 MiB.
pub(crate) const LARGEST: usize = 12 << 20;

/// A list of floats.
pub(crate) fn floats() -> DataType {
    DataType::List(Arc::new(Field::new_list_field(DataType::Float64, true)))
}

pub(crate) fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn is_number(data_type: &DataType) -> bool {
    data_type.is_numeric() || matches!(data_type, DataType::Boolean | DataType::Null)
}

fn wrong(function: &'static str, argument: String, found: &DataType, expected: &'static str) -> SqlError {
    SqlError::Argument { function, argument, found: found.to_string(), expected }
}

/// A record as an argument.
pub(crate) fn record(function: &'static str, argument: &str, found: &DataType) -> Result<DataType> {
    match found {
        // Constants are spread over rows by the engine: views share the bytes.
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_)
        | DataType::Null => Ok(DataType::BinaryView),
        other => Err(wrong(function, argument.to_owned(), other, "a posterior (binary)").into()),
    }
}

/// Features as columns, or as one list.
pub(crate) fn features(function: &'static str, types: &[DataType]) -> Result<Vec<DataType>> {
    let list = |item: &Field| is_number(item.data_type());
    match types {
        [] => Err(SqlError::Refused { function, what: "needs features: columns or one list of numbers" }.into()),
        [DataType::List(item) | DataType::LargeList(item)] if list(item) => Ok(vec![floats()]),
        [DataType::FixedSizeList(item, n)] if list(item) => {
            let item = Arc::new(Field::new_list_field(DataType::Float64, true));
            Ok(vec![DataType::FixedSizeList(item, *n)])
        }
        columns => {
            for (j, found) in columns.iter().enumerate() {
                if !is_number(found) {
                    return Err(wrong(function, format!("feature {}", j + 1), found, "a number").into());
                }
            }
            Ok(vec![DataType::Float64; columns.len()])
        }
    }
}

/// A label and features.
pub(crate) fn rows(function: &'static str, types: &[DataType]) -> Result<Vec<DataType>> {
    let Some((label, rest)) = types.split_first() else {
        return Err(SqlError::Refused { function, what: "needs a label and features" }.into());
    };
    if !is_number(label) {
        return Err(wrong(function, "the label".to_owned(), label, "a number").into());
    }
    let mut out = vec![DataType::Float64];
    out.extend(features(function, rest)?);
    Ok(out)
}

/// The number of features of [coerced](features) types; none for lists of any length.
pub(crate) fn inputs(types: &[DataType]) -> Option<usize> {
    match types {
        [DataType::List(_)] => None,
        [DataType::FixedSizeList(_, n)] => usize::try_from(*n).ok(),
        columns => Some(columns.len()),
    }
}

/// The description of a model as an argument.
pub(crate) fn text(function: &'static str, argument: &str, found: &DataType) -> Result<DataType> {
    if is_text(found) || *found == DataType::Null {
        return Ok(DataType::Utf8);
    }
    Err(wrong(function, argument.to_owned(), found, "a constant text").into())
}
