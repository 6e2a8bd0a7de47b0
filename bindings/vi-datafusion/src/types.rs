//! The types of arguments: what a query may write, and what the functions are then given.

use std::sync::Arc;

use datafusion_common::Result;
use datafusion_common::arrow::datatypes::{DataType, Field, FieldRef};

use crate::SqlError;

/// Bytes of a posterior that a query carries: messages between the engine's machines end at 16 MiB.
pub(crate) const LARGEST: usize = 12 << 20;

/// Bytes of the sums of many groups, which stay in one process, or travel in messages without that end.
pub(crate) const LARGEST_POOL: usize = 1 << 30;

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

fn is_list(data_type: &DataType) -> bool {
    match data_type {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            is_number(item.data_type())
        }
        _ => false,
    }
}

/// A column as numbers; another type stays, and is [refused](check_features) where its name is known.
fn number(found: &DataType) -> DataType {
    if is_number(found) { DataType::Float64 } else { found.clone() }
}

/// An argument that is a number.
pub(crate) fn one_number(function: &'static str, argument: &str, found: &DataType) -> Result<DataType> {
    if is_number(found) {
        return Ok(DataType::Float64);
    }
    Err(wrong(function, argument.to_owned(), found, "a number").into())
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

/// The key of a group as an argument.
pub(crate) fn key(function: &'static str, found: &DataType) -> Result<DataType> {
    match found {
        DataType::Dictionary(_, values) => key(function, values),
        whole if whole.is_integer() => Ok(DataType::Int64),
        text if is_text(text) || *text == DataType::Null => Ok(DataType::Utf8),
        other => Err(wrong(function, "the key of the group".to_owned(), other, "a whole number or a text").into()),
    }
}

/// Two records, the first arguments of a function.
pub(crate) fn two_records(function: &'static str, first: &DataType, second: &DataType) -> Result<Vec<DataType>> {
    Ok(vec![record(function, "the first argument", first)?, record(function, "the second argument", second)?])
}

/// Features as columns, or as one list.
pub(crate) fn features(function: &'static str, types: &[DataType]) -> Result<Vec<DataType>> {
    match types {
        [] => Err(SqlError::Refused { function, what: "needs features: columns or one list of numbers" }.into()),
        [DataType::FixedSizeList(item, n)] if is_number(item.data_type()) => {
            let item = Arc::new(Field::new_list_field(DataType::Float64, true));
            Ok(vec![DataType::FixedSizeList(item, *n)])
        }
        [list] if is_list(list) => Ok(vec![floats()]),
        columns => Ok(columns.iter().map(number).collect()),
    }
}

/// Refuses features that are neither numbers nor one list of them.
pub(crate) fn check_features(function: &'static str, fields: &[FieldRef]) -> Result<()> {
    if let [list] = fields
        && is_list(list.data_type())
    {
        return Ok(());
    }
    for (j, field) in fields.iter().enumerate() {
        if !is_number(field.data_type()) {
            let argument = format!("feature {} (column {})", j + 1, field.name());
            return Err(wrong(function, argument, field.data_type(), "a number").into());
        }
    }
    Ok(())
}

/// A label and features.
pub(crate) fn rows(function: &'static str, types: &[DataType]) -> Result<Vec<DataType>> {
    let Some((label, rest)) = types.split_first() else {
        return Err(SqlError::Refused { function, what: "needs a label and features" }.into());
    };
    let mut out = vec![number(label)];
    out.extend(features(function, rest)?);
    Ok(out)
}

/// Refuses a label that is no number, and [features](check_features) that are none.
pub(crate) fn check_rows(function: &'static str, fields: &[FieldRef]) -> Result<()> {
    let Some((label, rest)) = fields.split_first() else { return Ok(()) };
    if !is_number(label.data_type()) {
        let argument = format!("the label (column {})", label.name());
        return Err(wrong(function, argument, label.data_type(), "a number").into());
    }
    check_features(function, rest)
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
