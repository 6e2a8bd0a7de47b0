//! `rvi merge`: models of parts of the data brought together.

use vi_models::online::Standardise;

use crate::args::Merge;
use crate::document::{open, save};
use crate::error::CliError;
use crate::report;

pub(super) fn merge(args: &Merge) -> Result<(), CliError> {
    let Some((first, others)) = args.models.split_first() else { return Ok(()) };
    let mut merged = open(first)?;
    let others = others.iter().map(|path| Ok((path, open(path)?))).collect::<Result<Vec<_>, CliError>>()?;
    let remedy = if matches!(merged.model.settings().standardise, Standardise::FirstRows { .. }) {
        "`fit --mergeable` makes a model that others can be made like, by `fit --like`".to_owned()
    } else {
        format!("`fit --like {}` makes parts that match", first.display())
    };
    for (path, other) in &others {
        let unlike = |what: &str| CliError::Document {
            path: (*path).clone(),
            what: format!("{what} than in {}; {remedy}", first.display()),
        };
        if other.rvi != merged.rvi {
            return Err(unlike(&format!("a different model version ({}, not {})", other.rvi, merged.rvi)));
        }
        if other.target != merged.target {
            return Err(unlike("another target"));
        }
        if other.schema != merged.schema {
            return Err(unlike("other columns"));
        }
        if let Some(pass) = other.passes.iter().find(|pass| merged.learned_before(pass).is_some()) {
            let what = format!("another model already contains its rows of {}", pass.input.data.display());
            return Err(CliError::Document { path: (*path).clone(), what });
        }
        merged.add_counts(other);
    }
    let models: Vec<_> = others.iter().map(|(_, other)| &other.model).collect();
    merged.model.merge(&models).map_err(|source| CliError::Merge { path: first.clone(), source })?;
    save(&merged, &args.output)?;
    report::merged(&merged, args.models.len(), &args.output, &args.show)
}
