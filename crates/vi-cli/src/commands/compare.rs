//! `rvi compare`: models of the same rows side by side, by evidence.

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
            document.same_rows(other).map_err(|error| CliError::Document {
                path: path.clone(),
                what: format!("{error} than {}: their evidence is not comparable", first.display()),
            })?;
        }
        models.push((path.clone(), document));
    }
    report::compared(&models, args.json)
}
