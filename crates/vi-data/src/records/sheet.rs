//! Spreadsheets of Excel (`xlsx`, `xlsb`, `xls`) and OpenDocument (`ods`): the first sheet with cells, whose first row names the columns.

use std::collections::{BTreeMap, btree_map};
use std::io::{self, Cursor};

use calamine::{Data, ExcelDateTime, Reader, Sheets, open_workbook_auto_from_rs};

use super::Reader as Bytes;
use super::record::{Fault, Record, Source};

/// The cells of a sheet that hold something, by row and column.
type Cells = BTreeMap<u32, BTreeMap<u32, String>>;

/// The records of a sheet, which is read as a whole. A column without a name is left out.
pub(super) struct Sheet {
    columns: Vec<String>,
    places: Vec<u32>,
    rows: btree_map::IntoValues<u32, BTreeMap<u32, String>>,
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
            let mut rows = cells(&mut book, &name).map_err(wrong)?.into_values();
            if let Some(names) = rows.next() {
                let (places, columns) = names.into_iter().unzip();
                return Ok(Some(Self { columns, places, rows }));
            }
        }
        Ok(None)
    }
}

/// The cells of a sheet; of Excel's present form one by one, since one far out would make a range of all before it.
///
/// # Errors
/// Those of calamine.
fn cells(book: &mut Sheets<Cursor<&[u8]>>, name: &str) -> Result<Cells, calamine::Error> {
    let mut cells = Cells::new();
    let mut add = |(row, column): (u32, u32), cell: &Data| {
        let text = text(cell);
        if !text.is_empty() {
            cells.entry(row).or_default().insert(column, text);
        }
    };
    if let Sheets::Xlsx(book) = book {
        let mut reader = book.worksheet_cells_reader(name)?;
        while let Some(cell) = reader.next_cell()? {
            add(cell.get_position(), &Data::from(cell.get_value().clone()));
        }
    } else {
        let range = book.worksheet_range(name)?;
        for (row, column, cell) in range.used_cells() {
            add((u32::try_from(row).unwrap_or(u32::MAX), u32::try_from(column).unwrap_or(u32::MAX)), cell);
        }
    }
    Ok(cells)
}

impl Source for Sheet {
    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn next(&mut self, record: &mut Record) -> Result<bool, Fault> {
        let named = |row: &BTreeMap<u32, String>| self.places.iter().any(|place| row.contains_key(place));
        let Some(row) = self.rows.find(named) else { return Ok(false) };
        record.fields.clear();
        record.fields.extend(self.places.iter().map(|place| row.get(place).map_or("", String::as_str)));
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
