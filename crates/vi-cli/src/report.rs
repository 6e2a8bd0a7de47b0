//! What a command tells: lines of 80 columns for people, or JSON.

mod compare;
mod text;

use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json};
use vi_models::Interval;
use vi_models::online::{BeliefKind, Coefficient, Order, Standardise};

pub(crate) use self::compare::compared;
use self::text::{add, bar, first_of, many, number, wrapped};
pub(crate) use self::text::{grouped, rounded, shortened};
use crate::args::Show;
use crate::document::Document;
use crate::error::CliError;
use crate::model::is_by_class;
use crate::relevance::Relevance;
use crate::reorder::Reordered;
use crate::schema::Kind;
use crate::scores::{Scores, Summary};
use crate::target::TargetKind;
use crate::tell::{print, print_json};
use crate::{page, pictures};

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
pub(crate) struct Line {
    /// The class whose log odds against the first it adds to, where there are more than two.
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<String>,
    name: String,
    pub(crate) mean: f64,
    sd: f64,
    pub(crate) lower: f64,
    pub(crate) upper: f64,
}

impl Line {
    /// The class and the input.
    pub(crate) fn label(&self) -> String {
        self.class.as_ref().map_or_else(|| self.name.clone(), |class| format!("{class}: {}", self.name))
    }
}

/// Draws what is to be drawn.
fn shown(document: &Document, show: &Show) -> Result<(), CliError> {
    if let Some(folder) = &show.plot {
        pictures::write(document, folder)?;
    }
    show.html.as_ref().map_or(Ok(()), |path| page::write(document, path))
}

/// All that a page says in words: what was learned and how well, and what is believed.
pub(crate) fn summary(document: &Document) -> Result<(String, String), CliError> {
    let mut text = format!("learned       {}\n", many(document.model.info().observations, "row"));
    text += &head(document);
    text += &progressive(document, "");
    Ok((text, body(document, 4 * FEW)?))
}

/// The surest coefficients, at most so many.
pub(crate) fn surest(document: &Document, most: usize) -> Result<Vec<Line>, CliError> {
    lines(document, most, true).map(|(lines, _)| lines)
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
    if json {
        let card = json!({ "file": path.display().to_string(), "left_out": skipped, "scores": summary });
        return print_json(&card);
    }
    let mut text = format!("{}: {}\n", path.display(), many(summary.rows, "row"));
    if skipped > 0 {
        add(&mut text, &format!("left out      {} (unreadable)\n", many(skipped, "row")));
    }
    add(&mut text, &format!("target        {}\n", document.target.describe()));
    text += &scores(&summary);
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

pub(crate) fn inspected(document: &Document, path: &Path, top: usize, show: &Show) -> Result<(), CliError> {
    shown(document, show)?;
    if show.json {
        return print_json(&card(document)?);
    }
    let rows = document.model.info().observations;
    let mut text = format!("{}: {} learned\n", path.display(), many(rows, "row"));
    text += &head(document);
    text += &progressive(document, "");
    text += &body(document, top)?;
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

pub(crate) fn exported(rows: u64, inputs: &[String], output: &Path) -> Result<(), CliError> {
    let mut text = format!("{}: the posterior of {}\n", output.display(), many(rows, "row"));
    text += &wrapped("inputs        ", inputs);
    print(&text)
}

/// Target, columns, what was left out.
fn head(document: &Document) -> String {
    let schema = &document.schema;
    let mut text = format!("target        {}\n", document.target.describe());
    add(
        &mut text,
        &format!(
            "inputs        {} from {}\n",
            grouped(schema.width() as u64),
            many(schema.columns.len() as u64, "column")
        ),
    );
    let kinds = schema.columns.iter().map(|column| format!("{} ({})", column.label(), kind(&column.kind)));
    text += &wrapped("columns       ", &first_of(kinds));
    let belief = match document.model.settings().belief {
        BeliefKind::LowRank { rank } => format!("the {rank} main directions of the correlations"),
        BeliefKind::Diagonal => "a variance for each coefficient, no correlations".to_owned(),
        BeliefKind::SquareRoot => "the square root of the precision, robust to rounding".to_owned(),
        _ if is_by_class(&document.model) => "separate for each class, no correlations between classes".to_owned(),
        _ => String::new(),
    };
    if !belief.is_empty() {
        add(&mut text, &format!("belief        {belief}\n"));
    }
    let products = schema.products();
    if !products.is_empty() {
        text += &wrapped("products      ", &products);
    }
    if let Some(map) = &schema.map {
        add(&mut text, &format!("features      {}\n", map.describe()));
    }
    if let Some(relevance) = &document.relevance {
        text += &relevant(document, relevance);
    }
    if !schema.ignored.is_empty() {
        let ignored = schema.ignored.iter().map(|(name, why)| format!("{name} ({why})"));
        text += &wrapped("not used      ", &first_of(ignored));
    }
    if !document.changed.is_empty() {
        let constant = |name: &String| schema.constant.iter().any(|(column, _)| column == name);
        let word = |(name, rows): (&String, &u64)| {
            let what = if constant(name) { "in" } else { "a new text in" };
            format!("{name} ({what} {})", many(*rows, "row"))
        };
        let mut words: Vec<String> = document.changed.iter().map(word).collect();
        words.push("a larger `--sniff` would use it".to_owned());
        text += &wrapped("changed       ", &words);
    }
    let twice = twice(document);
    if !twice.is_empty() {
        text += &wrapped("learned twice ", &twice);
    }
    if let Some(rows) = document.imported {
        add(&mut text, &format!("imported      the posterior of {}\n", many(rows, "row")));
    }
    if document.unlabelled > 0 {
        add(&mut text, &format!("no target     {}\n", many(document.unlabelled, "row")));
    }
    if document.imputed > 0 {
        add(
            &mut text,
            &format!("missing       {}, taken at the mean of the column\n", many(document.imputed, "number")),
        );
    }
    if document.unknown > 0 {
        let what = "entries of inputs outside the model (`--inputs`)";
        add(&mut text, &format!("left out      {} {what}\n", grouped(document.unknown)));
    }
    text
}

/// The files whose rows another had taught the model before.
fn twice(document: &Document) -> Vec<String> {
    let again = document.passes.iter().filter(|pass| document.learned_before(pass).is_some());
    again.map(|pass| format!("{} ({})", pass.input.data.display(), many(pass.rows, "row"))).collect()
}

/// The inputs that the first records told of, and how many they did not.
fn relevant(document: &Document, relevance: &Relevance) -> String {
    let names = document.schema.names();
    let mut told: Vec<(&String, f64)> =
        names.iter().zip(relevance.determined.iter().copied()).filter(|(_, determined)| *determined >= 0.5).collect();
    told.sort_by(|a, b| b.1.total_cmp(&a.1));
    let of = format!("{} of {} inputs by the first {} rows", told.len(), names.len(), grouped(relevance.rows as u64));
    let shown = told.iter().take(FEW).map(|(name, _)| shortened(name, 38));
    let more = told.len().saturating_sub(FEW);
    let words: Vec<String> =
        std::iter::once(of).chain(shown).chain((more > 0).then(|| format!("and {more} more"))).collect();
    wrapped("relevant      ", &words)
}

fn kind(kind: &Kind) -> String {
    match kind {
        Kind::Number { .. } => "number".to_owned(),
        Kind::Levels { base, levels, rare } => {
            let base = if base.is_empty() { "missing" } else { base };
            let rare = if *rare > 0 { format!(", {} rarer together", grouped(*rare as u64)) } else { String::new() };
            format!("{} levels{rare}; base {base}", levels.len() + 1)
        }
        Kind::Hashed { buckets } => format!("text, hashed into {buckets}"),
        Kind::Entries { named: true, .. } => "names, hashed".to_owned(),
        Kind::Entries { named: false, .. } => "by index".to_owned(),
        Kind::Date { clock: false, order, .. } => format!("date{}", order.name()),
        Kind::Date { clock: true, order, .. } => format!("date and time{}", order.name()),
        Kind::Clock { .. } => "time of day".to_owned(),
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
    if summary.unexpected > 0 {
        let rows = format!("{} (expectation beyond floats)", many(summary.unexpected, "row"));
        add(&mut text, &format!("  only in the log loss              {rows}\n"));
    }
    let mut line = |name: &str, value: String| add(&mut text, &format!("  {name:<32} {value:>10}\n"));
    for (promised, held) in &summary.coverage {
        let name = format!("{:.0} % intervals held", 100.0 * promised);
        line(&name, format!("{:.1} %", 100.0 * held));
    }
    if !summary.calibration.is_empty() {
        text += "  predicted and observed\n";
        for (predicted, seen, rows) in &summary.calibration {
            add(&mut text, &format!("    {predicted:>6.3} {seen:>6.3} {:>12} rows  {}\n", grouped(*rows), bar(*seen)));
        }
    }
    text
}

/// Whether labels came in runs when the rows were learned.
fn is_ordered(document: &Document) -> bool {
    document.reordered.is_some() || document.model.info().order.is_some_and(|order| order.is_in_runs())
}

/// The scores on the way, with the order that the rows had; `more` says by what they were predicted.
fn progressive(document: &Document, more: &str) -> String {
    let told = |scored: &Scores, order: &str| {
        format!("scores        each row predicted before it was learned{more}\n{order}{}", scores(&scored.summary()))
    };
    if document.scores.rows == 0 {
        return String::new();
    }
    let mut text = String::new();
    if let Some(Reordered { scores, .. }) = &document.reordered {
        text += &told(scores, "              in random order\n");
    }
    let order = "              in the file's order, which is not random\n";
    text + &told(&document.scores, if is_ordered(document) { order } else { "" })
}

/// Coefficients and health.
fn body(document: &Document, top: usize) -> Result<String, CliError> {
    let (lines, all) = lines(document, top, true)?;
    let mut text = String::new();
    if !lines.is_empty() {
        let what = match document.target.kind {
            TargetKind::Number => "of the target",
            TargetKind::Count => "of the log of the mean",
            TargetKind::Classes(_) => "of the log odds",
        };
        add(
            &mut text,
            &format!(
                "coefficients  {what}, {:.0} % intervals; the {} most certain of {all}\n",
                100.0 * LEVEL,
                lines.len()
            ),
        );
        for line in &lines {
            let interval = format!("[{}, {}]", number(line.lower), number(line.upper));
            add(&mut text, &format!("  {:<38} {:>10}  {interval}\n", shortened(&line.label(), 38), number(line.mean)));
        }
    }
    if let Some(refined) = &document.refined {
        let passes = if refined.passes == 1 { "one pass".to_owned() } else { format!("{} passes", refined.passes) };
        let end = if refined.converged { "converged" } else { "a larger `--refine` gains more" };
        add(
            &mut text,
            &format!("refined       by {passes} more: {} nats of evidence; {end}\n", number(refined.gained)),
        );
    }
    let info = document.model.info();
    let rows = info.observations.max(1) as f64;
    add(&mut text, &format!("evidence      {} nats, {} a row\n", number(info.evidence), number(info.evidence / rows)));
    if let Some(Reordered { runs, .. }) = &document.reordered {
        let what = format!("labels come in runs ({runs:.0} standard deviations beyond chance)");
        add(&mut text, &format!("order         {what}\n"));
        add(&mut text, "              the rows were learned again in random order\n");
    } else if let Some(order) = info.order.filter(Order::is_in_runs) {
        text += &wrapped("order         ", &order.to_string().split(", ").map(str::to_owned).collect::<Vec<_>>());
    }
    let advice = match &document.refined {
        Some(refined) if refined.converged && refined.rows == document.scores.rows => "refined".to_owned(),
        _ => info.advice.to_string(),
    };
    text += &wrapped("health        ", &[format!("{:.1} digits left", info.health.digits), advice]);
    if info.warming_up {
        text += "              still gathering the first rows\n";
    }
    if let Some(row) = info.last_change {
        add(&mut text, &format!("              abrupt change at row {}\n", grouped(row)));
    }
    Ok(text)
}

/// At most so many coefficients with what is believed of them, the surest first if asked for or if there are more; and how many there are.
fn lines(document: &Document, most: usize, sorted: bool) -> Result<(Vec<Line>, usize), CliError> {
    let classes = match &document.target.kind {
        TargetKind::Classes(classes) if classes.len() > 2 => classes.as_slice(),
        _ => &[],
    };
    let of_class = |(k, coefficients): (usize, Vec<Coefficient>)| {
        coefficients.into_iter().map(move |coefficient| (classes.get(k + 1), coefficient))
    };
    let mut all: Vec<_> = document.model.coefficients()?.into_iter().enumerate().flat_map(of_class).collect();
    let count = all.len();
    if sorted || count > most {
        let sure = |own: &Coefficient| (own.belief.mean() / own.belief.standard_deviation()).abs();
        all.sort_by(|(_, a), (_, b)| sure(b).total_cmp(&sure(a)));
    }
    let line = |(class, own): (Option<&String>, Coefficient)| {
        let Interval { lower, upper, .. } = own.belief.interval(LEVEL)?;
        let (mean, sd) = (own.belief.mean(), own.belief.standard_deviation());
        Ok(Line { class: class.cloned(), name: own.name, mean, sd, lower, upper })
    };
    // Intervals take longer than all else: of a million coefficients a few are shown.
    all.into_iter().take(most).map(line).collect::<Result<_, _>>().map(|lines| (lines, count))
}

/// All that is known of a model, for programs.
fn card(document: &Document) -> Result<Value, CliError> {
    let info = document.model.info();
    let settings = document.model.settings();
    let pass = |pass: &crate::document::Pass| {
        json!({
            "file": pass.input.data.display().to_string(), "rows": pass.rows,
            "fingerprint": format!("fnv1a:{:016x}", pass.fingerprint),
        })
    };
    let data: Vec<Value> = document.passes.iter().map(pass).collect();
    let standardise = match &settings.standardise {
        Standardise::Never => "never",
        Standardise::Fixed { .. } => "fixed",
        _ => "first rows",
    };
    let (lines, all) = lines(document, MOST, false)?;
    Ok(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "target": document.target,
        "data": data,
        "learned_twice": twice(document),
        "schema": document.schema,
        "belief": settings.belief,
        "memory": settings.memory,
        "rows": info.observations,
        "rows_without_target": document.unlabelled,
        "numbers_imputed": document.imputed,
        "entries_unknown": document.unknown,
        "rows_of_changed_columns": document.changed,
        "scores": (document.scores.rows > 0).then(|| document.scores.summary()),
        "scores_in_order": is_ordered(document),
        "scores_in_random_order": document.reordered.as_ref().map(|again| again.scores.summary()),
        "evidence": info.evidence,
        "order": info.order.map(|order| json!({
            "runs": order.runs, "gained": order.gained, "error": order.error, "sampled": order.sampled,
            "in_runs": order.is_in_runs(), "matters": order.matters(),
        })),
        "prior": {
            "scale": info.prior_scale,
            "scales": info.prior_scales,
            "intercept_scale": settings.intercept_scale,
            "standardise": standardise,
        },
        "relevance": document.relevance,
        "imported": document.imported,
        "refined": document.refined,
        "digits_left": info.health.digits,
        "advice": info.advice.to_string(),
        "coefficient_level": LEVEL,
        "coefficients_in_all": all,
        "coefficients": lines,
    }))
}
