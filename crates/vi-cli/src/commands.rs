//! The commands.

mod compare;
mod evaluate;
mod explain;
mod export;
mod fit;
mod import;
mod inspect;
mod merge;
mod predict;
mod resume;
mod shell;

use std::path::Path;

use crate::args::Command;
use crate::error::CliError;
use crate::files::{are_one, is_picture_in};

/// # Errors
/// What the data or the model do not allow.
pub(crate) fn run(command: &Command) -> Result<(), CliError> {
    apart(command)?;
    match command {
        Command::Fit(args) => fit::fit(args),
        Command::Update(args) => fit::update(args),
        Command::Predict(args) => predict::predict(args),
        Command::Explain(args) => explain::explain(args),
        Command::Evaluate(args) => evaluate::evaluate(args),
        Command::Inspect(args) => inspect::inspect(args),
        Command::Resume(args) => resume::resume(args),
        Command::Merge(args) => merge::merge(args),
        Command::Export(args) => export::export(args),
        Command::Import(args) => import::import(args),
        Command::Compare(args) => compare::compare(args),
        Command::Completions(args) => shell::completions(args),
        Command::Man(args) => shell::man(args),
    }
}

/// # Errors
/// An output of the command that is what it reads, or another output.
fn apart(command: &Command) -> Result<(), CliError> {
    const DATA: &str = "input";
    const MODEL: &str = "model";
    fn one<'a>(what: &'static str, path: &'a Path) -> Vec<(&'static str, &'a Path)> {
        vec![(what, path)]
    }
    let (output, show, mut known) = match command {
        Command::Fit(args) => {
            let like = args.like.iter().map(|path| (MODEL, path.as_path()));
            (args.output.as_ref(), Some(&args.show), like.chain(one(DATA, &args.input.data)).collect())
        }
        Command::Update(args) => {
            let read = [one(MODEL, &args.model), one(DATA, &args.input.data)].concat();
            (args.output.as_ref(), Some(&args.show), read)
        }
        Command::Predict(args) => {
            (args.table.output.as_ref(), None, [one(MODEL, &args.model), one(DATA, &args.input.data)].concat())
        }
        Command::Explain(args) => {
            (args.table.output.as_ref(), None, [one(MODEL, &args.model), one(DATA, &args.input.data)].concat())
        }
        Command::Inspect(args) => {
            let rows = args.robust.iter().map(|path| (DATA, path.as_path()));
            (args.groups.as_ref(), Some(&args.show), rows.chain(one(MODEL, &args.model)).collect())
        }
        Command::Resume(args) => {
            let data = args.data.iter().map(|path| (DATA, path.as_path()));
            (None, Some(&args.show), data.chain(one(MODEL, &args.model)).collect())
        }
        Command::Merge(args) => {
            let read = args.models.iter().flat_map(|path| one(MODEL, path)).collect();
            (Some(&args.output), Some(&args.show), read)
        }
        Command::Export(args) => (Some(&args.output), None, one(MODEL, &args.model)),
        Command::Import(args) => (Some(&args.output), Some(&args.show), one("record", &args.record)),
        Command::Evaluate(_) | Command::Compare(_) | Command::Completions(_) | Command::Man(_) => return Ok(()),
    };
    let name = if matches!(command, Command::Inspect(_)) { "groups" } else { "output" };
    let (html, plot) = show.map_or((None, None), |show| (show.html.as_ref(), show.plot.as_ref()));
    let written = [(name, output), ("html", html), ("plot", plot)];
    for (option, output) in written.into_iter().filter_map(|(option, path)| Some((option, path?))) {
        let is_hit = |path: &Path| are_one(output, path) || option == "plot" && is_picture_in(path, output);
        if let Some((what, path)) = known.iter().find(|(_, path)| is_hit(path)) {
            return Err(CliError::Same { option, output: output.clone(), what, path: path.to_path_buf() });
        }
        known.push(("output", output));
    }
    Ok(())
}
