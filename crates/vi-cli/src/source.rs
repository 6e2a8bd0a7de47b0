//! Records from a file or from standard input, read as they come.

use std::cell::Cell;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use vi_data::DataError;
pub(crate) use vi_data::records::{Entries, LABEL, Record};
use vi_data::records::{Format, Records, unpacked};

use crate::args::{Input, InputFormat};
use crate::error::{CliError, Place};
use crate::interrupt;

/// Bytes looked at to find out what a file is.
const LOOK: usize = 1 << 16;

/// A file of records, all with the same columns.
pub(crate) struct Source {
    path: PathBuf,
    records: Records<'static>,
    bytes: Bytes,
    skip_bad: bool,
    /// Records that were left out since they could not be read.
    pub(crate) skipped: u64,
    /// The error of the first of them.
    pub(crate) first_skipped: Option<String>,
}

impl Source {
    /// # Errors
    /// A file that cannot be read, without columns, or with two of one name.
    pub(crate) fn open(input: &Input) -> Result<Self, CliError> {
        let bytes = Bytes::default();
        let records = open(input, &bytes)?;
        Ok(Self { path: input.data.clone(), records, bytes, skip_bad: input.skip_bad, skipped: 0, first_skipped: None })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn columns(&self) -> &[String] {
        self.records.columns()
    }

    /// What the column of a sparse file that holds all its inputs is.
    pub(crate) fn entries(&self) -> Option<Entries> {
        self.records.entries()
    }

    /// The share of the file that has been read, if that is known.
    pub(crate) fn share(&self) -> Option<f64> {
        let (all, read) = (self.bytes.all.get(), self.bytes.read.get());
        // Files of columns are read in another way than the bytes of which their beginning was told.
        let known = all > 0 && read > LOOK as u64;
        known.then(|| (read as f64 / all as f64).min(1.0))
    }

    /// The place of column `name`.
    pub(crate) fn position(&self, name: &str) -> Result<usize, CliError> {
        self.columns().iter().position(|column| column == name).ok_or_else(|| CliError::Column {
            path: self.path.clone(),
            wanted: name.to_owned(),
            columns: self.columns().to_vec(),
        })
    }

    /// The places of the columns of these names.
    ///
    /// # Errors
    /// A column that is not there.
    pub(crate) fn places<'n>(&self, names: impl Iterator<Item = &'n String> + Clone) -> Result<Vec<usize>, CliError> {
        let found = self.positions(names.clone());
        // Who is not there is named.
        names.zip(found).map(|(name, place)| place.map_or_else(|| self.position(name), Ok)).collect()
    }

    /// The same, none for a name that no column has.
    pub(crate) fn positions<'n>(&self, names: impl Iterator<Item = &'n String>) -> Vec<Option<usize>> {
        let places: HashMap<&String, usize> = self.columns().iter().enumerate().map(|(k, name)| (name, k)).collect();
        names.map(|name| places.get(name).copied()).collect()
    }

    /// The place of the record that was read last.
    pub(crate) fn place(&self) -> Place {
        Place { path: self.path.clone(), row: self.records.row() as u64 }
    }

    /// The next record that can be read, a field for each column; `false` at the end.
    ///
    /// # Errors
    /// A file that cannot be read on; a record that cannot be, unless such records are skipped.
    pub(crate) fn next(&mut self, record: &mut Record) -> Result<bool, CliError> {
        loop {
            interrupt::check()?;
            match self.records.next(record).map_err(|error| CliError::of_data(&self.path, error)) {
                Err(error) => self.forgive(error)?,
                Ok(more) => return Ok(more),
            }
        }
    }

    /// Passes over an error of a row, and counts it, if such rows are skipped.
    pub(crate) fn forgive(&mut self, error: CliError) -> Result<(), CliError> {
        if self.skip_bad && error.is_of_a_row() {
            self.skipped += 1;
            self.first_skipped.get_or_insert_with(|| error.to_string());
            Ok(())
        } else {
            Err(error)
        }
    }
}

/// Bytes of a file, as it was when it was opened, and those read.
#[derive(Default)]
struct Bytes {
    all: Cell<u64>,
    read: Rc<Cell<u64>>,
}

/// A file whose bytes are counted as they are read.
struct Counted {
    file: File,
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
        let file = File::open(path).map_err(cannot)?;
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
        let file = File::open(path).map_err(cannot)?;
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
