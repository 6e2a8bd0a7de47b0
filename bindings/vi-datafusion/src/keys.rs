//! Keys of groups: whole numbers or texts.

use datafusion_common::arrow::array::{Array, ArrayRef, AsArray, Int64Array, StringArray};
use datafusion_common::arrow::datatypes::{DataType, Int64Type};
use datafusion_common::{Result, internal_err};
use vi_sums::GroupKey;

/// The keys of some rows.
pub(crate) enum Keys<'a> {
    Numbers(&'a Int64Array),
    Texts(&'a StringArray),
}

impl<'a> Keys<'a> {
    /// Those of an array of [coerced](crate::types::key) type.
    pub(crate) fn of(array: &'a ArrayRef) -> Result<Self> {
        match array.data_type() {
            DataType::Int64 => Ok(Self::Numbers(array.as_primitive::<Int64Type>())),
            DataType::Utf8 => Ok(Self::Texts(array.as_string::<i32>())),
            other => internal_err!("an array of {other} where keys were asked for"),
        }
    }

    /// The key of row `t`; `None` for null.
    pub(crate) fn get(&self, t: usize) -> Option<GroupKey> {
        match self {
            Self::Numbers(keys) => keys.is_valid(t).then(|| keys.value(t).into()),
            Self::Texts(keys) => keys.is_valid(t).then(|| keys.value(t).into()),
        }
    }
}
