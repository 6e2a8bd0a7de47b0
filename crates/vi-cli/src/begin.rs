//! A model with nothing learned: what the options and the first records of a file make of it.

use std::collections::HashSet;

use vi_core::Row;
use vi_models::online::{BeliefKind, Memory, Observation, PriorScale, Start};
use vi_revrand::RevrandError;

use crate::args::{Belief, Fit};
use crate::document::Document;
use crate::error::CliError;
use crate::formula::Formula;
use crate::learn::scales;
use crate::model::{Plan, RANK, Scales, is_sparse};
use crate::relevance;
use crate::schema::{Encoded, Features, InferSettings, Map, Schema, infer};
use crate::source::{LABEL, Record, Source};
use crate::target::{Target, values_of_all};

/// Records that tell the length scale of random features.
const TRIED: usize = 1000;

/// Bytes of first records beyond which no further ones are kept to look at.
const MOST_KEPT: usize = 1 << 28;

/// A model with nothing learned, whose belief is of this `kind` or as the options say, and the records that told what it is to be, with the rows they are
/// on. `values` of the target tell of it beside those of the records.
pub(crate) fn begin(
    args: &Fit,
    kind: Option<BeliefKind>,
    values: &[String],
    source: &mut Source,
) -> Result<(Document, Vec<(u64, Record)>), CliError> {
    let formula = match &args.formula {
        Some(text) => Some(Formula::parse(text).map_err(|what| wrong("formula", text, &what))?),
        None => None,
    };
    let name = target_name(args, formula.as_ref(), source)?;
    let target = source.position(&name)?;
    let columns = |names: &[String]| source.places(names.iter()).map(HashSet::from_iter);
    let (ignore, text): (HashSet<_>, HashSet<_>) = (columns(&args.ignore)?, columns(&args.text)?);
    let number = columns(&args.number)?;
    let (mut rows, mut records) = (Vec::new(), Vec::new());
    let mut record = Record::default();
    let mut size = 0;
    while records.len() < args.sniff as usize && (size < MOST_KEPT || records.len() < 2) && source.next(&mut record)? {
        size += record.size();
        rows.push(source.place().row);
        records.push(record.clone());
    }
    if records.is_empty() {
        return Err(CliError::Empty { path: source.path().to_owned() });
    }
    let settings = InferSettings {
        target,
        ignore: &ignore,
        text: &text,
        number: &number,
        entries: source.entries(),
        inputs: args.inputs.map(|inputs| inputs as usize),
        levels: usize::from(args.levels),
        formula: formula.as_ref(),
    };
    let mut schema = infer(source.columns(), &records, &settings)?;
    let shown: Vec<&str> =
        records.iter().map(|record| record.field(target)).chain(values.iter().map(String::as_str)).collect();
    let target = Target::infer(&name, &shown, args.family, &args.classes)?;
    let rare = source.entries().is_some_and(|entries| entries.named || are_of_unit_size(&records));
    let mut plan = Plan {
        memory: memory(&args.forget)?,
        belief: kind.or(args.belief.map(belief)),
        rare,
        intercept: schema.intercept,
        start: Start::Fitted,
        prior: prior(&args.prior),
        scales: None,
        unscaled: args.unscaled,
        keep_sample: !args.no_sample,
    };
    if let Some(text) = &args.features {
        let what = "must be `rff:300` (300 random features) or `poly:2` (powers up to 2, at most 8)";
        let features = Features::parse(text).ok_or_else(|| wrong("features", text, what))?;
        if source.entries().is_some() {
            return Err(wrong("features", text, "not available for a sparse file: it has too many inputs"));
        }
        schema.map = Some(mapped(features, &schema, &target, &plan, &records, source)?);
    }
    if args.mergeable || args.ard {
        plan.scales = Some(scales(&schema, &target, &records, source)?);
    }
    let relevance = match &mut plan.scales {
        Some(scales) if args.ard => Some(relevance::determine(scales, &schema, &target, &records, source)?),
        _ => None,
    };
    if args.ard && args.prior.is_empty() {
        // The scales of the inputs have the prior's in them.
        plan.prior = PriorScale::Given(1.0);
    }
    let model = plan.model(&target.kind, schema.names())?;
    let noise = plan.noise();
    let mut document = Document::new(target, schema, model, noise);
    document.relevance = relevance;
    Ok((document, rows.into_iter().zip(records).collect()))
}

/// Whether entries of a sparse file need no scale: each input is seen too seldom for the first rows to tell one.
fn are_of_unit_size(records: &[Record]) -> bool {
    let values = || records.iter().flat_map(|record| &record.entries).map(|(_, value)| value.abs());
    let size = (values().map(|value| value * value).sum::<f64>() / values().count().max(1) as f64).sqrt();
    (0.1..10.0).contains(&size) && values().all(|value| value < 100.0)
}

fn belief(asked: Belief) -> BeliefKind {
    match asked {
        Belief::Full => BeliefKind::Full,
        Belief::LowRank => BeliefKind::LowRank { rank: RANK },
        Belief::Diagonal => BeliefKind::Diagonal,
    }
}

fn prior(scales: &[f64]) -> PriorScale {
    match scales {
        [] => PriorScale::Learned,
        [scale] => PriorScale::Given(*scale),
        several => PriorScale::Among(several.to_vec()),
    }
}

fn memory(text: &str) -> Result<Memory, CliError> {
    match (text, text.parse::<f64>()) {
        ("nothing", _) => Ok(Memory::Everything),
        ("learned", _) => Ok(Memory::Learned),
        (_, Ok(lambda)) if lambda > 0.0 && lambda < 1.0 => Ok(Memory::Fading(lambda)),
        _ => {
            let what = "must be `nothing`, `learned`, or a factor between 0 and 1, exclusive".to_owned();
            Err(CliError::Option { option: "forget", value: text.to_owned(), what })
        }
    }
}

fn wrong(option: &'static str, value: &str, what: &str) -> CliError {
    CliError::Option { option, value: value.to_owned(), what: what.to_owned() }
}

/// Values of the target that the first records need not show, from the whole file.
///
/// # Errors
/// A file that cannot be read.
pub(crate) fn values_of_target(args: &Fit) -> Result<Vec<String>, CliError> {
    let formula = args.formula.as_ref().and_then(|text| Formula::parse(text).ok());
    let name = target_name(args, formula.as_ref(), &Source::open(&args.input)?)?;
    values_of_all(&args.input, &name)
}

/// The column to predict, as the option, the formula or the format says.
fn target_name(args: &Fit, formula: Option<&Formula>, source: &Source) -> Result<String, CliError> {
    let told = formula.and_then(|formula| formula.target.as_ref());
    match (&args.target, told) {
        (Some(asked), Some(told)) if asked != told => {
            Err(wrong("target", asked, &format!("the formula says `{told}`")))
        }
        (Some(name), _) | (None, Some(name)) => Ok(name.clone()),
        (None, None) if source.entries().is_some() => Ok(LABEL.to_owned()),
        (None, None) => {
            let (path, columns) = (source.path().to_owned(), source.columns().to_vec());
            Err(CliError::Untold { path, columns })
        }
    }
}

/// The features that are asked for; of random ones at the length scale that the first records make most probable.
fn mapped(
    features: Features,
    schema: &Schema,
    target: &Target,
    plan: &Plan,
    records: &[Record],
    source: &mut Source,
) -> Result<Map, CliError> {
    let refused = |error: RevrandError| wrong("features", "", &error.to_string());
    let Scales { centres, spreads, .. } = scales(schema, target, records, source)?;
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
        let evidence = evidence(&tried, target, plan, records.get(..TRIED).unwrap_or(records), source)?;
        if best.as_ref().is_none_or(|(most, _)| evidence > *most) {
            best = Some((evidence, map));
        }
    }
    best.map(|(_, map)| map).ok_or_else(|| wrong("features", "", "no length scale"))
}

/// The log evidence of a schema by records; those that cannot be learned are left to be told of later.
fn evidence(
    schema: &Schema,
    target: &Target,
    plan: &Plan,
    records: &[Record],
    source: &Source,
) -> Result<f64, CliError> {
    let (places, label) = (schema.places(source)?, source.position(&target.column)?);
    let quick = Plan { start: Start::OnePass, ..plan.clone() };
    let mut model = quick.model(&target.kind, schema.names())?;
    let mut encoded = Encoded::default();
    for record in records {
        let Ok(Some(label)) = target.read(record.field(label), source) else { continue };
        if encoded.write(schema, &places, record, source).is_ok() {
            let row: Row<'_> = encoded.row(schema, is_sparse(&model));
            let _unlearned = model.update(row, Observation::new(label).weight(record.weight));
        }
    }
    Ok(model.info().evidence)
}
