//! The commands.

mod compare;
mod evaluate;
mod export;
mod fit;
mod import;
mod inspect;
mod merge;
mod predict;
mod resume;
mod shell;

use crate::args::Command;
use crate::error::CliError;

/// # Errors
/// What the data or the model do not allow.
pub(crate) fn run(command: &Command) -> Result<(), CliError> {
    match command {
        Command::Fit(args) => fit::fit(args),
        Command::Update(args) => fit::update(args),
        Command::Predict(args) => predict::predict(args),
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
