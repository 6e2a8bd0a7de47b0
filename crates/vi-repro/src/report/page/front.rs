//! The first screen of each page: what holds, what does not and why, the contents.

use std::fmt::Write as _;

use super::super::check::{Check, Fault, Kind};
use super::super::record::{Provenance, Record, State};
use super::super::verdict::{Tally, Verdict};
use super::html::{classes, document, escape, link, name, provenance, share, share_of};
use super::{Section, article};
use crate::item::PAPERS;
use crate::plot::palette::LEGEND;

/// The page of claims.
pub(super) fn readers(sections: &[Section], run: &Provenance, code: &str) -> String {
    let mut page = String::new();
    bar(&mut page, sections, "<a href=\"methods.html\">Which method when</a>");
    page.push_str("<header id=\"top\">\n<h1>What the papers claim, held against numbers</h1>\n");
    let records: Vec<&Record> = sections.iter().flat_map(|(_, r)| r).collect();
    tallies(&mut page, &records);
    for sentence in reasons(&records) {
        let _ = writeln!(page, "<p>{sentence}</p>");
    }
    page.push_str(
        "<p class=\"small\">Every item below was computed by this workspace: numbers first, then the picture, then each sentence \
         of the paper held against the numbers. Verdicts are computed. A sentence with “generally” or “most” is counted over data \
         sets: it holds from 80 % of them, does not at 20 % or fewer, and holds partly in between; behind each count stands the \
         95 % interval of the share. What this library promises of itself is counted apart, and a promise that is broken makes \
         the run fail.</p>\n",
    );
    provenance(&mut page, run);
    colours(&mut page);
    page.push_str("</header>\n<main>\n");
    contents(&mut page, sections);
    for section in sections {
        section_html(&mut page, section, code);
    }
    list_corrections(&mut page);
    page.push_str("</main>\n");
    document("What the papers claim, held against numbers", &page)
}

/// The page for practitioners.
pub(super) fn practitioners(sections: &[Section], run: &Provenance, code: &str) -> String {
    let mut page = String::new();
    bar(&mut page, sections, "<a href=\"index.html\">The papers’ claims</a>");
    page.push_str("<header id=\"top\">\n<h1>Which method when</h1>\n");
    page.push_str(
        "<p>Accuracy against cost on real data: one pass, blocks, sweeps, the batch optimum, Laplace, variational Bayes, boosting, \
         random features. Scores are of rows that a method had not seen; times are those of one thread of the machine that made \
         this page, the least of several runs.</p>\n",
    );
    provenance(&mut page, run);
    page.push_str("</header>\n<main>\n");
    if sections.is_empty() {
        page.push_str("<p>Nothing yet: <code>cargo xtask reproduce practice</code> makes this page.</p>\n");
    }
    for section in sections {
        section_html(&mut page, section, code);
    }
    page.push_str("</main>\n");
    document("Which method when", &page)
}

/// The bar that stays on top: jump list and filter.
fn bar(page: &mut String, sections: &[Section], other: &str) {
    page.push_str("<nav class=\"bar\" aria-label=\"Jump to\"><a href=\"#top\">Top</a>");
    for (paper, _) in sections {
        let _ = write!(page, " <a href=\"#{}\">{}</a>", paper.id, escape(paper.of("short")));
    }
    let _ = write!(page, " {other}<fieldset><legend hidden>Show items with</legend>");
    for (id, label) in [
        ("all", "all"),
        ("fails", "✗ does not hold"),
        ("partly", "◐ partly"),
        ("holds", "✓ holds"),
        ("broken", "broken promises"),
    ] {
        let checked = if id == "all" { " checked" } else { "" };
        let _ = write!(page, "<label><input type=\"radio\" name=\"show\" id=\"show-{id}\"{checked}> {label}</label>");
    }
    page.push_str("</fieldset></nav>\n");
}

fn tallies(page: &mut String, records: &[&Record]) {
    let claims = super::tally(records.iter().copied(), Kind::Claim);
    let promises = super::tally(records.iter().copied(), Kind::Promise);
    let made = records.iter().filter(|r| r.state == State::Made).count();
    let skipped = records.iter().filter(|r| matches!(r.state, State::Skipped(_))).count();
    let _ = writeln!(
        page,
        "<div class=\"tally\">\n<div class=\"holds\"><b>{}</b>of {} claims hold</div>\n<div class=\"partly\"><b>{}</b>hold in part</div>\n\
         <div class=\"fails\"><b>{}</b>do not hold</div>\n<div class=\"own\"><b>{} of {}</b>of our own promises kept</div>\n\
         <div class=\"own\"><b>{made}</b>items made, {skipped} skipped, {} failed</div>\n</div>",
        claims.holds,
        claims.total(),
        claims.partly,
        claims.fails,
        promises.holds,
        promises.total(),
        records.len() - made - skipped
    );
}

/// What fails and why, in a sentence for each kind of cause.
fn reasons(records: &[&Record]) -> Vec<String> {
    let failing: Vec<(&Record, &Check)> = records
        .iter()
        .flat_map(|r| r.of(Kind::Claim).filter(|c| c.verdict != Verdict::Holds).map(move |c| (*r, c)))
        .collect();
    let of = |fault: Fault| -> Vec<&(&Record, &Check)> {
        failing.iter().filter(|(_, c)| c.cause.as_ref().is_some_and(|cause| cause.fault == fault)).collect()
    };
    let places = |list: &[&(&Record, &Check)]| {
        let mut links: Vec<String> = Vec::new();
        for (r, _) in list {
            let text = format!("<a href=\"#{}-{}\">{} {}</a>", r.paper, r.id, escape(&short(r)), escape(&name(&r.id)));
            if !links.contains(&text) {
                links.push(text);
            }
        }
        links.join(", ")
    };
    let sentence = |list: &[&(&Record, &Check)], one: &str| {
        if list.is_empty() {
            String::new()
        } else {
            format!(
                "<b>{} of the {}</b> that do not hold, or only in part, {one}: {}.",
                list.len(),
                failing.len(),
                places(list)
            )
        }
    };
    let ours = of(Fault::Ours);
    let own = if ours.is_empty() {
        "None is put down to this implementation.".to_owned()
    } else {
        sentence(&ours, "fail because this implementation falls short")
    };
    let untraced = of(Fault::Untraced);
    [
        sentence(&of(Fault::Paper), "fail because the paper’s equation or sentence is wrong, with a correction"),
        sentence(&of(Fault::Setting), "hang on a setting that the paper does not print"),
        format!("{own} {}", sentence(&untraced, "have not been traced to a cause")).trim().to_owned(),
    ]
    .into_iter()
    .filter(|s| !s.is_empty())
    .collect()
}

fn short(r: &Record) -> String {
    PAPERS.iter().find(|p| p.id == r.paper).map_or(r.paper.clone(), |p| p.of("short").to_owned())
}

/// What the colours mean on all pictures.
fn colours(page: &mut String) {
    page.push_str("<details><summary>What the colours mean</summary>\n<ul class=\"colours\">");
    for (colour, meaning) in LEGEND {
        let _ = write!(
            page,
            "<li><span class=\"swatch\" style=\"background:#{:02x}{:02x}{:02x}\"></span>{}</li>",
            colour.0,
            colour.1,
            colour.2,
            escape(meaning)
        );
    }
    page.push_str("</ul></details>\n");
}

fn contents(page: &mut String, sections: &[Section]) {
    page.push_str("<nav aria-label=\"Contents\">\n<h2>Contents</h2>\n");
    for (paper, records) in sections {
        let tally: Tally = super::tally(records, Kind::Claim);
        let _ = writeln!(
            page,
            "<details open><summary>{} {}</summary>\n<ul class=\"rows\">",
            escape(paper.of("title")),
            share_of(tally, "claims hold")
        );
        for r in records {
            let _ = writeln!(
                page,
                "<li class=\"{}\"><span>{}</span><span class=\"title\">{}</span><span>{}</span><span class=\"found\">{}</span></li>",
                classes(r),
                link(r),
                escape(&r.title),
                share(r),
                escape(&r.summary)
            );
        }
        page.push_str("</ul></details>\n");
    }
    page.push_str("</nav>\n");
}

fn section_html(page: &mut String, (paper, records): &Section, code: &str) {
    let _ = writeln!(
        page,
        "<section id=\"{}\">\n<h2>{}</h2>\n<p class=\"small\">{}</p>",
        paper.id,
        escape(paper.of("title")),
        escape(paper.of("source"))
    );
    for r in records {
        article::article(page, r, code);
    }
    page.push_str("</section>\n");
}

/// What is printed and what is right.
fn list_corrections(page: &mut String) {
    page.push_str("<section id=\"corrections\">\n<h2>Corrections</h2>\n<p class=\"small\">What the papers print, and what is right, \
         where a claim above hangs on it.</p>\n<dl>\n");
    for c in PAPERS.iter().flat_map(|paper| paper.words.all("correction")) {
        let (printed, right) = (escape(c.text("printed")), escape(c.text("right")));
        let _ = writeln!(page, "<dt id=\"correction-{}\">{printed}</dt><dd>{right}</dd>", c.name());
    }
    page.push_str("</dl>\n</section>\n");
}
