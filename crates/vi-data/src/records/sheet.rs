//! Spreadsheets of Excel (`xlsx`, `xlsb`, `xls`) and OpenDocument (`ods`): the first sheet with cells, whose first row names the columns.

use std::io::{self, Cursor};

use calamine::{Data, ExcelDateTime, Range, Reader, open_workbook_auto_from_rs};

use super::Reader as Bytes;
use super::record::{Fault, Record, Source};

/// The records of a sheet, which is read as a whole.
pub(super) struct Sheet {
    columns: Vec<String>,
    cells: Range<Data>,
    /// The rows read so far, the names among them.
    read: usize,
}

impl Sheet {
    /// Reads the first sheet with cells; returns `None` for a file without one.
    ///
    /// # Errors
    /// A file that cannot be read, or that is no spreadsheet.
    pub(super) fn open(mut reader: Bytes<'_>) -> Result<Option<Self>, Fault> {
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes)?;
        let wrong = |error: calamine::Error| {
            let what = format!("no spreadsheet, or one that is damaged: {error}");
            Fault::File(io::Error::new(io::ErrorKind::InvalidData, what))
        };
        let mut book = open_workbook_auto_from_rs(Cursor::new(bytes.as_slice())).map_err(wrong)?;
        for name in book.sheet_names() {
            let cells = book.worksheet_range(&name).map_err(wrong)?;
            let Some(names) = cells.rows().next() else { continue };
            let name = |(k, cell): (usize, &Data)| match text(cell) {
                empty if empty.is_empty() => format!("x{}", k + 1),
                name => name,
            };
            let columns = names.iter().enumerate().map(name).collect();
            return Ok(Some(Self { columns, cells, read: 1 }));
        }
        Ok(None)
    }
}

impl Source for Sheet {
    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn next(&mut self, record: &mut Record) -> Result<bool, Fault> {
        let mut rows = self.cells.rows().skip(self.read);
        // Cells below the table that are formatted, and empty.
        let Some(row) = rows.find(|row| {
            self.read += 1;
            row.iter().any(|cell| !matches!(cell, Data::Empty))
        }) else {
            return Ok(false);
        };
        record.fields.clear();
        record.fields.extend(row.iter().map(text));
        Ok(true)
    }
}

/// A cell as text: a number so that it reads back to its bits, a date in its ISO form, what could not be computed as a gap.
fn text(cell: &Data) -> String {
    match cell {
        Data::Empty | Data::Error(_) => String::new(),
        Data::String(text) | Data::DurationIso(text) => text.trim().to_owned(),
        Data::DateTimeIso(text) => text.strip_suffix("T00:00:00").unwrap_or(text).to_owned(),
        Data::Bool(value) => value.to_string(),
        Data::Int(value) => value.to_string(),
        Data::Float(value) => value.to_string(),
        Data::DateTime(moment) => time(moment),
    }
}

/// A date, a time of day, or both; a length of time in days.
fn time(moment: &ExcelDateTime) -> String {
    if moment.is_duration() {
        return moment.as_f64().to_string();
    }
    let (year, month, day, hour, minute, second, _) = moment.to_ymd_hms_milli();
    let (date, clock) = (format!("{year:04}-{month:02}-{day:02}"), format!("{hour:02}:{minute:02}:{second:02}"));
    match moment.as_f64() {
        days if days < 1.0 => clock,
        days if days.fract() == 0.0 => date,
        _ => format!("{date}T{clock}"),
    }
}
