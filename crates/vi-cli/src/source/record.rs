//! What every format of records gives.

use std::io;

use csv::StringRecord;

use crate::fnv;

/// A record: a field for each column, and what a sparse file has beside.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) fields: StringRecord,
    /// Inputs that are not 0, by index or by hash, as the file has them.
    pub(crate) entries: Vec<(u64, f64)>,
    /// How many times the record counts.
    pub(crate) weight: f64,
}

impl Default for Record {
    fn default() -> Self {
        Self { fields: StringRecord::new(), entries: Vec::new(), weight: 1.0 }
    }
}

impl Record {
    /// The hash of what `start` is the hash of, followed by this record.
    pub(crate) fn fingerprint(&self, start: u64) -> u64 {
        let mut hash = start;
        for field in &self.fields {
            hash = fnv::extended(fnv::extended(hash, field.as_bytes()), &[0]);
        }
        for (key, value) in &self.entries {
            hash = fnv::extended(fnv::extended(hash, &key.to_le_bytes()), &value.to_bits().to_le_bytes());
        }
        hash
    }

    /// The field of the column at `place`; empty where there is none.
    pub(crate) fn field(&self, place: usize) -> &str {
        self.fields.get(place).unwrap_or_default()
    }
}

/// Records of one format, read as they come in memory that does not grow with their number.
pub(super) trait Records {
    /// What the columns are called.
    fn columns(&self) -> &[String];

    /// What the column of a sparse file that holds all its inputs is.
    fn entries(&self) -> Option<Entries> {
        None
    }

    /// The next record; `false` at the end. After a fault of a row the next call goes on with the row after it.
    ///
    /// # Errors
    /// What is wrong, without the place, which the caller knows.
    fn next(&mut self, record: &mut Record) -> Result<bool, Fault>;
}

/// The column of a sparse file that holds all its inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entries {
    /// Where it is.
    pub(crate) column: usize,
    /// Whether inputs have names, and come as their hashes, instead of an index.
    pub(crate) named: bool,
}

/// What is wrong with a file or a record.
#[derive(Debug)]
pub(super) enum Fault {
    /// The file cannot be read on.
    File(io::Error),
    /// Another number of fields than there are columns.
    Ragged { expected: usize, found: usize },
    /// No record.
    Record(String),
    /// A field of the column that is none.
    Field { column: String, text: String, expected: &'static str },
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}

/// The next line that is not blank, without its end; `false` at the end.
///
/// # Errors
/// A file that cannot be read; a line that is not UTF-8.
pub(super) fn next_line(reader: &mut dyn io::BufRead, line: &mut String) -> Result<bool, Fault> {
    loop {
        let mut bytes = std::mem::take(line).into_bytes();
        bytes.clear();
        let read = reader.read_until(b'\n', &mut bytes)?;
        let known = bytes.len();
        *line = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            Fault::Record(format!("byte {} of {known} is not UTF-8; `iconv -t UTF-8` converts a file", at + 1))
        })?;
        if read == 0 {
            return Ok(false);
        }
        if !line.trim().is_empty() {
            return Ok(true);
        }
    }
}
