//! One row of inputs: all its entries, or those that are not zero.

use crate::Error;
use crate::check;

/// A row `x ∈ ℝᵈ`: its `d` entries, or the positions and values of those that are not zero.
///
/// It is made from `&[f64]`, `&[f64; D]`, `&Vec<f64>`, or a pair `(&positions, &values)` of slices, arrays or vectors. Functions
/// that take a row check it ([`check`](Self::check)); making one costs nothing.
///
/// ```
/// use vi_core::Row;
/// let dense = Row::from(&[0.0, 2.0, 0.0, -1.0]);
/// let sparse = Row::from((&[1, 3], &[2.0, -1.0]));
/// assert!(dense.check(4).is_ok() && sparse.check(4).is_ok());
/// assert!(sparse.check(3).is_err() && Row::from((&[3, 1], &[2.0, 1.0])).check(4).is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Row<'a> {
    /// All entries, length `d`.
    Dense(&'a [f64]),
    /// The entries that are not zero; with no entries it is a row of zeros.
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

impl<'a> Row<'a> {
    /// Checks that the row has length `d` and finite entries. Cost: one comparison for each entry given.
    ///
    /// # Errors
    /// [`Error::Dimension`] for a dense row of another length or for other numbers of positions and values, [`Error::Entry`]
    /// with the place of the first position that is not below `d` or not above the one before, [`Error::NonFinite`].
    pub fn check(self, d: usize) -> Result<(), Error> {
        match self {
            Self::Dense(values) => {
                check::length("x", d, values.len())?;
                check::finite("x", values)
            }
            Self::Sparse { positions, values } => {
                let entry = |index, position: usize, requirement| {
                    let value = position as f64;
                    Error::Entry { argument: "positions", index, value, requirement }
                };
                check::length("values", positions.len(), values.len())?;
                for (position, &index) in positions.iter().enumerate() {
                    if index >= d {
                        return Err(entry(position, index, "below the dimension"));
                    }
                    if position > 0 && index <= positions[position - 1] {
                        return Err(entry(position, index, "above the position before it"));
                    }
                }
                check::finite("values", values)
            }
        }
    }

    /// All `d` entries: the row itself, or written into `memory` with its zeros.
    pub fn written_out<'m>(self, d: usize, memory: &'m mut Vec<f64>) -> &'m [f64]
    where
        'a: 'm,
    {
        match self {
            Self::Dense(values) => values,
            Self::Sparse { positions, values } => {
                memory.clear();
                memory.resize(d, 0.0);
                positions.iter().zip(values).for_each(|(&j, &value)| memory[j] = value);
                memory
            }
        }
    }

    /// Calls `visit(position, value)` for each entry that is given.
    pub fn for_each(self, mut visit: impl FnMut(usize, f64)) {
        match self {
            Self::Dense(values) => values.iter().enumerate().for_each(|(j, &value)| visit(j, value)),
            Self::Sparse { positions, values } => {
                positions.iter().zip(values).for_each(|(&j, &value)| visit(j, value));
            }
        }
    }
}
