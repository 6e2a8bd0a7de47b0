//! Errors, in one line with the place and the remedy.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;
use vi_data::DataError;
use vi_models::ModelError;
use vi_sums::SumsError;

use crate::schema::is_missing;
use crate::target::SHOWN_CLASS;

/// The error of a command.
#[derive(Debug, Error)]
pub(crate) enum CliError {
    /// A file that cannot be opened, read or written.
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    /// A truncated file.
    #[error("{place}: the compressed data end too early; the file is cut short: copy it again")]
    Cut { place: Place },
    /// A read error in the middle of a file.
    #[error("{place}: {source}")]
    Stopped { place: Place, source: io::Error },
    /// A file that differs from the learned one.
    #[error("{}: its first {rows} rows differ from those of the model; `rvi update` learns another file", path.display())]
    Changed { path: PathBuf, rows: u64 },
    /// Another program has changed a model while this one learned.
    #[error("{}: another program has changed the model in the meantime; nothing is stored: run the command again", path.display())]
    Overtaken { path: PathBuf },
    /// An output that would overwrite an input.
    #[error("`--{option} {}` would overwrite the {what} {}; name another file", output.display(), path.display())]
    Same { option: &'static str, output: PathBuf, what: &'static str, path: PathBuf },
    /// Models that cannot be merged.
    #[error("{} and the models after it: {source}", path.display())]
    Merge { path: PathBuf, source: ModelError },
    /// The command was stopped.
    #[error("stopped")]
    Stop,
    /// A pass was stopped, and its model is stored.
    #[error("stopped after row {row}; `rvi resume {}` continues from there", path.display())]
    Resumable { path: PathBuf, row: u64 },
    /// A command was stopped while it read rows again; the model of the one pass is stored.
    #[error("stopped during a further pass; {} holds the model of the first pass", path.display())]
    Unrefined { path: PathBuf },
    /// A pass was stopped, and nothing is stored.
    #[error("stopped after row {row}; nothing is stored without `--output`")]
    Lost { row: u64 },
    /// A file without a record.
    #[error("{}: the file has no rows", path.display())]
    Empty { path: PathBuf },
    /// A pass without a learned row.
    #[error("{}: no row was learned{why}", path.display())]
    Nothing { path: PathBuf, why: String },
    /// A record with a wrong number of fields.
    #[error("{place}: {found} fields instead of {expected} (`--skip-bad` skips such rows)")]
    Ragged { place: Place, expected: usize, found: usize },
    /// A line that is not a record.
    #[error("{place}: {what} (`--skip-bad` skips such rows)")]
    Record { place: Place, what: String },
    /// A field of the wrong type.
    #[error("{place}, column `{column}`: `{text}` is not {expected} (`--skip-bad` skips such rows{hint})")]
    Field { place: Place, column: String, text: String, expected: &'static str, hint: &'static str },
    /// An unknown column.
    #[error("{}: there is no column `{wanted}`{}", path.display(), nearest(wanted, columns))]
    Column { path: PathBuf, wanted: String, columns: Vec<String> },
    /// No target is named.
    #[error("{}: `--target COLUMN` must name the column to predict; the columns are {}", path.display(), quoted(columns))]
    Untold { path: PathBuf, columns: Vec<String> },
    /// Two columns of one name.
    #[error("{}: two columns have the name `{name}`", path.display())]
    Twice { path: PathBuf, name: String },
    /// A target of one class.
    #[error("column `{column}`: only `{class}` in the first rows; name all with `--classes`")]
    OneClass { column: String, class: String },
    /// A target that cannot be learned.
    #[error("column `{column}`: {what}")]
    Target { column: String, what: String },
    /// No input is left.
    #[error("no input column is left: {why}")]
    NoInputs { why: String },
    /// Not a model file.
    #[error("{}: {what}", path.display())]
    Document { path: PathBuf, what: String },
    /// A record of a posterior, or a model to be written as one.
    #[error("{}: {source}", path.display())]
    Posterior { path: PathBuf, source: SumsError },
    /// A formula that does not fit the file.
    #[error("the formula: {what}")]
    Formula { what: String },
    /// A column of a formula that the file lacks.
    #[error("the formula: there is no column `{wanted}`{}", nearest(wanted, columns))]
    FormulaColumn { wanted: String, columns: Vec<String> },
    /// A picture that cannot be drawn.
    #[error("picture `{name}`: {what}")]
    Picture { name: &'static str, what: String },
    /// A wrong option.
    #[error("`{}`: {what}", format!("--{option} {value}").trim_end())]
    Option { option: &'static str, value: String, what: String },
    /// The model refuses a row.
    #[error("{place}: {source}")]
    Model { place: Place, source: ModelError },
    /// The model refuses as a whole.
    #[error(transparent)]
    Whole(#[from] ModelError),
}

/// A row of a file, the first line of data being row 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    pub(crate) row: u64,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, row {}", self.path.display(), self.row)
    }
}

impl CliError {
    pub(crate) fn file(path: &Path, source: io::Error) -> Self {
        Self::File { path: path.to_owned(), source }
    }

    /// An error from reading the file at `path`, with its place.
    pub(crate) fn of_data(path: &Path, error: DataError) -> Self {
        let at = |row: usize| Place { path: path.to_owned(), row: row as u64 };
        let path = path.to_owned();
        match error {
            DataError::Empty => Self::Empty { path },
            DataError::DuplicateColumn { name } => Self::Twice { path, name },
            DataError::Ragged { row, expected, found } => Self::Ragged { place: at(row), expected, found },
            DataError::Record { row, what } => Self::Record { place: at(row), what },
            DataError::Field { row, column, text, expected } => {
                Self::Field { place: at(row), column, text, expected, hint: "" }
            }
            DataError::Source { row, source } if source.kind() == io::ErrorKind::UnexpectedEof => {
                Self::Cut { place: at(row) }
            }
            DataError::Source { row, source } if row > 1 => Self::Stopped { place: at(row), source },
            DataError::Source { source, .. } => Self::File { path, source },
            other => Self::File { path, source: io::Error::other(other) },
        }
    }

    /// The same error of another row.
    pub(crate) fn at_row(mut self, found: u64) -> Self {
        if let Self::Ragged { place, .. }
        | Self::Record { place, .. }
        | Self::Field { place, .. }
        | Self::Model { place, .. } = &mut self
        {
            place.row = found;
        }
        self
    }

    /// Whether a row is at fault, which `--skip-bad` may leave out.
    pub(crate) fn is_of_a_row(&self) -> bool {
        matches!(self, Self::Ragged { .. } | Self::Record { .. } | Self::Field { .. } | Self::Model { .. })
    }

    /// Whether the first rows have not shown a class of the target.
    pub(crate) fn is_of_classes(&self) -> bool {
        matches!(self, Self::OneClass { .. } | Self::Field { expected: SHOWN_CLASS, .. })
    }

    /// Whether values of the target show such a class.
    pub(crate) fn is_shown_by(&self, values: &[String]) -> bool {
        match self {
            Self::OneClass { class, .. } => values.iter().any(|value| value != class && !is_missing(value)),
            Self::Field { text, .. } => values.contains(text),
            _ => false,
        }
    }

    /// Whether rounding has left a covariance without digits, which the square root of the precision keeps.
    pub(crate) fn is_of_rounding(&self) -> bool {
        use vi_core::Error::{NegativeVariance, NotPositiveDefinite, Unresolved};
        let (Self::Model { source: ModelError::Core(error), .. } | Self::Whole(ModelError::Core(error))) = self else {
            return false;
        };
        matches!(error, NegativeVariance { .. } | NotPositiveDefinite { .. } | Unresolved { .. })
    }

    /// Whether somebody has stopped the command.
    pub(crate) fn is_stop(&self) -> bool {
        matches!(self, Self::Stop | Self::Resumable { .. } | Self::Unrefined { .. } | Self::Lost { .. })
    }

    /// Whether the reader of the output has gone away, which is no failure.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::File { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
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
