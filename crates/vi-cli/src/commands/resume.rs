//! `rvi resume`: a stopped pass, from where it stopped.

use std::time::Instant;

use super::fit::{Store, pass_over, whole_pass};
use crate::args::Resume;
use crate::document::Document;
use crate::error::CliError;
use crate::source::Source;

pub(super) fn resume(args: &Resume) -> Result<(), CliError> {
    let begun = Instant::now();
    let (document, held) = Document::hold(&args.model)?;
    let Some(pass) = document.passes.last() else {
        let what = "no pass to resume; `rvi update` learns a file".to_owned();
        return Err(CliError::Document { path: args.model.clone(), what });
    };
    let mut input = pass.input.clone();
    if let Some(path) = &args.data {
        input.data.clone_from(path);
    }
    let mut source = Source::open(&input)?;
    pass_over(&document, &mut source)?;
    let store = Store { path: Some(&args.model), held: Some(held), every: args.checkpoint, after: None };
    whole_pass(document, source, Vec::new(), store, begun, &args.show)
}
