//! `rvi resume`: a stopped pass, from where it stopped.

use std::time::Instant;

use super::fit::{After, Store, pass_over, whole_pass};
use crate::args::Resume;
use crate::document::Document;
use crate::error::CliError;
use crate::refine;
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
    if let Some(passes) = args.refine {
        refine::check(passes, &input, &document)?;
    }
    let after = args.refine.is_some().then_some(After { input: &input, reorder: false, refine: args.refine });
    let store = Store { path: Some(&args.model), held: Some(held), every: args.checkpoint, after };
    whole_pass(document, source, Vec::new(), store, begun, &args.show)
}
