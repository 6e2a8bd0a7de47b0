//! The errors of the crate, each with the values that prove it.

use vi_models::ModelError;
use vi_revrand::RevrandError;

/// An error of `vi-terms`; nothing has been changed when one is returned.
///
/// ```
/// use vi_terms::{Smooth, TermsError};
/// let error = Smooth::new(&[1.0, 2.0, 1.0], 8).unwrap_err();
/// assert_eq!(error, TermsError::Few { found: 2, needed: 3 });
/// ```
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TermsError {
    /// An error of `vi-core`: of an argument or a setting.
    #[error(transparent)]
    Core(#[from] vi_core::Error),
    /// An error of `vi-revrand`: of a kernel's features.
    #[error(transparent)]
    Features(RevrandError),
    /// An input that a term names is not there.
    #[error("a term of input {input}, and there are {inputs}")]
    Input {
        /// The input that is named.
        input: usize,
        /// How many there are.
        inputs: usize,
    },
    /// A column has too few different values in the first rows.
    #[error("{found} different values in the first rows, and {needed} are needed")]
    Few {
        /// The different values.
        found: usize,
        /// How many are needed.
        needed: usize,
    },
    /// A term that cannot be made of a column.
    #[error("{term}: {source}")]
    Term {
        /// The term, with its columns.
        term: String,
        /// Why it cannot be made.
        source: Box<TermsError>,
    },
    /// A formula that cannot be read, or has no meaning.
    #[error("{what}")]
    Formula {
        /// What is wrong, and where.
        what: String,
    },
    /// An error of `vi-models`: a model refuses its settings, or as a whole.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A model refuses a row.
    #[error("row {row}: {source}")]
    Row {
        /// The row, from 1.
        row: u64,
        /// Why it is refused.
        source: ModelError,
    },
    /// A field of the wrong type.
    #[error("row {row}, column `{column}`: `{text}` is not {expected}{hint}")]
    Field {
        /// The row, from 1.
        row: u64,
        /// The name of its column.
        column: String,
        /// The field.
        text: String,
        /// The form that it should have.
        expected: &'static str,
        /// The remedy, after `; `; empty where there is none.
        hint: &'static str,
    },
    /// An unknown column.
    #[error("there is no column `{wanted}`{}", nearest(wanted, columns))]
    Column {
        /// The name that is asked for.
        wanted: String,
        /// The names that there are.
        columns: Vec<String>,
    },
    /// No target is named.
    #[error("`--target COLUMN` must name the column to predict; the columns are {}", quoted(columns))]
    Untold {
        /// The names that there are.
        columns: Vec<String>,
    },
    /// A target of one class.
    #[error("column `{column}`: only `{class}` in the first rows; name all with `--classes`")]
    OneClass {
        /// The target.
        column: String,
        /// The class.
        class: String,
    },
    /// A target that cannot be learned.
    #[error("column `{column}`: {what}")]
    Target {
        /// The target.
        column: String,
        /// Why it cannot be learned.
        what: String,
    },
    /// No input is left.
    #[error("no input column is left: {why}")]
    NoInputs {
        /// Why each column is no input.
        why: String,
    },
    /// A column of a formula that the table lacks.
    #[error("the formula: there is no column `{wanted}`{}", nearest(wanted, columns))]
    FormulaColumn {
        /// The name in the formula.
        wanted: String,
        /// The names that there are.
        columns: Vec<String>,
    },
    /// A formula that does not fit the table.
    #[error("the formula: {what}")]
    Unfit {
        /// What does not fit.
        what: String,
    },
    /// A wrong option of a fit.
    #[error("`{}`: {what}", format!("--{option} {value}").trim_end())]
    Option {
        /// The name of the option.
        option: &'static str,
        /// Its value.
        value: String,
        /// What is wrong with it.
        what: String,
    },
    /// A table without a row.
    #[error("the table has no rows")]
    Empty,
    /// A pass without a row that was learned or scored.
    #[error("no row was used: no row has a target")]
    Nothing,
    /// A table that differs from the learned one.
    #[error("the first {rows} rows differ from those of the model")]
    Changed {
        /// The rows that were learned.
        rows: u64,
    },
    /// A picture that cannot be drawn.
    #[error("picture `{name}`: {what}")]
    Picture {
        /// The name of the picture.
        name: &'static str,
        /// Why it cannot be drawn.
        what: String,
    },
    /// A model that cannot be merged with those before it.
    #[error("{model}: {what}")]
    Unlike {
        /// The name of the model.
        model: String,
        /// In what it differs, and the remedy.
        what: String,
    },
    /// Models that cannot be merged.
    #[error("{first} and the models after it: {source}")]
    Merge {
        /// The name of the first.
        first: String,
        /// Why they cannot be merged.
        source: Box<ModelError>,
    },
    /// Not a stored model, or a damaged one.
    #[error("{what}")]
    Document {
        /// What is wrong with it.
        what: String,
    },
    /// A stored design whose parts do not belong together.
    #[error("the stored terms are damaged: {what}")]
    Stored {
        /// What is wrong.
        what: &'static str,
    },
}

impl From<RevrandError> for TermsError {
    fn from(error: RevrandError) -> Self {
        match error {
            RevrandError::Core(error) => Self::Core(error),
            other => Self::Features(other),
        }
    }
}

impl From<vi_linalg::LinalgError> for TermsError {
    fn from(error: vi_linalg::LinalgError) -> Self {
        Self::Core(error.into())
    }
}

impl TermsError {
    /// Whether a single row is at fault, which a reader may skip.
    #[must_use]
    pub fn is_of_a_row(&self) -> bool {
        matches!(self, Self::Field { .. } | Self::Row { .. })
    }
}

/// `; did you mean …?` if a column has a similar name.
fn nearest(wanted: &str, columns: &[String]) -> String {
    let near = columns.iter().map(|column| (distance(wanted, column), column)).min();
    match near {
        Some((steps, column)) if steps <= wanted.chars().count().max(3) / 2 => format!("; did you mean `{column}`?"),
        _ => format!("; the columns are {}", quoted(columns)),
    }
}

/// The first names of columns, and the number of the others.
fn quoted(columns: &[String]) -> String {
    const MOST: usize = 20;
    let names = columns.iter().take(MOST).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if columns.len() > MOST { format!("{names} and {} more", columns.len() - MOST) } else { names }
}

/// Edits (Levenshtein, without regard to case) from one name to another.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.chars().enumerate() {
            let cost = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = cost.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.chars().count()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_offered() {
        let columns = ["dep_delay".to_owned(), "arr_delay".to_owned(), "carrier".to_owned()];
        assert_eq!(nearest("arr_dleay", &columns), "; did you mean `arr_delay`?");
        assert_eq!(nearest("Carrier", &columns), "; did you mean `carrier`?");
        assert!(nearest("weather", &columns).starts_with("; the columns are `dep_delay`"));
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
