//! From arrays to rows: complete ones as columns of floats, the others counted.

use std::borrow::Cow;

use datafusion_common::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array};
use datafusion_common::arrow::datatypes::{DataType, Float64Type};
use datafusion_common::{Result, internal_datafusion_err};

use crate::SqlError;

/// The complete rows of a batch.
pub(crate) struct Rows<'a> {
    pub(crate) y: Cow<'a, [f64]>,
    pub(crate) x: Vec<Cow<'a, [f64]>>,
    /// Where each stood in the batch; `None` where nothing was left out.
    kept: Option<Vec<usize>>,
    /// Where those stood that are incomplete.
    pub(crate) skipped: Vec<usize>,
}

impl Rows<'_> {
    pub(crate) fn columns(&self) -> Vec<&[f64]> {
        self.x.iter().map(|column| &**column).collect()
    }

    /// Where row `t` stood in the batch.
    pub(crate) fn place(&self, t: usize) -> usize {
        self.kept.as_ref().map_or(t, |kept| kept[t])
    }

    /// The rows brought together by group, in their order; `groups[t]` below `total` is the group of row `t` of the batch.
    pub(crate) fn by_group(&self, groups: &[usize], total: usize) -> Together {
        let group = |t: usize| groups[self.place(t)];
        let mut ends = vec![0; total];
        for t in 0..self.y.len() {
            ends[group(t)] += 1;
        }
        let mut rows = 0;
        for end in &mut ends {
            rows += *end;
            *end = rows - *end;
        }
        let mut order = vec![0; rows];
        for t in 0..rows {
            let end = &mut ends[group(t)];
            order[*end] = t;
            *end += 1;
        }
        let gather = |column: &[f64]| order.iter().map(|t| column[*t]).collect();
        Together { ends, y: gather(&self.y), x: self.x.iter().map(|column| gather(column)).collect() }
    }

    /// Writes row `t` into `out`.
    pub(crate) fn write(&self, t: usize, out: &mut Vec<f64>) {
        out.clear();
        out.extend(self.x.iter().map(|column| column[t]));
    }
}

/// Rows by group: those of group `g` end at `ends[g]`, and begin where those of the group before end.
pub(crate) struct Together {
    ends: Vec<usize>,
    y: Vec<f64>,
    x: Vec<Vec<f64>>,
}

impl Together {
    /// Columns and labels of each group that has rows.
    pub(crate) fn groups(&self) -> impl Iterator<Item = (usize, Vec<&[f64]>, &[f64])> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).enumerate().filter(|(_, (begin, end))| begin < end).map(|(group, (begin, end))| {
            let columns = self.x.iter().map(|column| &column[begin..*end]).collect();
            (group, columns, &self.y[begin..*end])
        })
    }
}

/// How the arrays of features stand.
enum Features<'a> {
    Columns(Vec<&'a Float64Array>),
    /// Values of all lists, and where those of a row begin and end.
    Lists {
        array: &'a dyn Array,
        values: &'a Float64Array,
        fixed: Option<usize>,
        offsets: &'a [i32],
    },
}

fn float(array: &dyn Array) -> Result<&Float64Array> {
    array
        .as_primitive_opt::<Float64Type>()
        .ok_or_else(|| internal_datafusion_err!("an array of {} where floats were asked for", array.data_type()))
}

impl<'a> Features<'a> {
    fn of(arrays: &'a [ArrayRef]) -> Result<Self> {
        match arrays {
            [array] if matches!(array.data_type(), DataType::List(_)) => {
                let lists = array.as_list::<i32>();
                let values = float(lists.values())?;
                Ok(Self::Lists { array, values, fixed: None, offsets: lists.value_offsets() })
            }
            [array] if matches!(array.data_type(), DataType::FixedSizeList(..)) => {
                let lists = array.as_fixed_size_list();
                let width = usize::try_from(lists.value_length()).unwrap_or(0);
                Ok(Self::Lists { array, values: float(lists.values())?, fixed: Some(width), offsets: &[] })
            }
            columns => Ok(Self::Columns(columns.iter().map(|array| float(array)).collect::<Result<_>>()?)),
        }
    }

    fn complete(&self) -> bool {
        match self {
            Self::Columns(columns) => columns.iter().all(|column| column.null_count() == 0),
            Self::Lists { .. } => false,
        }
    }

    /// Row `t` into `out`; whether it is there in full.
    fn row(&self, t: usize, out: &mut Vec<f64>) -> bool {
        out.clear();
        match self {
            Self::Columns(columns) => {
                out.extend(columns.iter().map(|column| column.value(t)));
                columns.iter().all(|column| column.is_valid(t))
            }
            Self::Lists { array, values, fixed, offsets } => {
                if array.is_null(t) {
                    return false;
                }
                let range = match fixed {
                    Some(width) => t * width..(t + 1) * width,
                    // Offsets are checked by who made the array.
                    None => usize::try_from(offsets[t]).unwrap_or(0)..usize::try_from(offsets[t + 1]).unwrap_or(0),
                };
                out.extend_from_slice(&values.values()[range.clone()]);
                values.null_count() == 0 || range.into_iter().all(|i| values.is_valid(i))
            }
        }
    }
}

/// The complete rows among `label` and `features`, of those that `filter` lets through.
///
/// `inputs` is the number of features that rows have had so far, and is set by the first of lists. Numbers that are not finite are an error where
/// `strict`, else their row is incomplete.
///
/// # Errors
/// [`SqlError::Length`], [`vi_core::Error::NonFinite`].
pub(crate) fn rows<'a>(
    function: &'static str,
    label: &'a ArrayRef,
    features: &'a [ArrayRef],
    filter: Option<&BooleanArray>,
    strict: bool,
    inputs: &mut Option<usize>,
) -> Result<Rows<'a>> {
    let y = float(label)?;
    let features = Features::of(features)?;
    if let Features::Columns(columns) = &features {
        let finite = |values: &[f64]| values.iter().fold(true, |finite, v| finite & v.is_finite());
        let complete = y.null_count() == 0 && features.complete() && filter.is_none();
        if complete && finite(y.values()) && columns.iter().all(|column| finite(column.values())) {
            let x = columns.iter().map(|column| Cow::Borrowed(&column.values()[..])).collect();
            return Ok(Rows { y: Cow::Borrowed(y.values()), x, kept: None, skipped: Vec::new() });
        }
    }
    let (mut kept, mut skipped, mut labels) = (Vec::new(), Vec::new(), Vec::new());
    let mut x: Vec<Vec<f64>> = vec![Vec::new(); inputs.unwrap_or(0)];
    let mut row = Vec::new();
    for t in 0..y.len() {
        if filter.is_some_and(|filter| filter.is_null(t) || !filter.value(t)) {
            continue;
        }
        if !features.row(t, &mut row) || y.is_null(t) {
            skipped.push(t);
            continue;
        }
        let checked = vi_core::check::finite("x", &row).and_then(|()| vi_core::check::finite("y", &[y.value(t)]));
        if let Err(error) = checked {
            if strict {
                return Err(SqlError::Sums { function, source: error.at_row(t).into() }.into());
            }
            skipped.push(t);
            continue;
        }
        let expected = *inputs.get_or_insert_with(|| {
            x = vec![Vec::new(); row.len()];
            row.len()
        });
        if row.len() != expected {
            return Err(SqlError::Length { function, expected, found: row.len() }.into());
        }
        for (column, value) in x.iter_mut().zip(&row) {
            column.push(*value);
        }
        labels.push(y.value(t));
        kept.push(t);
    }
    Ok(Rows { y: Cow::Owned(labels), x: x.into_iter().map(Cow::Owned).collect(), kept: Some(kept), skipped })
}
