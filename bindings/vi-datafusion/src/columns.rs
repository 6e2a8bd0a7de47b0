//! The names of columns, for errors.

use datafusion_common::DataFusionError;
use datafusion_common::arrow::datatypes::FieldRef;
use vi_core::Error;
use vi_sums::SumsError;

use crate::SqlError;

/// The names of a label and of features.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    label: String,
    features: Vec<String>,
}

impl Columns {
    /// Those of `fields`: the label, then the features.
    pub(crate) fn of(fields: &[FieldRef]) -> Self {
        let mut names = fields.iter().map(|field| field.name().clone());
        Self { label: names.next().unwrap_or_default(), features: names.collect() }
    }

    /// The column that an error of a row is about.
    fn found(&self, error: &Error) -> Option<&str> {
        match error {
            Error::Row { source, .. } => self.found(source),
            Error::Label { .. } | Error::NonFinite { argument: "y", .. } => Some(&self.label),
            // One column may be a list of all features.
            Error::NonFinite { argument: "x", index, .. } => match self.features.as_slice() {
                [list] => Some(list),
                features => features.get(*index).map(String::as_str),
            },
            _ => None,
        }
    }

    /// The same error with the column that it is about.
    pub(crate) fn named(&self, error: DataFusionError) -> DataFusionError {
        let DataFusionError::External(own) = error else { return error };
        match own.downcast::<SqlError>() {
            Ok(own) => match *own {
                SqlError::Sums { function, source: SumsError::Core(source) } => match self.found(&source) {
                    Some(column) => SqlError::Column { function, column: column.to_owned(), source }.into(),
                    None => SqlError::Sums { function, source: source.into() }.into(),
                },
                other => other.into(),
            },
            Err(other) => DataFusionError::External(other),
        }
    }
}
