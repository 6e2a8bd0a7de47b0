//! The command's library side: items leave files, and the page is always that of all items present.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::PathBuf;

use indicatif::ProgressBar;
use vi_repro::item::{Context, PAPERS, Shared, select};
use vi_repro::report::{self, Kind, Provenance, Record, State};

/// A folder of its own for each test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("vi-repro-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn provenance() -> Provenance {
    Provenance { commit: None, seed: 1, threads: 1, quick: true, started: 0, seconds: 0.0 }
}

fn make(folder: &Folder, id: &str) -> Record {
    let (paper, item) = select(&PAPERS, Some("rvga"), Some(id)).unwrap()[0];
    let context =
        Context { seed: 1, quick: true, progress: ProgressBar::hidden(), item: item.id, shared: Shared::default() };
    let outcome = (item.run)(&context).unwrap();
    let record = report::write(&folder.0, paper, item, outcome, provenance()).unwrap();
    report::rebuild(&folder.0, &PAPERS, &provenance()).unwrap();
    record
}

fn page(folder: &Folder) -> String {
    std::fs::read_to_string(folder.0.join("index.html")).unwrap()
}

#[test]
fn an_item_leaves_numbers_a_picture_a_record_and_a_page() {
    let folder = Folder::new("one");
    let record = make(&folder, "fig2");
    for file in record.tables.iter().chain(record.pictures.iter().map(|p| &p.path)) {
        let text = std::fs::read_to_string(folder.0.join(file)).unwrap();
        assert!(text.len() > 100, "{file}");
    }
    assert_eq!(report::read(&folder.0, "rvga", "fig2"), Some(record));
    assert!(page(&folder).contains("id=\"rvga-fig2\""));
    let manifest = std::fs::read_to_string(folder.0.join("manifest.json")).unwrap();
    assert!(manifest.contains("\"threads\"") && manifest.contains("\"fig2\""));
}

#[test]
fn the_page_keeps_items_made_before_in_the_papers_order() {
    let folder = Folder::new("two");
    make(&folder, "fig13");
    make(&folder, "fig1");
    let page = page(&folder);
    let first = page.find("id=\"rvga-fig1\"").unwrap();
    let second = page.find("id=\"rvga-fig13\"").unwrap();
    assert!(first < second);
}

#[test]
fn claims_and_promises_stand_apart_and_the_badge_tells_the_share() {
    let folder = Folder::new("kinds");
    let paper = make(&folder, "fig13");
    let ours = make(&folder, "leave-one-out");
    assert!(paper.tally(Kind::Claim).total() > 0 && paper.of(Kind::Claim).all(|c| !c.place.is_empty()));
    assert!(ours.of(Kind::Claim).next().is_none() && ours.of(Kind::Finding).all(|c| c.place.is_empty()));
    let page = page(&folder);
    let article = |id: &str| {
        let from = page.find(&format!("<article id=\"rvga-{id}\"")).unwrap();
        page[from..].split("</article>").next().unwrap()
    };
    assert!(article("fig13").contains("<h4>Its claims</h4>") && article("fig13").contains("claims hold</span>"));
    assert!(!article("leave-one-out").contains("<h4>Its claims</h4>"));
    for r in [&paper, &ours] {
        assert!(article(&r.id).contains(&format!("cargo xtask reproduce rvga {}", r.id)));
    }
}

#[test]
fn an_item_that_failed_or_was_skipped_stays_on_the_page_as_such() {
    let folder = Folder::new("absent");
    for (id, state) in [("fig1", State::Failed("it broke".into())), ("fig2", State::Skipped("no data".into()))] {
        let (paper, item) = select(&PAPERS, Some("rvga"), Some(id)).unwrap()[0];
        report::write_absent(&folder.0, paper, item, state, provenance()).unwrap();
    }
    report::rebuild(&folder.0, &PAPERS, &provenance()).unwrap();
    let page = page(&folder);
    assert!(page.contains("Failed: it broke.") && page.contains("Skipped: no data."));
    assert!(page.contains("<b>0</b>items made, 1 skipped, 1 failed"));
}

#[test]
fn a_record_that_cannot_be_read_counts_as_not_made() {
    let folder = Folder::new("broken");
    make(&folder, "fig1");
    make(&folder, "fig13");
    std::fs::write(folder.0.join("rvga/fig1.json"), "{\"paper\": 3").unwrap();
    report::rebuild(&folder.0, &PAPERS, &provenance()).unwrap();
    let page = page(&folder);
    assert!(!page.contains("id=\"rvga-fig1\"") && page.contains("id=\"rvga-fig13\""));
}

#[test]
fn the_same_seed_gives_the_same_files() {
    let (a, b) = (Folder::new("a"), Folder::new("b"));
    for id in ["fig11", "nodal"] {
        let (first, second) = (make(&a, id), make(&b, id));
        assert_eq!(first.checks, second.checks);
        for file in first.tables.iter().chain(first.pictures.iter().map(|p| &p.path)) {
            assert_eq!(std::fs::read(a.0.join(file)).unwrap(), std::fs::read(b.0.join(file)).unwrap(), "{file}");
        }
    }
}

#[test]
fn an_output_folder_that_cannot_be_made_is_named() {
    let folder = Folder::new("file");
    let blocked = folder.0.join("blocked");
    std::fs::write(&blocked, "a file, not a folder").unwrap();
    let error = report::rebuild(&blocked, &PAPERS, &provenance()).unwrap_err();
    assert!(error.to_string().contains("blocked"), "{error}");
}
