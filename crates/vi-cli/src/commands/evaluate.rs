//! `rvi evaluate`: a stored model on rows whose targets are known.

use vi_terms::table::Notes;

use crate::args::Evaluate;
use crate::document::answering;
use crate::error::CliError;
use crate::report;
use crate::source::File;
use crate::tell;

pub(super) fn evaluate(args: &Evaluate) -> Result<(), CliError> {
    let document = answering(&args.model)?;
    let mut source = File::open(&args.input.input())?;
    let (scores, new) = document.evaluate(&mut source)?;
    Notes { new, ..Notes::default() }.lines().iter().for_each(|note| tell::warn(note));
    report::evaluated(&document, &scores, source.path(), source.skipped(), args.json)
}
