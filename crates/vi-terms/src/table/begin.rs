//! A model with nothing learned: what the options and the first records of a file make of it.

use std::collections::HashSet;

use vi_core::Row;
use vi_models::online::{BeliefKind, Kind, Memory, Model, PriorScale, Start};
use vi_revrand::RevrandError;

use crate::TermsError;
use crate::formula::{Beside as Besides, Formula, Left, of_target};
use crate::table::choose::{chosen, shuffled, spread_out};
use crate::table::correlate::{Seen, correlate};
use crate::table::document::Document;
use crate::table::grouped::Groups;
use crate::table::known::Known;
use crate::table::learn::scales;
use crate::table::means::Means;
use crate::table::options::{Family, NOTHING, Options};
use crate::table::plan::{Plan, Scales, is_sparse};
use crate::table::pooled::Design;
use crate::table::ranges::{Ranges, is_chosen};
use crate::table::relevance;
use crate::table::schema::{Asked, Beside, Encoded, Features, InferSettings, Map, Schema, infer};
use crate::table::source::{Columns, LABEL, NOWHERE, Record, Source};
use crate::table::target::{Target, TargetKind};
use crate::{Budget, Shape};

/// Records that tell the length scale of random features.
const TRIED: usize = 1000;

/// Bytes of first records beyond which no further ones are kept to look at.
pub(crate) const MOST_KEPT: usize = 1 << 28;

/// The columns that the options name.
struct Named {
    formula: Option<Formula>,
    /// The name of the target, and its place.
    target: (String, usize),
    /// The same of the column that says more of the target: whether an event came, or the upper end of a range.
    beside: Option<(Besides, usize)>,
    ignore: HashSet<usize>,
    text: HashSet<usize>,
    number: HashSet<usize>,
    /// The numbers of the rows that are looked at.
    rows: Vec<u64>,
}

impl Named {
    fn new(options: &Options, columns: &Columns) -> Result<Self, TermsError> {
        options.check()?;
        let formula = match &options.formula {
            Some(text) => Some(Formula::parse(text).map_err(|what| wrong("formula", text, &what.to_string()))?),
            None => None,
        };
        let (name, beside) = target_name(options, formula.as_ref(), columns)?;
        let place = columns.position(&name)?;
        let beside = beside.map(|own| columns.position(own.column()).map(|place| (own, place))).transpose()?;
        let is_time = matches!(beside, Some((Besides::Event(_), _)));
        if is_time && options.family != Family::Auto {
            return Err(wrong(
                "family",
                options.family.name(),
                "not for times of an event, which have a family of their own",
            ));
        }
        if beside.is_some() && !options.classes.is_empty() {
            let what = if is_time { "times of an event have none" } else { "ranges of a number have none" };
            return Err(wrong("classes", &options.classes.join(","), what));
        }
        let places = |names: &[String]| columns.places(names.iter()).map(HashSet::from_iter);
        let (ignore, text) = (places(&options.ignore)?, places(&options.text)?);
        let (number, rows) = (places(&options.number)?, Vec::new());
        Ok(Self { formula, target: (name, place), beside, ignore, text, number, rows })
    }
}

/// Rows with their numbers.
pub(crate) type Numbered = Vec<(u64, Record)>;

/// A model with nothing learned, by the options and the facts that are known: by rows from all over the table where it was
/// [looked at](Known::look), else by its first rows. With it the rows that were read and their numbers, which are to be learned first.
///
/// # Errors
/// Options or first rows of which no model can be made; a row that cannot be read.
pub fn begin<S: Source>(options: &Options, known: &Known, source: &mut S) -> Result<(Document, Numbered), S::Error> {
    let mut named = Named::new(options, source.columns()).map_err(|error| source.refused(error))?;
    if !known.sample.is_empty() {
        let (rows, records): (Vec<u64>, Vec<Record>) = known.sample.iter().cloned().unzip();
        named.rows = rows;
        let document = document_of(options, known, &named, source.columns(), &records);
        return Ok((document.map_err(|error| source.refused(error))?, Vec::new()));
    }
    let mut records = Vec::new();
    let mut record = Record::default();
    let mut size = 0;
    // A file is often sorted by its groups.
    let most =
        if named.formula.as_ref().is_some_and(Formula::has_groups) { usize::MAX } else { options.sniff as usize };
    while records.len() < most && (size < MOST_KEPT || records.len() < 2) && source.next(&mut record)? {
        size += record.size();
        named.rows.push(source.row());
        records.push(record.clone());
    }
    let document = document_of(options, known, &named, source.columns(), &records);
    let document = document.map_err(|error| source.refused(error))?;
    Ok((document, named.rows.into_iter().zip(records).collect()))
}

fn document_of(
    options: &Options,
    known: &Known,
    named: &Named,
    columns: &Columns,
    records: &[Record],
) -> Result<Document, TermsError> {
    if records.is_empty() {
        return Err(TermsError::Empty);
    }
    let all = records;
    let every = records.len().div_ceil(options.sniff as usize);
    let spaced: Vec<Record>;
    let records = if every > 1 {
        spaced = records.iter().step_by(every).cloned().collect();
        &spaced
    } else {
        records
    };
    let (mut target, mut schema, asked) = inferred(options, known, named, columns, (all, records))?;
    check_spread(options, &asked, &target)?;
    check_ranges(options, &asked, &target)?;
    if let (Some(shape), true) = (options.shape, !asked.is_empty() || columns.entries().is_some()) {
        let what = if asked.is_empty() { "not available for a sparse file" } else { "the formula names its own terms" };
        return Err(wrong("shape", &format!("{shape:?}").to_lowercase(), what));
    }
    let beside = if asked.is_empty() {
        Beside::Shape(options.shape().unwrap_or_else(|| schema.shape_of_table(records.len())))
    } else {
        Beside::Asked(&asked)
    };
    let shaped = columns.entries().is_none() && !matches!(beside, Beside::Shape(Shape::Line));
    let (means, with_means) = if shaped && asked.is_empty() && options.levels == Options::default().levels {
        of_many_levels(options, named, &mut schema, &target, records, columns)?
    } else {
        (Means::default(), Vec::new())
    };
    let beside_means = means.beside(columns);
    let (records, columns) = if means.is_empty() { (records, columns) } else { (&with_means[..], &beside_means) };
    // Curves and products take means as they are; kernels of them gain nothing.
    let beside_of_means = options.shape.unwrap_or(Shape::Pairs);
    let beside = if means.is_empty() { beside } else { Beside::Shape(beside_of_means) };
    let lines = schema.clone();
    if shaped {
        schema.shape(&beside, &target, &budget(&target.kind), records, columns)?;
    }
    let rare = columns.entries().is_some_and(|entries| entries.named || are_of_unit_size(records));
    let groups = match &asked.apart {
        Some(group) => Some((Groups::new(group.column.clone()), schema.effects(group)?)),
        None => None,
    };
    let counted = options.family == Family::Auto && !known.uncounted && target.may_be_counts(records, columns)?;
    let ranges = !target.ranges.is_none();
    let mut plan = Plan { groups, rare, counted, ranges, ..planned(options, known, &schema, &asked)? };
    if ranges && is_chosen(options.family) && plan.belief(&target.kind, schema.width()) != BeliefKind::Full {
        let what = format!("{} weights are too many where some numbers are only known as a range", schema.width());
        return Err(TermsError::Target { column: target.column, what });
    }
    let correlated = |schema: &mut Schema, target: &Target, kind: Kind, before: Option<Seen>| {
        let seen = Seen::by(kind);
        if before != Some(seen) {
            correlate(schema, &asked.groups, (target, kind), all, columns)?;
        }
        Ok::<_, TermsError>(seen)
    };
    let plain = plan.kinds(&target.kind, schema.width()).0;
    let seen = correlated(&mut schema, &target, plain, None)?;
    if let Some(text) = &options.features {
        let what = "must be `rff:300` (300 random features) or `poly:2` (powers up to 2, at most 8)";
        let features = Features::parse(text).ok_or_else(|| wrong("features", text, what))?;
        if columns.entries().is_some() {
            return Err(wrong("features", text, "not available for a sparse file: it has too many inputs"));
        }
        schema.map = Some(mapped(features, &schema, &target, &plan, records, columns)?);
    }
    if options.mergeable || options.ard {
        plan.scales = Some(scales(&schema, &target, records, columns, 1.0)?);
    }
    if options.ard && options.prior.is_empty() {
        // The scales of the inputs have the prior's in them.
        plan.prior = PriorScale::Given(1.0);
    }
    let relevance =
        options.ard.then(|| relevance::determine(&mut plan, &schema, &target, records, columns)).transpose()?;
    // With means they are shuffled already, and the means grow from each to the next.
    let order = if means.is_empty() { spread_out(records).collect() } else { records.iter().collect::<Vec<_>>() };
    let (model, chosen) = chosen(&plan, &schema, &mut target, &order, columns)?;
    if matches!(model, Model::Robust(_)) && target.ranges.is_none() {
        target.ranges = Ranges::Marks;
    }
    // Another family than the plain one sees the labels in another way.
    correlated(&mut schema, &target, model.kind(), Some(seen))?;
    let noise = plan.noise();
    let mut design = Design { schema, plan, model, chosen, means };
    if !design.means.is_empty() && !ranges && options.takes_groups(&target.kind) {
        let shape = (beside_of_means, &budget(&target.kind));
        design = design.pooled(&lines, &target, shape, (known.rows, records), columns)?;
    }
    let Design { schema, plan, model, chosen, means } = design;
    let by_labels = chosen.is_some() || relevance.is_some() || schema.map.is_some() || !means.is_empty();
    let by_labels = by_labels || shaped && asked.is_empty() || asked.groups.iter().any(|group| group.correlated);
    let mut document = Document::new(target, schema, model, noise);
    let last = named.rows.last().copied().unwrap_or(0);
    document.foreseen = Some(if by_labels { last } else { 0 });
    (document.relevance, document.chosen, document.means) = (relevance, chosen, means);
    document.groups = plan.groups.map(|(groups, _)| groups);
    Ok(document)
}

/// The plan of the options, beside groups, entries and counts.
///
/// # Errors
/// A memory that is none.
fn planned(options: &Options, known: &Known, schema: &Schema, asked: &Asked) -> Result<Plan, TermsError> {
    Ok(Plan {
        groups: None,
        memory: memory(&options.forget)?,
        belief: known.belief.or(options.belief),
        grouped: !asked.groups.is_empty(),
        correlated: asked.groups.iter().any(|group| group.correlated),
        rare: false,
        intercept: schema.intercept,
        start: Start::Fitted,
        prior: prior(&options.prior),
        scales: None,
        unscaled: options.unscaled,
        family: options.family,
        counted: false,
        ranges: false,
        spread: asked.spread.as_ref().map(|spread| schema.inputs_of(spread)),
        refused: known.refused.clone(),
        keep_sample: !options.no_sample,
        threads: options.threads,
        blocks: Vec::new(),
        as_they_are: 0,
    }
    .shaped(schema))
}

/// Checks that the family has a spread of its own, where the formula says what it follows.
///
/// # Errors
/// [`TermsError::Option`].
fn check_spread(options: &Options, asked: &Asked, target: &Target) -> Result<(), TermsError> {
    let Some(spread) = &asked.spread else { return Ok(()) };
    if target.kind != TargetKind::Number {
        let text = options.formula.as_deref().unwrap_or_default();
        return Err(wrong("formula", text, &format!("`sigma ~` at {} is for a target of numbers", spread.at)));
    }
    let taken = match options.family {
        Family::Auto | Family::Number | Family::Varying | Family::LogVarying | Family::LogitVarying => true,
        Family::Robust | Family::LogRobust | Family::LogitRobust => spread.terms.is_empty(),
        _ => false,
    };
    let what = format!("has no spread that follows inputs, as `sigma ~` at {} asks for; `varying` has", spread.at);
    if taken { Ok(()) } else { Err(wrong("family", options.family.name(), &what)) }
}

/// Checks that a target of which some numbers are only known to lie in a range meets no option that takes none.
///
/// # Errors
/// [`TermsError::Option`].
fn check_ranges(options: &Options, asked: &Asked, target: &Target) -> Result<(), TermsError> {
    if target.ranges.is_none() || !is_chosen(options.family) {
        return Ok(());
    }
    let some = "some numbers are only known as a range";
    if let Some(spread) = asked.spread.as_ref().filter(|spread| !spread.terms.is_empty()) {
        let what = format!("`sigma ~` at {} has no model where {some}", spread.at);
        return Err(wrong("formula", options.formula.as_deref().unwrap_or_default(), &what));
    }
    match options.belief {
        Some(belief) if belief != BeliefKind::Full => {
            Err(wrong("belief", &format!("{belief:?}").to_lowercase(), &format!("must be `full` where {some}")))
        }
        _ if options.unscaled => Err(wrong("unscaled", "", &format!("makes no record where {some}"))),
        _ => Ok(()),
    }
}

/// The target, the schema and the terms of the formula: levels by `all` records, everything else by `records`.
///
/// # Errors
/// Options or columns of which no model can be made.
fn inferred(
    options: &Options,
    known: &Known,
    named: &Named,
    columns: &Columns,
    (all, records): (&[Record], &[Record]),
) -> Result<(Target, Schema, Asked), TermsError> {
    let (name, place) = (&named.target.0, named.target.1);
    if let Some((beside, at)) = &named.beside {
        let target = match beside {
            Besides::Event(event) => Target::of_times(name, event, records, columns)?,
            Besides::Upper(upper) => Target::of_ranges((name, place), (upper, *at), records, options.family)?,
        };
        return with_schema(options, known, named, columns, all, target);
    }
    let shown = records.iter().map(|record| record.field(place)).chain(known.values.iter().map(String::as_str));
    let mut target = Target::infer(name, &shown.collect::<Vec<&str>>(), options.family, &options.classes)?;
    if known.ranged {
        target.ranges = Ranges::Marks;
    }
    with_schema(options, known, named, columns, all, target)
}

fn with_schema(
    options: &Options,
    known: &Known,
    named: &Named,
    columns: &Columns,
    all: &[Record],
    target: Target,
) -> Result<(Target, Schema, Asked), TermsError> {
    let settings = InferSettings {
        target: named.target.1,
        beside: named.beside.as_ref().map(|(_, place)| *place),
        ignore: &named.ignore,
        text: &named.text,
        number: &named.number,
        entries: columns.entries(),
        inputs: options.inputs.map(|inputs| inputs as usize),
        levels: usize::from(options.levels),
        formula: named.formula.as_ref(),
        apart: known.belief.is_none()
            && target.ranges.is_none()
            && options.takes_groups(&target.kind)
            && named.formula.as_ref().is_none_or(|formula| formula.spread_at().is_none()),
        rows: &named.rows,
    };
    let (schema, asked) = infer(columns.names(), all, &settings)?;
    Ok((target, schema, asked))
}

/// Inputs of columns that have many levels or name groups, and means in place of more levels, with the records that have these.
///
/// # Errors
/// A column that is not there.
fn of_many_levels(
    options: &Options,
    named: &Named,
    schema: &mut Schema,
    target: &Target,
    records: &[Record],
    columns: &Columns,
) -> Result<(Means, Vec<Record>), TermsError> {
    schema.group(target, (usize::from(options.levels), &named.number), records, columns);
    // Whoever names the inputs means them as they are, and the inputs of parts must be alike.
    if options.formula.is_some() || options.mergeable {
        return Ok((Means::default(), Vec::new()));
    }
    Means::in_place_of_levels(schema, target, records, columns)
}

/// Whether entries of a sparse file need no scale: each input is seen too seldom for the first rows to tell one.
fn are_of_unit_size(records: &[Record]) -> bool {
    let values = || records.iter().flat_map(|record| &record.entries).map(|(_, value)| value.abs());
    let size = (values().map(|value| value * value).sum::<f64>() / values().count().max(1) as f64).sqrt();
    (0.1..10.0).contains(&size) && values().all(|value| value < 100.0)
}

fn prior(scales: &[f64]) -> PriorScale {
    match scales {
        [] => PriorScale::Learned,
        [scale] => PriorScale::Given(*scale),
        several => PriorScale::Among(several.to_vec()),
    }
}

/// The limits of a shape's weights: each class but one has weights of its own, and a class holds less information than a number.
fn budget(target: &TargetKind) -> Budget {
    let budget = Budget::default();
    match target {
        TargetKind::Classes(classes) => {
            Budget { weights: budget.weights / classes.len().saturating_sub(1).clamp(1, 2), rows: 2 * budget.rows }
        }
        TargetKind::Ordered(_) | TargetKind::Survival(_) => Budget { rows: 2 * budget.rows, ..budget },
        TargetKind::Number | TargetKind::Count => budget,
    }
}

fn memory(text: &str) -> Result<Memory, TermsError> {
    match (text, text.parse::<f64>()) {
        (NOTHING, _) => Ok(Memory::Everything),
        ("learned", _) => Ok(Memory::Learned),
        (_, Ok(lambda)) if lambda > 0.0 && lambda < 1.0 => Ok(Memory::Fading(lambda)),
        _ => {
            let what = "must be `nothing`, `learned`, or a factor between 0 and 1, exclusive".to_owned();
            Err(TermsError::Option { option: "forget", value: text.to_owned(), what })
        }
    }
}

fn wrong(option: &'static str, value: &str, what: &str) -> TermsError {
    TermsError::Option { option, value: value.to_owned(), what: what.to_owned() }
}

/// The column to predict, as the option, the formula or the format says, and the column that says more of it.
pub(crate) fn target_name(options: &Options, formula: Option<&Formula>, columns: &Columns) -> Result<Left, TermsError> {
    let told = formula.and_then(|formula| Some((formula.target.clone()?, formula.beside.clone())));
    let asked = options
        .target
        .as_ref()
        .map(|name| if columns.names().contains(name) { Ok((name.clone(), None)) } else { of_target(name) });
    let asked = asked.transpose().map_err(|error| wrong("target", options.target.as_deref().unwrap_or(""), &error))?;
    match (asked, told) {
        (Some(asked), Some(told)) if asked != told => {
            let named = options.target.as_deref().unwrap_or_default();
            Err(wrong("target", named, &format!("the formula says `{}`", told.0)))
        }
        (Some(names), _) | (None, Some(names)) => Ok(names),
        (None, None) if columns.entries().is_some() => Ok((LABEL.to_owned(), None)),
        (None, None) => Err(TermsError::Untold { columns: columns.names().to_vec() }),
    }
}

/// The features that are asked for; of random ones at the length scale that the first records make most probable.
fn mapped(
    features: Features,
    schema: &Schema,
    target: &Target,
    plan: &Plan,
    records: &[Record],
    columns: &Columns,
) -> Result<Map, TermsError> {
    let refused = |error: RevrandError| wrong("features", "", &error.to_string());
    let Scales { centres, spreads, .. } = scales(schema, target, records, columns, 1.0)?;
    let count = match features {
        Features::Powers(degree) => {
            let numbers = schema.numbers();
            return Map::powers(centres, spreads, degree, numbers).map_err(refused);
        }
        Features::Fourier(count) => count,
    };
    // Points of unit spread in each of d directions are about √(2d) apart.
    let apart = (2.0 * centres.len() as f64).sqrt();
    let mut best: Option<(f64, Map)> = None;
    for part in [1.0, 0.5, 0.25, 0.125] {
        let map = Map::fourier(centres.clone(), spreads.clone(), count, part * apart).map_err(refused)?;
        let mut tried = schema.clone();
        tried.map = Some(map.clone());
        let evidence = evidence(&tried, target, plan, shuffled(records).take(TRIED), columns)?;
        if best.as_ref().is_none_or(|(most, _)| evidence > *most) {
            best = Some((evidence, map));
        }
    }
    best.map(|(_, map)| map).ok_or_else(|| wrong("features", "", "no length scale"))
}

/// The log evidence of a schema by records in one pass; those that cannot be learned are left to be told of later.
fn evidence<'a>(
    schema: &Schema,
    target: &Target,
    plan: &Plan,
    records: impl Iterator<Item = &'a Record>,
    columns: &Columns,
) -> Result<f64, TermsError> {
    let (places, label) = (schema.places(columns)?, target.places(columns)?);
    let quick = Plan { start: Start::OnePass, ..plan.clone() };
    let mut model = quick.model(&target.kind, schema.names())?;
    let mut encoded = Encoded::default();
    for record in records {
        let Ok(Some(label)) = target.label(record, label, NOWHERE) else { continue };
        if encoded.write(schema, &places, record, NOWHERE).is_ok() {
            let row: Row<'_> = encoded.row(schema, is_sparse(&model));
            let _unlearned = model.update(row, label.weight(record.weight));
        }
    }
    Ok(model.info().evidence)
}
