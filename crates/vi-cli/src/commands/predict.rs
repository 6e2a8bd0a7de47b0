//! `rvi predict`: an expectation and an interval for every row.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use csv::StringRecord;
use serde_json::{Map, Value};

use crate::args::{Format, Predict};
use crate::document::{Document, whole_file};
use crate::error::CliError;
use crate::learn::Reader;
use crate::model::Prediction;
use crate::source::Source;
use crate::target::TargetKind;

pub(super) fn predict(args: &Predict) -> Result<(), CliError> {
    let document = Document::open(&args.model)?;
    let mut source = Source::open(&args.input)?;
    if let Some(path) = &args.output {
        whole_file(path, |out| write_all(args, &document, &mut source, path, out))?;
    } else {
        let mut out = BufWriter::new(io::stdout().lock());
        write_all(args, &document, &mut source, Path::new("standard output"), &mut out)?;
    }
    if source.skipped > 0 {
        eprintln!("rvi: {} rows of {} were left out", source.skipped, source.path().display());
    }
    Ok(())
}

/// Writes the predictions of all rows to `out`, which errors call `path`.
fn write_all(
    args: &Predict,
    document: &Document,
    source: &mut Source,
    path: &Path,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let mut reader = Reader::new(&document.schema, &document.model, source)?;
    let columns = columns(&document.target.kind);
    let failed = |error| CliError::file(path, error);
    if args.format == Format::Csv {
        write_csv(out, columns.iter().map(String::as_str)).map_err(failed)?;
    }
    let mut record = StringRecord::new();
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
        match args.format {
            Format::Csv => {
                let texts: Vec<String> = fields.iter().map(text).collect();
                write_csv(out, texts.iter().map(String::as_str)).map_err(failed)?;
            }
            Format::Jsonl => {
                let object: Map<String, Value> = columns.iter().cloned().zip(fields).collect();
                writeln!(out, "{}", Value::Object(object)).map_err(failed)?;
            }
        }
    }
    out.flush().map_err(failed)
}

/// What the columns of the predictions are called.
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

fn fields(
    target: &TargetKind,
    predicted: &Prediction,
    level: f64,
    row: u64,
) -> Result<Vec<Value>, vi_models::ModelError> {
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

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn write_csv<'a>(out: &mut dyn Write, fields: impl Iterator<Item = &'a str>) -> io::Result<()> {
    for (k, field) in fields.enumerate() {
        if k > 0 {
            out.write_all(b",")?;
        }
        if field.contains([',', '"', '\n', '\r']) {
            write!(out, "\"{}\"", field.replace('"', "\"\""))?;
        } else {
            out.write_all(field.as_bytes())?;
        }
    }
    out.write_all(b"\n")
}
