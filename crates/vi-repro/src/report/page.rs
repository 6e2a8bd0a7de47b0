//! The page that shows every item made so far.

use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;

use super::record::{self, Record, write_file, write_json};
use super::verdict::{Check, Verdict};
use crate::error::ReproError;
use crate::item::Paper;

const STYLE: &str = include_str!("page.css");

/// One line of the manifest for each item.
#[derive(Serialize)]
struct ManifestItem<'a> {
    paper: &'a str,
    id: &'a str,
    verdict: Verdict,
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
    items: Vec<ManifestItem<'a>>,
}

/// Rebuilds `index.html` and `manifest.json` under `out` from the records of all `papers` there.
///
/// `run` tells how the run that asks for it was made.
///
/// # Errors
/// [`ReproError::Io`] or [`ReproError::Json`] with the file that could not be written.
pub fn rebuild(out: &Path, papers: &[Paper], run: &record::Provenance) -> Result<(), ReproError> {
    let sections: Vec<(&Paper, Vec<Record>)> = papers
        .iter()
        .map(|p| {
            let records = p.items.iter().filter_map(|i| record::read(out, p.id, i.id));
            (p, records.collect())
        })
        .filter(|(_, records): &(_, Vec<Record>)| !records.is_empty())
        .collect();
    write_file(&out.join("index.html"), &html(&sections, run))?;
    let items = sections
        .iter()
        .flat_map(|(_, records)| records)
        .map(|r| ManifestItem { paper: &r.paper, id: &r.id, verdict: r.verdict, provenance: &r.provenance })
        .collect();
    let manifest = Manifest {
        commit: &run.commit,
        seed: run.seed,
        threads: run.threads,
        quick: run.quick,
        started: run.started,
        seconds: run.seconds,
        items,
    };
    write_json(&out.join("manifest.json"), &manifest)
}

fn html(sections: &[(&Paper, Vec<Record>)], run: &record::Provenance) -> String {
    let mut page = String::new();
    let total: usize = sections.iter().map(|(_, r)| r.len()).sum();
    let count = |v: Verdict| {
        let all = sections.iter().flat_map(|(_, r)| r);
        all.filter(|r| r.verdict == v).count()
    };
    let mut tally = String::new();
    for v in [Verdict::Holds, Verdict::Partly, Verdict::DoesNotHold] {
        let _ = write!(tally, "<span class=\"tally\">{} {}</span>", badge(v), count(v));
    }
    let commit = run.commit.as_deref().unwrap_or("unknown");
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Reproduction of the papers</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <header>\n<h1>Reproduction of the papers</h1>\n\
         <p>Every item below was computed by this workspace: numbers first, then the picture, then \
         the paper’s claim held against the numbers. A verdict is computed, never written by hand: \
         a claim counted over data sets holds from 80 % of them, does not hold at 20 % or fewer, \
         and an item whose claims differ holds partly. Checks of what this library adds to the paper stand \
         apart; they make the verdict only where the paper claims nothing.</p>\n\
         <p class=\"tallies\">{total} items: {tally}</p>\n\
         <p class=\"small\">Last run: commit <code>{}</code>, seed {}, {} threads, {}. \
         <a href=\"manifest.json\">manifest.json</a> has the same for every item.</p>\n</header>\n<main>\n",
        escape(commit),
        run.seed,
        run.threads,
        mode(run.quick),
    );
    contents(&mut page, sections);
    for (paper, records) in sections {
        let _ = writeln!(
            page,
            "<section class=\"paper\" id=\"{}\">\n<h2>{}</h2>\n<p class=\"small\">{}</p>",
            paper.id,
            escape(paper.title),
            escape(paper.source)
        );
        for r in records {
            item(&mut page, r);
        }
        page.push_str("</section>\n");
    }
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

fn contents(page: &mut String, sections: &[(&Paper, Vec<Record>)]) {
    page.push_str("<nav aria-label=\"Contents\">\n");
    for (paper, records) in sections {
        let _ = writeln!(
            page,
            "<h2><a href=\"#{}\">{}</a></h2>\n<div class=\"wide\"><table class=\"verdicts\">\n\
             <thead><tr><th>Item</th><th>What it shows, and what was found</th><th>Claims</th><th>Beyond the paper</th><th>Verdict</th></tr></thead>\n<tbody>",
            paper.id,
            escape(paper.title)
        );
        for r in records {
            let _ = writeln!(
                page,
                "<tr><td><a href=\"#{}-{}\">{}</a></td><td>{}<div class=\"numbers\">{}</div></td><td>{}</td><td>{}</td><td>{}</td></tr>",
                r.paper,
                r.id,
                escape(&name(&r.id)),
                escape(&r.title),
                escape(&r.summary),
                tally(&r.checks),
                tally(&r.beyond),
                badge(r.verdict)
            );
        }
        page.push_str("</tbody></table></div>\n");
    }
    page.push_str("</nav>\n");
}

fn item(page: &mut String, r: &Record) {
    let _ = writeln!(
        page,
        "<article id=\"{}-{}\">\n<h3><span class=\"id\">{}</span> {} {}</h3>\n\
         <a class=\"card\" href=\"{pic}\"><img src=\"{pic}\" loading=\"lazy\" alt=\"{}\"></a>\n\
         <p class=\"summary\">{}</p>\n<p class=\"caption\">{}</p>",
        r.paper,
        r.id,
        escape(&name(&r.id)),
        escape(&r.title),
        badge(r.verdict),
        escape(&format!("{}: {}", r.title, r.caption)),
        escape(&r.summary),
        escape(&r.caption),
        pic = escape(&r.picture),
    );
    if !r.claim.is_empty() {
        let _ = writeln!(page, "<h4>The paper’s claim</h4>\n<blockquote>{}</blockquote>", escape(&r.claim));
    }
    checks(page, "What was measured", &r.checks);
    checks(page, "Beyond the paper", &r.beyond);
    if !r.shown.rows.is_empty() {
        page.push_str("<div class=\"wide\"><table class=\"numbers-table\">\n<thead><tr>");
        for h in &r.shown.head {
            let _ = write!(page, "<th>{}</th>", escape(h));
        }
        page.push_str("</tr></thead>\n<tbody>\n");
        for row in &r.shown.rows {
            page.push_str("<tr>");
            for (i, c) in row.iter().enumerate() {
                let tag = if i == 0 { "th" } else { "td" };
                let _ = write!(page, "<{tag}>{}</{tag}>", escape(c));
            }
            page.push_str("</tr>\n");
        }
        page.push_str("</tbody></table></div>\n");
    }
    if !r.notes.is_empty() {
        page.push_str("<ul class=\"notes\">\n");
        for n in &r.notes {
            let _ = writeln!(page, "<li>{}</li>", escape(n));
        }
        page.push_str("</ul>\n");
    }
    page.push_str("<p class=\"small\">Files:");
    for f in r.tables.iter().chain([&r.picture]) {
        let short = f.rsplit('/').next().unwrap_or(f);
        let _ = write!(page, " <a href=\"{}\">{}</a>", escape(f), escape(short));
    }
    let _ = writeln!(
        page,
        ". Seed {}, {}, {:.1} s. <a href=\"#top\">Back to the top</a></p>\n</article>",
        r.provenance.seed,
        mode(r.provenance.quick),
        r.provenance.seconds
    );
}

/// A list of checks under a heading; nothing for none.
fn checks(page: &mut String, heading: &str, list: &[Check]) {
    if list.is_empty() {
        return;
    }
    let _ = writeln!(page, "<h4>{heading}</h4>\n<div class=\"wide\"><table class=\"checks\">\n<tbody>");
    for c in list {
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td>{}<div class=\"numbers\">{}</div></td></tr>",
            badge(c.verdict),
            escape(&c.claim),
            escape(&c.numbers)
        );
    }
    page.push_str("</tbody></table></div>\n");
}

/// `3 of 4 hold`, or nothing for no checks.
fn tally(list: &[Check]) -> String {
    let held = list.iter().filter(|c| c.verdict == Verdict::Holds).count();
    if list.is_empty() { String::new() } else { format!("{held} of {} hold", list.len()) }
}

/// `fig9` reads as “Fig 9”, `breast-cancer` as “breast cancer”.
fn name(id: &str) -> String {
    match id.strip_prefix("fig") {
        Some(n) if n.starts_with(|c: char| c.is_ascii_digit()) => format!("Fig {n}"),
        _ => id.replace('-', " "),
    }
}

fn badge(v: Verdict) -> String {
    let (class, mark) = match v {
        Verdict::Holds => ("holds", "✓"),
        Verdict::Partly => ("partly", "◐"),
        Verdict::DoesNotHold => ("fails", "✗"),
    };
    format!("<span class=\"badge {class}\">{mark} {}</span>", v.label())
}

const fn mode(quick: bool) -> &'static str {
    if quick { "quick run" } else { "full run" }
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}
