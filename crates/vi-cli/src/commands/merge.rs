//! `rvi merge`: models of parts of the data brought together.

use std::path::PathBuf;

use vi_terms::table;

use crate::args::Merge;
use crate::document::{open, save};
use crate::error::CliError;
use crate::report;

pub(super) fn merge(args: &Merge) -> Result<(), CliError> {
    let Some((first, others)) = args.models.split_first() else { return Ok(()) };
    let named = |path: &PathBuf| Ok((path.display().to_string(), open(path)?));
    let merged = table::merge(named(first)?, &others.iter().map(named).collect::<Result<Vec<_>, CliError>>()?)?;
    save(&merged, &args.output)?;
    report::merged(&merged, args.models.len(), &args.output, &args.show)
}
