//! The errors of reading data and of the generators.

/// An error of this crate; it names the row, the column and the value at fault.
///
/// Rows and columns are counted from 1, as a person reading the file counts them; the header and
/// empty lines are not rows.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// A setting of a generator or a reader is outside its domain.
    #[error("setting `{setting}` is {value}, but must be {requirement}")]
    Setting {
        /// Name of the setting.
        setting: &'static str,
        /// The value that was given.
        value: String,
        /// The requirement on the value.
        requirement: &'static str,
    },
    /// There is no observation.
    #[error("there is no data row")]
    Empty,
    /// There is no column left to serve as an input.
    #[error("there is no input column beside the label")]
    NoInputs,
    /// Two lengths that must agree do not.
    #[error("`{argument}` has length {found}, but {expected} is needed")]
    Length {
        /// Name of the argument.
        argument: &'static str,
        /// Length needed.
        expected: usize,
        /// Length found.
        found: usize,
    },
    /// A row has more or fewer fields than the first line.
    #[error("row {row} has {found} fields, but {expected} are needed")]
    Ragged {
        /// Data row, from 1.
        row: usize,
        /// Number of fields of the first line.
        expected: usize,
        /// Number of fields of this row.
        found: usize,
    },
    /// A field is not a number.
    #[error("row {row}, column {column} (`{name}`): `{text}` is not a number")]
    NotANumber {
        /// Data row, from 1.
        row: usize,
        /// Column, from 1.
        column: usize,
        /// Name of the column.
        name: String,
        /// The text of the field.
        text: String,
    },
    /// A value is NaN or infinite.
    #[error("row {row}, column {column} (`{name}`): {value} is not finite")]
    NotFinite {
        /// Data row, from 1.
        row: usize,
        /// Column, from 1; the label of a [`Dataset`](crate::Dataset) counts as column 0.
        column: usize,
        /// Name of the column.
        name: String,
        /// The value.
        value: f64,
    },
    /// A label is none of the classes given.
    #[error("row {row}, column {column} (`{name}`): `{text}` is none of the classes {classes:?}")]
    UnknownClass {
        /// Data row, from 1.
        row: usize,
        /// Column, from 1.
        column: usize,
        /// Name of the column.
        name: String,
        /// The text of the field.
        text: String,
        /// The classes that were given.
        classes: Vec<String>,
    },
    /// No column has the name or the index asked for.
    #[error("there is no column {wanted}; the columns are {columns:?}")]
    MissingColumn {
        /// The column asked for: its name in back-quotes, or its number from 1.
        wanted: String,
        /// The columns of the data.
        columns: Vec<String>,
    },
    /// Two columns have the same name.
    #[error("two columns have the name `{name}`")]
    DuplicateColumn {
        /// The name.
        name: String,
    },
    /// A column has only one value, so that it has no range to scale by.
    #[error("column {column} (`{name}`) has the one value {value} and cannot be scaled")]
    ConstantColumn {
        /// Column, from 1.
        column: usize,
        /// Name of the column.
        name: String,
        /// Its only value.
        value: f64,
    },
    /// A line or a record cannot be parsed: text that is not UTF-8, JSON that is not an object.
    #[error("row {row}: {what}")]
    Record {
        /// Data row, from 1.
        row: usize,
        /// What is wrong, and what to do.
        what: String,
    },
    /// A field is not what its format requires.
    #[error("row {row}, column `{column}`: `{text}` is not {expected}")]
    Field {
        /// Data row, from 1.
        row: usize,
        /// Name of the column.
        column: String,
        /// The text of the field.
        text: String,
        /// What it should be.
        expected: &'static str,
    },
    /// The source cannot be read from this row on.
    #[error("row {row} cannot be read: {source}")]
    Source {
        /// Data row, from 1.
        row: usize,
        /// The cause.
        source: std::io::Error,
    },
}

impl DataError {
    /// Whether one record is at fault, so that reading can go on with the next.
    #[must_use]
    pub fn is_of_a_row(&self) -> bool {
        matches!(self, Self::Ragged { .. } | Self::Record { .. } | Self::Field { .. })
    }
}
