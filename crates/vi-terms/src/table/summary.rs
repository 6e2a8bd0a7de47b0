//! What there is to say of a model: lines of 80 columns for people, and a card for programs.

use serde::Serialize;
use serde_json::{Value, json};
use vi_core::Row;
use vi_models::online::{BeliefKind, Coefficient, Kind as Family, Model, OnlineGrouped, Standardise};
use vi_models::{Interval, Marginal, ModelError};

use crate::TermsError;
use crate::table::certificate::{certificate, told};
use crate::table::choose::Chosen;
use crate::table::document::{Document, Pass};
use crate::table::effects::{Share, curves, shares};
use crate::table::grouped::{GroupEffect, Groups};
use crate::table::plan::{is_by_class, transform_in_words};
use crate::table::relevance::Relevance;
use crate::table::reorder::Reordered;
use crate::table::schema::{Kind, Point};
use crate::table::scores::{Scores, Summary};
use crate::table::target::TargetKind;
use crate::table::text::{add, bar, first_of, grouped, many, number, percent, shortened, wrapped};
use crate::told::Origin;

/// The level of the intervals of coefficients.
const LEVEL: f64 = 0.9;
/// Coefficients of a short summary.
pub const FEW: usize = 10;
/// Coefficients of a card, the surest where there are more.
const MOST: usize = 1000;

/// A coefficient with what is believed of it.
#[derive(Serialize)]
pub struct Line {
    /// The class whose log odds against the first it adds to, where there are more than two.
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<String>,
    /// The name of the input.
    pub name: String,
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub sd: f64,
    /// The lower end of its interval.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
    /// The deviation of the input over the first rows, or half the distance of its two values: what makes coefficients comparable.
    #[serde(skip)]
    pub deviation: Option<f64>,
}

impl Line {
    /// The class and the input.
    #[must_use]
    pub fn label(&self) -> String {
        self.class.as_ref().map_or_else(|| self.name.clone(), |class| format!("{class}: {}", self.name))
    }
}

/// What a page says in words beside its certificate: what was learned and how well, and what is believed.
///
/// # Errors
/// Intervals beyond the range of floats.
pub fn summary(document: &Document) -> Result<(String, String), TermsError> {
    let mut text = format!("learned       {}\n", many(document.model.info().observations, "row"));
    text += &head(document);
    text += &progressive(document, "");
    Ok((text, beliefs(document, 4 * FEW)?))
}

/// The surest coefficients, at most so many.
///
/// # Errors
/// Intervals beyond the range of floats.
pub fn surest(document: &Document, most: usize) -> Result<Vec<Line>, TermsError> {
    lines(document, most, true).map(|(lines, _)| lines)
}

/// The learned numbers of the label's distribution.
fn of_label(document: &Document) -> String {
    let mut text = String::new();
    if let Some((freedom, scale)) = noise(&document.model) {
        let of = transform_in_words(&document.model).map_or_else(String::new, |of| format!(" of the {of}"));
        let scale = number(scale);
        let words = freedom.map_or_else(
            || format!("Gaussian, deviation {scale}"),
            |freedom| format!("Student-t, {} degrees of freedom, scale {scale}", number(freedom)),
        );
        add(&mut text, &format!("noise         {words}{of}\n"));
    }
    if let Ok(Some((size, Interval { lower, upper }))) = size(&document.model) {
        let [size, lower, upper] = [size, lower, upper].map(number);
        add(&mut text, &format!("spread        variance of a count mean + mean²/{size}, {lower} to {upper}\n"));
    }
    if let Ok(Some((share, Interval { lower, upper }))) = excess(&document.model) {
        let [share, lower, upper] = [share, lower, upper].map(|share| number(100.0 * share));
        add(&mut text, &format!("zeros         {share} % are excess zeros, {lower} to {upper}\n"));
    }
    let cuts = levels(document).unwrap_or_default();
    if !cuts.is_empty() {
        let title = if matches!(document.model, Model::Survival(_)) { "log hazards   " } else { "cut points    " };
        let words = cuts.iter().map(|(between, own)| {
            format!("{} {} ± {}", shortened(between, 38), number(own.mean()), number(own.standard_deviation()))
        });
        text += &wrapped(title, &first_of(words));
    }
    if matches!(document.model, Model::Survival(_)) && document.scores.summary().events.is_some_and(|events| events < 2)
    {
        let of = if document.scores.summary().events == Some(0) { "no event" } else { "a single event" };
        text +=
            &wrapped("events        ", &[format!("{of}: hazards and coefficients are little but what the prior says")]);
    }
    if let Some(inputs) = &document.model.settings().spread_inputs {
        let names = document.schema.names();
        text +=
            &wrapped("spread by     ", &first_of(inputs.iter().map(|at| names.get(*at).cloned().unwrap_or_default())));
    }
    if let Ok(spread) = spread(&document.model, false) {
        let words =
            spread.iter().take(FEW / 2).map(|line| format!("{} for each unit of {}", factor(line.mean), line.name));
        let words: Vec<String> = words.collect();
        if !words.is_empty() {
            text += &wrapped("spread        ", &words);
        }
    }
    text
}

/// Target, columns, what was left out.
#[must_use]
pub fn head(document: &Document) -> String {
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
    let kinds = if schema.columns.is_empty() { vec!["none".to_owned()] } else { first_of(kinds) };
    text += &wrapped("columns       ", &kinds);
    if let Some(chosen) = &document.chosen {
        let mut words = chosen.describe();
        let scores = document.scores.summary();
        if chosen.has_heavy_tails() && scores.rmse > scores.plain_rmse {
            words.push("means further off than without inputs: try `--family gaussian`".to_owned());
        }
        text += &wrapped("family        ", &words);
    }
    text += &of_label(document);
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
    if let Some(terms) = &schema.shape {
        let own = terms.inputs().len();
        let blocks = terms.blocks().into_iter().filter(|block| block.first >= own);
        let words: Vec<String> = blocks.map(|block| format!("{} ({})", block.name, block.width)).collect();
        if !words.is_empty() {
            text += &wrapped("terms         ", &words);
        }
    }
    if let (Some(groups), Model::Grouped(model)) = (&document.groups, &document.model) {
        text += &groups_of(groups, model, document.chosen.as_ref().is_some_and(Chosen::is_in_groups));
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
    for (title, files) in [("stopped       ", stopped(document)), ("learned twice ", twice(document))] {
        if !files.is_empty() {
            text += &wrapped(title, &files);
        }
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

/// Degrees of freedom, none of a Gaussian, and scale of the noise.
fn noise(model: &Model) -> Option<(Option<f64>, f64)> {
    let (freedom, scale) = match model {
        Model::Number(_) => return Some((None, model.prior_unit())),
        Model::Robust(model) => model.noise(),
        Model::Varying(model) => model.noise(),
        _ => return None,
    };
    Some((Some(freedom), scale))
}

/// The size `r` of counts of the variance `m + m²/r`, if it is learned, with its interval.
fn size(model: &Model) -> Result<Option<(f64, Interval)>, TermsError> {
    let log_size = match model {
        Model::LearnedSpread(model) => model.log_size(),
        Model::ZeroInflated(model) => model.log_size(),
        _ => return Ok(None),
    };
    let Interval { lower, upper } = log_size.interval(LEVEL)?;
    Ok(Some((log_size.quantile(0.5)?.exp(), Interval { lower: lower.exp(), upper: upper.exp() })))
}

/// The cut points between classes that have an order, under the names of both, or the log hazards of times between theirs.
fn levels(document: &Document) -> Result<Vec<(String, Marginal)>, TermsError> {
    if let Model::Survival(model) = &document.model {
        let cuts = model.cuts();
        let ends = || cuts.times().iter().map(|time| number(*time));
        let between = std::iter::once("0".to_owned()).chain(ends()).zip(ends().chain([String::new()]));
        return Ok(between.map(|(from, to)| format!("{from}–{to}")).zip(model.log_hazards()?).collect());
    }
    let (Model::Ordered(model), Some(classes)) = (&document.model, document.target.kind.classes()) else {
        return Ok(Vec::new());
    };
    let names = classes.windows(2).map(|sides| format!("{}|{}", sides[0], sides[1]));
    Ok(names.zip(model.cuts()?).collect())
}

/// The share of excess zeros with its interval.
fn excess(model: &Model) -> Result<Option<(f64, Interval)>, TermsError> {
    let Model::ZeroInflated(model) = model else { return Ok(None) };
    let Interval { lower, upper } = model.logit_share().interval(LEVEL)?;
    let [share, lower, upper] = [model.logit_share().quantile(0.5)?, lower, upper].map(vi_core::special::sigmoid);
    Ok(Some((share, Interval { lower, upper })))
}

/// The groups with their components of variance, and what was not compared with them, unless they are the `best` of several.
fn groups_of(groups: &Groups, model: &OnlineGrouped, best: bool) -> String {
    let mut words = vec![format!("{} of {}", many(groups.levels().len() as u64, "group"), groups.column)];
    let missing = groups.levels().iter().find(|(level, _)| level.is_empty());
    words.extend(missing.map(|(_, rows)| format!("one of them the {} without one", many(*rows, "row"))));
    let told = |name: &str, value: f64, Interval { lower, upper }: Interval| {
        let within = format!("{} to {}", number(lower), number(upper));
        format!("{name} {}, {}", number(value), if upper.is_finite() { &within } else { "undetermined" })
    };
    for own in model.components().unwrap_or_default() {
        words.extend(own.interval(LEVEL).map(|interval| told(&own.name, own.value, interval)));
    }
    if let Ok(Some((share, interval))) = model.intraclass_correlation(LEVEL) {
        words.push(told("intraclass correlation", share, interval));
    }
    let left_out = match model.kind() {
        Family::Count => Some("counts that vary more than Poisson's are not modelled for this many groups"),
        Family::Two => None,
        _ => Some("heavy tails and spreads that vary are not compared for this many groups"),
    };
    words.extend(left_out.filter(|_| !best).map(str::to_owned));
    words.extend(model.noise_deviation().map(|sd| format!("sd(noise) {}", number(sd))));
    wrapped("groups        ", &words)
}

/// The same for programs, with as many effects as coefficients are shown.
///
/// # Errors
/// Intervals beyond the range of floats.
fn groups_card(document: &Document, groups: &Groups, model: &OnlineGrouped) -> Result<Value, TermsError> {
    let mut components = serde_json::Map::new();
    for own in model.components()? {
        let Interval { lower, upper } = own.interval(LEVEL)?;
        components.insert(own.name, json!({ "value": own.value, "lower": lower, "upper": upper }));
    }
    let effect = |own: Result<GroupEffect, ModelError>| {
        let GroupEffect { group, rows, effect, belief } = own?;
        let Interval { lower, upper } = belief.interval(LEVEL)?;
        let (mean, sd) = (belief.mean(), belief.standard_deviation());
        Ok(
            json!({ "group": group, "rows": rows, "effect": effect, "mean": mean, "sd": sd, "lower": lower, "upper": upper }),
        )
    };
    let effects = document.group_effects().take(MOST).map(effect).collect::<Result<Vec<Value>, ModelError>>()?;
    let correlation = model.intraclass_correlation(LEVEL)?;
    Ok(json!({
        "column": groups.column,
        "groups_in_all": groups.levels().len(),
        "components": components,
        "noise_sd": model.noise_deviation(),
        "intraclass_correlation": correlation.map(|(value, own)| json!({ "value": value, "lower": own.lower, "upper": own.upper })),
        "effects": effects,
    }))
}

/// The coefficients of the logarithm of the spread, the surest first: all, or those whose interval leaves 0 out.
fn spread(model: &Model, all: bool) -> Result<Vec<Line>, TermsError> {
    let Model::Varying(model) = model else { return Ok(Vec::new()) };
    let mut lines = Vec::new();
    for Coefficient { name, belief, .. } in model.spread_coefficients()?.into_iter().skip(1) {
        let Interval { lower, upper } = belief.interval(LEVEL)?;
        if all || lower > 0.0 || upper < 0.0 {
            let (mean, sd) = (belief.mean(), belief.standard_deviation());
            lines.push(Line { class: None, name, mean, sd, lower, upper, deviation: None });
        }
    }
    lines.sort_by(|a, b| (b.mean / b.sd).abs().total_cmp(&(a.mean / a.sd).abs()));
    Ok(lines)
}

/// The factor `e` to the power of `log`, in words.
fn factor(log: f64) -> String {
    match log {
        log if log.abs() > 2.0 => format!("e^{} times", number(log)),
        log if log < 0.0 => format!("{} % narrower", number(-100.0 * log.exp_m1())),
        log => format!("{} % wider", number(100.0 * log.exp_m1())),
    }
}

/// The files of which only the first rows were learned.
fn stopped(document: &Document) -> Vec<String> {
    let last = document.passes.len().saturating_sub(1);
    let remedy = |k: usize| if k == last { "; `rvi resume` goes on" } else { "" };
    let of = |(k, pass): (usize, &Pass)| {
        format!("{} after row {}{}", pass.input.data.display(), grouped(pass.rows), remedy(k))
    };
    document.passes.iter().enumerate().filter(|(_, pass)| pass.stopped).map(of).collect()
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
        Kind::Number { gaps, point, .. } => {
            let number = if *point == Point::Comma { "number with a decimal comma" } else { "number" };
            let gaps: Vec<String> = gaps.iter().map(|gap| format!("`{gap}`")).collect();
            if gaps.is_empty() { number.to_owned() } else { format!("{number}; {} a gap", gaps.join(" or ")) }
        }
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

/// Scores in lines.
#[must_use]
pub fn scores(summary: &Summary) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String, beside: Option<String>| {
        let beside = beside.map_or_else(String::new, |beside| format!("   without inputs {beside}"));
        add(&mut text, &format!("  {name:<32} {value:>10}{beside}\n"));
    };
    line("log loss, nats a row", number(summary.log_loss), summary.plain_log_loss.map(number));
    if let Some(rmse) = summary.rmse_of_medians {
        line("root mean squared error, medians", number(rmse), summary.plain_rmse.map(number));
        // A few first rows, whose spread is not known yet, can have means of any size.
        if let Some(means) = summary.rmse.filter(|means| *means < 100.0 * rmse) {
            line("root mean squared error, means", number(means), None);
        }
    } else if let Some(rmse) = summary.rmse {
        line("root mean squared error", number(rmse), summary.plain_rmse.map(number));
    }
    if let Some((events, censored)) = summary.events.zip(summary.censored) {
        line("events", grouped(events), None);
        line("censored", grouped(censored), None);
    }
    if summary.ranges > 0 {
        line("known as a range", grouped(summary.ranges), None);
    }
    if let Some(accuracy) = summary.accuracy {
        line("right class", format!("{:.1} %", 100.0 * accuracy), None);
    }
    if summary.unexpected > 0 {
        let rows = format!("{} (expectation beyond floats)", many(summary.unexpected, "row"));
        add(&mut text, &format!("  only in the log loss              {rows}\n"));
    }
    if !summary.calibration.is_empty() {
        let of = if summary.classes > 2 { ", of the most probable class" } else { "" };
        add(&mut text, &format!("  predicted and observed{of}\n"));
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
#[must_use]
pub fn progressive(document: &Document, more: &str) -> String {
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

/// What each term adds to the predictor, the largest share first.
fn contributions(document: &Document) -> String {
    let mut shares = shares(document);
    if shares.is_empty() {
        return String::new();
    }
    let largest = |share: &Share| share.shares.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    shares.sort_by(|a, b| largest(b).total_cmp(&largest(a)));
    let mut text = "contributions share of the predictor's variance over first rows, by term\n".to_owned();
    for own in &shares {
        let percent: Vec<String> = own.shares.iter().map(|share| format!("{:>8}", percent(*share))).collect();
        let weights = many(own.weights as u64, "weight");
        let mut deviation = own.deviation.map_or_else(String::new, |deviation| format!("   sd {}", number(deviation)));
        deviation.extend(
            own.correlations.iter().map(|(other, own)| format!("   cor {own:.2} with {}", shortened(other, 20))),
        );
        add(
            &mut text,
            &format!("  {:<38} {weights:>12}  {}{deviation}\n", shortened(&own.term, 38), percent.join(" ")),
        );
    }
    text
}

/// Coefficients, evidence and certificate.
///
/// # Errors
/// Intervals beyond the range of floats.
pub fn body(document: &Document, top: usize) -> Result<String, TermsError> {
    Ok(beliefs(document, top)? + &told(&certificate(document)))
}

/// Coefficients and evidence.
fn beliefs(document: &Document, top: usize) -> Result<String, TermsError> {
    let (lines, all) = lines(document, top, true)?;
    let mut text = contributions(document);
    if !lines.is_empty() {
        let transformed = transform_in_words(&document.model).map(|of| format!("of the {of} of the target"));
        let what = match document.target.kind {
            TargetKind::Number => transformed.as_deref().unwrap_or("of the target"),
            TargetKind::Count => "of the log of the mean",
            TargetKind::Classes(_) => "of the log odds",
            TargetKind::Ordered(_) => "of the log odds of a higher class",
            TargetKind::Survival(_) => "of the log hazard",
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
    let info = document.model.info();
    let rows = info.observations.max(1) as f64;
    add(&mut text, &format!("evidence      {} nats, {} a row\n", number(info.evidence), number(info.evidence / rows)));
    Ok(text)
}

/// At most so many coefficients with what is believed of them, the surest first if asked for or if there are more; and how many there are.
fn lines(document: &Document, most: usize, sorted: bool) -> Result<(Vec<Line>, usize), TermsError> {
    let classes = match &document.target.kind {
        TargetKind::Classes(classes) if classes.len() > 2 => classes.as_slice(),
        _ => &[],
    };
    let told = document.schema.shape.as_ref().map_or_else(Vec::new, |terms| terms.told(Origin::Zero));
    // An effect of several weights is believed of their combination, one of a weight is that weight in its unit.
    let effect = |of: &[(usize, f64)], belief: Marginal| match of {
        [_, _, ..] => {
            let (positions, values): (Vec<usize>, Vec<f64>) = of.iter().copied().unzip();
            let row = Row::Sparse { positions: &positions, values: &values };
            document.model.combination(row).map(|belief| (1.0, belief))
        }
        _ => Ok((of.first().map_or(1.0, |(_, unit)| *unit), belief)),
    };
    let scales = document.model.input_scales();
    let (told, effect) = (&told, &effect);
    // They are told by themselves.
    let cuts = match &document.model {
        Model::Ordered(model) => model.classes() - 1,
        Model::Survival(model) => 1 + model.cuts().times().len(),
        _ => 0,
    };
    let of_class = |(k, coefficients): (usize, Vec<Coefficient>)| {
        let first = coefficients.len() - document.model.inputs();
        let own = coefficients.into_iter().enumerate().skip(cuts);
        own.map(move |(at, Coefficient { name, belief, .. })| {
            let input = at.checked_sub(first);
            let of = input.and_then(|input| told.get(input)).map_or(&[][..], Vec::as_slice);
            let (unit, belief) = effect(of, belief)?;
            let deviation = input.zip(scales).and_then(|(input, scales)| Some(scales.get(input)? / unit));
            Ok((classes.get(k + 1), (unit, deviation), name, belief))
        })
    };
    let all = document.model.coefficients()?.into_iter().enumerate().flat_map(of_class);
    let mut all = all.collect::<Result<Vec<_>, ModelError>>()?;
    let count = all.len();
    if sorted || count > most {
        let sure = |own: &Marginal| (own.mean() / own.standard_deviation()).abs();
        all.sort_by(|(.., a), (.., b)| sure(b).total_cmp(&sure(a)));
    }
    let line = |(class, (unit, deviation), name, belief): (Option<&String>, (f64, Option<f64>), String, Marginal)| {
        let Interval { lower, upper, .. } = belief.interval(LEVEL)?;
        let (mean, sd) = (unit * belief.mean(), unit * belief.standard_deviation());
        Ok(Line { class: class.cloned(), name, mean, sd, lower: unit * lower, upper: unit * upper, deviation })
    };
    // Intervals take longer than all else: of a million coefficients a few are shown.
    all.into_iter().take(most).map(line).collect::<Result<_, _>>().map(|lines| (lines, count))
}

/// All that is known of a model, for programs.
///
/// # Errors
/// Intervals beyond the range of floats.
pub fn card(document: &Document) -> Result<Value, TermsError> {
    let spread = spread(&document.model, true)?;
    let info = document.model.info();
    let settings = document.model.settings();
    let pass = |pass: &Pass| {
        json!({
            "file": pass.input.data.display().to_string(), "rows": pass.rows,
            "fingerprint": format!("fnv1a:{:016x}", pass.fingerprint), "stopped": pass.stopped,
        })
    };
    let data: Vec<Value> = document.passes.iter().map(pass).collect();
    let standardise = match &settings.standardise {
        Standardise::Never => "never",
        Standardise::Fixed { .. } => "fixed",
        _ => "first rows",
    };
    let (lines, all) = lines(document, MOST, false)?;
    let cuts = levels(document)?.into_iter().map(|(between, belief)| {
        let Interval { lower, upper } = belief.interval(LEVEL)?;
        let (mean, sd) = (belief.mean(), belief.standard_deviation());
        Ok(json!({ "between": between, "mean": mean, "sd": sd, "lower": lower, "upper": upper }))
    });
    let cuts = cuts.collect::<Result<Vec<Value>, TermsError>>()?;
    let of_times = matches!(document.model, Model::Survival(_));
    let groups = match (&document.groups, &document.model) {
        (Some(groups), Model::Grouped(model)) => Some(groups_card(document, groups, model)?),
        _ => None,
    };
    let shape = document.schema.shape.is_some();
    let (terms, effects) = (shape.then(|| shares(document)), shape.then(|| curves(document)).transpose()?);
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
            "in_runs": order.is_in_runs(), "matters": order.matters() || document.awaits_order(),
        })),
        "prior": {
            "scale": info.prior_scale,
            "scales": info.prior_scales,
            "intercept_scale": settings.intercept_scale,
            "standardise": standardise,
        },
        "groups": groups,
        "terms": terms,
        "effects": effects,
        "family": document.chosen,
        "noise": noise(&document.model).map(|(freedom, scale)| json!({ "degrees_of_freedom": freedom, "scale": scale })),
        "cut_points": (!cuts.is_empty() && !of_times).then_some(&cuts),
        "log_hazards": of_times.then_some(&cuts),
        "size": size(&document.model)?.map(|(size, Interval { lower, upper })| json!({ "value": size, "lower": lower, "upper": upper })),
        "excess_zeros": excess(&document.model)?.map(|(share, Interval { lower, upper })| json!({ "share": share, "lower": lower, "upper": upper })),
        "spread": (!spread.is_empty()).then_some(spread),
        "relevance": document.relevance,
        "imported": document.imported,
        "refined": document.refined,
        "certificate": certificate(document),
        "digits_left": info.health.digits,
        "advice": info.advice.to_string(),
        "coefficient_level": LEVEL,
        "coefficients_in_all": all,
        "coefficients": lines,
    }))
}
