//! What the columns of a file are, and the numbers that a record becomes.

mod date;
mod infer;
mod kind;

use std::collections::HashSet;
use std::path::Path;

use serde::{Deserialize, Serialize};
use vi_core::Row;

pub(crate) use self::infer::{InferSettings, distinct, infer, is_missing};
pub(crate) use self::kind::Kind;
use crate::error::CliError;
use crate::source::{Record, Source};

/// The inputs of a model, in the order of the file that it was made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Schema {
    pub(crate) columns: Vec<Column>,
    /// Columns that are not used, and why.
    pub(crate) ignored: Vec<(String, String)>,
}

/// A column of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

impl Schema {
    /// How many inputs a record becomes.
    pub(crate) fn width(&self) -> usize {
        self.columns.iter().map(|column| column.kind.width()).sum()
    }

    /// What the inputs are called, all differently.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut seen = HashSet::new();
        let mut names = Vec::with_capacity(self.width());
        for column in &self.columns {
            for mut name in column.kind.names(&column.name) {
                while !seen.insert(name.clone()) {
                    name.push('\'');
                }
                names.push(name);
            }
        }
        names
    }

    /// Where each column is in `source`, which may have others, in any order.
    ///
    /// # Errors
    /// A column that is not there.
    pub(crate) fn places(&self, source: &Source) -> Result<Vec<usize>, CliError> {
        self.columns.iter().map(|column| source.position(&column.name)).collect()
    }

    /// Whether `path` could hold a model of such a schema: every column has a width.
    pub(crate) fn check(&self, path: &Path) -> Result<(), CliError> {
        let whole = !self.columns.is_empty() && self.columns.iter().all(|column| column.kind.is_whole());
        if whole {
            Ok(())
        } else {
            let what = "the columns of the model are damaged".to_owned();
            Err(CliError::Document { path: path.to_owned(), what })
        }
    }
}

/// A record as numbers; memory used again from record to record.
#[derive(Debug, Default)]
pub(crate) struct Encoded {
    positions: Vec<usize>,
    values: Vec<f64>,
    dense: Vec<f64>,
    /// Numbers that were missing, and taken at their column's mean.
    pub(crate) imputed: u64,
    /// Entries of a sparse file whose inputs the model does not have.
    pub(crate) unknown: u64,
    sorted: Vec<(usize, f64)>,
}

impl Encoded {
    /// Writes the record of `source` that `record` is.
    ///
    /// # Errors
    /// A field that is not what its column holds.
    pub(crate) fn write(
        &mut self,
        schema: &Schema,
        places: &[usize],
        record: &Record,
        source: &Source,
    ) -> Result<(), CliError> {
        self.positions.clear();
        self.values.clear();
        let mut first = 0;
        for (column, &place) in schema.columns.iter().zip(places) {
            let text = record.field(place);
            if let Kind::Entries { inputs, named } = column.kind {
                self.write_entries(&record.entries, first, inputs, named);
                first += inputs;
                continue;
            }
            let mut push = |at: usize, value: f64| {
                if value != 0.0 {
                    self.positions.push(first + at);
                    self.values.push(value);
                }
            };
            match column.kind.write(text, &mut push) {
                Ok(imputed) => self.imputed += u64::from(imputed),
                Err((expected, hint)) => {
                    let (column, text) = (column.name.clone(), text.to_owned());
                    return Err(CliError::Field { place: source.place(), column, text, expected, hint });
                }
            }
            first += column.kind.width();
        }
        Ok(())
    }

    /// The entries of a sparse file from input `first` on, in the order of the inputs; those that share one are added.
    fn write_entries(&mut self, entries: &[(u64, f64)], first: usize, inputs: usize, named: bool) {
        self.sorted.clear();
        for &(key, value) in entries {
            let key = if named { key % inputs as u64 } else { key };
            match usize::try_from(key) {
                Ok(at) if at < inputs => self.sorted.push((at, value)),
                _ => self.unknown += 1,
            }
        }
        self.sorted.sort_unstable_by_key(|(at, _)| *at);
        for &(at, value) in &self.sorted {
            if self.positions.last() == Some(&(first + at)) {
                *self.values.last_mut().unwrap_or(&mut 0.0) += value;
            } else {
                self.positions.push(first + at);
                self.values.push(value);
            }
        }
    }

    /// The record as the row of a model of `width` inputs: its entries for a wide one, all numbers for another.
    pub(crate) fn row(&mut self, width: usize, sparse: bool) -> Row<'_> {
        if sparse {
            return Row::Sparse { positions: &self.positions, values: &self.values };
        }
        let row = Row::Sparse { positions: &self.positions, values: &self.values };
        row.written_out(width, &mut self.dense);
        Row::Dense(&self.dense)
    }
}
