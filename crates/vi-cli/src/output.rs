//! Tables that are written row by row: CSV, JSON lines, Parquet.

use std::io::{self, Write};
use std::path::Path;

use serde_json::{Map, Value};
use vi_terms::table::text::csv_line;

use crate::args::Format;

/// A writer of the rows of a table.
pub(crate) struct Table<'a> {
    columns: Vec<String>,
    writer: Writer<'a>,
}

enum Writer<'a> {
    Csv(&'a mut (dyn Write + Send)),
    Jsonl(&'a mut (dyn Write + Send)),
    #[cfg(feature = "columnar")]
    Parquet(columnar::Rows<'a>),
}

/// The format that the end of a file's name says, otherwise CSV.
pub(crate) fn format_of(path: Option<&Path>) -> Format {
    match path.and_then(Path::extension).and_then(|end| end.to_str()) {
        Some("jsonl" | "ndjson" | "json") => Format::Jsonl,
        #[cfg(feature = "columnar")]
        Some("parquet" | "pq") => Format::Parquet,
        _ => Format::Csv,
    }
}

impl<'a> Table<'a> {
    /// Begins a table with these columns.
    ///
    /// # Errors
    /// The errors of `out`.
    pub(crate) fn new(format: Format, columns: Vec<String>, out: &'a mut (dyn Write + Send)) -> io::Result<Self> {
        let writer = match format {
            Format::Csv => {
                let names: Vec<Value> = columns.iter().cloned().map(Value::from).collect();
                out.write_all(csv_line(&names).as_bytes())?;
                Writer::Csv(out)
            }
            Format::Jsonl => Writer::Jsonl(out),
            #[cfg(feature = "columnar")]
            Format::Parquet => Writer::Parquet(columnar::Rows::new(out)),
        };
        Ok(Self { columns, writer })
    }

    /// Writes a row, a value for each column.
    ///
    /// # Errors
    /// The errors of `out`.
    pub(crate) fn row(&mut self, values: Vec<Value>) -> io::Result<()> {
        match &mut self.writer {
            Writer::Csv(out) => out.write_all(csv_line(&values).as_bytes()),
            Writer::Jsonl(out) => {
                let object: Map<String, Value> = self.columns.iter().cloned().zip(values).collect();
                writeln!(out, "{}", Value::Object(object))
            }
            #[cfg(feature = "columnar")]
            Writer::Parquet(rows) => rows.add(&self.columns, values),
        }
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// The errors of `out`.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self.writer {
            Writer::Csv(out) | Writer::Jsonl(out) => out.flush(),
            #[cfg(feature = "columnar")]
            Writer::Parquet(rows) => rows.finish(&self.columns),
        }
    }
}

#[cfg(feature = "columnar")]
mod columnar {
    use std::io::{self, Write};
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
    use parquet::arrow::ArrowWriter;
    use parquet::file::properties::WriterProperties;
    use serde_json::Value;

    /// Rows that are turned into columns together, and those of a group of the file.
    const BATCH: usize = 8192;
    const GROUP: usize = 16 * BATCH;

    /// Rows of a Parquet file.
    pub(super) struct Rows<'a> {
        state: State<'a>,
        waiting: Vec<Vec<Value>>,
    }

    enum State<'a> {
        Before(&'a mut (dyn Write + Send)),
        Begun(Box<ArrowWriter<&'a mut (dyn Write + Send)>>),
        Broken,
    }

    impl<'a> Rows<'a> {
        pub(super) fn new(out: &'a mut (dyn Write + Send)) -> Self {
            Self { state: State::Before(out), waiting: Vec::new() }
        }

        pub(super) fn add(&mut self, columns: &[String], values: Vec<Value>) -> io::Result<()> {
            self.waiting.push(values);
            if self.waiting.len() < BATCH { Ok(()) } else { self.write(columns) }
        }

        fn write(&mut self, columns: &[String]) -> io::Result<()> {
            let rows = std::mem::take(&mut self.waiting);
            let column = |(k, name): (usize, &String)| {
                let of = |row: &'_ Vec<Value>| row.get(k).cloned().unwrap_or(Value::Null);
                let values: Vec<Value> = rows.iter().map(of).collect();
                (name.clone(), array(&values), true)
            };
            let batch = RecordBatch::try_from_iter_with_nullable(columns.iter().enumerate().map(column));
            let batch = batch.map_err(io::Error::other)?;
            self.state = match std::mem::replace(&mut self.state, State::Broken) {
                State::Before(out) => {
                    let settings = WriterProperties::builder().set_max_row_group_row_count(Some(GROUP)).build();
                    let writer = ArrowWriter::try_new(out, batch.schema(), Some(settings));
                    State::Begun(Box::new(writer.map_err(io::Error::other)?))
                }
                other => other,
            };
            match &mut self.state {
                State::Begun(writer) => writer.write(&batch).map_err(io::Error::other),
                State::Before(_) | State::Broken => Err(io::Error::other("the file could not be created")),
            }
        }

        pub(super) fn finish(mut self, columns: &[String]) -> io::Result<()> {
            self.write(columns)?;
            match self.state {
                State::Begun(writer) => writer.close().map(|_| ()).map_err(io::Error::other),
                State::Before(_) | State::Broken => Ok(()),
            }
        }
    }

    /// Texts where one is among the values, whole numbers where all are, floats otherwise.
    fn array(values: &[Value]) -> ArrayRef {
        if values.iter().any(Value::is_string) {
            Arc::new(values.iter().map(Value::as_str).collect::<StringArray>())
        } else if values.iter().all(Value::is_u64) {
            Arc::new(values.iter().map(Value::as_u64).collect::<UInt64Array>())
        } else {
            Arc::new(values.iter().map(Value::as_f64).collect::<Float64Array>())
        }
    }
}
