//! A table of numbers, written as CSV.

use std::path::Path;

use super::{Said, median};
use crate::error::{ReproError, same_length};

/// Named columns and rows: what an item is about (case, method) and then its numbers. It is written as it stands; figures, counts
/// and verdicts are taken from [views](Table::of) of it.
#[derive(Clone, Debug)]
pub struct Table {
    /// Added to the item's name in the file name; empty for the main table.
    pub suffix: String,
    columns: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

/// What stands in a cell, and its number where it has one.
#[derive(Clone, Debug)]
struct Cell {
    text: String,
    number: f64,
}

/// Some rows of a table.
#[derive(Clone, Debug)]
pub struct View<'a> {
    columns: &'a [String],
    rows: Vec<&'a [Cell]>,
}

impl View<'_> {
    /// The numbers of a column, NaN where a cell has none; empty for a column that is not there.
    #[must_use]
    pub fn values(&self, column: &str) -> Vec<f64> {
        let at = self.columns.iter().position(|c| c == column);
        self.rows.iter().filter_map(|row| Some(row.get(at?)?.number)).collect()
    }

    /// The first number of a column; NaN if there is none.
    #[must_use]
    pub fn first(&self, column: &str) -> f64 {
        self.values(column).first().copied().unwrap_or(f64::NAN)
    }

    /// The last number of a column; NaN if there is none.
    #[must_use]
    pub fn last(&self, column: &str) -> f64 {
        self.values(column).last().copied().unwrap_or(f64::NAN)
    }

    /// The median of a column.
    #[must_use]
    pub fn median(&self, column: &str) -> f64 {
        median(&self.values(column))
    }

    /// The mean of a column.
    #[must_use]
    pub fn mean(&self, column: &str) -> f64 {
        let values = self.values(column);
        values.iter().sum::<f64>() / values.len() as f64
    }
}

impl Table {
    /// An empty table.
    #[must_use]
    pub fn new(suffix: &str, columns: &[&str]) -> Self {
        Self { suffix: suffix.to_owned(), columns: columns.iter().map(|c| (*c).to_owned()).collect(), rows: Vec::new() }
    }

    /// Appends a row; numbers keep all their digits.
    ///
    /// # Errors
    /// [`ReproError::Length`] unless there is one cell for each column.
    pub fn push(&mut self, cells: &[&dyn Said]) -> Result<(), ReproError> {
        same_length("table row", self.columns.len(), cells.len())?;
        self.rows.push(cells.iter().map(|cell| Cell { text: cell.cell(), number: cell.number() }).collect());
        Ok(())
    }

    /// Appends a row of names and then numbers.
    ///
    /// # Errors
    /// [`ReproError::Length`] unless there is one cell for each column.
    pub fn row(&mut self, names: &[&dyn Said], numbers: impl IntoIterator<Item = f64>) -> Result<(), ReproError> {
        let numbers: Vec<f64> = numbers.into_iter().collect();
        let cells = names.iter().copied().chain(numbers.iter().map(|v| v as &dyn Said));
        self.push(&cells.collect::<Vec<_>>())
    }

    /// A table from columns of numbers of equal length.
    ///
    /// # Errors
    /// [`ReproError::Length`] when the columns differ in length.
    pub fn from_columns(suffix: &str, columns: &[(&str, &[f64])]) -> Result<Self, ReproError> {
        let names: Vec<&str> = columns.iter().map(|(n, _)| *n).collect();
        let mut table = Self::new(suffix, &names);
        let rows = columns.first().map_or(0, |(_, v)| v.len());
        for (name, v) in columns {
            same_length(name, rows, v.len())?;
        }
        for i in 0..rows {
            table.row(&[], columns.iter().map(|(_, v)| v[i]))?;
        }
        Ok(table)
    }

    /// The rows in which each of the named columns has the given value.
    #[must_use]
    pub fn of<'a>(&'a self, keys: &[(&str, &dyn Said)]) -> View<'a> {
        let place = |column: &str| self.columns.iter().position(|c| c == column);
        let keys: Vec<_> = keys.iter().map(|(column, value)| (place(column), value.cell())).collect();
        let fits = |row: &&[Cell]| keys.iter().all(|(at, text)| at.is_some_and(|at| row[at].text == *text));
        View { columns: &self.columns, rows: self.rows.iter().map(Vec::as_slice).filter(fits).collect() }
    }

    /// Writes the table, header first.
    ///
    /// # Errors
    /// [`ReproError::Csv`] with the file concerned.
    pub fn write(&self, path: &Path) -> Result<(), ReproError> {
        let fail = |source| ReproError::Csv { path: path.to_owned(), source };
        let mut writer = csv::Writer::from_path(path).map_err(fail)?;
        writer.write_record(&self.columns).map_err(fail)?;
        for row in &self.rows {
            writer.write_record(row.iter().map(|cell| &cell.text)).map_err(fail)?;
        }
        writer.flush().map_err(|e| fail(e.into()))
    }
}

/// A number as the shortest decimal that reads back to the same bits.
#[must_use]
pub fn cell(v: f64) -> String {
    let size = v.abs();
    if v != 0.0 && !(1e-4..1e15).contains(&size) { format!("{v:e}") } else { format!("{v}") }
}

/// A number rounded to six digits: for the many cells of a picture's grid.
#[must_use]
pub fn short(v: f64) -> f64 {
    format!("{v:.5e}").parse().unwrap_or(v)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_read_back_to_the_same_bits() {
        for v in [0.1, -1.0 / 3.0, 1e-300, 6.02e23, f64::MIN_POSITIVE, 0.0, 12345.678] {
            assert_eq!(cell(v).parse::<f64>().unwrap().to_bits(), v.to_bits());
        }
    }

    #[test]
    fn short_cells_keep_six_digits() {
        assert_eq!([1.0 / 3.0, 123_456.789, -2e-9].map(|v| cell(short(v))), ["0.333333", "123457", "-2e-9"]);
    }

    #[test]
    fn uneven_columns_and_rows_are_refused() {
        assert!(Table::from_columns("", &[("a", &[1.0]), ("b", &[1.0, 2.0])]).is_err());
        assert!(Table::new("", &["a", "b"]).push(&[&1.0]).is_err());
    }
}
