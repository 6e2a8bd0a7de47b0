//! Rows as people have them: slices, dense or sparse.

use vi_core::{Error, Row};

use crate::check;

/// Checks length, order and finiteness of a row against `d` inputs.
///
/// # Errors
/// `Dimension`, `NonFinite`, `Entry`, in the caller's words.
pub(super) fn check_row(row: Row<'_>, d: usize) -> Result<(), Error> {
    row.check(d).map_err(|error| match error {
        Error::SparseIndex { position: index, index: value, requirement } => {
            Error::Entry { argument: "positions", index, value: value as f64, requirement }
        }
        Error::Dimension { argument: "x", expected, found } => Error::Dimension { argument: "row", expected, found },
        Error::NonFinite { argument: "x", index, value } => Error::NonFinite { argument: "row", index, value },
        other => other,
    })
}

/// Many rows: `n` dense rows end to end, or the three slices of a compressed sparse row matrix.
///
/// Made from `&[f64]` (`n·d` numbers, row after row).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rows<'a> {
    /// `n·d` numbers, row after row.
    Dense(&'a [f64]),
    /// Compressed sparse rows: row `i` has the entries `starts[i]..starts[i+1]`.
    Sparse {
        /// `n+1` offsets into the other two, from 0 to their length, never falling.
        starts: &'a [usize],
        /// Positions, increasing within a row.
        positions: &'a [usize],
        /// The value at each position.
        values: &'a [f64],
    },
}

impl<'a> From<&'a [f64]> for Rows<'a> {
    fn from(values: &'a [f64]) -> Self {
        Self::Dense(values)
    }
}

impl<'a> From<&'a Vec<f64>> for Rows<'a> {
    fn from(values: &'a Vec<f64>) -> Self {
        Self::Dense(values)
    }
}

impl<'a, const D: usize> From<&'a [f64; D]> for Rows<'a> {
    fn from(values: &'a [f64; D]) -> Self {
        Self::Dense(values)
    }
}

impl<'a> Rows<'a> {
    /// All rows one by one, each checked against `d` inputs; none for none.
    ///
    /// # Errors
    /// As [`checked`](Self::checked).
    pub(super) fn split(self, d: usize) -> Result<Vec<Row<'a>>, Error> {
        let n = match self {
            Self::Dense(values) => values.len().div_ceil(d.max(1)),
            Self::Sparse { starts, .. } => starts.len().saturating_sub(1),
        };
        if n == 0 { Ok(Vec::new()) } else { self.checked(n, d) }
    }

    /// The `n` rows one by one, each checked against `d` inputs.
    ///
    /// # Errors
    /// `Empty` for `n = 0`; `Dimension` for another number of entries; `Row` with what is wrong in it.
    pub(super) fn checked(self, n: usize, d: usize) -> Result<Vec<Row<'a>>, Error> {
        if n == 0 {
            return Err(Error::Empty { argument: "labels" });
        }
        let rows: Vec<Row<'a>> =
            match self {
                Self::Dense(values) => {
                    let needed = n.checked_mul(d).ok_or(Error::Dimension {
                        argument: "rows",
                        expected: usize::MAX,
                        found: values.len(),
                    })?;
                    check::length("rows", needed, values.len())?;
                    (0..n).map(|i| Row::Dense(&values[i * d..(i + 1) * d])).collect()
                }
                Self::Sparse { starts, positions, values } => {
                    check::length("starts", n + 1, starts.len())?;
                    check::length("values", positions.len(), values.len())?;
                    for (at, bound) in [(0, 0), (n, positions.len())] {
                        if starts[at] != bound {
                            return Err(Error::Entry {
                                argument: "starts",
                                index: at,
                                value: starts[at] as f64,
                                requirement: "0 at the first row and the number of entries after the last",
                            });
                        }
                    }
                    starts
                        .windows(2)
                        .enumerate()
                        .map(|(i, bounds)| {
                            let entries = bounds[0]..bounds[1];
                            match (positions.get(entries.clone()), values.get(entries)) {
                                (Some(positions), Some(values)) => Ok(Row::Sparse { positions, values }),
                                _ => Err(Error::Index { argument: "starts", index: bounds[1], len: positions.len() }
                                    .at_row(i)),
                            }
                        })
                        .collect::<Result<_, _>>()?
                }
            };
        rows.iter().enumerate().try_for_each(|(i, row)| check_row(*row, d).map_err(|error| error.at_row(i)))?;
        Ok(rows)
    }
}

/// A row of the model's own, kept.
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
