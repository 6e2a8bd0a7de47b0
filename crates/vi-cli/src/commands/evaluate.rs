//! `rvi evaluate`: a stored model on rows whose targets are known.

use crate::args::Evaluate;
use crate::document::answering;
use crate::error::CliError;
use crate::report;
use crate::source::File;

pub(super) fn evaluate(args: &Evaluate) -> Result<(), CliError> {
    let document = answering(&args.model)?;
    let mut source = File::open(&args.input.input())?;
    let (scores, new) = document.evaluate(&mut source)?;
    if new > 0 {
        crate::tell::warn(&format!("{new} texts unknown to the model were taken as `(other)`"));
    }
    report::evaluated(&document, &scores, source.path(), source.skipped(), args.json)
}
