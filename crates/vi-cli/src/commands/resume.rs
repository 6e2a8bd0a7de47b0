//! `rvi resume`: a stopped pass, from where it stopped.

use std::time::Instant;

use super::fit::{After, Store, pass_over, whole_pass};
use vi_terms::table::check_refine;

use crate::args::Resume;
use crate::document::hold;
use crate::error::CliError;
use crate::source::File;

pub(super) fn resume(args: &Resume) -> Result<(), CliError> {
    let begun = Instant::now();
    let (document, held) = hold(&args.model)?;
    let Some(pass) = document.passes.last() else {
        let what = "no pass to resume; `rvi update` learns a file".to_owned();
        return Err(CliError::Document { path: args.model.clone(), what });
    };
    let mut input = pass.input.clone();
    if let Some(path) = &args.data {
        input.data.clone_from(path);
    }
    let mut source = File::open(&input)?;
    pass_over(&document, &mut source)?;
    if let Some(passes) = args.refine {
        check_refine(passes, input.data.is_file(), &document)?;
    }
    let after = Some(After { input: &input, refine: args.refine });
    let store = Store { path: Some(&args.model), held: Some(held), every: args.checkpoint, after };
    whole_pass(document, source, Vec::new(), store, begun, &args.show)
}
