//! Records from a file in any format, also compressed, read as they come.

#[cfg(feature = "columnar")]
mod columnar;
mod delimited;
mod format;
mod lines;
mod record;
mod sparse;

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use flate2::bufread::MultiGzDecoder;

pub(crate) use self::record::{Entries, Record};
use self::record::{Fault, Records};
pub(crate) use self::sparse::LABEL;
use self::sparse::{Dialect, Sparse};
use crate::args::{Input, InputFormat};
use crate::error::{CliError, Place};
use crate::interrupt;

/// Bytes looked at to find out what a file is.
const LOOK: usize = 1 << 16;

/// A file of records, all with the same columns.
pub(crate) struct Source {
    path: PathBuf,
    records: Box<dyn Records>,
    bytes: Bytes,
    row: u64,
    skip_bad: bool,
    /// Records that were left out since they could not be read.
    pub(crate) skipped: u64,
}

impl Source {
    /// # Errors
    /// A file that cannot be read, without columns, or with two of one name.
    pub(crate) fn open(input: &Input) -> Result<Self, CliError> {
        let path = &input.data;
        let bytes = Bytes::default();
        let records = open(path, input, &bytes).map_err(|opened| match opened {
            Opening::Refused(error) => error,
            Opening::Fault(fault) => told(fault, path, 1),
        })?;
        let Some(records) = records else { return Err(CliError::Empty { path: path.clone() }) };
        let mut sorted: Vec<&String> = records.columns().iter().collect();
        sorted.sort();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(CliError::Twice { path: path.clone(), name: pair[0].clone() });
        }
        Ok(Self { path: path.clone(), records, bytes, row: 0, skip_bad: input.skip_bad, skipped: 0 })
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

    /// Where column `name` is.
    pub(crate) fn position(&self, name: &str) -> Result<usize, CliError> {
        self.columns().iter().position(|column| column == name).ok_or_else(|| CliError::Column {
            path: self.path.clone(),
            wanted: name.to_owned(),
            columns: self.columns().to_vec(),
        })
    }

    /// The place of the record that was read last.
    pub(crate) fn place(&self) -> Place {
        Place { path: self.path.clone(), row: self.row }
    }

    /// The next record that can be read, a field for each column; `false` at the end.
    ///
    /// # Errors
    /// A file that cannot be read on; a record that cannot be, unless such records are skipped.
    pub(crate) fn next(&mut self, record: &mut Record) -> Result<bool, CliError> {
        loop {
            interrupt::check()?;
            self.row += 1;
            match self.records.next(record).map_err(|fault| told(fault, &self.path, self.row)) {
                Err(error) => self.forgive(error)?,
                Ok(more) => return Ok(more),
            }
        }
    }

    /// Passes over an error of a row, and counts it, if such rows are skipped.
    pub(crate) fn forgive(&mut self, error: CliError) -> Result<(), CliError> {
        if self.skip_bad && error.is_of_a_row() {
            self.skipped += 1;
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

/// Why a file could not be opened.
enum Opening {
    Refused(CliError),
    Fault(Fault),
}

impl<F: Into<Fault>> From<F> for Opening {
    fn from(fault: F) -> Self {
        Self::Fault(fault.into())
    }
}

/// The records of a file; none where it has not even a first line.
fn open(path: &Path, input: &Input, bytes: &Bytes) -> Result<Option<Box<dyn Records>>, Opening> {
    let refused = |option, value: &str, what: &str| {
        Err(Opening::Refused(CliError::Option { option, value: value.to_owned(), what: what.to_owned() }))
    };
    let mut reader = buffered(if path == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        let file = File::open(path)?;
        bytes.all.set(file.metadata()?.len());
        Box::new(Counted { file, read: Rc::clone(&bytes.read) })
    });
    let start = reader.fill_buf()?;
    let packed = if start.starts_with(&[0x1f, 0x8b]) {
        reader = buffered(Box::new(MultiGzDecoder::new(reader)));
        true
    } else if start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        reader = buffered(Box::new(zstd::Decoder::with_buffer(reader)?));
        true
    } else {
        false
    };
    if reader.fill_buf()?.starts_with(b"\xef\xbb\xbf") {
        reader.consume(3);
    }
    let start = reader.fill_buf()?;
    let format = match input.format.or_else(|| format::by_name(path)) {
        Some(format) => format,
        None => format::by_start(start),
    };
    if input.delimiter.is_some() && !matches!(format, InputFormat::Csv | InputFormat::Tsv) {
        return refused("delimiter", input.delimiter.as_deref().unwrap_or_default(), "only CSV and TSV have one");
    }
    if start.is_empty() {
        return Ok(None);
    }
    Ok(match format {
        InputFormat::Csv | InputFormat::Tsv => {
            let delimiter = match (&input.delimiter, format) {
                (Some(given), _) => match delimiter(given) {
                    Some(delimiter) => delimiter,
                    None => return refused("delimiter", given, "one character, or `\\t` for a tab"),
                },
                (None, InputFormat::Tsv) => b'\t',
                (None, _) => delimited::likely_delimiter(start),
            };
            boxed(delimited::Delimited::open(reader, delimiter, !input.no_header)?)
        }
        InputFormat::Jsonl => boxed(lines::JsonLines::open(reader)?),
        InputFormat::Libsvm => boxed(Some(Sparse::open(reader, Dialect::Libsvm))),
        InputFormat::Vw => boxed(Some(Sparse::open(reader, Dialect::VowpalWabbit))),
        InputFormat::Parquet | InputFormat::Arrow => boxed(columnar(path, reader, format, packed)?),
    })
}

fn boxed<R: Records + 'static>(records: Option<R>) -> Option<Box<dyn Records>> {
    records.map(|records| Box::new(records) as Box<dyn Records>)
}

#[cfg(feature = "columnar")]
fn columnar(
    path: &Path,
    mut reader: Box<dyn BufRead>,
    format: InputFormat,
    packed: bool,
) -> Result<Option<columnar::Columnar>, Fault> {
    let file = format == InputFormat::Parquet || columnar::is_arrow_file(reader.fill_buf()?);
    if !file {
        return columnar::Columnar::arrow_stream(reader).map(Some);
    }
    if packed || path == Path::new("-") {
        let what = "this format has its index at its end, so it can only be read from a plain file: store it first";
        return Err(Fault::File(io::Error::new(io::ErrorKind::Unsupported, what)));
    }
    let file = File::open(path)?;
    if format == InputFormat::Parquet {
        columnar::Columnar::parquet(file).map(Some)
    } else {
        columnar::Columnar::arrow_file(file).map(Some)
    }
}

#[cfg(not(feature = "columnar"))]
fn columnar(_: &Path, _: Box<dyn BufRead>, _: InputFormat, _: bool) -> Result<Option<Sparse>, Fault> {
    let what = "this `rvi` was built without Parquet and Arrow; `cargo install --features columnar` has them";
    Err(Fault::File(io::Error::new(io::ErrorKind::Unsupported, what)))
}

/// A fault with its place.
fn told(fault: Fault, path: &Path, row: u64) -> CliError {
    let place = Place { path: path.to_owned(), row };
    match fault {
        Fault::File(source) if source.kind() == io::ErrorKind::UnexpectedEof => CliError::Cut { place },
        Fault::File(source) if row > 1 => CliError::Stopped { place, source },
        Fault::File(source) => CliError::file(path, source),
        Fault::Ragged { expected, found } => CliError::Ragged { place, expected, found },
        Fault::Record(what) => CliError::Record { place, what },
        Fault::Field { column, text, expected } => CliError::Field { place, column, text, expected, hint: "" },
    }
}

fn buffered(reader: Box<dyn Read>) -> Box<dyn BufRead> {
    Box::new(BufReader::with_capacity(LOOK, reader))
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
