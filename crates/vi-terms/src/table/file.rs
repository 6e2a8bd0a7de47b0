//! Rows of a named file in any format, and errors that name file, row, column and remedy.

use std::io::{self, BufRead};
use std::path::{Path, PathBuf};

use thiserror::Error;
use vi_data::DataError;
use vi_data::records::{Format, Records, unpacked};
use vi_models::ModelError;

use crate::TermsError;
use crate::table::options::{Input, InputFormat};
use crate::table::source::{Columns, Record, Source};

/// An error of a named file, in the words of the command `rvi`.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileError {
    /// A file that cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why it cannot be read.
        source: io::Error,
    },
    /// A truncated file.
    #[error("{place}: the compressed data end too early; the file is cut short: copy it again")]
    Cut {
        /// The row before which it ends.
        place: Place,
    },
    /// A read error in the middle of a file.
    #[error("{place}: {source}")]
    Stopped {
        /// The row that cannot be read.
        place: Place,
        /// Why it cannot be read.
        source: io::Error,
    },
    /// A pass without a row that was learned or scored.
    #[error("{}: no row was used{why}", path.display())]
    Nothing {
        /// The file.
        path: PathBuf,
        /// Why no row was used.
        why: String,
    },
    /// A record with a wrong number of fields.
    #[error("{place}: {found} fields instead of {expected} (`--skip-bad` skips such rows)")]
    Ragged {
        /// The record.
        place: Place,
        /// The fields of the others.
        expected: usize,
        /// Its fields.
        found: usize,
    },
    /// A line that is not a record.
    #[error("{place}: {what} (`--skip-bad` skips such rows)")]
    Record {
        /// The line.
        place: Place,
        /// The fault of it.
        what: String,
    },
    /// Two columns of one name.
    #[error("{}: two columns have the name `{name}`", path.display())]
    Twice {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// An error in a table, with the name of its file.
    #[error("{}", told(path, error))]
    Table {
        /// The file.
        path: PathBuf,
        /// The error.
        error: TermsError,
    },
    /// An error in a model or an option, apart from any table.
    #[error(transparent)]
    Whole(#[from] TermsError),
}

impl From<ModelError> for FileError {
    fn from(error: ModelError) -> Self {
        Self::Whole(error.into())
    }
}

/// An error of a table with its file, and with the options that help.
fn told(path: &Path, error: &TermsError) -> String {
    let path = path.display();
    match error {
        TermsError::Field { row, column, text, expected, hint } => format!(
            "{path}, row {row}, column `{column}`: `{text}` is not {expected} (`--skip-bad` skips such rows{hint})"
        ),
        TermsError::Row { .. } => format!("{path}, {error}"),
        TermsError::Column { .. } | TermsError::Untold { .. } | TermsError::Document { .. } => {
            format!("{path}: {error}")
        }
        TermsError::Empty => format!("{path}: the file has no rows"),
        TermsError::Changed { rows } => {
            format!("{path}: its first {rows} rows differ from those of the model; `rvi update` learns another file")
        }
        other => other.to_string(),
    }
}

/// A row of a file, the first line of data being row 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: PathBuf,
    /// The row.
    pub row: u64,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, row {}", self.path.display(), self.row)
    }
}

impl FileError {
    /// An error from reading the file at `path`, with its place.
    #[must_use]
    pub fn of_data(path: &Path, error: DataError) -> Self {
        let at = |row: usize| Place { path: path.to_owned(), row: row as u64 };
        let path = path.to_owned();
        match error {
            DataError::Empty => Self::Table { path, error: TermsError::Empty },
            DataError::DuplicateColumn { name } => Self::Twice { path, name },
            DataError::Ragged { row, expected, found } => Self::Ragged { place: at(row), expected, found },
            DataError::Record { row, what } => Self::Record { place: at(row), what },
            DataError::Field { row, column, text, expected } => {
                let row = row as u64;
                Self::Table { path, error: TermsError::Field { row, column, text, expected, hint: "" } }
            }
            DataError::Source { row, source } if source.kind() == io::ErrorKind::UnexpectedEof => {
                Self::Cut { place: at(row) }
            }
            DataError::Source { row, source } if row > 1 => Self::Stopped { place: at(row), source },
            DataError::Source { source, .. } => Self::Unreadable { path, source },
            other => Self::Unreadable { path, source: io::Error::other(other) },
        }
    }

    /// Whether a row is at fault, which a reader may skip.
    #[must_use]
    pub fn is_of_a_row(&self) -> bool {
        matches!(self, Self::Ragged { .. } | Self::Record { .. }) || self.cause().is_some_and(TermsError::is_of_a_row)
    }

    /// The error of the table or the model, if it is one.
    #[must_use]
    pub fn cause(&self) -> Option<&TermsError> {
        match self {
            Self::Table { error, .. } | Self::Whole(error) => Some(error),
            _ => None,
        }
    }
}

/// A file whose first bytes have told its format.
pub struct Begun<'a> {
    /// The bytes, unpacked.
    pub reader: Box<dyn BufRead + 'a>,
    /// The format, as named by the user, the end of the file's name or the first bytes.
    pub format: Format,
    /// Whether the bytes were compressed.
    pub packed: bool,
    /// Whether it is an Arrow file with its index at its end.
    pub is_arrow_file: bool,
}

impl<'a> Begun<'a> {
    /// Looks at the first bytes of `reader`, a file read as `input` says.
    ///
    /// # Errors
    /// Bytes that cannot be read; a delimiter that is none, or for a format that has none.
    pub fn new<R: BufRead + 'a>(reader: R, input: &Input) -> Result<Self, FileError> {
        let path = input.data.as_path();
        let wrong = |error| FileError::of_data(path, error);
        let (mut reader, packed) = unpacked(reader).map_err(wrong)?;
        // Compressed bytes that are cut short are an error of the file's first row.
        let start = reader.fill_buf().map_err(|source| wrong(DataError::Source { row: 1, source }))?;
        let is_arrow_file = Format::is_arrow_file(start);
        let format = match input.format {
            Some(format) => of_option(format),
            None => Format::by_name(path).unwrap_or_else(|| Format::by_start(start)),
        };
        let format = as_given(format, input)?;
        Ok(Self { reader, format, packed, is_arrow_file })
    }

    /// The records of the file, of a format that is read as it comes.
    ///
    /// # Errors
    /// A file that cannot be read, without columns, or with two of one name.
    pub fn records(self, input: &Input) -> Result<Records<'a>, FileError> {
        Records::open(self.reader, self.format).map_err(|error| FileError::of_data(&input.data, error))
    }
}

/// The rows of a file, all with the same columns; rows that cannot be read are skipped where the input says so.
///
/// ```
/// use vi_terms::table::{FileRows, Input, Options, fit};
///
/// let input = Input::in_memory("prices.csv", false);
/// let bytes = "size,price\n1,three\n2,6\n".as_bytes();
/// let options = Options { target: Some("cost".to_owned()), ..Options::default() };
/// let error = fit(&options, &input, false, || FileRows::open(bytes, &input)).unwrap_err();
/// assert_eq!(error.to_string(), "prices.csv: there is no column `cost`; the columns are `size`, `price`");
/// ```
pub struct FileRows<'a> {
    path: PathBuf,
    columns: Columns,
    records: Records<'a>,
    skip_bad: bool,
    skipped: u64,
    first_skipped: Option<String>,
}

impl<'a> FileRows<'a> {
    /// The rows of the file `input`, whose bytes `reader` has.
    ///
    /// # Errors
    /// A file that cannot be read, without columns, or with two of one name.
    pub fn open<R: BufRead + 'a>(reader: R, input: &Input) -> Result<Self, FileError> {
        Ok(Self::new(Begun::new(reader, input)?.records(input)?, input))
    }

    /// Records as the rows of the file `input`.
    #[must_use]
    pub fn new(records: Records<'a>, input: &Input) -> Self {
        let columns = Columns::new(records.columns().iter().cloned(), records.entries());
        let (path, skip_bad) = (input.data.clone(), input.skip_bad);
        Self { path, columns, records, skip_bad, skipped: 0, first_skipped: None }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Rows that were skipped since they could not be read.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// The error of the first of them.
    #[must_use]
    pub fn first_skipped(&self) -> Option<&str> {
        self.first_skipped.as_deref()
    }

    /// Reads the next row into `record`, whatever is wrong with it; returns `false` at the end.
    ///
    /// # Errors
    /// A row that cannot be read. The next call goes on after it.
    pub fn read(&mut self, record: &mut Record) -> Result<bool, FileError> {
        self.records.next(record).map_err(|error| FileError::of_data(&self.path, error))
    }

    /// Passes over an error of a row, and counts it, if such rows are skipped.
    ///
    /// # Errors
    /// The error, if they are not.
    pub fn skip(&mut self, error: FileError) -> Result<(), FileError> {
        if self.skip_bad && error.is_of_a_row() {
            self.skipped += 1;
            self.first_skipped.get_or_insert_with(|| error.to_string());
            Ok(())
        } else {
            Err(error)
        }
    }

    /// The error of a pass that has used no row.
    fn nothing(&self) -> FileError {
        let why = self
            .first_skipped
            .as_ref()
            .map_or(": no row has a target".to_owned(), |first| format!("; the first: {first}"));
        FileError::Nothing { path: self.path.clone(), why }
    }
}

impl Source for FileRows<'_> {
    type Error = FileError;

    fn columns(&self) -> &Columns {
        &self.columns
    }

    fn row(&self) -> u64 {
        self.records.row() as u64
    }

    fn next(&mut self, record: &mut Record) -> Result<bool, FileError> {
        loop {
            match self.read(record) {
                Err(error) => self.skip(error)?,
                Ok(more) => return Ok(more),
            }
        }
    }

    fn refused(&self, error: TermsError) -> FileError {
        match error {
            TermsError::Nothing => self.nothing(),
            error => FileError::Table { path: self.path.clone(), error },
        }
    }

    fn cause(error: &FileError) -> Option<&TermsError> {
        error.cause()
    }

    fn forgive(&mut self, error: TermsError) -> Result<(), FileError> {
        self.skip(self.refused(error))
    }
}

fn of_option(format: InputFormat) -> Format {
    match format {
        InputFormat::Csv => Format::CSV,
        InputFormat::Tsv => Format::TSV,
        InputFormat::Jsonl => Format::JsonLines,
        InputFormat::Libsvm => Format::Libsvm,
        InputFormat::Vw => Format::VowpalWabbit,
        InputFormat::Parquet => Format::Parquet,
        InputFormat::Sheet => Format::Sheet,
        InputFormat::Arrow => Format::Arrow,
    }
}

/// The format with the delimiter and the header that the options tell.
///
/// # Errors
/// A delimiter that is none, or for a format that has none.
fn as_given(format: Format, input: &Input) -> Result<Format, TermsError> {
    let refused = |value: &str, what: &str| {
        Err(TermsError::Option { option: "delimiter", value: value.to_owned(), what: what.to_owned() })
    };
    match (format, &input.delimiter) {
        (Format::Delimited { delimiter: likely, .. }, given) => {
            let header = !input.no_header;
            match given.as_deref().map(|given| (delimiter(given), given)) {
                Some((None, given)) => refused(given, "must be one character, or `\\t` for a tab"),
                Some((given, _)) => Ok(Format::Delimited { delimiter: given, header }),
                None => Ok(Format::Delimited { delimiter: likely, header }),
            }
        }
        (_, Some(given)) => refused(given, "only CSV and TSV have a delimiter"),
        (format, None) => Ok(format),
    }
}

/// One character, or `\t` for a tab; none for anything else.
fn delimiter(given: &str) -> Option<u8> {
    match given.as_bytes() {
        b"\\t" => Some(b'\t'),
        [one] if one.is_ascii() && *one != b'"' && *one != b'\n' => Some(*one),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delimiter_is_one_character() {
        assert_eq!((delimiter("\\t"), delimiter(";")), (Some(b'\t'), Some(b';')));
        assert_eq!((delimiter("ab"), delimiter("\""), delimiter("")), (None, None, None));
    }

    #[test]
    fn rows_that_cannot_be_read_are_named_or_counted() {
        let text = "a,b\n1,2\n3\n4,5\n";
        let mut record = Record::default();
        let mut strict = FileRows::open(text.as_bytes(), &Input::in_memory("t.csv", false)).unwrap();
        assert!(strict.next(&mut record).unwrap());
        let error = strict.next(&mut record).unwrap_err().to_string();
        assert_eq!(error, "t.csv, row 2: 1 fields instead of 2 (`--skip-bad` skips such rows)");
        let mut lenient = FileRows::open(text.as_bytes(), &Input::in_memory("t.csv", true)).unwrap();
        while lenient.next(&mut record).unwrap() {}
        assert_eq!((lenient.row(), lenient.skipped(), lenient.first_skipped()), (3, 1, Some(error.as_str())));
        assert!(lenient.nothing().to_string().ends_with(&error));
    }
}
