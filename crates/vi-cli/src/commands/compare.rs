//! `rvi compare`: models of the same rows side by side, by evidence.

use vi_terms::table::Document;

use crate::args::Compare;
use crate::document::answering;
use crate::error::CliError;
use crate::report;

pub(super) fn compare(args: &Compare) -> Result<(), CliError> {
    let mut models = Vec::with_capacity(args.models.len());
    for path in &args.models {
        let document = answering(path)?;
        if let Some((first, other)) = models.first() {
            let first: &std::path::PathBuf = first;
            let other: &Document = other;
            let unlike = |what: &str| CliError::Document {
                path: path.clone(),
                what: format!("{what} than {}: their evidence is not comparable", first.display()),
            };
            if document.target != other.target {
                return Err(unlike("another target"));
            }
            let rows = |document: &Document| document.passes.iter().map(|pass| pass.fingerprint).collect::<Vec<_>>();
            if rows(&document) != rows(other) || document.model.info().observations != other.model.info().observations {
                return Err(unlike("it has learned other rows"));
            }
        }
        models.push((path.clone(), document));
    }
    report::compared(&models, args.json)
}
