//! The sums of a linear regression in memory that an engine owns.

use vi_core::{Error, check};

use super::rows::Tile;
use super::sums::{HEAD, LARGEST, add, check_values};
use super::{LinearSums, check_count};
use crate::{SumsError, packed};

/// The sums of [`LinearSums`] in an engine's own memory: the [flat form](LinearSums::flat) in place, zeros for no rows.
///
/// So the engine keeps only the sums for each of millions of groups.
///
/// ```
/// use vi_sums::{LinearSlice, LinearSums};
/// let mut memory = vec![0.0; LinearSums::flat_len(2)];
/// let mut sums = LinearSlice::new(2, &mut memory)?;
/// sums.update(&[1.0, 2.0], 3.0)?;
/// sums.update_rows(&[0.0, 1.0, 2.0, 0.5], &[1.0, 2.0])?;
/// assert_eq!(LinearSums::from_flat(2, &memory)?.rows(), 3);
/// # Ok::<(), vi_sums::SumsError>(())
/// ```
#[derive(Debug)]
pub struct LinearSlice<'a> {
    inputs: usize,
    state: &'a mut [f64],
}

impl<'a> LinearSlice<'a> {
    /// The sums over `inputs` inputs in `state`, which must be zeros or what this type has written there.
    ///
    /// # Errors
    /// [`Error::Empty`] for no inputs; [`Error::Dimension`] unless `state` is as long as a [flat form](LinearSums::flat_len).
    #[inline]
    pub fn new(inputs: usize, state: &'a mut [f64]) -> Result<Self, SumsError> {
        check::not_empty("x", inputs)?;
        // A state of `n` numbers has fewer inputs than that, and the length of the flat form of so few does not overflow.
        if inputs >= state.len() {
            return Err(Error::Setting {
                name: "inputs",
                value: inputs as f64,
                requirement: "as many as the sums are of",
            }
            .into());
        }
        check::length("sums", LinearSums::flat_len(inputs), state.len())?;
        Ok(Self { inputs, state })
    }

    /// The number `d` of inputs.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Counts rows that are left out: those with a missing value.
    pub fn skip(&mut self, rows: u64) {
        self.state[1] += rows as f64;
    }

    /// Adds one row, as [`LinearSums::update`] does. Cost `d²` flops; it is inlined into its caller and uses the caller's vector
    /// instructions.
    ///
    /// # Errors
    /// [`Error::Dimension`]; [`Error::NonFinite`]; [`Error::Entry`] for a number beyond `10¹⁴⁰`. On an error the sums are
    /// unchanged.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a caller that knows d at compile time has loops of fixed length")]
    pub fn update(&mut self, x: &[f64], y: f64) -> Result<(), SumsError> {
        if x.len() != self.inputs || !within(x) || !within(&[y]) {
            return Err(refused(self.inputs, x, y));
        }
        let (head, rest) = self.state.split_at_mut(HEAD);
        let (mean, scatter) = rest.split_at_mut(x.len() + 1);
        let before = head[0];
        head[0] += 1.0;
        let share = 1.0 / head[0];
        let weight = before * share;
        let (mean, mean_y) = mean.split_at_mut(x.len());
        // Row i of the triangle needs the deviations up to i, from the means before this row.
        let mut below = scatter;
        for i in 0..x.len() {
            let (row, next) = below.split_at_mut(i + 1);
            let scaled = weight * (x[i] - mean[i]);
            for j in 0..=i {
                row[j] += scaled * (x[j] - mean[j]);
            }
            below = next;
        }
        let away = y - mean_y[0];
        for j in 0..x.len() {
            below[j] += weight * away * (x[j] - mean[j]);
        }
        below[x.len()] += weight * away * away;
        for j in 0..x.len() {
            mean[j] += share * (x[j] - mean[j]);
        }
        mean_y[0] += share * away;
        Ok(())
    }

    /// Adds many rows, end to end in `x`. Cost as of [`LinearSums::update_columns`], and a copy of the rows by columns.
    ///
    /// # Errors
    /// [`Error::Dimension`]; [`Error::Row`] with [`Error::NonFinite`] or [`Error::Entry`]. On an error the sums are unchanged.
    pub fn update_rows(&mut self, x: &[f64], y: &[f64]) -> Result<(), SumsError> {
        let d = self.inputs;
        check::length("x", d * y.len(), x.len())?;
        if !(within(x) && within(y)) {
            for (t, (x, y)) in x.chunks_exact(d).zip(y).enumerate() {
                check_values("x", x).and_then(|()| check_values("y", &[*y])).map_err(|error| error.at_row(t))?;
            }
        }
        let mut tile = Tile::new(d + 1, self.state.len(), y.len());
        let height = tile.height();
        let mut columns = vec![0.0; d * height];
        for (x, y) in x.chunks(d * height).zip(y.chunks(height)) {
            for (t, row) in x.chunks_exact(d).enumerate() {
                for (j, value) in row.iter().enumerate() {
                    columns[j * height + t] = *value;
                }
            }
            let columns: Vec<&[f64]> = columns.chunks_exact(height).collect();
            add(self.state, tile.sums(&columns, y, 0..y.len()), d + 1);
        }
        Ok(())
    }

    /// Adds the sums over other rows, given as a flat form of this type or of [`LinearSums`]. Cost `d²` flops.
    ///
    /// # Errors
    /// [`Error::Dimension`]; [`Error::Setting`] for invalid numbers of rows; [`Error::Overflow`], which leaves the sums
    /// unchanged.
    pub fn merge(&mut self, flat: &[f64]) -> Result<(), SumsError> {
        check::length("sums", self.state.len(), flat.len())?;
        check_count("rows", flat[0])?;
        check_count("skipped", flat[1])?;
        let k = self.inputs + 1;
        // If the diagonal is within range, so is everything else.
        for i in 0..k {
            let away = flat[HEAD + i] - self.state[HEAD + i];
            let between = (self.state[0] * flat[0] / (self.state[0] + flat[0]).max(1.0)) * away * away;
            let own = packed::diagonal(&self.state[HEAD + k..], i);
            check::result("sum of squares", own + packed::diagonal(&flat[HEAD + k..], i) + between)?;
        }
        add(self.state, flat, k);
        Ok(())
    }
}

/// Whether all numbers are finite and none is too large.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of a loop of fixed length")]
fn within(values: &[f64]) -> bool {
    values.iter().fold(true, |fits, v| fits & (v.abs() <= LARGEST))
}

#[cold]
fn refused(inputs: usize, x: &[f64], y: f64) -> SumsError {
    let checked = check::length("x", inputs, x.len()).and_then(|()| check_values("x", x));
    match checked.and_then(|()| check_values("y", &[y])) {
        Err(error) => error.into(),
        Ok(()) => Error::NonFinite { argument: "y", index: 0, value: y }.into(),
    }
}
