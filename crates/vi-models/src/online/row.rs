//! Rows as people have them: slices, dense or sparse.

use vi_core::{Error, SparseRow};

use crate::check;

/// One row of inputs, without the intercept: `d` numbers, or the positions and values of those that are not zero.
///
/// Made from `&[f64]`, `&[f64; D]`, `&Vec<f64>`, or a pair `(&[usize], &[f64])` of increasing positions and values.
///
/// ```
/// use vi_models::online::Row;
/// assert_eq!(Row::from(&[0.5, 1.0]), Row::Dense(&[0.5, 1.0]));
/// let (positions, values) = ([3, 900], [1.0, -2.0]);
/// assert!(matches!(Row::from((&positions, &values)), Row::Sparse { .. }));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Row<'a> {
    /// All entries, length `d`.
    Dense(&'a [f64]),
    /// Entries that are not zero.
    Sparse {
        /// Positions, increasing, each below `d`.
        positions: &'a [usize],
        /// The value at each position.
        values: &'a [f64],
    },
}

impl<'a> From<&'a [f64]> for Row<'a> {
    fn from(values: &'a [f64]) -> Self {
        Self::Dense(values)
    }
}

impl<'a> From<&'a Vec<f64>> for Row<'a> {
    fn from(values: &'a Vec<f64>) -> Self {
        Self::Dense(values)
    }
}

impl<'a, const D: usize> From<&'a [f64; D]> for Row<'a> {
    fn from(values: &'a [f64; D]) -> Self {
        Self::Dense(values)
    }
}

impl<'a, P: AsRef<[usize]> + ?Sized, V: AsRef<[f64]> + ?Sized> From<(&'a P, &'a V)> for Row<'a> {
    fn from((positions, values): (&'a P, &'a V)) -> Self {
        Self::Sparse { positions: positions.as_ref(), values: values.as_ref() }
    }
}

impl Row<'_> {
    /// Checks length, order and finiteness against `d` inputs.
    ///
    /// # Errors
    /// `Dimension`, `NonFinite`, `Entry`.
    pub(super) fn check(self, d: usize) -> Result<(), Error> {
        match self {
            Self::Dense(values) => {
                check::length("row", d, values.len())?;
                match values.iter().position(|value| !value.is_finite()) {
                    None => Ok(()),
                    Some(index) => Err(Error::NonFinite { argument: "row", index, value: values[index] }),
                }
            }
            Self::Sparse { positions, values } => match SparseRow::new(d, positions, values) {
                Ok(_) => Ok(()),
                // In the caller's words.
                Err(Error::SparseIndex { position: index, index: value, requirement }) => {
                    Err(Error::Entry { argument: "positions", index, value: value as f64, requirement })
                }
                Err(error) => Err(error),
            },
        }
    }

    /// `(position, value)` of each entry that is given.
    pub(super) fn for_each(self, mut visit: impl FnMut(usize, f64)) {
        match self {
            Self::Dense(values) => values.iter().enumerate().for_each(|(j, &value)| visit(j, value)),
            Self::Sparse { positions, values } => {
                positions.iter().zip(values).for_each(|(&j, &value)| visit(j, value));
            }
        }
    }
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
        rows.iter().enumerate().try_for_each(|(i, row)| row.check(d).map_err(|error| error.at_row(i)))?;
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
