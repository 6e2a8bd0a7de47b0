//! Number, means and scatter of rows.

use vi_core::{Error, check};

use super::LinearSlice;
use super::rows::{self, Tile};
use crate::{SumsError, packed};

/// Numbers beyond this are refused, since sums of their squares could overflow.
pub(super) const LARGEST: f64 = 1e140;
/// The share of the largest sum of squares so far that rounding may have left in a scatter from which rows were taken off.
const ROUNDED: f64 = 1e-9;
/// The number of entries before the means in the flat form.
pub(super) const HEAD: usize = 2;

/// The sums of a linear regression: number, means and scatter of rows `(x, y)` with `d` inputs.
///
/// They are kept as one list of floats, the flat form: `n`, skipped rows, `z̄` (`d + 1`, the label last), the lower triangle of
/// `S` row by row (`(d+1)(d+2)/2`).
///
/// ```
/// use vi_sums::LinearSums;
/// let mut all = LinearSums::new(1)?;
/// all.update(&[1.0], 2.0)?;
/// all.update(&[3.0], 6.0)?;
/// assert_eq!((all.rows(), all.mean(), all.scatter()), (2, &[2.0, 4.0][..], &[2.0, 4.0, 8.0][..]));
///
/// let mut one = LinearSums::new(1)?;
/// one.update(&[3.0], 6.0)?;
/// all.subtract(&one)?;
/// assert_eq!((all.rows(), all.mean(), all.scatter()), (1, &[1.0, 2.0][..], &[0.0, 0.0, 0.0][..]));
/// # Ok::<(), vi_sums::SumsError>(())
/// ```
#[derive(Debug, Clone)]
pub struct LinearSums {
    inputs: usize,
    state: Vec<f64>,
    /// Of each column, the largest sum of squares that a row was taken off: what its rounding is of. Empty before the first.
    largest: Vec<f64>,
}

impl PartialEq for LinearSums {
    fn eq(&self, other: &Self) -> bool {
        self.inputs == other.inputs && self.state == other.state
    }
}

impl LinearSums {
    /// The sums over no rows of `inputs` inputs.
    ///
    /// # Errors
    /// [`Error::Empty`] for no inputs; [`Error::Setting`] for more than memory holds.
    pub fn new(inputs: usize) -> Result<Self, SumsError> {
        check_inputs(inputs)?;
        Ok(Self { inputs, state: vec![0.0; Self::flat_len(inputs)], largest: Vec::new() })
    }

    /// The number of floats in the flat form of `inputs` inputs.
    #[must_use]
    pub const fn flat_len(inputs: usize) -> usize {
        HEAD + inputs + 1 + packed::len(inputs + 1)
    }

    /// The flat form, which [`from_flat`](Self::from_flat) reads.
    #[must_use]
    pub fn flat(&self) -> &[f64] {
        &self.state
    }

    /// Reads the sums from a flat form.
    ///
    /// # Errors
    /// [`Error::Dimension`], [`Error::NonFinite`], [`Error::Entry`] for invalid numbers of rows and negative squares.
    pub fn from_flat(inputs: usize, flat: &[f64]) -> Result<Self, SumsError> {
        check_flat(inputs, flat)?;
        Ok(Self { inputs, state: flat.to_vec(), largest: Vec::new() })
    }

    /// The number `d` of inputs.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// The number of rows.
    #[must_use]
    pub fn rows(&self) -> u64 {
        count(self.state[0])
    }

    /// The number of rows that were left out, see [`skip`](Self::skip).
    #[must_use]
    pub fn skipped(&self) -> u64 {
        count(self.state[1])
    }

    /// The means `z̄` of the inputs and, last, of the label.
    #[must_use]
    pub fn mean(&self) -> &[f64] {
        &self.state[HEAD..=HEAD + self.inputs]
    }

    /// The scatter `S`: its lower triangle, row by row.
    #[must_use]
    pub fn scatter(&self) -> &[f64] {
        &self.state[HEAD + self.inputs + 1..]
    }

    /// Counts rows that are left out: those with a missing value.
    pub fn skip(&mut self, rows: u64) {
        self.state[1] += rows as f64;
    }

    /// Adds one row. Cost `d²` flops.
    ///
    /// # Errors
    /// [`Error::Dimension`]; [`Error::NonFinite`]; [`Error::Entry`] for a number beyond `10¹⁴⁰`.
    pub fn update(&mut self, x: &[f64], y: f64) -> Result<(), SumsError> {
        check::length("x", self.inputs, x.len())?;
        check_row(x, y)?;
        rows::add_row(&mut self.state, x, y);
        Ok(())
    }

    /// Adds many rows, given by columns: `x[j][t]` is input `j` of row `t`. Cost `nd²` flops, in vectors, or in matrix products
    /// from 48 columns on; memory for `256·d` numbers, or `1024·d + 2d²`.
    ///
    /// # Errors
    /// [`Error::Dimension`]; [`Error::Row`] with [`Error::NonFinite`] or [`Error::Entry`]. On an error the sums are unchanged.
    pub fn update_columns(&mut self, x: &[&[f64]], y: &[f64]) -> Result<(), SumsError> {
        check_columns(self.inputs, x, y)?;
        let fits = |column: &[f64]| column.iter().fold(true, |fits, v| fits & (v.abs() <= LARGEST));
        if !(x.iter().all(|column| fits(column)) && fits(y)) {
            for t in 0..y.len() {
                let row: Vec<f64> = x.iter().map(|column| column[t]).collect();
                check_row(&row, y[t]).map_err(|error| error.at_row(t))?;
            }
        }
        let k = self.inputs + 1;
        let mut tile = Tile::new(k, self.state.len(), y.len());
        for first in (0..y.len()).step_by(tile.height()) {
            let end = y.len().min(first + tile.height());
            add(&mut self.state, tile.sums(x, y, first..end), k);
        }
        Ok(())
    }

    /// Removes one row that was added before, as a sliding window does. Cost `d²` flops.
    ///
    /// After the last row is removed the sums are exactly 0; before that each removal leaves the rounding of the largest sums so
    /// far.
    ///
    /// # Errors
    /// As [`update`](Self::update); [`SumsError::NotContained`] if there is no row, or if a number of this one is further from the
    /// mean than the scatter of all rows allows, beyond the rounding of the largest sums since there was no row: it was never
    /// added. Some rows that were never added cannot be told from those that were.
    pub fn retract(&mut self, x: &[f64], y: f64) -> Result<(), SumsError> {
        check::length("x", self.inputs, x.len())?;
        check_row(x, y)?;
        if self.state[0] < 1.0 {
            return Err(SumsError::NotContained { what: "no row is left" });
        }
        let k = self.inputs + 1;
        let rows = self.state[0];
        let left = rows - 1.0;
        let (mean, scatter) = self.state[HEAD..].split_at_mut(k);
        let away: Vec<f64> =
            x.iter().copied().chain(std::iter::once(y)).zip(&*mean).map(|(z, mean)| z - mean).collect();
        let share = if left > 0.0 { rows / left } else { 1.0 };
        self.largest.resize(k, 0.0);
        let sizes = away.iter().zip(&*mean).zip(&mut self.largest);
        for (i, ((away, mean), largest)) in sizes.enumerate() {
            let own = packed::diagonal(scatter, i);
            *largest = largest.max(own + rows * mean * mean);
            if share * away * away > own + ROUNDED * *largest {
                let what = "the row is further from the mean than all rows together";
                return Err(SumsError::NotContained { what });
            }
        }
        if left == 0.0 {
            self.state[0] = 0.0;
            self.state[HEAD..].fill(0.0);
            self.largest.clear();
            return Ok(());
        }
        packed::add_outer(scatter, -share, &away);
        for (mean, away) in mean.iter_mut().zip(&away) {
            *mean -= away / left;
        }
        self.state[0] = left;
        Ok(())
    }

    /// Removes a row that was [skipped](Self::skip).
    ///
    /// # Errors
    /// [`SumsError::NotContained`] if no row was skipped.
    pub fn unskip(&mut self) -> Result<(), SumsError> {
        if self.state[1] < 1.0 {
            return Err(SumsError::NotContained { what: "no row was skipped" });
        }
        self.state[1] -= 1.0;
        Ok(())
    }

    /// Adds the sums over other rows. Cost `d²` flops.
    ///
    /// # Errors
    /// [`Error::Dimension`]; [`Error::Overflow`].
    pub fn merge(&mut self, other: &Self) -> Result<(), SumsError> {
        self.merge_checked(&other.state)
    }

    /// Adds the sums over other rows, given as a [flat form](Self::flat).
    ///
    /// # Errors
    /// As [`from_flat`](Self::from_flat) and [`merge`](Self::merge).
    pub fn merge_flat(&mut self, flat: &[f64]) -> Result<(), SumsError> {
        check_flat(self.inputs, flat)?;
        self.merge_checked(flat)
    }

    fn merge_checked(&mut self, other: &[f64]) -> Result<(), SumsError> {
        check::length("inputs", self.state.len(), other.len())?;
        LinearSlice::new(self.inputs, &mut self.state)?.merge(other)
    }

    /// Removes the sums over rows that were added before: exact to the rounding of the larger sums. Cost `d³/3` flops.
    ///
    /// A column that no longer varies beyond that rounding gets a scatter of 0.
    ///
    /// # Errors
    /// [`Error::Dimension`]; [`SumsError::NotContained`] if what is left cannot be the scatter of rows.
    pub fn subtract(&mut self, other: &Self) -> Result<(), SumsError> {
        check::length("inputs", self.inputs, other.inputs)?;
        let k = self.inputs + 1;
        let (rows, part) = (self.state[0], other.state[0]);
        if part > rows || other.state[1] > self.state[1] {
            return Err(SumsError::NotContained { what: "it has more rows" });
        }
        let mut next = self.state.clone();
        next[1] -= other.state[1];
        next[0] = rows - part;
        if part > 0.0 {
            let left = rows - part;
            let away: Vec<f64> = other.mean().iter().zip(self.mean()).map(|(part, whole)| part - whole).collect();
            let (mean, scatter) = next[HEAD..].split_at_mut(k);
            for (entry, part) in scatter.iter_mut().zip(other.scatter()) {
                *entry -= part;
            }
            if left > 0.0 {
                packed::add_outer(scatter, -part * rows / left, &away);
                for (mean, away) in mean.iter_mut().zip(&away) {
                    *mean -= part / left * away;
                }
            }
            packed::settle(scatter, self.scatter(), k)?;
            if left == 0.0 {
                if scatter.iter().any(|entry| *entry != 0.0) {
                    return Err(SumsError::NotContained { what: "as many rows, but others" });
                }
                mean.fill(0.0);
            }
        }
        self.state = next;
        Ok(())
    }
}

/// A count that is kept as a float, below 2⁵³.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a checked whole number")]
pub(crate) fn count(value: f64) -> u64 {
    value as u64
}

/// Adds one flat form to another of the same length.
pub(super) fn add(state: &mut [f64], other: &[f64], k: usize) {
    state[1] += other[1];
    let (before, more) = (state[0], other[0]);
    if more == 0.0 {
        return;
    }
    let rows = before + more;
    state[0] = rows;
    let (mean, scatter) = state[HEAD..].split_at_mut(k);
    let (other_mean, other_scatter) = other[HEAD..].split_at(k);
    for (entry, more) in scatter.iter_mut().zip(other_scatter) {
        *entry += more;
    }
    // Row i of the triangle needs differences up to i.
    let weight = before * more / rows;
    if weight > 0.0 {
        let mut below = scatter;
        for i in 0..k {
            let (row, next) = below.split_at_mut(i + 1);
            let scaled = weight * (other_mean[i] - mean[i]);
            for (entry, (b, a)) in row.iter_mut().zip(other_mean.iter().zip(&*mean)) {
                *entry += scaled * (b - a);
            }
            below = next;
        }
    }
    let share = more / rows;
    for (mean, other) in mean.iter_mut().zip(other_mean) {
        *mean = if before == 0.0 { *other } else { *mean + share * (other - *mean) };
    }
}

fn check_row(x: &[f64], y: f64) -> Result<(), Error> {
    check_values("x", x)?;
    check_values("y", &[y])
}

pub(super) fn check_values(argument: &'static str, values: &[f64]) -> Result<(), Error> {
    if values.iter().fold(true, |fits, v| fits & (v.abs() <= LARGEST)) {
        return Ok(());
    }
    check::finite(argument, values)?;
    let index = values.iter().position(|v| v.abs() > LARGEST).unwrap_or(0);
    Err(Error::Entry { argument, index, value: values[index], requirement: "at most 1e140 in magnitude" })
}

/// Checks that there are `inputs` columns of as many rows as there are labels.
pub(crate) fn check_columns(inputs: usize, x: &[&[f64]], y: &[f64]) -> Result<(), Error> {
    check::length("columns of x", inputs, x.len())?;
    x.iter().try_for_each(|column| check::length("column of x", y.len(), column.len()))
}

/// Checks that there are inputs, and that the length of sums over them does not overflow.
pub(crate) fn check_inputs(inputs: usize) -> Result<(), Error> {
    check::not_empty("x", inputs)?;
    check::room("inputs", &[inputs.saturating_add(1), inputs.saturating_add(2)]).map(drop)
}

/// Checks that a float holds a number of rows.
pub(crate) fn check_count(argument: &'static str, value: f64) -> Result<(), Error> {
    if value >= 0.0 && value < (1_u64 << 53) as f64 && value.fract() == 0.0 {
        Ok(())
    } else {
        Err(Error::Setting { name: argument, value, requirement: "a whole number from 0 to 2⁵³" })
    }
}

fn check_flat(inputs: usize, flat: &[f64]) -> Result<(), SumsError> {
    check_inputs(inputs)?;
    check::length("sums", LinearSums::flat_len(inputs), flat.len())?;
    check::finite("sums", flat)?;
    check_count("rows", flat[0])?;
    check_count("skipped", flat[1])?;
    check_values("mean", &flat[HEAD..=HEAD + inputs])?;
    let scatter = &flat[HEAD + inputs + 1..];
    for i in 0..=inputs {
        let value = packed::diagonal(scatter, i);
        if value < 0.0 || (flat[0] == 0.0 && value != 0.0) {
            let requirement = "not negative, and 0 without rows";
            return Err(Error::Entry { argument: "scatter", index: i, value, requirement }.into());
        }
    }
    Ok(())
}
