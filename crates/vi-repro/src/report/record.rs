//! What an item leaves behind, and how it is stored.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::table::Table;
use super::verdict::{Check, Verdict};
use crate::error::ReproError;
use crate::plot::Figure;

/// A small table shown on the page itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Shown {
    /// Column heads.
    pub head: Vec<String>,
    /// Rows, the first cell of each naming it.
    pub rows: Vec<Vec<String>>,
}

/// What the function of an item returns: numbers, picture, words and checks.
#[derive(Debug)]
pub struct Outcome {
    /// The finding in a sentence, made from the numbers.
    pub summary: String,
    /// What the picture shows.
    pub caption: String,
    /// What the paper claims of it, in the paper's words where they are short.
    pub claim: String,
    /// Remarks: settings that differ from the print, conventions, what to look at.
    pub notes: Vec<String>,
    /// The claim taken apart and held against the numbers.
    pub checks: Vec<Check>,
    /// Checks of what this library adds to the paper.
    pub beyond: Vec<Check>,
    /// The numbers most worth reading.
    pub shown: Shown,
    /// All the numbers, to be written as CSV.
    pub tables: Vec<Table>,
    /// The picture.
    pub figure: Figure,
}

/// How a run was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Commit of the sources, when git knows it; ends in `+` when files differ from it.
    pub commit: Option<String>,
    /// Seed of every generated data set.
    pub seed: u64,
    /// Threads the machine offers.
    pub threads: usize,
    /// Whether this was a `--quick` run.
    pub quick: bool,
    /// Seconds since 1970 at the start of the item.
    pub started: u64,
    /// Seconds the item took.
    pub seconds: f64,
}

/// An item as the page needs it, stored beside its picture as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Folder and command-line name of the paper.
    pub paper: String,
    /// Command-line name of the item.
    pub id: String,
    /// Title of the item.
    pub title: String,
    /// See [`Outcome::summary`].
    pub summary: String,
    /// See [`Outcome::caption`].
    pub caption: String,
    /// See [`Outcome::claim`].
    pub claim: String,
    /// See [`Outcome::notes`].
    pub notes: Vec<String>,
    /// See [`Outcome::checks`].
    pub checks: Vec<Check>,
    /// See [`Outcome::beyond`].
    pub beyond: Vec<Check>,
    /// The verdict of the checks of the paper's claim together; of the others where the paper claims nothing.
    pub verdict: Verdict,
    /// See [`Outcome::shown`].
    pub shown: Shown,
    /// The picture, relative to the page.
    pub picture: String,
    /// The tables, relative to the page.
    pub tables: Vec<String>,
    /// How the item was made.
    pub provenance: Provenance,
}

/// Writes the tables, then the picture, then the record of an item under `out`.
///
/// # Errors
/// Whatever drawing or writing raises, with the file concerned.
pub fn write(
    out: &Path,
    (paper, id, title): (&str, &str, &str),
    outcome: &Outcome,
    provenance: Provenance,
) -> Result<Record, ReproError> {
    let folder = out.join(paper);
    std::fs::create_dir_all(&folder).map_err(|e| io(&folder, e))?;
    let mut tables = Vec::new();
    for table in &outcome.tables {
        let gap = if table.suffix.is_empty() { "" } else { "-" };
        let name = format!("{id}{gap}{}.csv", table.suffix);
        table.write(&folder.join(&name))?;
        tables.push(format!("{paper}/{name}"));
    }
    write_file(&folder.join(format!("{id}.svg")), &outcome.figure.to_svg()?)?;
    let record = Record {
        paper: paper.to_owned(),
        id: id.to_owned(),
        title: title.to_owned(),
        summary: outcome.summary.clone(),
        caption: outcome.caption.clone(),
        claim: outcome.claim.clone(),
        notes: outcome.notes.clone(),
        verdict: Verdict::of(if outcome.checks.is_empty() { &outcome.beyond } else { &outcome.checks }),
        checks: outcome.checks.clone(),
        beyond: outcome.beyond.clone(),
        shown: outcome.shown.clone(),
        picture: format!("{paper}/{id}.svg"),
        tables,
        provenance,
    };
    write_json(&folder.join(format!("{id}.json")), &record)?;
    Ok(record)
}

/// Reads the record of an item if it has been made; a record that cannot be understood counts as
/// not made, since an older version may have left it.
#[must_use]
pub fn read(out: &Path, paper: &str, id: &str) -> Option<Record> {
    let text = std::fs::read_to_string(out.join(paper).join(format!("{id}.json"))).ok()?;
    serde_json::from_str(&text).ok()
}

/// Writes `value` as indented JSON.
pub(super) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), ReproError> {
    let text =
        serde_json::to_string_pretty(value).map_err(|source| ReproError::Json { path: path.to_owned(), source })?;
    write_file(path, &text)
}

/// Writes a whole file through a temporary name, so that a reader never sees half of it.
pub(super) fn write_file(path: &Path, text: &str) -> Result<(), ReproError> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".part");
    let temporary = PathBuf::from(temporary);
    std::fs::write(&temporary, text).map_err(|e| io(&temporary, e))?;
    std::fs::rename(&temporary, path).map_err(|e| io(path, e))
}

fn io(path: &Path, source: std::io::Error) -> ReproError {
    ReproError::Io { path: path.to_owned(), source }
}
