//! `rvi predict`: an expectation and an interval for every row.

use std::io::Write;
use std::path::Path;

use serde_json::Value;
use vi_models::ModelError;
use vi_models::online::Prediction;

use crate::args::Predict;
use crate::document::Document;
use crate::error::CliError;
use crate::files::whole_file;
use crate::learn::Reader;
use crate::output::{Table, format_of};
use crate::source::{Record, Source};
use crate::target::TargetKind;
use crate::tell;

pub(super) fn predict(args: &Predict) -> Result<(), CliError> {
    let document = Document::open(&args.model)?;
    let mut source = Source::open(&args.input)?;
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
    if source.skipped > 0 {
        tell::warn(&format!("{} rows of {} were left out", source.skipped, source.path().display()));
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
    source: &mut Source,
    path: &Path,
    out: &mut (dyn Write + Send),
) -> Result<Written, CliError> {
    let mut reader = Reader::new(&document.schema, &document.model, source)?;
    let failed = |error| CliError::file(path, error);
    let format = args.to.unwrap_or_else(|| format_of(args.output.as_deref()));
    let mut table = Table::new(format, columns(&document.target.kind), out).map_err(failed)?;
    let mut record = Record::default();
    let mut skewed = 0;
    while source.next(&mut record)? {
        let predicted = match reader.predict(&document.model, &record, source) {
            Ok(predicted) => predicted,
            Err(error) => {
                source.forgive(error)?;
                continue;
            }
        };
        let refused = |error| CliError::Model { place: source.place(), source: error };
        let fields = fields(&document.target.kind, &predicted, args.level, source.place().row).map_err(refused)?;
        skewed += u64::from(matches!(predicted, Prediction::Two(_)) && is_outside(&fields));
        table.row(fields).map_err(failed)?;
    }
    table.finish().map_err(failed)?;
    Ok(Written { unknown: reader.unknown(), new: reader.new_texts(), skewed })
}

/// Whether the last three fields are a mean outside its interval, and the ends of that interval.
fn is_outside(fields: &[Value]) -> bool {
    let [.., mean, lower, upper] = fields else { return false };
    let (mean, lower, upper) = (mean.as_f64(), lower.as_f64(), upper.as_f64());
    mean < lower || mean > upper
}

/// The column names of the predictions.
fn columns(target: &TargetKind) -> Vec<String> {
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    match target {
        TargetKind::Number | TargetKind::Count => names(&["row", "mean", "sd", "lower", "upper"]),
        TargetKind::Classes(classes) if classes.len() == 2 => names(&["row", "class", "probability", "lower", "upper"]),
        TargetKind::Classes(classes) => {
            let own = classes.iter().map(|class| format!("p({class})"));
            names(&["row", "class"]).into_iter().chain(own).collect()
        }
    }
}

fn fields(target: &TargetKind, predicted: &Prediction, level: f64, row: u64) -> Result<Vec<Value>, ModelError> {
    let mut fields = vec![Value::from(row)];
    if let (TargetKind::Classes(classes), Some(class)) = (target, predicted.class()) {
        fields.push(Value::from(classes.get(class).cloned().unwrap_or_default()));
    }
    if let Prediction::Classes(predicted) = predicted {
        fields.extend(predicted.probabilities.iter().map(|p| Value::from(*p)));
        return Ok(fields);
    }
    fields.extend(predicted.mean().map(Value::from));
    if !matches!(predicted, Prediction::Two(_)) {
        fields.extend(predicted.standard_deviation().map(Value::from));
    }
    if let Some(interval) = predicted.interval(level)? {
        fields.extend([Value::from(interval.lower), Value::from(interval.upper)]);
    }
    Ok(fields)
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
