//! From a caller's row to the model's columns: centre, scale, intercept.

use serde::{Deserialize, Serialize};
use vi_core::{Error, Row};

use super::blocks;
use super::settings::{OnlineSettings, is_zero};
use super::target::Target;
use crate::units::unit;
use crate::{ModelError, check};

/// How inputs are brought to a common scale, in a way that a stream allows: the numbers are fixed once and for all before the
/// first row that is learned with them.
///
/// A column of two values, such as an indicator, has half their distance for its scale, however rare one of them is. A column that
/// shows a second value only after the scales were taken gets its scale then.
///
/// With an intercept and centring, predictions do not depend on the units or the origin of any column. Where the scales are taken
/// from the first rows, [`OnlineLinear`](super::OnlineLinear) also standardises its label by those rows (and subtracts its mean
/// if there is an intercept), and reports in the caller's units; otherwise the label stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Standardise {
    /// Columns are used as they are.
    Never,
    /// Inputs are standardised by the column means and standard deviations of the first `rows` rows, or of all first rows that are
    /// fitted together if these are more ([`Start::Fitted`](super::Start::Fitted)). Until these have come, the
    /// model is fitted anew from all rows so far whenever their number has grown by a quarter, so that it can predict from the
    /// first row on; then the scales are fixed and the rows dropped.
    ///
    /// Learning one by one, in batches, or in any mixture of the two gives the same model. Cost: some `3·rows` further steps,
    /// once.
    FirstRows {
        /// The least number of rows to look at, from 2 to [`Standardise::MOST_ROWS`].
        rows: usize,
        /// Whether column means are subtracted. Without an intercept they never are, since nothing could make up for it. Without
        /// centring zeros stay zeros and sparse rows stay sparse.
        centre: bool,
    },
    /// Centres and scales are given: column `j` becomes `(x − centres[j])/scales[j]`.
    Fixed {
        /// The centre of each input, finite.
        centres: Vec<f64>,
        /// The scale of each input, at least 1e-304.
        scales: Vec<f64>,
    },
    /// As [`FirstRows`](Self::FirstRows) with 50 rows and centring, except for sparse rows of many inputs: with more than 4096
    /// inputs, of which the rows so far hold no more than an eighth, columns (usually hashed features) are used as they are, so
    /// that zeros stay zeros, and the many columns that 50 rows have not shown keep the same scale as the others.
    #[default]
    Chosen,
}

/// The number of inputs from which on [`Standardise::Chosen`] asks whether rows are sparse.
const MANY: usize = 4096;

/// The inverse of the largest share of inputs that a sparse row holds.
const SPARSE: usize = 8;

impl Standardise {
    /// The number of rows that [`Chosen`](Self::Chosen) looks at.
    pub const ROWS: usize = 50;

    /// The most rows that [`FirstRows`](Self::FirstRows) can look at.
    pub const MOST_ROWS: usize = 1_000_000;

    /// How many rows the column scales are taken from, and whether dense rows are centred; `None` where the first rows do not
    /// decide.
    pub(super) fn by_rows(&self) -> Option<(usize, bool)> {
        match self {
            Self::FirstRows { rows, centre } => Some((*rows, *centre)),
            Self::Chosen => Some((Self::ROWS, true)),
            Self::Never | Self::Fixed { .. } => None,
        }
    }

    /// Whether columns are used as they are, given these first rows.
    pub(super) fn leaves<'a>(&self, inputs: usize, rows: impl Iterator<Item = Row<'a>>) -> bool {
        if *self != Self::Chosen || inputs <= MANY {
            return false;
        }
        let (mut n, mut entries) = (0_usize, 0_usize);
        for row in rows {
            n += 1;
            row.for_each(|_, value| entries += usize::from(value != 0.0));
        }
        entries <= n.saturating_mul(inputs) / SPARSE
    }

    /// Checks the settings for `d` inputs.
    ///
    /// # Errors
    /// `Setting`, `Dimension`, `NonFinite`.
    pub(super) fn check(&self, d: usize) -> Result<(), Error> {
        match self {
            Self::Never | Self::Chosen => Ok(()),
            Self::FirstRows { rows, .. } if (2..=Self::MOST_ROWS).contains(rows) => Ok(()),
            Self::FirstRows { rows, .. } => {
                let requirement = "at least 2 and at most 1000000";
                Err(Error::Setting { name: "rows to standardise by", value: *rows as f64, requirement })
            }
            Self::Fixed { centres, scales } => {
                crate::check::length("centres", d, centres.len())?;
                crate::check::length("scales", d, scales.len())?;
                check_scales(centres, scales)
            }
        }
    }
}

/// The least scale of a column. With columns of scale 1, weights up to 10⁴ stay finite in the units of an input of this scale.
const LEAST_SCALE: f64 = 1e-304;

fn check_scales(centres: &[f64], scales: &[f64]) -> Result<(), Error> {
    if let Some(index) = centres.iter().position(|centre| !centre.is_finite()) {
        return Err(Error::NonFinite { argument: "centres", index, value: centres[index] });
    }
    match scales.iter().position(|scale| !(*scale >= LEAST_SCALE && scale.is_finite())) {
        None => Ok(()),
        Some(index) => {
            let requirement = "positive, at least 1e-304, and finite";
            Err(Error::Entry { argument: "scales", index, value: scales[index], requirement })
        }
    }
}

/// The relative size of deviations that are rounding.
const ROUNDING: f64 = 16.0 * f64::EPSILON;

/// The values of a column so far, as long as these are at most two.
#[derive(Debug, Clone, Copy, Default)]
struct Values {
    first: Option<f64>,
    second: Option<f64>,
    more: bool,
}

impl Values {
    fn see(&mut self, value: f64) {
        match self {
            Self { first: Some(first), .. } if *first == value => (),
            Self { second: Some(second), .. } if *second == value => (),
            Self { first: Some(_), second: Some(_), more } => *more = true,
            Self { first: Some(_), second, .. } => *second = Some(value),
            Self { first, .. } => *first = Some(value),
        }
    }

    /// The value, if the column has just one.
    fn only(&self) -> Option<f64> {
        self.first.filter(|_| self.second.is_none())
    }

    /// Half the distance of the two values, if the column has just two.
    fn half_distance(&self) -> Option<f64> {
        self.first.zip(self.second).filter(|_| !self.more).map(|(a, b)| (0.5 * a - 0.5 * b).abs())
    }
}

/// Entry `j` of a row.
fn entry(row: Row<'_>, j: usize) -> f64 {
    match row {
        Row::Dense(values) => values[j],
        Row::Sparse { positions, values } => positions.binary_search(&j).map_or(0.0, |at| values[at]),
    }
}

/// The map from inputs to columns. Column `j` of the model is `(x_j − centre_j)/scale_j`, times the relative prior scale of its block;
/// the intercept, if any, comes last. Centres and scales are fixed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Design {
    pub(super) inputs: usize,
    pub(super) intercept: bool,
    /// The centre of each input; empty where columns are not centred.
    pub(super) centres: Vec<f64>,
    /// The scale of each input; empty where columns are not scaled.
    pub(super) scales: Vec<f64>,
    /// Columns that have shown only one value so far, or values so close together that their weight would overflow, in increasing
    /// order. Their weights are still at the prior.
    pub(super) constant: Vec<usize>,
    pub(super) target: Target,
    /// The prior scale of each input's block relative to the overall one; empty where all are 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) relative: Vec<f64>,
    /// The number of columns of cut points between classes, after that of the intercept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) cuts: usize,
}

impl Design {
    pub(super) fn plain(inputs: usize, intercept: bool) -> Self {
        Self {
            inputs,
            intercept,
            centres: Vec::new(),
            scales: Vec::new(),
            constant: Vec::new(),
            target: Target::default(),
            relative: Vec::new(),
            cuts: 0,
        }
    }

    /// The design by the means and standard deviations of `rows` with their weights, each column computed in a unit of its own size; rows of
    /// weight 0 do not count, unless all are. The scale of a column of two values is half their distance, which is the standard deviation
    /// where both are equally frequent: so the indicators of frequent and of rare levels have the same prior.
    ///
    /// # Errors
    /// `Overflow` for a column whose standard deviation is not finite.
    pub(super) fn of_rows<'a>(
        inputs: usize,
        intercept: bool,
        centre: bool,
        rows: impl Iterator<Item = (Row<'a>, f64)> + Clone,
    ) -> Result<Self, Error> {
        let heaviest = rows.clone().map(|(_, weight)| weight).fold(0.0, f64::max);
        let rows = rows
            .filter(|(_, weight)| *weight > 0.0 || heaviest == 0.0)
            .map(|(row, weight)| (row, if heaviest > 0.0 { weight / heaviest } else { 1.0 }));
        let n = rows.clone().map(|(_, weight)| weight).sum::<f64>().max(f64::MIN_POSITIVE);
        let mut units = vec![0.0_f64; inputs];
        for (row, _) in rows.clone() {
            row.for_each(|j, value| units[j] = units[j].max(value.abs()));
        }
        for largest in &mut units {
            *largest = unit(*largest);
        }
        let mut centres = vec![0.0; inputs];
        for (row, weight) in rows.clone() {
            row.for_each(|j, value| centres[j] += value / units[j] * weight / n);
        }
        // Σ(x − m)² = Σ over the stored entries of (x − m)² − m², plus n·m² for the entries that are zero.
        let mut squares: Vec<f64> = centres.iter().map(|m| n * m * m).collect();
        let mut dense = vec![true; inputs];
        let (mut count, mut entries) = (0, vec![0; inputs]);
        let mut values = vec![Values::default(); inputs];
        for (row, _) in rows.clone() {
            count += 1;
            row.for_each(|j, value| {
                entries[j] += 1;
                values[j].see(value);
            });
        }
        for j in 0..inputs {
            dense[j] = entries[j] == count;
            if dense[j] {
                squares[j] = 0.0;
            }
        }
        for (row, weight) in rows {
            row.for_each(|j, value| {
                let value = value / units[j];
                let deviation = value - centres[j];
                squares[j] +=
                    weight * if dense[j] { deviation * deviation } else { value * (value - 2.0 * centres[j]) };
            });
        }
        let centred = centre && intercept;
        let mut constant = Vec::new();
        let mut scales = vec![1.0; inputs];
        for j in 0..inputs {
            if !dense[j] {
                values[j].see(0.0);
            }
            let mut sd = (squares[j] / n).max(0.0).sqrt();
            centres[j] *= units[j];
            // A sum of many equal values is rounded: its mean is not the value.
            if let Some(only) = values[j].only() {
                (centres[j], sd) = (only, 0.0);
            }
            match scale_of(centres[j], sd * units[j], values[j].half_distance(), centred)? {
                Some(scale) => scales[j] = scale,
                None => constant.push(j),
            }
        }
        let centres = if centred { centres } else { Vec::new() };
        Ok(Self { centres, scales, constant, ..Self::plain(inputs, intercept) })
    }

    /// As [`of_rows`](Self::of_rows) from the means and standard deviations of all columns, which do not tell a column of two values from others.
    ///
    /// # Errors
    /// `Overflow`.
    pub(super) fn of_moments(
        intercept: bool,
        centre: bool,
        means: Vec<f64>,
        deviations: &[f64],
    ) -> Result<Self, Error> {
        let (inputs, centred) = (means.len(), centre && intercept);
        let mut design = Self { scales: vec![1.0; inputs], ..Self::plain(inputs, intercept) };
        for (j, (mean, sd)) in means.iter().zip(deviations).enumerate() {
            match scale_of(*mean, *sd, None, centred)? {
                Some(scale) => design.scales[j] = scale,
                None => design.constant.push(j),
            }
        }
        design.centres = if centred { means } else { Vec::new() };
        Ok(design)
    }

    /// Uses the last `count` inputs as they are.
    pub(super) fn leaving(mut self, count: usize) -> Self {
        let first = self.inputs - count;
        self.centres.iter_mut().skip(first).for_each(|centre| *centre = 0.0);
        self.scales.iter_mut().skip(first).for_each(|scale| *scale = 1.0);
        self.constant.retain(|&j| j < first);
        self
    }

    /// Treats as constant those columns whose weights would overflow in the units of inputs and label: those of a scale below
    /// 1e-304 times the label's.
    pub(super) fn without_tiny_columns(mut self) -> Self {
        let least = LEAST_SCALE * self.target.scale.max(1.0);
        for j in 0..self.scales.len() {
            if self.scales[j] < least && !self.constant.contains(&j) {
                self.scales[j] = 1.0;
                self.constant.push(j);
            }
        }
        self.constant.sort_unstable();
        self
    }

    /// Whether the two differ at most in the relative prior scales.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        *self == Self { relative: self.relative.clone(), ..other.clone() }
    }

    /// The scale of each input; none where they are used as they are.
    pub(super) fn input_scales(&self) -> Option<&[f64]> {
        Some(&self.scales[..]).filter(|scales| !scales.is_empty())
    }

    /// The prior scale of the block of input `j` relative to the overall one.
    pub(super) fn relative(&self, j: usize) -> f64 {
        self.relative.get(j).copied().unwrap_or(1.0)
    }

    /// What `value` units of input `j` are in its column; also `value` of its weight in the input's units.
    pub(super) fn scaled(&self, j: usize, value: f64) -> f64 {
        value / self.scales.get(j).copied().unwrap_or(1.0) * self.relative(j)
    }

    /// The number of columns.
    pub(super) fn columns(&self) -> usize {
        self.inputs + usize::from(self.intercept) + self.cuts
    }

    /// Checks a stored design: it must be one that `settings` can lead to, after some rows if `taken`; `target` is the family's.
    ///
    /// # Errors
    /// `Dimension`, `NonFinite`, `Entry`, `Index`; [`ModelError::Document`].
    pub(super) fn check(&self, settings: &OnlineSettings, target: Target, taken: bool) -> Result<(), ModelError> {
        blocks::check_relative(&settings.blocks, &self.relative)?;
        let relative = self.relative.clone();
        let plain = Self { relative, target, cuts: self.cuts, ..Self::plain(self.inputs, settings.intercept) };
        let unlike = Err(ModelError::Document { what: "standardisation and its settings" });
        match (&settings.standardise, settings.standardise.by_rows()) {
            (_, Some((_, centre))) if taken => {
                let left = settings.standardise == Standardise::Chosen && self.inputs > MANY && self.scales.is_empty();
                let (scales, centres) = if left { (0, 0) } else { (self.inputs, self.inputs) };
                check::length("scales", scales, self.scales.len())?;
                check::length("centres", if centre && settings.intercept { centres } else { 0 }, self.centres.len())?;
                check_scales(&self.centres, &self.scales)?;
                self.target.check()?;
                match self.constant.iter().find(|&&j| j >= self.inputs) {
                    None if self.intercept == settings.intercept => Ok(()),
                    None => unlike,
                    Some(&index) => Err(Error::Index { argument: "constant columns", index, len: self.inputs }.into()),
                }
            }
            (Standardise::Fixed { centres, scales }, _) => {
                let given = Self { centres: centres.clone(), scales: scales.clone(), ..plain };
                if *self == given { Ok(()) } else { unlike }
            }
            _ => {
                if *self == plain {
                    Ok(())
                } else {
                    unlike
                }
            }
        }
    }

    /// The columns that show a second value with `row`, and the scale of each: half the distance of the two values.
    fn moved_by<'a>(&'a self, row: Row<'a>) -> impl Iterator<Item = (usize, f64)> + 'a {
        let least = LEAST_SCALE * self.target.scale.max(1.0);
        let scale = move |j: usize, value: f64| {
            let centre = self.centres.get(j).copied().unwrap_or(0.0);
            let half = (0.5 * value - 0.5 * centre).abs();
            (half > ROUNDING * centre.abs() && half >= least).then_some((j, half))
        };
        self.constant.iter().filter_map(move |&j| scale(j, entry(row, j)))
    }

    /// Gives a scale to the columns that show a second value with `row`, which is to be learned. The rows before had 0 in such a
    /// column, so that its weight is still at the prior, whatever the scale. Returns the design before, if it changed.
    pub(super) fn meet(&mut self, row: Row<'_>) -> Option<Self> {
        let moved: Vec<(usize, f64)> = self.moved_by(row).collect();
        if moved.is_empty() {
            return None;
        }
        let before = self.clone();
        for (j, scale) in moved {
            self.scales[j] = scale;
            self.constant.retain(|&constant| constant != j);
        }
        Some(before)
    }

    /// The row of the model's columns that belongs to the caller's row.
    pub(super) fn write<'a>(&self, row: Row<'_>, space: &'a mut RowSpace) -> Result<Row<'a>, Error> {
        let RowSpace { dense, positions } = space;
        dense.clear();
        match row {
            Row::Sparse { positions: given, values } if self.centres.is_empty() => {
                positions.clear();
                for (&j, value) in given.iter().zip(values) {
                    positions.push(j);
                    dense.push(self.scales.get(j).map_or(*value, |scale| value / scale));
                }
                for (j, value) in self.unscaled(row) {
                    if let Ok(at) = positions.binary_search(&j) {
                        dense[at] = value;
                    }
                }
                if !self.relative.is_empty() {
                    dense.iter_mut().zip(&*positions).for_each(|(value, &j)| *value *= self.relative(j));
                }
                if self.intercept {
                    positions.push(self.inputs);
                    dense.push(1.0);
                }
                finite(dense)?;
                Ok(Row::Sparse { positions, values: dense })
            }
            row => {
                dense.resize(self.columns(), 0.0);
                if self.intercept {
                    dense[self.inputs] = 1.0;
                }
                row.for_each(|j, value| dense[j] = value);
                for (value, centre) in dense.iter_mut().zip(&self.centres) {
                    *value -= centre;
                }
                for (value, scale) in dense.iter_mut().zip(&self.scales) {
                    *value /= scale;
                }
                self.unscaled(row).for_each(|(j, value)| dense[j] = value);
                for (value, relative) in dense.iter_mut().zip(&self.relative) {
                    *value *= relative;
                }
                finite(dense)?;
                Ok(Row::Dense(dense))
            }
        }
    }

    /// The row with every input that has a scale at most `most` of them from its centre. `space` holds it where an input is brought nearer.
    pub(super) fn within<'a>(&self, row: Row<'a>, most: f64, space: &'a mut Vec<f64>) -> Row<'a> {
        let near = |j: usize, value: f64| {
            let Some(scale) = self.scales.get(j).filter(|_| self.constant.binary_search(&j).is_err()) else {
                return value;
            };
            let centre = self.centres.get(j).copied().unwrap_or(0.0);
            value.clamp(centre - most * scale, centre + most * scale)
        };
        let mut is_near = true;
        row.for_each(|j, value| is_near &= near(j, value) == value);
        if is_near {
            return row;
        }
        space.clear();
        row.for_each(|j, value| space.push(near(j, value)));
        match row {
            Row::Dense(_) => Row::Dense(space),
            Row::Sparse { positions, .. } => Row::Sparse { positions, values: space },
        }
    }

    /// The values of the columns that have no scale yet: 0, or ±2 for a second value, as it will be once the row is learned.
    fn unscaled<'a>(&'a self, row: Row<'a>) -> impl Iterator<Item = (usize, f64)> + 'a {
        let still = self.constant.iter().map(|&j| (j, 0.0));
        let sign = move |j: usize| (entry(row, j) - self.centres.get(j).copied().unwrap_or(0.0)).signum();
        still.chain(self.moved_by(row).map(move |(j, _)| (j, 2.0 * sign(j))))
    }

    /// Weights in the caller's units from weights of the columns: the intercept at the origin of the inputs, and
    /// `w_j·relative_j/scale_j`, in units of the label.
    pub(super) fn original_units(&self, weights: &[f64]) -> (f64, Vec<f64>) {
        let Target { centre, scale, .. } = self.target;
        let mut intercept = centre + if self.intercept { scale * weights[self.inputs] } else { 0.0 };
        let original = (0..self.inputs)
            .map(|j| {
                let weight = self.scaled(j, weights[j]) * scale;
                intercept -= weight * self.centres.get(j).copied().unwrap_or(0.0);
                weight
            })
            .collect();
        (intercept, original)
    }
}

/// The scale of a column of this mean and standard deviation, or of these two values; `None` for one that is constant.
///
/// # Errors
/// `Overflow`.
fn scale_of(mean: f64, sd: f64, half_distance: Option<f64>, centred: bool) -> Result<Option<f64>, Error> {
    // The deviations of a column with one value are rounding errors.
    let scale = if sd > ROUNDING * mean.abs() {
        half_distance.unwrap_or(sd)
    } else if centred || mean == 0.0 {
        return Ok(None);
    } else {
        mean.abs()
    };
    if scale.is_infinite() {
        return Err(Error::Overflow { quantity: "the standard deviation of an input", value: scale });
    }
    Ok(Some(scale))
}

/// Checks that a standardised row is finite.
///
/// # Errors
/// `Overflow`.
fn finite(standardised: &[f64]) -> Result<(), Error> {
    match standardised.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(index) => Err(Error::Overflow { quantity: "standardised input", value: standardised[index] }),
    }
}

/// Memory for one row of the model's columns.
#[derive(Debug, Clone, Default)]
pub(super) struct RowSpace {
    dense: Vec<f64>,
    positions: Vec<usize>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum of 677 ones, each divided by 677, is not 1.
    #[test]
    fn a_column_of_one_value_is_constant_however_many_rows_there_are() {
        for value in [1.0, 0.1, -1e6 / 3.0] {
            let rows = vec![[value]; 677];
            let design = Design::of_rows(1, true, true, rows.iter().map(|row| (Row::Dense(row), 1.0))).unwrap();
            assert_eq!((design.constant.as_slice(), design.centres[0]), ([0].as_slice(), value));
            assert_eq!(design.moved_by(Row::Dense(&[value])).count(), 0);
        }
    }
}
