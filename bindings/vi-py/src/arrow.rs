//! Tables of any library that exports the C stream of Arrow.

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::SchemaRef;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use vi_data::DataError;
use vi_data::records::{Record, Records};
use vi_terms::TermsError;
use vi_terms::table::{Columns, Source};

use crate::fault::{Fault, caught};

/// A table in memory, which can be read again and again.
pub(crate) struct Batches {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Batches {
    /// Takes over the table of a Python object.
    ///
    /// # Errors
    /// `TypeError` for an object without a C stream; what its library raises; `ValueError` for a stream that cannot be read.
    pub(crate) fn of(table: &Bound<'_, PyAny>) -> PyResult<Self> {
        if !table.hasattr("__arrow_c_stream__")? {
            let kind = table.get_type().name()?;
            let what = "a table with named columns is needed (pandas, Polars, PyArrow, or a dict of columns), not";
            return Err(PyTypeError::new_err(format!("{what} {kind}")));
        }
        let capsule = table.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
        let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
        // SAFETY: a capsule of this name holds a stream (Arrow's PyCapsule interface), which lives as long as the capsule; it is moved out,
        // and one that counts as released stays in its place.
        let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) };
        // What a library exports may be damaged.
        Ok(caught(|| {
            let mut reader = RecordBatchStreamReader::try_new(stream).map_err(failed)?;
            let batches = reader.by_ref().collect::<Result<_, _>>().map_err(failed)?;
            Ok(Self { schema: reader.schema(), batches })
        })?)
    }

    /// The rows from the first on.
    ///
    /// # Errors
    /// Two columns of one name.
    pub(crate) fn open(&self, skip_bad: bool) -> Result<TableRows, Fault> {
        let records = Records::arrow_table(&self.schema, self.batches.clone()).map_err(|error| told(&error))?;
        let columns = Columns::new(records.columns().iter().cloned(), None);
        Ok(TableRows { columns, records, skip_bad, skipped: 0 })
    }
}

fn failed(error: impl std::fmt::Display) -> Fault {
    Fault::Value(format!("the table cannot be read: {error}"))
}

fn told(error: &DataError) -> Fault {
    Fault::Value(match error {
        DataError::Source { source, .. } => source.to_string(),
        other => other.to_string(),
    })
}

/// Rows between which Ctrl-C is heard.
const PIECE: u64 = 256;

/// The rows of a table in memory.
pub(crate) struct TableRows {
    columns: Columns,
    records: Records<'static>,
    skip_bad: bool,
    /// Rows that were skipped.
    pub(crate) skipped: u64,
}

impl Source for TableRows {
    type Error = Fault;

    fn columns(&self) -> &Columns {
        &self.columns
    }

    fn row(&self) -> u64 {
        self.records.row() as u64
    }

    fn next(&mut self, record: &mut Record) -> Result<bool, Fault> {
        if self.row().is_multiple_of(PIECE) {
            #[expect(clippy::redundant_closure_for_method_calls, reason = "the method alone is of one lifetime")]
            Python::attach(|py| py.check_signals())?;
        }
        self.records.next(record).map_err(|error| told(&error))
    }

    fn refused(&self, error: TermsError) -> Fault {
        Fault::Table(error)
    }

    fn cause(error: &Fault) -> Option<&TermsError> {
        if let Fault::Table(error) = error { Some(error) } else { None }
    }

    fn forgive(&mut self, error: TermsError) -> Result<(), Fault> {
        if self.skip_bad && error.is_of_a_row() {
            self.skipped += 1;
            Ok(())
        } else {
            Err(self.refused(error))
        }
    }
}
