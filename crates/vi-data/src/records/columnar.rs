//! Parquet and Arrow: columns in batches, one of which is text in memory.

#[cfg(feature = "columnar")]
mod files;

use std::io::{self, ErrorKind};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowTimestampType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Schema, TimeUnit};

use super::record::{Fault, Record, Source};

/// The number of rows in a batch of Parquet, or of a table in memory.
const BATCH: usize = 1024;

type Batches<'a> = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + 'a>;

/// The records of a columnar file.
pub(super) struct Columnar<'a> {
    format: &'static str,
    batches: Batches<'a>,
    columns: Vec<String>,
    /// Which columns of times are dates; empty where nobody knows.
    dates: Vec<bool>,
    /// The columns of the batch as text, and how many of its rows have been read.
    texts: Vec<StringArray>,
    rows: usize,
    read: usize,
}

impl<'a> Columnar<'a> {
    fn new(format: &'static str, schema: &Schema, batches: Batches<'a>) -> Self {
        let columns = schema.fields().iter().map(|field| field.name().clone()).collect();
        Self { format, batches, columns, dates: Vec::new(), texts: Vec::new(), rows: 0, read: 0 }
    }

    /// A table in memory.
    pub(super) fn table(schema: &Schema, batches: Vec<RecordBatch>) -> Self {
        let midnight =
            |k: usize| batches.iter().all(|batch| batch.columns().get(k).is_some_and(|own| is_midnight(own)));
        let dates = (0..schema.fields().len()).map(midnight).collect();
        let parts = batches.into_iter().flat_map(|batch| {
            let starts = (0..batch.num_rows()).step_by(BATCH);
            starts.map(move |first| Ok(batch.slice(first, BATCH.min(batch.num_rows() - first))))
        });
        Self { dates, ..Self::new("Arrow", schema, Box::new(parts)) }
    }

    /// Reads the next batch that has rows; returns `false` at the end.
    fn advance(&mut self) -> Result<bool, Fault> {
        while self.read == self.rows {
            let Some(batch) = self.batches.next() else { return Ok(false) };
            let batch = batch.map_err(|error| fault(self.format, error))?;
            (self.read, self.rows) = (0, batch.num_rows());
            self.texts.clear();
            for (k, (name, column)) in self.columns.iter().zip(batch.columns()).enumerate() {
                self.texts.push(texts(name, column, self.dates.get(k).copied().unwrap_or(false))?);
            }
        }
        Ok(true)
    }
}

impl Source for Columnar<'_> {
    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn next(&mut self, record: &mut Record) -> Result<bool, Fault> {
        if !self.advance()? {
            return Ok(false);
        }
        record.fields.clear();
        for column in &self.texts {
            record.fields.push_field(if column.is_null(self.read) { "" } else { column.value(self.read) });
        }
        self.read += 1;
        Ok(true)
    }
}

/// A column as the text that a CSV file would have: numbers that read back to the same bits, dates in the ISO form. A column
/// whose entries hold several values cannot be an input, and has the same text everywhere.
fn texts(name: &str, column: &dyn Array, dates: bool) -> Result<StringArray, Fault> {
    if column.data_type().is_nested() {
        return Ok(StringArray::from(vec!["several values at once"; column.len()]));
    }
    let cannot = || {
        let what = format!("column `{name}` holds {} values, which are not read", column.data_type());
        Fault::File(io::Error::new(ErrorKind::Unsupported, what))
    };
    let plainer = if dates { arrow_cast::cast(column, &DataType::Date32).ok() } else { universal_time(column) };
    let column = plainer.as_deref().unwrap_or(column);
    let cast = arrow_cast::cast(column, &DataType::Utf8).map_err(|_| cannot())?;
    cast.as_any().downcast_ref::<StringArray>().cloned().ok_or_else(cannot)
}

/// Times with a time zone, converted to UTC.
fn universal_time(column: &dyn Array) -> Option<ArrayRef> {
    fn without_zone<T: ArrowTimestampType>(column: &dyn Array) -> Option<ArrayRef> {
        let times = column.as_primitive_opt::<T>()?.clone().with_timezone_opt(None::<&str>);
        Some(Arc::new(times))
    }
    let DataType::Timestamp(unit, Some(_)) = column.data_type() else { return None };
    match unit {
        TimeUnit::Second => without_zone::<TimestampSecondType>(column),
        TimeUnit::Millisecond => without_zone::<TimestampMillisecondType>(column),
        TimeUnit::Microsecond => without_zone::<TimestampMicrosecondType>(column),
        TimeUnit::Nanosecond => without_zone::<TimestampNanosecondType>(column),
    }
}

/// Whether a column has times without a zone, and all are midnight.
fn is_midnight(column: &dyn Array) -> bool {
    fn all<T: ArrowTimestampType>(column: &dyn Array, second: i64) -> bool {
        column.as_primitive_opt::<T>().is_some_and(|own| own.iter().flatten().all(|time| time % (86_400 * second) == 0))
    }
    let DataType::Timestamp(unit, None) = column.data_type() else { return false };
    match unit {
        TimeUnit::Second => all::<TimestampSecondType>(column, 1),
        TimeUnit::Millisecond => all::<TimestampMillisecondType>(column, 1_000),
        TimeUnit::Microsecond => all::<TimestampMicrosecondType>(column, 1_000_000),
        TimeUnit::Nanosecond => all::<TimestampNanosecondType>(column, 1_000_000_000),
    }
}

fn fault(format: &str, error: ArrowError) -> Fault {
    match error {
        ArrowError::IoError(_, source) => Fault::File(source),
        other => damaged(format, &other),
    }
}

/// A library's message about a file that it cannot read, in one line.
fn damaged(format: &str, error: &dyn std::fmt::Display) -> Fault {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    if let Some((_, compression)) = line.split_once("Disabled feature at compile time: ") {
        let compression = compression.trim_end_matches(|c: char| !c.is_alphanumeric());
        let what = format!("compressed by {compression}, which is not read; write it by zstd, snappy, lz4 or gzip");
        return Fault::File(io::Error::new(ErrorKind::Unsupported, what));
    }
    Fault::File(io::Error::new(
        ErrorKind::InvalidData,
        format!("no whole {format} file ({line}); copy or write it again"),
    ))
}
