//! Parquet and Arrow IPC: columns in batches, one of which is in memory.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowTimestampType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, DataType, Schema, TimeUnit};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::Reader;
use super::record::{Fault, Record, Source};

/// The number of rows in a batch of Parquet.
const BATCH: usize = 1024;

const PARQUET: &str = "Parquet";
const ARROW: &str = "Arrow IPC";

type Batches<'a> = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + 'a>;

/// The records of a columnar file.
pub(super) struct Columnar<'a> {
    format: &'static str,
    batches: Batches<'a>,
    columns: Vec<String>,
    /// The columns of the batch as text, and how many of its rows have been read.
    texts: Vec<StringArray>,
    rows: usize,
    read: usize,
}

impl<'a> Columnar<'a> {
    /// Opens a Parquet file.
    ///
    /// # Errors
    /// A file that is not Parquet, or is truncated.
    pub(super) fn parquet(file: File) -> Result<Self, Fault> {
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| damaged(PARQUET, &error))?;
        let schema = builder.schema().clone();
        let batches = builder.with_batch_size(BATCH).build().map_err(|error| damaged(PARQUET, &error))?;
        Ok(Self::new(PARQUET, &schema, Box::new(batches)))
    }

    /// Opens the form with an index at its end (also called Feather).
    ///
    /// # Errors
    /// A file that is not Arrow IPC, or is truncated.
    pub(super) fn arrow_file(file: File) -> Result<Self, Fault> {
        let reader = FileReader::try_new(BufReader::new(file), None).map_err(|error| fault(ARROW, error))?;
        Ok(Self::new(ARROW, &reader.schema(), Box::new(reader)))
    }

    /// Opens the form that can be read as a stream.
    ///
    /// # Errors
    /// A stream that is not Arrow IPC.
    pub(super) fn arrow_stream(reader: Reader<'a>) -> Result<Self, Fault> {
        let reader = StreamReader::try_new(reader, None).map_err(|error| fault(ARROW, error))?;
        Ok(Self::new(ARROW, &reader.schema(), Box::new(reader)))
    }

    fn new(format: &'static str, schema: &Schema, batches: Batches<'a>) -> Self {
        let columns = schema.fields().iter().map(|field| field.name().clone()).collect();
        Self { format, batches, columns, texts: Vec::new(), rows: 0, read: 0 }
    }

    /// Reads the next batch that has rows; returns `false` at the end.
    fn advance(&mut self) -> Result<bool, Fault> {
        while self.read == self.rows {
            let Some(batch) = self.batches.next() else { return Ok(false) };
            let batch = batch.map_err(|error| fault(self.format, error))?;
            (self.read, self.rows) = (0, batch.num_rows());
            self.texts.clear();
            for (name, column) in self.columns.iter().zip(batch.columns()) {
                self.texts.push(texts(name, column)?);
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
fn texts(name: &str, column: &dyn Array) -> Result<StringArray, Fault> {
    if column.data_type().is_nested() {
        return Ok(StringArray::from(vec!["several values at once"; column.len()]));
    }
    let cannot = || {
        let what = format!("column `{name}` holds {} values, which are not read", column.data_type());
        Fault::File(io::Error::new(ErrorKind::Unsupported, what))
    };
    let universal = universal_time(column);
    let column = universal.as_deref().unwrap_or(column);
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
