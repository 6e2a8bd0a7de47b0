//! `rvi predict`: an expectation and an interval for every row.

use std::io::Write;
use std::path::Path;

use serde_json::Value;
use vi_terms::TermsError;
use vi_terms::table::{Document, Notes, Source, left_out};

use crate::args::Predict;
use crate::document::answering;
use crate::error::CliError;
use crate::files::whole_file;
use crate::output::Table;
use crate::source::{File, Record};
use crate::tell;

pub(super) fn predict(args: &Predict) -> Result<(), CliError> {
    let document = answering(&args.model)?;
    document.ready(args.intervals()).map_err(|error| {
        let path = args.model.clone();
        CliError::Document { path, what: error.to_string() }
    })?;
    let mut source = File::open(&args.input.input())?;
    let notes = if let Some(path) = &args.table.output {
        whole_file(path, |out| write_all(args, &document, &mut source, path, out))?
    } else {
        write_all(args, &document, &mut source, tell::output(), &mut *tell::table_output())?
    };
    notes.lines().iter().for_each(|note| tell::warn(note));
    if let Some(note) = left_out(source.skipped(), source.path()) {
        tell::warn(&note);
    }
    Ok(())
}

/// Writes the predictions of all rows to `out`, which errors call `path`.
fn write_all(
    args: &Predict,
    document: &Document,
    source: &mut File,
    path: &Path,
    out: &mut (dyn Write + Send),
) -> Result<Notes, CliError> {
    let failed = |error| CliError::file(path, error);
    let intervals = args.intervals();
    let mut columns: Vec<String> = std::iter::once("row".to_owned()).chain(document.field_names(intervals)).collect();
    let keep = kept(&args.table.keep, source, &mut columns)?;
    let answers = document.answers(source.columns()).map_err(|error| source.refused(error))?;
    let mut table = Table::new(args.table.format(), columns, out).map_err(failed)?;
    let each = |record: &Record, mut fields: Vec<Value>| {
        fields.extend(keep.iter().map(|&place| Value::from(record.field(place))));
        table.row(fields).map_err(failed)
    };
    let notes = answers.predict_rows(source, (args.table.level, intervals), each)?;
    table.finish().map_err(failed)?;
    Ok(notes)
}

/// The places of the columns of `source` that are written beside `columns`, to which their names are added.
///
/// # Errors
/// A column that is not there, or whose name another has.
pub(super) fn kept(keep: &[String], source: &File, columns: &mut Vec<String>) -> Result<Vec<usize>, CliError> {
    let places = keep.iter().map(|name| source.columns().position(name)).collect::<Result<_, _>>();
    let places = places.map_err(|error| source.refused(error))?;
    for name in keep {
        if columns.contains(name) {
            let what = format!("`{name}` is a column of the output already; rename that of the file");
            return Err(source.refused(TermsError::Option { option: "keep", value: name.clone(), what }));
        }
        columns.push(name.clone());
    }
    Ok(places)
}
