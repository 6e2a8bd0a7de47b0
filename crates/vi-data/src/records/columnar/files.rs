//! Files of Parquet and of Arrow IPC.

use std::fs::File;
use std::io::BufReader;

use arrow_ipc::reader::{FileReader, StreamReader};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::{BATCH, Columnar, damaged, fault};
use crate::records::Reader;
use crate::records::record::Fault;

const PARQUET: &str = "Parquet";
const ARROW: &str = "Arrow IPC";

impl<'a> Columnar<'a> {
    /// Opens a Parquet file.
    ///
    /// # Errors
    /// A file that is not Parquet, or is truncated.
    pub(in crate::records) fn parquet(file: File) -> Result<Self, Fault> {
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| damaged(PARQUET, &error))?;
        let schema = builder.schema().clone();
        let batches = builder.with_batch_size(BATCH).build().map_err(|error| damaged(PARQUET, &error))?;
        Ok(Self::new(PARQUET, &schema, Box::new(batches)))
    }

    /// Opens the form with an index at its end (also called Feather).
    ///
    /// # Errors
    /// A file that is not Arrow IPC, or is truncated.
    pub(in crate::records) fn arrow_file(file: File) -> Result<Self, Fault> {
        let reader = FileReader::try_new(BufReader::new(file), None).map_err(|error| fault(ARROW, error))?;
        Ok(Self::new(ARROW, &reader.schema(), Box::new(reader)))
    }

    /// Opens the form that can be read as a stream.
    ///
    /// # Errors
    /// A stream that is not Arrow IPC.
    pub(in crate::records) fn arrow_stream(reader: Reader<'a>) -> Result<Self, Fault> {
        let reader = StreamReader::try_new(reader, None).map_err(|error| fault(ARROW, error))?;
        Ok(Self::new(ARROW, &reader.schema(), Box::new(reader)))
    }
}
