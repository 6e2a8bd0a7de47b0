//! `rvi fit` and `rvi update`: learn a file.

use std::path::Path;
use std::time::Instant;

use vi_models::online::{BeliefKind, Order, Standardise};

use crate::args::{Fit, Input, Show, Update};
use crate::begin::{begin, values_of_target};
use crate::document::{Document, Pass};
use crate::error::CliError;
use crate::files::Held;
use crate::learn::learn;
use crate::refine;
use crate::reorder;
use crate::report;
use crate::source::{Record, Source};
use crate::tell;

pub(super) fn fit(args: &Fit) -> Result<(), CliError> {
    let again = args.like.is_none() && args.input.data.is_file();
    let (mut belief, mut values) = (None, Vec::new());
    loop {
        match fit_with(args, belief, &values) {
            Err(error) if again && args.belief.is_none() && belief.is_none() && error.is_of_rounding() => {
                tell::warn(&format!("{error}; learning the file again with the square root of the precision"));
                belief = Some(BeliefKind::SquareRoot);
            }
            Err(error) if again && args.classes.is_empty() && values.is_empty() && error.is_of_classes() => {
                values = values_of_target(args)?;
                if !error.is_shown_by(&values) {
                    return Err(error);
                }
                tell::warn(&format!("{error}; learning the file again with the classes of all its rows"));
            }
            fitted => return fitted,
        }
    }
}

/// Learns the file with this belief, or with the one that the options or the number of inputs tell; `values` tell of the target beside those of the first
/// rows.
fn fit_with(args: &Fit, belief: Option<BeliefKind>, values: &[String]) -> Result<(), CliError> {
    let begun = Instant::now();
    let mut source = Source::open(&args.input)?;
    let (mut document, first) = match &args.like {
        Some(path) => (like(path)?, Vec::new()),
        None => begin(args, belief, values, &mut source)?,
    };
    document.passes.push(Pass::new(&args.input));
    if let Some(passes) = args.refine {
        refine::check(passes, &args.input, &document)?;
    }
    let after = After { input: &args.input, reorder: !args.keep_order, refine: args.refine };
    let store = Store { path: args.output.as_deref(), held: None, every: args.checkpoint, after: Some(after) };
    whole_pass(document, source, first, store, begun, &args.show)
}

/// Where a pass leaves its model.
pub(super) struct Store<'a> {
    pub(super) path: Option<&'a Path>,
    /// The model there, if it was read to be replaced.
    pub(super) held: Option<Held>,
    /// Rows after which it does so before the end.
    pub(super) every: Option<u64>,
    /// The passes that follow where the file can be read again.
    pub(super) after: Option<After<'a>>,
}

/// Passes after the first.
pub(super) struct After<'a> {
    pub(super) input: &'a Input,
    /// Whether rows whose labels come in runs are learned again in a random order.
    pub(super) reorder: bool,
    /// The largest number of passes to the best Gaussian.
    pub(super) refine: Option<u16>,
}

impl Store<'_> {
    fn save(&mut self, document: &Document) -> Result<(), CliError> {
        self.path.map_or(Ok(()), |path| document.save_held(path, &mut self.held))
    }
}

/// Learns what is left of a file, stores the model and tells of it. Where somebody stops it, what has been learned is stored.
pub(super) fn whole_pass(
    mut document: Document,
    mut source: Source,
    first: Vec<(u64, Record)>,
    mut store: Store<'_>,
    begun: Instant,
    show: &Show,
) -> Result<(), CliError> {
    let (before, read) = (document.scores.rows, document.row());
    let learned = learn(&mut document, &mut source, first, |document| match store.every {
        Some(every) if document.row().is_multiple_of(every.max(1)) => store.save(document),
        _ => Ok(()),
    });
    match (learned, store.path) {
        (Err(CliError::Stop), Some(path)) => {
            store.save(&document)?;
            return Err(CliError::Resumable { path: path.to_owned(), row: document.row() });
        }
        (Err(CliError::Stop), None) => return Err(CliError::Lost { row: document.row() }),
        (Err(error), _) => return Err(error),
        (Ok(()), _) if document.scores.rows == before && document.row() > read => {
            let why = source
                .first_skipped
                .as_ref()
                .map_or(": no row has a target".to_owned(), |first| format!("; the first: {first}"));
            return Err(CliError::Nothing { path: source.path().to_owned(), why });
        }
        (Ok(()), _) => store.save(&document)?,
    }
    if let Some(After { input, reorder, refine }) = &store.after {
        let again = |document: &mut Document| {
            if *reorder {
                reorder::reorder(document, input)?;
            }
            refine.map_or(Ok(()), |passes| refine::refine(document, input, passes))
        };
        match (again(&mut document), store.path) {
            (Err(CliError::Stop), Some(path)) => return Err(CliError::Unrefined { path: path.to_owned() }),
            (Err(CliError::Stop), None) => return Err(CliError::Lost { row: document.row() }),
            (Err(error), _) => return Err(error),
            (Ok(()), _) => store.save(&document)?,
        }
    }
    if let Some(before) = document.passes.last().and_then(|pass| document.learned_before(pass)) {
        tell::warn(&format!(
            "the rows of {} are those of {}, already in the model: they now count twice",
            source.path().display(),
            before.input.data.display()
        ));
    }
    let learned = document.scores.rows - before;
    let pass =
        report::Pass { path: source.path(), learned, skipped: source.skipped, seconds: begun.elapsed().as_secs_f64() };
    if let Some(order) = document.model.info().order.filter(Order::matters) {
        tell::warn(&format!(
            "the model is unreliable: {order}; `rvi fit` of one file with all rows learns them in random order"
        ));
    }
    report::fitted(&document, &pass, store.path, show)
}

/// Reads the rows of the last pass that have been read already.
///
/// # Errors
/// Other rows than those.
pub(super) fn pass_over(document: &Document, source: &mut Source) -> Result<(), CliError> {
    let Some(pass) = document.passes.last() else { return Ok(()) };
    let (mut record, mut fingerprint) = (Record::default(), Pass::new(&pass.input).fingerprint);
    while source.place().row < pass.rows && source.next(&mut record)? {
        fingerprint = record.fingerprint(fingerprint);
    }
    if source.place().row == pass.rows && fingerprint == pass.fingerprint {
        Ok(())
    } else {
        Err(CliError::Changed { path: source.path().to_owned(), rows: pass.rows })
    }
}

/// A model with nothing learned, of the target, columns and settings of a stored one.
fn like(path: &Path) -> Result<Document, CliError> {
    let stored = Document::open(path)?;
    if matches!(stored.model.settings().standardise, Standardise::FirstRows { .. }) {
        let what = "its scales are those of its own first rows; make the model with `fit --mergeable`";
        return Err(CliError::Document { path: path.to_owned(), what: what.to_owned() });
    }
    let model = stored.model.emptied()?;
    Ok(Document::new(stored.target, stored.schema, model, stored.noise))
}

pub(super) fn update(args: &Update) -> Result<(), CliError> {
    let begun = Instant::now();
    let (mut document, path, held) = if let Some(path) = &args.output {
        (Document::open(&args.model)?, path, None)
    } else {
        let (document, held) = Document::hold(&args.model)?;
        (document, &args.model, Some(held))
    };
    let source = Source::open(&args.input)?;
    document.passes.push(Pass::new(&args.input));
    let store = Store { path: Some(path), held, every: None, after: None };
    whole_pass(document, source, Vec::new(), store, begun, &args.show)
}
