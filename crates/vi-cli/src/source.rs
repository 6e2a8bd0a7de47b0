//! Records from a file or from standard input, read as they come.

use std::cell::Cell;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use vi_data::DataError;
pub(crate) use vi_data::records::Record;
use vi_data::records::{Format, Records, unpacked};
use vi_terms::TermsError;
use vi_terms::table::{Columns, Input, InputFormat, Source};

use crate::error::CliError;
use crate::interrupt;
use crate::progress::Progress;

/// Bytes looked at to find out what a file is.
const LOOK: usize = 1 << 16;

/// A file of records, all with the same columns.
pub(crate) struct File {
    path: PathBuf,
    columns: Columns,
    records: Records<'static>,
    bytes: Bytes,
    skip_bad: bool,
    /// Records that were left out since they could not be read.
    pub(crate) skipped: u64,
    /// The error of the first of them.
    pub(crate) first_skipped: Option<String>,
    /// The line on how far it has been read, if there is to be one.
    progress: Option<Progress>,
}

impl File {
    /// # Errors
    /// A file that cannot be read, without columns, or with two of one name.
    pub(crate) fn open(input: &Input) -> Result<Self, CliError> {
        let bytes = Bytes::default();
        let records = open(input, &bytes)?;
        let columns = Columns::new(records.columns().iter().cloned(), records.entries());
        let (path, skip_bad) = (input.data.clone(), input.skip_bad);
        Ok(Self { path, columns, records, bytes, skip_bad, skipped: 0, first_skipped: None, progress: None })
    }

    /// The same for a further pass, which a line tells of.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub(crate) fn again(input: &Input) -> Result<Self, CliError> {
        Ok(Self { progress: Some(Progress::new()), ..Self::open(input)? })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The share of the file that has been read, if that is known.
    pub(crate) fn share(&self) -> Option<f64> {
        self.bytes.share()
    }

    /// Passes over an error of a row, and counts it, if such rows are skipped.
    fn skip(&mut self, error: CliError) -> Result<(), CliError> {
        if self.skip_bad && error.is_of_a_row() {
            self.skipped += 1;
            self.first_skipped.get_or_insert_with(|| error.to_string());
            Ok(())
        } else {
            Err(error)
        }
    }
}

impl Source for File {
    type Error = CliError;

    fn columns(&self) -> &Columns {
        &self.columns
    }

    fn row(&self) -> u64 {
        self.records.row() as u64
    }

    /// Records that cannot be read are skipped, if such records are.
    fn next(&mut self, record: &mut Record) -> Result<bool, CliError> {
        loop {
            interrupt::check()?;
            if let Some(progress) = &mut self.progress {
                progress.row(|| self.bytes.share());
            }
            match self.records.next(record) {
                Err(error) => self.skip(CliError::of_data(&self.path, error))?,
                Ok(more) => return Ok(more),
            }
        }
    }

    fn refused(&self, error: TermsError) -> CliError {
        CliError::Table { path: self.path.clone(), error }
    }

    fn cause(error: &CliError) -> Option<&TermsError> {
        error.cause()
    }

    fn forgive(&mut self, error: TermsError) -> Result<(), CliError> {
        self.skip(self.refused(error))
    }
}

/// Bytes of a file, as it was when it was opened, and those read.
#[derive(Default)]
struct Bytes {
    all: Cell<u64>,
    read: Rc<Cell<u64>>,
}

impl Bytes {
    fn share(&self) -> Option<f64> {
        let (all, read) = (self.all.get(), self.read.get());
        // Files of columns are read in another way than the bytes of which their beginning was told.
        let known = all > 0 && read > LOOK as u64;
        known.then(|| (read as f64 / all as f64).min(1.0))
    }
}

/// A file whose bytes are counted as they are read.
struct Counted {
    file: fs::File,
    read: Rc<Cell<u64>>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.read.set(self.read.get() + read as u64);
        Ok(read)
    }
}

/// The records of a file.
fn open(input: &Input, bytes: &Bytes) -> Result<Records<'static>, CliError> {
    let path = input.data.as_path();
    let cannot = |source| CliError::file(path, source);
    let wrong = |error| CliError::of_data(path, error);
    let is_stream = path == Path::new("-");
    let reader: Box<dyn Read> = if is_stream {
        Box::new(io::stdin().lock())
    } else {
        let file = fs::File::open(path).map_err(cannot)?;
        bytes.all.set(file.metadata().map_err(cannot)?.len());
        Box::new(Counted { file, read: Rc::clone(&bytes.read) })
    };
    let (mut reader, packed) = unpacked(BufReader::with_capacity(LOOK, reader)).map_err(wrong)?;
    // Compressed bytes that are cut short are an error of the file's first row.
    let start = reader.fill_buf().map_err(|source| wrong(DataError::Source { row: 1, source }))?;
    let format = match input.format {
        Some(format) => of_option(format),
        None => Format::by_name(path).unwrap_or_else(|| Format::by_start(start)),
    };
    let format = as_given(format, input)?;
    #[cfg(feature = "columnar")]
    if format == Format::Parquet || format == Format::Arrow && Format::is_arrow_file(start) {
        if packed || is_stream {
            let what = "the index of this format is at the end of the file, so it needs an uncompressed file on disk: store it first";
            return Err(cannot(io::Error::new(io::ErrorKind::Unsupported, what)));
        }
        let file = fs::File::open(path).map_err(cannot)?;
        let open = if format == Format::Parquet { Records::parquet } else { Records::arrow_file };
        return open(file).map_err(wrong);
    }
    #[cfg(not(feature = "columnar"))]
    if matches!(format, Format::Parquet | Format::Arrow) {
        let what = "this `rvi` was built without Parquet and Arrow; build it with `--features columnar`";
        return Err(cannot(io::Error::new(io::ErrorKind::Unsupported, what)));
    }
    Records::open(reader, format).map_err(wrong)
}

fn of_option(format: InputFormat) -> Format {
    match format {
        InputFormat::Csv => Format::CSV,
        InputFormat::Tsv => Format::TSV,
        InputFormat::Jsonl => Format::JsonLines,
        InputFormat::Libsvm => Format::Libsvm,
        InputFormat::Vw => Format::VowpalWabbit,
        InputFormat::Parquet => Format::Parquet,
        InputFormat::Arrow => Format::Arrow,
    }
}

/// The format with the delimiter and the header that the options tell.
///
/// # Errors
/// A delimiter that is none, or for a format that has none.
fn as_given(format: Format, input: &Input) -> Result<Format, CliError> {
    let refused = |value: &str, what: &str| {
        Err(CliError::Option { option: "delimiter", value: value.to_owned(), what: what.to_owned() })
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
}
