//! `rvi fit` and `rvi update`: learn a file.

use std::fs;
use std::path::Path;
use std::thread::scope;
use std::time::Instant;

use vi_models::online::Standardise;
use vi_terms::TermsError;
use vi_terms::table::{self, Beside, Document, Input, Known, Options, Pass, Source, begin, check_refine, learn};

use crate::args::{Fit, Show, Update, threads};
use crate::document::{hold, open, save_held};
use crate::error::CliError;
use crate::files::Held;
use crate::interrupt;
use crate::progress::Progress;
use crate::report;
use crate::source::{File, Record};
use crate::tell;

pub(super) fn fit(args: &Fit) -> Result<(), CliError> {
    let again = args.like.is_none() && args.input.data.is_file();
    let (options, input) = (args.options(), args.input.input());
    let mut known = Known::default();
    if again && !args.keep_order {
        known.look(&options, &mut File::open(&input)?)?;
    }
    loop {
        let error = match fit_with(args, &options, &input, &known) {
            Err(error) if again => error,
            fitted => return fitted,
        };
        let Some(cause) = error.cause() else { return Err(error) };
        match known.after(cause, &options, || File::open(&input))? {
            Some(how) => tell::warn(&format!("{error}; learning the file again {how}")),
            None => return Err(error),
        }
    }
}

/// Learns the file, by what the options and a pass before have told.
fn fit_with(args: &Fit, options: &Options, input: &Input, known: &Known) -> Result<(), CliError> {
    let begun = Instant::now();
    let mut source = File::open(input)?;
    let (mut document, first) = match &args.like {
        Some(path) => (like(path)?, Vec::new()),
        None => begin(options, known, &mut source)?,
    };
    document.passes.push(Pass::new(input));
    document.to_reorder = !args.keep_order && input.data.is_file();
    if let Some(passes) = args.refine {
        check_refine(passes, input.data.is_file(), &document)?;
    }
    let after = After { input, refine: args.refine };
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
    /// The largest number of passes to the best Gaussian.
    pub(super) refine: Option<u16>,
}

impl Store<'_> {
    fn save(&mut self, document: &Document) -> Result<(), CliError> {
        self.path.map_or(Ok(()), |path| save_held(document, path, &mut self.held))
    }
}

/// Learns what is left of a file, stores the model and tells of it. Where somebody stops it, what has been learned is stored.
pub(super) fn whole_pass(
    mut document: Document,
    mut source: File,
    first: Vec<(u64, Record)>,
    mut store: Store<'_>,
    begun: Instant,
    show: &Show,
) -> Result<(), CliError> {
    let before = document.scores.rows;
    passes(&mut document, &mut source, first, &mut store)?;
    if let Some(before) = document.passes.last().and_then(|pass| document.learned_before(pass)) {
        tell::warn(&format!(
            "the rows of {} are those of {}, already in the model: they now count twice",
            source.path().display(),
            before.input.data.display()
        ));
    }
    let learned = document.scores.rows - before;
    let pass = report::Pass {
        path: source.path(),
        learned,
        skipped: source.skipped(),
        seconds: begun.elapsed().as_secs_f64(),
    };
    if let Some(why) = document.unreliable() {
        tell::warn(&format!("{why}; `rvi fit` of one file with all rows learns them in random order"));
    }
    // The fit of first rows takes far longer than the few rows of an update, and no stored model has it.
    let is_quick = !document.model.info().warming_up;
    if is_quick || store.after.is_some() || show.json || show.plot.is_some() || show.html.is_some() {
        document.model.catch_up()?;
    }
    report::fitted(&document, &pass, store.path, show)
}

/// The first pass over a file, and those that follow it.
fn passes(
    document: &mut Document,
    source: &mut File,
    first: Vec<(u64, Record)>,
    store: &mut Store<'_>,
) -> Result<(), CliError> {
    let (before, read) = (document.scores.rows, document.row());
    let again = store.after.as_ref().map(|after| after.input);
    let open = || again.map_or(Err(TermsError::Empty.into()), File::open);
    scope(|scope| {
        let bytes = again.and_then(|input| size_again(document, input));
        let mut beside = Beside::new(scope, &open, bytes.unwrap_or(0.0), if bytes.is_some() { threads() } else { 1 });
        stopped(document, true);
        let mut progress = Progress::new();
        let learned = learn(document, source, first, |document, source| {
            progress.row(|| source.share());
            beside.look(document);
            match store.every {
                Some(every) if document.row().is_multiple_of(every) => store.save(document)?,
                _ => {}
            }
            interrupt::check()
        });
        drop(progress);
        stopped(document, learned.is_err());
        match (learned, store.path) {
            (Err(CliError::Stop), Some(path)) => {
                store.save(document)?;
                return Err(CliError::Resumable { path: path.to_owned(), row: document.row() });
            }
            (Err(CliError::Stop), None) => return Err(CliError::Lost { row: document.row() }),
            (Err(error), _) => return Err(error),
            (Ok(()), _) if document.scores.rows == before && (document.row() > read || read == 0) => {
                let none = if document.row() == 0 { TermsError::Empty } else { TermsError::Nothing };
                return Err(source.refused(none));
            }
            (Ok(()), _) => store.save(document)?,
        }
        let Some(After { input, refine }) = &store.after else { return Ok(()) };
        let again = || {
            reorder_file(document, input, beside)?;
            refine.map_or(Ok(()), |passes| table::refine(document, || File::again(input), passes))
        };
        match (again(), store.path) {
            (Err(CliError::Stop), Some(path)) => Err(CliError::Unrefined { path: path.to_owned() }),
            (Err(CliError::Stop), None) => Err(CliError::Lost { row: document.row() }),
            (Err(error), _) => Err(error),
            (Ok(()), _) => store.save(document),
        }
    })
}

/// Records whether rows of the last pass are left.
fn stopped(document: &mut Document, is: bool) {
    if let Some(pass) = document.passes.last_mut() {
        pass.stopped = is;
    }
}

/// The size of a file whose rows are all that the model learns, and may still have to learn in a random order, if it can be read again.
fn size_again(document: &Document, input: &Input) -> Option<f64> {
    let file = fs::metadata(&input.data).ok().filter(fs::Metadata::is_file)?;
    (document.to_reorder && document.passes.len() == 1).then_some(file.len() as f64)
}

/// Learns the rows of a file again in a random order, where they have to be.
fn reorder_file<O>(document: &mut Document, input: &Input, beside: Beside<'_, '_, O>) -> Result<(), CliError> {
    let Some(bytes) = size_again(document, input) else { return Ok(()) };
    let mut progress = Progress::new();
    let each = |share| {
        progress.row(|| Some(share));
        interrupt::check()
    };
    table::reorder(document, bytes, || File::again(input), beside, each)
}

/// Reads the rows of the last pass that have been read already.
///
/// # Errors
/// Other rows than those.
pub(super) fn pass_over(document: &Document, source: &mut File) -> Result<(), CliError> {
    let Some(pass) = document.passes.last() else { return Ok(()) };
    let (mut record, mut fingerprint) = (Record::default(), Pass::new(&pass.input).fingerprint);
    while source.row() < pass.rows && source.next(&mut record)? {
        fingerprint = record.fingerprint(fingerprint);
    }
    if source.row() == pass.rows && fingerprint == pass.fingerprint {
        Ok(())
    } else {
        Err(source.refused(TermsError::Changed { rows: pass.rows }))
    }
}

/// A model with nothing learned, of the target, columns and settings of a stored one.
fn like(path: &Path) -> Result<Document, CliError> {
    let stored = open(path)?;
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
        (open(&args.model)?, path, None)
    } else {
        let (document, held) = hold(&args.model)?;
        (document, &args.model, Some(held))
    };
    let input = args.input.input();
    let source = File::open(&input)?;
    if let Some(pass) = document.passes.last().filter(|pass| pass.stopped) {
        tell::warn(&format!(
            "{} was stopped after row {}: `rvi resume` no longer learns its other rows",
            pass.input.data.display(),
            pass.rows
        ));
    }
    document.passes.push(Pass::new(&input));
    let store = Store { path: Some(path), held, every: None, after: None };
    whole_pass(document, source, Vec::new(), store, begun, &args.show)
}
