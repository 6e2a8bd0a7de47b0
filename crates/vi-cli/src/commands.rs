//! The commands.

mod evaluate;
mod fit;
mod inspect;
mod predict;

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
    }
}
