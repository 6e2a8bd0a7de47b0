//! Models of parts of the data brought together.

use vi_models::online::Standardise;

use crate::TermsError;
use crate::table::document::Document;

/// Merges models of parts of the data, each with its name in errors.
///
/// # Errors
/// [`TermsError::Unlike`] for a model of another target, other columns or another version, or of rows that one before it has learned;
/// [`TermsError::Merge`] for models beneath that cannot be merged.
pub fn merge((first, mut merged): (String, Document), others: &[(String, Document)]) -> Result<Document, TermsError> {
    let remedy = if matches!(merged.model.settings().standardise, Standardise::FirstRows { .. }) {
        "`fit --mergeable` makes a model that others can be made like, by `fit --like`".to_owned()
    } else {
        format!("`fit --like {first}` makes parts that match")
    };
    for (model, other) in others {
        let refused = |what: String| TermsError::Unlike { model: model.clone(), what };
        let unlike = |what: &str| Err(refused(format!("{what} than in {first}; {remedy}")));
        if other.rvi != merged.rvi {
            return unlike(&format!("a different model version ({}, not {})", other.rvi, merged.rvi));
        }
        if other.target != merged.target {
            return unlike("another target");
        }
        if other.schema != merged.schema {
            return unlike("other columns");
        }
        if let Some(pass) = other.passes.iter().find(|pass| merged.learned_before(pass).is_some()) {
            let rows = pass.input.data.display();
            return Err(refused(format!("another model already contains its rows of {rows}")));
        }
        merged.add_counts(other);
    }
    let models: Vec<_> = others.iter().map(|(_, other)| &other.model).collect();
    merged.model.merge(&models).map_err(|source| TermsError::Merge { first, source: Box::new(source) })?;
    Ok(merged)
}
