//! Reading records from a file in any format, one at a time, in memory that does not grow with their number.

mod ahead;
#[cfg(feature = "arrow")]
mod columnar;
mod delimited;
mod format;
#[cfg(feature = "json")]
mod json_lines;
mod packed;
mod record;
#[cfg(feature = "sheets")]
mod sheet;
mod sparse;

use std::io::{self, BufRead};

use self::delimited::Delimited;
pub use self::format::Format;
pub use self::packed::unpacked;
pub use self::record::{Entries, Record};
use self::record::{Fault, Source};
use self::sparse::{Dialect, Sparse};
use crate::DataError;

/// The name of the label's column in a LIBSVM or Vowpal Wabbit file.
pub const LABEL: &str = "label";

/// The most bytes of a line of text, or of a record whose quotes hold lines: 32 MiB, a million numbers in full. What is longer is taken for a file without
/// ends of lines.
pub const LONGEST_LINE: usize = 1 << 25;
/// The most columns of a file of text.
pub const MOST_COLUMNS: usize = 1 << 22;

/// The error of a line longer than [`LONGEST_LINE`].
fn endless() -> io::Error {
    let what = format!("a line or a record in quotes does not end within {} MiB", LONGEST_LINE >> 20);
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// The buffered reader of a format.
type Reader<'a> = Box<dyn BufRead + 'a>;

/// The records of one file, all with the same columns.
///
/// A field is the text in the file; in Parquet and Arrow a number is the shortest text that reads back to its bits, a date its
/// ISO form, a null an empty text. LIBSVM and Vowpal Wabbit have two columns, [`LABEL`] and one for all inputs, whose values are
/// [`Record::entries`]. Cost: one pass; memory for one record, or for one batch of a columnar file.
///
/// ```
/// use vi_data::records::{Format, Record, Records};
///
/// let lines = "{\"late\": true, \"minutes\": 12.5}\n{\"late\": false}\n";
/// # #[cfg(feature = "json")] {
/// let mut records = Records::open(lines.as_bytes(), Format::JsonLines)?;
/// assert_eq!(records.columns(), ["late", "minutes"]);
/// let (mut record, mut minutes) = (Record::default(), Vec::new());
/// while records.next(&mut record)? {
///     minutes.push(record.field(1).to_owned());
/// }
/// assert_eq!((records.row(), minutes), (2, vec!["12.5".to_owned(), String::new()]));
/// # }
/// # Ok::<(), vi_data::DataError>(())
/// ```
pub struct Records<'a> {
    source: Box<dyn Source + 'a>,
    row: usize,
}

impl std::fmt::Debug for Records<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Records").field("columns", &self.columns()).field("row", &self.row).finish_non_exhaustive()
    }
}

impl<'a> Records<'a> {
    /// Opens the records of `reader`; its first line or its head is read at once.
    ///
    /// A byte order mark before text is skipped. Parquet, and the form of Arrow that has its index at the end, can only be read
    /// from files: [`Records::parquet`], [`Records::arrow_file`].
    ///
    /// # Errors
    /// [`DataError::Empty`] without a first line, [`DataError::Setting`] for a format that needs a file or a feature that is not
    /// built, [`DataError::Source`] for more than [`MOST_COLUMNS`], [`DataError::DuplicateColumn`], and those of [`Records::next`].
    pub fn open<R: BufRead + 'a>(mut reader: R, format: Format) -> Result<Self, DataError> {
        let first = |fault: Fault| fault.at(1);
        if format.is_text() {
            let start = reader.fill_buf().map_err(|error| first(error.into()))?;
            if start.starts_with(b"\xef\xbb\xbf") {
                reader.consume(3);
            }
        }
        if reader.fill_buf().map_err(|error| first(error.into()))?.is_empty() {
            return Err(DataError::Empty);
        }
        let reader: Reader<'a> = Box::new(reader);
        let source: Option<Box<dyn Source + 'a>> = match format {
            Format::Delimited { delimiter, header } => {
                boxed(Delimited::open(reader, delimiter, header).map_err(first)?)
            }
            Format::Libsvm => boxed(Some(Sparse::open(reader, Dialect::Libsvm))),
            Format::VowpalWabbit => boxed(Some(Sparse::open(reader, Dialect::VowpalWabbit))),
            #[cfg(feature = "json")]
            Format::JsonLines => boxed(json_lines::JsonLines::open(reader).map_err(first)?),
            #[cfg(feature = "columnar")]
            Format::Arrow => boxed(Some(columnar::Columnar::arrow_stream(reader).map_err(first)?)),
            #[cfg(feature = "columnar")]
            Format::Parquet => {
                let requirement =
                    "a format that can be read as it comes; Parquet has its index at its end, and needs a file";
                return Err(DataError::Setting { setting: "format", value: format.to_string(), requirement });
            }
            #[cfg(feature = "sheets")]
            Format::Sheet => boxed(sheet::Sheet::open(reader).map_err(first)?),
            #[cfg(not(all(feature = "json", feature = "columnar", feature = "sheets")))]
            _ => {
                let requirement = "a format that this build reads; Parquet and Arrow are the feature `columnar`, JSON is `json`, spreadsheets are `sheets`";
                return Err(DataError::Setting { setting: "format", value: format.to_string(), requirement });
            }
        };
        Self::new(source.ok_or(DataError::Empty)?)
    }

    /// Opens the records of a Parquet file, compressed by zstd, Snappy, LZ4, Brotli or gzip.
    ///
    /// # Errors
    /// [`DataError::Source`] for a file that is not Parquet or is truncated; [`DataError::DuplicateColumn`].
    #[cfg(feature = "columnar")]
    pub fn parquet(file: std::fs::File) -> Result<Self, DataError> {
        Self::new(Box::new(columnar::Columnar::parquet(file).map_err(|fault| fault.at(1))?))
    }

    /// Opens the records of an Arrow IPC file with its index at its end, also called Feather; [`Format::Arrow`] is the form
    /// without one.
    ///
    /// # Errors
    /// [`DataError::Source`] for a file that is not Arrow IPC or is truncated; [`DataError::DuplicateColumn`].
    #[cfg(feature = "columnar")]
    pub fn arrow_file(file: std::fs::File) -> Result<Self, DataError> {
        Self::new(Box::new(columnar::Columnar::arrow_file(file).map_err(|fault| fault.at(1))?))
    }

    /// The records of an Arrow table in memory. A column whose times are all midnight holds dates, as other programs write them to a file of text.
    ///
    /// ```
    /// # #[cfg(feature = "arrow")] {
    /// use std::sync::Arc;
    ///
    /// use arrow_array::{Float64Array, RecordBatch};
    /// use vi_data::records::{Record, Records};
    ///
    /// let minutes = Float64Array::from(vec![Some(12.5), None]);
    /// let batch = RecordBatch::try_from_iter_with_nullable([("minutes", Arc::new(minutes) as _, true)])?;
    /// let mut records = Records::arrow_table(&batch.schema(), vec![batch])?;
    /// let mut record = Record::default();
    /// assert!(records.next(&mut record)? && record.field(0) == "12.5");
    /// assert!(records.next(&mut record)? && record.field(0) == "" && !records.next(&mut record)?);
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`DataError::DuplicateColumn`]. A column of values without a text is the error of the first record.
    #[cfg(feature = "arrow")]
    pub fn arrow_table(
        schema: &arrow_schema::Schema,
        batches: Vec<arrow_array::RecordBatch>,
    ) -> Result<Self, DataError> {
        Self::new(Box::new(columnar::Columnar::table(schema, batches)))
    }

    /// The records that `open` opens in a thread of its own, which reads up to some thousand of them ahead, so that reading and the caller's work
    /// take two cores. Records and errors come as without it.
    ///
    /// ```
    /// use vi_data::records::{Format, Record, Records};
    ///
    /// let mut records = Records::ahead(|| Records::open("a,b\n1,2\n3,4\n".as_bytes(), Format::CSV))?;
    /// let (mut record, mut sum) = (Record::default(), 0.0);
    /// while records.next(&mut record)? {
    ///     sum += record.field(1).parse::<f64>().unwrap();
    /// }
    /// assert_eq!((records.row(), sum), (2, 6.0));
    /// # Ok::<(), vi_data::DataError>(())
    /// ```
    ///
    /// # Errors
    /// Those of `open`.
    ///
    /// # Panics
    /// If the system has no thread to give. A panic of `open` or of its reader goes on here or in [`next`](Self::next).
    pub fn ahead<E: Send + 'static>(
        open: impl FnOnce() -> Result<Records<'static>, E> + Send + 'static,
    ) -> Result<Self, E> {
        Ok(Self { source: Box::new(ahead::Ahead::open(open)?), row: 0 })
    }

    fn new(source: Box<dyn Source + 'a>) -> Result<Self, DataError> {
        let mut sorted: Vec<&String> = source.columns().iter().collect();
        sorted.sort();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(DataError::DuplicateColumn { name: pair[0].clone() }),
            None => Ok(Self { source, row: 0 }),
        }
    }

    /// The names of the columns, in their order; `x1`, `x2`, … if the file has none.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        self.source.columns()
    }

    /// The column of a sparse file that holds all its inputs; `None` for other files.
    #[must_use]
    pub fn entries(&self) -> Option<Entries> {
        self.source.entries()
    }

    /// The number of the record that was read last, from 1; 0 before the first.
    #[must_use]
    pub fn row(&self) -> usize {
        self.row
    }

    /// Reads the next record into `record`; returns `false` at the end, when the contents of `record` are meaningless.
    ///
    /// After an error of one record ([`DataError::is_of_a_row`]) the next call continues with the record after it.
    ///
    /// # Errors
    /// [`DataError::Ragged`], [`DataError::Record`] and [`DataError::Field`] for one record; [`DataError::Source`] for a source
    /// that cannot be read further, with [`io::ErrorKind::UnexpectedEof`] for truncated compressed bytes and
    /// [`io::ErrorKind::InvalidData`] for a line longer than [`LONGEST_LINE`].
    pub fn next(&mut self, record: &mut Record) -> Result<bool, DataError> {
        self.row += 1;
        let more = self.source.next(record).map_err(|fault| fault.at(self.row))?;
        self.row -= usize::from(!more);
        Ok(more)
    }
}

fn boxed<'a, S: Source + 'a>(source: Option<S>) -> Option<Box<dyn Source + 'a>> {
    source.map(|source| Box::new(source) as Box<dyn Source + 'a>)
}

/// The next line that is not blank, without its end; `false` at the end.
///
/// # Errors
/// A file that cannot be read; a line that is not UTF-8.
fn next_line(reader: &mut dyn io::BufRead, line: &mut String) -> Result<bool, Fault> {
    loop {
        let mut bytes = std::mem::take(line).into_bytes();
        bytes.clear();
        let read = io::Read::take(&mut *reader, LONGEST_LINE as u64 + 1).read_until(b'\n', &mut bytes)?;
        if read > LONGEST_LINE {
            return Err(endless().into());
        }
        let known = bytes.len();
        *line = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            Fault::Record(format!(
                "byte {} of {known} is not UTF-8; `iconv -f WINDOWS-1252 -t UTF-8` converts a file of that code",
                at + 1
            ))
        })?;
        if read == 0 {
            return Ok(false);
        }
        if !line.trim().is_empty() {
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Read, repeat};

    use super::*;

    /// What reading says of `start` and then one byte for ever.
    fn read(format: Format, start: &str, byte: u8) -> Result<Vec<usize>, DataError> {
        let reader = BufReader::with_capacity(1 << 16, start.as_bytes().chain(repeat(byte)));
        let (mut records, mut record, mut sizes) = (Records::open(reader, format)?, Record::default(), Vec::new());
        while records.next(&mut record)? {
            sizes.push(record.size());
        }
        Ok(sizes)
    }

    #[test]
    fn a_line_without_end_is_an_error() {
        for (format, start, byte) in [
            (Format::CSV, "", b'x'),
            (Format::CSV, "a,b\n1,2\n3,\"", b'\n'),
            (Format::CSV, "a,b\n1,2\n3,", b'4'),
            (Format::Libsvm, "1 1:2\n1 1:", b'3'),
            #[cfg(feature = "json")]
            (Format::JsonLines, "{\"a\": 1}\n{\"a\": ", b' '),
        ] {
            let error = read(format, start, byte).unwrap_err();
            let row = if start.is_empty() { 1 } else { 2 };
            let expected = format!("row {row} cannot be read: a line or a record in quotes does not end within 32 MiB");
            assert_eq!(error.to_string(), expected, "{start}");
        }
        let columns = read(Format::CSV, &",".repeat(MOST_COLUMNS), b'\n').unwrap_err().to_string();
        assert!(columns.contains("4194305 columns, of which 4194304 are the most"), "{columns}");
    }
}
