//! The pages that show every item made so far: `index.html` for the papers, `methods.html` for practitioners.

mod article;
mod front;
mod html;

use std::path::{Component, Path, PathBuf};

use serde::Serialize;

use super::check::Kind;
use super::record::{self, Record, State, write_file, write_json};
use super::verdict::Tally;
use crate::error::ReproError;
use crate::item::{Audience, Paper};

/// One line of the manifest for each item.
#[derive(Serialize)]
struct ManifestItem<'a> {
    paper: &'a str,
    id: &'a str,
    state: &'a State,
    claims: Tally,
    promises: Tally,
    #[serde(flatten)]
    provenance: &'a record::Provenance,
}

#[derive(Serialize)]
struct Manifest<'a> {
    commit: &'a Option<String>,
    seed: u64,
    threads: usize,
    quick: bool,
    started: u64,
    seconds: f64,
    claims: Tally,
    promises: Tally,
    items: Vec<ManifestItem<'a>>,
}

/// A paper and the records of its items.
type Section = (&'static Paper, Vec<Record>);

/// How many sentences of a kind hold in all the records together.
fn tally<'a>(records: impl IntoIterator<Item = &'a Record>, kind: Kind) -> Tally {
    Tally::of(records.into_iter().flat_map(|record| record.of(kind)).map(|check| check.verdict))
}

/// Rebuilds `index.html`, `methods.html` and `manifest.json` under `out` from the records of all `papers` there.
///
/// `run` tells how the run that asks for it was made.
///
/// # Errors
/// [`ReproError::Io`] or [`ReproError::Json`] with the file that could not be written.
pub fn rebuild(out: &Path, papers: &[&'static Paper], run: &record::Provenance) -> Result<(), ReproError> {
    let sections: Vec<Section> = papers
        .iter()
        .map(|p| (*p, p.items.iter().filter_map(|i| record::read(out, p.id, i.id)).collect::<Vec<_>>()))
        .filter(|(_, records)| !records.is_empty())
        .collect();
    let code = sources(out);
    let (papers, practice): (Vec<_>, Vec<_>) =
        sections.into_iter().partition(|(paper, _)| paper.audience == Audience::Readers);
    write_file(&out.join("index.html"), &front::readers(&papers, run, &code))?;
    write_file(&out.join("methods.html"), &front::practitioners(&practice, run, &code))?;
    let records = || papers.iter().chain(&practice).flat_map(|(_, records)| records);
    let items = records()
        .map(|r| ManifestItem {
            paper: &r.paper,
            id: &r.id,
            state: &r.state,
            claims: r.tally(Kind::Claim),
            promises: r.tally(Kind::Promise),
            provenance: &r.provenance,
        })
        .collect();
    let manifest = Manifest {
        commit: &run.commit,
        seed: run.seed,
        threads: run.threads,
        quick: run.quick,
        started: run.started,
        seconds: run.seconds,
        claims: tally(records(), Kind::Claim),
        promises: tally(records(), Kind::Promise),
        items,
    };
    write_json(&out.join("manifest.json"), &manifest)
}

/// The folder of the sources, relative to `out`.
fn sources(out: &Path) -> String {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let Ok(out) = out.canonicalize() else { return String::new() };
    let (mut from, mut to) = (out.components().peekable(), sources.components().peekable());
    while from.peek().is_some() && from.peek() == to.peek() {
        from.next();
        to.next();
    }
    let steps: PathBuf = from.map(|_| Component::ParentDir).chain(to).collect();
    steps.to_string_lossy().replace('\\', "/")
}
