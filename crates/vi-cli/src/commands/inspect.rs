//! `rvi inspect`: what a stored model is and what it believes.

use crate::args::Inspect;
use crate::document::answering;
use crate::error::CliError;
use crate::report;

pub(super) fn inspect(args: &Inspect) -> Result<(), CliError> {
    let document = answering(&args.model)?;
    report::inspected(&document, &args.model, args.top, &args.show)
}
