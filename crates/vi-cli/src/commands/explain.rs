//! `rvi explain`: what each column adds to the prediction of every row.

use std::io::Write;
use std::path::Path;

use serde_json::Value;
use vi_models::{Marginal, ModelError};
use vi_terms::TermsError;
use vi_terms::table::{Document, Explainer, Source};

use crate::args::Explain;
use crate::document::answering;
use crate::error::CliError;
use crate::files::whole_file;
use crate::output::{Table, format_of};
use crate::source::{File, Record};
use crate::tell;

const COLUMNS: [&str; 6] = ["row", "part", "mean", "sd", "lower", "upper"];

pub(super) fn explain(args: &Explain) -> Result<(), CliError> {
    let document = answering(&args.model)?;
    let mut source = File::open(&args.input.input())?;
    match &args.output {
        Some(path) => whole_file(path, |out| write_all(args, &document, &mut source, path, out))?,
        None => write_all(args, &document, &mut source, tell::output(), &mut *tell::table_output())?,
    }
    if source.skipped() > 0 {
        tell::warn(&format!("{} rows of {} were left out", source.skipped(), source.path().display()));
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
    let mut explainer = document.explainer(source.columns()).map_err(|error| source.refused(error))?;
    let failed = |error| CliError::file(path, error);
    let format = args.to.unwrap_or_else(|| format_of(args.output.as_deref()));
    let mut table = Table::new(format, COLUMNS.map(str::to_owned).to_vec(), out).map_err(failed)?;
    let mut record = Record::default();
    while source.next(&mut record)? {
        match lines(args, &mut explainer, &record, source.row()) {
            Ok(lines) => lines.into_iter().try_for_each(|line| table.row(line)).map_err(failed)?,
            Err(error) => source.forgive(error)?,
        }
    }
    table.finish().map_err(failed)
}

/// The lines of one row: the average row, the largest parts, all others together, the prediction.
fn lines(
    args: &Explain,
    explainer: &mut Explainer<'_>,
    record: &Record,
    row: u64,
) -> Result<Vec<Vec<Value>>, TermsError> {
    let mut found = explainer.explain(record, row)?;
    found.parts.sort_by(|(_, a), (_, b)| b.mean().abs().total_cmp(&a.mean().abs()));
    let others: Vec<usize> = found.parts.iter().skip(args.top).map(|(part, _)| *part).collect();
    let line = |name: &str, belief: &Marginal| -> Result<Vec<Value>, ModelError> {
        let interval = belief.interval(args.level)?;
        let numbers = [belief.mean(), belief.standard_deviation(), interval.lower, interval.upper];
        Ok([Value::from(row), Value::from(name)].into_iter().chain(numbers.map(Value::from)).collect())
    };
    let all = (|| {
        let mut all = vec![line("(average row)", &found.base)?];
        for (part, belief) in found.parts.iter().take(args.top) {
            all.push(line(&explainer.names()[*part], belief)?);
        }
        if !others.is_empty() {
            all.push(line("(others)", &explainer.together(&others)?)?);
        }
        all.push(line("(this row)", &found.predictor)?);
        Ok(all)
    })();
    all.map_err(|source| TermsError::Row { row, source })
}
