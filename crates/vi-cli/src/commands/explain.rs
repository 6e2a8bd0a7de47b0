//! `rvi explain`: what each column adds to the prediction of every row.

use std::io::Write;
use std::path::Path;

use serde_json::Value;
use vi_terms::table::{Document, Source, left_out};

use super::predict::kept;
use crate::args::Explain;
use crate::document::answering;
use crate::error::CliError;
use crate::files::whole_file;
use crate::output::Table;
use crate::source::File;
use crate::tell;

const COLUMNS: [&str; 6] = ["row", "part", "mean", "sd", "lower", "upper"];

pub(super) fn explain(args: &Explain) -> Result<(), CliError> {
    let document = answering(&args.model)?;
    let mut source = File::open(&args.input.input())?;
    match &args.table.output {
        Some(path) => whole_file(path, |out| write_all(args, &document, &mut source, path, out))?,
        None => write_all(args, &document, &mut source, tell::output(), &mut *tell::table_output())?,
    }
    if let Some(note) = left_out(source.skipped(), source.path()) {
        tell::warn(&note);
    }
    Ok(())
}

/// Writes the parts of all rows to `out`, which errors call `path`.
fn write_all(
    args: &Explain,
    document: &Document,
    source: &mut File,
    path: &Path,
    out: &mut (dyn Write + Send),
) -> Result<(), CliError> {
    // A model without explanations is an error before anything is written.
    let explainer = document.explainer(source.columns()).map_err(|error| source.refused(error))?;
    let failed = |error| CliError::file(path, error);
    let mut columns = COLUMNS.map(str::to_owned).to_vec();
    let keep = kept(&args.table.keep, source, &mut columns)?;
    let mut table = Table::new(args.table.format(), columns, out).map_err(failed)?;
    explainer.explain_rows(source, (args.table.level, args.top), |row, record, parts| {
        parts.into_iter().try_for_each(|part| {
            let numbers = [part.mean, part.sd, part.lower, part.upper].map(Value::from);
            let fields = [Value::from(row), Value::from(part.name)].into_iter().chain(numbers);
            table
                .row(fields.chain(keep.iter().map(|&place| Value::from(record.field(place)))).collect())
                .map_err(failed)
        })
    })?;
    table.finish().map_err(failed)
}
