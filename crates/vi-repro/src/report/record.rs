//! What an item leaves behind, and how it is stored.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::check::{Check, Kind};
use super::table::Table;
use super::verdict::{Tally, Verdict};
use super::words;
use crate::error::ReproError;
use crate::item::{Item, Paper};
use crate::plot::{Figure, Layout};

/// A small table shown on the page itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Shown {
    /// Column heads.
    pub head: Vec<String>,
    /// Rows, the first cell of each naming it.
    pub rows: Vec<Vec<String>>,
}

impl Shown {
    /// A table of the given heads and rows.
    pub fn new(head: impl IntoIterator<Item = impl Into<String>>, rows: impl IntoIterator<Item = Vec<String>>) -> Self {
        Self { head: head.into_iter().map(Into::into).collect(), rows: rows.into_iter().collect() }
    }
}

/// A number in its four forms; an empty form is one that does not exist.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quantity {
    /// What it is, with its unit.
    pub name: String,
    /// As the paper prints it.
    pub paper: String,
    /// As the authors' program computes it.
    pub authors: String,
    /// Ours, by the equations as printed.
    pub printed: String,
    /// Ours, by what works.
    pub works: String,
}

impl Quantity {
    /// A quantity with none of its forms yet.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// As the paper prints it.
    #[must_use]
    pub fn paper(mut self, text: impl Into<String>) -> Self {
        self.paper = text.into();
        self
    }

    /// As the authors' program computes it.
    #[must_use]
    pub fn authors(mut self, text: impl Into<String>) -> Self {
        self.authors = text.into();
        self
    }

    /// Ours, by the equations as printed.
    #[must_use]
    pub fn printed(mut self, text: impl Into<String>) -> Self {
        self.printed = text.into();
        self
    }

    /// Ours, by what works.
    #[must_use]
    pub fn works(mut self, text: impl Into<String>) -> Self {
        self.works = text.into();
        self
    }
}

/// What the function of an item returns: numbers, picture, words and checks.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The finding in a sentence, made from the numbers.
    pub summary: String,
    /// What the picture shows.
    pub caption: String,
    /// What the paper says of it, in the paper's words where they are short.
    pub quote: String,
    /// Remarks: settings that differ from the print, conventions, what to look at.
    pub notes: Vec<String>,
    /// Sentences held against the numbers.
    pub checks: Vec<Check>,
    /// The numbers that stand in print or that the authors' program gives, beside ours.
    pub quantities: Vec<Quantity>,
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

/// Whether an item was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// It was.
    Made,
    /// It was skipped, for this reason.
    Skipped(String),
    /// It failed, for this reason.
    Failed(String),
}

/// A picture beside the page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PictureFile {
    /// Relative to the page.
    pub path: String,
    /// Width in pixels.
    pub width: f64,
    /// Height in pixels.
    pub height: f64,
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
    /// Its source file, from the folder of the sources.
    pub code: String,
    /// Whether it was made; if not, all that follows but the provenance is empty.
    pub state: State,
    /// See [`Outcome::summary`].
    pub summary: String,
    /// See [`Outcome::caption`].
    pub caption: String,
    /// See [`Outcome::quote`].
    pub quote: String,
    /// See [`Outcome::notes`].
    pub notes: Vec<String>,
    /// See [`Outcome::checks`].
    pub checks: Vec<Check>,
    /// See [`Outcome::quantities`].
    pub quantities: Vec<Quantity>,
    /// See [`Outcome::shown`].
    pub shown: Shown,
    /// The pictures for a wide and for a narrow screen.
    pub pictures: Vec<PictureFile>,
    /// The tables, relative to the page.
    pub tables: Vec<String>,
    /// How the item was made.
    pub provenance: Provenance,
}

impl Record {
    /// A record without content.
    fn new(paper: &Paper, item: &Item, state: State, provenance: Provenance) -> Self {
        Self {
            paper: paper.id.to_owned(),
            id: item.id.to_owned(),
            title: paper.words.of_item(item.id, "title").concat(),
            code: paper.words.of_item(item.id, "code").concat(),
            state,
            summary: String::new(),
            caption: String::new(),
            quote: String::new(),
            notes: Vec::new(),
            checks: Vec::new(),
            quantities: Vec::new(),
            shown: Shown::default(),
            pictures: Vec::new(),
            tables: Vec::new(),
            provenance,
        }
    }

    /// The sentences of a kind.
    pub fn of(&self, kind: Kind) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(move |check| check.kind == kind)
    }

    /// How many sentences of a kind hold.
    #[must_use]
    pub fn tally(&self, kind: Kind) -> Tally {
        Tally::of(self.of(kind).map(|check| check.verdict))
    }

    /// The promises of this library that do not hold.
    pub fn broken(&self) -> impl Iterator<Item = &Check> {
        self.of(Kind::Promise).filter(|promise| promise.verdict != Verdict::Holds)
    }
}

/// Writes the tables, then the pictures, then the record of an item under `out`.
///
/// # Errors
/// Whatever drawing or writing raises, with the file concerned.
pub fn write(
    out: &Path,
    paper: &Paper,
    item: &Item,
    outcome: Outcome,
    provenance: Provenance,
) -> Result<Record, ReproError> {
    let folder = out.join(paper.id);
    std::fs::create_dir_all(&folder).map_err(|e| io(&folder, e))?;
    let mut record = Record::new(paper, item, State::Made, provenance);
    for table in &outcome.tables {
        let gap = if table.suffix.is_empty() { "" } else { "-" };
        let name = format!("{}{gap}{}.csv", item.id, table.suffix);
        table.write(&folder.join(&name))?;
        record.tables.push(format!("{}/{name}", paper.id));
    }
    for (layout, suffix) in [(Layout::Wide, ""), (Layout::Narrow, "-narrow")] {
        let picture = outcome.figure.draw(layout)?;
        let name = format!("{}{suffix}.svg", item.id);
        write_file(&folder.join(&name), &picture.svg)?;
        let path = format!("{}/{name}", paper.id);
        record.pictures.push(PictureFile { path, width: picture.width, height: picture.height });
    }
    let unfilled = words::unfilled(&outcome);
    let Outcome { summary, caption, quote, notes, mut checks, quantities, shown, .. } = outcome;
    if unfilled {
        let claim = "Every text of the item has as many places as there are values".to_owned();
        checks.push(Check::new(Kind::Promise, claim, Verdict::DoesNotHold, String::new()));
    }
    let record = Record { summary, caption, quote, notes, checks, quantities, shown, ..record };
    write_json(&folder.join(format!("{}.json", item.id)), &record)?;
    Ok(record)
}

/// Writes the record of an item that was skipped or failed: the page says so in its place.
///
/// # Errors
/// [`ReproError::Io`] or [`ReproError::Json`] with the file concerned.
pub fn write_absent(
    out: &Path,
    paper: &Paper,
    item: &Item,
    state: State,
    provenance: Provenance,
) -> Result<Record, ReproError> {
    let folder = out.join(paper.id);
    std::fs::create_dir_all(&folder).map_err(|e| io(&folder, e))?;
    let record = Record::new(paper, item, state, provenance);
    write_json(&folder.join(format!("{}.json", item.id)), &record)?;
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
