//! `rvi predict`: an expectation and an interval for every row.

use std::io::Write;
use std::path::Path;

use serde_json::Value;
use vi_models::online::Prediction;
use vi_terms::table::{Document, Source};

use crate::args::Predict;
use crate::document::answering;
use crate::error::CliError;
use crate::files::whole_file;
use crate::output::{Table, format_of};
use crate::source::{File, Record};
use crate::tell;

pub(super) fn predict(args: &Predict) -> Result<(), CliError> {
    let document = answering(&args.model)?;
    document.ready(args.intervals()).map_err(|error| {
        let path = args.model.clone();
        CliError::Document { path, what: error.to_string() }
    })?;
    let mut source = File::open(&args.input.input())?;
    let Written { unknown, new, skewed } = if let Some(path) = &args.output {
        whole_file(path, |out| write_all(args, &document, &mut source, path, out))?
    } else {
        write_all(args, &document, &mut source, tell::output(), &mut *tell::table_output())?
    };
    if unknown > 0 {
        tell::warn(&format!("{unknown} entries of inputs outside the model were left out"));
    }
    if new > 0 {
        crate::tell::warn(&format!("{new} texts unknown to the model were taken as `(other)`"));
    }
    if skewed > 0 {
        crate::tell::warn(&format!(
            "in {skewed} rows the probability, a posterior mean, lies outside its interval, because the posterior is skewed"
        ));
    }
    if source.skipped() > 0 {
        tell::warn(&format!("{} rows of {} were left out", source.skipped(), source.path().display()));
    }
    Ok(())
}

/// Counts of notable values among the written predictions.
struct Written {
    /// Entries without an input of the model.
    unknown: u64,
    /// Texts that were in none of the first rows of the model.
    new: u64,
    /// Probabilities outside their intervals.
    skewed: u64,
}

/// Writes the predictions of all rows to `out`, which errors call `path`.
fn write_all(
    args: &Predict,
    document: &Document,
    source: &mut File,
    path: &Path,
    out: &mut (dyn Write + Send),
) -> Result<Written, CliError> {
    let mut answers = document.answers(source.columns()).map_err(|error| source.refused(error))?;
    let failed = |error| CliError::file(path, error);
    let format = args.to.unwrap_or_else(|| format_of(args.output.as_deref()));
    let intervals = args.intervals();
    let columns = std::iter::once("row".to_owned()).chain(document.field_names(intervals)).collect();
    let mut table = Table::new(format, columns, out).map_err(failed)?;
    let mut record = Record::default();
    let mut skewed = 0;
    while source.next(&mut record)? {
        let row = source.row();
        let predicted = match answers.predict(&record, row) {
            Ok(predicted) => predicted,
            Err(error) => {
                source.forgive(error)?;
                continue;
            }
        };
        let mut fields = vec![Value::from(row)];
        fields
            .extend(document.fields(&predicted, (args.level, intervals), row).map_err(|error| source.refused(error))?);
        skewed += u64::from(matches!(predicted, Prediction::Two(_)) && !args.certified && is_outside(&fields));
        table.row(fields).map_err(failed)?;
    }
    table.finish().map_err(failed)?;
    Ok(Written { unknown: answers.unknown(), new: answers.new_texts(), skewed })
}

/// Whether the last three fields are a mean outside its interval, and the ends of that interval.
fn is_outside(fields: &[Value]) -> bool {
    let [.., mean, lower, upper] = fields else { return false };
    let (mean, lower, upper) = (mean.as_f64(), lower.as_f64(), upper.as_f64());
    mean < lower || mean > upper
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::is_outside;

    #[test]
    fn a_mean_outside_its_interval_is_seen() {
        let fields = |mean: f64| [json!(1), json!("yes"), json!(mean), json!(0.991), json!(0.999)];
        assert_eq!([0.99, 0.995, 0.9995].map(|mean| is_outside(&fields(mean))), [true, false, true]);
        assert!(!is_outside(&[Value::from(1)]));
    }
}
