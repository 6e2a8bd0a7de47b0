//! One record, and the trait of formats of records.

use std::io;

use csv::StringRecord;

use crate::{DataError, fnv};

/// One record: a field for each column, and for a sparse file its entries and weight.
#[derive(Debug, Clone)]
pub struct Record {
    pub(super) fields: StringRecord,
    /// The inputs of a sparse file that are not 0, by index (in ascending order) or by the hash of their names (in the order of the file).
    pub entries: Vec<(u64, f64)>,
    /// How many times the record counts: the importance of Vowpal Wabbit, else 1.
    pub weight: f64,
}

impl Default for Record {
    /// An empty record, which counts once.
    fn default() -> Self {
        Self { fields: StringRecord::new(), entries: Vec::new(), weight: 1.0 }
    }
}

impl Record {
    /// The field of the column at `place`, from 0; empty if there is no such column.
    #[must_use]
    pub fn field(&self, place: usize) -> &str {
        self.fields.get(place).unwrap_or_default()
    }

    /// Appends a field, that of a column after all others.
    pub fn push(&mut self, field: &str) {
        self.fields.push_field(field);
    }

    /// The fields in the order of the columns.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.fields.iter()
    }

    /// How many bytes of memory it takes, roughly.
    #[must_use]
    pub fn size(&self) -> usize {
        self.fields.as_slice().len() + size_of::<usize>() * self.fields.len() + size_of_val(&self.entries[..])
    }

    /// The hash ([`fnv`]) of the bytes whose hash is `start`, followed by this record: a fingerprint of all rows read so far.
    #[must_use]
    pub fn fingerprint(&self, start: u64) -> u64 {
        let mut hash = start;
        for field in &self.fields {
            hash = fnv::extended(fnv::extended(hash, field.as_bytes()), &[0]);
        }
        for (key, value) in &self.entries {
            hash = fnv::extended(fnv::extended(hash, &key.to_le_bytes()), &value.to_bits().to_le_bytes());
        }
        hash
    }
}

/// A record of these fields, which counts once.
///
/// ```
/// use vi_data::records::Record;
///
/// let record: Record = ["12.5", "UA"].into_iter().collect();
/// assert_eq!((record.field(1), record.weight), ("UA", 1.0));
/// ```
impl<S: AsRef<str>> FromIterator<S> for Record {
    fn from_iter<I: IntoIterator<Item = S>>(fields: I) -> Self {
        let mut record = Self::default();
        fields.into_iter().for_each(|field| record.fields.push_field(field.as_ref()));
        record
    }
}

/// The records of one format, read one at a time.
pub(super) trait Source {
    /// The names of the columns.
    fn columns(&self) -> &[String];

    /// The column of a sparse file that holds all its inputs, if it is one.
    fn entries(&self) -> Option<Entries> {
        None
    }

    /// Reads the next record; returns `false` at the end. After a fault of a row the next call continues with the row after it.
    ///
    /// # Errors
    /// What is wrong, without the row, which the caller adds.
    fn next(&mut self, record: &mut Record) -> Result<bool, Fault>;
}

/// The column of a sparse file that holds all its inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entries {
    /// The index of the column.
    pub column: usize,
    /// Whether inputs have names, given as their hashes, instead of an index.
    pub named: bool,
}

/// A fault of a file or a record, without its row.
#[derive(Debug)]
pub(super) enum Fault {
    /// The file cannot be read further.
    File(io::Error),
    /// The number of fields is not that of the columns.
    Ragged { expected: usize, found: usize },
    /// The line is not a record.
    Record(String),
    /// A field of the column is invalid.
    Field { column: String, text: String, expected: &'static str },
}

impl Fault {
    /// The error of row `row`.
    pub(super) fn at(self, row: usize) -> DataError {
        match self {
            Self::File(source) => DataError::Source { row, source },
            Self::Ragged { expected, found } => DataError::Ragged { row, expected, found },
            Self::Record(what) => DataError::Record { row, what },
            Self::Field { column, text, expected } => DataError::Field { row, column, text, expected },
        }
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}
