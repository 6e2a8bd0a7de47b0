//! What a command tells: lines of 80 columns for people, or JSON.

mod compare;

use std::path::Path;

use serde_json::json;
use vi_terms::table::summary::{FEW, body, card, head, progressive, scores};
use vi_terms::table::text::{add, grouped, many, rounded, wrapped};
use vi_terms::table::{Document, RobustErrors, Scores, calibration, told};

pub(crate) use self::compare::compared;
use crate::args::{Export, Inspect, Show};
use crate::error::CliError;
use crate::page;
use crate::tell::{print, print_json};

/// One pass over a file.
pub(crate) struct Pass<'a> {
    pub(crate) path: &'a Path,
    pub(crate) learned: u64,
    pub(crate) skipped: u64,
    pub(crate) seconds: f64,
}

/// Draws what is to be drawn.
fn shown(document: &Document, show: &Show) -> Result<(), CliError> {
    if let Some(folder) = &show.plot {
        page::write_pictures(document, folder)?;
    }
    show.html.as_ref().map_or(Ok(()), |path| page::write(document, path))
}

pub(crate) fn fitted(document: &Document, pass: &Pass<'_>, output: Option<&Path>, show: &Show) -> Result<(), CliError> {
    shown(document, show)?;
    let rate = pass.learned as f64 / pass.seconds.max(1e-9);
    if show.json {
        let mut card = card(document)?;
        card["pass"] = json!({
            "file": pass.path.display().to_string(), "rows": pass.learned, "left_out": pass.skipped,
            "seconds": pass.seconds, "rows_per_second": rate,
        });
        return print_json(&card);
    }
    let mut text = format!(
        "{}: {} rows learned in {:.1} s ({} rows/s)\n",
        pass.path.display(),
        grouped(pass.learned),
        pass.seconds,
        grouped(rounded(rate)),
    );
    if pass.skipped > 0 {
        add(&mut text, &format!("left out      {} (unreadable)\n", many(pass.skipped, "row")));
    }
    text += &head(document);
    text += &progressive(document, "");
    text += &body(document, FEW)?;
    match output {
        Some(path) => add(&mut text, &format!("stored        {}\n", path.display())),
        None => add(&mut text, "not stored    `-o FILE` stores the model\n"),
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
    let certificate: Vec<_> = calibration(scored.certificate()).into_iter().collect();
    if json {
        let file = path.display().to_string();
        let card = json!({ "file": file, "left_out": skipped, "scores": summary, "certificate": certificate });
        return print_json(&card);
    }
    let mut text = format!("{}: {}\n", path.display(), many(summary.rows, "row"));
    if skipped > 0 {
        add(&mut text, &format!("left out      {} (unreadable)\n", many(skipped, "row")));
    }
    add(&mut text, &format!("target        {}\n", document.target.describe()));
    text += &scores(&summary);
    text += &told(&certificate);
    print(&text)
}

pub(crate) fn merged(document: &Document, parts: usize, output: &Path, show: &Show) -> Result<(), CliError> {
    shown(document, show)?;
    if show.json {
        return print_json(&card(document)?);
    }
    let mut text = format!("{}: {} rows from {parts} models\n", output.display(), grouped(document.scores.rows));
    text += &head(document);
    text += &progressive(document, ", by the model of its part");
    text += &body(document, FEW)?;
    print(&text)
}

pub(crate) fn inspected(
    document: &Document,
    Inspect { model: path, show, top, .. }: &Inspect,
    robust: Option<&RobustErrors>,
) -> Result<(), CliError> {
    shown(document, show)?;
    if show.json {
        let mut card = card(document)?;
        if let Some(robust) = robust {
            card["robust"] = json!(robust);
        }
        return print_json(&card);
    }
    let rows = document.model.info().observations;
    let mut text = format!("{}: {} learned\n", path.display(), many(rows, "row"));
    text += &head(document);
    text += &progressive(document, "");
    text += &body(document, *top)?;
    text += &robust.map(|robust| robust.describe(*top)).unwrap_or_default();
    print(&text)
}

pub(crate) fn imported(document: &Document, output: &Path, show: &Show) -> Result<(), CliError> {
    shown(document, show)?;
    if show.json {
        return print_json(&card(document)?);
    }
    let mut text = format!("{}: a model made from a record\n", output.display());
    text += &head(document);
    text += &body(document, FEW)?;
    print(&text)
}

pub(crate) fn exported(rows: u64, inputs: &[String], args: &Export) -> Result<(), CliError> {
    let output = args.output.display().to_string();
    if args.json {
        return print_json(&json!({ "record": output, "rows": rows, "inputs": inputs }));
    }
    let mut text = format!("{output}: the posterior of {}\n", many(rows, "row"));
    text += &wrapped("inputs        ", inputs);
    print(&text)
}
