//! `rvi inspect`: what a stored model is and what it believes.

use std::io::Write;
use std::path::Path;

use serde_json::Value;
use vi_terms::TermsError;
use vi_terms::table::{Document, Input, RobustErrors};

use crate::args::Inspect;
use crate::document::answering;
use crate::error::CliError;
use crate::files::whole_file;
use crate::output::{Table, format_of};
use crate::report;
use crate::source::File;

const COLUMNS: [&str; 7] = ["group", "rows", "effect", "mean", "sd", "lower", "upper"];
const LEVEL: f64 = 0.9;

pub(super) fn inspect(args: &Inspect) -> Result<(), CliError> {
    let document = answering(&args.model)?;
    if let Some(path) = &args.groups {
        if document.group_effects().next().is_none() {
            let what =
                "it has no more than 500 effects of groups: they are among the coefficients of `rvi inspect --json`";
            return Err(CliError::Document { path: args.model.clone(), what: what.to_owned() });
        }
        whole_file(path, |out| write_effects(&document, path, out))?;
    }
    let robust =
        args.robust.as_ref().map(|path| robust_errors(&document, path, args.clusters.as_deref())).transpose()?;
    report::inspected(&document, args, robust.as_ref())
}

/// Robust standard errors by the rows of `path`, which is read as the learned file was.
fn robust_errors(document: &Document, path: &Path, clusters: Option<&str>) -> Result<RobustErrors, CliError> {
    let learned = document.passes.last().map_or_else(|| Input::in_memory("", false), |pass| pass.input.clone());
    let mut source = File::open(&Input { data: path.to_owned(), ..learned })?;
    document.robust_errors(&mut source, clusters)
}

/// Writes the effects of all groups to `out`, which errors call `path`.
fn write_effects(document: &Document, path: &Path, out: &mut (dyn Write + Send)) -> Result<(), CliError> {
    let failed = |error| CliError::file(path, error);
    let told = |source| CliError::from(TermsError::Model(source));
    let mut table = Table::new(format_of(Some(path)), COLUMNS.map(str::to_owned).to_vec(), out).map_err(failed)?;
    for own in document.group_effects() {
        let own = own.map_err(told)?;
        let within = own.belief.interval(LEVEL).map_err(told)?;
        let numbers = [own.belief.mean(), own.belief.standard_deviation(), within.lower, within.upper].map(Value::from);
        let names = [Value::from(own.group), Value::from(own.rows), Value::from(own.effect)];
        table.row(names.into_iter().chain(numbers).collect()).map_err(failed)?;
    }
    table.finish().map_err(failed)
}
