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
use crate::files::are_one;

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
/// An output of the command that is what it reads.
fn apart(command: &Command) -> Result<(), CliError> {
    const DATA: &str = "input";
    const MODEL: &str = "model";
    fn one<'a>(what: &'static str, path: &'a Path) -> Vec<(&'static str, &'a Path)> {
        vec![(what, path)]
    }
    let (output, html, read) = match command {
        Command::Fit(args) => {
            let like = args.like.iter().map(|path| (MODEL, path.as_path()));
            (args.output.as_ref(), args.show.html.as_ref(), like.chain(one(DATA, &args.input.data)).collect())
        }
        Command::Update(args) => {
            let read = [one(MODEL, &args.model), one(DATA, &args.input.data)].concat();
            (args.output.as_ref(), args.show.html.as_ref(), read)
        }
        Command::Predict(args) => {
            (args.output.as_ref(), None, [one(MODEL, &args.model), one(DATA, &args.input.data)].concat())
        }
        Command::Explain(args) => {
            (args.output.as_ref(), None, [one(MODEL, &args.model), one(DATA, &args.input.data)].concat())
        }
        Command::Inspect(args) => (args.groups.as_ref(), args.show.html.as_ref(), one(MODEL, &args.model)),
        Command::Resume(args) => {
            let data = args.data.iter().map(|path| (DATA, path.as_path()));
            (None, args.show.html.as_ref(), data.chain(one(MODEL, &args.model)).collect())
        }
        Command::Merge(args) => {
            let read = args.models.iter().flat_map(|path| one(MODEL, path)).collect();
            (Some(&args.output), args.show.html.as_ref(), read)
        }
        Command::Export(args) => (Some(&args.output), None, one(MODEL, &args.model)),
        Command::Import(args) => (Some(&args.output), args.show.html.as_ref(), one("record", &args.record)),
        Command::Evaluate(_) | Command::Compare(_) | Command::Completions(_) | Command::Man(_) => return Ok(()),
    };
    let name = if matches!(command, Command::Inspect(_)) { "groups" } else { "output" };
    let written = [(name, output), ("html", html)].into_iter().filter_map(|(option, path)| Some((option, path?)));
    for (option, output) in written {
        if let Some((what, path)) = read.iter().find(|(_, path)| are_one(output, path)) {
            return Err(CliError::Same { option, output: output.clone(), what, path: path.to_path_buf() });
        }
    }
    Ok(())
}
