//! Rows as callers give them, checked, with errors in the words of the front door.

use vi_core::{Error, Row, Rows};

/// Checks length, order and finiteness of a row against `d` inputs.
///
/// # Errors
/// `Dimension`, `NonFinite`, `Entry`, in the caller's words.
pub(super) fn check_row(row: Row<'_>, d: usize) -> Result<(), Error> {
    row.check(d).map_err(in_words)
}

/// The `n` rows one by one, each checked against `d` inputs; `memory` is for rows that are not contiguous.
///
/// # Errors
/// `Empty` for `n = 0`; `Dimension` for another number of entries; `Row`, which holds what is wrong in it.
pub(super) fn split<'m, 'a: 'm>(
    rows: Rows<'a>,
    n: usize,
    d: usize,
    memory: &'m mut Vec<f64>,
) -> Result<Vec<Row<'m>>, Error> {
    if n == 0 {
        return Err(Error::Empty { argument: "labels" });
    }
    rows.split(n, d, memory).map_err(|error| match error {
        Error::Dimension { expected, found, .. } => Error::Dimension { argument: "rows", expected, found },
        other => in_words(other),
    })
}

/// All rows one by one, each checked against `d` inputs; an empty list for no rows.
///
/// # Errors
/// As [`split`].
pub(super) fn split_all<'m, 'a: 'm>(rows: Rows<'a>, d: usize, memory: &'m mut Vec<f64>) -> Result<Vec<Row<'m>>, Error> {
    let n = rows.count(d);
    if n == 0 { Ok(Vec::new()) } else { split(rows, n, d, memory) }
}

/// Errors of the core name the argument `x`; here it is called a row.
fn in_words(error: Error) -> Error {
    match error {
        Error::Dimension { argument: "x", expected, found } => Error::Dimension { argument: "row", expected, found },
        Error::NonFinite { argument: "x", index, value } => Error::NonFinite { argument: "row", index, value },
        Error::Row { row, source } => Error::Row { row, source: Box::new(in_words(*source)) },
        other => other,
    }
}

/// A copy of a row that the model keeps.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) enum OwnedRow {
    Dense(Vec<f64>),
    Sparse { positions: Vec<usize>, values: Vec<f64> },
}

impl From<Row<'_>> for OwnedRow {
    fn from(row: Row<'_>) -> Self {
        match row {
            Row::Dense(values) => Self::Dense(values.to_vec()),
            Row::Sparse { positions, values } => {
                Self::Sparse { positions: positions.to_vec(), values: values.to_vec() }
            }
        }
    }
}

impl OwnedRow {
    pub(super) fn as_row(&self) -> Row<'_> {
        match self {
            Self::Dense(values) => Row::Dense(values),
            Self::Sparse { positions, values } => Row::Sparse { positions, values },
        }
    }
}
