//! `rvi fit` and `rvi update`: learn a file.

use std::time::Instant;

use vi_models::online::{BeliefKind, Memory};

use crate::args::{Belief, Fit, Update};
use crate::document::Document;
use crate::error::CliError;
use crate::learn::learn;
use crate::model::{Model, Plan, RANK};
use crate::report::{self, Pass};
use crate::schema::{InferSettings, infer};
use crate::source::{LABEL, Record, Source};
use crate::target::Target;

pub(super) fn fit(args: &Fit) -> Result<(), CliError> {
    let begun = Instant::now();
    let mut source = Source::open(&args.input)?;
    let (mut document, first) = match &args.output {
        Some(path) if args.go_on && path.exists() => {
            let document = Document::open(path)?;
            let mut record = Record::default();
            while source.place().row < document.read && source.next(&mut record)? {}
            (document, Vec::new())
        }
        _ => begin(args, &mut source)?,
    };
    let before = document.scores.rows;
    learn(&mut document, &mut source, first, |document| match (&args.output, args.checkpoint) {
        (Some(path), Some(every)) if document.read.is_multiple_of(every.max(1)) => document.save(path),
        _ => Ok(()),
    })?;
    if let Some(path) = &args.output {
        document.save(path)?;
    }
    let learned = document.scores.rows - before;
    let pass = Pass { path: source.path(), learned, skipped: source.skipped, seconds: begun.elapsed().as_secs_f64() };
    report::fitted(&document, &pass, args.output.as_deref(), args.json)
}

/// A model with nothing learned, and the records that told what it is to be, with the rows they are on.
fn begin(args: &Fit, source: &mut Source) -> Result<(Document, Vec<(u64, Record)>), CliError> {
    let name = match (&args.target, source.entries()) {
        (Some(name), _) => name.as_str(),
        (None, Some(_)) => LABEL,
        (None, None) => {
            let (path, columns) = (source.path().to_owned(), source.columns().to_vec());
            return Err(CliError::Untold { path, columns });
        }
    };
    let target = source.position(name)?;
    let columns = |names: &[String]| names.iter().map(|name| source.position(name)).collect::<Result<Vec<_>, _>>();
    let (ignore, text) = (columns(&args.ignore)?, columns(&args.text)?);
    let (mut rows, mut records) = (Vec::new(), Vec::new());
    let mut record = Record::default();
    while records.len() < args.sniff as usize && source.next(&mut record)? {
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
        entries: source.entries(),
        inputs: args.inputs.map(|inputs| inputs as usize),
        levels: usize::from(args.levels),
    };
    let schema = infer(source.columns(), &records, &settings)?;
    let target = Target::infer(name, target, &records, args.family, &args.classes)?;
    let rare = source.entries().is_some_and(|entries| entries.named);
    let plan = Plan { memory: memory(&args.forget)?, belief: args.belief.map(belief), rare };
    let model = Model::new(&target.kind, schema.names(), &plan)?;
    Ok((Document::new(target, schema, model), rows.into_iter().zip(records).collect()))
}

fn belief(asked: Belief) -> BeliefKind {
    match asked {
        Belief::Full => BeliefKind::Full,
        Belief::LowRank => BeliefKind::LowRank { rank: RANK },
        Belief::Diagonal => BeliefKind::Diagonal,
    }
}

fn memory(text: &str) -> Result<Memory, CliError> {
    match (text, text.parse::<f64>()) {
        ("nothing", _) => Ok(Memory::Everything),
        ("learned", _) => Ok(Memory::Learned),
        (_, Ok(lambda)) if lambda > 0.0 && lambda < 1.0 => Ok(Memory::Fading(lambda)),
        _ => {
            let what = "`nothing`, `learned`, or a factor between 0 and 1, both excluded".to_owned();
            Err(CliError::Option { option: "forget", value: text.to_owned(), what })
        }
    }
}

pub(super) fn update(args: &Update) -> Result<(), CliError> {
    let begun = Instant::now();
    let mut document = Document::open(&args.model)?;
    let mut source = Source::open(&args.input)?;
    let before = document.scores.rows;
    document.read = 0;
    learn(&mut document, &mut source, Vec::new(), |_| Ok(()))?;
    let output = args.output.as_deref().unwrap_or(&args.model);
    document.save(output)?;
    let learned = document.scores.rows - before;
    let pass = Pass { path: source.path(), learned, skipped: source.skipped, seconds: begun.elapsed().as_secs_f64() };
    report::fitted(&document, &pass, Some(output), args.json)
}
