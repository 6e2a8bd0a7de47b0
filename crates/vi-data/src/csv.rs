//! Reading comma-separated values, with errors that name the row and the column.

use std::io::{BufReader, Read};

use crate::records::{Format, Record, Records};
use crate::{DataError, Dataset};

/// Which column holds the label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Label {
    /// The column of that name; without a header the names are `x1`, `x2`, ….
    Name(String),
    /// The column of that index, from 0.
    Index(usize),
    /// The last column.
    Last,
}

/// The layout of a CSV file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvSettings {
    /// Which column holds the label.
    pub label: Label,
    /// Whether the first line holds the names of the columns.
    pub header: bool,
    /// The byte that separates the fields.
    pub delimiter: u8,
    /// The classes, if labels are words, which are read as 0, 1, … in this order; empty if the label is a number.
    pub classes: Vec<String>,
}

impl Default for CsvSettings {
    /// The default is a header, commas, and a number as label in the last column.
    fn default() -> Self {
        Self { label: Label::Last, header: true, delimiter: b',', classes: Vec::new() }
    }
}

/// Reads a data set: every column but the label's is an input, in the order of the file.
///
/// Fields may be quoted; blanks around them and empty lines are ignored. Cost: one pass, memory
/// for the numbers only.
///
/// # Errors
/// [`DataError::Empty`] without a data row, [`DataError::MissingColumn`] without the label's
/// column, [`DataError::NoInputs`] with no other, [`DataError::DuplicateColumn`],
/// [`DataError::Ragged`], [`DataError::NotANumber`] (an empty field too),
/// [`DataError::NotFinite`], [`DataError::UnknownClass`], [`DataError::Source`] if the reader
/// fails, and [`DataError::Record`] if the text is not UTF-8.
///
/// ```
/// use vi_data::{CsvSettings, DataError, Label, read_csv};
///
/// let settings = CsvSettings { label: Label::Name("y".to_owned()), ..CsvSettings::default() };
/// let data = read_csv("a,y,b\n1.5,0,2\n-3,1,4e-2\n".as_bytes(), &settings)?;
/// assert_eq!(data.row(1), &[-3.0, 0.04]);
/// assert_eq!(data.y(), &[0.0, 1.0]);
/// assert_eq!(data.columns(), ["a", "b"]);
///
/// let error = read_csv("a,y,b\n1.5,0,two\n".as_bytes(), &settings).unwrap_err();
/// assert_eq!(error.to_string(), "row 1, column 3 (`b`): `two` is not a number");
/// # Ok::<(), DataError>(())
/// ```
pub fn read_csv<R: Read>(source: R, settings: &CsvSettings) -> Result<Dataset, DataError> {
    let format = Format::Delimited { delimiter: Some(settings.delimiter), header: settings.header };
    let mut records = Records::open(BufReader::new(source), format)?;
    let names = records.columns().to_vec();
    let label = label_column(&settings.label, &names)?;

    let (mut rows, mut y, mut record) = (Vec::new(), Vec::new(), Record::default());
    while records.next(&mut record)? {
        let place = Place { row: records.row(), names: &names };
        for (k, text) in record.fields().enumerate() {
            if k != label {
                rows.push(place.number(k, text)?);
            } else if settings.classes.is_empty() {
                y.push(place.number(k, text)?);
            } else {
                y.push(place.class(k, text, &settings.classes)?);
            }
        }
    }
    let mut columns = names;
    columns.remove(label);
    Dataset::new(rows, y, Some(columns))
}

/// The index of the label's column.
fn label_column(label: &Label, names: &[String]) -> Result<usize, DataError> {
    let (found, wanted) = match label {
        Label::Last => (names.len().checked_sub(1), String::new()),
        Label::Index(k) => (Some(*k).filter(|k| *k < names.len()), format!("number {}", k.saturating_add(1))),
        Label::Name(name) => (names.iter().position(|other| other == name), format!("`{name}`")),
    };
    found.ok_or_else(|| DataError::MissingColumn { wanted, columns: names.to_vec() })
}

/// The place of a field in the file.
struct Place<'a> {
    row: usize,
    names: &'a [String],
}

impl Place<'_> {
    fn number(&self, k: usize, text: &str) -> Result<f64, DataError> {
        let value: f64 = text.parse().map_err(|_| DataError::NotANumber {
            row: self.row,
            column: k + 1,
            name: self.names[k].clone(),
            text: text.to_owned(),
        })?;
        if value.is_finite() {
            return Ok(value);
        }
        Err(DataError::NotFinite { row: self.row, column: k + 1, name: self.names[k].clone(), value })
    }

    fn class(&self, k: usize, text: &str, classes: &[String]) -> Result<f64, DataError> {
        match classes.iter().position(|class| class == text) {
            Some(index) => Ok(index as f64),
            None => Err(DataError::UnknownClass {
                row: self.row,
                column: k + 1,
                name: self.names[k].clone(),
                text: text.to_owned(),
                classes: classes.to_vec(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{self, BufRead, Cursor};

    fn read(text: &str) -> Result<Dataset, DataError> {
        read_csv(text.as_bytes(), &CsvSettings::default())
    }

    fn read_with(text: &str, change: impl FnOnce(&mut CsvSettings)) -> Result<Dataset, DataError> {
        let mut settings = CsvSettings::default();
        change(&mut settings);
        read_csv(text.as_bytes(), &settings)
    }

    #[test]
    fn header_quotes_blanks_and_line_ends() {
        let wanted =
            Dataset::new(vec![1.0, -2.5, 3e2, 0.0], vec![1.0, 0.0], Some(vec!["a".to_owned(), "b, c".to_owned()]))
                .unwrap();
        for text in [
            "a,\"b, c\",y\n1,-2.5,1\n3e2,0,0\n",
            " a ,\"b, c\" , y\r\n\r\n 1,-2.5 , 1\r\n3e2,\"0\",0",
            "\u{feff}a,\"b, c\",y\n1,-2.5,1\n\n3e2,0,0\n\n",
        ] {
            assert_eq!(read(text).unwrap(), wanted, "{text:?}");
        }
    }

    #[test]
    fn without_a_header_columns_are_numbered_as_in_the_file() {
        let data = read_with("1;2;3\n4;5;6\n", |settings| {
            settings.header = false;
            settings.delimiter = b';';
            settings.label = Label::Index(1);
        })
        .unwrap();
        assert_eq!(data.columns(), ["x1", "x3"]);
        assert_eq!(data.y(), [2.0, 5.0]);
        assert_eq!(data.rows_row_major(), [1.0, 3.0, 4.0, 6.0]);
        let by_name = read_with("1,2\n", |settings| {
            settings.header = false;
            settings.label = Label::Name("x1".to_owned());
        })
        .unwrap();
        assert_eq!(by_name.y(), [1.0]);
    }

    #[test]
    fn classes_are_numbered_in_the_order_given() {
        let classes = |settings: &mut CsvSettings| {
            settings.classes = vec!["no".to_owned(), "yes".to_owned()];
        };
        let data = read_with("a,y\n1,yes\n2,no\n", classes).unwrap();
        assert_eq!(data.y(), [1.0, 0.0]);
        let error = read_with("a,y\n1,yes\n2,1\n", classes).unwrap_err();
        assert_eq!(error.to_string(), "row 2, column 2 (`y`): `1` is none of the classes [\"no\", \"yes\"]");
    }

    #[test]
    fn nothing_to_read() {
        for text in ["", "\n\n", "a,y\n", "a,y"] {
            assert!(matches!(read(text), Err(DataError::Empty)), "{text:?}");
        }
        assert!(matches!(read("y\n1\n"), Err(DataError::NoInputs)));
    }

    #[test]
    fn ragged_rows() {
        for (text, found) in [("a,y\n1,2\n\n3\n", 1), ("a,y\n1,2\n\n3,4,5\n", 3)] {
            let error = read(text).unwrap_err();
            assert_eq!(error.to_string(), format!("row 2 has {found} fields, but 2 are needed"));
        }
    }

    #[test]
    fn fields_that_are_no_numbers() {
        for text in ["1,5", "", "NA", "0x1", "1_000", "--1"] {
            let error = read(&format!("a,b,y\n1,2,3\n4,\"{text}\",6\n")).unwrap_err();
            assert_eq!(error.to_string(), format!("row 2, column 2 (`b`): `{text}` is not a number"));
        }
        assert!(matches!(
            read("a,y\n1,one\n"),
            Err(DataError::NotANumber { row: 1, column: 2, name, text })
                if name == "y" && text == "one"
        ));
    }

    #[test]
    fn numbers_that_are_not_finite() {
        for text in ["NaN", "inf", "-Infinity", "1e999"] {
            let error = read(&format!("a,y\n1,2\n{text},2\n")).unwrap_err();
            assert!(
                matches!(error, DataError::NotFinite { row: 2, column: 1, ref name, .. } if name == "a"),
                "{error}"
            );
        }
        assert!(matches!(
            read("a,y\n1,inf\n"),
            Err(DataError::NotFinite { row: 1, column: 2, name, .. }) if name == "y"
        ));
    }

    #[test]
    fn columns_that_are_missing_or_there_twice() {
        let error = read_with("a,b\n1,2\n", |settings| {
            settings.label = Label::Name("y".to_owned());
        })
        .unwrap_err();
        assert_eq!(error.to_string(), "there is no column `y`; the columns are [\"a\", \"b\"]");
        let error = read_with("a,b\n1,2\n", |settings| settings.label = Label::Index(2));
        assert_eq!(error.unwrap_err().to_string(), "there is no column number 3; the columns are [\"a\", \"b\"]");
        let twice = read_with("y,b,y\n1,2,3\n", |settings| {
            settings.label = Label::Name("y".to_owned());
        });
        assert!(matches!(twice, Err(DataError::DuplicateColumn { name }) if name == "y"));
        assert!(matches!(
            read("a,a,y\n1,2,3\n"),
            Err(DataError::DuplicateColumn { name }) if name == "a"
        ));
    }

    #[test]
    fn text_that_is_not_utf8() {
        let error = read_csv(&b"a,y\n1,2\n3,\xff\n"[..], &CsvSettings::default());
        assert!(
            matches!(error, Err(DataError::Record { row: 2, what }) if what.contains("column `a`") || what.contains("column `y`"))
        );
    }

    #[test]
    fn a_reader_that_fails() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the line is down"))
            }
        }
        let source = Cursor::new("a,y\n1,2\n3,4\n").chain(Broken);
        let error = read_csv(source, &CsvSettings::default()).unwrap_err();
        assert!(matches!(error, DataError::Source { row: 3, .. }), "{error}");
        assert!(error.to_string().contains("the line is down"));
    }

    #[test]
    fn any_buffering_gives_the_same_data() {
        let text = "a,y\n1.25,0\n-17,1\n";
        for capacity in [1, 3, 100] {
            let mut source = BufReader::with_capacity(capacity, text.as_bytes());
            assert!(!source.fill_buf().unwrap().is_empty());
            let data = read_csv(source, &CsvSettings::default()).unwrap();
            assert_eq!(data, read(text).unwrap());
        }
    }
}
