//! A table of numbers, written as CSV.

use std::path::Path;

use crate::error::{ReproError, same_length};

/// Named columns and rows of text cells.
#[derive(Clone, Debug)]
pub struct Table {
    /// Added to the item's name in the file name; empty for the main table.
    pub suffix: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table.
    #[must_use]
    pub fn new(suffix: &str, columns: &[&str]) -> Self {
        Self { suffix: suffix.to_owned(), columns: columns.iter().map(|c| (*c).to_owned()).collect(), rows: Vec::new() }
    }

    /// Appends a row; numbers go through [`cell`], which keeps all their digits.
    ///
    /// # Errors
    /// [`ReproError::Length`] unless there is one cell for each column.
    pub fn push(&mut self, cells: Vec<String>) -> Result<(), ReproError> {
        same_length("table row", self.columns.len(), cells.len())?;
        self.rows.push(cells);
        Ok(())
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
            table.push(columns.iter().map(|(_, v)| cell(v[i])).collect())?;
        }
        Ok(table)
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
            writer.write_record(row).map_err(fail)?;
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

/// A number to six digits: for the many cells of a picture's grid.
#[must_use]
pub fn short(v: f64) -> String {
    let text = format!("{v:.5e}");
    text.parse().map_or(text, cell)
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
        assert_eq!([1.0 / 3.0, 123_456.789, -2e-9].map(short), ["0.333333", "123457", "-2e-9"]);
    }

    #[test]
    fn uneven_columns_and_rows_are_refused() {
        assert!(Table::from_columns("", &[("a", &[1.0]), ("b", &[1.0, 2.0])]).is_err());
        assert!(Table::new("", &["a", "b"]).push(vec![cell(1.0)]).is_err());
    }
}
