//! What a command tells: lines of 80 columns for people, or JSON.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};
use vi_models::Interval;

use crate::document::Document;
use crate::error::CliError;
use crate::schema::Kind;
use crate::scores::{Scores, Summary};
use crate::target::TargetKind;

/// The level of the intervals of coefficients.
const LEVEL: f64 = 0.9;
/// Coefficients that `fit` prints.
const FEW: usize = 10;
/// Coefficients of a card, the surest where there are more.
const MOST: usize = 1000;

/// One pass over a file.
pub(crate) struct Pass<'a> {
    pub(crate) path: &'a Path,
    pub(crate) learned: u64,
    pub(crate) skipped: u64,
    pub(crate) seconds: f64,
}

/// A coefficient with what is believed of it.
#[derive(Serialize)]
struct Line {
    /// The class whose log odds against the first it adds to, where there are more than two.
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<String>,
    name: String,
    mean: f64,
    sd: f64,
    lower: f64,
    upper: f64,
}

pub(crate) fn fitted(document: &Document, pass: &Pass<'_>, output: Option<&Path>, json: bool) -> Result<(), CliError> {
    let rate = pass.learned as f64 / pass.seconds.max(1e-9);
    if json {
        let mut card = card(document)?;
        card["pass"] = json!({
            "file": pass.path.display().to_string(), "rows": pass.learned, "left_out": pass.skipped,
            "seconds": pass.seconds, "rows_per_second": rate,
        });
        return print(&format!("{card:#}\n"));
    }
    let mut text = format!(
        "{}: {} rows learned in {:.1} s ({} rows/s)\n",
        pass.path.display(),
        grouped(pass.learned),
        pass.seconds,
        grouped(rounded(rate)),
    );
    if pass.skipped > 0 {
        add(&mut text, &format!("left out      {} rows that could not be read\n", grouped(pass.skipped)));
    }
    text += &head(document);
    text += "scores        each row predicted before it was learned\n";
    text += &scores(&document.scores.summary());
    text += &body(document, FEW)?;
    match output {
        Some(path) => add(&mut text, &format!("stored        {}\n", path.display())),
        None => add(&mut text, "not stored    `-o FILE` keeps the model\n"),
    }
    print(&text)
}

pub(crate) fn evaluated(
    document: &Document,
    scored: &Scores,
    path: &Path,
    skipped: u64,
    json: bool,
) -> Result<(), CliError> {
    let summary = scored.summary();
    if json {
        let card = json!({ "file": path.display().to_string(), "left_out": skipped, "scores": summary });
        return print(&format!("{card:#}\n"));
    }
    let mut text = format!("{}: {} rows\n", path.display(), grouped(summary.rows));
    if skipped > 0 {
        add(&mut text, &format!("left out      {} rows that could not be read\n", grouped(skipped)));
    }
    add(&mut text, &format!("target        {}\n", document.target.describe()));
    text += &scores(&summary);
    print(&text)
}

pub(crate) fn merged(document: &Document, parts: usize, output: &Path, json: bool) -> Result<(), CliError> {
    if json {
        return print(&format!("{:#}\n", card(document)?));
    }
    let mut text = format!("{}: {} rows from {parts} models\n", output.display(), grouped(document.scores.rows));
    text += &head(document);
    text += "scores        each row predicted before it was learned, by the model of its part\n";
    text += &scores(&document.scores.summary());
    text += &body(document, FEW)?;
    print(&text)
}

/// A model among others of the same rows.
#[derive(Serialize)]
struct Ranked {
    model: String,
    /// The log probability of all targets given the inputs, in nats.
    evidence: f64,
    /// That of the first less its own.
    behind: f64,
    /// How probable it is if all were equally so before.
    probability: f64,
    log_loss: f64,
    inputs: usize,
}

pub(crate) fn compared(models: &[(PathBuf, Document)], json: bool) -> Result<(), CliError> {
    let mut ranked: Vec<Ranked> = models
        .iter()
        .map(|(path, document)| Ranked {
            model: path.display().to_string(),
            evidence: document.model.info().evidence,
            behind: 0.0,
            probability: 0.0,
            log_loss: document.scores.summary().log_loss,
            inputs: document.schema.width(),
        })
        .collect();
    ranked.sort_by(|a, b| b.evidence.total_cmp(&a.evidence));
    let best = ranked.first().map_or(0.0, |model| model.evidence);
    let sum: f64 = ranked.iter().map(|model| (model.evidence - best).exp()).sum();
    for model in &mut ranked {
        model.behind = best - model.evidence;
        model.probability = (-model.behind).exp() / sum;
    }
    if json {
        return print(&format!("{:#}\n", json!({ "models": ranked })));
    }
    let rows = models.first().map_or(0, |(_, document)| document.scores.rows);
    let mut text = format!("{} models of the same {} rows, the most probable first\n", ranked.len(), grouped(rows));
    add(
        &mut text,
        &format!("  {:<32} {:>8} {:>12} {:>11} {:>11}\n", "model", "inputs", "nats behind", "probability", "log loss"),
    );
    for model in &ranked {
        let (name, inputs) = (shortened(&model.model, 32), model.inputs);
        let behind = if model.behind == 0.0 { "0".to_owned() } else { number(model.behind) };
        add(
            &mut text,
            &format!(
                "  {name:<32} {inputs:>8} {behind:>12} {:>11} {:>11}\n",
                number(model.probability),
                number(model.log_loss)
            ),
        );
    }
    add(&mut text, "probability   if all were equally probable before; nats are of the log evidence\n");
    print(&text)
}

pub(crate) fn inspected(document: &Document, path: &Path, top: usize, json: bool) -> Result<(), CliError> {
    if json {
        return print(&format!("{:#}\n", card(document)?));
    }
    let mut text = format!("{}: {} rows learned\n", path.display(), grouped(document.scores.rows));
    text += &head(document);
    text += "scores        each row predicted before it was learned\n";
    text += &scores(&document.scores.summary());
    text += &body(document, top)?;
    print(&text)
}

/// Target, columns, what was left out.
fn head(document: &Document) -> String {
    let schema = &document.schema;
    let mut text = format!("target        {}\n", document.target.describe());
    add(&mut text, &format!("inputs        {} from {} columns\n", schema.width(), schema.columns.len()));
    let kinds: Vec<String> =
        schema.columns.iter().map(|column| format!("{} ({})", column.label(), kind(&column.kind))).collect();
    text += &wrapped("columns       ", &kinds);
    if let Some(map) = &schema.map {
        add(&mut text, &format!("features      {}\n", map.describe()));
    }
    if !schema.ignored.is_empty() {
        let ignored: Vec<String> = schema.ignored.iter().map(|(name, why)| format!("{name} ({why})")).collect();
        text += &wrapped("not used      ", &ignored);
    }
    if document.unlabelled > 0 {
        add(&mut text, &format!("no target     {} rows\n", grouped(document.unlabelled)));
    }
    if document.imputed > 0 {
        add(&mut text, &format!("missing       {} numbers, taken at their mean\n", grouped(document.imputed)));
    }
    if document.unknown > 0 {
        let what = "entries of inputs that are not in the model (`--inputs`)";
        add(&mut text, &format!("left out      {} {what}\n", grouped(document.unknown)));
    }
    text
}

fn kind(kind: &Kind) -> String {
    match kind {
        Kind::Number { .. } => "number".to_owned(),
        Kind::Levels { base, levels } if base.is_empty() => format!("{} levels; base missing", levels.len() + 1),
        Kind::Levels { base, levels } => format!("{} levels; base {base}", levels.len() + 1),
        Kind::Hashed { buckets } => format!("text, hashed into {buckets}"),
        Kind::Entries { named: true, .. } => "names, hashed".to_owned(),
        Kind::Entries { named: false, .. } => "by index".to_owned(),
        Kind::Date { clock: false, .. } => "date".to_owned(),
        Kind::Date { clock: true, .. } => "date and time".to_owned(),
    }
}

fn scores(summary: &Summary) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String, beside: Option<String>| {
        let beside = beside.map_or_else(String::new, |beside| format!("   without inputs {beside}"));
        add(&mut text, &format!("  {name:<32} {value:>10}{beside}\n"));
    };
    line("log loss, nats a row", number(summary.log_loss), summary.plain_log_loss.map(number));
    if let Some(rmse) = summary.rmse {
        line("root mean squared error", number(rmse), summary.plain_rmse.map(number));
    }
    if let Some(accuracy) = summary.accuracy {
        line("right class", format!("{:.1} %", 100.0 * accuracy), None);
    }
    for (promised, held) in &summary.coverage {
        let name = format!("{:.0} % intervals held", 100.0 * promised);
        line(&name, format!("{:.1} %", 100.0 * held), None);
    }
    if !summary.calibration.is_empty() {
        text += "  predicted and seen\n";
        for (predicted, seen, rows) in &summary.calibration {
            add(&mut text, &format!("    {predicted:>6.3} {seen:>6.3} {:>12} rows  {}\n", grouped(*rows), bar(*seen)));
        }
    }
    text
}

/// Coefficients and health.
fn body(document: &Document, top: usize) -> Result<String, CliError> {
    let mut lines = lines(document)?;
    surest_first(&mut lines);
    let all = lines.len();
    lines.truncate(top);
    let mut text = String::new();
    if !lines.is_empty() {
        let what = match document.target.kind {
            TargetKind::Number => "of the target",
            TargetKind::Count => "of the log of the mean",
            TargetKind::Classes(_) => "of the log odds",
        };
        add(
            &mut text,
            &format!("coefficients  {what}, {:.0} % intervals; the surest {} of {all}\n", 100.0 * LEVEL, lines.len()),
        );
        for line in &lines {
            let name = line.class.as_ref().map_or_else(|| line.name.clone(), |class| format!("{class}: {}", line.name));
            let interval = format!("[{}, {}]", number(line.lower), number(line.upper));
            add(&mut text, &format!("  {:<38} {:>10}  {interval}\n", shortened(&name, 38), number(line.mean)));
        }
    }
    let info = document.model.info();
    add(&mut text, &format!("health        {:.1} digits left; {}\n", info.health.digits, info.advice));
    if info.warming_up {
        text += "              the first rows are still being gathered\n";
    }
    if let Some(row) = info.last_change {
        add(&mut text, &format!("              an abrupt change was seen at row {}\n", grouped(row)));
    }
    Ok(text)
}

fn surest_first(lines: &mut [Line]) {
    lines.sort_by(|a, b| (b.mean / b.sd).abs().total_cmp(&(a.mean / a.sd).abs()));
}

fn lines(document: &Document) -> Result<Vec<Line>, CliError> {
    let classes = match &document.target.kind {
        TargetKind::Classes(classes) if classes.len() > 2 => classes.clone(),
        _ => Vec::new(),
    };
    let mut lines = Vec::new();
    for (k, coefficients) in document.model.coefficients()?.into_iter().enumerate() {
        for coefficient in coefficients {
            let Interval { lower, upper, .. } = coefficient.belief.interval(LEVEL)?;
            lines.push(Line {
                class: classes.get(k + 1).cloned(),
                name: coefficient.name,
                mean: coefficient.belief.mean(),
                sd: coefficient.belief.standard_deviation(),
                lower,
                upper,
            });
        }
    }
    Ok(lines)
}

/// All that is known of a model, for programs.
fn card(document: &Document) -> Result<Value, CliError> {
    let info = document.model.info();
    let mut lines = lines(document)?;
    let all = lines.len();
    if all > MOST {
        surest_first(&mut lines);
        lines.truncate(MOST);
    }
    Ok(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "target": document.target,
        "schema": document.schema,
        "rows": document.scores.rows,
        "rows_without_target": document.unlabelled,
        "numbers_imputed": document.imputed,
        "entries_unknown": document.unknown,
        "scores": document.scores.summary(),
        "evidence": info.evidence,
        "prior_scale": info.prior_scale,
        "digits_left": info.health.digits,
        "advice": info.advice.to_string(),
        "coefficient_level": LEVEL,
        "coefficients_in_all": all,
        "coefficients": lines,
    }))
}

fn add(text: &mut String, part: &str) {
    text.push_str(part);
}

fn print(text: &str) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| CliError::file(Path::new("standard output"), error))
}

/// Four digits, without an exponent where that is readable.
fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        "0".to_owned()
    } else if (1e-3..1e5).contains(&size) {
        let whole = size.log10().floor().clamp(0.0, 3.0);
        let digits = if size < 1.0 { 4 } else { usize::try_from(rounded(3.0 - whole)).unwrap_or(0) };
        format!("{value:.digits$}")
    } else {
        format!("{value:.2e}")
    }
}

pub(crate) fn rounded(value: f64) -> u64 {
    // A count of rows, or of digits: far below 2⁵³.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 2^53")]
    let whole = value.clamp(0.0, 9e15) as u64;
    whole
}

/// Digits in groups of three.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn bar(share: f64) -> String {
    "#".repeat(usize::try_from(rounded((20.0 * share).round())).unwrap_or(0))
}

fn shortened(name: &str, most: usize) -> String {
    if name.chars().count() <= most {
        return name.to_owned();
    }
    name.chars().take(most - 1).chain(['…']).collect()
}

/// Words after a heading, in lines of 80 columns.
fn wrapped(heading: &str, words: &[String]) -> String {
    let mut text = String::new();
    let mut line = heading.to_owned();
    for (k, word) in words.iter().enumerate() {
        let word = if k + 1 < words.len() { format!("{word}, ") } else { word.clone() };
        if line.chars().count() > heading.len() && line.chars().count() + word.trim_end().chars().count() > 80 {
            text += line.trim_end();
            text.push('\n');
            line = " ".repeat(heading.len());
        }
        line += &word;
    }
    text + line.trim_end() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(number(0.123_456), "0.1235");
        assert_eq!(number(-12.3456), "-12.35");
        assert_eq!(number(1234.5), "1234");
        assert_eq!(number(1.5e7), "1.50e7");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(12), "12");
        assert_eq!(shortened("abcdef", 4), "abc…");
    }

    #[test]
    fn lines_end_before_column_80() {
        let words: Vec<String> = (0..40).map(|k| format!("column{k}")).collect();
        let text = wrapped("columns  ", &words);
        assert!(text.lines().all(|line| line.chars().count() <= 80) && text.lines().count() > 3);
    }
}
